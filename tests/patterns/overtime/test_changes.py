"""Where a series changes: by hand, against all ways to cut it, and how seldom noise is taken for a change."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from perwiz.patterns.overtime import changes
from perwiz.patterns.overtime.changes import LEAST, alike, drawn_in, noise, stretches

FLOOR = np.array([0.01])


def found(values, least=0.01):
    """Return (first, end, value at the first row, at the last) of the stretches of a series of one figure."""
    series = np.array(values, float)[:, None]
    return [
        (one.first, one.end, *(round(float(end[0]), 3) for end in (one.begins, one.ends))) for one in stretches(series, np.array([least]))
    ]


def test_step():
    assert found([5.0] * 39 + [9.0] * 61) == [(0, 39, 5, 5), (39, 100, 9, 9)]
    assert found([5.0] * 4 + [9.0] * 4) == [(0, 4, 5, 5), (4, 8, 9, 9)]


def test_nothing_changes():
    assert found([5.0] * 30) == [(0, 30, 5, 5)]
    assert found([5.0]) == [(0, 1, 5, 5)]
    assert stretches(np.empty((0, 2)), np.ones(2)) == []


def test_drift__is_one_stretch():
    """A line, and a curve, which lines follow one behind the other."""
    assert [one[:2] for one in found([0.02 * k for k in range(50)])] == [(0, 50)]
    ((first, end, begins, ends),) = found([math.log(1 + 0.005 * k) for k in range(100)])
    assert (first, end) == (0, 100)
    assert abs(begins) < 0.05
    assert abs(ends - math.log(1.495)) < 0.05


def test_drift__from_a_row_on():
    assert found([0.0] * 40 + [0.01 * k for k in range(60)])[1][:2] == (40, 100)


def test_single_values_are_no_stretch():
    """Every tenth iteration writes a file."""
    assert [one[:2] for one in found([9.0 if k % 10 == 9 else 5.0 for k in range(60)])] == [(0, 60)]


def test_step__is_found_beside_single_values():
    assert [one[:2] for one in found([9.0 if k % 15 == 7 else 5.0 + (k >= 30) for k in range(60)])] == [(0, 30), (30, 60)]


def test_less_than_the_least_is_no_change():
    assert len(found([5.0] * 30 + [5.02] * 30, least=0.01)) == 2
    assert len(found([5.0] * 30 + [5.02] * 30, least=0.05)) == 1


def test_noise__by_hand():
    """Differences of rows one apart are 1 or 7 in turn: upper quartile 7 less the median 4 or so; of a constant nothing, so the least."""
    assert noise(np.full((9, 1), 3.0), FLOOR).tolist() == [0.01]
    assert noise(np.array([[3.0]]), FLOOR).tolist() == [0.01]
    values = np.random.default_rng(0).normal(0, 2, (20_000, 1))
    assert abs(noise(values, FLOOR)[0] - 2) < 0.1
    follows = np.zeros_like(values)
    for k in range(1, len(values)):
        follows[k] = 0.5 * follows[k - 1] + values[k]
    assert noise(follows, FLOOR)[0] > 1.3 * follows.std(), "the mean of values that follow each other varies more"


def test_drawn_in():
    """9 is 4 off what is beside it, 5: three times the scale are left. 6 is 1 off what is before it, 2 off the step of four behind it."""
    values = np.array([5.0, 5, 9, 5, 5, 5, 6, 8, 8, 8, 8, 5, 5, 5])[:, None]
    assert drawn_in(values, np.array([0.1])).ravel().tolist() == pytest.approx([5, 5, 5.3, 5, 5, 5, 5.3, 8, 8, 8, 8, 5, 5, 5])


def test_alike():
    """Of three figures two are the same: eigenvalues 2, 1 and 0 are (4 + 1) / 3. Figures that have no noise stand for themselves."""
    one, other = np.random.default_rng(5).normal(0, 1, (2, 20_000))
    assert alike(np.stack([one, -one, other], axis=1)) == pytest.approx(5 / 3, rel=0.01)
    assert alike(np.stack([one, one, one], axis=1)) == pytest.approx(3)
    assert alike(np.ones((9, 4))) == 1


def cost(series, first, end):
    """Return what a stretch costs, residual by residual."""
    slope, total = 3 * math.log(len(series)), 0.0
    for column in series[first:end].T:
        level = float(((column - column.mean()) ** 2).sum())
        line = np.polyfit(np.arange(len(column)), column, 1)
        off = float(((column - np.polyval(line, np.arange(len(column)))) ** 2).sum())
        total += min(level, off + slope)
    return total + slope * (series.shape[1] + 1)


@pytest.mark.parametrize("seed", range(6))
def test_partition__is_the_cheapest_of_all(seed):
    """All ways to cut eleven rows into stretches of three or more."""
    random = np.random.default_rng(seed)
    series = random.normal(0, 1, (11, 2)) + 6 * (np.arange(11) >= random.integers(2, 9))[:, None] * random.integers(-1, 2, 2)
    ways = [
        [0, *cuts, 11]
        for many in range(4)
        for cuts in itertools.combinations(range(1, 11), many)
        if all(b - a >= LEAST for a, b in itertools.pairwise([0, *cuts, 11]))
    ]
    cheapest = min(sum(cost(series, a, b) for a, b in itertools.pairwise(way)) for way in ways)
    got = changes.partition(series)
    assert sum(cost(series, a, b) for a, b in got) == pytest.approx(cheapest)
    assert [0, *(end for _, end in got)] in ways


def series(kind, random, rows):
    """Return noise of five figures: each by itself, all alike, heavy tails, following each other, the same, a longer one each fifth."""
    values = random.normal(0, 1, (rows, 5))
    if kind == "alike":
        values = values[:, :1] + 0.2 * values
    if kind == "heavy":
        values = random.standard_t(3, (rows, 5))
    if kind in ("follows", "the same"):
        values = values if kind == "follows" else values[:, :1] + np.zeros(5)
        for k in range(1, rows):
            values[k] += 0.5 * values[k - 1]
    if kind == "each fifth":
        values[4::5] += 8
    return values


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["alone", "alike", "heavy", "follows", "the same", "each fifth"])
def test_false_alarms(kind):
    """Of 100 series of noise without any change fewer than five are split."""
    random = np.random.default_rng(7)
    assert sum(len(stretches(0.02 * series(kind, random, 100), np.full(5, 0.01))) > 1 for _ in range(100)) < 5


def test_changes_in_noise__are_found_within_one():
    """Load balance falls from 0.95 to 0.71 at row 40; noise is 0.02."""
    random = np.random.default_rng(3)
    for _ in range(5):
        values = 0.02 * random.normal(0, 1, (100, 4))
        values[:, 1] += np.where(np.arange(100) < 40, math.log(0.95), math.log(0.71))
        _, second = stretches(values, np.full(4, 0.01))
        assert abs(second.first - 40) <= 1
