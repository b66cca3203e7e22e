"""The default engine: the earliest time of every vertex in one compiled pass."""

from __future__ import annotations

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT
from perwiz.trace.arrays import I4, I8


def sweep(graph: Graph, weight: I8) -> I8:
    """Return the earliest time of every vertex, int64 ns by position, from int64 ns weights per edge. The origin is at 0.

    Edges of weight CUT bind nobody. Nothing happens before the origin.
    """
    time = np.zeros(graph.vertices, "i8")
    graph.rounds.forward(lambda first, end: kernel.sweep(graph.start, graph.source, weight, first, end, time), time)
    return time


def to_end(graph: Graph, weight: I8) -> I8:
    """Return the longest path from every vertex to the last instant of a location, int64 ns by position; CUT where there is none.

    So `sweep(...)[v] + to_end(...)[v]` is the latest end of a path through v.
    """
    left = np.full(graph.vertices, CUT, "i8")
    left[graph.ended] = 0
    kernel.sweep_back(graph.start, graph.source, weight, CUT, left)
    return left


def critical_path(graph: Graph, weight: I8, time: I8, last: int | None = None) -> I4:
    """Return the edges of one critical path in the order of time, given what `sweep` returns.

    It leads to the vertex `last`, by default the last instant of the location that ends last (of several the first), and prefers a
    location's own edges.
    """
    path = np.empty(graph.vertices, "i4")
    if not len(graph.ended):
        return path[:0]
    last = int(graph.ended[time[graph.ended].argmax()]) if last is None else last
    count = kernel.find_critical_path(graph.start, graph.source, weight, time, last, path)
    return path[:count][::-1].copy()
