"""Slices of time and instances of regions that nest: by hand, by law and against the naive twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import naive_viewers
from perwiz.kernels import nesting


def nest(rows):
    """Return the events and what missed, of (location, enter, leave, fixed) in order."""
    location, enter, leave, fixed = zip(*rows, strict=True) if rows else ((), (), (), ())
    count = len(rows)
    missed, out = np.zeros(count, "u1"), np.empty(2 * count, "i8")
    columns = np.array(location, "i4"), np.array(enter, "i8"), np.array(leave, "i8"), np.array(fixed, "u1")
    events = out[: nesting.nest(*columns, missed, np.empty(count, "i4"), out)].tolist()
    return [(e // 2, e % 2 == 1) for e in events if not missed[e // 2]], set(np.flatnonzero(missed).tolist())


def test_nest__by_hand():
    """A region with a call in it, a region that ends inside the next call, and one that begins inside it.

    0 [0, 9]       fits
    1 [1, 3] call  in 0
    2 [4, 6]       ends inside 3
    3 [5, 8] call  in 0; 2 misses
    4 [7, 12]      begins inside 3 and ends outside: misses
    5 [0, 0]       of another location, takes no time
    """
    rows = [(0, 0, 9, 0), (0, 1, 3, 1), (0, 4, 6, 0), (0, 5, 8, 1), (0, 7, 12, 0), (1, 0, 0, 1)]
    events, missed = nest(rows)
    assert missed == {2, 4}
    assert events == [(0, False), (1, False), (1, True), (3, False), (3, True), (0, True), (5, False), (5, True)]


@st.composite
def ordered(draw):
    """Draw slices as the kernel takes them: fixed ones one after the other, others anyhow."""
    rows = []
    for location in range(draw(st.integers(0, 2))):
        at = 0
        for _ in range(draw(st.integers(0, 4))):
            enter = at + draw(st.integers(0, 3))
            at = enter + draw(st.integers(0, 3))
            rows.append((location, enter, at, 1))
        times = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8)), max_size=4))
        rows += [(location, enter, enter + lasts, 0) for enter, lasts in times]
    return sorted(rows, key=lambda row: (row[0], row[1], -row[2], row[3]))


@pytest.mark.slow
@given(ordered())
def test_nest__twin(rows):
    assert nest(rows) == naive_viewers.nest(*(zip(*rows, strict=True) if rows else ((), (), (), ())))


@pytest.mark.slow
@given(ordered())
def test_nest__law(rows):
    """What is kept begins and ends once, inside what it began in; what is fixed is kept."""
    events, missed = nest(rows)
    around = []
    for row, ends in events:
        if ends:
            assert around.pop() == row
        else:
            assert all(rows[other][0] == rows[row][0] and rows[other][2] >= rows[row][2] for other in around)
            around.append(row)
    assert not around
    assert sorted(row for row, ends in events if ends) == [row for row in range(len(rows)) if row not in missed]
    assert not any(rows[row][3] for row in missed)


def last_inside(parent, outlives):
    out = np.empty(len(parent), "i4")
    nesting.last_inside(np.array(parent, "i4"), np.array(outlives, "u1"), out)
    return out.tolist()


@pytest.mark.parametrize("parent", [[], [-1], [-1, -1], [-1, 0, 1, 1, 0, -1, 5], [-1, 0, 0, 2, -1]])
def test_last_inside(parent):
    for bits in range(1 << len(parent)):
        outlives = [bits >> row & 1 for row in range(len(parent))]
        assert last_inside(parent, outlives) == naive.last_inside(parent, outlives)


def test_last_inside__by_hand():
    assert last_inside([-1, 0, 1, 0, -1], [0, 0, 0, 0, 0]) == [3, 2, 2, 3, 4]
    assert last_inside([-1, 0, 1, -1], [0, 1, 0, 0]) == [1, 2, 2, 3]


@given(st.integers(0, 6).flatmap(lambda size: st.tuples(*(st.integers(row, size - 1) for row in range(size)))))
def test_place_boundaries(last):
    places = [np.empty(len(last), "i4") for _ in range(2)]
    nesting.place_boundaries(np.array(last, "i4"), np.zeros(len(last), "i4"), *places)
    assert tuple(place.tolist() for place in places) == naive.place_boundaries(last)
