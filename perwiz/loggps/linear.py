"""Collectives as SimGrid's SMPI makes them by default: mostly every process sends to every other at once (smpi_default_selector.cpp, 3.32).

Broadcasts go down a binomial tree, small exchanges of all with all take Bruck's rounds (smpi_openmpi_selector.cpp).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from perwiz.trace import operations
from perwiz.trace.arrays import F8, U1

_BRUCK_RANKS, _BRUCK_BYTES = 16, 512


class Trips(NamedTuple):
    """What a collective costs the process that has most to do; float64 each."""

    rounds: F8
    """Messages that follow one another."""
    message: F8
    """Bytes of one."""
    moved: F8
    """Bytes that pass one link, one after the other."""


def _ops(*names: str) -> U1:
    """Return which routines are of these names, blocking or not, uint8 per op."""
    wanted = {f"MPI_{form}" for name in names for form in (name, f"I{name.lower()}")}
    return np.array([name in wanted for name in operations.OPS], "u1")


_BARRIER, _BCAST, _ALLREDUCE = _ops("Barrier"), _ops("Bcast"), _ops("Allreduce")
_ADDS = _ops("Reduce", "Allreduce", "Scan", "Exscan")
"""Routines whose processes send all they have to one, or to each."""
_SCATTERS = _ops("Reduce_scatter", "Reduce_scatter_block")
_ALLTOALL = _ops("Alltoall")


def trips(op: ArrayLike, ranks: ArrayLike, k: ArrayLike) -> Trips:
    """Return the trips of collectives; `op` a row of OPS, `ranks` at least 1, `k` the larger of the bytes one process sends and receives."""
    op, size, most = np.asarray(op), np.asarray(ranks, "f8"), np.asarray(k, "f8")
    depth = np.frexp(size - 1.0)[1].astype("f8")
    others, share = size - 1, most / size
    kinds = [
        _BARRIER[op] > 0,
        _BCAST[op] > 0,
        _ALLREDUCE[op] > 0,
        _ADDS[op] > 0,
        _SCATTERS[op] > 0,
        (_ALLTOALL[op] > 0) & (size >= _BRUCK_RANKS) & (share < _BRUCK_BYTES),
    ]
    return Trips(
        np.select(kinds, [2 + 0 * most, depth + 0 * most, 1 + depth, 1 + 0 * most, 2 + 0 * most, depth + 0 * most], 1.0),
        np.select(kinds, [0 * most, most, most, most, most, most / 2], share),
        np.select(kinds, [0 * most, depth * most, (others + depth) * most, others * most, size * most, depth * most / 2], others * share),
    )
