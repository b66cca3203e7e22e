"""Where the makespan is spent: one critical path, cut into pieces that add up to it; and the slack of every call.

The path is a longest one of the happened-before graph, so no wait lies on it. Its pieces are computation, work inside calls,
transfer (the lag of a message, from the entry of the call that sends it), the gap between two sends where the model keeps them apart,
from return to return, and the time before the first instant of the process it begins on. The slack of a call says how much later it may
return without delaying the end: makespan minus the longest path through its return.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from perwiz.engines.sweep import critical_path, to_end
from perwiz.graph.graph import EJECTION, GAP, INJECTION, LOCAL, QUEUE
from perwiz.loggps.costs import recorded, rest, slopes
from perwiz.loggps.weigh import lags
from perwiz.shown import Shown
from perwiz.trace.arrays import I4, I8, U1, Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.stretch import segments_of
from perwiz.whatif.run import Run, Start, replayed

KINDS = ("start", "computation", "calls", "transfer", "gap")
"""Kinds of pieces."""
_START, _COMPUTATION, _CALLS, _TRANSFER, _GAP = range(5)
_LAST = 2**62


@dataclasses.dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of the path in the order of time, none of length 0; one row each."""

    kind: U1
    """Row of KINDS."""
    begin: I8
    """ns of the timeline."""
    length: I8
    """ns; below 0 only where an effect was recorded before its cause."""
    location: I4
    """The process whose computation or call it is; of a transfer, the one that gets it."""
    path: I4
    """Region path: the innermost region at that time."""
    call: I4
    """The call, -1 outside of any; of a transfer or gap, the one that it lets return."""

    def __len__(self) -> int:
        return len(self.kind)

    def between(self, start: int, stop: int) -> Pieces:
        """Return the parts of pieces from `start` to `stop`, ns of the timeline."""
        begin = np.clip(self.begin, start, stop)
        length = np.clip(self.begin + self.length, start, stop) - begin
        cut = dataclasses.replace(self, begin=begin, length=length)
        kept = np.flatnonzero(length)
        return Pieces(*(getattr(cut, field.name)[kept] for field in dataclasses.fields(Pieces)))

    def sums(self, key: Ints, groups: int) -> Ints:
        """Return the length, ns, of the pieces of every group and kind (groups, len(KINDS)); `key` is the group of each piece."""
        out = np.zeros((groups, len(KINDS)), "i8")
        np.add.at(out, (key, self.kind), self.length)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class Critical(Shown):
    """One critical path of a run, and the slack of its calls."""

    run: Run
    edges: I4
    """Edges of the graph along the path, in the order of time."""
    pieces: Pieces
    changes: int
    """How many times the path goes from one process (or thread) to another."""

    @cached_property
    def slack(self) -> I8:
        """ns per call: how much later it may return without delaying the end. 0 on the path."""
        return slack(self.run)

    def __repr__(self) -> str:
        return (
            f"<Critical of {self.run.trace.path}: {self.run.makespan} ns in {len(self.pieces)} pieces, {self.changes} changes of process>"
        )

    def gaps(self) -> dict[str, int]:
        """Return how many ns of the gaps on the path each parameter of the model makes, by its key: g_ns and G_ns_per_byte."""
        weighted, edges = self.run.weighted, self.edges[self.run.graph.kind[self.edges] == GAP]
        keys = ("g_ns", "G_ns_per_byte")
        return {key: round(recorded(weighted, key) * float(slopes(weighted, key)[edges].sum())) for key in keys}


def critical(trace: Trace, model: Start = None, clock: str = "clc") -> Critical:
    """Return one critical path of the recorded run, its pieces adding up to the makespan, and the slack of every call, int64 ns.

    `model` and `clock` as in `predict`. Raises UsageError, ModelError, ClockError.
    """
    return critical_of(replayed(trace, model, clock))


def critical_of(run: Run) -> Critical:
    """Return one critical path of a run, its pieces adding up to the makespan, and the slack of every call, int64 ns."""
    edges = critical_path(run.graph, run.weighted.weight, run.time)
    location = _locations(run, edges)
    changes = int((location[1:] != location[:-1]).sum())
    return Critical(run, edges, _pieces(run, edges, location), changes)


def pieces_between(run: Run, start: int, stop: int, location: int) -> Pieces:
    """Return what holds a location until `stop`, back to `start`: pieces of a longest path to there, which add up to stop - start."""
    graph, time, first = run.graph, run.time, run.trace.first_calls[location : location + 2]
    calls = slice(*first.tolist())
    own = np.append(np.stack((graph.entered[calls], graph.returned[calls]), 1), graph.ended[location])
    last = own[min(int(np.searchsorted(time[own], stop)), len(own) - 1)]
    edges = critical_path(graph, run.weighted.weight, time, int(last))
    return _pieces(run, edges, _locations(run, edges)).between(start, stop)


def computation_between(run: Run, start: int, stop: int) -> Pieces:
    """Return all computation of a run from `start` to `stop`, on the critical path or not, cut at the boundaries of user regions."""
    graph, trace = run.graph, run.trace
    target = np.concatenate((graph.entered, graph.ended)).astype("i8")
    location = np.concatenate((trace.calls.location, np.arange(len(trace.locations), dtype="i4")))
    return _sorted([_computation(run, graph.start[target], target, location)]).between(start, stop)


