"""Who talked to whom: sends to receives, posts to completions, collective calls to instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import match as kernel
from perwiz.kernels import order as sorting
from perwiz.trace import ops
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.table import pieces
from perwiz.trace.tables import NONE, Calls, Collectives, Members, Messages, Requests
from perwiz.trace.trace import Communicators

Ints = NDArray[np.int64]
Column = NDArray[np.integer[Any]]
_BY_ID = -(1 << 62)


@dataclasses.dataclass
class Ends:
    """One side of all messages, in program order of each location: integer columns, one row a record."""

    call: Column
    """Call that sends, or that posts the receive."""
    done: Column
    """Call that completes it, or -1 unknown."""
    rank: Column
    """Own rank in MPI_COMM_WORLD."""
    peer: Column
    tag: Column
    comm: Column
    bytes: Column
    id: Column | None = None
    """Message number both sides carry, or -1; None if no message has one."""


def fifo(sent: Sequence[Column], received: Sequence[Column]) -> NDArray[np.int32]:
    """Return, per receive, the row of the send it takes, or -1: first in, first out among equal keys (four integer columns each)."""
    channels, first, second = Numbers(), Numbers(), Numbers()
    sends, receives = (channels.of(first.of(*side[:2]), second.of(*side[2:])) for side in (sent, received))
    out = np.empty(len(receives), "i4")
    kernel.match(sends, receives, np.empty(channels.count, "i4"), np.empty(len(sends), "i4"), out)
    return out


def messages(sends: Ends, receives: Ends, mode: NDArray[np.uint8], equal: bool = False) -> tuple[Messages, int]:
    """Return the matched messages, sorted by sending call, and how many pairs have ends of different size; no messages, if `equal`.

    Matching is first in, first out per (sender, receiver, tag, communicator) in the order receives were posted; records that
    carry a message number are matched by sender, receiver and that. The receiver's size counts (MPI 3.1, 3.5; FORMATS of ALOG:
    actual bytes). The ends are used up.
    """
    by_id = any(ends.id is not None and bool((ends.id != NONE).any()) for ends in (sends, receives))
    by = _receive_of_each(sends, receives, by_id)
    s: slice | Ints = slice(None)
    if not ((by >= 0).all() and _sorted(sends.call)):
        s = np.flatnonzero(by >= 0)
        s = s[np.argsort(sends.call[s], kind="stable")]
    if equal and (wrong := _contradicting(sends, receives, by, s)).any():
        s = (np.arange(len(by)) if isinstance(s, slice) else s)[~wrong]
    else:
        wrong = np.zeros(0, bool)
    r = by[s]
    del by
    table = Messages(
        *(_i4(sends.call[s]), _i4(sends.done[s]), _i4(receives.call[r]), _i4(receives.done[r])),
        *(_i4(sends.tag[s]), np.maximum(_i4(sends.comm[s]), np.int32(NONE)), mode[s], receives.bytes[r].astype("i8", copy=False)),
    )
    return table, int(wrong.sum()) if equal else int((sends.bytes[s] != table.bytes).sum())


def _contradicting(sends: Ends, receives: Ends, by: NDArray[np.int32], s: slice | Ints) -> NDArray[np.bool_]:
    """Return which of the sends `s` went to a receive of another size."""
    return np.asarray(sends.bytes[s] != receives.bytes[by[s]], bool)


def _receive_of_each(sends: Ends, receives: Ends, by_id: bool) -> NDArray[np.int32]:
    """Return the receive that takes each send, or -1. Who takes part, and what of receives says which, is forgotten."""
    sent, received = _key(sends, sends.rank, sends.peer, by_id), _key(receives, receives.peer, receives.rank, by_id)
    sends.rank = sends.peer = receives.rank = receives.peer = receives.tag = receives.comm = np.empty(0, "i4")
    if _sorted(receives.call):
        taken = fifo(sent, received)
    else:
        order = np.argsort(receives.call, kind="stable")
        taken = np.empty(len(order), "i4")
        taken[order] = fifo(sent, [column[order] for column in received])
    by = np.full(len(sends.call), NONE, "i4")
    for piece in pieces(len(taken)):
        found = np.flatnonzero(taken[piece] >= 0)
        by[taken[piece][found]] = found + piece.start
    return by


def _i4(column: Column) -> NDArray[np.int32]:
    return column.astype("i4", copy=False)


def _sorted(column: Column) -> bool:
    return bool((column[1:] >= column[:-1]).all())


def _key(ends: Ends, sender: Column, receiver: Column, by_id: bool) -> list[Column]:
    if not by_id:
        return [sender, receiver, ends.tag, ends.comm]
    number = ends.id if ends.id is not None else np.full(len(sender), NONE)
    named = number != NONE
    return [sender, receiver, np.where(named, number, ends.tag), np.where(named, _BY_ID, ends.comm)]


def requests(
    posted: Ints, posted_location: Ints, posted_id: Ints, completed: Ints, completed_location: Ints, completed_id: Ints
) -> Requests:
    """Return one row per posted request: the k-th posting of an id on a location goes with the k-th completion of it.

    Completions that come when nothing of that id is left to complete belong to no request.
    """
    at = np.argsort(posted, kind="stable")
    then = np.argsort(completed, kind="stable")
    number = Numbers()
    first, second = number.of(posted_location[at], posted_id[at]), number.of(completed_location[then], completed_id[then])
    then = then[_possible(first, posted[at], second, completed[then])]
    zeros = np.zeros(max(len(at), len(then)), "i1")
    taken = fifo(
        [posted_location[at], posted_id[at], zeros[: len(at)], zeros[: len(at)]],
        [completed_location[then], completed_id[then], zeros[: len(then)], zeros[: len(then)]],
    )
    by = np.full(len(at), NONE, "i4")
    found = taken >= 0
    by[taken[found]] = completed[then[found]]
    return Requests(posted[at].astype("i4"), by, np.zeros(len(by), "u1"))


def _possible(posted: NDArray[np.int32], post: Ints, completed: NDArray[np.int32], completion: Ints) -> NDArray[np.bool_]:
    """Return which completions find a request of their number that is posted and not yet completed."""
    number = np.concatenate([posted, completed])
    change = np.repeat([1, -1], [len(posted), len(completed)])
    order = np.lexsort((-change, np.concatenate([post, completion]), number))
    sum_so_far = np.cumsum(change[order])
    head = np.flatnonzero(np.diff(number[order], prepend=-1))
    size = np.diff(np.append(head, len(order)))
    left = sum_so_far - np.repeat(sum_so_far[head] - change[order][head], size)
    # One running minimum for all numbers: each lies below everything of the number before.
    drop = np.repeat(np.arange(len(head)) * (2 * len(order) + 1), size)
    lowest = np.minimum(np.minimum.accumulate(left - drop) + drop, 0)
    before = np.concatenate([[0], lowest[:-1]])[: len(order)]
    before[head] = 0
    out = np.empty(len(order), bool)
    out[order] = lowest == before
    return out[len(posted) :]


def completions(op: NDArray[np.uint8], requests: Requests) -> NDArray[np.int32]:
    """Return the call that completes what each call starts: itself, or the one that completes its request; -1 unknown."""
    out = np.arange(len(op), dtype="i4")
    out[ops.NONBLOCKING[op]] = NONE
    out[requests.posted_by] = requests.completed_by
    return out


@dataclasses.dataclass
class Instances:
    """The collectives of a trace, their members, and what could not be matched."""

    collectives: Collectives
    members: Members
    unmatched: int
    incomplete: int
    rootless: int


def collectives(
    calls: Calls,
    done: NDArray[np.int32],
    process: Ints,
    sequence: Ints,
    traffic: NDArray[np.uint8],
    comms: Communicators,
    enter: Ints,
) -> Instances:
    """Return the instances of collectives, sorted by (communicator, sequence), members in communicator rank order.

    `process` is the rank of each location. `sequence` numbers the collective calls of a rank within its communicator; -1 means: count
    them, those of several threads in order of `enter`. Where ranks disagree about the routine, that instance and, if counted, all
    later ones of its communicator stay unmatched (MPI 3.1, 5.12: same order on all ranks). `traffic` (1 sent, 2 received internally)
    tells the root where the trace does not name it.
    """
    process = process.astype("i4")
    e = np.flatnonzero(ops.COLLECTIVE[calls.op] & (calls.comm >= 0)).astype("i4")
    if len(np.unique(process)) < len(process):
        e = e[np.lexsort((enter[e], process[calls.location[e]]))]
    counted = sequence[e] < 0
    order: NDArray[np.integer[Any]]
    if counted.all():
        order, new = _counted(calls.comm[e], process[calls.location[e]], comms)
    else:
        order, new = _numbered(calls.comm[e], process[calls.location[e]], comms, sequence[e])
    e, counted = e[order], counted[order]
    del order
    comm, start = calls.comm[e], np.flatnonzero(new)
    group = np.cumsum(new, dtype="i4")
    group -= 1
    good = _agreeing(calls.op[e], comm, counted, start, group)
    sizes = np.diff(np.append(start, len(e)))[good]
    first = (np.cumsum(sizes) - sizes).astype("i4")
    kept = e[good[group]]
    members = Members(np.repeat(np.arange(len(sizes), dtype="i4"), sizes), kept, done[kept])
    head = e[start[good]]
    table = Collectives(calls.op[head], calls.comm[head], _roots(calls, members, first, traffic, process), first)
    rooted = np.isin(ops.KIND[table.op], (ops.ONE_TO_N, ops.N_TO_ONE))
    return Instances(
        *(table, members, int(ops.COLLECTIVE[calls.op].sum()) - len(members)),
        *(int((sizes != comms.sizes()[table.comm]).sum()), int((rooted & (table.root < 0)).sum())),
    )


def _counted(comm: NDArray[np.int32], rank: NDArray[np.int32], comms: Communicators) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the collective calls by (communicator, how many before, rank in it), and which begin an instance; strangers left out."""
    step = running(rank, comm)
    steps = np.zeros(len(comms), "i8")
    np.maximum.at(steps, comm, step + 1)
    step += (np.cumsum(steps) - steps).astype("i4")[comm]
    rank = _rank_in(comms, comm, rank)
    order = np.flatnonzero(rank >= 0).astype("i4")
    if not _sorted(rank[order]):
        order = order[_grouped(rank[order])]
    order = order[_grouped(step[order])]
    step = step[order]
    return order, np.concatenate([np.ones(min(len(order), 1), bool), step[1:] != step[:-1]])


