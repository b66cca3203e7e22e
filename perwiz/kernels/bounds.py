# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Whether a graph that comes from outside is one: no kernel asks where it reads."""

from __future__ import annotations

import cython


def bad_edge(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    kind: cython.const[cython.uchar][::1],
    cause: cython.const[cython.int][::1],
    causes: cython.const[cython.longlong][::1],
) -> cython.longlong:
    """Return the first edge that does not come from a vertex before its own, is of no kind, or has no such cause; -1 if none is so.

    Edges `start[v] .. start[v + 1] - 1` lead into vertex v; causes of a kind are below `causes`, or -1. `start` must rise, from 0 to the
    number of edges.
    """
    bad: cython.longlong = -1
    with cython.nogil:
        for v in range(len(start) - 1):
            for k in range(start[v], start[v + 1]):
                if source[k] < 0 or source[k] >= v or kind[k] >= len(causes) or cause[k] < -1 or cause[k] >= causes[kind[k]]:
                    bad = k
                    break
            if bad >= 0:
                break
    return bad


def taken_twice(vertex: cython.const[cython.int][::1], taken: cython.uchar[::1]) -> cython.longlong:
    """Return the first row whose vertex is taken already, -1 if none is; those before it are taken then, each 1 in `taken`."""
    bad: cython.longlong = -1
    with cython.nogil:
        for k in range(len(vertex)):
            if taken[vertex[k]] != 0:
                bad = k
                break
            taken[vertex[k]] = 1
    return bad
