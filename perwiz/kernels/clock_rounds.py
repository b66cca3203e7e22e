# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""In which round of a replay by several processes each vertex can be reached: what crosses between two of them takes a round."""

import cython

from perwiz.kernels import names

UNBOUND = cython.declare(cython.int, names.UNBOUND)


def rounds(
    start: cython.const[cython.int][::1],
    source: cython.const[cython.int][::1],
    binding: cython.const[cython.uchar][::1],
    part: cython.const[cython.int][::1],
    out: cython.int[::1],
) -> None:
    """Write the round of each vertex; `part` is the process that has it. UNBOUND edges bind only inside a process."""
    for v in range(1, len(part)):
        latest: cython.int = 0
        for k in range(start[v], start[v + 1]):
            u = source[k]
            if part[u] == part[v]:
                latest = max(latest, out[u])
            elif binding[k] != UNBOUND:
                latest = max(latest, out[u] + 1)
        out[v] = latest
