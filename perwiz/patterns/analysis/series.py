"""Recordings of one program beside each other, at several sizes or of several commits: how it scales, and where that is lost.

Each is measured from when the last process has left MPI_Init until the last enters MPI_Finalize. The time there is that of the mean
computation u by the parallel efficiency, so that between two runs

    speed-up = time(reference) / time = ideal speed-up x load balance' x serialisation' x transfer' x computation

holds exactly: a factor' is that of the run by that of the reference, computation is the computation scalability of POP, sum u(reference) /
sum u, which with counters is that of instructions times that of IPC times that of the frequency (perwiz.patterns.analysis.counters). The
ideal speed-up is the processes by those of the reference, 1 between runs of one size. Where the problem grows with the processes (weak
scaling) the work of a run is that many times the reference's: the speed-up is that of the work done, and work ratio x sum u(reference) /
sum u the scalability. What a factor costs is how much longer than ideally the run takes for it, 1 / factor - 1.

Several recordings of one size or commit are one point of the series; the one of median time stands for it, a run that can be asked about.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from perwiz import words
from perwiz.errors import TraceError, UsageError
from perwiz.patterns.analysis.counters import Along, Ends, exclusive, work
from perwiz.patterns.analysis.efficiency import AFTER, part, whole
from perwiz.patterns.callpaths import call_tree
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import STREAM, Times
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.run import Run
from perwiz.whatif.selectors import init_calls

STRONG, WEAK, HISTORY = "strong scaling", "weak scaling", "history"
"""Kinds of series: other sizes of the same problem, of a problem that grows with them, and runs of one size."""
_IDLE = 0.1
"""Part of the most computation of any, below which a thread is idle."""
_FOREIGN, _NAMED = 0.5, 3
"""Part of the calls that another run never makes, from which on it is perhaps of another program, and how many are named."""
PREVIOUS = "previous"
"""Stands for the point before the newest."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """What the factors of one recording are made of; ns, all processes, or threads if there are several, counted alike."""

    locations: int
    """Processes, or threads."""
    time: float
    useful: float
    """Computation, all together."""
    longest: float
    """The most computation of any."""
    ideal: float
    """Time on an ideal network."""
    instructions: float | None = None
    """Of the computation; None where nobody counted."""
    cycles: float | None = None

    @property
    def load_balance(self) -> float:
        """Mean of the computation by the most of any."""
        return part(self.useful / self.locations, self.longest)

    @property
    def serialisation(self) -> float:
        """Most computation by the ideal time."""
        return part(self.longest, self.ideal)

    @property
    def transfer(self) -> float:
        """Ideal time by time."""
        return part(self.ideal, self.time)

    @property
    def communication(self) -> float:
        """Most computation by the time: serialisation times transfer."""
        return part(self.longest, self.time)

    @property
    def parallel(self) -> float:
        """Mean of the computation by the time: load balance times communication."""
        return part(self.useful / self.locations, self.time)

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle."""
        return self.instructions / self.cycles if self.instructions and self.cycles else None

    @property
    def ghz(self) -> float | None:
        """Cycles per ns of computation."""
        return self.cycles / self.useful if self.cycles and self.useful else None


@dataclasses.dataclass(frozen=True)
class Step:
    """How a run scales from a reference: the speed-up is the ideal one times all factors; counted ones are None without counters."""

    ideal: float
    speedup: float
    load_balance: float
    serialisation: float
    transfer: float
    computation: float
    """Computation scalability; the product of the three below."""
    instructions: float | None
    ipc: float | None
    frequency: float | None
    global_efficiency: float
    """Parallel efficiency of the run times `computation`."""

    @property
    def reached(self) -> float:
        """The speed-up by the ideal one: the product of load balance, serialisation, transfer and computation."""
        return self.speedup / self.ideal


MULTIPLIED = ("load_balance", "serialisation", "transfer", "computation")
"""The factors of a step."""
COUNTED = ("instructions", "ipc", "frequency")
"""Those of its computation."""


def step(run: Figures, reference: Figures, weak: bool = False) -> Step:
    """Return how a run scales from a reference; `weak`: its work is as many times the reference's as its processes are."""
    more = run.locations / reference.locations
    amount = more if weak else 1.0
    rates = (run.ipc, reference.ipc, run.ghz, reference.ghz)
    counted: tuple[float, float, float] | None = None
    if run.instructions and reference.instructions and None not in rates:
        own_ipc, its_ipc, own_ghz, its_ghz = (float(rate or 0) for rate in rates)
        counted = (amount * reference.instructions / run.instructions, own_ipc / its_ipc, own_ghz / its_ghz)
    computation = amount * reference.useful / run.useful
    instructions, ipc, frequency = counted or (None, None, None)
    return Step(
        ideal=more,
        speedup=amount * reference.time / run.time,
        load_balance=run.load_balance / reference.load_balance,
        serialisation=run.serialisation / reference.serialisation,
        transfer=run.transfer / reference.transfer,
        computation=computation,
        instructions=instructions,
        ipc=ipc,
        frequency=frequency,
        global_efficiency=run.parallel * computation,
    )


