"""A small graph in networkx: the same edges, and refused when it is too large."""

import networkx
import pytest

import build
from build import hand_model
from perwiz.errors import GraphError
from perwiz.graph import graph as view
from perwiz.whatif.run import replayed


def test_to_networkx__edges_and_longest_path():
    weighted = replayed(build.CATALOGUE["ring"](), hand_model(), "none").weighted
    graph = view.to_networkx(weighted.graph, weighted.weight)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (weighted.graph.vertices, weighted.graph.edges)
    kinds = [kind for _, _, kind in graph.edges(data="kind")]
    assert kinds.count("message") == len(weighted.trace.messages)
    assert networkx.is_directed_acyclic_graph(graph)
    assert networkx.dag_longest_path_length(graph) == weighted.timeline.makespan


def test_to_networkx__too_large(monkeypatch):
    monkeypatch.setattr(view, "MOST", 3)
    weighted = replayed(build.CATALOGUE["ring"](), hand_model(), "none").weighted
    with pytest.raises(GraphError, match=rf"^a graph of {weighted.graph.edges} edges, must be at most 3 for networkx$"):
        view.to_networkx(weighted.graph, weighted.weight)
