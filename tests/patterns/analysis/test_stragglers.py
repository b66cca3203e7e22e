"""Ranks over steps, by hand."""

import numpy as np
import pytest

from perwiz.patterns.analysis import stragglers


def test_matrix__neighbours_are_one():
    """Steps 1 and 2 of each rank, their mean, then step 3 alone."""
    found = stragglers.matrix(np.array([[10, 11], [20, 21], [30, 31]]), 2)
    assert (found.ns.tolist(), found.first.tolist(), found.together) == ([[15, 16], [30, 31]], [1, 3], 2)
    assert stragglers.matrix(np.zeros((0, 2), "i8"), 2).first.tolist() == []


def test_slow__interval_over_steps():
    """Rank 1 takes 13, 13, 13, 21 of means 10, 10, 10, 14: 60/44; one of twenty draws has three or four times step 4."""
    steps = np.array([[7, 13], [7, 13], [7, 13], [7, 21]])
    (one,) = stragglers.slow(steps)
    assert (one.row, one.of_mean, one.longest) == (1, pytest.approx(60 / 44), 4)
    assert (one.low, one.high) == (pytest.approx(1.3), pytest.approx((2 * 13 + 2 * 21) / (2 * 10 + 2 * 14)))
    (two,) = stragglers.slow(steps[2:])
    assert two.low == two.of_mean == two.high == pytest.approx(34 / 24)


def test_slow__nobody():
    """One that is slow in half of the steps and fast in the others; one rank; no work."""
    assert stragglers.slow(np.array([[13, 7], [7, 13]] * 4)) == []
    assert stragglers.slow(np.array([[13], [7]])) == stragglers.slow(np.zeros((4, 2), "i8")) == []


def test_once():
    """Rank 0 takes twice the mean in step 3, else as long as the others; rank 1 is always slow, so not once."""
    steps = np.array([[10, 30, 10], [10, 30, 10], [70, 20, 15], [10, 30, 10]])
    assert [(one.row, one.step, one.of_mean, one.usual) for one in stragglers.once(steps)] == [(0, 2, 2.0, pytest.approx(0.6))]
    assert stragglers.once(steps[:2]) == []
