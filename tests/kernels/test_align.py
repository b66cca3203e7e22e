"""Chains and edit scripts, against the naive twins."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_align as naive
from perwiz.kernels import align

KEYS = st.lists(st.integers(0, 3), max_size=14)


def chained(position):
    """Return the length told, and the rows kept."""
    n = len(position)
    keep = np.zeros(n, "u1")
    length = align.chain(np.array(position, "i4"), np.full(n, 77, "i4"), np.full(n, 77, "i4"), keep)
    return length, np.flatnonzero(keep).tolist()


def paired(a, b, most=100, whole=True, steps=100_000, gaps=None):
    """Return the pairs, and what is left of the gaps."""
    rows = [(0, len(a), 0, len(b))] if gaps is None else gaps
    gap = np.array(rows, align.GAP).view(np.recarray)
    partner = np.full(len(a), -1, "i4")
    trail = np.full((most + 1) * (most + 2) // 2, -77, "i4")
    align.script(np.array(a, "i4"), np.array(b, "i4"), gap, most, whole, steps, trail, partner)
    left = [row for row in gap.tolist() if row[0] < row[1] and row[2] < row[3]]
    return [(i, int(partner[i])) for i in range(len(a)) if partner[i] >= 0], left


def check(a, b, pairs):
    """Pairs are equal, and ascend on both sides."""
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(p < q and r < s for (p, r), (q, s) in itertools.pairwise(pairs))


@given(st.permutations(range(12)))
def test_chain__twin(position):
    length, rows = chained(position)
    values = [position[row] for row in rows]
    assert len(rows) == length == naive.chain(position)
    assert values == sorted(values)


def test_chain__by_hand():
    """Of 2 0 1 4 3 the parts 0 1 4 and 0 1 3 ascend furthest; the one that ends lowest is taken."""
    assert chained([2, 0, 1, 4, 3]) == (3, [1, 2, 4])
    assert chained([]) == (0, [])


@given(KEYS, KEYS)
def test_script__twin(a, b):
    pairs, left = paired(a, b)
    check(a, b, pairs)
    assert (len(pairs), left) == (naive.common(a, b), [])


@given(KEYS, KEYS, st.integers(1, 4), st.integers(1, 60))
def test_script__few_edits_and_steps(a, b, most, steps):
    """Whatever is allowed, pairs are pairs; all at once or not at all but for the ends, or piece by piece to the end."""
    whole, left = paired(a, b, most, True)
    check(a, b, whole)
    assert left or len(whole) == naive.common(a, b)
    piecewise, left = paired(a, b, most, False)
    check(a, b, piecewise)
    assert left == []
    check(a, b, paired(a, b, most, False, steps)[0])


def test_script__by_hand():
    """1 2 3 1 2 3 and 1 2 3 4 1 2 3: the 4 was inserted. With 9 8 for 3 4 5 between equal ends five edits are needed."""
    assert paired([1, 2, 3, 1, 2, 3], [1, 2, 3, 4, 1, 2, 3]) == ([(0, 0), (1, 1), (2, 2), (3, 4), (4, 5), (5, 6)], [])
    assert paired([1, 9, 8, 2], [1, 3, 4, 5, 2], most=4) == ([(0, 0), (3, 4)], [(1, 3, 1, 4)])
    assert paired([1, 9, 8, 2], [1, 3, 4, 5, 2], most=5) == ([(0, 0), (3, 4)], [])


def test_script__beyond_the_edits():
    """1 2 3 4 5 6 and 6 1 5 2 4 3 with one edit at a time: 6 is skipped, 1 found, and so on to the end."""
    pairs, left = paired([1, 2, 3, 4, 5, 6], [6, 1, 5, 2, 4, 3], most=1, whole=False)
    check([1, 2, 3, 4, 5, 6], [6, 1, 5, 2, 4, 3], pairs)
    assert left == []


def test_script__gaps_are_apart():
    """Equal keys in different gaps are no pairs; what lies in no gap is not touched."""
    assert paired([1, 2, 3], [2, 1, 3], gaps=[(0, 1, 0, 1), (1, 2, 1, 2)]) == ([], [])
    assert paired([], [], gaps=[]) == ([], [])
