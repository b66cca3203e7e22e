"""Flows through links, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import fluid as kernel
from perwiz.kernels.alog import zeros


def flowed(flows, capacity, most):
    """Return when flows (start, volume, {link: part}), in order, are done."""
    count, links = len(flows), len(capacity)
    first = np.cumsum([0, *(len(flow[2]) for flow in flows)]).astype("i4")
    link = np.array([each for flow in flows for each in flow[2]], "i4")
    part = np.array([float(each) for flow in flows for each in flow[2].values()])
    done, columns = np.full(count, -7.0), (np.array([flow[k] for flow in flows], "f8") for k in (0, 1))
    start, volume = columns
    state, load = zeros(count, kernel.FLOW), zeros(links, kernel.LOAD)
    route, limits = np.arange(count, dtype="i4"), np.array(capacity, "f8")
    kernel.flow(start.astype("i8"), volume, float(most), route, first, link, part, limits, state, load, done)
    return done.tolist()


def test_flow__worked_by_hand():
    """Link 0 carries 3, link 1 carries 1, each flow 2 alone. A and B share link 1 with half each, C has the 2 that it can of link 0."""
    assert flowed([(0, 2, {0: 1, 1: 1}), (0, 1, {1: 1}), (0, 8, {0: 1})], [3, 1], 2) == pytest.approx([3, 2, 4])


def test_flow__of_no_link_that_is_overloaded():
    assert flowed([(5, 4, {0: 1}), (5, 4, {0: 1}), (99, 2, {})], [4], 2) == [7, 7, 100]


def test_flow__nobody():
    assert flowed([], [1], 1) == []


PARTS = st.dictionaries(st.integers(0, 3), st.sampled_from([1, 1, 0.5]), min_size=1, max_size=3)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 25), PARTS), max_size=8), st.lists(st.integers(1, 6), min_size=4, max_size=4))
def test_flow__twin(flows, capacity):
    flows = sorted(flows, key=lambda flow: flow[0])
    expected = [float(each) for each in naive.flow(flows, capacity, 3)]
    assert flowed(flows, capacity, 3) == pytest.approx(expected, abs=1e-2)
