# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Columns of which a row has some to values one after the other, row by row."""

import cython


def put(
    column: cython.const[cython.longlong][::1],
    size: cython.const[cython.uchar][::1],
    place: cython.int,
    first: cython.const[cython.longlong][::1],
    out: cython.longlong[::1],
) -> None:
    """Write the value number `place` of each row that has more; those of a row, as many as its size, begin at `first`."""
    for i in range(len(column)):
        if size[i] > place:
            out[first[i] + place] = column[i]
