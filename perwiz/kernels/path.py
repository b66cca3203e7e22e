# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The critical path of the recorded run: back over the wait states, from each to what was waited for."""

import cython

BEGIN = cython.declare(cython.Py_ssize_t, 2)
PIECES = cython.declare(cython.Py_ssize_t, 4)
FIRST = cython.declare(cython.Py_ssize_t, 6)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _last(
    value: cython.const[cython.longlong][::1], low: cython.Py_ssize_t, high: cython.Py_ssize_t, most: cython.longlong
) -> cython.Py_ssize_t:
    """Return the last of rows low .. high - 1, in ascending order, that is not above a value; low - 1 if all are."""
    middle: cython.Py_ssize_t
    while low < high:
        middle = (low + high) // 2
        if value[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return low - 1


def path(
    ends: cython.const[cython.longlong][::1],
    cause: cython.const[cython.int][::1],
    place: cython.const[cython.longlong][:, ::1],
    start: cython.const[cython.longlong][::1],
    node: cython.const[cython.int][::1],
    spent: cython.longlong[:, ::1],
    location: cython.Py_ssize_t,
    time: cython.longlong,
) -> int:
    """Add to `spent` (location, node) what led to a location's being where it is at a time; return how often the path changes location.

    Back to the end of its last wait, then on at that time where it was waited for. `place`, `start` and `node` as `perwiz.kernels.pieces`
    makes them; `ends` and `cause` say when each wait state, in the order of calls, ends, and for which location it is.
    """
    changes: cython.int = -1
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    begin: cython.longlong
    while True:
        changes += 1
        at = _last(ends, place[location, FIRST], place[location + 1, FIRST], time)
        begin = place[location, BEGIN]
        if at >= place[location, FIRST] and changes < len(ends):
            begin = ends[at]
        i = _last(start, place[location, PIECES], place[location + 1, PIECES], time)
        while i >= place[location, PIECES] and time > begin:
            if node[i] >= 0:
                spent[location, node[i]] += time - max(start[i], begin)
            time = max(start[i], begin)
            i -= 1
        if at < place[location, FIRST] or changes >= len(ends):
            return changes
        time = begin
        location = cause[at]
