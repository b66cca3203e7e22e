"""The envelope of lines that can only be asked for one at a time, against all lines."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import naive_curve
from perwiz.kernels import curve as kernel
from perwiz.whatif.limits.envelope import crossing, envelope, height

SOME = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 40)), min_size=1, max_size=30)


def highest(lines, asked=None):
    """Return what answers for a set of lines, and notes the questions."""

    def line(at):
        if asked is not None:
            asked.append(at)
        return max(lines, key=lambda one: (height(one, at), one[1]))

    return line


def check(found, lines, least, most):
    """Check that lines are the envelope of others, and none is too many."""
    assert [one[1] for one in found] == sorted({one[1] for one in found})
    crossings = [Fraction(least), *(crossing(*pair) for pair in pairwise(found)), Fraction(most)]
    assert all(one < other for one, other in pairwise(crossings))
    for one, (begin, end) in zip(found, pairwise(crossings), strict=True):
        for at in (begin, (begin + end) / 2, end):
            assert height(one, at) == max(height(line, at) for line in lines)


def test_by_hand():
    """10, 5 + x, 2 x - 6 and 8 + x / 4 (never the highest): corners at 5 and 11."""
    lines = [(10, 0), (5, 1), (-6, 2)]
    asked = []
    assert envelope(highest([*lines, (3, 1)], asked), 0.0, 20.0) == (lines, 0.0)
    assert asked[:2] == [0.0, 20.0]
    assert len(asked) == 5  # twice, then 8 finds the middle line, and 5 and 11 find nothing new


def test_one_line_and_lines_that_meet_at_an_end():
    assert envelope(highest([(3, 1)]), 0.0, 9.0) == ([(3, 1)], 0.0)
    assert envelope(highest([(9, 0), (0, 1)]), 0.0, 9.0) == ([(9, 0)], 0.0)
    assert envelope(highest([(0, 0), (0, 1)]), 0.0, 9.0) == ([(0, 1)], 0.0)


@pytest.mark.slow
@given(SOME)
def test_law__exact(lines):
    found, gap = envelope(highest(lines), 0.0, 50.0)
    check(found, lines, 0, 50)
    assert gap == 0


@pytest.mark.slow
@given(SOME, st.integers(0, 6))
def test_law__an_early_end_says_how_far_it_is_off(lines, sweeps):
    asked = []
    found, gap = envelope(highest(lines, asked), 0.0, 50.0, sweeps)
    assert len(asked) <= sweeps + 2
    for at in range(51):
        short = max(height(line, at) for line in lines) - max(height(line, at) for line in found)
        assert 0 <= short <= gap + 1e-9


@pytest.mark.slow
@given(build.graphs().filter(lambda graph: graph.vertices <= 12), st.data())
def test_law__all_paths_of_a_graph(graph, data):
    """Brute force: a point of the curve is the highest of all paths, and no path lies above it."""
    weight = data.draw(build.weights(graph, 0))
    slope = data.draw(st.lists(st.integers(0, 5), min_size=graph.edges, max_size=graph.edges))
    edge = np.array(list(zip(weight.tolist(), slope, strict=True)), kernel.LINE).view(np.recarray)

    def line(at):
        out = np.zeros(graph.vertices, kernel.LINE).view(np.recarray)
        kernel.sweep(graph.start, graph.source, edge, at, out)
        return max(((int(value), int(rise)) for value, rise in out), key=lambda one: (height(one, at), one[1]))

    paths = naive_curve.paths(graph.start, graph.source, weight.tolist(), slope, graph.vertices)
    check(envelope(line, -64.0, 256.0)[0], paths, -64, 256)
