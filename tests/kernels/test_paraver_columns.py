"""Calls of Paraver to columns, against the naive twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_paraver as naive
from perwiz.kernels import paraver, paraver_columns
from perwiz.kernels.alog import empty

NAMES = ("location", "op", "enter", "leave", "sent", "received")


@given(st.lists(st.sampled_from([0, 2, 3]), max_size=9))
def test_spread__twin(locations):
    """Location 1 has no calls and no number; every field of a call has a value of its own."""
    row = np.array([1, -1, 0, 2], "i4")
    made = np.array([tuple(range(20 * k, 20 * k + len(paraver.MADE.names))) for k in range(len(locations))], paraver.MADE).view(np.recarray)
    made.location = locations
    counts = np.bincount(row[made.location], minlength=3)
    new, columns = np.full(len(made), -1, "i4"), [np.empty(len(made), paraver.MADE[name]) for name in NAMES]
    more = empty(len(made), paraver_columns.MORE)
    paraver_columns.spread(made, row, np.cumsum(counts) - counts, new, more, *columns)
    assert new.tolist() == naive.spread(made, row)
    for name, column in zip(NAMES, columns, strict=True):
        assert column[new].tolist() == (row[made.location] if name == "location" else made[name]).tolist()
    assert [more[name][new].tolist() for name in paraver_columns.MORE.names] == [made[name].tolist() for name in paraver_columns.MORE.names]
