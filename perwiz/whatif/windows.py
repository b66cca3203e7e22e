"""A run that is not held as a whole: asked window by window of time, and what the windows come to added up.

Each window is a part with a border in time, weighed and swept as any other. Times that later windows need are carried on, of the recorded
run and of the changed one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.clock.condition import Violations
from perwiz.errors import NotInWindowsError
from perwiz.loggps.machine import Machine
from perwiz.loggps.weigh import Misfit
from perwiz.progress import Progress
from perwiz.trace.arrays import I8
from perwiz.trace.spread.share import Whole
from perwiz.trace.spread.tally import Tally
from perwiz.trace.tables import PROCESS, Calls, Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.trace.unrecorded import unrecorded
from perwiz.trace.windows.cuts import cuts_of
from perwiz.trace.windows.large import TIMES, Large, taken
from perwiz.trace.windows.sorting import Sorted, sort
from perwiz.trace.windows.window import Window, windows
from perwiz.whatif import health, of_parts
from perwiz.whatif.hypotheses.base import Asked, Hypothesis
from perwiz.whatif.run import GAPS, Run, Start, machine_of, replayed

_ALL = ("calls", "messages", "collectives", "members", "regions", "links")


class Counted(Whole):
    """The share of a trace that has few rows of many."""

    def __init__(self, count: dict[str, int]) -> None:
        self._count = count

    def in_all(self, table: str, rows: int) -> int:
        """Return how many rows the whole trace has of a table."""
        return self._count[table]


@dataclasses.dataclass(frozen=True, eq=False)
class Passed:
    """What all windows came to."""

    trace: Trace
    """Its locations, and of its calls those that begin and end MPI."""
    machine: Machine
    tally: Tally
    misfit: Misfit
    health: health.Health


def passed(
    large: Large,
    ask: Callable[[Run], Tally],
    hypotheses: tuple[Hypothesis, ...],
    model: Start,
    clock: str,
    most: int,
    folder: str | None = None,
) -> Passed:
    """Return what windows of some `most` calls come to: `ask` is asked of the recorded run in each, in the order of time.

    What is put aside meanwhile is in a file of a folder. Raises UsageError for what windows do not tell.
    """
    _check(large)
    machine = machine_of(model, dataclasses.replace(large.trace, share=Counted({})), windows=True)
    with sort(large, cuts_of(large, most), folder) as found:
        sums = _added(found, ask, hypotheses, machine, clock)
        seen = sums.misfit
        if seen.gaps_lowered and seen.gaps_lowered >= GAPS * seen.gaps:
            machine = machine.with_changes("gap=none")
            sums = dataclasses.replace(_added(found, ask, hypotheses, machine, clock), misfit=seen)
        trace = _head(found)
    _, off = unrecorded(trace)
    switched = len(off), int((off.leave - off.enter).sum())
    state = health.state(trace, sums.tally, switched, sums.violations, sums.violations, sums.contradictions)
    return Passed(trace, machine, sums.tally, sums.misfit, state)


def predict(large: Large, hypotheses: Asked, model: Start, clock: str, most: int, folder: str | None = None) -> of_parts.Prediction:
    """Return the prediction that several processes would make together, made of one window after the other. Raises as `passed` does."""
    asked = of_parts.checked(hypotheses, large.trace, windows=True)
    ends: list[I8] = []

    def ask(run: Run) -> Tally:
        told, changed = of_parts.tally(run, asked)
        after = changed.recorded_rows()
        ends[:] = [after.locations.enter, after.locations.leave]
        return told

    out = passed(large, ask, asked, model, clock, most, folder)
    predicted = Timeline(Times.empty(), Times.empty(), Times(*ends), out.trace.timeline.origin)
    return of_parts.prediction(out.trace, out.machine, asked, predicted, out.tally, out.misfit, out.health)


def _check(large: Large) -> None:
    """Raise UsageError for a trace that windows do not tell all of."""
    trace = large.trace
    places = trace.locations
    if not (places.kind == PROCESS).all() or len(np.unique(places.process)) < len(places):
        held = "must be where all of it can be held"
        raise NotInWindowsError(f"{trace.path}: its threads and streams are not asked about in windows of a run, {held}")
    if not trace.offsets_applied and (len(trace.offsets) or len(trace.readings)):
        raise NotInWindowsError(f"{trace.path}: its times are those of several clocks, must be converted with all clocks corrected first")


@dataclasses.dataclass(frozen=True, eq=False)
class _Sums:
    tally: Tally
    misfit: Misfit
    violations: Violations
    contradictions: int

    def __add__(self, other: _Sums) -> _Sums:
        contradictions = self.contradictions + other.contradictions
        return _Sums(self.tally + other.tally, self.misfit + other.misfit, self.violations + other.violations, contradictions)


def _added(found: Sorted, ask: Callable[[Run], Tally], asked: tuple[Hypothesis, ...], machine: Machine, clock: str) -> _Sums:
    """Return what all windows come to. Raises UsageError for what is asked about in none of them."""
    sums: _Sums | None = None
    said: list[bool] = []
    with Progress(found.large.trace.path, noun="window") as progress:
        for number, (here, asks) in enumerate((_of(trace, ask, asked, machine, clock) for trace in windows(found)), 1):
            said = asks if sums is None else [one or other for one, other in zip(said, asks, strict=True)]
            sums = here if sums is None else sums + here
            progress(number, found.cuts.count)
    assert sums is not None
    if not all(said):
        _of(next(windows(found)), ask, asked, machine, clock, said)
    return sums


def _of(
    trace: Trace, ask: Callable[[Run], Tally], asked: tuple[Hypothesis, ...], machine: Machine, clock: str, truth: list[bool] | None = None
) -> tuple[_Sums, list[bool]]:
    """Return what a window comes to, and what its share was asked; it answers with the `truth`, once that is known."""
    assert isinstance(trace.share, Window)
    share = dataclasses.replace(trace.share, said=[], truth=truth)
    run = replayed(dataclasses.replace(trace, share=share), machine, clock, asked)
    misfit, contradictions = run.weighted.misfit, run.graph.contradictions
    told = health.tally(run.trace).with_(ask(run))
    return _Sums(told, misfit, run.clocks.recorded, contradictions), share.said


def _head(found: Sorted) -> Trace:
    """Return the trace with those of its calls that begin and end MPI."""
    large, rows = found.large, found.landmarks
    columns = {name: taken(column, rows) for name, column in large.columns["calls"].items() if name != "site"}
    times = Times(*(taken(large.columns[TIMES[0]][side], rows) for side in ("enter", "leave")))
    whole = large.trace.timeline
    timeline = Timeline(times, whole.regions, whole.locations, whole.origin)
    return dataclasses.replace(
        large.trace, calls=Calls(**columns), timeline=timeline, share=Counted({name: large.rows(name) for name in _ALL})
    )
