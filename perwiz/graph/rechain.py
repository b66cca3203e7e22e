"""The graph of the same program with the calls of some locations in another order."""

from __future__ import annotations

import numpy as np

from perwiz.graph.graph import GAP, LOCAL, Graph, hubs
from perwiz.graph.layout import Edges, Layout, add_gaps, finish, sort_topologically
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

REMADE = -2
"""What `rechain` says of an edge that it made anew: a gap between calls that were no neighbours."""


class Cycle(Exception):
    """The new order waits for itself: `vertices` lists pairs (row of calls, whether it returns), each waiting for the next."""

    def __init__(self, vertices: list[tuple[int, bool]]) -> None:
        super().__init__("a cycle")
        self.vertices = vertices


def rechain(trace: Trace, graph: Graph, call: I8, keep: Mask, begins: I8) -> tuple[Graph, I8]:
    """Return the graph of a trace in another order, and per edge the one it was in `graph`, -1 along a chain, REMADE for a new gap.

    `trace` has the new order, `graph` the old one; `call` is the new row of each old call; of other edges than those along chains
    and gaps stay those that `keep` (bool per edge) says, each from the call that it came from, or from the entry of call `begins` (new row
    per edge, -1 none). Raises Cycle, in rows of the new order.
    """
    layout, edges = Layout(trace), Edges()
    program = _program(graph, layout, call)
    target = graph.target
    begun = np.zeros(graph.vertices, bool)
    begun[graph.begun] = True
    old = np.flatnonzero(keep & (graph.kind != GAP) & ((graph.kind != LOCAL) | begun[target]))
    source, others = program[graph.source[old]], np.flatnonzero(begins[old] != NONE)
    source[others] = layout.entered[begins[old[others]]]
    edges.add(source, program[target[old]], LOCAL, old)
    if (graph.kind == GAP).any():
        add_gaps(trace, layout, edges)
    source, into, _, cause = edges.whole()
    gaps = slice(len(old), None)
    kind = np.concatenate([graph.kind[old], np.full(len(source) - len(old), GAP, "u1")])
    number = np.arange(len(source), dtype="i4")
    vertex, placed = sort_topologically(layout, source, into)
    if placed < layout.size:
        raise Cycle(_cycle(layout, vertex[:placed], source, into))
    made = finish(layout, vertex, [source, into, kind, number], graph.contradictions, graph.deadlocks)
    listed = made.cause.copy()
    origin = np.append(old, np.full(len(number) - len(old), REMADE))
    real = np.append(graph.cause[old], cause[gaps])
    made.cause[listed >= 0] = real[listed[listed >= 0]]
    return made, np.where(listed >= 0, origin[listed], NONE)


def _program(graph: Graph, layout: Layout, call: I8) -> I4:
    """Return the number of every vertex in program numbering of the new order. Counts the hubs into the layout."""
    out = np.zeros(graph.vertices, "i4")
    out[graph.entered] = layout.entered[call]
    out[graph.returned] = layout.entered[call] + 1
    out[graph.begun], out[graph.ended] = layout.begun, layout.ended
    between = hubs(graph)
    out[between] = layout.chain + np.arange(len(between))
    layout.hubs = len(between)
    return out


def _cycle(layout: Layout, placed: I4, source: I4, target: I4) -> list[tuple[int, bool]]:
    """Return the calls along a shortest cycle through some vertex that could not be placed."""
    stuck = np.ones(layout.size, bool)
    stuck[placed] = False
    chained = layout.chained()
    rows = np.flatnonzero(stuck[source] & stuck[target])
    rows = rows[np.argsort(target[rows], kind="stable")]
    first = np.searchsorted(target[rows], np.arange(layout.size + 1))

    def before(v: int) -> list[int]:
        own = [v - 1] if v > 0 and chained[v - 1] and stuck[v - 1] else []
        return own + source[rows[first[v] : first[v + 1]]].tolist()

    call = np.full(layout.size, NONE)
    call[layout.entered] = call[layout.entered + 1] = np.arange(len(layout.entered))
    path = _shortest(_on_cycle(int(np.flatnonzero(stuck)[0]), before), before)
    return [(int(call[v]), v == layout.entered[call[v]] + 1) for v in path if call[v] >= 0]


def _on_cycle(vertex: int, before) -> int:  # type: ignore[no-untyped-def]  # a local function
    """Return a vertex that lies on a cycle, found by going back from one that waits for a cycle."""
    seen = set()
    while vertex not in seen:
        seen.add(vertex)
        vertex = before(vertex)[-1]
    return vertex


def _shortest(vertex: int, before) -> list[int]:  # type: ignore[no-untyped-def]  # a local function
    """Return the vertices of a shortest cycle through one, each waiting for the next, the last for the first."""
    reached, front = {vertex: -1}, [vertex]
    while True:
        behind = []
        for v in front:
            for u in before(v):
                if u == vertex:
                    path = [v]
                    while reached[path[-1]] >= 0:
                        path.append(reached[path[-1]])
                    return path[::-1]
                if u not in reached:
                    reached[u] = v
                    behind.append(u)
        front = behind
