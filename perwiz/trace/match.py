"""Who talked to whom: sends to receives, posts to completions, collective calls to instances."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import match as kernel
from perwiz.trace import ops
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE, Calls, Collectives, Communicators, Members, Messages, Requests

Ints = NDArray[np.int64]
_BY_ID = -(1 << 62)


@dataclasses.dataclass
class Ends:
    """One side of all messages, in program order of each location: int64 columns, one row a record."""

    call: Ints
    """Call that sends, or that posts the receive."""
    done: Ints
    """Call that completes it, or -1 unknown."""
    rank: Ints
    """Own rank in MPI_COMM_WORLD."""
    peer: Ints
    tag: Ints
    comm: Ints
    bytes: Ints
    id: Ints
    """Message number both sides carry, or -1."""


def fifo(sent: list[Ints], received: list[Ints]) -> NDArray[np.int32]:
    """Return, per receive, the row of the send it takes, or -1: first in, first out among equal keys (four int64 columns each)."""
    channels = Numbers()
    pairs = [np.concatenate(columns) for columns in zip(sent, received, strict=True)]
    first, second = _number(pairs[0], pairs[1]), _number(pairs[2], pairs[3])
    number = channels.of(first, second)
    count = len(sent[0])
    out = np.empty(len(received[0]), "i4")
    kernel.match(number[:count], number[count:], np.empty(channels.count, "i4"), np.empty(count, "i4"), out)
    return out


def _number(first: Ints, second: Ints) -> NDArray[np.int32]:
    return Numbers().of(first, second)


def messages(sends: Ends, receives: Ends, mode: NDArray[np.uint8]) -> tuple[Messages, int]:
    """Return the matched messages, sorted by sending call, and how many of them have ends of different size.

    Matching is first in, first out per (sender, receiver, tag, communicator) in the order receives were posted; records that
    carry a message number are matched by that. The receiver's size counts (MPI 3.1, 3.5; FORMATS of ALOG: actual bytes).
    """
    order = np.argsort(receives.call, kind="stable")
    taken = fifo(_key(sends, sends.rank, sends.peer), [k[order] for k in _key(receives, receives.peer, receives.rank)])
    r = order[taken >= 0]
    s = taken[taken >= 0].astype("i8")
    rows = np.lexsort((s, sends.call[s]))
    s, r = s[rows], r[rows]
    table = Messages(
        *(sends.call[s].astype("i4"), sends.done[s].astype("i4"), receives.call[r].astype("i4"), receives.done[r].astype("i4")),
        *(sends.tag[s].astype("i4"), sends.comm[s].astype("i4"), mode[s], receives.bytes[r]),
    )
    return table, int((sends.bytes[s] != receives.bytes[r]).sum())


def _key(ends: Ends, sender: Ints, receiver: Ints) -> list[Ints]:
    named = ends.id != NONE
    parts = (sender, receiver, ends.tag, ends.comm)
    if not named.any():
        return list(parts)
    by_id = (ends.id, _BY_ID, 0, 0)
    return [np.where(named, value, part) for value, part in zip(by_id, parts, strict=True)]


def requests(
    posted: Ints, posted_location: Ints, posted_id: Ints, completed: Ints, completed_location: Ints, completed_id: Ints
) -> Requests:
    """Return one row per posted request: the k-th posting of an id on a location goes with the k-th completion of it."""
    at = np.argsort(posted, kind="stable")
    then = np.argsort(completed, kind="stable")
    zero_posted, zero_completed = np.zeros(len(at), "i8"), np.zeros(len(then), "i8")
    taken = fifo(
        [posted_location[at], posted_id[at], zero_posted, zero_posted],
        [completed_location[then], completed_id[then], zero_completed, zero_completed],
    )
    by = np.full(len(at), NONE, "i4")
    found = taken >= 0
    by[taken[found]] = completed[then[found]]
    return Requests(posted[at].astype("i4"), by)


@dataclasses.dataclass
class Instances:
    """The collectives of a trace, their members, and what could not be matched."""

    collectives: Collectives
    members: Members
    unmatched: int
    incomplete: int
    rootless: int


def collectives(calls: Calls, done: NDArray[np.int32], process: Ints, sequence: Ints, traffic: NDArray[np.uint8], comms: Communicators) -> Instances:
    """Return the instances of collectives, sorted by (communicator, sequence), members in communicator rank order.

    `sequence` numbers the collective calls of a rank within its communicator; -1 means: count them. Where ranks disagree about the
    routine, that instance and, if counted, all later ones of its communicator stay unmatched (MPI 3.1, 5.12: same order on all ranks).
    `traffic` (1 sent, 2 received internally) tells the root where the trace does not name it.
    """
    e = np.flatnonzero(ops.COLLECTIVE[calls.op] & (calls.comm >= 0))
    counted = sequence[e] < 0
    step = np.where(counted, _count(calls.location[e], calls.comm[e]), sequence[e])
    again = _count(_number(calls.location[e].astype("i8"), calls.comm[e].astype("i8")), step)
    rank = _rank_in(comms, calls.comm[e], process[calls.location[e]])
    order = np.lexsort((rank, again, step, calls.comm[e]))
    order = order[rank[order] >= 0]
    e, step, again, counted = e[order], step[order], again[order], counted[order]
    comm, op = calls.comm[e], calls.op[e]
    new = np.ones(len(e), bool)
    new[1:] = (step[1:] != step[:-1]) | (again[1:] != again[:-1]) | (comm[1:] != comm[:-1])
    start = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    good = _agreeing(op, comm, counted, start, group)
    keep = good[group] if len(group) else np.zeros(0, bool)
    sizes = np.diff(np.append(start, len(e)))[good]
    head = e[start[good]]
    first = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype("i4") if len(sizes) else np.empty(0, "i4")
    number = np.repeat(np.arange(len(sizes), dtype="i4"), sizes)
    members = Members(number, e[keep].astype("i4"), done[e[keep]])
    root = _roots(calls, members, first, sizes, traffic, process)
    table = Collectives(calls.op[head], calls.comm[head], root, first)
    kinds = ops.KIND[table.op]
    rooted = (kinds == ops.ONE_TO_N) | (kinds == ops.N_TO_ONE)
    incomplete = int((sizes != comms.sizes()[table.comm]).sum())
    total = int(ops.COLLECTIVE[calls.op].sum())
    return Instances(table, members, total - len(members), incomplete, int((rooted & (root < 0)).sum()))


def _count(location: NDArray[np.int32], comm: NDArray[np.int32]) -> Ints:
    """Return the running number of each call within its (location, communicator)."""
    number = _number(location.astype("i8"), comm.astype("i8"))
    order = np.argsort(number, kind="stable")
    sizes = np.bincount(number) if len(number) else np.zeros(0, "i8")
    out = np.empty(len(number), "i8")
    out[order] = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return out


def _rank_in(comms: Communicators, comm: NDArray[np.int32], rank: Ints) -> Ints:
    """Return the rank in the communicator of each world rank, -1 for strangers."""
    owner = np.repeat(np.arange(len(comms)), comms.sizes())
    known = Numbers()
    known.of(owner, comms.ranks.astype("i8"))
    count = known.count
    number = known.of(comm.astype("i8"), rank).astype("i8")
    return np.where(number < count, number - comms.first[comm], NONE)


def _agreeing(op: NDArray[np.uint8], comm: NDArray[np.int32], counted: NDArray[np.bool_], start: Ints, group: Ints) -> NDArray[np.bool_]:
    """Return per instance whether all members call the same routine, and no counted instance before it went wrong."""
    if not len(start):
        return np.zeros(0, bool)
    wrong = np.zeros(len(start), bool)
    wrong[group[op != op[start][group]]] = True
    broken = np.cumsum(wrong & counted[start])
    before = np.zeros(len(start), "i8")
    heads = np.flatnonzero(np.concatenate(([True], comm[start][1:] != comm[start][:-1])))
    before[heads] = np.diff(np.concatenate(([0], broken[heads] - wrong[heads])))
    return ~wrong & ~((broken > np.cumsum(before)) & counted[start])


def _roots(calls: Calls, members: Members, first: NDArray[np.int32], sizes: Ints, traffic: NDArray[np.uint8], process: Ints) -> NDArray[np.int32]:
    """Return the root per instance: as recorded, else the one member whose internal traffic only leaves (or only enters), else -1."""
    if not len(sizes):
        return np.empty(0, "i4")
    head = members.call[first]
    kind = ops.KIND[calls.op[head]]
    pure = np.where(kind == ops.ONE_TO_N, 1, 2)[members.collective] == traffic[members.call]
    pure &= ((kind == ops.ONE_TO_N) | (kind == ops.N_TO_ONE))[members.collective]
    alone = np.add.reduceat(pure.astype("i8"), first) == 1
    rank = process[calls.location[members.call]]
    inferred = np.where(alone, np.maximum.reduceat(np.where(pure, rank, -1), first), -1)
    recorded = np.maximum.reduceat(calls.root[members.call], first)
    return np.where(recorded >= 0, recorded, inferred).astype("i4")
