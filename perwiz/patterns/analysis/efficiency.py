"""Parallel efficiencies as the POP centre of excellence defines them, with the ideal network replayed instead of guessed.

    load balance  mean(u) / max(u)       u is what each process computes
    serialisation max(u) / ideal         ideal is the time on an ideal network
    transfer      ideal / time
    parallel      mean(u) / time         the product of the three

The ideal run is the replay of the same graph in which MPI calls take no time and messages none to arrive: computation is kept, and who
waits for whom. MPI_Init, MPI files and calls that may wait for partners perwiz does not know stay as they are: they are no transfer. The
estimate beside it takes from every process its own MPI time but waiting and files (as Cube's Advisor does): what that brings to others is
left out.

Of programs with threads every thread counts as a process does above; streams of devices are no threads.

A region's ideal time is what the longest process spends in it in the ideal run; it may be above its time, where a wait moves into it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.engines.sweep import makespan, sweep
from perwiz.graph.graph import LOCAL
from perwiz.loggps.model import Costs
from perwiz.loggps.weigh import CUT, timeline_of
from perwiz.patterns.analysis import counters, delays
from perwiz.patterns.analysis.counters import NOT_COUNTED, Counted, Work, counted
from perwiz.patterns.callpaths import CallTree, call_tree
from perwiz.patterns.idle import first_threads
from perwiz.patterns.library import basics
from perwiz.patterns.library.collectives import FINALIZE, START
from perwiz.patterns.pattern import View
from perwiz.patterns.severity import Severity, full
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.origin import Origin
from perwiz.trace.tables import NONE, PROCESS, Times
from perwiz.trace.tied import processors
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.network import changed_weights
from perwiz.whatif.run import Run

_FILES = np.array([name.startswith("MPI_File_") for name in operations.OPS])
ANY = np.ones(len(operations.OPS), bool)
"""All ops."""
PROGRAM, BETWEEN, AFTER = "program", "MPI_Init to MPI_Finalize", "after MPI_Init"
"""Names of the whole program, of its part between starting and ending MPI, and of that from when all have started it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Efficiency:
    """The efficiencies of the whole program or a region."""

    name: str
    """PROGRAM, BETWEEN, AFTER, or a call path."""
    region: bool
    """Whether it is a region."""
    useful: I8
    """ns of computation per process, or per thread if there are several."""
    time: int
    """ns: of the program from its first to its last instant, of a region the longest of all processes."""
    ideal: int
    """The same on an ideal network."""
    work: Work = NOT_COUNTED
    """Instructions and cycles of the same computation."""
    since: int = 0
    """The instant from which on it is told, ns; of what `whole` returns."""

    @property
    def load_balance(self) -> float:
        """Mean of the computation by the most of any process."""
        return float(part(self.useful.mean(), self.useful.max()))

    @property
    def serialisation(self) -> float:
        """Most computation of any process by the ideal time."""
        return part(self.useful.max(), self.ideal)

    @property
    def transfer(self) -> float:
        """Ideal time by time."""
        return part(self.ideal, self.time)

    @property
    def communication(self) -> float:
        """Most computation of any process by the time."""
        return part(self.useful.max(), self.time)

    @property
    def parallel(self) -> float:
        """Mean of the computation by the time."""
        return part(self.useful.mean(), self.time)


def part(some: float, whole: float) -> float:
    """Return a share, 1 of nothing."""
    return float(some) / float(whole) if whole else 1.0


def efficiencies(run: Run, severity: Severity) -> list[Efficiency]:
    """Return the efficiencies of the part between MPI_Init and MPI_Finalize, of the whole program, and of the regions of its first level.

    The first is missing if not every process calls both; the first level is the first from the top that has several regions. Streams of
    devices count only in regions that no thread computes in.
    """
    time = sweep(run.graph, ideal(run))
    best = timeline_of(run.weighted, time, Origin("predicted", hypotheses=("an ideal network",)))
    hosts = processors(run.trace)
    tree, window = severity.tree, window_of(run.trace)
    counts = counted(run.trace, tree=tree)
    lasts = _length(run, run.trace.timeline.locations, run.makespan)
    least = _length(run, best.locations, makespan(run.graph, time))
    program = Efficiency(PROGRAM, False, severity.by_location("comp")[hosts], lasts, least)
    inner = counted(run.trace, window, tree) if window and counts else None
    out = [dataclasses.replace(some, useful=some.useful[hosts], work=_work(inner, hosts)) for some in between(run, best.calls)]
    out.append(dataclasses.replace(program, work=_work(counts, hosts)))
    computed = tree.inclusive(full(severity, "comp"))
    for node in first_level(tree):
        length, shortest = (_longest(run, tree, node, regions) for regions in (run.trace.timeline.regions, best.regions))
        chosen = hosts if computed[node, hosts].any() else ~hosts | hosts.all()
        out.append(Efficiency(tree.full_name(node), True, computed[node, chosen], length, shortest, _work(counts, chosen, node)))
    return out


