"""Warm-up and trend of the times of iterations, by hand and against the definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.trace.parts.course import course, exceptions, trend, warm_up
from perwiz.trace.parts.iterations import Iterations


def of(lasts, kind="regions"):
    """Return iterations that last so long: a row each, a column a process."""
    stop = np.cumsum(np.array(lasts, "i8"), axis=0)
    begin = stop - np.array(lasts, "i8")
    many = np.arange(stop.shape[1])
    return Iterations(kind, ("step",), stop * 0, stop * 0, begin, stop, many, many * 0 + len(stop), 0, ())


def test_course__by_hand():
    its = course(of([[90, 110], [50, 52], [49, 51], [50, 53], [40, 60]]))
    assert its.time.tolist() == [100, 51, 50, 51.5, 50]
    assert (its.least.tolist(), its.most.tolist(), its.most_of.tolist()) == ([90, 50, 49, 50, 40], [110, 52, 51, 53, 60], [1] * 5)
    assert (its.warm_up, its.usual, its.trend.slope) == (1, slice(1, 5), pytest.approx(-1 / 6, abs=0.2))


def test_course__what_stands_out_and_what_is_alike():
    """Of 5 and three of 90, 50 and 40: 85 + 45 + 35 more than the median; the first stretch of three is the longest."""
    its = course(of([[5], [5], [5], [90], [5], [5], [50], [5], [40], [5], [5], [5]]))
    assert (its.exceptions, its.excess, its.alike) == ((3, 6, 8), 165, slice(0, 3))
    even = course(of([[5]] * 6))
    assert (even.excess, even.alike) == (0, slice(0, 6))


def test_course__the_last_of_calls_does_not_count():
    """It ends with its last call."""
    its = course(of([[50], [50], [50], [50], [50], [20]], "calls"))
    assert (its.warm_up, its.usual, its.trend.slope, its.trend.p) == (0, slice(0, 5), 0, 1)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([9, 4, 5, 5, 4, 5, 5, 4], 1),
        ([9, 8, 5, 5, 4, 5, 5, 4], 2),
        ([9, 8, 7, 5, 4, 5, 5, 4], 2),
        ([5, 9, 5, 5, 4, 5, 5, 4], 0),
        ([1, 4, 5, 5, 4, 5, 5, 4], 1),
        ([9, 5, 5], 0),
        ([9, 5, 5, 5], 1),
        ([104, 100, 100, 100], 0),
        ([5, 1, 9, 2, 8, 3, 7, 4], 0),
        ([20, 12, 8, 6, *[5] * 60], 4),
        ([5] * 10 + [9] * 90, 0),
        ([9] * 6 + [5] * 94, 0),
        ([8, *[5] * 9, *[9] * 90], 1),
        ([9, 8, *[5] * 8, *[9] * 90], 2),
        ([9, *[5] * 29, *[9] * 70], 1),
        ([9] * 3 + [5] * 20, 0),
        ([20, *range(100, 200)], 1),
    ],
    ids=[
        *("one", "two", "a quarter at most", "not the first", "shorter", "too few", "few", "hardly longer", "all differ", "nearing"),
        *("a step behind ten", "a longer stretch", "a step behind it", "as after the step", "a step later", "three alike", "a drift"),
    ],
)
def test_warm_up(times, expected):
    assert warm_up(np.array(times, float)) == expected


def test_trend__by_hand():
    """Of ten pairs nine rise and one falls: S = 8, its variance 50 / 3, so z is 7 / 4.08."""
    found = trend(np.array([1.0, 2, 4, 3, 5]))
    assert found.slope == 1
    assert found.p == pytest.approx(math.erfc(7 / math.sqrt(50 / 3) / math.sqrt(2)))
    assert trend(np.array([1.0, 2, 3])) is None


def test_trend__where_each_follows_the_one_before():
    """The same up and down, but three at once: chance shows that more often."""
    alone, followed = (trend(np.arange(18.0) / 4 + np.array(some)) for some in ([0, 1] * 9, [0, 0, 0, 1, 1, 1] * 3))
    assert alone.p < 0.001 < followed.p


@pytest.mark.slow
@pytest.mark.parametrize("follows", [0, 0.5, 0.8])
def test_trend__is_seldom_chance(follows):
    """Of 100 series of 60 without one at most five have a trend, also if each value follows the one before."""
    random, found = np.random.default_rng(5), 0
    for _ in range(100):
        values = random.normal(0, 1, 60)
        for k in range(1, 60):
            values[k] += follows * values[k - 1]
        found += trend(100 + values).p < 0.01
    assert found <= 5


def test_course__of_a_trend_that_is_told():
    """Two percent from the first three to the last three, and less."""
    assert [course(of([[round(1000 + more * k)] for k in range(20)])).rises for more in (1.5, 0.5)] == [True, False]


@pytest.mark.parametrize(
    ("times", "expected"),
    [([2084, 1084, 1628386, 1991], [2]), ([9, 9, 10, 900, 10], [3]), ([5, 6, 5, 6, 7], []), ([100, 100, 100, 124], []), ([1, 1, 9], [])],
    ids=["of four", "of five", "none", "less than a quarter", "too few"],
)
def test_exceptions(times, expected):
    assert exceptions(np.array(times, float)) == expected


def test_exceptions__along_a_trend():
    """Nothing stands out in what rises to three times as much; one twice as long as its neighbours does."""
    times = np.arange(100.0, 300, 5)
    assert exceptions(times) == []
    times[10] *= 2
    assert exceptions(times) == [10]


def test_trend__of_many_means_of_neighbours():
    found = trend(np.arange(5000.0) * 3)
    assert found.slope == pytest.approx(3)
    assert found.p < 1e-100


@given(st.lists(st.integers(0, 9), min_size=4, max_size=30))
def test_law__trend_is_what_its_definition_says(times):
    pairs = [*itertools.combinations(enumerate(times), 2)]
    score = sum((b > a) - (b < a) for (_, a), (_, b) in pairs)
    found = trend(np.array(times, float))
    assert found.slope == pytest.approx(float(np.median([(b - a) / (j - i) for (i, a), (j, b) in pairs])))
    turned = trend(np.array(times[::-1], float))
    assert (turned.slope, turned.p) == (pytest.approx(-found.slope), pytest.approx(found.p))
    assert (found.p < 1) == (abs(score) > 1)
