"""A prediction that several processes make together, each of its part: the run before and after, by numbers that they add up."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.loggps.machine import Machine
from perwiz.loggps.weigh import Misfit
from perwiz.trace.arrays import I8
from perwiz.trace.spread.tally import Tally
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.run import Run, Start, replayed, under


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
    asked = checked(hypotheses, trace)
    base = replayed(trace, model, clock, asked)
    trace, misfit, state = base.trace, base.weighted.misfit, base.health()
    told, after = tally(base, asked)
    return prediction(trace, base.machine, asked, after, told.of_all(trace.share), misfit, state)


def checked(hypotheses: Asked, trace: Trace) -> tuple[Hypothesis, ...]:
    """Return hypotheses, parsed. Raises UsageError for one that needs more than a part of a run."""
    asked = parse_all(hypotheses, trace)
    for one in asked:
        if not one.of_parts:
            raise UsageError(f"--{one.word}: is not asked by several processes together, must be asked by one (without mpiexec)")
    return asked


def tally(base: Run, asked: tuple[Hypothesis, ...]) -> tuple[Tally, Timeline]:
    """Return what the rows of this process, or of a window of time, come to of a `Prediction`, and when it happens under hypotheses.

    The recorded run `base` is changed to the predicted one.
    """
    trace, waits, own, off = base.trace, base.waits, base.trace.share.calls, base.replay_error
    selected = np.zeros(len(trace.calls), bool)
    for one in asked:
        if isinstance(one, ZeroWait):
            selected |= selectors.calls(trace, one.argument)
    zeroed = waits.time[own][selected[own]]
    changed = under(base, asked)
    before, after = trace.timeline, changed.recorded_rows()
    moved = ((before.calls.enter != after.calls.enter) | (before.calls.leave != after.calls.leave))[own]
    sums = {
        "calls": len(moved),
        "moved": moved.sum(),
        "zeroed": len(zeroed),
        "zeroed_waiting": (zeroed > 0).sum(),
        "zeroed_wait": zeroed.sum(),
        "waiting": _by_location(trace, waits.time),
        "waiting_predicted": _by_location(trace, changed.waits.time),
    }
    return Tally.of(sums, {"replay_error": off}), after


def prediction(
    trace: Trace, machine: Machine, asked: tuple[Hypothesis, ...], predicted: Timeline, told: Tally, misfit: Misfit, state: Health
) -> Prediction:
    """Return a prediction of which is told what all rows come to."""
    numbers = {name: told[name] for name in ("replay_error", "calls", "moved", "zeroed", "zeroed_waiting", "zeroed_wait")}
    return Prediction(
        trace=trace,
        machine=machine,
        hypotheses=asked,
        recorded=trace.timeline,
        predicted=predicted,
        **numbers,
        waiting=told.sums["waiting"],
        waiting_predicted=told.sums["waiting_predicted"],
        misfit=misfit,
        health=state,
    )


def _by_location(trace: Trace, waiting: I8) -> I8:
    """Return how long calls wait, ns per location: those of this process, or of a window of time."""
    own, rows = np.zeros(len(waiting), "i8"), trace.share.calls
    own[rows] = waiting[rows]
    return np.diff(np.append(0, np.cumsum(own))[trace.first_calls])
