"""How long each call waits for its partners, and for which."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import Graph, hubs
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I4, I8, chunks
from perwiz.trace.resources import map_threads, thread_count
from perwiz.trace.tables import NONE


@dataclasses.dataclass(frozen=True, eq=False)
class Waits:
    """How long each call waits for its partners in one run."""

    time: I8
    """ns per call."""
    partner: I4
    """Call that is waited for, -1 if none; in a collective the one that entered last: of a part none, as another process may have it."""

    @classmethod
    def of_none(cls) -> Waits:
        """Return the waits of no calls."""
        return cls(np.zeros(0, "i8"), np.zeros(0, "i4"))


def waiting(weighted: Weighted, time: I8) -> Waits:
    """Return how long each call waits for its partners when vertices have these times, and for which call."""
    wait, edge = _measured(weighted, time)
    return Waits(wait, _behind(weighted.graph, time, edge))


def waiting_time(weighted: Weighted, time: I8) -> I8:
    """Return the same without for which: ns per call."""
    return _measured(weighted, time)[0]


def _measured(weighted: Weighted, time: I8) -> tuple[I8, I4]:
    """Return how long each call waits, and the edge of what it waits for, -1 none. Vertices are read in the order of memory."""
    graph = weighted.graph
    returning = graph.returning
    calls = len(graph.returned)
    wait, edge = np.empty(calls, "i8"), np.empty(calls, "i4")

    def measure(vertices: slice) -> None:
        vertex = np.flatnonzero(returning[vertices] != NONE).astype("i4") + np.int32(vertices.start)
        by_vertex, behind, call = np.empty(len(vertex), "i8"), np.empty(len(vertex), "i4"), returning[vertex]
        kernel.measure_waits(graph.start, graph.source, graph.kind, weighted.weight, time, vertex, by_vertex, behind)
        wait[call], edge[call] = by_vertex, behind

    map_threads(measure, chunks(graph.vertices), thread_count(graph.edges))
    return wait, edge


def recorded_waits(waits: Waits, call: I8) -> Waits:
    """Return waits of calls in another order with the rows of the recorded ones: `call` is the row there of each of these.

    time       5 0 7    partner    1 -1 0      call    2 0 1
    recorded   7 5 0               1  2 -1
    """
    back = np.append(np.argsort(call), -1).astype("i4")
    return Waits(waits.time[call], back[waits.partner[call]])


def _behind(graph: Graph, time: I8, edge: I4) -> I4:
    """Return `edge` with each edge replaced by the call behind it, in place; behind a hub, the one that entered last."""
    owner = np.full(graph.vertices, -1, "i4")
    owner[graph.entered] = np.arange(len(graph.entered), dtype="i4")
    if graph.border is None:
        kernel.inherit_owner(graph.start, graph.source, hubs(graph), time, owner)
    for piece in chunks(len(edge)):
        waits = np.flatnonzero(edge[piece] >= 0) + piece.start
        edge[waits] = owner[graph.source[edge[waits]]]
    return edge
