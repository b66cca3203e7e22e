"""A prediction that several processes make together, each of its part: the run before and after, by numbers that they add up."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import NotInWindowsError, UsageError
from perwiz.loggps.fit.eager import Held
from perwiz.loggps.machine import Machine
from perwiz.loggps.weigh import Misfit
from perwiz.trace.arrays import I8
from perwiz.trace.resources import give_back
from perwiz.trace.spread.tally import Tally
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.health import Health
from perwiz.whatif.hypotheses.base import Asked, Hypothesis, parse_all
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.matching import matching
from perwiz.whatif.predict import span_between
from perwiz.whatif.run import Run, Start, recorded, starting, under
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.sure.doubts import Doubt, doubts_of
from perwiz.whatif.sure.noise import DRAWS
from perwiz.whatif.sure.span import Span, found_ahead


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
    span: Span | None = None
    """Between which makespans the true one lies, as far as the trace tells; None if that is not asked."""
    doubts: tuple[Doubt, ...] = ()
    """As `perwiz.whatif.predict.Prediction` has them, if they are asked for."""
    held: Held | None = None


def predict(
    trace: Trace, hypotheses: Asked, model: Start = None, clock: str = "clc", draws: int = DRAWS, keep_matches: bool = False
) -> Prediction:
    """Return what a run becomes under hypotheses. Several processes ask each about its part.

    The makespan, its span and all counts are those that `perwiz.whatif.predict.predict` has of the whole run, which see for what is given.
    Raises UsageError as that, for a hypothesis that needs more than a part, and, unless `keep_matches`, where other messages come first.
    """
    asked = checked(hypotheses, trace)
    basis = starting(trace, model, clock, asked)
    ahead = found_ahead(basis.clocks.trace, basis.machine, asked, draws) if asked else {}
    give_back(len(basis.clocks.trace.calls))
    base = recorded(basis)
    trace, misfit, state, share = base.trace, base.weighted.misfit, base.health(), base.trace.share
    share.at("how sure it is")
    doubts = doubts_of(base)
    known = answered(base, (), draws) if asked else None
    share.at("predicting")
    told, changed = tally(base, asked)
    if not keep_matches and share.any(matching(base, changed).changed):
        other = "other messages would come first than in the recorded run, and who gets which is found by one process alone"
        raise UsageError(f"{trace.path}: {other}; must be asked of one (without mpiexec), or kept (--keep-matches)")
    sums = told.of_all(share)
    share.at("how sure it is")
    span = span_between(base, changed, asked, doubts, known, ahead=ahead)
    out = prediction(trace, base.machine, asked, changed.recorded_rows(), sums, misfit, state)
    return dataclasses.replace(out, span=span, doubts=doubts.told((changed.weighted, changed.time)), held=doubts.held)


def checked(hypotheses: Asked, trace: Trace, windows: bool = False) -> tuple[Hypothesis, ...]:
    """Return hypotheses, parsed. Raises UsageError for one that needs more than a part of a run, or than windows of it."""
    asked = parse_all(hypotheses, trace)
    for one in asked:
        if windows and not one.of_windows:
            raise NotInWindowsError(f"--{one.word}: is not asked in windows of a run, must be asked where all of it can be held")
        if not one.of_parts:
            raise UsageError(f"--{one.word}: is not asked by several processes together, must be asked by one (without mpiexec)")
    return asked


def tally(base: Run, asked: tuple[Hypothesis, ...]) -> tuple[Tally, Run]:
    """Return what the rows of this process, or of a window of time, come to of a `Prediction`, and the run under hypotheses.

    The recorded run `base` is changed to the predicted one.
    """
    trace, waits, own, off = base.trace, base.waits, base.trace.share.calls, base.replay_error
    zeroed = _zeroed(base, asked)
    changed = under(base, asked)
    before, graph = trace.timeline.calls, changed.graph
    moved = ((before.enter != changed.time[graph.entered]) | (before.leave != changed.time[graph.returned]))[own]
    sums = {
        "calls": len(moved),
        "moved": moved.sum(),
        **zeroed,
        "waiting": _by_location(trace, waits.time),
        "waiting_predicted": _by_location(trace, changed.waits.time),
    }
    return Tally.of(sums, {"replay_error": off}), changed


def _zeroed(base: Run, asked: tuple[Hypothesis, ...]) -> dict[str, int]:
    """Return how many calls of this process, or of a window of time, wait no more, and what they did, by the names of a `Prediction`."""
    own, selected = base.trace.share.calls, np.zeros(len(base.trace.calls), bool)
    for one in asked:
        if isinstance(one, ZeroWait):
            selected |= selectors.calls(base.trace, one.argument)
    waited = base.waits.time[own][selected[own]]
    return {"zeroed": len(waited), "zeroed_waiting": int((waited > 0).sum()), "zeroed_wait": int(waited.sum())}


def prediction(
    trace: Trace, machine: Machine, asked: tuple[Hypothesis, ...], predicted: Timeline, told: Tally, misfit: Misfit, state: Health
) -> Prediction:
    """Return a prediction of which is told what all rows come to."""
    return Prediction(
        trace=trace,
        machine=machine,
        hypotheses=asked,
        recorded=trace.timeline,
        predicted=predicted,
        replay_error=told["replay_error"],
        calls=told["calls"],
        moved=told["moved"],
        zeroed=told["zeroed"],
        zeroed_waiting=told["zeroed_waiting"],
        zeroed_wait=told["zeroed_wait"],
        waiting=told.sums["waiting"],
        waiting_predicted=told.sums["waiting_predicted"],
        misfit=misfit,
        health=state,
    )


def _by_location(trace: Trace, waiting: I8) -> I8:
    """Return how long calls wait, ns per location: those of this process, or of a window of time."""
    own, rows = np.zeros(len(waiting), "i8"), trace.share.calls
    own[rows] = waiting[rows]
    return trace.summed(own)
