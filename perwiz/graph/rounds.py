"""The graph of the same program with some collectives as their rounds in place of a hub."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.graph.anew import Anew
from perwiz.graph.graph import COLLECTIVE, Graph
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.trace import Trace


class Rounds(NamedTuple):
    """Vertices of rounds, from 0 on, and the edges that lead into them and out of them; causes are rows of collectives."""

    vertices: int
    entered: I4
    """Edges from the entry of these calls"""
    first: I8
    """into these vertices."""
    source: I8
    """Edges between these vertices"""
    target: I8
    """and these."""
    last: I8
    """Edges from these vertices"""
    returned: I4
    """into the return of these calls."""
    cause: I8
    """Of all edges, in this order."""


def with_rounds(trace: Trace, graph: Graph, gone: Mask, rounds: Rounds) -> tuple[Graph, I4]:
    """Return the graph in which rounds take the place of the hubs of collectives (bool per row), and which edge each edge was.

    That is its number in `graph`, from `graph.edges` on one of `rounds`, or -1 along a chain. Raises GraphError if the program would wait
    for itself.
    """
    leaves = (graph.kind == COLLECTIVE) & gone[np.where(graph.kind == COLLECTIVE, graph.cause, 0)]
    dropped = np.zeros(graph.vertices, bool)
    dropped[graph.target[leaves]] = True
    dropped[graph.returned] = False
    anew = Anew(trace, graph, dropped, leaves, rounds.vertices)
    entered, base = anew.layout.entered, anew.first
    source = np.concatenate([entered[rounds.entered], base + rounds.source, base + rounds.last])
    target = np.concatenate([base + rounds.first, base + rounds.target, entered[rounds.returned] + 1])
    return anew.graph(source, target, np.full(len(source), COLLECTIVE, "u1"), rounds.cause)
