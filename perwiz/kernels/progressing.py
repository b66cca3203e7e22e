# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Where times lie among those of calls of a location, and with which calls it came back to MPI."""

import cython

from perwiz.kernels import names

NONE = cython.declare(cython.Py_ssize_t, names.NONE)


def first_after(
    first: cython.const[cython.longlong][::1],
    column: cython.const[cython.longlong][::1],
    location: cython.const[cython.int][::1],
    time: cython.const[cython.longlong][::1],
    near: cython.longlong[::1],
    out: cython.longlong[::1],
) -> None:
    """Write, per location and time asked for, the first row of the location whose value is later; that behind its last if none is.

    `column[first[x]:first[x + 1]]` are the values of location x, ascending. The search begins where the one before on the same location
    ended, `near`, and goes on in steps that double: times of a location are asked for mostly in order.
    """
    with cython.nogil:
        for i in range(len(time)):
            x = location[i]
            t = time[i]
            begin: cython.Py_ssize_t = first[x]
            end: cython.Py_ssize_t = first[x + 1]
            low: cython.Py_ssize_t = near[x]
            step: cython.Py_ssize_t = 1
            if low < end and column[low] <= t:
                high: cython.Py_ssize_t = low + 1
                while high < end and column[high] <= t:
                    low = high
                    high = min(high + step, end)
                    step *= 2
                low += 1
            else:
                high = low
                while low > begin and column[low - 1] > t:
                    high = low - 1
                    low = max(high - step, begin)
                    step *= 2
            while low < high:
                middle: cython.Py_ssize_t = (low + high) // 2
                if column[middle] <= t:
                    low = middle + 1
                else:
                    high = middle
            near[x] = out[i] = low


def came_back(
    location: cython.const[cython.int][::1],
    lets: cython.const[cython.uchar][::1],
    outside: cython.const[cython.longlong][::1],
    least: cython.longlong,
    out: cython.longlong[::1],
) -> None:
    """Write, per call that lets messages move, that before which the location was last outside of calls for `least` ns or more.

    Of the calls of its location behind the one before that does so, and itself; if no time outside was as long, that behind the longest.
    """
    with cython.nogil:
        best: cython.Py_ssize_t = NONE
        row: cython.Py_ssize_t = 0
        for k in range(len(lets)):
            if best == NONE or location[k] != location[best] or outside[k] >= least or outside[k] > outside[best]:
                best = k
            if lets[k]:
                out[row] = best
                row += 1
                best = NONE
