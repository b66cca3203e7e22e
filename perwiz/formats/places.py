"""An order of operations in which each comes behind those that it needs.

Formats that hold a graph of operations, not a sequence for each rank, are put in such an order before they become calls.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import GraphError
from perwiz.kernels import order
from perwiz.trace.arrays import I4, I8, Ints, Mask


def places(count: int, op: Ints, on: Ints) -> tuple[I8, I8]:
    """Return the place of each of `count` operations, and those that need themselves over others, whose places mean nothing.

    Per dependence `op` is the operation that needs, and `on` the one that is needed. Those that fewer steps lead to come first, in their
    own order. Raises GraphError for an operation that there is not.

    Operation 0 needs 2, operation 3 needs 0 and 1; 4 and 5 need each other:

        op    0 3 3 4 5
        on    2 0 1 5 4
        place 3 1 2 4 - -    left 4 5
    """
    for ends in (op, on):
        bad = order.count(np.ascontiguousarray(ends, "i4"), np.zeros(count, "i4"))
        if bad >= 0:
            raise GraphError(f"dependence {bad} of {len(ends)}: operation {ends[bad]}, must be one of {count}")
    # Vertex 0 of the kernel comes before all that need nothing.
    free = np.setdiff1d(np.arange(count, dtype="i4"), op) + 1
    source = np.concatenate([np.zeros(len(free), "i4"), on + 1]).astype("i4")
    target = np.concatenate([free, op + 1]).astype("i4")
    rows = np.argsort(source, kind="stable").astype("i4")
    first = np.searchsorted(source[rows], np.arange(count + 2)).astype("i4")
    waiting = np.bincount(target, minlength=count + 1).astype("i4")
    out: I4 = np.zeros(count + 1, "i4")
    unchained: Mask = np.zeros(count + 1, bool)
    alike = unchained.view("u1")
    placed = order.order(first, rows, target, alike, waiting, alike, np.empty(1, "i8"), np.empty(count + 1, "i4"), out)
    left = np.setdiff1d(np.arange(1, count + 1), out[:placed]) - 1
    place = np.empty(count + 1, "i8")
    place[out[:placed]] = np.arange(placed)
    return place[1:], left
