# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Computation rescaled, in pieces that stay whole nanoseconds."""

import cython

WHOLE = cython.declare(cython.double, 4503599627370496.0)
"""From this size on a double has no part of one; a smaller one has none once it is added and taken off: what is halfway goes to even."""


def sums(group: cython.const[cython.int][::1], part: cython.const[cython.longlong][::1], out: cython.longlong[::1]) -> None:
    """Add each part to its group."""
    with cython.nogil:
        for row in range(len(group)):
            out[group[row]] += part[row]


def shares(
    part: cython.const[cython.longlong][::1],
    group: cython.const[cython.longlong][::1],
    total: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Write to `out` what the parts of each group, which lie together, come to if they add up to its total, rounded on the running sum.

    Parts that are nothing together give all to the first.
    """
    with cython.nogil:
        count: cython.Py_ssize_t = len(part)
        first: cython.Py_ssize_t = 0
        while first < count:
            end: cython.Py_ssize_t = first
            whole: cython.longlong = 0
            while end < count and group[end] == group[first]:
                whole += part[end]
                end += 1
            wanted = total[group[first]]
            ratio: cython.double = cython.cast(cython.double, wanted) / cython.cast(cython.double, max(whole, 1))
            running: cython.longlong = 0
            before: cython.longlong = 0
            for row in range(first, end):
                running += part[row]
                now: cython.longlong = wanted
                if running != whole:
                    scaled: cython.double = running * ratio
                    if scaled < WHOLE:
                        scaled = (scaled + WHOLE) - WHOLE
                    now = cython.cast(cython.longlong, scaled)
                out[row] = now - before
                before = now
            first = end
