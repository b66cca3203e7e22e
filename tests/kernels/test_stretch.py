"""Computation rescaled, against the naive twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import stretch as kernel


def shares(part, group, total):
    """Return what parts come to."""
    out = np.full(len(part), -7)
    kernel.shares(np.array(part, "i8"), np.array(group, "i8"), np.array(total, "i8"), out)
    return out.tolist()


def test_shares__worked_by_hand():
    """Twice as much; then 4, 4 of 5, 5; a group of nothing gives all to its first."""
    assert shares([10, 20, 5, 5, 0, 0], [0, 0, 1, 1, 3, 3], [60, 8, -1, 7]) == [20, 40, 4, 4, 7, 0]


def test_shares__halves_go_to_even_on_the_running_sum():
    """0.5, 1, 1.5 and 2 are 0, 1, 2 and 2; numbers from 2^52 on have no halves."""
    assert shares([1, 1, 1, 1], [0, 0, 0, 0], [2]) == [0, 1, 1, 0]
    assert shares([1, 3], [0, 0], [1 << 54]) == [1 << 52, 3 << 52]


def test_shares__add_up_to_any_total():
    """Also where it is more than a float can tell apart."""
    assert shares([3], [0], [9_999_999_999_999_995]) == [9_999_999_999_999_995]
    assert sum(shares([1, 5, 3, 0], [0] * 4, [(1 << 60) - 1])) == (1 << 60) - 1


def test_shares__nobody():
    assert shares([], [], []) == []


PARTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1 << 50)), max_size=12)


@given(PARTS)
def test_sums__twin(parts):
    out = np.zeros(5, "i8")
    kernel.sums(np.array([one for one, _ in parts], "i4"), np.array([one for _, one in parts], "i8"), out)
    assert out.tolist() == [sum(part for of, part in parts if of == group) for group in range(5)]


@given(PARTS, st.lists(st.integers(0, 1 << 60), min_size=5, max_size=5))
def test_shares__twin(parts, total):
    parts = sorted(parts, key=lambda one: one[0])
    group, part = [one for one, _ in parts], [one for _, one in parts]
    assert shares(part, group, total) == naive.shares(part, group, total)
