"""Rows of the recorder to columns, against the naive twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_recorded
from perwiz.kernels import recorded as kernel
from perwiz.trace.recorded_files import CALL

OPERATIONS = [-1, -1, 7, 256 + 20, 0]
COMMS = [(0, 0, 4), (3, 4, 2)]
RANKS = [0, 1, 2, 3, 9, 5]
BIG, SMALL = st.integers(-(2**62), 2**62), st.integers(-(2**31), 2**31 - 1)
RECORDS = st.tuples(
    *(BIG, BIG, st.integers(0, 2**63), BIG, BIG, BIG),
    *(st.integers(-4, 5), SMALL, st.integers(-1, 3), st.integers(0, 4), st.integers(0, 2**16 - 1)),
)


@given(st.lists(RECORDS, max_size=12), st.integers(0, 3))
def test_split(records, at):
    rows = np.array(records, CALL) if records else np.empty(0, CALL)
    table = np.full(1 << 16, -1, "i4")
    table[: len(OPERATIONS)] = OPERATIONS
    ints, longs = np.zeros((6, at + len(rows)), "i4"), np.zeros((5, at + len(rows)), "i8")
    rest = np.zeros((len(rows), 2), "i8")
    words = rows.view("i8").reshape(-1, 8)
    count = kernel.split(words, table, np.array(COMMS, "i4"), np.array(RANKS, "i4"), at, ints, longs, rest)
    calls, others = naive_recorded.split(records, OPERATIONS, COMMS, RANKS)
    found = [tuple(column) for column in np.concatenate([ints.astype("i8"), longs])[:, at : at + count].T.tolist()]
    assert found == calls
    assert [tuple(row) for row in rest[: len(rows) - count].tolist()] == others


@given(st.lists(st.booleans(), max_size=20))
def test_nest(begins):
    count = sum(begins)
    parent, end = np.zeros(count, "i4"), np.zeros(count, "i4")
    lost = kernel.nest(np.array(begins, "u1"), np.zeros(count + 1, "i4"), parent, end)
    assert (parent.tolist(), end.tolist(), lost) == naive_recorded.nest(begins)
