"""The boundaries of user regions in an order in which they nest, also where their times are the same.

Writers of traces and hypotheses that stretch regions go through them so: a stack of open instances is enough for them.
"""

from __future__ import annotations

import numpy as np

from perwiz.kernels import nesting as kernel
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import Regions, Times


def boundaries(regions: Regions, times: Times) -> I8:
    """Return the order of all boundaries, int64: rows 0 .. n - 1 are the entries of the n instances, n .. 2 n - 1 their leavings.

    A parent's entry stands before its child's, a child's leaving before its parent's, and the leaving of an instance before the
    entry of the next. Times only tell which instances outlive their parent, as old traces let them.

        instance   0  1  2  3       0 [0, 9] has 1 [1, 4] and 2 [4, 9] in it, 3 [9, 9] comes behind
        parent    -1  0  0 -1
        order      0 1 5 2 6 4 3 7  that is 0 begins, 1 begins, 1 ends, 2 begins, 2 ends, 0 ends, 3 begins, 3 ends

    What is entered in an instance that outlives its parent comes behind the parent's leaving:

        instance   0  1  2          0 [0, 9] has 1 [1, 12] in it, and that has 2 [10, 11]
        parent    -1  0  1
        order      0 1 3 2 5 4      that is 0 begins, 1 begins, 0 ends, 2 begins, 2 ends, 1 ends
    """
    order, count = np.empty(2 * len(regions), "i8"), len(regions)
    for place, first in zip(places(regions, times), (0, count), strict=True):
        order[place] = np.arange(first, first + count)
    return order


def places(regions: Regions, times: Times) -> tuple[I4, I4]:
    """Return the place of each instance's entry in that order, and of its leaving, int32.

    Ahead of an entry are those of smaller rows, and the leavings behind an instance before it; ahead of a leaving the entries up to the
    last inside, the leavings behind instances before that, and those of the same last one whose instances are entered later.
    """
    last = _last_inside(regions, times)
    entry, leaving = np.empty_like(last), np.empty_like(last)
    kernel.place_boundaries(last, np.zeros_like(last), entry, leaving)
    return entry, leaving


def _last_inside(regions: Regions, times: Times) -> I4:
    """Return the last instance entered in each, left out what is entered in one that outlives it."""
    leave, end, parent = times.leave, regions.end_call, regions.parent
    outlives = (leave > leave[parent]) | ((leave == leave[parent]) & (end > end[parent]))
    out = np.empty(len(regions), "i4")
    kernel.last_inside(parent, outlives.astype("u1"), out)
    return out
