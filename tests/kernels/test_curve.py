"""The sweep over lines, against its naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import naive_curve
from perwiz.kernels import curve

CUT = -(1 << 61)


@st.composite
def lines(draw):
    """Draw a graph, a weight and a slope per edge, and a point."""
    graph = draw(build.graphs())
    slope = draw(st.lists(st.integers(-3, 9), min_size=graph.edges, max_size=graph.edges))
    return graph, draw(build.weights(graph, CUT)), slope, draw(st.sampled_from([0.0, 0.25, 1.0, 100.5, -3.0]))


@pytest.mark.slow
@given(lines(), st.data())
def test_sweep__twin(drawn, data):
    graph, weight, slope, at = drawn
    pair = st.tuples(st.integers(-500, 500), st.integers(-2, 2))
    floor = data.draw(st.lists(pair, min_size=graph.vertices, max_size=graph.vertices))
    line = np.array(floor, curve.LINE).view(np.recarray)
    edge = np.array(list(zip(weight.tolist(), slope, strict=True)), curve.LINE).view(np.recarray)
    curve.sweep(graph.start, graph.source, edge, at, line)
    expected = naive_curve.sweep(graph.start, graph.source, weight.tolist(), slope, at, floor)
    assert [tuple(map(int, row)) for row in line] == expected


def test_sweep__by_hand():
    """0 to 1 by 5 + 2 x or 9: equal at 2, where the steeper line wins; below that 9, above it 5 + 2 x."""
    start, source, edge = np.array([0, 0, 2], "i4"), np.array([0, 0], "i4"), np.array([(9, 0), (5, 2)], curve.LINE).view(np.recarray)
    for at, expected in ((1.0, (9, 0)), (2.0, (5, 2)), (3.0, (5, 2))):
        line = np.zeros(2, curve.LINE).view(np.recarray)
        curve.sweep(start, source, edge, at, line)
        assert line[1].tolist() == expected
