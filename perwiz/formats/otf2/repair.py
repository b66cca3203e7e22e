"""What broken OTF2 archives leave out or get wrong, and the rest of the archive tells: communicators and sizes of receives."""

from __future__ import annotations

import numpy as np

from perwiz.trace.arrays import I8, Ints, Mask
from perwiz.trace.matching import Ends, fifo, receive_of_each

_LARGEST = 1 << 40
"""No message has more bytes."""


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
