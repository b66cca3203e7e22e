# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The critical path of the recorded run: back over the wait states, from each to what was waited for."""

import cython

from perwiz.kernels import names

WAITING = cython.declare(cython.int, names.WAITING)


@cython.cfunc
def _last(
    value: cython.const[cython.longlong][::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, most: cython.longlong
) -> cython.Py_ssize_t:
    """Return the last of rows low .. high - 1, in ascending order, that is not above a value; low - 1 if all are."""
    while low < high:
        middle = (low + high) // 2
        if value[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return low - 1


def walk_path(
    ends: cython.const[cython.longlong][::1],
    cause: cython.const[cython.int][::1],
    first_wait: cython.const[cython.longlong][::1],
    begin: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    spent: cython.longlong[:, ::1],
    location: cython.Py_ssize_t,
    time: cython.longlong,
) -> int:
    """Add to `spent` (location, node) what led to a location's being where it is at a time; return how often the path changes location.

    Back to the end of its last wait, then on at that time where it was waited for. `begin`, `first`, `start` and `node` as
    `perwiz.kernels.pieces` has them; `ends` and `cause` say when each wait state, in the order of calls, ends, and for which location
    it is.
    """
    changes: cython.int = -1
    while True:
        changes += 1
        wait = _last(ends, first_wait[location], first_wait[location + 1], time)
        changing: cython.bint = wait >= first_wait[location] and changes < len(ends)
        since = ends[wait] if changing else begin[location]
        i = _last(start, first[location], first[location + 1], time)
        while i >= first[location] and time > since:
            if node[i] != WAITING:
                spent[location, node[i]] += time - max(start[i], since)
            time = max(start[i], since)
            i -= 1
        if not changing:
            return changes
        time = since
        location = cause[wait]