def _work(counts: Counted | None, locations: Mask, node: int = 0) -> Work:
    """Return what computation took on some locations, in a call path and those below it."""
    return NOT_COUNTED if counts is None else counts.work(node).of(np.flatnonzero(locations))


def whole(run: Run) -> Efficiency:
    """Return the efficiency of the part from when the last process has left MPI_Init until the last enters MPI_Finalize.

    To the end if none does; of the whole program if the trace does not show MPI_Init. Gains are shares of the time from there to the end.
    Of a part of a run it is that of the process that takes longest: each begins it where it is. Streams of devices do not count.
    """
    trace, spans, asked = run.trace, run.trace.timeline.locations, _after_init(run)
    if asked is None:
        begin, lasts = int(spans.enter.min(initial=0)), _length(run, spans, run.makespan)
        useful = _computed(trace, begin, int(spans.leave.max(initial=0)))
        return Efficiency(PROGRAM, False, useful, lasts, shortest(run, ideal(run)), since=begin)
    since, until = asked.begins(trace.timeline), asked.ends(trace.timeline)
    return Efficiency(AFTER, False, _computed(trace, since, until), until - since, shortest(run, ideal(run)), since=since)


def shortest(run: Run, weight: I8) -> int:
    """Return how long the part that `whole` tells of takes with other weights, ns."""
    time, asked = sweep(run.graph, weight), _after_init(run)
    if asked is None and not run.trace.part:
        return makespan(run.graph, time)
    best = timeline_of(run.weighted, time, Origin("predicted", hypotheses=("an ideal network",)))
    return asked.ends(best) - asked.begins(best) if asked else selectors.longest(best.locations)


@dataclasses.dataclass(frozen=True, eq=False)
class _AfterInit:
    """The part of a run from when all have started MPI until they end it."""

    starts: I8
    """The calls that start MPI."""
    ending: I8
    """Those that end it; none if it goes on to the end of the run."""

    def begins(self, timeline: Timeline) -> int:
        """Return when it begins in a timeline, ns."""
        return int(timeline.calls.leave[self.starts].max())

    def ends(self, timeline: Timeline) -> int:
        """Return when it ends, ns."""
        return int(timeline.calls.enter[self.ending].max() if len(self.ending) else timeline.locations.leave.max())


def _after_init(run: Run) -> _AfterInit | None:
    """Return the part that gains are shares of, without the end of MPI; None for all of the run, or of its part."""
    trace, after, last = run.trace, selectors.after_init(run.trace), np.flatnonzero(FINALIZE[run.trace.calls.op])
    if trace.part or after is None or not 0 < after < run.makespan:
        return None
    found = _AfterInit(selectors.init_calls(trace), last)
    late = found.ends(trace.timeline) < found.begins(trace.timeline)
    return dataclasses.replace(found, ending=last[:0]) if late else found


def _length(run: Run, spans: Times, makespan: int) -> int:
    """Return how long the program takes, ns, given when its locations begin and end: of a part of a run that of the longest."""
    return selectors.longest(spans) if run.trace.part else makespan


def _computed(trace: Trace, since: int, until: int) -> I8:
    """Return what each processor computes between two instants, ns."""
    count = len(trace.locations)
    return computed(trace, np.full(count, since), np.full(count, until))[processors(trace)]


def computed(trace: Trace, since: I8, until: I8) -> I8:
    """Return what each location computes between two instants of its own, ns."""
    times, spans, row = trace.timeline.calls, trace.timeline.locations, trace.calls.location
    out = np.maximum(np.minimum(spans.leave, until) - np.maximum(spans.enter, since), 0)
    np.subtract.at(out, row, np.maximum(np.minimum(times.leave, until[row]) - np.maximum(times.enter, since[row]), 0))
    return out


def window_of(trace: Trace) -> Times | None:
    """Return, per location, when its process was between MPI_Init and MPI_Finalize, and it was there itself.

    None if not the first thread of every process calls each once.
    """
    calls, there = trace.timeline.calls, trace.timeline.locations
    threads, first = np.flatnonzero(trace.locations.kind == PROCESS), first_threads(trace)
    starts, ends = (np.flatnonzero(chosen[trace.calls.op]) for chosen in (START, FINALIZE))
    if not len(threads) or (first == NONE).any() or any(not np.array_equal(trace.calls.location[call], threads) for call in (starts, ends)):
        return None
    process = np.searchsorted(threads, first)
    enter = np.maximum(calls.leave[starts][process], there.enter)
    return Times(enter, np.maximum(np.minimum(calls.enter[ends][process], there.leave), enter))


