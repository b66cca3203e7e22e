"""Completions of requests that a trace leaves out, put where the program must have waited."""

from __future__ import annotations

import numpy as np

from perwiz.kernels import completions as kernel
from perwiz.kernels import records
from perwiz.trace import operations
from perwiz.trace.arrays import I4, U2, Mask
from perwiz.trace.tables import NONE, Requests

_REQUEST_FREE = operations.OP["MPI_Request_free"]
_COMPLETES = np.zeros(len(operations.OPS), "u1")
_COMPLETES[operations.OP["MPI_Wait"]], _COMPLETES[operations.OP["MPI_Waitall"]] = records.WAITS_FOR_ONE, records.WAITS_FOR_ALL


def inferred(op: U2, location: I4, requests: Requests, posts: Mask) -> tuple[Requests, int]:
    """Return the requests with missing completions put where the program must have waited, and how many were put.

    `posts` says which requests are sends. A Wait that completed nothing completes the oldest open request of its process; a Waitall
    completes all, but leaves one for each such Wait before the next post or Waitall: sends or receives alone where their number
    fits, else the oldest. A location that calls MPI_Request_free is left alone: what is missing there may have been freed.
    """
    missing = requests.completed_by == NONE
    if missing.any():
        missing &= ~np.isin(location[requests.posted_by], location[op == _REQUEST_FREE])
    if not missing.any():
        return requests, 0
    kind = _COMPLETES[op]
    done = requests.completed_by[~missing]
    single = np.flatnonzero(kind == records.WAITS_FOR_ONE)
    kind[single[np.isin(single, done)]] = 0
    rows = np.flatnonzero(missing).astype("i4")
    first = np.zeros(len(op) + 1, "i4")
    np.cumsum(np.bincount(requests.posted_by[rows], minlength=len(op)), out=first[1:])
    left = np.zeros(len(op), "i4")
    kernel.later_waits(location, kind, first, left)
    by = np.full(len(rows), NONE, "i4")
    kernel.infer(location, kind, first, left, posts[rows].astype("u1"), by, np.empty(len(rows), "i4"))
    completed = requests.completed_by.copy()
    completed[rows] = by
    return Requests(requests.posted_by, completed, requests.cancelled), int((by >= 0).sum())
