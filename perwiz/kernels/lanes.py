# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Instants and stretches of lanes: locations, or processes, of which each has its own, one lane behind the other."""

import cython


def before(
    value: cython.const[cython.longlong][::1],
    first: cython.const[cython.longlong][::1],
    instant: cython.const[cython.longlong][:, ::1],
    right: cython.bint,
    out: cython.longlong[:, ::1],
) -> None:
    """Write how many values of its lane are before each instant, and at it if `right`; a column of instants a lane.

    Of lane x values `first[x] .. first[x + 1] - 1` are its own, which do not fall.

        value  1 3 3 | 2      instant  3 3      out  1 1      right  3 1
        first  0 3 4                   0 9           0 1             0 1
    """
    with cython.nogil:
        for x in range(len(first) - 1):
            for k in range(instant.shape[0]):
                low: cython.longlong = first[x]
                high: cython.longlong = first[x + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if value[middle] < instant[k, x] or (right and value[middle] == instant[k, x]):
                        low = middle + 1
                    else:
                        high = middle
                out[k, x] = low - first[x]


def join(lane: cython.longlong[::1], begin: cython.longlong[::1], end: cython.longlong[::1]) -> cython.Py_ssize_t:
    """Join stretches of a lane that touch or overlap, in place, and return how many are left; they are in order of (lane, begin).

    lane   0  0  0  1      0  0  1
    begin  0  5 30 31  ->  0 30 31
    end   10 20 31 40     20 31 40
    """
    count: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(len(lane)):
            if count > 0 and lane[count - 1] == lane[i] and begin[i] <= end[count - 1]:
                end[count - 1] = max(end[count - 1], end[i])
            else:
                lane[count], begin[count], end[count] = lane[i], begin[i], end[i]
                count += 1
    return count


def soonest(lane: cython.const[cython.longlong][::1], value: cython.longlong[::1]) -> None:
    """Make each value the least of it and those behind it in its lane, in place: 5 3 4 | 9 1 becomes 3 3 4 | 1 1."""
    with cython.nogil:
        for behind in range(1, len(lane)):
            i = len(lane) - 1 - behind
            if lane[i] == lane[i + 1]:
                value[i] = min(value[i], value[i + 1])
