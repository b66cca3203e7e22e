# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""First in, first out within numbered channels."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

NONE = cython.declare(cython.int, names.NONE)
NOBODY = cython.declare(cython.int, names.NOBODY)

Member = cython.struct(comm=cython.int, place=cython.int)
MEMBER = np.dtype([("comm", "i4"), ("place", "i4")])
"""A communicator that a rank is a member of, and its rank there."""
Seen = cython.struct(rank=cython.int, calls=cython.int, place=cython.int, most=cython.int)
SEEN = np.dtype([("rank", "i4"), ("calls", "i4"), ("place", "i4"), ("most", "i4")])
"""Per communicator the rank at work, its calls so far and its rank there; and the most calls of any rank."""


def match(
    sent: cython.const[cython.int][::1],
    received: cython.const[cython.int][::1],
    head: cython.int[::1],
    following: cython.int[::1],
    out: cython.int[::1],
) -> None:
    """Write to `out`, per receive, the send it takes: the first one left in its channel, or NONE.

    `sent` and `received` hold the channel of each, in order; `head` has a cell per channel, `following` one per send.
    """
    with cython.nogil:
        for i in range(len(head)):
            head[i] = NONE
        for i in range(len(sent) - 1, -1, -1):
            following[i] = head[sent[i]]
            head[sent[i]] = i
        for i in range(len(received)):
            out[i] = head[received[i]]
            if out[i] != NONE:
                head[received[i]] = following[out[i]]


def number_rounds(
    rank: cython.const[cython.int][::1],
    comm: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    members: cython.const[Member][::1],
    seen: Seen[::1],
    step: cython.int[::1],
    place: cython.int[::1],
) -> None:
    """Write, per collective call, how many on its communicator the rank made before it, and its rank there; -1 if it is no member.

    Calls of one rank come one behind the other. `members[first[r]:first[r + 1]]` are the memberships of rank r; `seen` has a row per
    communicator, its rank NOBODY, the rest 0; its `most` will tell the most calls of any rank.
    """
    with cython.nogil:
        last: cython.int = NOBODY
        for i in range(len(rank)):
            if rank[i] != last:
                last = rank[i]
                k = first[last] if last >= 0 else 0
                while last >= 0 and k < first[last + 1]:
                    c = members[k].comm
                    seen[c].rank = last
                    seen[c].calls = 0
                    seen[c].place = members[k].place
                    k += 1
            c = comm[i]
            place[i] = seen[c].place if seen[c].rank == last else NONE
            step[i] = seen[c].calls
            seen[c].calls += 1
            if seen[c].calls > seen[c].most:
                seen[c].most = seen[c].calls
