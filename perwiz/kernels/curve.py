# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The sweep over lines: weights that grow with a parameter, the latest path at one value of it, and how fast that path grows."""

import cython


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    edge: cython.const[cython.double][:, ::1],
    at: cython.double,
    line: cython.double[:, ::1],
) -> None:
    """Raise the line (value, slope) of each vertex to the one of a source plus an edge that is highest at `at`.

    Values and slopes are whole numbers below 2**53, so sums are exact. Of equally high lines the steepest; what `line` holds before
    is a floor.
    """
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    value: cython.double
    slope: cython.double
    high: cython.double
    highest: cython.double
    best: cython.double
    steepest: cython.double
    for v in range(len(line)):
        best = line[v, 0]
        steepest = line[v, 1]
        highest = best + steepest * at
        for k in range(start[v], start[v + 1]):
            u = source[k]
            value = line[u, 0] + edge[k, 0]
            slope = line[u, 1] + edge[k, 1]
            high = value + slope * at
            if high > highest or (high == highest and slope > steepest):
                highest = high
                best = value
                steepest = slope
        line[v, 0] = best
        line[v, 1] = steepest
