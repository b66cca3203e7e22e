# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Backward amortization: what comes before a jump of a clock is moved towards it, no send beyond its limit."""

import cython

FREE = cython.declare(cython.longlong, 1 << 62)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _above(hull: cython.longlong[:, ::1], point: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong) -> cython.bint:
    """Return whether a point is not below the line from the one before it to (x, y)."""
    rise: cython.double = cython.cast(cython.double, hull[point, 1] - hull[point - 1, 1])
    run: cython.double = cython.cast(cython.double, hull[point, 0] - hull[point - 1, 0])
    rises: cython.double = cython.cast(cython.double, y - hull[point - 1, 1])
    return rise * cython.cast(cython.double, x - hull[point - 1, 0]) >= rises * run


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _push(hull: cython.longlong[:, ::1], last: cython.Py_ssize_t, x: cython.longlong, y: cython.longlong) -> cython.Py_ssize_t:
    """Add a point right of all others, or above the last one, to the lower hull; return its row. The point in row 0 stays."""
    while last > 0 and _above(hull, last, x, y):
        last -= 1
    hull[last + 1, 0] = x
    hull[last + 1, 1] = y
    return last + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _slope(hull: cython.longlong[:, ::1], piece: cython.Py_ssize_t) -> cython.double:
    """Return the slope of the piece that ends at a point; an upright one, in which nothing can lie, has none."""
    if hull[piece, 0] == hull[piece - 1, 0]:
        return 0.0
    width: cython.double = cython.cast(cython.double, hull[piece, 0] - hull[piece - 1, 0])
    return cython.cast(cython.double, hull[piece, 1] - hull[piece - 1, 1]) / width


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _shift(hull: cython.longlong[:, ::1], piece: cython.Py_ssize_t, at: cython.longlong) -> cython.longlong:
    """Return the height of the hull at an instant on the piece that ends at a point, ns, rounded down."""
    if at >= hull[piece, 0]:
        return hull[piece, 1]
    rise: cython.double = cython.cast(cython.double, hull[piece, 1] - hull[piece - 1, 1])
    run: cython.double = cython.cast(cython.double, hull[piece, 0] - hull[piece - 1, 0])
    return hull[piece - 1, 1] + cython.cast(cython.longlong, rise * cython.cast(cython.double, at - hull[piece - 1, 0]) / run)


def backward(
    first: cython.const[cython.longlong][::1],
    begun: cython.const[cython.longlong][::1],
    entered: cython.const[cython.int][::1],
    returned: cython.const[cython.int][::1],
    time: cython.longlong[:, ::1],
    hull: cython.longlong[:, ::1],
    stretch: cython.longlong,
) -> float:
    """Move what comes before jumps later, in `time[1]`; return the steepest slope this took.

    Location l has the calls first[l] .. first[l + 1] - 1 and its first instant at begun[l]; `entered` and `returned` are vertices.
    `time[0]` says how late a call may be entered, and when it would have returned without its jump (FREE: any time; there was none).
    A jump is worked off over `stretch` times its height, along the lower hull of the limits. `hull` has two rows more than a location
    has calls.
    """
    here: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    piece: cython.Py_ssize_t
    jump: cython.longlong
    corner: cython.longlong
    left: cython.longlong
    room: cython.longlong
    at: cython.longlong
    steepest: cython.double = 0.0
    for here in range(len(begun)):
        for e in range(first[here], first[here + 1]):
            corner = time[0, returned[e]]
            if corner == FREE:
                continue
            jump = time[1, returned[e]] - corner
            left = corner - jump * stretch
            if left < begun[here]:
                left = begun[here]
            i = e
            while i > first[here] and time[1, returned[i - 1]] > left:
                i -= 1
            hull[0, 0] = left
            hull[0, 1] = 0
            piece = 0
            for k in range(i, e + 1):
                at = time[1, entered[k]]
                room = time[0, entered[k]] - at
                if at > left and room < jump:
                    piece = _push(hull, piece, at, room)
            piece = _push(hull, piece, corner, jump)
            for k in range(1, piece + 1):
                steepest = max(steepest, _slope(hull, k))
            room = jump
            for i in range(e, first[here] - 1, -1):
                if i < e:
                    at = time[1, returned[i]]
                    if at <= left:
                        break
                    while piece > 1 and at <= hull[piece - 1, 0]:
                        piece -= 1
                    room = min(room, _shift(hull, piece, at))
                    time[1, returned[i]] = at + room
                at = time[1, entered[i]]
                if at <= left:
                    break
                while piece > 1 and at <= hull[piece - 1, 0]:
                    piece -= 1
                room = min(room, _shift(hull, piece, at), time[0, entered[i]] - at)
                time[1, entered[i]] = at + room
    return steepest
