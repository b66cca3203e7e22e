# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Two sequences of numbers laid beside each other: a longest chain of pairs in order, and shortest edit scripts between them."""

from __future__ import annotations

import cython
import numpy as np

Gap = cython.struct(begin_a=cython.longlong, end_a=cython.longlong, begin_b=cython.longlong, end_b=cython.longlong)
GAP = np.dtype([("begin_a", "i8"), ("end_a", "i8"), ("begin_b", "i8"), ("end_b", "i8")])
"""Where keys may be paired: rows of a and rows of b."""
Reach = cython.struct(edits=cython.longlong, diagonal=cython.longlong, steps=cython.longlong)
"""How far a gap was gone through: the edits and the diagonal that lead furthest, and the steps left."""


def chain(position: cython.const[cython.int][::1], tail: cython.int[::1], before: cython.int[::1], keep: cython.uchar[::1]) -> int:
    """Set `keep` to 1 for a longest ascending part of `position`, all different, and return its length.

    `tail` and `before` have a cell per position; `keep` is zero before. Patience sorting, O(n log n).
    """
    length: cython.Py_ssize_t = 0
    for i in range(len(position)):
        low: cython.Py_ssize_t = 0
        high = length
        if length > 0 and position[tail[length - 1]] < position[i]:
            low = length
        while low < high:
            middle = (low + high) // 2
            if position[tail[middle]] < position[i]:
                low = middle + 1
            else:
                high = middle
        before[i] = tail[low - 1] if low > 0 else -1
        tail[low] = i
        if low == length:
            length += 1
    last: cython.Py_ssize_t = tail[length - 1] if length > 0 else -1
    while last >= 0:
        keep[last] = 1
        last = before[last]
    return length


@cython.cfunc
@cython.exceptval(check=False)
def _trim(
    a: cython.const[cython.int][::1], b: cython.const[cython.int][::1], gaps: Gap[::1], g: cython.Py_ssize_t, partner: cython.int[::1]
) -> cython.void:
    """Pair what is equal at both ends of a gap, and shrink it."""
    i, end_a, j, end_b = gaps[g].begin_a, gaps[g].end_a, gaps[g].begin_b, gaps[g].end_b
    while i < end_a and j < end_b and a[i] == b[j]:
        partner[i] = j
        i += 1
        j += 1
    while i < end_a and j < end_b and a[end_a - 1] == b[end_b - 1]:
        end_a -= 1
        end_b -= 1
        partner[end_a] = end_b
    gaps[g].begin_a, gaps[g].end_a, gaps[g].begin_b, gaps[g].end_b = i, end_a, j, end_b


@cython.cfunc
def _first(edits: cython.longlong) -> cython.longlong:
    """Return the cell of `trail` for the first diagonal that so many edits lead to."""
    return edits * (edits + 1) // 2


@cython.cfunc
@cython.exceptval(check=False)
def _skips_b(trail: cython.const[cython.int][::1], cell: cython.longlong, edits: cython.longlong, diagonal: cython.longlong) -> cython.bint:
    """Return whether the last of some edits that lead furthest on a diagonal skips a row of b; else it skips one of a.

    `cell` is that of the diagonal at one edit less.
    """
    return diagonal == 0 or (diagonal < edits and trail[cell - 1] < trail[cell])


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    trail: cython.const[cython.int][::1], cell: cython.longlong, edits: cython.longlong, diagonal: cython.longlong
) -> cython.longlong:
    """Return how far into a the last of some edits leads on a diagonal, before anything equal; `cell` as above."""
    if edits == 0:
        return 0
    return trail[cell] if _skips_b(trail, cell, edits, diagonal) else trail[cell - 1] + 1


