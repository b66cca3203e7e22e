# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Two sequences of numbers laid beside each other: a longest chain of pairs in order, and shortest edit scripts between them."""

import cython


def chain(position: cython.const[cython.int][::1], tail: cython.int[::1], before: cython.int[::1], keep: cython.uchar[::1]) -> int:
    """Set `keep` to 1 for a longest ascending part of `position`, all different, and return its length.

    `tail` and `before` have a cell per position; `keep` is zero before. Patience sorting, O(n log n).
    """
    i: cython.Py_ssize_t
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    length: cython.Py_ssize_t = 0
    for i in range(len(position)):
        low = 0
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
        tail[low] = cython.cast(cython.int, i)
        if low == length:
            length += 1
    i = tail[length - 1] if length > 0 else -1
    while i >= 0:
        keep[i] = 1
        i = before[i]
    return length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _trim(
    a: cython.const[cython.int][::1], b: cython.const[cython.int][::1], at: cython.longlong[::1], partner: cython.int[::1]
) -> cython.void:
    """Pair what is equal at both ends of the gap `at` (begin and end in a, begin and end in b), and shrink it."""
    while at[0] < at[1] and at[2] < at[3] and a[at[0]] == b[at[2]]:
        partner[at[0]] = cython.cast(cython.int, at[2])
        at[0] += 1
        at[2] += 1
    while at[0] < at[1] and at[2] < at[3] and a[at[1] - 1] == b[at[3] - 1]:
        at[1] -= 1
        at[3] -= 1
        partner[at[1]] = cython.cast(cython.int, at[3])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(
    a: cython.const[cython.int][::1],
    b: cython.const[cython.int][::1],
    at: cython.longlong[::1],
    most: cython.longlong,
    trail: cython.int[::1],
) -> cython.void:
    """Write to `trail` how far into a each number of edits leads on each diagonal (Myers 1986), up to `most` edits.

    Stops at the end of the gap, or when `at[4]`, the steps left, is used up; writes to `at[5]`, `at[6]` the edits and the
    diagonal that lead furthest.
    """
    d: cython.longlong
    k: cython.longlong
    x: cython.longlong
    y: cython.longlong
    cell: cython.longlong
    best: cython.longlong = -1
    n: cython.longlong = at[1] - at[0]
    m: cython.longlong = at[3] - at[2]
    for d in range(most + 1):
        for k in range(d + 1):
            cell = (d - 1) * d // 2 + k
            if d == 0:
                x = 0
            elif k == 0 or (k < d and trail[cell - 1] < trail[cell]):
                x = trail[cell]
            else:
                x = trail[cell - 1] + 1
            y = x - (2 * k - d)
            at[4] -= 1
            while x < n and y < m and a[at[0] + x] == b[at[2] + y]:
                x += 1
                y += 1
                at[4] -= 1
            trail[d * (d + 1) // 2 + k] = cython.cast(cython.int, x)
            if x <= n and y <= m and x + y > best:
                best = x + y
                at[5] = d
                at[6] = k
            if best == n + m or at[4] <= 0:
                return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _through(at: cython.longlong[::1], trail: cython.const[cython.int][::1]) -> cython.int:
    """Return whether the path that leads furthest leads to the end of the gap."""
    x: cython.longlong = trail[at[5] * (at[5] + 1) // 2 + at[6]]
    return x == at[1] - at[0] and x - (2 * at[6] - at[5]) == at[3] - at[2]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(at: cython.longlong[::1], trail: cython.const[cython.int][::1], partner: cython.int[::1]) -> cython.void:
    """Pair what lies on the path that leads furthest, and let the gap begin behind it."""
    d: cython.longlong = at[5]
    k: cython.longlong = at[6]
    x: cython.longlong = trail[d * (d + 1) // 2 + k]
    y: cython.longlong = x - (2 * k - d)
    over_a: cython.longlong = x
    over_b: cython.longlong = y
    cell: cython.longlong
    begin: cython.longlong
    while d >= 0:
        cell = (d - 1) * d // 2 + k
        if d == 0:
            begin = 0
        elif k == 0 or (k < d and trail[cell - 1] < trail[cell]):
            begin = trail[cell]
        else:
            begin = trail[cell - 1] + 1
            k -= 1
        while x > begin:
            x -= 1
            y -= 1
            partner[at[0] + x] = cython.cast(cython.int, at[2] + y)
        d -= 1
        if d >= 0:
            x = trail[d * (d + 1) // 2 + k]
            y = x - (2 * k - d)
    at[0] += over_a
    at[2] += over_b


def script(
    a: cython.const[cython.int][::1],
    b: cython.const[cython.int][::1],
    gap: cython.longlong[:, ::1],
    most: cython.longlong,
    whole: cython.bint,
    at: cython.longlong[::1],
    trail: cython.int[::1],
    partner: cython.int[::1],
) -> None:
    """Write to `partner`, per row of a in a gap (begin and end in a, begin and end in b), the row of b it is paired with.

    In each gap the fewest rows stay alone, if that takes at most `most` edits, at least 1, and steps are left. Else, if `whole`, the
    gap is left as it is but for what is equal at its ends; if not, the furthest that many edits lead is kept and the rest begins
    there. `gap` shrinks to what was not decided. `at` has seven cells, the fifth of them the steps allowed for all gaps; `trail`
    has (most + 1) (most + 2) / 2.
    """
    g: cython.Py_ssize_t
    for g in range(len(gap)):
        at[0] = gap[g, 0]
        at[1] = gap[g, 1]
        at[2] = gap[g, 2]
        at[3] = gap[g, 3]
        _trim(a, b, at, partner)
        while at[0] < at[1] and at[2] < at[3] and at[4] > 0:
            _reach(a, b, at, most, trail)
            if whole and not _through(at, trail):
                break
            _walk(at, trail, partner)
            _trim(a, b, at, partner)
        gap[g, 0] = at[0]
        gap[g, 1] = at[1]
        gap[g, 2] = at[2]
        gap[g, 3] = at[3]
