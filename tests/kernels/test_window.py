"""The kernel window against its twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_balance
from build import graphs, weights
from perwiz.engines.sweep import sweep
from perwiz.kernels import window as kernel
from perwiz.loggps.weigh import CUT


@st.composite
def windows(draw):
    graph = draw(graphs())
    weight = draw(weights(graph, CUT))
    first = draw(st.integers(0, graph.vertices))
    return graph, weight, first, draw(st.integers(first, graph.vertices))


@given(windows())
def test_sweep__twin(drawn):
    graph, weight, first, end = drawn
    time = np.arange(graph.vertices, dtype="i8") * 100
    expected = naive_balance.sweep(graph.start, graph.source, weight, first, end, time)
    kernel.sweep(graph.start, graph.source, weight, first, end, time)
    assert time.tolist() == expected


@given(windows())
def test_sweep__of_the_whole_is_the_sweep(drawn):
    graph, weight, first, end = drawn
    time = sweep(graph, weight)
    again = time.copy()
    again[first:end] = -7
    kernel.sweep(graph.start, graph.source, weight, first, end, again)
    assert again.tolist() == time.tolist()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9))), st.lists(st.integers(-5, 50), min_size=5, max_size=5))
def test_latest__twin(edges, time):
    source, left = np.array([u for u, _ in edges], "i4"), np.array([rest for _, rest in edges], "i8")
    assert kernel.latest(source, left, np.array(time, "i8")) == naive_balance.latest(source.tolist(), left.tolist(), time)
