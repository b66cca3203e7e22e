"""Lines and steps through points: cases by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perwiz.loggps import calibrate
from perwiz.loggps.calibrate import Curves, Line
from perwiz.loggps.model import Costs

SIZES = np.array([1, 3, 9, 33, 129, 513, 2049, 8193, 32769])
TIMES = st.lists(st.floats(10, 1e6), min_size=9, max_size=9).map(np.array)


def curves(**changes):
    """Return the exact curves of a machine with round parameters."""
    values = {
        "L": 1000.0,
        "o_s": 200.0,
        "o_r": 300.0,
        "O_s": 0.1,
        "O_r": 0.3,
        "g": 400.0,
        "G": 0.5,
        "S": 600,
        "handshake": 4000.0,
    } | changes
    sends = Line(values["o_s"] + values["O_s"], values["O_s"])
    receives = Line(values["o_r"] + values["O_r"], values["O_r"])
    eager = values["L"] + sends.times(SIZES) + receives.times(SIZES) + values["G"] * (SIZES - 1)
    way = eager + values["handshake"] * (values["S"] < SIZES)
    gaps = Line(values["g"], values["G"] + values["O_s"] + values["O_r"])
    return Curves(SIZES, way, float(way[0]), sends, receives, gaps, values["S"])


def test_fitted__a_line_through_its_points():
    line = calibrate.fit_line(SIZES, 100 + 0.5 * (SIZES - 1))
    assert (line.first, line.slope) == (pytest.approx(100), pytest.approx(0.5))


def test_fitted__times_that_fall_are_their_mean():
    # Weighted by 1 / time^2: (1/50 + 1/40 + 1/30) / (1/50^2 + 1/40^2 + 1/30^2).
    line = calibrate.fit_line(np.array([1, 2, 3]), np.array([50.0, 40, 30]))
    assert (line.first, line.slope) == (pytest.approx(36.67, abs=0.01), 0)


@given(TIMES)
def test_fitted__nothing_negative(times):
    line = calibrate.fit_line(SIZES, times)
    assert min(line.first, line.slope) >= 0


def test_call__first_from_short_sizes():
    line = calibrate.fit_call(np.array([1, 2, 4, 8, 16, 10001]), np.array([10.0, 12, 10, 11, 10, 110]))
    assert line.first == 10
    assert line.slope == pytest.approx(0.01, rel=0.01)


def test_regular__an_isolated_peak_is_none():
    assert calibrate.regular(np.array([9.0, 9, 50, 10, 30, 31])).tolist() == [True, True, False, True, True, True]


@given(TIMES)
def test_under__no_point_is_below(times):
    line = calibrate.fit_below(SIZES, times)
    assert (line.times(SIZES) <= times * (1 + 1e-9)).all()
    assert line.first >= 0
    assert line.slope >= 0


@given(TIMES, TIMES)
def test_hull__noise_only_makes_it_longer(times, noise):
    quiet, loud = (np.interp(SIZES, SIZES[rows], y[rows]) for y in (times, times + noise) for rows in [calibrate.lower_hull(SIZES, y)])
    assert (quiet <= loud * (1 + 1e-9)).all()


def test_under__noise_changes_nothing_where_two_sizes_were_undisturbed():
    clean = 500 + 0.25 * (SIZES - 1)
    noise = np.array([90, 0, 40, 70, 10, 25, 0, 900, 800])
    line = calibrate.fit_below(SIZES, clean + noise)
    assert (line.first, line.slope) == (pytest.approx(500), pytest.approx(0.25))


def test_segments__where_the_protocol_changes():
    k = np.unique(np.round(np.sqrt(2) ** np.arange(41)).astype(int))
    y = np.where(k <= 4096, 300 + 0.8 * (k - 1), 5000 + 0.1 * (k - 1))
    low, high = calibrate.fit_segments(k, y)
    assert (low.low, low.high, high.low, high.high) == (1, 4096, 5793, 1048576)
    assert (low.line.slope, high.line.slope) == (pytest.approx(0.8), pytest.approx(0.1))
    assert high.line.first == pytest.approx(5000)


def test_segments__one_line_is_one():
    k = 2 ** np.arange(20)
    noise = np.random.default_rng(1).uniform(1, 1.03, 20)
    assert len(calibrate.fit_segments(k, (300 + 0.8 * k) * noise)) == 1


@pytest.mark.parametrize(
    ("eager", "expected"),
    [("11110000", (4, 4, 4)), ("11111111", (8, 8, 8)), ("00000000", (0, 0, 0)), ("11011000", (5, 5, 5)), ("11110100", (4, 4, 4))],
)
def test_step__fewest_contradictions(eager, expected):
    assert calibrate.find_threshold(np.arange(1, 9), np.array([c == "1" for c in eager])) == expected


def test_step__between_sizes_tried():
    assert calibrate.find_threshold(np.array([64, 16, 32]), np.array([False, True, True])) == (32, 32, 63)


def test_parameters__those_the_curves_were_made_of():
    found = calibrate.parameters(curves())
    expected = {"o_s": 200, "o_r": 300, "O_s": 0.1, "O_r": 0.3, "L": 1000, "G": 0.5, "g": 400, "S": 600, "room": 1, "share": 1}
    assert {letter: found[letter] for letter in expected} == pytest.approx(expected)
    # 4 us of handshake: REQ and ACK travel for 2 us, the ACK takes o_s + o_r and the REQ is sent with o_s, which leaves 1300 ns of o_r.
    assert found["requests"] == pytest.approx(13 / 3, rel=0.001)


def test_parameters__model_fits():
    seen = curves()
    model = calibrate.build_model("m", "s", calibrate.parameters(seen), {}, ["s_bytes"])
    assert (model.request_overheads, model.S, model.assumed) == (4, 600, ("s_bytes",))
    assert model.costs == (Costs(L=1000, o_s=200, o_r=300, g=400, G=0.5, O_s=0.1, O_r=0.3, s=0),)
    assert calibrate.misfit(model, seen)[1] < 0.02  # a third of an o_r


def test_parameters__overheads_longer_than_the_way():
    seen = curves(L=-200.0)
    found = calibrate.parameters(seen)
    assert found["L"] == 0
    assert found["room"] * (found["o_s"] + found["o_r"]) == pytest.approx(300, rel=0.01)
    row = calibrate.build_model("m", "s", found, {}, []).costs[0]
    assert (row.o_s, row.o_r) == (pytest.approx(120, rel=0.01), pytest.approx(180, rel=0.01))
