"""Stretches of a run: how long each takes, by hand, and how they are drawn, beside the slow way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from perwiz.whatif.sure.stretches import BLOCKS, stretches_of


def of(like, process, length, usual):
    columns = (np.array(column) for column in (like, process, np.array(usual) > 0, length))
    return stretches_of(*columns, np.array(usual, "f8"))


def test_each_repetition():
    """12 is usual on process 0 and 100 on process 1; what is not told has the stretch of its place in time, if its process has any."""
    found, stretch = of([7] * 7 + [8], [1, 1, 0, 0, 0, 1, 2, 0], [90, 110, 12, 11, 13, 5, 5, 5], [100, 100, 12, 12, 12, 0, 0, 0])
    assert found.times.tolist() == pytest.approx([1, 11 / 12, 13 / 12, 0.9, 1.1])
    assert stretch.tolist() == [3, 4, 0, 1, 2, 4, -1, -1]
    assert (found.pool.tolist(), found.first.tolist()) == ([0, 0, 0, 1, 1], [0, 3, 5])
    assert (found.kin.tolist(), found.kins.tolist()) == ([0, 0], [2, 2])
    assert found.deviation.tolist() == pytest.approx([0, -(1.5**0.5) / 12, 1.5**0.5 / 12, -(2**0.5) / 10, 2**0.5 / 10])


def test_many_repetitions():
    """Ninety are thirty stretches of three: 1 2 3 times as long as usual together as long as usual."""
    found, stretch = of([0] * 90, [0] * 90, [10, 20, 30] * 30, [20] * 90)
    assert found.times.tolist() == [1] * BLOCKS
    assert stretch.tolist() == [k // 3 for k in range(90)]


def test_nothing_is_told():
    found, stretch = of([0, 0], [0, 1], [5, 5], [0, 0])
    assert (stretch.tolist(), found.drawn(np.arange(3)).shape) == ([-1, -1], (0, 3))


def test_what_happened_together_is_drawn_together():
    """Of two processes one is late in each step: so it is in each step drawn."""
    late = np.array([1, 0, 0, 1, 1, 0, 1, 0])
    found, _ = of([0] * 16, [0] * 8 + [1] * 8, [*10 + late, *11 - late], [10.5] * 16)
    drawn = found.drawn(np.arange(50)).reshape(2, 8, 50)
    assert np.allclose(drawn[0], -drawn[1])
    assert drawn.std(axis=2).min() > 0


@given(
    st.lists(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=70), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(0, 200),
)
def test_twin(kinds, draw):
    rows = [(like, process, length) for like, pools in enumerate(kinds) for process, pool in enumerate(pools) for length in pool]
    found, _ = of(*map(list, zip(*rows, strict=True)), [5] * len(rows))
    ends = np.cumsum([len(pools) for pools in kinds])
    pools = np.split(found.deviation, found.first[1:-1])
    twin = [naive.drawn_deviation(pools[end - len(of) : end], draw, BLOCKS) for of, end in zip(kinds, ends, strict=True)]
    assert found.drawn(np.array([draw]))[:, 0].tolist() == [each for pool in twin for each in pool]
