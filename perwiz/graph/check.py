"""Whether a graph that was kept somewhere is one of a trace: kernels that go through it do not ask."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.store.bounds import check_within
from perwiz.graph.graph import COLLECTIVE, GAP, KINDS, LINK, LOCAL, ORDER, START, Graph
from perwiz.kernels import bounds as kernel
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.trace import Trace


def check_graph(trace: Trace, graph: Graph) -> None:
    """Raise TraceError if a graph is none of this trace: if a number of it leads out of the graph or the trace, or backwards."""
    place = f"{trace.path}: graph"
    start, edges = graph.start, graph.edges
    columns: tuple[Ints, ...] = (start, graph.source, graph.kind, graph.cause, graph.entered, graph.returned, graph.begun, graph.ended)
    if any(column.ndim != 1 for column in columns) or not len(start) or not len(graph.kind) == len(graph.cause) == edges:
        raise TraceError(f"{place} has columns of several lengths, must have one per vertex, edge, call or location")
    if start[0] != 0 or start[-1] != edges or (start[1:2] != 0).any() or (start[2:] <= start[1:-1]).any():
        raise TraceError(f"{place}.start does not rise from 0 to the {edges} edges, must, by one at least behind the origin")
    taken = np.zeros(graph.vertices, "u1")
    for name, rows in (("entered", trace.calls), ("returned", trace.calls), ("begun", trace.locations), ("ended", trace.locations)):
        vertex = getattr(graph, name)
        if len(vertex) != len(rows):
            raise TraceError(f"{place}.{name} has {len(vertex)} rows, must have {len(rows)}")
        check_within(f"{place}.{name}", vertex, 1, graph.vertices - 1)
        twice = kernel.taken_twice(vertex, taken)
        if twice >= 0:
            raise TraceError(f"{place}.{name}[{twice}] is {vertex[twice]}, as one before it, must be a vertex of its own")
    edge = kernel.bad_edge(start, graph.source, graph.kind, graph.cause, _causes(trace))
    if edge >= 0:
        told = f"from vertex {graph.source[edge]}, of kind {graph.kind[edge]} and cause {graph.cause[edge]}"
        raise TraceError(f"{place}: edge {edge} is {told}, must come from a vertex before its own, of a kind and a cause that there are")


def _causes(trace: Trace) -> I8:
    """Return how many causes edges of each kind may have: rows of the table that tells them, int64 per row of KINDS."""
    out = np.full(len(KINDS), len(trace.messages), "i8")
    out[LOCAL] = 0
    out[COLLECTIVE] = len(trace.collectives)
    out[[LINK, ORDER, START]] = len(trace.links)
    out[GAP] = len(trace.calls)
    return out
