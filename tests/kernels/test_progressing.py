"""Where times lie among those of calls, and with which call a location came back to MPI, against the naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import progressing
from perwiz.loggps.progress import first_after

TIMES = st.integers(0, 12)
LANES = st.lists(st.lists(TIMES, max_size=9).map(sorted), min_size=1, max_size=3)


def sorted_by_location(calls):
    return sorted(calls, key=lambda call: call[0])


@given(LANES, st.data())
def test_first_after__twin(lanes, data):
    asked = data.draw(st.lists(st.tuples(st.integers(0, len(lanes) - 1), st.integers(-1, 13)), max_size=12))
    first = np.cumsum([0, *map(len, lanes)])
    column = np.array([value for lane in lanes for value in lane], "i8")
    location, time = (np.array([one[k] for one in asked], dtype) for k, dtype in ((0, "i4"), (1, "i8")))
    assert first_after(first, column, location, time).tolist() == naive.first_after(lanes, asked)


def test_first_after__by_hand():
    """Location 0 has 10 20 20 30, location 1 nothing, location 2 has 5: behind its last is where the next one begins."""
    first, column = np.array([0, 4, 4, 5]), np.array([10, 20, 20, 30, 5])
    location, time = np.array([0, 0, 0, 0, 0, 1, 2, 2], "i4"), np.array([20, 9, 30, 10, 19, 7, 4, 5])
    assert first_after(first, column, location, time).tolist() == [3, 0, 4, 1, 1, 4, 4, 5]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 9)), max_size=15).map(sorted_by_location), st.integers(1, 9))
def test_came_back__twin(calls, least):
    location, lets, outside = (np.array([call[k] for call in calls], dtype) for k, dtype in ((0, "i4"), (1, "u1"), (2, "i8")))
    out = np.full(int(lets.sum()), 77)
    progressing.came_back(location, lets, outside, least, out)
    assert out.tolist() == naive.came_back(calls, least)
