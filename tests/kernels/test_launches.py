"""Launches and what they began, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_launches
from perwiz.kernels import launches

TIMES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20)), max_size=8).map(sorted)


def taken(began, ran):
    """Return the launch per activity (kind, begin); launches are (kind, entered, over)."""
    out = np.full(len(ran), 77, "i4")
    columns = [*np.array(began, "i8").reshape(-1, 3).T.copy(), *np.array(ran, "i8").reshape(-1, 2).T.copy()]
    launches.oldest(*columns, out)
    return out.tolist()


@given(TIMES, st.integers(0, 9), TIMES)
def test_oldest__twin(entered, lasts, ran):
    began = [(kind, enter, enter + lasts) for kind, enter in entered]
    assert taken(began, ran) == naive_launches.oldest(began, ran)


def test_oldest__by_hand():
    """What begins at 1 has no launch yet; the launch of 2 is over at 6, so that what begins at 7 takes the next."""
    assert taken([(0, 2, 6), (0, 4, 20), (0, 5, 20)], [(0, 1), (0, 7), (0, 8), (0, 9)]) == [-1, 1, 2, -1]


def test_oldest__of_its_kind():
    """Nothing of kind 1 was launched; what of kind 0 is left is not for kind 2."""
    assert taken([(0, 1, 9), (0, 2, 9), (2, 4, 9)], [(0, 3), (1, 3), (2, 3), (2, 5)]) == [0, -1, -1, 2]


def test_oldest__nothing():
    assert taken([], [(0, 3)]) == [-1]
    assert taken([(0, 3, 3)], []) == []
