# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""In which round of a replay by several processes each vertex can be reached: what crosses between two of them takes a round."""

import cython


def rounds(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    lane: cython.const[cython.uchar][::1],
    part: cython.const[cython.int][::1],
    out: cython.int[::1],
) -> None:
    """Write the round of each vertex; `part` is the process that has it. Edges of lane 0 bind only inside a process."""
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    latest: cython.int
    for v in range(1, len(part)):
        latest = 0
        for k in range(start[v], start[v + 1]):
            u = source[k]
            if part[u] == part[v]:
                latest = max(latest, out[u])
            elif lane[k] != 0:
                latest = max(latest, out[u] + 1)
        out[v] = latest
