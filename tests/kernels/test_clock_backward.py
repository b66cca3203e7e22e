"""Backward amortization, against the naive twin and worked by hand (PATTERNS 8.10: Becker et al. 2009, Fig. 2)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_clock
from perwiz.kernels import clock_backward as kernel

FREE = naive_clock.FREE


def backward(begun, locations, stretch):
    """Return (calls per location, steepest slope)."""
    calls = [call for location in locations for call in location]
    count = len(calls)
    entered, returned = np.arange(0, 2 * count, 2, dtype="i4"), np.arange(1, 2 * count, 2, dtype="i4")
    table = np.array(calls, "i8").reshape(count, 4)
    time = np.stack((table[:, 2:].ravel(), table[:, :2].ravel()))
    first = np.cumsum([0, *map(len, locations)])
    hull = np.empty(max(map(len, locations), default=0) + 2, kernel.CORNER).view(np.recarray)
    steepest = kernel.backward(first, np.array(begun, "i8"), entered, returned, *time, hull, stretch)
    moved = np.stack((time[1][::2], time[1][1::2]), 1).tolist()
    return [moved[a:b] for a, b in itertools.pairwise(first)], steepest


@st.composite
def locations(draw):
    """Draw (first instant, calls) of a location after the forward pass: jumps, and sends with some room."""
    at, calls = draw(st.integers(0, 30)), []
    begun = at - draw(st.sampled_from([0, 0, 5, 1000]))
    for _ in range(draw(st.integers(0, 9))):
        enter = at + draw(st.sampled_from([0, 1, 7, 30, 200]))
        limit = enter + draw(st.integers(0, 60)) if draw(st.booleans()) else FREE
        before = enter + draw(st.sampled_from([0, 1, 10]))
        jump = draw(st.sampled_from([0, 0, 1, 20, 50]))
        at = before + jump
        calls.append([enter, at, limit, before if jump else FREE])
    return begun, calls


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(locations(), max_size=2), st.sampled_from([1, 2, 10, 100]))
def test_backward__twin(drawn, stretch):
    found, steepest = backward([begun for begun, _ in drawn], [calls for _, calls in drawn], stretch)
    expected = [naive_clock.backward(begun, calls, stretch) for begun, calls in drawn]
    assert found == [[call[:2] for call in calls] for calls, _ in expected]
    assert steepest == pytest.approx(max((slope for _, slope in expected), default=0.0))


@pytest.mark.slow
@settings(max_examples=120)
@given(locations(), st.sampled_from([1, 2, 10, 100]))
def test_backward__laws(drawn, stretch):
    """Order is kept, nothing is moved backwards, no send beyond its limit, no jump itself."""
    begun, calls = drawn
    (found,), _ = backward([begun], [calls], stretch)
    flat = [begun, *(t for call in found for t in call)]
    assert flat == sorted(flat)
    for (enter, leave, limit, _), (entered, returned) in zip(calls, found, strict=True):
        assert enter <= entered <= limit
        assert returned >= leave


def test_backward__jump_alone():
    """Jump of 200 at 900, worked off with slope 1/2: begins at 900 - 400 = 500, so 800 moves by 150."""
    found, slope = backward([0], [[[200, 500, FREE, FREE], [800, 1100, FREE, 900]]], 2)
    assert found == [[[200, 500], [950, 1100]]]
    assert slope == 0.5


def test_backward__under_a_limit():
    """As before, but the entry at 800 has room for 50 only: slope 50/300 up to it, then 150/100 up to the jump. 650 moves by 25."""
    found, slope = backward([0], [[[500, 650, FREE, FREE], [800, 1100, 850, 900]]], 2)
    assert found == [[[500, 675], [850, 1100]]]
    assert slope == 1.5


def test_backward__lower_hull():
    """Points (0, 0), (400, 20), (600, 90), (800, 100), (1000, 200): the second bends up, (600, 90) lies above the line and counts not.

    slopes: 20/400 = 0.05 to the first, 80/400 = 0.2 to (800, 100), 100/200 = 0.5 to the jump; at 600 it is 20 + 40 = 60.
    """
    calls = [[400, 400, 420, FREE], [600, 600, 690, FREE], [800, 800, 900, FREE], [900, 1200, FREE, 1000]]
    found, slope = backward([0], [calls], 5)
    assert found == [[[420, 420], [660, 660], [900, 900], [1050, 1200]]]
    assert slope == 0.5


def test_backward__no_room_at_all():
    """A send without room stops the amortization: nothing before it moves."""
    found, slope = backward([0], [[[100, 200, FREE, FREE], [300, 400, 300, FREE], [500, 700, FREE, 600]]], 100)
    assert found == [[[100, 200], [300, 433], [566, 700]]]
    assert slope == pytest.approx(1 / 3)


def test_backward__send_where_the_jump_is():
    """A call that is entered and left at one instant and may not be entered later stays; what comes before it has nothing to gain."""
    found, slope = backward([0], [[[100, 200, FREE, FREE], [300, 400, 300, 300]]], 100)
    assert found == [[[100, 200], [300, 400]]]
    assert slope == 0.0


def test_backward__begins_with_the_location():
    """No room before the first instant at 700: slope 200 / (900 - 700) = 1."""
    found, slope = backward([700], [[[750, 800, FREE, FREE], [850, 1100, FREE, 900]]], 100)
    assert found == [[[800, 900], [1000, 1100]]]
    assert slope == 1.0


def test_backward__huge_times():
    """A jump of 30 s with the window of 3000 s: products of these do not fit into 64 bits."""
    second = 10**9
    calls = [[1000 * second, 1001 * second, FREE, FREE], [2000 * second, 3030 * second, 2001 * second, 3000 * second]]
    found, slope = backward([0], [calls], 100)
    assert found[0][1] == [2001 * second, 3030 * second]
    assert found[0][0] == [int(1000.5 * second), 1001 * second + 500_500_000]
    assert slope == pytest.approx(0.029)


def test_backward__nothing():
    assert backward([], [], 100) == ([], 0.0)
