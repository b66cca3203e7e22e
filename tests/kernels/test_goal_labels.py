"""Labels of GOAL to the rows of their operations, against what was put in and by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perwiz.kernels import goal_labels as kernel


def resolved(labels, wanted, slots=16):
    """Return (first row whose label is there already, row per wanted label); labels are (word, rank)."""
    data = "".join(f"{label} " for label, _ in (*labels, *wanted)).encode() + b"\n"
    place = np.cumsum([0, *(len(label) + 1 for label, _ in (*labels, *wanted))])[:-1]
    place = np.where([not label for label, _ in (*labels, *wanted)], -1, place).astype("i8")
    rank = np.array([of for _, of in (*labels, *wanted)], "i4")
    text, n, table, out = np.frombuffer(data, "u1"), len(labels), np.full(slots, -1, "i4"), np.zeros(len(wanted), "i4")
    twice = kernel.number(text, place[:n], rank[:n], table)
    kernel.find(text, place[:n], rank[:n], table, place[n:], rank[n:], out)
    return twice, out.tolist()


def test_labels__by_hand():
    """Row 1 has none; a label is one of its rank, and not of one that begins like it."""
    assert resolved([("l1", 0), ("", 0), ("l12", 0), ("l1", 1)], [("l1", 1), ("l12", 0), ("l12", 1), ("l", 0)]) == (-1, [3, 2, -1, -1])


def test_labels__twice():
    assert resolved([("l1", 0), ("l2", 0), ("l1", 0)], [])[0] == 2


@given(st.lists(st.tuples(st.text("ab_1", min_size=1).map("l".__add__), st.integers(0, 2)), max_size=7, unique=True))
def test_labels__twin(labels):
    assert resolved(labels, labels[::-1]) == (-1, list(range(len(labels)))[::-1])
