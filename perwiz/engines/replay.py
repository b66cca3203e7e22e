"""The readable engine: a discrete-event simulation (simpy) in which every location walks through its own calls.

It defines what the sweep computes, and is slow: 10 to 200 thousand vertices a second.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from perwiz.graph.graph import LOCAL, Graph
from perwiz.trace.arrays import I8

_BINDS = 1 << 60
"""An edge of a weight below minus this binds nobody."""


def replay(graph: Graph, weight: I8) -> I8:
    """Return the earliest time of every vertex, int64 ns by position; the same as `sweep` returns, to the nanosecond.

    The simulation runs on a logical clock, ahead of real time by `lead`, so that even an effect recorded before its cause (a negative
    weight) comes after it.
    """
    import simpy

    env = simpy.Environment()
    lead = _lead(graph, weight)
    clock = [0] * graph.vertices
    reached = [env.event() for _ in range(graph.vertices)]

    def walk(chain: list[int]) -> Generator[Any, Any, None]:
        for vertex in chain:
            yield env.timeout(max(0, lead[vertex] - env.now))
            for edge in range(graph.start[vertex], graph.start[vertex + 1]):
                cause = int(graph.source[edge])
                if weight[edge] < -_BINDS:
                    continue
                yield reached[cause]
                arrival = clock[cause] + int(weight[edge]) - lead[cause] + lead[vertex]
                yield env.timeout(max(0, arrival - env.now))
            clock[vertex] = int(env.now)
            reached[vertex].succeed()

    for chain in _chains(graph, weight):
        env.process(walk(chain))
    env.run()
    return np.subtract(np.array(clock, "i8"), np.array(lead, "i8"))


def _lead(graph: Graph, weight: I8) -> list[int]:
    """Return how far each vertex's logical clock is ahead: enough to make every weight that binds positive."""
    lead = [0] * graph.vertices
    for vertex in range(graph.vertices):
        for edge in range(graph.start[vertex], graph.start[vertex + 1]):
            back = max(0, -int(weight[edge]))
            if back <= _BINDS:
                lead[vertex] = max(lead[vertex], lead[graph.source[edge]] + back)
    return lead


def _chains(graph: Graph, weight: I8) -> list[list[int]]:
    """Return the vertices of each location in program order; the origin, each hub and what follows a cut are chains of their own."""
    chains: dict[int, list[int]] = {}
    chain_of = [-1] * graph.vertices
    for vertex in range(graph.vertices):
        first = int(graph.start[vertex])
        local = vertex > 0 and graph.kind[first] == LOCAL and graph.source[first] != 0 and weight[first] >= 0
        chain_of[vertex] = chain_of[graph.source[first]] if local else vertex
        chains.setdefault(chain_of[vertex], []).append(vertex)
    return list(chains.values())
