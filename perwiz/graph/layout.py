"""The vertices and edges of a graph in the order of the program, and the order of time that they are sorted into."""

from __future__ import annotations

import numpy as np

from perwiz.errors import GraphError
from perwiz.graph.graph import GAP, LOCAL, Graph
from perwiz.kernels import names, sweep
from perwiz.kernels import order as kernel
from perwiz.trace.arrays import I4, U1, Ints, Mask, chunks
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_DEGREES = 6
"""Numbers of edges into a vertex, from 0 on, that are told apart where it is put in order; the last stands for more, too."""


class Layout:
    """Vertices in program numbering: 0 is the origin; per location its first instant, its calls (entered, returned), its last; hubs."""

    def __init__(self, trace: Trace) -> None:
        first = trace.first_calls
        location = np.arange(len(trace.locations))
        call = np.arange(len(trace.calls))
        self.entered = (2 * call + 2 * trace.calls.location + 2).astype("i4")
        self.begun = (2 * first[:-1] + 2 * location + 1).astype("i4")
        self.ended = (2 * first[1:] + 2 * location + 2).astype("i4")
        self.chain = 2 * (len(call) + len(location)) + 1
        """Number of vertices before the hubs."""
        self.hubs = 0

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.chain + self.hubs

    def chained(self) -> U1:
        """Return which vertices are followed by the next one of their location, 1 or 0 per vertex."""
        chained = np.zeros(self.size, "u1")
        chained[1 : self.chain] = 1
        chained[self.ended] = 0
        return chained


class Edges:
    """All edges but the local ones along a chain, in pieces."""

    def __init__(self) -> None:
        self._parts: list[tuple[I4, I4, U1, I4]] = []

    def add(self, source: Ints, target: Ints, kind: int, cause: Ints | int) -> None:
        """Add edges of one kind."""
        count = len(source)
        causes = np.broadcast_to(np.asarray(cause, "i4"), (count,))
        self._parts.append((source.astype("i4", copy=False), target.astype("i4", copy=False), np.full(count, kind, "u1"), causes))

    def whole(self) -> list[Ints]:
        """Return source, target, kind and cause, and forget the pieces."""
        columns = [list(column) for column in zip(*self._parts, strict=True)]
        self._parts.clear()
        return [np.concatenate(columns.pop(0)) for _ in range(4)]


def add_gaps(trace: Trace, layout: Layout, edges: Edges) -> None:
    """Add an edge from the return of each sending call to that of the next one of its location."""
    sends = np.zeros(len(trace.calls), bool)
    sends[trace.messages.send] = True
    e = np.flatnonzero(sends)
    same = trace.calls.location[e[1:]] == trace.calls.location[e[:-1]]
    edges.add(layout.entered[e[:-1][same]] + 1, layout.entered[e[1:][same]] + 1, GAP, e[:-1][same])


def counts(key: I4, size: int) -> I4:
    """Return how often each of so many vertices occurs. Raises GraphError for one that there is not."""
    out = np.zeros(size, "i4")
    bad = kernel.count(key, out)
    if bad != NONE:
        raise GraphError(f"edge {bad} of {len(key)}: vertex {key[bad]}, must be one of {size}")
    return out


def starts(counts: I4) -> I4:
    """Return where each group begins when groups of these sizes follow one another, and the end of the last."""
    out = np.zeros(len(counts) + 1, "i4")
    np.cumsum(counts, out=out[1:])
    return out


def sort_topologically(layout: Layout, source: I4, target: I4) -> tuple[I4, int]:
    """Return the vertices, each behind those that lead into it, and how many could be placed: fewer than all if there is a cycle.

    Raises GraphError if an edge does not lead from one to another, or leads into the origin.
    """
    chained = layout.chained()
    waiting = counts(target, layout.size)
    if waiting[0]:
        raise GraphError(f"edge {np.flatnonzero(target == 0)[0]} of {len(target)}: leads into vertex 0, must be behind the origin")
    waiting[1:] += chained[:-1]
    first = starts(counts(source, layout.size))
    edge = np.empty(len(source), "i4")
    kernel.group(source, first[:-1].copy(), edge)
    degree = np.minimum(waiting, _DEGREES - 1).astype("u1")
    vertex, spare = np.empty(layout.size, "i4"), np.empty(layout.size, "i4")
    return vertex, kernel.order(first, edge, target, chained, waiting, degree, np.empty(_DEGREES, "i8"), spare, vertex)


def components(layout: Layout, placed: I4, source: I4, target: I4, keep: Mask) -> I4:
    """Return the number of the cycle each vertex lies on (alone on none: a number of its own), SKIPPED for those that could be placed."""
    part = np.full(layout.size, names.UNNUMBERED, "i4")
    part[placed] = names.SKIPPED
    first = starts(counts(source[keep], layout.size))
    edge = np.empty(len(source[keep]), "i4")
    kernel.group(source[keep], first[:-1].copy(), edge)
    index, lowest, following, path, unfinished = np.zeros((5, layout.size), "i4")
    kernel.components(first, edge, target[keep], layout.chained(), index, lowest, following, path, unfinished, part)
    return part


def finish(layout: Layout, vertex: I4, listed: list[Ints], dropped: int, deadlocks: int) -> Graph:
    """Return the graph, its edges listed by the vertex they lead into. Empties `listed` (source, target, kind, cause)."""
    chained = layout.chained()
    position = np.empty(layout.size, "i4")
    sweep.put_rows(vertex, position)
    incoming = counts(listed[1], layout.size)
    incoming[1:] += chained[:-1]
    start = starts(incoming[vertex])
    del incoming
    source, edge = np.empty(start[-1], "i4"), np.empty(start[-1], "i4")
    kernel.lead_in(vertex, position, chained, listed.pop(0), listed.pop(0), start[:-1].copy(), source, edge)
    local = edge == names.CHAINED
    kind = listed.pop(0)[edge]
    kind[local] = LOCAL
    causes, cause = listed.pop(0), edge  # in its place
    for chunk in chunks(len(edge)):
        cause[chunk] = np.where(local[chunk], NONE, causes[edge[chunk]])
    return Graph(
        start=start,
        source=source,
        kind=kind,
        cause=cause,
        entered=position[layout.entered],
        returned=position[layout.entered + 1],
        begun=position[layout.begun],
        ended=position[layout.ended],
        contradictions=dropped,
        deadlocks=deadlocks,
    )
