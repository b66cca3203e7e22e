# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Computation rescaled, in pieces that stay whole nanoseconds."""

import cython

WHOLE = cython.declare(cython.double, 4503599627370496.0)
"""From this size on a double has no part of one; a smaller one has none once it is added and taken off: what is halfway goes to even."""


def cut(
    gap: cython.const[cython.int][::1],
    offset: cython.const[cython.longlong][::1],
    whole: cython.const[cython.longlong][::1],
    bounds: cython.int[::1],
    length: cython.longlong[::1],
) -> None:
    """Cut what is computed between calls, gaps, at boundaries, which are sorted by (gap, offset in it).

    Write the first segment of each gap to `bounds`, their number behind the last, and the length of each segment.
    """
    with cython.nogil:
        boundary: cython.Py_ssize_t = 0
        segment: cython.Py_ssize_t = 0
        for g in range(len(whole)):
            bounds[g] = segment
            before: cython.longlong = 0
            while boundary < len(gap) and gap[boundary] == g:
                length[segment] = offset[boundary] - before
                before = offset[boundary]
                boundary += 1
                segment += 1
            length[segment] = whole[g] - before
            segment += 1
        bounds[len(whole)] = segment


def sums(bounds: cython.const[cython.int][::1], length: cython.const[cython.longlong][::1], out: cython.longlong[::1]) -> None:
    """Write how long each gap is, given its first segment and the one behind its last."""
    with cython.nogil:
        for gap in range(len(out)):
            total: cython.longlong = 0
            for segment in range(bounds[gap], bounds[gap + 1]):
                total += length[segment]
            out[gap] = total


def totals(
    first: cython.const[cython.int][::1],
    end: cython.const[cython.int][::1],
    group: cython.const[cython.int][::1],
    length: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Add the segments of each span, `first` to before `end`, to what its group has in `out`."""
    with cython.nogil:
        for span in range(len(first)):
            total: cython.longlong = 0
            for segment in range(first[span], end[span]):
                total += length[segment]
            out[group[span]] += total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scaled(running: cython.longlong, whole: cython.longlong, wanted: cython.longlong, ratio: cython.double) -> cython.longlong:
    """Return a part of a whole, `running`, times a ratio, a whole number; all that is wanted of the whole."""
    if running == whole:
        return wanted
    out: cython.double = running * ratio
    if out < WHOLE:
        out = (out + WHOLE) - WHOLE
    return cython.cast(cython.longlong, out)


def level(
    first: cython.const[cython.int][::1],
    end: cython.const[cython.int][::1],
    group: cython.const[cython.int][::1],
    bounds: cython.const[cython.int][::1],
    length: cython.const[cython.longlong][::1],
    total: cython.const[cython.longlong][::1],
    wanted: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Add to what gaps take by how much longer they are if groups, which add up to `total`, add up to what is wanted.

    Spans, `first` to before `end`, ascend, and so do groups. What a span has of a gap is a part of its group, as in `shares`.
    """
    with cython.nogil:
        running: cython.longlong = 0
        before: cython.longlong = 0
        gap: cython.Py_ssize_t = 0
        for span in range(len(first)):
            of = group[span]
            ratio: cython.double = cython.cast(cython.double, wanted[of]) / cython.cast(cython.double, max(total[of], 1))
            if span == 0 or group[span - 1] != of:
                running = before = 0
            while bounds[gap + 1] <= first[span]:
                gap += 1
            segment: cython.Py_ssize_t = first[span]
            while segment < end[span]:
                took: cython.longlong = 0
                while segment < min(bounds[gap + 1], end[span]):
                    took += length[segment]
                    segment += 1
                running += took
                now = _scaled(running, total[of], wanted[of], ratio)
                out[gap] += now - before - took
                before = now
                if segment < end[span]:
                    gap += 1


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
                now = _scaled(running, whole, wanted, ratio)
                out[row] = now - before
                before = now
            first = end
