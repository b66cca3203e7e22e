"""A small graph as a networkx one, for algorithms that are not worth a kernel."""

from __future__ import annotations

from typing import Any

from perwiz.errors import GraphError
from perwiz.graph.graph import KINDS, Graph
from perwiz.trace.arrays import Ints

MOST = 1_000_000
"""Edges beyond which a networkx graph would fill the memory."""


def to_networkx(graph: Graph, weight: Ints) -> Any:
    """Return a networkx MultiDiGraph of the vertices by position; edges carry weight (int, ns), kind (word) and cause (row).

    Raises GraphError beyond a million edges.
    """
    import networkx

    if graph.edges > MOST:
        raise GraphError(f"a graph of {graph.edges} edges, must be at most {MOST} for networkx")
    view = networkx.MultiDiGraph()
    view.add_nodes_from(range(graph.vertices))
    for vertex in range(graph.vertices):
        for edge in range(graph.start[vertex], graph.start[vertex + 1]):
            what = {"weight": int(weight[edge]), "kind": KINDS[graph.kind[edge]], "cause": int(graph.cause[edge])}
            view.add_edge(int(graph.source[edge]), vertex, **what)
    return view
