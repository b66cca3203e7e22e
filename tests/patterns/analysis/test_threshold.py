"""Thresholds of a series: what is noise, worked by hand, and how often chance is taken for a loss."""

import math

import numpy as np
import pytest

from perwiz.patterns.analysis import threshold
from perwiz.patterns.analysis.series import HISTORY, Figures, Point, Recording, Series
from perwiz.patterns.analysis.threshold import TIME, Check, Drawn, checks, noise


def recording(time, balance=1.0, instructions=None):
    """Two processes that compute all the time, one of them `balance` * 2 - 1 of it."""
    figures = Figures(2, time, 2 * balance * time, time, time, instructions, instructions and 10 * time)
    return Recording(f"{time}", 2, figures, True, {}, frozenset(), {}, b"", None)


def of(before, after):
    points = [Point(name, tuple(some)) for name, some in (("old", before), ("new", after))]
    return Series(HISTORY, tuple(points), points[0])


def times(before, after):
    return of(map(recording, before), map(recording, after))


def test_noise__of_recordings():
    """As in the docstring: s^2 of the logarithms of 98 100 102 and 99 100 101 is (8.0e-4 + 2.0e-4) / 4, of four degrees of freedom."""
    found = times((100, 102, 98), (101, 99, 100))
    s = math.sqrt((np.var(np.log([98, 100, 102])) * 3 + np.var(np.log([99, 100, 101])) * 3) / 4)
    assert noise(found, TIME) == pytest.approx(math.expm1(4.604 * s * math.sqrt(math.pi / 2 * 2 / 3)))
    assert noise(found, TIME) == pytest.approx(0.077, abs=0.0005)
    assert noise(found, "computation") == pytest.approx(math.expm1(4.604 * s * math.sqrt(2)))
    assert noise(found, "load_balance") == pytest.approx(0, abs=1e-12)
    assert noise(found, "ipc") is None


def test_noise__four_recordings_tell():
    assert [threshold.repeated(times((1,) * a, (1,) * b)) for a, b in ((1, 1), (2, 1), (2, 2), (3, 1))] == [False, False, True, True]


def test_noise__of_two_the_sooner_counts():
    """s of 100 101 and 100 101 is that of one of them; the variance of one recording on each side."""
    s = math.log(1.01) / math.sqrt(2)
    assert noise(times((100, 101), (100, 101)), TIME) == pytest.approx(math.expm1(9.925 * s * math.sqrt(2)))


def test_noise__of_drawn_runs():
    """Three and four thousandths: five together, times t of the fewer stretches, 5, so 4 degrees of freedom."""
    found = times((100,), (110,))
    assert noise(found, "transfer", (Drawn(0.003, 5), Drawn(0.004, 30))) == pytest.approx(math.expm1(4.604 * 0.005))
    assert noise(found, TIME, (Drawn(0.003, 5), None)) is None


def test_checks__time_and_factors():
    """5 % longer, and 10 % less balanced: at most 2 % may be lost; what is computed became less."""
    found = checks(of([recording(1000, 1.0, 50)], [recording(1050, 0.9, 50)]), 0.02, (Drawn(0.001, 30), Drawn(0.001, 30)))
    chance = pytest.approx(math.expm1(2.756 * math.hypot(0.001, 0.001)))
    longer = {"time": (0.05, True), "load_balance": (1 / 0.9 - 1, True), "serialisation": (0, False), "transfer": (0, False)}
    longer |= {"computation": (1.05 * 0.9 - 1, False), "instructions": (0, False), "ipc": (0.05, True), "frequency": (-0.1, False)}
    assert found == [Check(name, pytest.approx(lost), chance, 0.02, missed) for name, (lost, missed) in longer.items()]


def test_checks__not_counted():
    assert [row.figure for row in checks(times((100,), (100,)), 0.02)] == [TIME, "load_balance", "serialisation", "transfer", "computation"]


@pytest.mark.parametrize(("after", "allowed", "missed"), [(105, 0.02, True), (105, 0.05, False), (105.1, 0.05, True), (102, 0.021, False)])
def test_checks__without_noise_the_threshold_alone_decides(after, allowed, missed):
    assert checks(times((100,), (after,)), allowed)[0].missed is missed


def test_checks__within_noise_nothing_is_missed():
    assert not any(row.missed for row in checks(times((90, 100, 110), (95, 105, 115)), 0.02))


def missed(rng, repeated, slower):
    before, after = (1000 * np.exp(rng.normal(0, 0.01, repeated)) for _ in range(2))
    return checks(times(before.tolist(), (slower * after).tolist()), 0.02)[0].missed


@pytest.mark.parametrize(("repeated", "found"), [(3, 0.4), (5, 0.95)])
def test_law__chance_is_seldom_missed_and_a_tenth_often(repeated, found):
    """Recordings that differ by 1 %: fewer than one in a hundred is missed for nothing; 6 % with five recordings nearly always."""
    rng = np.random.default_rng(1)
    assert sum(missed(rng, repeated, 1.0) for _ in range(400)) <= 4
    assert sum(missed(rng, repeated, 1.06) for _ in range(100)) >= 100 * found
