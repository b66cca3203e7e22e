"""How each edge of the happened-before graph binds clocks: the graph as the kernels of the controlled logical clock read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from perwiz.clock.condition import inside
from perwiz.clock.latency import distance_of_clocks
from perwiz.clock.roles import roles
from perwiz.graph.border import Bundle
from perwiz.graph.graph import COLLECTIVE, LINK, MESSAGE, ORDER, START, Graph
from perwiz.kernels import clock_logical as kernel
from perwiz.kernels.names import FREE, HUB, PAIR_CLASSES, UNBOUND
from perwiz.trace.arrays import I4, I8, U1, Mask, chunks
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

Rows = np.recarray[Any, Any]
_NUMBERS = kernel.SUMMARY.itemsize // 8
"""Numbers in the summary of a hub."""


@dataclasses.dataclass(frozen=True, eq=False)
class ClockGraph:
    """A graph, and per edge and vertex what `perwiz.kernels.clock_logical` asks for."""

    graph: Graph
    binding: U1
    """How each edge binds: as a message or link by pair class, as a HUB, or UNBOUND."""
    cause: I4
    """Row of `inside` of each edge that binds by pair class."""
    inside: I8
    """Per message how much longer than the least time it takes, as its records lie inside its calls, ns; behind them, of links: 0."""
    owner: I4
    """Location per vertex; -1 - row of the summaries for hubs."""
    processes: I4
    """Process per location."""
    nodes: I4
    """Node per location."""
    metahosts: I4
    """Metahost per location."""
    hubs: int
    share: Share

    @property
    def edges(self) -> tuple[I4, I4, U1, I4, I8]:
        """The edges as kernels take them: first into each vertex, source, binding, cause, and what causes take inside calls."""
        return self.graph.start, self.graph.source, self.binding, self.cause, self.inside

    def clocks(self) -> Rows:
        """Return the clock of each location, at rest."""
        return clocks_at_rest(self.processes, self.nodes, self.metahosts)

    def summaries(self) -> Rows:
        """Return a summary per hub, empty."""
        return empty_summaries(self.hubs + 1)


def clocks_at_rest(processes: I4, nodes: I4, metahosts: I4) -> Rows:
    """Return the clock of each location, at rest: rows of `perwiz.kernels.clock_logical.CLOCK`."""
    out = np.zeros(len(nodes), kernel.CLOCK).view(np.recarray)
    out.process, out.node, out.metahost = processes, nodes, metahosts
    return out


def empty_summaries(count: int) -> Rows:
    """Return so many summaries, empty: rows of `perwiz.kernels.clock_logical.SUMMARY`; row 0 is no hub's."""
    out = np.empty(count, kernel.SUMMARY).view(np.recarray)
    out.latest, out.location = -FREE, NONE
    return out


def bind(trace: Trace, timeline: Timeline, graph: Graph) -> ClockGraph:
    """Return the clock graph of a graph of a trace, for a timeline. Rendezvous, gaps and probes bind no clock: they are guesses."""
    owner = np.full(graph.vertices, NONE, "i4")
    for vertices, location in _vertices(trace, graph):
        owner[vertices] = location
    hub = np.flatnonzero(owner == NONE)[1:]
    owner[hub] = -2 - np.arange(len(hub))
    binding = np.full(graph.edges, UNBOUND, "u1")
    pairs = _pair_classes(trace)
    non_senders, non_receivers = _bystanders(trace, graph)
    for chunk in chunks(graph.edges):
        kind, out = graph.kind[chunk], binding[chunk]
        edge = np.flatnonzero(kind == MESSAGE)
        out[edge] = pairs[graph.cause[chunk][edge]]
        edge = np.flatnonzero(kind == COLLECTIVE)
        source = graph.source[chunk][edge]
        out[edge] = np.where((source == 0) | non_senders[source], UNBOUND, HUB)
    binding[non_receivers] = UNBOUND
    places = trace.locations
    cause, within = _with_links(trace, graph, binding, inside(trace, timeline))
    return ClockGraph(graph, binding, cause, within, owner, places.process, places.node, places.metahost, len(hub), trace.share)


def _with_links(trace: Trace, graph: Graph, binding: U1, inside: I8) -> tuple[I4, I8]:
    """Bind the edges of links; return the row of `inside` of each edge, and `inside` with the row of links behind those of messages."""
    if not len(trace.links):
        return graph.cause, inside
    location, edge = trace.calls.location, np.flatnonzero(np.isin(graph.kind, (LINK, ORDER, START)))
    link, cause = graph.cause[edge], graph.cause.copy()
    binding[edge] = distance_of_clocks(trace.locations, location[trace.links.cause[link]], location[trace.links.effect[link]])
    cause[edge] = len(inside)
    return cause, np.append(inside, 0)


