# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""How instances of user regions lie in each other."""

import cython


def last_inside(parent: cython.const[cython.int][::1], outlives: cython.const[cython.uchar][::1], last: cython.int[::1]) -> None:
    """Write to `last` per region instance the last row entered in it, itself included; a parent has a smaller row.

    What is entered in an instance that outlives its parent is not counted as entered in that parent.
    """
    for r in range(len(parent)):
        last[r] = r
    for r in range(len(parent) - 1, -1, -1):
        inner: cython.int = r if outlives[r] != 0 else last[r]
        if parent[r] >= 0 and last[parent[r]] < inner:
            last[parent[r]] = inner