def inside(run: Run, window: Times, chosen: Mask) -> I8:
    """Return how long, ns, each location is in calls of some routines (bool per op) in its window."""
    calls, location = run.trace.timeline.calls, run.trace.calls.location
    begin, end = window.enter[location], window.leave[location]
    length = (np.clip(calls.leave, begin, end) - np.clip(calls.enter, begin, end)) * chosen[run.trace.calls.op]
    return run.trace.summed(length)


def between(run: Run, best: Times) -> list[Efficiency]:
    """Return the efficiency of the part between MPI_Init and MPI_Finalize, of all locations; nothing if there is none."""
    window = window_of(run.trace)
    if window is None:
        return []
    first, last = (np.flatnonzero(chosen[run.trace.calls.op]) for chosen in (START, FINALIZE))
    span, shortest = (int(times.enter[last].max() - times.leave[first].min()) for times in (run.trace.timeline.calls, best))
    return [Efficiency(BETWEEN, False, window.leave - window.enter - inside(run, window, ANY), span, shortest)]


def ideal(run: Run, routines: Mask | None = None) -> I8:
    """Return the weights of the run in which calls of some routines, by default of all, take no time and messages none.

    What binds stays, with nothing added.
    """
    graph, weight = run.graph, run.weighted.weight.copy()
    calls, modelled = run.trace.calls, ~operations.UNMODELLED
    free = ((ANY if routines is None else routines) & ~(_FILES | START))[calls.op]
    free &= modelled[calls.op] | (operations.ON_WINDOWS[calls.op] & (calls.tag >= 0))
    kept = np.zeros(len(graph.start) - 1, bool)
    kept[graph.returned[~free]] = True
    binds = (graph.kind != LOCAL) & (weight != CUT) & ~np.repeat(kept, np.diff(graph.start))
    weight[binds] = np.minimum(weight[binds], 0)
    weight[graph.start[graph.returned[free]]] = 0
    return weight


def no_network(run: Run) -> I8:
    """Return the weights of the run in which no cost of the model is paid, neither of the network nor overheads: what is left in calls
    is what no parameter explains. Eager limits stay.
    """
    return _of_costs(run, [row.times(0.0) for row in run.weighted.model.costs])


def no_bytes(run: Run) -> I8:
    """Return the weights of the run in which no cost per byte is paid. Eager limits stay."""
    return _of_costs(run, [dataclasses.replace(row, G=0.0, O_s=0.0, O_r=0.0) for row in run.weighted.model.costs])


def _of_costs(run: Run, costs: Sequence[Costs]) -> I8:
    model = dataclasses.replace(run.weighted.model, costs=tuple(costs))
    return changed_weights(run.weighted, model, run.weighted.size)


def estimate(severity: Severity) -> int:
    """Return the ideal time, ns, without a replay: the most that any process has besides transfer."""
    kinds = [name for name in delays.KINDS if name.startswith("mpi_")]
    waits = sum((severity.by_location(name) for name in kinds), np.zeros(len(severity.trace.locations), "i8"))
    transfer = severity.by_location("mpi") - waits - severity.by_location("mpi_io")
    return int((severity.by_location("execution") - transfer).max(initial=0))


def first_level(tree: CallTree) -> list[int]:
    """Return the regions below the first node from the top that has several, none if there is no such node."""
    regions = [0]
    while len(regions) == 1:
        regions = np.flatnonzero((tree.parent == regions[0]) & (tree.op < 0)).tolist()
    return regions


def _longest(run: Run, tree: CallTree, node: int, times: Times) -> int:
    """Return the most time, ns, that any process spends in the instances of a node."""
    regions = run.trace.regions
    chosen = tree.of_path[regions.path] == node
    total = np.zeros(len(run.trace.locations), "i8")
    np.add.at(total, regions.location[chosen], (times.leave - times.enter)[chosen])
    return int(total.max(initial=0))


def computation(trace: Trace) -> I8:
    """Return the computation of every location, ns."""
    return np.asarray(basics.times(View(trace), call_tree(trace))["comp"].value.sum(axis=0))


def work(trace: Trace) -> Work:
    """Return what computation took between MPI_Init and MPI_Finalize, of all the run where that is not told; see counters.work."""
    return counters.work(trace, window_of(trace))


def scaling(useful: I8, reference: I8) -> float:
    """Return the computation scalability: the reference's computation, of all its processes, by that of this run."""
    return part(reference.sum(), useful.sum())
