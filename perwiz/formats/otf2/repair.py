"""What broken OTF2 archives leave out or get wrong, and the rest of the archive tells: communicators and sizes of receives, completions."""

from __future__ import annotations

import numpy as np

from perwiz.kernels import otf2_repair as kernel
from perwiz.kernels import records
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U2, Ints, Mask
from perwiz.trace.matching import Ends, fifo, receive_of_each
from perwiz.trace.tables import NONE, Requests

_LARGEST = 1 << 40
"""No message has more bytes."""
_REQUEST_FREE = operations.OP["MPI_Request_free"]
_COMPLETES = np.zeros(len(operations.OPS), "u1")
_COMPLETES[operations.OP["MPI_Wait"]], _COMPLETES[operations.OP["MPI_Waitall"]] = records.WAITS_FOR_ONE, records.WAITS_FOR_ALL


def communicators(sends: Ends, receives: Ends) -> int:
    """Give receives the communicator of the send they must belong to, in place, and return how many that were.

    Only for receives that match no send as they are, and only where sender, receiver, tag and size of what is left over agree on
    both sides, first in, first out.
    """
    taken = fifo([sends.rank, sends.peer, sends.tag, sends.comm], [receives.peer, receives.rank, receives.tag, receives.comm])
    lost = np.flatnonzero((taken < 0) & (receives.peer >= 0))
    free = np.ones(len(sends.call), bool)
    free[taken[taken >= 0]] = False
    over = np.flatnonzero(free)
    if not len(lost) or not len(over):
        return 0
    again = fifo(
        [sends.rank[over], sends.peer[over], sends.tag[over], sends.bytes[over]],
        [receives.peer[lost], receives.rank[lost], receives.tag[lost], receives.bytes[lost]],
    )
    repaired = again >= 0
    receives.comm[lost[repaired]] = sends.comm[over[again[repaired]]]
    return int(repaired.sum())


def sizes(sends: Ends, receives: Ends) -> tuple[I8, int]:
    """Give receives of a process the size of the send they match, in place, if one of its sizes is impossible: none is to be trusted then.

    Return by how many bytes each receive changed, and how many of those that match did; an impossible size without a send becomes 0.
    """
    before = receives.bytes.astype("i8")
    wrong = _impossible(before)
    if not wrong.any():
        return np.zeros(len(before), "i8"), 0
    receive = receive_of_each(sends, receives)
    sent = np.flatnonzero((receive >= 0) & ~_impossible(sends.bytes))
    sent = sent[np.isin(receives.rank[receive[sent]], receives.rank[wrong])]
    receives.bytes = np.where(wrong, 0, before)
    receives.bytes[receive[sent]] = sends.bytes[sent]
    more = receives.bytes - before
    return more, int((more[receive[sent]] != 0).sum())


def _impossible(size: Ints) -> Mask:
    return np.asarray((size < 0) | (size > _LARGEST))


def completions(op: U2, location: I4, requests: Requests, posts: Mask) -> tuple[Requests, int]:
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
    first = np.searchsorted(requests.posted_by[rows], np.arange(len(op) + 1)).astype("i4")
    left = np.zeros(len(op), "i4")
    kernel.later_waits(location, kind, first, left)
    by = np.full(len(rows), NONE, "i4")
    kernel.infer(location, kind, first, left, posts[rows].astype("u1"), by, np.empty(len(rows), "i4"))
    completed = requests.completed_by.copy()
    completed[rows] = by
    return Requests(requests.posted_by, completed, requests.cancelled), int((by >= 0).sum())
