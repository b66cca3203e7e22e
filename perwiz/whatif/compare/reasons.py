"""Why the makespans of two runs differ: what lies on the critical path of each, matched, and subtracted.

What is compared of a run, from the one instant to the other, is as long as the longest path to its end, and that path is cut into pieces:
computation in a region, work in the calls of a site, messages under way to them. So the differences of these pieces add up to that of the
makespans, whichever way they are put together. No wait lies on a path: one that is gone shows as what was waited for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from perwiz.trace.arrays import I8, Ints
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.compare.compare import Comparison, Side
from perwiz.whatif.limits.critical import KINDS, Pieces, computation_between, pieces_between
from perwiz.whatif.run import Run, Start, machine_of, replayed

K = TypeVar("K")
REPLAY = "replay"
"""Kind of what replaying a run misses of it."""
_COMPUTATION, _CALLS = KINDS.index("computation"), KINDS.index("calls")


class Place(NamedTuple):
    """What of the program a piece of a path is."""

    kind: str
    """One of KINDS, or REPLAY."""
    routine: str = ""
    """Empty of computation."""
    region: str = ""
    """Region path; empty outside of any."""
    source: str = ""
    """Where the call is in the source of the first run, as far as it is known."""


class Step(NamedTuple):
    """The k-th instance of a parallel region on every process, from 1; outside of any: empty, 0."""

    region: str = ""
    step: int = 0


class _Cell(NamedTuple):
    """Pieces of a path that are put together."""

    place: Place
    step: Step
    location: int
    """Number for both runs; -1 none."""


@dataclasses.dataclass(frozen=True)
class Reason(Generic[K]):
    """How much of the makespans something makes up: what it takes on the critical path of each run, ns."""

    what: K
    first: int
    second: int


@dataclasses.dataclass(frozen=True)
class Mostly:
    """Where most of the difference of a place lies, and what it takes there in all, ns."""

    location: int
    """A number for both runs, see `Alignment.places`; -1 nowhere."""
    first: int
    second: int
    """Computation, or time in the calls, waits and all; on the path or not."""
    itself: int
    """By how much that differs on the locations of either path, the absolute differences added up."""


@dataclasses.dataclass(frozen=True)
class Reasons:
    """What the makespans of two runs are made of, largest difference first; each list of reasons adds up to both."""

    places: list[Reason[Place]]
    mostly: list[Mostly]
    """One per place."""
    locations: list[Reason[int]]
    """By number of the location for both runs; -1 is none."""
    steps: list[Reason[Step]]
    runs: tuple[Run, Run]
    """Both, replayed."""

    @property
    def waits(self) -> tuple[I8, I8]:
        """How long each call of both runs waits, ns."""
        first, second = self.runs
        return first.waits.time, second.waits.time


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """What is compared of one run."""

    side: Side
    run: Run
    pieces: Pieces
    location: Ints
    """Per location of the run, a number for both runs."""
    site: Ints
    """Per call, row of sites."""
    sites: list[tuple[str, str, str]]
    """(routine, region path, source)."""

    def on_path(self) -> dict[_Cell, int]:
        """Return the ns of the path, with what replaying the run misses of what is compared."""
        missed = self.side.makespan - int(self.pieces.length.sum())
        rest = {_Cell(Place(REPLAY), Step(), -1): missed} if missed else {}
        return self._cells(self.pieces, _steps(self.run.trace, self.pieces)) | rest

    def everywhere(self) -> dict[_Cell, int]:
        """Return the ns of computation and in calls, on the path or not; steps are not told."""
        side, calls, times = self.side, self.run.trace.calls, self.side.timeline.calls
        every, length = np.arange(len(calls)), side.since(times.leave) - side.since(times.enter)
        inside = Pieces(np.full(len(calls), _CALLS, "u1"), times.enter, length, calls.location, calls.path, every.astype("i4"))
        done = computation_between(self.run, side.start, side.stop)
        return self._cells(done, [(Step(), np.arange(len(done)))]) | self._cells(inside, [(Step(), every)])

    def _cells(self, pieces: Pieces, steps: list[tuple[Step, I8]]) -> dict[_Cell, int]:
        """Return the ns of pieces put together; `steps` are steps and the rows of pieces in each."""
        regions, out = selectors.paths(self.run.trace), dict[_Cell, int]()
        site = np.append(self.site, -1)[pieces.call]
        keys = np.stack((pieces.kind, np.where(pieces.kind == _COMPUTATION, pieces.path, site), pieces.location)).astype("i8")
        for step, rows in steps:
            distinct, row = np.unique(keys[:, rows], axis=1, return_inverse=True)
            total = np.zeros(distinct.shape[1], "i8")
            np.add.at(total, row.ravel(), pieces.length[rows])
            for (kind, which, at), ns in zip(distinct.T.tolist(), total.tolist(), strict=True):
                told = ("", regions[which]) if kind == _COMPUTATION else self.sites[which] if which >= 0 else ()
                cell = _Cell(Place(KINDS[kind], *told), step, int(self.location[at]))
                out[cell] = out.get(cell, 0) + ns
        return out


def reasons(comparison: Comparison, model: Start = None, other: Start = None) -> Reasons:
    """Return why the makespans differ. `model` as in `predict`, `other` that of the second run, by default the same. Raises ModelError."""
    parts = _parts(comparison, (model, model if other is None else other))
    on_path, everywhere = ([each(part) for part in parts] for each in (_Part.on_path, _Part.everywhere))
    places = _matched([_summed(cells, lambda cell: cell.place) for cells in on_path])
    at = [_by_place(cells) for cells in on_path]
    return Reasons(
        places=places,
        mostly=[_mostly(reason, [cells.get(reason.what, {}) for cells in at], everywhere) for reason in places],
        locations=_matched([_summed(cells, lambda cell: cell.location) for cells in on_path]),
        steps=_matched([_summed(cells, lambda cell: cell.step) for cells in on_path]),
        runs=(parts[0].run, parts[1].run),
    )


def _parts(comparison: Comparison, models: tuple[Start, Start]) -> list[_Part]:
    out: list[_Part] = []
    for k, side in enumerate(comparison.sides):
        machine = comparison.machine if comparison.machine and not k else machine_of(models[k], side.trace)
        run = replayed(side.trace, machine, "none")
        last = comparison.end.locations[k]
        pieces = pieces_between(run, side.start, side.stop, last) if last >= 0 else computation_between(run, 0, 0)
        out.append(_Part(side, run, pieces, comparison.alignment.places[k], *selectors.sites(run.trace)))
    first, second = out
    return [first, dataclasses.replace(second, sites=_same_sites(comparison, first, second))]


def _same_sites(comparison: Comparison, first: _Part, second: _Part) -> list[tuple[str, str, str]]:
    """Return the call sites of the second run, each as that of the first that most of its calls are made at: lines of a source shift."""
    pairs, many = comparison.alignment, max(1, len(first.sites))
    pair, count = np.unique(second.site[pairs.second].astype("i8") * many + first.site[pairs.first], return_counts=True)
    out = list(second.sites)
    for k in np.lexsort((-pair, count)).tolist():
        other, one = divmod(int(pair[k]), many)
        out[other] = first.sites[one]
    return out


def _steps(trace: Trace, pieces: Pieces) -> list[tuple[Step, I8]]:
    """Return parallel steps and the pieces in each: those that begin in it, or whose call is entered in it; nested ones do not count."""
    times, names = trace.timeline, trace.region_names
    at = np.where(pieces.call >= 0, np.append(times.calls.enter, 0)[pieces.call], pieces.begin)
    parallel, out = np.flatnonzero(trace.parallel[names]), np.full(len(pieces), -1)
    for location in np.unique(pieces.location).tolist():
        rows = parallel[trace.regions.location[parallel] == location]
        enter, leave = times.regions.enter[rows], times.regions.leave[rows]
        outer = enter >= np.concatenate((enter[:1], np.maximum.accumulate(leave)[:-1]))
        rows, enter, leave = rows[outer], enter[outer], leave[outer]
        own = np.flatnonzero(pieces.location == location)
        last = np.searchsorted(enter, at[own], "right") - 1
        inside = np.flatnonzero(last >= 0)
        inside = inside[at[own[inside]] < leave[last[inside]]]
        out[own[inside]] = rows[last[inside]]
    steps: dict[Step, list[I8]] = {}
    order = np.argsort(out, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(out[order])) + 1) if len(order) else ():
        instance = int(out[rows[0]])
        step = Step(trace.names[names[instance]], int(trace.regions.instance[instance])) if instance >= 0 else Step()
        steps.setdefault(step, []).append(rows)
    return [(step, np.concatenate(rows)) for step, rows in steps.items()]


def _by_place(cells: Mapping[_Cell, int]) -> dict[Place, dict[_Cell, int]]:
    """Return the ns of cells by their place."""
    out: dict[Place, dict[_Cell, int]] = {}
    for cell, ns in cells.items():
        out.setdefault(cell.place, {})[cell] = ns
    return out


def _mostly(reason: Reason[Place], own: Sequence[Mapping[_Cell, int]], everywhere: Sequence[Mapping[_Cell, int]]) -> Mostly:
    """Return where the ns at a place differ most, given those of its own cells on both paths."""
    here = [_summed(cells, lambda cell: cell.location) for cells in own]
    location = _matched(here, 1 if reason.second > reason.first else -1)[0].what
    place = reason.what._replace(kind=KINDS[_COMPUTATION if reason.what.kind == KINDS[_COMPUTATION] else _CALLS])
    there = {at: tuple(cells.get(_Cell(place, Step(), at), 0) for cells in everywhere) for at in {**here[0], **here[1]}}
    first, second = there[location]
    return Mostly(location, first, second, sum(abs(after - before) for before, after in there.values()))


def _summed(cells: Mapping[_Cell, int], key: Callable[[_Cell], K]) -> dict[K, int]:
    """Return the ns of cells that have the same key."""
    out: dict[K, int] = {}
    for cell, ns in cells.items():
        out[key(cell)] = out.get(key(cell), 0) + ns
    return out


def _matched(both: Sequence[Mapping[K, int]], sign: int = 0) -> list[Reason[K]]:
    """Return what is in either run, largest difference (of a sign, if there is one) first, ties by what is longer and by name."""
    rows = [Reason(key, both[0].get(key, 0), both[1].get(key, 0)) for key in {**both[0], **both[1]}]

    def order(row: Reason[K]) -> tuple[int, int, str]:
        off = row.second - row.first
        return -(sign * off if sign else abs(off)), -max(row.first, row.second), str(row.what)

    return sorted(rows, key=order)
