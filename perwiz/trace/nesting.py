"""The boundaries of user regions in an order in which they nest, also where their times are the same.

Writers of traces and hypotheses that stretch regions go through them so: a stack of open instances is enough for them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perwiz.kernels import nesting as kernel
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.tables import NONE, Paths, Regions, Times

MOST = 1 << 25
"""Names along all paths together: a million paths of 33 names have so many."""
DEEPEST = 8191
"""Regions within each other whose paths have no more: 1 + 2 + ... + 8191 names."""


def along(parent: I4) -> int | None:
    """Return how many names all region paths have from the outside in, together; None if they are more than MOST.

    What follows each path outwards, or tells it, takes as much; regions that begin and never end make it the square of the file. A parent
    that is no row before its own is none.

        parent  -1 0 1 0    1 + 2 + 3 + 2 names, 8
    """
    above = np.where(parent < np.arange(len(parent)), parent, np.int32(NONE))
    names = np.ones(len(parent), "i8")
    inner = np.flatnonzero(above >= 0)
    while len(inner) and names.sum() <= MOST:  # names is up to `above`, which is twice as far out each time
        outer = above[inner]
        names[inner] += names[outer]
        above[inner] = above[outer]
        inner = inner[above[inner] >= 0]
    count = int(names.sum())
    return count if count <= MOST else None


def around(parent: I4) -> Iterator[tuple[I4, I4]]:
    """Yield (path, path inside it), both int32: first each path and itself, then its parent and it, and so on outwards.

    parent  -1 0 1    (0 1 2, 0 1 2), (0 1, 1 2), (0, 2)
    """
    inner = np.arange(len(parent), dtype="i4")
    outer = inner
    while len(outer):
        yield outer, inner
        above = parent[outer]
        outer, inner = above[above >= 0], inner[above >= 0]


def inside(paths: Paths) -> tuple[I8, I8]:
    """Return (region, path that leads into it) of all paths, at any depth, both int64, sorted, each pair once."""
    count = max(len(paths), 1)
    pairs = [paths.region[outer].astype("i8") * count + inner for outer, inner in around(paths.parent)]
    region, path = np.divmod(distinct(np.concatenate([np.empty(0, "i8"), *pairs])), count)
    return region, path


def recursive(paths: Paths) -> Mask:
    """Return which paths lead through their own region before, bool per path."""
    out = np.zeros(len(paths), bool)
    for level, (outer, inner) in enumerate(around(paths.parent)):
        if level:
            out[inner[paths.region[outer] == paths.region[inner]]] = True
    return out


def places(regions: Regions, times: Times) -> tuple[I4, I4]:
    """Return the place of each instance's entry, and of its leaving, in the order of all boundaries, int32.

    A parent's entry stands before its child's, a child's leaving before its parent's, and the leaving of an instance before the
    entry of the next. Times only tell which instances outlive their parent, as old traces let them.

        instance   0  1  2  3       0 [0, 9] has 1 [1, 4] and 2 [4, 9] in it, 3 [9, 9] comes behind
        parent    -1  0  0 -1
        order      0 begins, 1 begins, 1 ends, 2 begins, 2 ends, 0 ends, 3 begins, 3 ends
        places     of entries 0 1 3 6, of leavings 5 2 4 7

    What is entered in an instance that outlives its parent comes behind the parent's leaving:

        instance   0  1  2          0 [0, 9] has 1 [1, 12] in it, and that has 2 [10, 11]
        parent    -1  0  1
        order      0 begins, 1 begins, 0 ends, 2 begins, 2 ends, 1 ends

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
