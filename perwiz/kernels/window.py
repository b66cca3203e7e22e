# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""A sweep over some positions only: what a change of a few weights does to the vertices behind it."""

import cython


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    weight: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    time: cython.longlong[::1],
) -> None:
    """Set `time` of the vertices from `first` to before `end` to the largest time of a source plus weight, at least 0."""
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    best: cython.longlong
    t: cython.longlong
    for v in range(first, end):
        best = 0
        for k in range(start[v], start[v + 1]):
            t = time[source[k]] + weight[k]
            if t > best:
                best = t
        time[v] = best


def latest(
    source: cython.const[cython.int][::1],
    left: cython.const[cython.longlong][::1],
    time: cython.const[cython.longlong][::1],
) -> cython.longlong:
    """Return the largest time of a source plus what is left behind it, at least 0."""
    best: cython.longlong = 0
    i: cython.Py_ssize_t
    t: cython.longlong
    for i in range(len(source)):
        t = time[source[i]] + left[i]
        if t > best:
            best = t
    return best