def vertex_times(trace: Trace, timeline: Timeline, graph: Graph, out: I8) -> None:
    """Write the recorded time of each vertex of a location, int64 ns."""
    times = (timeline.calls.enter, timeline.calls.leave, timeline.locations.enter, timeline.locations.leave)
    for (vertices, _), values in zip(_vertices(trace, graph), times, strict=True):
        out[vertices] = values


def shortest(clock_graph: ClockGraph, time: I8) -> I8:
    """Return, by pair class, the shortest delay from a cause to its effect in these vertex times, int64 ns."""
    out = np.full(PAIR_CLASSES, FREE, "i8")
    rounds = Rounds(clock_graph, clock_graph.summaries())
    rounds.forward(rounds.through(kernel.delays, clock_graph.clocks(), (), time, out), time)
    return clock_graph.share.reduced(out, "min")


class Rounds:
    """Lets kernels go through a clock graph: in one round or, of a part, in as many as it takes, with what crosses between two of them.

    Of calls that are times, of hubs their summaries.
    """

    def __init__(self, clock_graph: ClockGraph, summaries: Rows) -> None:
        self._clock_graph, self.summaries = clock_graph, summaries
        self._border = clock_graph.graph.rounds

    def through(self, kernel: Callable[..., None], clocks: Rows, costs: tuple[int | I8, ...], *rest: Any) -> Callable[[int, int], None]:
        """Return what lets a kernel pass through the vertices of one round."""
        graph = self._clock_graph
        start, source, binding, cause, inside = graph.edges

        def through(first: int, end: int) -> None:
            kernel(start[first : end + 1], source, binding, cause, inside, graph.owner[:end], clocks, *costs, self.summaries, *rest)

        return through

    def forward(self, through: Callable[[int, int], None], times: I8) -> None:
        """Go through all rounds; copies of calls have these times of their originals, those of hubs their summaries."""

        def take(bundle: Bundle) -> None:
            times[bundle.calls] = self._received(bundle, bundle.calls, bundle.hubs)

        self._border.rounds(through, lambda bundle: self._send(bundle, times, bundle.calls, bundle.hubs), take)

    def back(self, through: Callable[[int, int], None], limits: I8) -> None:
        """Go through all rounds against the order; limits of calls are lowered to those of their copies."""

        def take(bundle: Bundle) -> None:
            came = self._received(bundle, bundle.calls, bundle.hubs)
            limits[bundle.calls] = np.minimum(limits[bundle.calls], came)

        self._border.back(through, lambda bundle: self._send(bundle, limits, bundle.calls, bundle.hubs), take)

    def _send(self, bundle: Bundle, times: I8, calls: I4, hubs: I4) -> None:
        data = times[calls]
        if len(hubs):
            rows = self.summaries[-1 - self._clock_graph.owner[hubs]]
            data = np.concatenate((data, np.asarray(rows).view("i8")))
        self._border.give(bundle, data)

    def _received(self, bundle: Bundle, calls: I4, hubs: I4) -> I8:
        """Return the times of calls; summaries of hubs are put in their places."""
        data = self._border.received(bundle, np.empty(len(calls) + _NUMBERS * len(hubs), "i8"))
        if len(hubs):
            self.summaries[-1 - self._clock_graph.owner[hubs]] = data[len(calls) :].view(kernel.SUMMARY)
        return data[: len(calls)]


def _vertices(trace: Trace, graph: Graph) -> list[tuple[I4, I4]]:
    """Return (vertices, their locations): calls entered, calls returned, first and last instants of locations."""
    every, of_call = np.arange(len(trace.locations), dtype="i4"), trace.calls.location
    return [(graph.entered, of_call), (graph.returned, of_call), (graph.begun, every), (graph.ended, every)]


def _pair_classes(trace: Trace) -> U1:
    """Return the pair class of sender and receiver of each message."""
    location, table = trace.calls.location, trace.messages
    out = np.empty(len(table), "u1")
    for chunk in chunks(len(table)):
        out[chunk] = distance_of_clocks(trace.locations, location[table.send[chunk]], location[table.receive_done[chunk]])
    return out


def _bystanders(trace: Trace, graph: Graph) -> tuple[Mask, I8]:
    """Return which vertices enter a collective without sending, and the edges by which members that receive nothing leave one.

    Worked example, two such members whose returns have 2 and 3 edges, from 10 and from 40 on:
        count  2 3    edges looked at  10 11 40 41 42, those of the member's own collective are returned
    """
    members = trace.members
    sends, receives = roles(trace)
    non_senders = np.zeros(graph.vertices, bool)
    non_senders[graph.entered[members.call[~sends]]] = True
    non_receivers = np.flatnonzero(~receives & (members.done != NONE))
    vertex = graph.returned[members.done[non_receivers]]
    count = graph.start[vertex + 1] - graph.start[vertex]
    behind = np.cumsum(count) - count
    edge = np.arange(count.sum()) + np.repeat(graph.start[vertex] - behind, count)
    same = (graph.kind[edge] == COLLECTIVE) & (graph.cause[edge] == np.repeat(members.collective[non_receivers], count))
    return non_senders, edge[same]
