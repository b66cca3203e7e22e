# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""The sweep over lines: weights that grow with a parameter, the latest path at one value of it, and how fast that path grows."""

from __future__ import annotations

import cython
import numpy as np

Line = cython.struct(value=cython.double, slope=cython.double)
LINE = np.dtype([("value", "f8"), ("slope", "f8")])
"""How high a line is where the parameter is 0, and how much it rises per unit."""


def sweep(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    edges: cython.const[Line][::1],
    at: cython.double,
    lines: Line[::1],
) -> None:
    """Raise the line of each vertex to the one of a source plus an edge that is highest where the parameter is `at`.

    Values and slopes are whole numbers below 2**53, so sums are exact. Of equally high lines the steepest; what `lines` holds before
    is a floor.
    """
    for v in range(len(lines)):
        best = lines[v].value
        steepest = lines[v].slope
        highest = best + steepest * at
        for k in range(start[v], start[v + 1]):
            value = lines[source[k]].value + edges[k].value
            slope = lines[source[k]].slope + edges[k].slope
            high = value + slope * at
            if high > highest or (high == highest and slope > steepest):
                highest = high
                best = value
                steepest = slope
        lines[v].value = best
        lines[v].slope = steepest
