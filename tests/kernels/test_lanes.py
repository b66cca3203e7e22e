"""Instants and stretches of lanes, against the naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import lanes
from perwiz.trace.arrays import before, places

LANES = st.lists(st.lists(st.integers(0, 6), max_size=5).map(sorted), min_size=1, max_size=4)
STRETCHES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 6)), max_size=9)


def flat(drawn):
    """Return values one behind the other, and where those of each lane begin."""
    return np.array([value for lane in drawn for value in lane], "i8"), np.cumsum([0, *map(len, drawn)])


@given(LANES, st.lists(st.integers(-1, 7), max_size=4).map(sorted), st.booleans())
def test_before__twin(drawn, instants, at):
    """And `places` the other way round."""
    value, first = flat(drawn)
    column = np.array(instants, "i8").reshape(-1, 1) + np.arange(len(drawn))
    count = before(value, first, column, at)
    assert count.tolist() == naive.before(drawn, column.tolist(), at)
    behind = [naive.before([bounds], [[value] for value in lane], not at) for bounds, lane in zip(column.T.tolist(), drawn, strict=True)]
    assert places(count, first).tolist() == [number for lane in behind for (number,) in lane]


def test_before__by_hand():
    value, first = flat([[1, 3, 3], [2]])
    instants = np.array([[3, 3], [0, 9]])
    assert before(value, first, instants).tolist() == [[1, 1], [0, 1]]
    assert before(value, first, instants, True).tolist() == [[3, 1], [0, 1]]
    assert places(np.array([[1, 0], [3, 1]]), first).tolist() == [0, 1, 1, 1]


@given(STRETCHES)
def test_join__twin(drawn):
    lane, begin, length = (np.array(column, "i8") for column in zip(*sorted(drawn), strict=True)) if drawn else [np.empty(0, "i8")] * 3
    end = begin + length
    count = lanes.join(lane, begin, end)
    joined = [[*zip(lane.tolist(), begin.tolist(), end.tolist(), strict=True)][:count]]
    assert joined == [naive.join([(at, low, low + more) for at, low, more in drawn])]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=8))
def test_soonest__twin(drawn):
    rows = sorted(drawn, key=lambda row: row[0])
    value = np.array([row[1] for row in rows], "i8")
    lanes.soonest(np.array([row[0] for row in rows], "i8"), value)
    assert value.tolist() == [min(other for at, other in rows[k:] if at == row[0]) for k, row in enumerate(rows)]
