"""How each edge of the happened-before graph binds clocks: the graph as the kernels of the controlled logical clock read it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.latency import distance
from perwiz.clock.roles import roles
from perwiz.graph.graph import COLLECTIVE, MESSAGE, Graph
from perwiz.kernels import clock_logical as kernel
from perwiz.kernels.names import FREE, HUB, PAIR_CLASSES, UNBOUND
from perwiz.trace.arrays import Ints
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

Rows = np.recarray[Any, Any]
_PIECE = 1 << 18
"""Edges or messages handled at a time, so that intermediate arrays stay small."""


@dataclasses.dataclass(frozen=True, eq=False)
class Wiring:
    """A graph, and per edge and vertex what `perwiz.kernels.clock_logical` asks for."""

    graph: Graph
    lane: NDArray[np.uint8]
    """How each edge binds: as a message by pair class, as a HUB, or UNBOUND."""
    owner: NDArray[np.int32]
    """Location per vertex; -1 - row of the summaries for hubs."""
    nodes: Ints
    """Node per location, int32."""
    metahosts: Ints
    """Metahost per location, int32."""
    hubs: int

    def clocks(self) -> Rows:
        """Return the clock of each location, at rest."""
        return clocks_at_rest(self.nodes, self.metahosts)

    def summaries(self) -> Rows:
        """Return a summary per hub, empty."""
        return empty_summaries(self.hubs + 1)


def clocks_at_rest(nodes: Ints, metahosts: Ints) -> Rows:
    """Return the clock of each location, at rest: rows of `perwiz.kernels.clock_logical.CLOCK`."""
    out = np.zeros(len(nodes), kernel.CLOCK).view(np.recarray)
    out.node, out.metahost = nodes, metahosts
    return out


def empty_summaries(count: int) -> Rows:
    """Return so many summaries, empty: rows of `perwiz.kernels.clock_logical.SUMMARY`; row 0 is no hub's."""
    out = np.empty(count, kernel.SUMMARY).view(np.recarray)
    out.latest, out.location = -FREE, NONE
    return out


def wire(trace: Trace, graph: Graph) -> Wiring:
    """Return the wiring of a graph of a trace. Rendezvous, gaps and probes bind no clock: they are guesses."""
    owner = np.full(graph.vertices, NONE, "i4")
    for vertices, location in _vertices(trace, graph):
        owner[vertices] = location
    hub = np.flatnonzero(owner == NONE)[1:]
    owner[hub] = -2 - np.arange(len(hub))
    lane = np.full(graph.edges, UNBOUND, "u1")
    pairs = _pair_classes(trace)
    mute, deaf = _silent(trace, graph)
    for first in range(0, graph.edges, _PIECE):
        piece = slice(first, first + _PIECE)
        kind, out = graph.kind[piece], lane[piece]
        at = np.flatnonzero(kind == MESSAGE)
        out[at] = pairs[graph.cause[piece][at]]
        at = np.flatnonzero(kind == COLLECTIVE)
        source = graph.source[piece][at]
        out[at] = np.where((source == 0) | mute[source], UNBOUND, HUB)
    lane[deaf] = UNBOUND
    return Wiring(graph, lane, owner, trace.locations.node, trace.locations.metahost, len(hub))


def vertex_times(trace: Trace, timeline: Timeline, graph: Graph, out: Ints) -> None:
    """Write the recorded time of each vertex of a location, int64 ns."""
    times = (timeline.calls.enter, timeline.calls.leave, timeline.locations.enter, timeline.locations.leave)
    for (vertices, _), values in zip(_vertices(trace, graph), times, strict=True):
        out[vertices] = values


def shortest(wiring: Wiring, time: Ints) -> Ints:
    """Return, by pair class, the shortest delay from a cause to its effect in these vertex times, int64 ns."""
    out = np.full(PAIR_CLASSES, FREE, "i8")
    graph = wiring.graph
    kernel.delays(graph.start, graph.source, wiring.lane, wiring.owner, wiring.clocks(), wiring.summaries(), time, out)
    return out


def _vertices(trace: Trace, graph: Graph) -> list[tuple[Ints, Ints]]:
    """Return (vertices, their locations): calls entered, calls returned, first and last instants of locations."""
    every = np.arange(len(trace.locations), dtype="i4")
    at = trace.calls.location
    return [(graph.entered, at), (graph.returned, at), (graph.begun, every), (graph.ended, every)]


def _pair_classes(trace: Trace) -> NDArray[np.uint8]:
    """Return the pair class of sender and receiver of each message."""
    at, table = trace.calls.location, trace.messages
    out = np.empty(len(table), "u1")
    for first in range(0, len(table), _PIECE):
        piece = slice(first, first + _PIECE)
        out[piece] = distance(trace.locations, at[table.send[piece]], at[table.receive_done[piece]])
    return out


def _silent(trace: Trace, graph: Graph) -> tuple[NDArray[np.bool_], Ints]:
    """Return which vertices enter a collective without sending, and the edges by which members that receive nothing leave one."""
    members = trace.members
    sends, receives = roles(trace)
    mute = np.zeros(graph.vertices, bool)
    mute[graph.entered[members.call[~sends]]] = True
    deaf = np.flatnonzero(~receives & (members.done != NONE))
    vertex = graph.returned[members.done[deaf]]
    count = graph.start[vertex + 1] - graph.start[vertex]
    behind = np.cumsum(count) - count
    edge = np.arange(count.sum()) + np.repeat(graph.start[vertex] - behind, count)
    same = (graph.kind[edge] == COLLECTIVE) & (graph.cause[edge] == np.repeat(members.collective[deaf], count))
    return mute, edge[same]
