# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""How stretches of time lie in each other: slices of a picture, instances of user regions."""

import cython


def nest(
    location: cython.const[cython.int][::1],
    enter: cython.const[cython.longlong][::1],
    leave: cython.const[cython.longlong][::1],
    fixed: cython.const[cython.uchar][::1],
    missed: cython.uchar[::1],
    stack: cython.int[::1],
    out: cython.longlong[::1],
) -> int:
    """Write to `out` the begin (2 i) and end (2 i + 1) of each slice i in order; return how many.

    Slices are ordered by (location, enter, leave backwards). One that ends inside another that it does not begin in gets a 1 in `missed`,
    which comes with zeros; its begin and end, if written, are to be left out. Those that are `fixed` nest among each other and stay.
    `stack` is space for as many as there are slices, `out` for twice as many.
    """
    at: cython.Py_ssize_t = 0
    top: cython.Py_ssize_t = 0
    for i in range(len(enter)):
        while top > 0 and (location[stack[top - 1]] != location[i] or leave[stack[top - 1]] <= enter[i]):
            top -= 1
            out[at] = 2 * cython.cast(cython.longlong, stack[top]) + 1
            at += 1
        while top > 0 and leave[stack[top - 1]] < leave[i]:
            if fixed[i] == 0 or fixed[stack[top - 1]] != 0:
                missed[i] = 1
                break
            top -= 1
            missed[stack[top]] = 1
        if missed[i] == 0:
            out[at] = 2 * cython.cast(cython.longlong, i)
            at += 1
            stack[top] = i
            top += 1
    while top > 0:
        top -= 1
        out[at] = 2 * cython.cast(cython.longlong, stack[top]) + 1
        at += 1
    return at


def last_inside(parent: cython.const[cython.int][::1], outlives: cython.const[cython.uchar][::1], last: cython.int[::1]) -> None:
    """Write to `last` per region instance the last row entered in it, itself included; a parent has a smaller row.

    What is entered in an instance that outlives its parent is not counted as entered in that parent.
    """
    with cython.nogil:
        for r in range(len(parent)):
            last[r] = r
        for r in range(len(parent) - 1, -1, -1):
            inner: cython.int = r if outlives[r] != 0 else last[r]
            if parent[r] >= 0 and last[parent[r]] < inner:
                last[parent[r]] = inner


def place_boundaries(last: cython.const[cython.int][::1], ahead: cython.int[::1], entry: cython.int[::1], leaving: cython.int[::1]) -> None:
    """Write the places of the entry and the leaving of each instance among all of these, given the last row entered in each.

    Behind the entry of a row are the leavings of those whose last one it is, larger rows first. `ahead` has a zero per row; afterwards it
    says nothing.
    """
    with cython.nogil:
        for r in range(len(last)):
            ahead[last[r]] += 1
        before: cython.int = 0
        for r in range(len(last)):
            behind: cython.int = ahead[r]
            ahead[r] = before
            entry[r] = r + before
            before += behind
        for r in range(len(last) - 1, -1, -1):
            leaving[r] = last[r] + 1 + ahead[last[r]]
            ahead[last[r]] += 1
