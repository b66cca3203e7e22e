"""The graph of the same program with some hubs and edges taken out, and others put in."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.errors import GraphError
from perwiz.graph.graph import EJECTION, INJECTION, LOCAL, QUEUE, Graph, hubs
from perwiz.graph.layout import Layout, components, finish, sort_topologically
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


class Anew:
    """A graph without some of its hubs and edges, in program numbering, so that others can be put in."""

    def __init__(self, trace: Trace, graph: Graph, without: Mask, leaves: Mask, hubs_more: int) -> None:
        self._trace, self._graph, self.layout = trace, graph, Layout(trace)
        self._of_hub = np.zeros(graph.vertices, bool)
        self._of_hub[hubs(graph)] = True
        kept = np.flatnonzero(self._of_hub & ~without)
        self.number = np.zeros(graph.vertices, "i4")
        """Of each vertex of the graph that stays."""
        for vertex, number in (
            (graph.entered, self.layout.entered),
            (graph.returned, self.layout.entered + 1),
            (graph.begun, self.layout.begun),
            (graph.ended, self.layout.ended),
            (kept, self.layout.chain + np.arange(len(kept))),
        ):
            self.number[vertex] = number
        self.first = self.layout.chain + len(kept)
        """Number of the first hub that is put in."""
        self.layout.hubs = len(kept) + hubs_more
        begun = np.zeros(graph.vertices, bool)
        begun[graph.begun] = True
        self._target = graph.target
        self._old = np.flatnonzero(~leaves & ((graph.kind != LOCAL) | begun[self._target])).astype("i4")

    def graph(self, source: Ints, target: Ints, kind: U1, cause: Ints) -> tuple[Graph, I4]:
        """Return the graph with these edges put in, ends in program numbering, and which edge each edge was.

        That is its number in the graph it comes from, from `edges` of that on one of those put in, or -1 along a chain. Edges of queues,
        and then those from interfaces to calls, are left out where they would close a cycle, and counted. Raises GraphError if the program
        would wait for itself.
        """
        old, layout = self._graph, self.layout
        kept = self._old
        listed: list[Ints] = [
            np.concatenate([self.number[old.source[kept]], source]).astype("i4", copy=False),
            np.concatenate([self.number[self._target[kept]], target]).astype("i4", copy=False),
            np.concatenate([old.kind[kept], kind]),
        ]
        causes = np.concatenate([old.cause[kept], cause]).astype("i4", copy=False)
        number = np.concatenate([kept, np.arange(old.edges, old.edges + len(source), dtype="i4")])
        vertex, placed = sort_topologically(layout, listed[0], listed[1])
        whole = len(number)
        for kinds in ((QUEUE,), (INJECTION, EJECTION)):
            if placed < layout.size:
                stay = _stay(layout, vertex[:placed], kinds, *listed)
                listed, causes, number = [column[stay] for column in listed], causes[stay], number[stay]
                vertex, placed = sort_topologically(layout, listed[0], listed[1])
        if placed < layout.size:
            must = "must not need a collective to let go who is in its middle"
            raise GraphError(f"{self._trace.path}: the program would wait for itself, {must}")
        listed.append(np.arange(len(number), dtype="i4"))
        made = dataclasses.replace(
            finish(layout, vertex, listed, old.contradictions, old.deadlocks),
            supposed=old.supposed,
            let_go=old.let_go,
            inner=old.inner,
            queues_left_out=whole - len(number),
        )
        row, none = made.cause, np.array([NONE], "i4")  # chained edges have the row -1, the last
        return dataclasses.replace(made, cause=np.append(causes, none)[row]), np.append(number, none)[row]


def _stay(layout: Layout, placed: I4, kinds: Sequence[int], source: I4, target: I4, kind: U1) -> Mask:
    """Return which edges are not of some kinds on a cycle, from a message at an interface to the next or to who waits for it."""
    part = components(layout, placed, source, target, np.ones(len(source), bool))
    passing, at_interface = np.isin(kind, (INJECTION, EJECTION, QUEUE)), np.zeros(layout.size, bool)
    at_interface[target[passing]] = True
    at_interface[target[~passing]] = False
    loose = np.isin(kind, kinds) & at_interface[source]
    return ~(loose & (part[source] >= 0) & (part[source] == part[target]))


def carried(graph: Graph, made: Graph, edge: Ints, weight: I8, more: I8) -> I8:
    """Return the weights of a graph made anew, int64 ns: those of the graph it was, along chains too, and of the edges put in `more`."""
    out = np.concatenate([weight, more, [0]])[edge]
    for new, old in ((made.entered, graph.entered), (made.returned, graph.returned), (made.ended, graph.ended)):
        out[made.start[new]] = weight[graph.start[old]]
    return out


def numbers(edge: Ints, old: int) -> I8:
    """Return the number that each of so many old edges has in a graph made anew, given which each edge of that was; -1 of those gone."""
    out = np.full(old, NONE, "i8")
    there = np.flatnonzero((edge >= 0) & (edge < old))
    out[edge[there]] = there
    return out
