"""The boundaries of user regions in an order in which they nest, also where their times are the same."""

from __future__ import annotations

import numpy as np

from perwiz.kernels import nesting as kernel
from perwiz.trace.arrays import Ints
from perwiz.trace.tables import Regions, Times


def boundaries(regions: Regions, times: Times) -> Ints:
    """Return the order of all boundaries, int64: rows 0 .. n - 1 are the entries of the n instances, n .. 2 n - 1 their leavings.

    A parent's entry stands before its child's, a child's leaving before its parent's, and the leaving of an instance before the
    entry of the next. Times only tell which instances outlive their parent, as old traces let them.
    """
    count = len(regions)
    row = np.tile(np.arange(count, dtype="i4"), 2)
    leaves = np.repeat([False, True], count)
    return np.lexsort((-row, leaves, np.concatenate([row[:count], _last_inside(regions, times)])))


def _last_inside(regions: Regions, times: Times) -> Ints:
    """Return the last instance entered in each, left out what overlaps with it."""
    leave, end, above = times.leave, regions.end_call, regions.parent
    later = (leave > leave[above]) | ((leave == leave[above]) & (end > end[above]))
    out = np.empty(len(regions), "i4")
    kernel.last_inside(above, later.astype("u1"), out)
    return out
