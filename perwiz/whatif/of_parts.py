"""A prediction that several processes make together, each of its part: the run before and after, by numbers that they add up."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.loggps.machine import Machine
from perwiz.loggps.weigh import Misfit
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.run import Start, replayed, under


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted run beside the recorded one. Arrays per location are those of all processes, times of calls those of its own part."""

    trace: Trace
    """The part that this process has, its clocks made consistent."""
    machine: Machine
    hypotheses: tuple[Hypothesis, ...]
    recorded: Timeline
    predicted: Timeline
    replay_error: int
    """Largest distance, ns, of the replayed unchanged run from the recording, over all calls."""
    calls: int
    moved: int
    """Calls entered or left at another time than recorded."""
    zeroed: int
    """Calls of zero-wait,"""
    zeroed_waiting: int
    """those that waited, and"""
    zeroed_wait: int
    """how long together, ns."""
    waiting: I8
    """ns per location."""
    waiting_predicted: I8
    misfit: Misfit
    health: Health


def predict(trace: Trace, hypotheses: Asked, model: Start, clock: str = "clc") -> Prediction:
    """Return what a run becomes under hypotheses; messages stay with who got them. Several processes ask each about its part.

    The makespan and all counts are those that `perwiz.whatif.predict.predict` has of the whole run if it keeps matches.
    Raises UsageError for a hypothesis that needs more than a part, and as that.
    """
    asked = parse_all(hypotheses, trace)
    for one in asked:
        if not one.of_parts:
            raise UsageError(f"--{one.word}: is not asked by several processes together, must be asked by one (without mpiexec)")
    base = replayed(trace, model, clock, asked)
    trace, share, waits, off = base.trace, base.trace.share, base.waits, base.replay_error
    selected = np.zeros(len(trace.calls), bool)
    for one in asked:
        if isinstance(one, ZeroWait):
            selected |= selectors.calls(trace, one.argument)
    zeroed = waits.time[share.calls][selected[share.calls]]
    misfit, state = base.weighted.misfit, base.health()
    changed = under(base, asked)
    before, after, own = trace.timeline, changed.recorded_rows(), share.calls
    moved = ((before.calls.enter != after.calls.enter) | (before.calls.leave != after.calls.leave))[own]
    counts = {
        "calls": len(moved),
        "moved": moved.sum(),
        "zeroed": len(zeroed),
        "zeroed_waiting": (zeroed > 0).sum(),
        "zeroed_wait": zeroed.sum(),
    }
    sums = dict(zip(counts, share.reduced(np.array([*counts.values()], "i8"), "sum").tolist(), strict=True))
    return Prediction(
        trace=trace,
        machine=base.machine,
        hypotheses=asked,
        recorded=before,
        predicted=after,
        replay_error=off,
        **sums,
        waiting=_by_location(trace, waits.time),
        waiting_predicted=_by_location(trace, changed.waits.time),
        misfit=misfit,
        health=state,
    )


def _by_location(trace: Trace, waiting: I8) -> I8:
    return trace.share.of_locations(np.diff(np.append(0, np.cumsum(waiting))[trace.first_calls]))
