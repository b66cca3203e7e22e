"""The pieces of all single what-ifs, against their naive twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import naive_whatif
from perwiz.kernels import singles

CUT = -(1 << 61)


@st.composite
def cases(draw):
    """Draw a weighted graph with times and lengths of no meaning, and some of its vertices."""
    graph = draw(build.graphs())
    count = graph.vertices
    time = draw(st.lists(st.integers(0, 900), min_size=count, max_size=count))
    left = draw(st.lists(st.one_of(st.just(CUT), st.integers(-50, 900)), min_size=count, max_size=count))
    vertex = [v for v in range(1, count) if draw(st.booleans())]
    return graph, draw(build.weights(graph, CUT)), np.array(time, "i8"), np.array(left, "i8"), vertex


def windows(data, vertex, count):
    """Return windows that begin at these vertices, their ends ascending."""
    ends = np.maximum.accumulate([min(v + data.draw(st.integers(1, 5)), count) for v in vertex] or [0])
    return list(zip(vertex, ends.tolist(), strict=False))


@pytest.mark.slow
@given(cases(), st.data())
def test_bridge_windows_and_push_down__twin(drawn, data):
    graph, weight, time, left, vertex = drawn
    found = windows(data, vertex, graph.vertices)
    begun, closed = (np.array([sum(w[side] <= v for w in found) for v in range(graph.vertices)], "i4") for side in (0, 1))
    tree = np.full(2 * len(vertex), 3 * CUT, "i8")
    singles.bridge_windows(graph.start, graph.source, weight, time, left, begun, closed, tree)
    singles.push_down(tree)
    expected = naive_whatif.bridge_windows(graph.start, graph.source, weight.tolist(), time.tolist(), left.tolist(), found)
    assert [None if value == 3 * CUT else value for value in tree[len(vertex) :].tolist()] == expected


@pytest.mark.slow
@given(cases(), st.data())
def test_miss_windows__twin(drawn, data):
    graph, _, time, left, vertex = drawn
    ended = [v for v in range(graph.vertices) if data.draw(st.booleans())]
    found = windows(data, vertex, graph.vertices)
    given_ = time, left, np.array(ended, "i4"), CUT, *(np.array([w[side] for w in found], "i4") for side in (0, 1))
    best, kept = np.full(len(vertex), CUT, "i8"), np.full(len(vertex), 10_000, "i8")
    singles.miss_windows(*given_, best)
    assert best.tolist() == naive_whatif.miss_windows(time.tolist(), left.tolist(), ended, CUT, found)
    singles.miss_windows(*given_, kept)
    assert (kept == 10_000).all()


@pytest.mark.slow
@given(cases())
def test_pass_without_wait__twin(drawn):
    graph, weight, time, _, vertex = drawn
    left, best = np.arange(graph.vertices), np.full(len(vertex), CUT, "i8")
    singles.pass_without_wait(graph.start, graph.source, graph.kind, weight, time, left, np.array(vertex, "i4"), best)
    expected = naive_whatif.pass_without_wait(graph.start, graph.source, graph.kind, weight.tolist(), time.tolist(), left.tolist(), vertex)
    assert best.tolist() == expected


@pytest.mark.slow
@given(cases())
def test_pass_at_once__twin(drawn):
    graph, weight, time, _, vertex = drawn
    left, best = np.arange(graph.vertices), np.full(len(vertex), CUT, "i8")
    singles.pass_at_once(graph.start, graph.source, graph.kind, weight, time, left, np.array(vertex, "i4"), best)
    given_ = graph.start, graph.source, graph.kind, weight.tolist(), time.tolist(), left.tolist(), vertex
    assert best.tolist() == naive_whatif.pass_at_once(*given_)


def test_bridge_windows__worked_by_hand():
    """0 --5--> 1 --2--> 2 --1--> 3 --1--> 4 and 0 --4--> 3, 1 --9--> 4: edge 0 3 steps over 1 and 2 (4 + 1), edge 1 4 over 2 and 3."""
    start, source = np.array([0, 0, 1, 2, 4, 6], "i4"), np.array([0, 1, 2, 0, 3, 1], "i4")
    time, left, tree = np.array([0, 5, 7, 8, 14]), np.array([14, 9, 2, 1, 0]), np.full(6, CUT, "i8")
    begun, closed = np.array([0, 1, 2, 3, 3], "i4"), np.array([0, 0, 1, 2, 3], "i4")
    singles.bridge_windows(start, source, np.array([5, 2, 1, 4, 1, 9]), time, left, begun, closed, tree)
    singles.push_down(tree)
    assert tree[3:].tolist() == [5, 14, 14]
