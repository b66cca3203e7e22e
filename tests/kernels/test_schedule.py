"""List scheduling, against its naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import schedule as kernel


def test_dynamic():
    """Pieces 5 3 4 1 for two threads, then 7 for one: the second has 3, takes 4; the first has 5, takes 1."""
    total = np.zeros(3, "i8")
    kernel.dynamic(np.array([0, 4, 5]), np.array([0, 2, 3]), np.array([5, 3, 4, 1, 7]), total)
    assert total.tolist() == [6, 7, 7]


@given(st.lists(st.tuples(st.integers(1, 4), st.lists(st.integers(0, 9), max_size=9)), max_size=4))
def test_dynamic__twin(parts):
    threads, pieces = np.cumsum([0, *(count for count, _ in parts)]), np.cumsum([0, *(len(each) for _, each in parts)])
    piece = np.array([ns for _, each in parts for ns in each], "i8")
    total = np.zeros(threads[-1], "i8")
    kernel.dynamic(pieces, threads, piece, total)
    assert total.tolist() == naive.dynamic(pieces, threads, piece, np.zeros(threads[-1], int))
