# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""List scheduling: whoever is free first takes the next piece of work."""

from __future__ import annotations

import cython


def dynamic(
    first_piece: cython.const[cython.longlong][::1],
    first_thread: cython.const[cython.longlong][::1],
    piece: cython.const[cython.longlong][::1],
    total: cython.longlong[::1],
) -> None:
    """Add to `total`, per thread, the pieces that it takes, ns: those of part p are `piece[first_piece[p] .. first_piece[p + 1] - 1]`.

    They are taken in this order by the threads `first_thread[p] .. first_thread[p + 1] - 1`, of several free ones by the first.
    """
    for p in range(len(first_piece) - 1):
        for k in range(first_piece[p], first_piece[p + 1]):
            free: cython.Py_ssize_t = first_thread[p]
            for thread in range(first_thread[p] + 1, first_thread[p + 1]):
                if total[thread] < total[free]:
                    free = thread
            total[free] += piece[k]
