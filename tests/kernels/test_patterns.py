"""Wrong orders, against the naive twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_patterns
from perwiz.kernels import patterns


@st.composite
def receipts(draw):
    """Draw messages in the order of receipt on some locations, and which late sender ends with which."""
    count = draw(st.integers(0, 14))
    location = sorted(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)))
    sent = draw(st.lists(st.integers(0, 30), min_size=count, max_size=count))
    late = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    ends = (np.cumsum(late) - 1).tolist() if count else []
    ends = [number if is_late else -1 for number, is_late in zip(ends, late, strict=True)]
    late_sent = draw(st.lists(st.integers(0, 30), min_size=sum(late), max_size=sum(late)))
    return location, sent, ends, late_sent


@pytest.mark.slow
@given(receipts(), st.integers(1, 16))
def test_wrong_order__twin(drawn, remembered):
    location, sent, ends, late_sent = drawn
    earlier = np.full(len(late_sent), -1, "i4")
    kept = np.full(remembered, 77, "i8"), np.full(remembered, 77, "i4")
    columns = np.array(location, "i4"), np.array(sent, "i8"), np.array(ends, "i4"), np.array(late_sent, "i8")
    patterns.wrong_order(*columns, *kept, earlier)
    assert earlier.tolist() == naive_patterns.wrong_order(location, sent, ends, late_sent, remembered)


def test_wrong_order__worked_by_hand_with_two_remembered():
    """Three late senders, sent at 30, 40 and 50, then a message sent at 10: the first of them is forgotten by then."""
    earlier = np.full(3, -1, "i4")
    columns = np.zeros(4, "i4"), np.array([30, 40, 50, 10]), np.array([0, 1, 2, -1], "i4"), np.array([30, 40, 50])
    patterns.wrong_order(*columns, np.zeros(2, "i8"), np.zeros(2, "i4"), earlier)
    assert earlier.tolist() == [-1, 3, 3]
