# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""What each location did when: intervals of time, and sums of them up to some.

Of a location x, `first[x] .. first[x + 1] - 1` are its intervals; `first_call`, `first_region` and `first_check` say the same of others.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

NONE = cython.declare(cython.int, names.NONE)
WAITING = cython.declare(cython.int, names.WAITING)
STRIDE = cython.declare(cython.Py_ssize_t, names.STRIDE)

Region = cython.struct(
    enter=cython.longlong,
    leave=cython.longlong,
    node=cython.int,
    parent=cython.int,
    first_call=cython.int,
    end_call=cython.int,
)
REGION = np.dtype([("enter", "i8"), ("leave", "i8"), ("node", "i4"), ("parent", "i4"), ("first_call", "i4"), ("end_call", "i4")])
"""An instance of a region: its times, its node, the instance around it or NONE, the first call inside and the first behind."""


@cython.cfunc
def _begin(
    start: cython.longlong[::1],
    node: cython.int[::1],
    end: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    time: cython.longlong,
    begun: cython.int,
) -> cython.Py_ssize_t:
    """Let a node begin at a time, and return the row behind its interval: none before it has length 0 or less."""
    if end > first and time <= start[end - 1]:
        node[end - 1] = begun
        return end
    start[end] = time
    node[end] = begun
    return end + 1


@cython.cfunc
def _around(regions: cython.const[Region][::1], region: cython.Py_ssize_t) -> cython.int:
    """Return the node that goes on when a region ends: that of the one around it, 0 if there is none."""
    return 0 if regions[region].parent == NONE else regions[regions[region].parent].node


def list_intervals(
    first_call: cython.const[cython.longlong][::1],
    first_region: cython.const[cython.longlong][::1],
    begin: cython.const[cython.longlong][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    waited: cython.const[cython.longlong][::1],
    leaf: cython.const[cython.int][::1],
    regions: cython.const[Region][::1],
    first: cython.longlong[::1],
    start: cython.longlong[::1],
    node: cython.int[::1],
) -> int:
    """Write when each interval of a location's time starts and the node of the call tree it belongs to, or WAITING; return how many.

    Locations begin at `begin`. Calls begin with `waited` ns of waiting; `leaf` is their node. First intervals go to `first`.
    """
    end: cython.Py_ssize_t = 0
    for x in range(len(begin)):
        first[x] = head = end
        end_call, end_region = first_call[x + 1], first_region[x + 1]
        end = _begin(start, node, end, head, begin[x], 0)
        open_: cython.Py_ssize_t = NONE
        around: cython.int = 0
        r: cython.Py_ssize_t = first_region[x]
        for e in range(first_call[x], end_call + 1):
            while True:
                if r < end_region and regions[r].first_call <= e and regions[r].parent == open_:
                    around, open_ = regions[r].node, r
                    end = _begin(start, node, end, head, regions[r].enter, around)
                    r += 1
                elif open_ != NONE and (regions[open_].end_call <= e or e == end_call):
                    around = _around(regions, open_)
                    end = _begin(start, node, end, head, regions[open_].leave, around)
                    open_ = regions[open_].parent
                else:
                    break
            if e < end_call:
                if waited[e] > 0:
                    end = _begin(start, node, end, head, enter[e], WAITING)
                end = _begin(start, node, end, head, enter[e] + waited[e], leaf[e])
                end = _begin(start, node, end, head, leave[e], around)
    first[len(begin)] = end
    return end


def sum_intervals(
    first: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    first_check: cython.const[cython.longlong][::1],
    sums: cython.longlong[:, ::1],
) -> None:
    """Write to `sums`, for every so many intervals of a location from its first on, how long it was in each node before; last waiting.

    As many as a row is long, but at least STRIDE. Each location needs one row more than it has checks.
    """
    width = sums.shape[1]
    stride = max(width, STRIDE)
    for x in range(len(first) - 1):
        row: cython.Py_ssize_t = first_check[x] + 1
        for j in range(width):
            sums[row - 1, j] = sums[row, j] = 0
        for i in range(first[x] + 1, first[x + 1]):
            sums[row, node[i - 1] if node[i - 1] != WAITING else width - 1] += start[i] - start[i - 1]
            if (i - first[x]) % stride == 0:
                row += 1
                for j in range(width):
                    sums[row, j] = sums[row - 1, j]
