"""Lines through points: cases by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.loggps.fit import lines

SIZES = np.array([1, 3, 9, 33, 129, 513, 2049, 8193, 32769])
TIMES = st.lists(st.floats(10, 1e6), min_size=9, max_size=9).map(np.array)


def test_fitted__a_line_through_its_points():
    line = lines.fit_line(SIZES, 100 + 0.5 * (SIZES - 1))
    assert (line.first, line.slope) == (pytest.approx(100), pytest.approx(0.5))


def test_fitted__times_that_fall_are_their_mean():
    # Weighted by 1 / time^2: (1/50 + 1/40 + 1/30) / (1/50^2 + 1/40^2 + 1/30^2).
    line = lines.fit_line(np.array([1, 2, 3]), np.array([50.0, 40, 30]))
    assert (line.first, line.slope) == (pytest.approx(36.67, abs=0.01), 0)


@given(TIMES)
def test_fitted__nothing_negative(times):
    line = lines.fit_line(SIZES, times)
    assert min(line.first, line.slope) >= 0


def test_regular__an_isolated_peak_is_none():
    assert lines.regular(np.array([9.0, 9, 50, 10, 30, 31])).tolist() == [True, True, False, True, True, True]


@given(TIMES)
def test_under__no_point_is_below(times):
    line = lines.fit_below(SIZES, times)
    assert (line.times(SIZES) <= times * (1 + 1e-9)).all()
    assert line.first >= 0
    assert line.slope >= 0


@given(TIMES, TIMES)
def test_hull__noise_only_makes_it_longer(times, noise):
    quiet, loud = (np.interp(SIZES, SIZES[rows], y[rows]) for y in (times, times + noise) for rows in [lines.lower_hull(SIZES, y)])
    assert (quiet <= loud * (1 + 1e-9)).all()


def test_under__noise_changes_nothing_where_two_sizes_were_undisturbed():
    clean = 500 + 0.25 * (SIZES - 1)
    noise = np.array([90, 0, 40, 70, 10, 25, 0, 900, 800])
    line = lines.fit_below(SIZES, clean + noise)
    assert (line.first, line.slope) == (pytest.approx(500), pytest.approx(0.25))


def test_segments__where_the_protocol_changes():
    k = np.unique(np.round(np.sqrt(2) ** np.arange(41)).astype(int))
    y = np.where(k <= 4096, 300 + 0.8 * (k - 1), 5000 + 0.1 * (k - 1))
    low, high = lines.fit_segments(k, y)
    assert (low.low, low.high, high.low, high.high) == (1, 4096, 5793, 1048576)
    assert (low.line.slope, high.line.slope) == (pytest.approx(0.8), pytest.approx(0.1))
    assert high.line.first == pytest.approx(5000)


def test_segments__one_line_is_one():
    k = 2 ** np.arange(20)
    noise = np.random.default_rng(1).uniform(1, 1.03, 20)
    assert len(lines.fit_segments(k, (300 + 0.8 * k) * noise)) == 1


def test_segments__deviations_that_are_near_make_no_piece():
    k = 2 ** np.arange(16)
    y = np.where(k < 300, 1000.0, 1200.0)
    assert [len(lines.fit_segments(k, y, near=near)) for near in (0.03, 0.2)] == [2, 1]


@given(TIMES)
def test_segments__costs_are_those_of_lines(times):
    """Worked the slow way: the deviations of each run of points from its own line."""
    cost = lines._line_costs(SIZES - 1.0, times, 1 / times**2)
    for i, j in ((0, 9), (0, 4), (3, 9), (5, 6)):
        line = lines.fit_line(SIZES[i:j], times[i:j])
        expected = np.sum((1 - line.times(SIZES[i:j]) / times[i:j]) ** 2)
        assert cost[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-6)