def cost(factor: float) -> float:
    """Return how much longer a run takes for a factor, as a part of 1: 0.8 makes it 0.25 longer; below 0 it is shorter."""
    return 1 / factor - 1


@dataclasses.dataclass(frozen=True, eq=False)
class Recording:
    """What a series keeps of a recording."""

    path: str
    processes: int
    figures: Figures
    init: bool
    """Whether it is measured from MPI_Init on, and not from its first instant."""
    call_paths: dict[str, float]
    """ns that all processes spend in a call path, without what is below it, by its full name."""
    regions: frozenset[str]
    routines: dict[str, int]
    """How often each is called."""
    digest: bytes
    """Equal for the same recording twice."""
    health: Health
    idle: int = 0
    """Processes, or threads, that compute less than a tenth of what the busiest computes."""

    @property
    def size(self) -> tuple[int, int]:
        """Processes or threads, and processes."""
        return self.figures.locations, self.processes


def measured(run: Run) -> Recording:
    """Return what a series keeps of a recorded run. Raises TraceError if nothing is computed in the part that is measured."""
    trace, told = run.trace, whole(run)
    hosts = np.flatnonzero(trace.locations.kind != STREAM)
    until, path = told.since + told.time, trace.path
    if not (told.time and told.ideal and told.useful.any()):
        raise TraceError(f"{path}: no process computes {'after MPI_Init' if len(init_calls(trace)) else 'at all'}, must be a run that does")
    ends = trace.timeline.locations
    window = Times(np.clip(ends.enter, told.since, until), np.clip(ends.leave, told.since, until))
    counted = work(trace, window)
    instructions, cycles = (None if value is None else float(value.sum()) for value in (counted.instructions, counted.cycles))
    useful, longest = float(told.useful.sum()), float(told.useful.max())
    return Recording(
        path,
        len(np.unique(trace.locations.process)),
        Figures(len(told.useful), told.time, useful, longest, told.ideal, instructions or None, cycles or None),
        told.name == AFTER,
        _call_paths(trace, told.since, until, hosts),
        frozenset(trace.names[region] for region in np.unique(trace.paths.region).tolist()),
        {operations.OPS[op]: int(count) for op, count in zip(*np.unique(trace.calls.op, return_counts=True), strict=True)},
        _digest(trace),
        run.health(),
        int((told.useful < _IDLE * longest).sum()),
    )


def _digest(trace: Trace) -> bytes:
    calls, ends = trace.timeline.calls, trace.timeline.locations
    found = hashlib.blake2b(trace.calls.op.tobytes())
    for column in (calls.enter, calls.leave, ends.enter, ends.leave):
        found.update(column.tobytes())
    return found.digest()


