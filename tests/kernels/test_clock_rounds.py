"""In which round each vertex can be reached, against its naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import naive_clock
from perwiz.graph import graph as g
from perwiz.kernels import clock_rounds as kernel


@pytest.mark.slow
@given(build.graphs(), st.data())
def test_rounds__twin(graph, data):
    part = [-1, *data.draw(st.lists(st.integers(0, 2), min_size=graph.vertices - 1, max_size=graph.vertices - 1))]
    binding = (graph.kind != g.LOCAL).astype("u1")
    out = np.zeros(graph.vertices, "i4")
    kernel.rounds(graph.start, graph.source, binding, np.array(part, "i4"), out)
    assert out.tolist() == naive_clock.rounds(graph.start.tolist(), graph.source.tolist(), binding.tolist(), part)


def test_rounds__there_and_back():
    """Process 0 has vertices 1 and 3, process 1 has 2: 1 -> 2 -> 3 crosses twice."""
    start, source, binding = np.array([0, 0, 1, 3, 5], "i4"), np.array([0, 0, 1, 1, 2], "i4"), np.array([0, 0, 1, 0, 1], "u1")
    out = np.zeros(4, "i4")
    kernel.rounds(start, source, binding, np.array([-1, 0, 1, 0], "i4"), out)
    assert out.tolist() == [0, 0, 1, 2]
