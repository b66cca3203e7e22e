"""Collectives as SimGrid's SMPI makes them by default: mostly every process sends to every other at once (smpi_default_selector.cpp, 3.32).

Broadcasts go down a binomial tree, small exchanges of all with all take Bruck's rounds (smpi_openmpi_selector.cpp).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from perwiz.trace import operations
from perwiz.trace.arrays import F8, Mask

_BRUCK_RANKS, _BRUCK_BYTES = 16, 512


class Trips(NamedTuple):
    """What a collective costs the process that has most to do; float64 each."""

    rounds: F8
    """Messages that follow one another."""
    message: F8
    """Bytes of one."""
    moved: F8
    """Bytes that pass one link, one after the other."""


def _ops(*names: str) -> Mask:
    """Return which routines are of these names, blocking or not, bool per op."""
    wanted = {f"MPI_{form}" for name in names for form in (name, f"I{name.lower()}")}
    return np.array([name in wanted for name in operations.OPS])


_BARRIER, _BCAST, _ALLREDUCE = _ops("Barrier"), _ops("Bcast"), _ops("Allreduce")
_ADDS = _ops("Reduce", "Allreduce", "Scan", "Exscan")
"""Routines whose processes send all they have to one, or to each."""
_SCATTERS = _ops("Reduce_scatter", "Reduce_scatter_block")
_ALLTOALL = _ops("Alltoall")


def trips(op: ArrayLike, ranks: ArrayLike, k: ArrayLike) -> Trips:
    """Return the trips of collectives; `op` a row of OPS, `k` the larger of the bytes that one process sends and receives."""
    op, size, most = np.broadcast_arrays(np.asarray(op), np.asarray(ranks, "f8"), np.asarray(k, "f8"))
    depth, others, share = np.frexp(size - 1.0)[1].astype("f8"), size - 1, most / size
    one, none = np.ones_like(most), np.zeros_like(most)
    small = _ALLTOALL[op] & (size >= _BRUCK_RANKS) & (share < _BRUCK_BYTES)
    rounds, message, moved = zip(
        (2 * one, none, none),
        (depth, most, depth * most),
        (1 + depth, most, (others + depth) * most),
        (one, most, others * most),
        (2 * one, most, size * most),
        (depth, most / 2, depth * most / 2),
        (one, share, others * share),
        strict=True,
    )
    kinds = [_BARRIER[op], _BCAST[op], _ALLREDUCE[op], _ADDS[op], _SCATTERS[op], small]
    return Trips(*(np.select(kinds, [*column[:-1]], column[-1]) for column in (rounds, message, moved)))
