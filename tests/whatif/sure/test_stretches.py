"""Stretches of a run: how long each takes, by hand, and how they are drawn, beside the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.whatif.sure.parts import BLOCKS, Parts
from perwiz.whatif.sure.stretches import stretches_of


def of(like, process, length, usual, part=None, number=BLOCKS, block=1):
    """Return the stretches of rows that are in these parts, -1 outside of all; if none are given, of a run without iterations."""
    columns = (np.array(column) for column in (like, process, np.array(usual) > 0, length, np.arange(len(like), dtype="i4")))
    part = np.full(len(like), -1) if part is None else np.array(part)
    return stretches_of(*columns, np.array(usual, "f8"), Parts(number, block, np.maximum(part, 0).astype("u2"), part >= 0, 0))


def drawn(found, draws):
    """Return what comes for each stretch in some draws, a column each."""
    out = np.empty((len(found.pool), draws.size))
    found.draw(draws, out)
    return out[np.argsort(found.order)]


def test_each_repetition():
    """12 is usual on process 0 and 100 on process 1; what is not told has the stretch of its place in time, if its process has any."""
    found, stretch = of([7] * 7 + [8], [1, 1, 0, 0, 0, 1, 2, 0], [90, 110, 12, 11, 13, 5, 5, 5], [100, 100, 12, 12, 12, 0, 0, 0])
    assert found.times.tolist() == pytest.approx([0.9, 1.1, 1, 11 / 12, 13 / 12])
    assert stretch.tolist() == [0, 1, 2, 3, 4, 1, -1, -1]
    assert (found.pool.tolist(), found.part.tolist(), found.first.tolist()) == ([0, 0, 1, 1, 1], [0, 15, 0, 10, 20], [0, 2, 5])
    assert found.deviation.tolist() == pytest.approx([-(2**0.5) / 10, 2**0.5 / 10, 0, -(1.5**0.5) / 12, 1.5**0.5 / 12])


def test_many_repetitions():
    """Ninety are thirty stretches of three: 1 2 3 times as long as usual together as long as usual."""
    found, stretch = of([0] * 90, [0] * 90, [10, 20, 30] * 30, [20] * 90)
    assert found.times.tolist() == [1] * BLOCKS
    assert stretch.tolist() == [k // 3 for k in range(90)]


def test_iterations():
    """Twice in iteration 0, once in 1, not in 2, once in 3, and what is outside belongs to the nearest."""
    found, stretch = of([0] * 5, [0] * 5, [9, 13, 8, 12, 8], [10] * 5, [0, 0, 1, 3, -1], 4)
    assert found.times.tolist() == pytest.approx([10 / 10, 8 / 10, 12 / 10])
    assert (found.part.tolist(), found.behind.tolist(), stretch.tolist()) == ([0, 1, 3], [[0], [1], [2], [2]], [0, 0, 1, 2, 0])


def test_order():
    """By part, then by pool: those of two pools in parts 0 and 2, and 0 and 1, of which the first and the third come first."""
    found, _ = of([0, 0, 1, 1], [0] * 4, [9, 11, 8, 12], [10] * 4, [0, 2, 0, 1], 3)
    assert (found.pool.tolist(), found.part.tolist(), found.order.tolist()) == ([0, 0, 1, 1], [0, 2, 0, 1], [0, 2, 3, 1])


def test_mostly_outside_of_iterations():
    """One of four is in an iteration: it is spread over the run, as if there were none."""
    found, stretch = of([0] * 4, [0] * 4, [9, 11, 8, 12], [10] * 4, [2, -1, -1, -1], 8)
    assert (found.part.tolist(), stretch.tolist()) == ([0, 2, 4, 6], [0, 1, 2, 3])


def test_blocks_tell_less():
    """Eight iterations, two by two, are four."""
    found, _ = of([0] * 8, [0] * 8, [9, 11] * 4, [10] * 8, range(8), 8, 2)
    assert found.deviation.tolist() == pytest.approx([-((4 / 3) ** 0.5) / 10, (4 / 3) ** 0.5 / 10] * 4)


def test_nothing_is_told():
    found, stretch = of([0, 0], [0, 1], [5, 5], [0, 0])
    assert (stretch.tolist(), drawn(found, np.arange(3)).shape) == ([-1, -1], (0, 3))


def test_what_happened_together_is_drawn_together():
    """Of two processes one is late in each step: so it is in each step drawn."""
    late = np.array([1, 0, 0, 1, 1, 0, 1, 0])
    found, _ = of([0] * 16, [0] * 8 + [1] * 8, [*10 + late, *11 - late], [10.5] * 16, [*range(8)] * 2, 8)
    both = drawn(found, np.arange(50)).reshape(2, 8, 50)
    assert np.allclose(both[0], -both[1])
    assert both.std(axis=2).min() > 0


@given(
    st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 6)), min_size=1, max_size=20), min_size=1, max_size=4),
    st.integers(1, 7),
    st.integers(0, 200),
)
def test_twin(pools, block, draw):
    """Lengths and iterations of pools."""
    rows = [(pool, length, part) for pool, each in enumerate(pools) for length, part in sorted(each, key=lambda row: row[1])]
    like, length, part = map(list, zip(*rows, strict=True))
    found, _ = of(like, [0] * len(rows), length, [5] * len(rows), part, 7, block)
    deviation = found.deviation.tolist()
    twin = [
        dict(zip(sorted({part for _, part in pool}), [deviation.pop(0) for _ in {part for _, part in pool}], strict=True)) for pool in pools
    ]
    assert drawn(found, np.array([draw]))[:, 0].tolist() == naive.turned(twin, naive.drawn_parts(draw, 7, block))