def _numbered(
    comm: NDArray[np.int32], rank: NDArray[np.int32], comms: Communicators, sequence: Ints
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what `_counted` does where some calls have a number in `sequence`, the others -1."""
    step = np.where(sequence < 0, running(rank, comm), sequence)
    again = running(Numbers().of(rank, comm), step)
    rank = _rank_in(comms, comm, rank)
    order = np.lexsort((rank, again, step, comm))
    order = order[rank[order] >= 0]
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in (step, again, comm)])
    return order, new


def _grouped(key: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows of small numbers, sorted by them, equal ones in order."""
    counts = np.zeros(int(key.max(initial=-1)) + 1, "i4")
    sorting.count(key, counts)
    out = np.empty(len(key), "i4")
    sorting.group(key, np.cumsum(counts, dtype="i4") - counts, out)
    return out


def _rank_in(comms: Communicators, comm: NDArray[np.int32], rank: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rank in the communicator of each world rank, -1 for strangers."""
    owner = np.repeat(np.arange(len(comms)), comms.sizes())
    known = Numbers()
    known.of(owner, comms.ranks)
    count = known.count
    out = known.of(comm, rank)
    strange = out >= count
    out -= comms.first.astype("i4")[comm]
    out[strange] = NONE
    return out


def _agreeing(
    op: NDArray[np.uint8], comm: NDArray[np.int32], counted: NDArray[np.bool_], start: Ints, group: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return per instance whether all members call the same routine, and no counted instance before it went wrong."""
    wrong = np.zeros(len(start), bool)
    wrong[group[op != op[start][group]]] = True
    broken = np.cumsum(wrong & counted[start])
    head = np.flatnonzero(np.diff(comm[start], prepend=-1))
    size = np.diff(np.append(head, len(start)))
    earlier: Ints = np.repeat(broken[head] - (wrong & counted[start])[head], size)
    return ~wrong & ~((broken > earlier) & counted[start])


def _roots(calls: Calls, members: Members, first: NDArray[np.int32], traffic: NDArray[np.uint8], process: Ints) -> NDArray[np.int32]:
    """Return the root per instance: as recorded, else the one member whose internal traffic only leaves (or only enters), else -1."""
    if not len(first):
        return np.empty(0, "i4")
    kind = ops.KIND[calls.op[members.call]]
    pure = ((kind == ops.ONE_TO_N) & (traffic[members.call] == 1)) | ((kind == ops.N_TO_ONE) & (traffic[members.call] == 2))
    alone = np.add.reduceat(pure.astype("i4"), first) == 1
    rank = process[calls.location[members.call]]
    inferred = np.where(alone, np.maximum.reduceat(np.where(pure, rank, -1), first), -1)
    recorded = np.maximum.reduceat(calls.root[members.call], first)
    return np.where(recorded >= 0, recorded, inferred).astype("i4")
