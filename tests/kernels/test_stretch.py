"""Computation rescaled, against the naive twin."""

import itertools

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


def cut(gap, offset, whole):
    """Return (first segments of gaps and the number of segments, their lengths)."""
    bounds, length = np.full(len(whole) + 1, -7, "i4"), np.full(len(whole) + len(gap), -7)
    kernel.cut(np.array(gap, "i4"), np.array(offset, "i8"), np.array(whole, "i8"), bounds, length)
    return bounds.tolist(), length.tolist()


def test_cut__worked_by_hand():
    """Gaps of 10, 5 and 8 ns; the first is cut behind 4 and 7, the last behind 0 and 8."""
    assert cut([0, 0, 2, 2], [4, 7, 0, 8], [10, 5, 8]) == ([0, 3, 4, 7], [4, 3, 3, 5, 0, 8, 0])
    assert cut([], [], []) == ([0], [])


GAPS = st.lists(st.lists(st.integers(0, 1 << 50), min_size=1, max_size=4), max_size=6)


@given(GAPS)
def test_cut__sums_give_back_what_was_cut(gaps):
    """Cut at the sums of what it is made of, each gap falls into that again."""
    of = [gap for gap, parts in enumerate(gaps) for _ in parts[:-1]]
    offset = [sum(parts[: number + 1]) for parts in gaps for number in range(len(parts) - 1)]
    whole = [sum(parts) for parts in gaps]
    bounds, length = cut(of, offset, whole)
    assert length == [part for parts in gaps for part in parts]
    out = np.full(len(gaps), -7)
    kernel.sums(np.array(bounds, "i4"), np.array(length, "i8"), out)
    assert out.tolist() == whole


def levelled(gaps, spans, wanted):
    """Return (what groups of spans add up to, what gaps then take if they add up to what is wanted)."""
    bounds = np.cumsum([0, *map(len, gaps)], dtype="i4")
    length = np.array([part for parts in gaps for part in parts], "i8")
    columns = np.array(spans, "i4").reshape(-1, 3).T.copy()
    total, out = np.zeros(len(wanted), "i8"), np.array([sum(parts) for parts in gaps], "i8")
    kernel.totals(*columns, length, total)
    kernel.level(*columns, bounds, length, total, np.array(wanted, "i8"), out)
    return total.tolist(), out.tolist()


def test_level__worked_by_hand():
    """Segments 1 2 | 3 4 5 | 6: the first two, 3, are to be 1; 4 5 6 are to be 30, 18 of them in the second gap."""
    assert levelled([[1, 2], [3, 4, 5], [6]], [(0, 2, 0), (3, 6, 1)], [1, 30]) == ([3, 15], [1, 21, 12])


def test_level__several_spans_of_a_group():
    """Segments 0 and 2 of one gap are two parts of a group, 1 of another, which is nothing: its first part takes all."""
    assert levelled([[4, 0, 2], [9]], [(0, 1, 0), (2, 3, 0), (3, 4, 1)], [3, 9]) == ([6, 9], [3, 9])
    assert levelled([[4, 0, 0], [0]], [(1, 2, 0), (2, 4, 0)], [5]) == ([0], [9, 0])


@given(GAPS, st.data())
def test_level__twin(gaps, data):
    """What spans have of gaps are parts that are shared out."""
    count = sum(map(len, gaps))
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=8, unique=True)))
    spans, group = [], 0
    for first, end in itertools.pairwise(cuts):
        if data.draw(st.booleans()):
            spans.append((first, end, group))
        group += data.draw(st.integers(0, 1))
    wanted = data.draw(st.lists(st.integers(0, 1 << 55), min_size=group + 1, max_size=group + 1))
    assert levelled(gaps, spans, wanted) == naive.levelled(gaps, spans, wanted)


@given(PARTS, st.lists(st.integers(0, 1 << 60), min_size=5, max_size=5))
def test_shares__twin(parts, total):
    parts = sorted(parts, key=lambda one: one[0])
    group, part = [one for one, _ in parts], [one for _, one in parts]
    assert shares(part, group, total) == naive.shares(part, group, total)
