"""Columns to values row by row, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import ragged


def made(rows, sizes):
    """Return the values of rows, of which each has as many as its size."""
    size = np.array(sizes, "u1")
    first = np.cumsum(size, dtype="i8") - size
    out = np.full(sum(sizes), 77, "i8")
    for place in range(3):
        ragged.put(np.array([row[place] for row in rows], "i8"), size, place, first, out)
    return out.tolist()


@given(st.lists(st.tuples(st.tuples(*[st.integers(0, 50)] * 3), st.integers(0, 3)), max_size=8))
def test_put__twin(drawn):
    rows, sizes = [row for row, _ in drawn], [size for _, size in drawn]
    assert made(rows, sizes) == naive.ragged(rows, sizes)


def test_put__by_hand():
    assert made([(1, 2, 3), (4, 5, 6), (7, 8, 9)], [2, 0, 3]) == [1, 2, 7, 8, 9]
