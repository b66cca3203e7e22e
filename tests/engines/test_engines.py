"""Two engines, one answer: sweep, replay and, as a third witness, networkx, under random weights and cuts."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from perwiz.engines.replay import replay
from perwiz.engines.sweep import critical_path, sweep, to_end
from perwiz.graph.build import build as build_graph
from perwiz.graph.graph import Graph
from perwiz.loggps import model_file
from perwiz.loggps.weigh import CUT
from perwiz.whatif.run import replayed


def longest_paths(graph, weight):
    """Return the length of the longest path to each vertex, from a vertex before all that holds each at 0 or later."""
    view = networkx.DiGraph()
    view.add_weighted_edges_from((-1, v, 0) for v in range(graph.vertices))
    for v in range(graph.vertices):
        for k in range(graph.start[v], graph.start[v + 1]):
            u, w = int(graph.source[k]), -int(weight[k])
            if weight[k] != CUT and not (view.has_edge(u, v) and view[u][v]["weight"] <= w):
                view.add_edge(u, v, weight=w)
    found = networkx.single_source_bellman_ford_path_length(view, -1)
    return [-found[v] for v in range(graph.vertices)]


@st.composite
def weighted_graphs(draw, least=-1000):
    graph = draw(build.graphs())
    return graph, draw(build.weights(graph, CUT, least))


@pytest.mark.slow
@given(weighted_graphs())
def test_engines__agree_on_random_graphs(drawn):
    graph, weight = drawn
    time = sweep(graph, weight).tolist()
    assert time == longest_paths(graph, weight)
    assert time == replay(graph, weight).tolist()


@pytest.mark.slow
@settings(max_examples=15)
@given(build.programs(), st.data())
def test_engines__agree_on_graphs_of_random_traces(trace, data):
    graph = build_graph(trace, np.ones(len(trace.messages), bool), gaps=True)
    weight = data.draw(build.weights(graph, CUT, least=-50))
    time = sweep(graph, weight).tolist()
    assert time == longest_paths(graph, weight)
    assert time == replay(graph, weight).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_engines__agree_on_the_catalogue(name):
    trace = build.CATALOGUE[name]()
    graph = build_graph(trace, np.ones(len(trace.messages), bool), gaps=True)
    random = np.random.default_rng(7)
    for least in (-1000, 0):
        weight = random.integers(least, 1000, graph.edges)
        weight[random.random(graph.edges) < 0.2] = CUT
        time = sweep(graph, weight).tolist()
        assert time == longest_paths(graph, weight)
        assert time == replay(graph, weight).tolist()


@pytest.mark.slow
@given(weighted_graphs(), st.data())
def test_less_weight_never_delays(drawn, data):
    graph, weight = drawn
    less = np.array(data.draw(st.lists(st.integers(0, 300), min_size=graph.edges, max_size=graph.edges)), "i8")
    lighter = np.where(weight == CUT, CUT, np.where(less > 250, CUT, weight - less))
    assert (sweep(graph, lighter) <= sweep(graph, weight)).all()


@pytest.mark.slow
@given(weighted_graphs(least=0))
def test_time_grows_by_a_common_factor(drawn):
    """Nothing but the weights makes times: three times the weights, three times the times."""
    graph, weight = drawn
    assert sweep(graph, np.where(weight == CUT, CUT, 3 * weight)).tolist() == (3 * sweep(graph, weight)).tolist()


@pytest.mark.parametrize("engine", [sweep, replay])
def test_nothing_happens_before_the_origin(engine):
    """0 --(-5)--> 1 --2--> 2: 1 is at 0, not at -5, so 2 is at 2; a vertex all of whose edges are cut is at 0."""
    none = np.empty(0, "i4")
    start, source = np.array([0, 0, 1, 2, 3], "i4"), np.array([0, 1, 2], "i4")
    graph = Graph(start, source, np.zeros(3, "u1"), source, none, none, none, none, 0)
    assert engine(graph, np.array([-5, 2, CUT])).tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("engine", [sweep, replay])
def test_graph_of_the_origin_alone(engine):
    graph = build_graph(build.CATALOGUE["empty"]())
    assert engine(graph, np.empty(0, "i8")).tolist() == [0]


@pytest.mark.parametrize("engine", [sweep, replay])
def test_times_of_days(engine):
    """A day is 8.64e13 ns: no engine rounds."""
    none = np.empty(0, "i4")
    start, source = np.array([0, 0, 1, 2], "i4"), np.array([0, 1], "i4")
    graph = Graph(start, source, np.zeros(2, "u1"), source, none, none, none, none, 0)
    assert engine(graph, np.array([10**17 + 1, 10**17 + 1])).tolist() == [0, 10**17 + 1, 2 * 10**17 + 2]


@pytest.mark.slow
@pytest.mark.parametrize("name", build.CATALOGUE)
def test_critical_path__is_as_long_as_the_run(name):
    """A path through every edge of it: its weights add up to the last end, and no path through a vertex is longer."""
    trace = build.CATALOGUE[name]()
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    graph, weight = weighted.graph, weighted.weight
    time, left, path = sweep(graph, weight), to_end(graph, weight), critical_path(graph, weight, sweep(graph, weight))
    end = int(time[graph.ended].max(initial=0))
    assert weight[path].sum() == end
    assert graph.source[path[1:]].tolist() == [target(graph, edge) for edge in path[:-1]]
    reached = left > CUT
    assert (time + left)[reached].max(initial=0) == end
    assert ((time + left)[graph.source[path]] == end).all()


def target(graph, edge):
    """Return the vertex that an edge leads into."""
    return int(np.searchsorted(graph.start, edge, "right")) - 1
