"""The pass over wait states: against its slow twin, what it conserves, and sums over long times."""

import itertools

import hypothesis
import numpy as np
import pytest

import build
import naive_delays as naive
from build import Builder
from naive_delays import causes_of
from perwiz.kernels import delays as kernel


def compare(trace):
    """Hold the pass against its twin, and the laws: costs are the waiting where all of it can be booked, and no split is above its wait."""
    view, tree, waits, _, found = causes_of(trace)
    cost, indirect, propagating, whole = naive.delays(view, tree, waits)
    for kind, term in itertools.product(range(len(waits.kinds)), (0, 1)):
        expected = np.zeros(found.cost.shape[2:])
        for place, value in cost[kind][term].items():
            expected[place] = value
        assert np.allclose(found.cost[kind, term], expected, rtol=1e-9, atol=1e-6)
    assert np.allclose(found.indirect, indirect)
    assert np.allclose(found.propagating, propagating)
    length = waits.instances.severity
    assert (np.maximum(found.indirect, found.propagating) <= length + 1e-6).all()
    if all(whole):
        booked = found.cost.sum(axis=(1, 2, 3))
        assert np.allclose(booked, np.bincount(waits.kind, length, len(waits.kinds)))
    return all(whole)


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_twin__catalogue(name):
    compare(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_twin__random(trace):
    compare(trace)


def test_long_intervals_go_from_check_to_check():
    """1000 pieces of 10 ns for rank 0 and 100 for rank 1 between two messages: the sums over checks are the sums over pieces."""
    b = Builder(2)
    for rank, count in enumerate((1000, 100)):
        for step in range(count):
            with b.region(rank, "fgh"[step % 3]):
                b.compute(rank, 10)
    b.send(0, 1, at=(10_000, 10_000))
    b.recv(1, 0, at=(1000, 10_000))
    _, tree, _, _, found = causes_of(b.trace())
    costs = {tree.name[node]: found.cost[0, 0, 0, node] for node in np.flatnonzero(found.cost[0, 0, 0])}
    assert costs == {"f": 3340 - 340, "g": 3330 - 330, "h": 3330 - 330}


def test_instants_within_pieces():
    """Location 0 is in node 0 until 10, then in 1; location 1 always in 0. It waits from 5 for what comes at 14: 5 more in 0, 4 in 1."""
    waits = np.array([[1, 0, 5, 9, 14, 0, 0, 0, 0, 0]], "i8")
    place = np.array([[0, 0, 0, 20, 0, 0, 0], [0, 0, 0, 20, 2, 2, 0], [0, 0, 0, 0, 3, 4, 1]], "i8")
    start, node = np.array([0, 10, 0], "i8"), np.array([0, 1, 0], "i4")
    sums, cost = np.zeros((8, 3), "i8"), np.zeros((1, 2, 2, 2))
    kernel.delays(waits, place, start, node, sums, np.zeros((1, 4)), np.zeros(2), cost)
    assert cost.tolist() == [[[[5, 4], [0, 0]], [[0, 0], [0, 0]]]]


def test_interval_that_begins_within_a_wait():
    """Location 0 waits from 4 to 8, location 1 waits from 7 for what comes at 10; apart since 6. The whole wait of 4 counts: 3 of 4."""
    waits = np.array([[0, 1, 4, 4, 8, 0, 0, 0, 0, 1], [1, 0, 7, 3, 10, 6, 0, 1, 1, 1]], "i8")
    place = np.array([[0, 0, 0, 20, 0, 0, 0], [0, 0, 0, 20, 3, 2, 1], [0, 0, 0, 0, 4, 4, 2]], "i8")
    start, node = np.array([0, 4, 8, 0], "i8"), np.array([0, -1, 0, 0], "i4")
    sums, flow, cost = np.zeros((8, 2), "i8"), np.zeros((2, 4)), np.zeros((1, 2, 2, 1))
    kernel.delays(waits, place, start, node, sums, flow, np.zeros(2), cost)
    assert flow[:, 2].tolist() == [0, 3]
    assert flow[:, 3].tolist() == [3, 0]
