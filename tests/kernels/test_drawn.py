"""Runs drawn anew, against their naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import build
import naive
from perwiz.kernels import drawn

CUT = -(1 << 61)


@st.composite
def weighted_graphs(draw):
    graph = draw(build.graphs())
    return graph, draw(build.weights(graph, CUT))


@given(weighted_graphs(), st.data())
def test_sweep__twin(made, data):
    graph, weight = made
    many, runs = graph.vertices, data.draw(st.integers(1, 3))
    row = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=many, max_size=many)), "i4")
    more, share = (np.array(data.draw(st.lists(st.integers(-50, 50), min_size=many, max_size=many)), "f8") for _ in range(2))
    deviation = np.array(data.draw(st.lists(st.lists(st.integers(-4, 4), min_size=runs, max_size=runs), min_size=3, max_size=3)), "f8")
    time = np.empty((many, runs))
    drawn.sweep(graph.start, graph.source, weight, row, more, share, deviation / 4, time)
    twin = naive.sweep_drawn(graph.start, graph.source, weight.tolist(), row, more, share, (deviation / 4).tolist())
    assert time.T.tolist() == twin


def test_sweep__worked_by_hand():
    """0 --5--> 1 --3--> 2 and 0 --4--> 2; 1 takes 2 and 10 times the deviation of the run longer, which is 0, 1/2 and -1."""
    start, source, weight = np.array([0, 0, 1, 3], "i4"), np.array([0, 1, 0], "i4"), np.array([5, 3, 4])
    row, more, share, time = np.array([-1, 0, -1], "i4"), np.array([0.0, 2, 0]), np.array([0.0, 10, 0]), np.empty((3, 3))
    drawn.sweep(start, source, weight, row, more, share, np.array([[0, 0.5, -1]]), time)
    assert time.tolist() == [[0, 0, 0], [7, 12, 0], [10, 15, 4]]


@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=9), min_size=1, max_size=4), st.integers(0, 99))
def test_turn__twin(pools, draw):
    """Of pools that are all alike."""
    count = [len(pool) for pool in pools]
    pool, first = np.repeat(np.arange(len(pools)), count), np.cumsum([0, *count])
    kin, kins = np.zeros(len(pools), "i8"), np.full(len(pools), len(pools))
    later, other = (np.array([[naive.chance((part + k << 32) + draw)] for part in range(6)]) for k in (0, 6))
    out = np.empty((len(pool), 1))
    drawn.turn(pool, first, kin, kins, np.concatenate(pools).astype("f8"), later, other, out)
    assert out[:, 0].tolist() == naive.drawn_deviation(pools, draw, 6)


def test_turn__worked_by_hand():
    """Pools of 2 and 4 stretches. A quarter later, and of the other pool: 0.25 + 0.25 of 4 is 2, 0.75 + 0.25 is 4, which is 0."""
    pool, first, out = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 2, 6]), np.empty((6, 1))
    quarter, half = np.array([[0.25]]), np.array([[0.5]])
    drawn.turn(pool, first, np.zeros(2, "i8"), np.full(2, 2), np.array([1.0, 2, 3, 4, 5, 6]), quarter, half, out)
    assert out[:, 0].tolist() == [5, 3, 1, 2, 2, 1]
