"""Numbers for pairs, against the naive twin; tables as small as they may be, so that keys collide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import number
from perwiz.trace import numbers as trace_numbers
from perwiz.trace.numbers import Numbers, distinct, following, paths, places

KEYS = st.one_of(st.integers(-3, 3), st.sampled_from([2**62, -(2**62), 2**31, 2**40 + 1, -(2**31) - 1]))
PAIRS = st.lists(st.tuples(KEYS, KEYS), max_size=15)


def numbered(pairs, size, known=()):
    """Return (numbers, pairs known) from a table of `size` slots."""
    table, rows = np.full(size, -1, "i4"), np.recarray(len(pairs) + len(known), number.PAIR)
    old = of(known)
    count = number.number(old, table, rows, 0, np.empty(len(old), "i4"))
    out = np.full(len(pairs), -7, "i4")
    count = number.number(of(pairs), table, rows, count, out)
    return out.tolist(), rows[:count].tolist()


def of(pairs):
    """Return pairs as the kernel takes them."""
    return np.array(list(pairs), number.PAIR).view(np.recarray)


@given(PAIRS, st.sampled_from([16, 32, 64]))
def test_number__twin(pairs, size):
    assert numbered(pairs, size) == naive.number(pairs)


@given(PAIRS, PAIRS)
def test_number__known_before(pairs, before):
    known = naive.number(before)[1]
    assert numbered(pairs, 64, known) == naive.number(pairs, known)


def test_number__full_but_for_one_slot():
    """15 keys in 16 slots: every chain of collisions is walked to its end, around the edge of the table too."""
    pairs = [(row % 4, row * row) for row in range(15)]
    assert numbered([*pairs, *reversed(pairs)], 16) == naive.number([*pairs, *reversed(pairs)])


@pytest.mark.slow
@given(st.lists(PAIRS, max_size=4))
def test_numbers__over_several_calls(batches):
    numbers, known = Numbers(), []
    for batch in batches:
        columns = np.array(batch, "i8").reshape(-1, 2)
        expected, known = naive.number(batch, known)
        assert numbers.number(columns[:, 0], columns[:, 1]).tolist() == expected
    assert (numbers.count, numbers.pairs.tolist()) == (len(known), [list(pair) for pair in known])


@st.composite
def nested(draw):
    """Draw (parent, region) of region instances, parents first."""
    size = draw(st.integers(0, 15))
    return [draw(st.integers(-1, row - 1)) for row in range(size)], [draw(st.integers(0, 2)) for _ in range(size)]


@given(nested())
def test_paths__twin(drawn):
    parent, region = drawn
    path, above, name = paths(np.array(parent, "i4"), np.array(region, "i4"))
    expected, known = naive.paths(parent, region)
    assert path.tolist() == expected
    assert list(zip(above.tolist(), name.tolist(), strict=True)) == known


@given(nested())
def test_paths__crowded_table(drawn):
    parent, region = drawn
    table, known, out = np.full(16, -1, "i4"), np.recarray(len(parent), number.PAIR), np.empty(len(parent), "i4")
    half, count = len(parent) // 2, 0
    for begin, end in ((0, half), (half, len(parent))):
        count = number.paths(np.array(parent[:end], "i4"), np.array(region, "i4"), begin, count, table, known, out)
    expected, pairs = naive.paths(parent, region)
    assert (out.tolist(), known[:count].tolist()) == (expected, pairs)


@given(st.lists(st.integers(0, 3), max_size=15))
def test_running__twin(drawn):
    out = np.array(drawn, "i4")
    number.running(out, np.zeros(4, "i4"))
    assert out.tolist() == naive.running(drawn)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 3)), max_size=20).map(lambda rows: sorted(rows, key=lambda row: row[0])))
def test_following__twin(rows):
    lane, numbers = (np.array([row[k] for row in rows], "i4") for k in (0, 1))
    assert following(numbers, lane).tolist() == naive.following(numbers.tolist(), lane.tolist())


@given(st.lists(KEYS, max_size=20), st.sampled_from(["i4", "i8"]))
def test_distinct__as_numpy(keys, dtype):
    values = np.array(keys, "i8").astype(dtype)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert distinct(values).dtype == values.dtype


@pytest.mark.parametrize("apart", [1, 100])
def test_places__close_together_and_far_apart(apart):
    known = np.array([3, 5, 9], "i8") * apart
    assert places(known, np.array([5, 9, 5, 3], "i8") * apart).tolist() == [1, 2, 1, 0]


@given(st.lists(st.integers(-20, 20), max_size=20), st.sampled_from([1, 1 << 40]))
def test_places__as_searchsorted(keys, apart):
    values = np.array(keys, "i8") * apart
    known = distinct(values)
    assert known.tolist() == np.unique(values).tolist()
    assert places(known, values).tolist() == np.searchsorted(known, values).tolist()
    assert [column.tolist() for column in trace_numbers.numbered(values)] == [
        column.tolist() for column in np.unique(values, return_inverse=True)
    ]
