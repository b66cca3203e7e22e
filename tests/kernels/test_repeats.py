"""What repeats in a run, piece by piece, against naive twins and by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.kernels import repeats

GROUPS, PARTS = 3, 4
USUAL, COUNT = np.array([4.0, 10, 3]), np.array([1, 5, 2])
pieces = st.lists(
    st.tuples(st.integers(-1, GROUPS - 1), st.integers(0, 2), st.integers(0, PARTS - 1), *[st.booleans()] * 2, st.integers(0, 20)),
    max_size=12,
)
"""As (group, pool, part, told, inside, length)."""


def columns(made):
    kinds = "i4", "i4", "u2", "u1", "u1", "i8"
    return [np.array([piece[k] for piece in made], kind) for k, kind in enumerate(kinds)]


@given(pieces)
def test_add_up__twin(made):
    group, _, _, told, _, length = columns(made)
    count, total = np.zeros((2, GROUPS), "i8")
    repeats.add_up(group, told, length, count, total)
    assert (count.tolist(), total.tolist()) == naive.added_up(group, told, length, GROUPS)


@given(pieces)
def test_pools__twin(made):
    _, pool, _, told, inside, _ = columns(made)
    count, within = np.zeros((2, 3), "i8")
    repeats.pools(pool, told, inside, count, within)
    assert count.tolist() == [sum(1 for piece in made if piece[3] and piece[1] == one) for one in range(3)]
    assert within.tolist() == [sum(1 for piece in made if piece[3] and piece[4] and piece[1] == one) for one in range(3)]


@given(pieces)
def test_stretches__twin(made):
    """Pools of which none is told are none; the others are numbered anew."""
    made = [(max(group, 0), *rest) for group, *rest in made]
    group, pool, part, told, _, length = columns(made)
    kept = sorted({piece[1] for piece in made if piece[3]})
    place = np.array([kept.index(one) if one in kept else -1 for one in range(3)], "i4")
    there = np.zeros((len(kept), PARTS), "u1")
    repeats.places(pool, place, part, told, there)
    twin = naive.stretches(made, USUAL.tolist())
    assert pool.tolist() == [place[piece[1]] for piece in made]
    assert [tuple(one) for one in np.argwhere(there).tolist()] == [(kept.index(one), at) for one, at in twin[0]]
    behind, first = (there.cumsum().reshape(there.shape) - there).astype("i4"), np.append(0, there.sum(axis=1, dtype="i8").cumsum())
    stretch, (took, needs) = np.empty(len(made), "i4"), np.zeros((2, len(twin[0])))
    repeats.stretches(pool, part, told, length, group, USUAL, behind, first, stretch, took, needs)
    assert (stretch.tolist(), took.tolist(), needs.tolist()) == twin[1:]


@given(pieces, st.lists(st.integers(0, 12), min_size=2, max_size=2), st.integers(0, 1))
def test_varies__twin(made, cuts, beyond):
    """Three locations; the first piece is of none."""
    made = [(0, 0, 0, True, True, 5), *((max(group, 0), *rest) for group, *rest in made)]
    group, pool, _, told, _, length = columns(made)
    cuts = [0, *sorted(min(cut, len(made) - 1) for cut in cuts), len(made) - 1]
    first = np.array(cuts) - beyond * np.arange(4)
    often, (longer, lasted), several = np.array([2, 1, 2]), np.zeros((2, 3)), np.zeros(3, "i8")
    repeats.varies(1, first, beyond, told, length, group, USUAL, COUNT, pool, often, longer, lasted, several)
    rows = [made[1 + begin : 1 + end] for begin, end in itertools.pairwise(cuts)]
    twin = [naive.varied(of, USUAL.tolist(), COUNT.tolist()) for of in rows]
    assert longer.tolist() == pytest.approx([one[0] for one in twin])
    assert lasted.tolist() == pytest.approx([one[1] for one in twin])
    assert several.tolist() == [0, *(sum(1 for piece in made[1:] if piece[3] and often[piece[1]] == many) for many in (1, 2))]


def test_varies__worked_by_hand():
    """One location: of 10 usual, of which there are five, 12 took 2 longer, times the root of 5 / 4; what is not told is left out."""
    made = [(1, 0, 0, True, True, 12), (1, 0, 0, False, True, 99)]
    group, pool, _, told, _, length = columns(made)
    longer, lasted, several = np.zeros(1), np.zeros(1), np.zeros(2, "i8")
    repeats.varies(0, np.array([0, 2]), 0, told, length, group, USUAL, COUNT, pool, np.array([1]), longer, lasted, several)
    assert (longer.tolist(), lasted.tolist(), several.tolist()) == ([pytest.approx(4 * 5 / 4)], [100], [0, 1])
