# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""What each location did when: intervals of time, and sums of them up to some.

Of a location x, `first[x] .. first[x + 1] - 1` are its intervals; `first_call`, `first_region` and `first_check` say the same of others.
"""

from __future__ import annotations

import cython

from perwiz.kernels import names

NONE = cython.declare(cython.int, names.NONE)
WAITING = cython.declare(cython.int, names.WAITING)
STRIDE = cython.declare(cython.Py_ssize_t, names.STRIDE)


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


def list_intervals(
    first_call: cython.const[cython.longlong][::1],
    begin: cython.const[cython.longlong][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    call_path: cython.const[cython.int][::1],
    op: cython.const[cython.ushort][::1],
    leaf: cython.const[cython.int][:, ::1],
    waiting: cython.const[cython.int][::1],
    waited: cython.const[cython.longlong][::1],
    first_region: cython.const[cython.longlong][::1],
    entered: cython.const[cython.longlong][::1],
    left: cython.const[cython.longlong][::1],
    path: cython.const[cython.int][::1],
    parent: cython.const[cython.int][::1],
    inside: cython.const[cython.int][::1],
    behind: cython.const[cython.int][::1],
    of_path: cython.const[cython.int][::1],
    first: cython.longlong[::1],
    start: cython.longlong[::1],
    node: cython.int[::1],
) -> int:
    """Write when each interval of a location's time starts and the node of the call tree it belongs to, or WAITING; return how many.

    Locations begin at `begin`. Of calls `leaf` tells the node by path, none first, and routine; some, `waiting`, ascending, begin with
    `waited` ns of that. Of regions, entered and left in a path, `of_path` tells the node; `parent` is the one around each or NONE, `inside`
    and `behind` are the first call in it and behind it. First intervals go to `first`.
    """
    end: cython.Py_ssize_t = 0
    w: cython.Py_ssize_t = 0
    for x in range(len(begin)):
        first[x] = head = end
        end_call, end_region = first_call[x + 1], first_region[x + 1]
        end = _begin(start, node, end, head, begin[x], 0)
        open_: cython.Py_ssize_t = NONE
        around: cython.int = 0
        r: cython.Py_ssize_t = first_region[x]
        for e in range(first_call[x], end_call + 1):
            while True:
                if r < end_region and inside[r] <= e and parent[r] == open_:
                    around, open_ = of_path[path[r]], r
                    end = _begin(start, node, end, head, entered[r], around)
                    r += 1
                elif open_ != NONE and (behind[open_] <= e or e == end_call):
                    at = left[open_]
                    open_ = parent[open_]
                    around = 0 if open_ == NONE else of_path[path[open_]]
                    end = _begin(start, node, end, head, at, around)
                else:
                    break
            if e < end_call:
                lasts: cython.longlong = 0
                if w < len(waiting) and waiting[w] == e:
                    lasts = waited[w]
                    w += 1
                if lasts > 0:
                    end = _begin(start, node, end, head, enter[e], WAITING)
                end = _begin(start, node, end, head, enter[e] + lasts, leaf[call_path[e] + 1, op[e]])
                end = _begin(start, node, end, head, leave[e], around)
    first[len(begin)] = end
    return end


def sum_nodes(
    first: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    last: cython.const[cython.longlong][::1],
    sums: cython.longlong[:, ::1],
) -> None:
    """Add to `sums`, by location and node, how long each was in it, but for waiting; the last one ends at `last`, if it began before."""
    for x in range(len(last)):
        for i in range(first[x], first[x + 1]):
            if node[i] != WAITING:
                sums[x, node[i]] += (start[i + 1] if i + 1 < first[x + 1] else max(last[x], start[i])) - start[i]


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