def slack(run: Run) -> I8:
    """Return how much later each call may return without delaying the end of the run, int64 ns."""
    returned, time = run.graph.returned, run.time
    left = to_end(run.graph, run.weighted.weight)
    return np.asarray(time[run.graph.ended].max(initial=0) - time[returned] - left[returned])


def _locations(run: Run, edges: I4) -> I4:
    """Return the location that each edge of the path leads to; at the hub of a collective that of the edge before."""
    graph, calls = run.graph, run.trace.calls.location
    owner = np.full(graph.vertices, NONE, "i4")
    for vertex, location in ((graph.entered, calls), (graph.returned, calls)):
        owner[vertex] = location
    for vertex in (graph.begun, graph.ended):
        owner[vertex] = np.arange(len(vertex))
    out = owner[run.graph.targets(edges)]
    last_owned = np.maximum.accumulate(np.where(out >= 0, np.arange(len(out)), -1))
    last_owned[last_owned < 0] = np.flatnonzero(out >= 0)[0] if len(out) else 0
    return np.asarray(out[last_owned], "i4")


def _pieces(run: Run, edges: I4, location: I4) -> Pieces:
    """Return the pieces of the path, those of length 0 left out."""
    target = run.graph.targets(edges)
    of = (run, edges, target, location)
    return _sorted([_start(*of), *_inside(*of), _through(*of), _computation(*of)])


def _sorted(parts: list[tuple[Ints, ...]]) -> Pieces:
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    kept = np.flatnonzero(columns[3])
    kept = kept[np.lexsort((columns[2][kept], columns[0][kept]))]
    types = ("u1", "i8", "i8", "i4", "i4", "i4")
    return Pieces(*(column[kept].astype(dtype) for column, dtype in zip(columns[1:], types, strict=True)))


def _part(step: I8, *columns: Ints | int) -> tuple[Ints, ...]:
    """Return columns of pieces: the step of the path, a row of its edges, that each belongs to, and those of Pieces."""
    return (step, *(np.broadcast_to(np.asarray(column), step.shape) for column in columns))


def _start(run: Run, edges: I4, target: I8, location: I4) -> tuple[Ints, ...]:
    """Return the piece from the first instant of any process to that of the one on which the path begins."""
    graph, time = run.graph, run.time
    step = np.zeros(min(1, len(edges)), "i8")
    first = np.where(np.isin(target[step], graph.begun), target[step], graph.source[edges[step]])
    least = time[graph.begun].min(initial=_LAST)
    return _part(step, _START, least, time[first] - least, location[step], NONE, NONE)


def _inside(run: Run, edges: I4, target: I8, location: I4) -> list[tuple[Ints, ...]]:
    """Return the pieces of edges that let calls return: a gap, or transfer (not where its own entry does) and then work."""
    graph, weight = run.graph, run.weighted.weight[edges]
    step = np.flatnonzero(graph.returning[target] >= 0)
    call = graph.returning[target[step]]
    work = rest(run.weighted, lags(run.trace, graph, run.weighted.model, inside=run.weighted.rounds))[call]
    gap, local = (graph.kind[edges[step]] == kind for kind in (GAP, LOCAL))
    lag = np.where(gap, weight[step], np.where(local, 0, weight[step] - work))
    begin, path = run.time[graph.source[edges[step]]], run.trace.calls.path[call]
    return [
        _part(step, np.where(gap, _GAP, _TRANSFER), begin, lag, location[step], path, call),
        _part(step, _CALLS, begin + lag, weight[step] - lag, location[step], path, call),
    ]


def _through(run: Run, edges: I4, target: I8, location: I4) -> tuple[Ints, ...]:
    """Return the pieces of messages on their way to interfaces and behind others there, each of the call that sends."""
    graph, kind = run.graph, run.graph.kind[edges]
    step = np.flatnonzero(np.isin(kind, (INJECTION, EJECTION, QUEUE)) & (graph.returning[target] < 0))
    sends, rounds = run.trace.messages.send, run.weighted.rounds
    call = (sends if rounds is None else np.append(sends, rounds.calls(run.trace)))[graph.cause[edges[step]]]
    begin, weight = run.time[graph.source[edges[step]]], run.weighted.weight[edges[step]]
    return _part(step, _TRANSFER, begin, weight, location[step], run.trace.calls.path[call], call)


def _computation(run: Run, edges: I4, target: I8, location: I4) -> tuple[Ints, ...]:
    """Return the pieces between calls, cut at the boundaries of user regions."""
    graph, trace = run.graph, run.trace
    gap = np.full(graph.vertices, NONE, "i8")
    gap[graph.entered] = np.arange(len(trace.calls)) + trace.calls.location
    gap[graph.ended] = trace.first_calls[1:] + np.arange(len(trace.locations))
    step = np.flatnonzero(gap[target] >= 0)
    segments = segments_of(run.weighted)
    first, end = (segments.bounds[gap[target[step]] + more].astype("i8") for more in (0, 1))
    count = end - first
    row = np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
    before = np.concatenate(([0], np.cumsum(segments.length)))
    begin = np.repeat(run.time[graph.source[edges[step]]] - before[first], count) + before[row]
    step = np.repeat(step, count)
    return _part(step, _COMPUTATION, begin, segments.length[row], location[step], segments.path[row], NONE)