def _call_paths(trace: Trace, since: int, until: int, hosts: I8) -> dict[str, float]:
    """Return how long some locations are in each call path between two instants, ns all together; those of one name added up."""
    tree, times = call_tree(trace), trace.timeline
    cut = (
        Ends(*(np.clip(end, since, until).astype("f8") for end in (each.enter, each.leave)))
        for each in (times.calls, times.regions, times.locations)
    )
    value, out = exclusive(trace, tree, Along(*cut))[:, hosts].sum(axis=1), dict[str, float]()
    for node in np.flatnonzero(value).tolist():
        name = tree.full_name(node)
        out[name] = out.get(name, 0.0) + float(value[node])
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Point:
    """Recordings of one size or commit."""

    label: str
    recordings: tuple[Recording, ...]
    """In the order given."""

    @property
    def middle(self) -> Recording:
        """The one of median time; of an even number the sooner of both."""
        return sorted(self.recordings, key=lambda each: each.figures.time)[(len(self.recordings) - 1) // 2]

    @property
    def figures(self) -> Figures:
        """Those of the one of median time."""
        return self.middle.figures


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """Points in their order, of which one is the reference of all."""

    kind: str
    """STRONG, WEAK or HISTORY."""
    points: tuple[Point, ...]
    reference: Point

    @property
    def newest(self) -> Point:
        """The last point: the newest run, or the largest."""
        return self.points[-1]

    def step(self, point: Point) -> Step:
        """Return how a point scales from the reference."""
        return step(point.figures, self.reference.figures, self.kind == WEAK)


def series(recordings: Sequence[Recording], labels: Sequence[str], named: bool = False, weak: bool = False, against: str = "") -> Series:
    """Return the series that recordings make: points by size if they have several, else by label, in the order given.

    `named`: the user gave the labels; `against`: the label of the reference, or PREVIOUS; by default the first. Raises UsageError for one
    point, for labels of other sizes, for a recording given twice, and for a reference that there is not; TraceError for other programs.
    """
    _check_alike(recordings)
    sizes = sorted({each.size for each in recordings})
    if len(sizes) > 1:
        if named:
            told = ", ".join(_size_label(size, sizes) for size in sizes)
            raise UsageError(f"--labels: these runs are named by their sizes, {told}; labels are for runs of one size")
        points = [Point(_size_label(size, sizes), tuple(each for each in recordings if each.size == size)) for size in sizes]
    else:
        if weak:
            raise UsageError(f"--weak: all runs have {words.several(sizes[0][1], 'process')}, must be several sizes")
        grouped: dict[str, list[Recording]] = {}
        for each, label in zip(recordings, labels, strict=True):
            grouped.setdefault(label, []).append(each)
        points = [Point(label, tuple(some)) for label, some in grouped.items()]
    if len(points) < 2:
        raise UsageError(f"{recordings[0].path}: all runs are of one size and label, {points[0].label}; must be two or more to compare")
    for point in points:
        for _, twice in groupby(sorted(point.recordings, key=lambda each: each.digest), lambda each: each.digest):
            first, *more = twice
            if more:
                raise UsageError(f"{more[0].path}: the same recording as {first.path}, must be another one")
    kind = HISTORY if len(sizes) == 1 else WEAK if weak else STRONG
    return Series(kind, tuple(points), _reference(points, against))


def _size_label(size: tuple[int, int], sizes: Sequence[tuple[int, int]]) -> str:
    """Return what a size is called: processes; where any has threads processes x threads."""
    locations, processes = size
    if all(locations == processes for locations, processes in sizes):
        return str(processes)
    return f"{processes}x{locations // processes}" if locations % processes == 0 else f"{processes}/{locations}"


def _reference(points: Sequence[Point], against: str) -> Point:
    """Return the point that the others are compared with."""
    if against in ("", PREVIOUS):
        return points[-2] if against else points[0]
    found = next((point for point in points if point.label == against), None)
    if found is None:
        known = ", ".join(words.shown(point.label) for point in points[:-1])
        raise UsageError(f"--against {against}: no such run, must be {PREVIOUS} or one of {known}")
    if found is points[-1]:
        raise UsageError(f"--against {against}: is the last of the series itself, must be another one")
    return found


def _check_alike(recordings: Sequence[Recording]) -> None:
    """Raise TraceError if two runs are of different programs: both have regions, and none in common."""
    having = [each for each in recordings if each.regions]
    for other in having[1:]:
        one, two = having[0].regions, other.regions
        if not one & two:
            told = f"{_some(one)} and {_some(two)}"
            raise TraceError(f"{having[0].path}, {other.path}: no region is in both, {told}; must be runs of one program")


def foreign(run: Recording, other: Recording) -> tuple[float, list[str]]:
    """Return the part of the calls of a run that are of routines which the other never calls, and these, most calls first."""
    only = sorted(run.routines.keys() - other.routines.keys(), key=lambda name: (-run.routines[name], name))
    return sum(run.routines[name] for name in only) / max(1, sum(run.routines.values())), only


def doubt(series: Series) -> str:
    """Return in words why the newest run and the reference may not be what they are taken for; empty if nothing says so.

    Runs of more than one process half of whose calls the other knows nothing of are perhaps of two programs. Computation of all processes
    together stays as it is in strong scaling, and grows with them in weak: it is asked about where it is nearer to the other.
    """
    one, other = series.reference.middle, series.newest.middle
    for run, against in ((one, other), (other, one)):
        part_, names = foreign(run, against)
        if part_ > _FOREIGN and min(one.processes, other.processes) > 1:
            told = ", ".join(words.shown(name, 40) for name in names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")
            share = words.percent(part_, 1)
            return f"perhaps two programs: {share} of the calls of {words.shown(run.path)} are {told}, which the other never calls"
    more, grown = other.figures.locations / one.figures.locations, other.figures.useful / one.figures.useful
    if series.kind == HISTORY or more == 1 or (grown * grown > more) == (series.kind == WEAK):
        return ""
    told = f"all processes together compute {grown:.2f} times as much, where {more:g} times as many do"
    return f"{told}: {'is the problem the same? then without --weak' if series.kind == WEAK else 'does the problem grow? then with --weak'}"


def _some(names: frozenset[str]) -> str:
    shown = sorted(names)[:3]
    return f"{', '.join(words.shown(name, 40) for name in shown)}{' ...' if len(names) > len(shown) else ''}"


@dataclasses.dataclass(frozen=True)
class Lost:
    """What a call path takes of the time of a run, ns, mean of all processes."""

    call_path: str
    reference: float
    """In the reference, as it would be with the ideal speed-up."""
    run: float

    @property
    def lost(self) -> float:
        """How much longer; of all call paths together this is how far the run is from the ideal speed-up."""
        return self.run - self.reference


def lost(run: Recording, reference: Recording, weak: bool = False) -> list[Lost]:
    """Return what call paths take more than they would with the ideal speed-up, most first; they are matched by their names."""
    among, before, after = run.figures.locations, reference.call_paths, run.call_paths
    shared = reference.figures.locations if weak else among
    rows = [Lost(name, before.get(name, 0.0) / shared, after.get(name, 0.0) / among) for name in before.keys() | after.keys()]
    return sorted(rows, key=lambda row: (-row.lost, row.call_path))
