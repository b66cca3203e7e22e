"""First in, first out, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import match

CHANNELS = st.lists(st.integers(0, 3), max_size=15)


def matched(sent, received):
    """Return the send per receive."""
    out = np.full(len(received), 77, "i4")
    head, following = np.full(4, 77, "i4"), np.full(len(sent), 77, "i4")
    match.match(np.array(sent, "i4"), np.array(received, "i4"), head, following, out)
    return out.tolist()


@given(CHANNELS, CHANNELS)
def test_match__twin(sent, received):
    assert matched(sent, received) == naive.match(sent, received)


def test_match__by_hand():
    """Channel 1 sends rows 0 and 2, channel 3 row 1; three receives in 1 take 0, 2 and nothing, one in 0 nothing."""
    assert matched([1, 3, 1], [1, 0, 1, 3, 1]) == [0, -1, 2, 1, -1]


def test_match__nothing():
    assert matched([], []) == []
