"""Launches and what they began, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_launches
from perwiz.kernels import launches

TIMES = st.lists(st.integers(0, 20), max_size=8).map(sorted)


def taken(entered, over, begun):
    """Return the launch per activity."""
    out = np.full(len(begun), 77, "i4")
    launches.oldest(*(np.array(side, "i8") for side in (entered, over, begun)), out)
    return out.tolist()


@given(TIMES, st.integers(0, 9), TIMES)
def test_oldest__twin(entered, lasts, begun):
    over = [enter + lasts for enter in entered]
    assert taken(entered, over, begun) == naive_launches.oldest(entered, over, begun)


def test_oldest__by_hand():
    """What begins at 1 has no launch yet; the launch of 2 is over at 6, so that what begins at 7 takes the next."""
    assert taken([2, 4, 5], [6, 20, 20], [1, 7, 8, 9]) == [-1, 1, 2, -1]


def test_oldest__nothing():
    assert taken([], [], [3]) == [-1]
    assert taken([3], [3], []) == []
