# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Backward amortization: what comes before a jump of a clock is moved towards it, no send beyond its limit."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

FREE = cython.declare(cython.longlong, names.FREE)

Corner = cython.struct(time=cython.longlong, shift=cython.longlong)
CORNER = np.dtype([("time", "i8"), ("shift", "i8")])
"""A corner of the lower hull of the limits: what is at a time may move by so much."""


@cython.cfunc
def _above(hull: Corner[::1], corner: cython.Py_ssize_t, time: cython.longlong, shift: cython.longlong) -> cython.bint:
    """Return whether a corner is not below the line from the one before it to (time, shift)."""
    rise = cython.cast(cython.double, hull[corner].shift - hull[corner - 1].shift)
    run = cython.cast(cython.double, hull[corner].time - hull[corner - 1].time)
    rise_on = cython.cast(cython.double, shift - hull[corner - 1].shift)
    run_on = cython.cast(cython.double, time - hull[corner - 1].time)
    return rise * run_on >= rise_on * run


@cython.cfunc
def _push(hull: Corner[::1], last: cython.Py_ssize_t, time: cython.longlong, shift: cython.longlong) -> cython.Py_ssize_t:
    """Add a corner right of all others, or above the last one, to the lower hull; return its row. The corner in row 0 stays."""
    while last > 0 and _above(hull, last, time, shift):
        last -= 1
    hull[last + 1].time = time
    hull[last + 1].shift = shift
    return last + 1


@cython.cfunc
def _slope(hull: Corner[::1], corner: cython.Py_ssize_t) -> cython.double:
    """Return the slope of the side that ends at a corner; an upright one, in which nothing can lie, has none."""
    rise = cython.cast(cython.double, hull[corner].shift - hull[corner - 1].shift)
    run = cython.cast(cython.double, hull[corner].time - hull[corner - 1].time)
    return 0.0 if run == 0.0 else rise / run


@cython.cfunc
def _shift(hull: Corner[::1], corner: cython.Py_ssize_t, time: cython.longlong) -> cython.longlong:
    """Return how far what is at a time on the side that ends at a corner moves, ns, rounded down."""
    if time >= hull[corner].time:
        return hull[corner].shift
    rise = cython.cast(cython.double, hull[corner].shift - hull[corner - 1].shift)
    run = cython.cast(cython.double, hull[corner].time - hull[corner - 1].time)
    since = cython.cast(cython.double, time - hull[corner - 1].time)
    return hull[corner - 1].shift + cython.cast(cython.longlong, rise * since / run)


def backward(
    first: cython.const[cython.longlong][::1],
    begun: cython.const[cython.longlong][::1],
    entered: cython.const[cython.int][::1],
    returned: cython.const[cython.int][::1],
    limit: cython.const[cython.longlong][::1],
    corrected: cython.longlong[::1],
    hull: Corner[::1],
    stretch: cython.longlong,
) -> float:
    """Move what comes before jumps later, in `corrected`; return the steepest slope this took.

    Location l has the calls first[l] .. first[l + 1] - 1 and its first instant at begun[l]; `entered` and `returned` are vertices.
    `limit` says how late a call may be entered, and when it would have returned without its jump (FREE: any time; there was none).
    A jump is worked off over `stretch` times its height, along the lower hull of the limits. `hull` has two rows more than a location
    has calls.
    """
    steepest: cython.double = 0.0
    for here in range(len(begun)):
        for e in range(first[here], first[here + 1]):
            without = limit[returned[e]]
            if without == FREE:
                continue
            jump = corrected[returned[e]] - without
            left = without - jump * stretch
            if left < begun[here]:
                left = begun[here]
            i: cython.Py_ssize_t = e
            while i > first[here] and corrected[returned[i - 1]] > left:
                i -= 1
            hull[0].time = left
            hull[0].shift = 0
            corner: cython.Py_ssize_t = 0
            for k in range(i, e + 1):
                time = corrected[entered[k]]
                room: cython.longlong = limit[entered[k]] - time
                if time > left and room < jump:
                    corner = _push(hull, corner, time, room)
            corner = _push(hull, corner, without, jump)
            for k in range(1, corner + 1):
                steepest = max(steepest, _slope(hull, k))
            room = jump
            for i in range(e, first[here] - 1, -1):
                if i < e:
                    time = corrected[returned[i]]
                    if time <= left:
                        break
                    while corner > 1 and time <= hull[corner - 1].time:
                        corner -= 1
                    room = min(room, _shift(hull, corner, time))
                    corrected[returned[i]] = time + room
                time = corrected[entered[i]]
                if time <= left:
                    break
                while corner > 1 and time <= hull[corner - 1].time:
                    corner -= 1
                room = min(room, _shift(hull, corner, time), limit[entered[i]] - time)
                corrected[entered[i]] = time + room
    return steepest
