"""Stretches of time in each other, against the definition and by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perwiz.kernels import inside

STRETCHES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)), max_size=9)


def parents(stretches):
    """Return (parent, leave) of (location, enter, leave)."""
    location, enter, leave = (
        np.array(column, dtype) for column, dtype in zip(zip(*stretches, strict=True), ("i4", "i8", "i8"), strict=True)
    )
    parent = np.full(len(location), 77, "i4")
    inside.parents(location, enter, leave, np.empty(len(location), "i4"), parent)
    return parent.tolist(), leave.tolist()


@given(STRETCHES)
def test_parents__twin(drawn):
    """The innermost one around is the last that was entered and not yet left; who outlives it is cut."""
    stretches = sorted(((where, begin, begin + length) for where, begin, length in drawn), key=lambda one: (one[0], one[1], -one[2]))
    leaves, expected = [leave for *_, leave in stretches], []
    for k, (where, begin, _) in enumerate(stretches):
        around = [j for j in range(k) if stretches[j][0] == where and leaves[j] > begin]
        expected.append(around[-1] if around else -1)
        leaves[k] = min(leaves[k], leaves[around[-1]]) if around else leaves[k]
    assert not stretches or parents(stretches) == (expected, leaves)


def test_parents__by_hand():
    assert parents([(0, 0, 9), (0, 1, 4), (0, 2, 6), (0, 5, 8), (0, 9, 9)]) == ([-1, 0, 1, 0, -1], [9, 4, 4, 8, 9])
