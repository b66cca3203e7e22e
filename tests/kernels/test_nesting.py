"""How instances lie in each other, worked by hand and against the naive twin."""

import numpy as np
import pytest

import naive
from perwiz.kernels import nesting


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