@cython.cfunc
@cython.exceptval(check=False)
def _reach(
    a: cython.const[cython.int][::1],
    b: cython.const[cython.int][::1],
    gaps: Gap[::1],
    g: cython.Py_ssize_t,
    most: cython.longlong,
    steps: cython.longlong,
    trail: cython.int[::1],
) -> Reach:
    """Write to `trail` how far into a each number of edits leads on each diagonal (Myers 1986), up to `most` edits.

    Stops at the end of the gap, or when the steps left are used up; returns the edits and the diagonal that lead furthest.
    """
    begin_a, begin_b = gaps[g].begin_a, gaps[g].begin_b
    n = gaps[g].end_a - begin_a
    m = gaps[g].end_b - begin_b
    furthest: cython.longlong = -1
    edits: cython.longlong = 0
    diagonal: cython.longlong = 0
    for d in range(most + 1):
        before, row = _first(d - 1), _first(d)
        for k in range(d + 1):
            x = _begin(trail, before + k, d, k)
            y = x - (2 * k - d)
            steps -= 1
            while x < n and y < m and a[begin_a + x] == b[begin_b + y]:
                x += 1
                y += 1
                steps -= 1
            trail[row + k] = x
            if x <= n and y <= m and x + y > furthest:
                furthest = x + y
                edits = d
                diagonal = k
            if furthest == n + m or steps <= 0:
                return Reach(edits=edits, diagonal=diagonal, steps=steps)
    return Reach(edits=edits, diagonal=diagonal, steps=steps)


@cython.cfunc
def _ends(gaps: Gap[::1], g: cython.Py_ssize_t, reach: Reach, trail: cython.const[cython.int][::1]) -> cython.bint:
    """Return whether the path that leads furthest leads to the end of the gap."""
    x: cython.longlong = trail[_first(reach.edits) + reach.diagonal]
    return x == gaps[g].end_a - gaps[g].begin_a and x - (2 * reach.diagonal - reach.edits) == gaps[g].end_b - gaps[g].begin_b


@cython.cfunc
@cython.exceptval(check=False)
def _walk(
    gaps: Gap[::1], g: cython.Py_ssize_t, reach: Reach, trail: cython.const[cython.int][::1], partner: cython.int[::1]
) -> cython.void:
    """Pair what lies on the path that leads furthest, and let the gap begin behind it."""
    begin_a, begin_b = gaps[g].begin_a, gaps[g].begin_b
    k = reach.diagonal
    for d in range(reach.edits, -1, -1):
        x: cython.longlong = trail[_first(d) + k]
        y = x - (2 * k - d)
        if d == reach.edits:
            gaps[g].begin_a += x
            gaps[g].begin_b += y
        cell = _first(d - 1) + k
        begin = _begin(trail, cell, d, k)
        while x > begin:
            x -= 1
            y -= 1
            partner[begin_a + x] = begin_b + y
        if d > 0 and not _skips_b(trail, cell, d, k):
            k -= 1


def script(
    a: cython.const[cython.int][::1],
    b: cython.const[cython.int][::1],
    gaps: Gap[::1],
    most: cython.longlong,
    whole: cython.bint,
    steps: cython.longlong,
    trail: cython.int[::1],
    partner: cython.int[::1],
) -> None:
    """Write to `partner`, per row of a in a gap, the row of b it is paired with.

    In each gap the fewest rows stay alone, if that takes at most `most` edits, at least 1, and of the `steps` for all gaps some are left.
    Else, if `whole`, the gap is left as it is but for what is equal at its ends; if not, the furthest that many edits lead is kept and
    the rest begins there. `gaps` shrink to what was not decided. `trail` has (most + 1) (most + 2) / 2 cells.
    """
    for g in range(len(gaps)):
        _trim(a, b, gaps, g, partner)
        while gaps[g].begin_a < gaps[g].end_a and gaps[g].begin_b < gaps[g].end_b and steps > 0:
            reach = _reach(a, b, gaps, g, most, steps, trail)
            steps = reach.steps
            if whole and not _ends(gaps, g, reach, trail):
                break
            _walk(gaps, g, reach, trail, partner)
            _trim(a, b, gaps, g, partner)
