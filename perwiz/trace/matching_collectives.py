"""Which collective calls belong together: calls to instances."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import match as kernel
from perwiz.kernels import names
from perwiz.kernels import order as sorting
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Mask
from perwiz.trace.matching import is_sorted
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE, Calls, Collectives, Members
from perwiz.trace.trace import Communicators

_SPARSE = 64
"""Largest rank, in members of all communicators together, up to which a table over all ranks is made."""


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
    done: I4,
    process: I8,
    sequence: I8,
    traffic: U1,
    comms: Communicators,
    enter: I8,
) -> Instances:
    """Return the instances of collectives, sorted by (communicator, sequence), members in communicator rank order.

    `process` is the rank of each location. `sequence` numbers the collective calls of a rank within its communicator; -1 means: count
    them, those of several threads in order of `enter`. Where ranks disagree about the routine, that instance and, if counted, all
    later ones of its communicator stay unmatched (MPI 3.1, 5.12: same order on all ranks). `traffic` (1 sent, 2 received internally)
    tells the root where the trace does not name it.
    """
    process = process.astype("i4")
    e = np.flatnonzero(operations.COLLECTIVE[calls.op] & (calls.comm >= 0)).astype("i4")
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
    sizes, kept, head = np.diff(np.append(start, len(e))), e, e[start]
    if not good.all():
        sizes, kept, head = sizes[good], e[good[group]], head[good]
    first = (np.cumsum(sizes) - sizes).astype("i4")
    members = Members(np.repeat(np.arange(len(sizes), dtype="i4"), sizes), kept, done[kept])
    table = Collectives(calls.op[head], calls.comm[head], _roots(calls, members, first, traffic, process), first)
    rooted = np.isin(operations.KIND[table.op], (operations.ONE_TO_N, operations.N_TO_ONE))
    return Instances(
        *(table, members, int(operations.COLLECTIVE[calls.op].sum()) - len(members)),
        *(int((sizes != comms.sizes()[table.comm]).sum()), int((rooted & (table.root < 0)).sum())),
    )


def _counted(comm: I4, rank: I4, comms: Communicators) -> tuple[I4, Mask]:
    """Return the collective calls by (communicator, how many before, rank in it), and which begin an instance; strangers left out."""
    rank, first, members = _memberships(comms, rank)
    seen = np.zeros(len(comms), kernel.SEEN).view(np.recarray)
    seen.rank = names.NOBODY
    step, place = np.empty(len(rank), "i4"), np.empty(len(rank), "i4")
    kernel.number_rounds(rank, comm, first, members, seen, step, place)
    if len(comms) > 1:
        step += (np.cumsum(seen.most) - seen.most).astype("i4")[comm]
    order = np.flatnonzero(place >= 0).astype("i4")
    if not is_sorted(place[order]):
        order = order[_grouped(place[order])]
    order = order[_grouped(step[order])]
    step = step[order]
    return order, np.concatenate([np.ones(min(len(order), 1), bool), step[1:] != step[:-1]])


def _memberships(comms: Communicators, rank: I4) -> tuple[I4, I4, np.recarray[Any, Any]]:
    """Return ranks as small numbers, where the memberships of each begin, and (communicator, rank in it) per membership.

    Ranks stay as they are where they are small. A file may name any: those in no communicator share the number behind the last.
    """
    owner = np.repeat(np.arange(len(comms)), comms.sizes())
    place = np.arange(len(owner)) - comms.first[owner]
    ranks: NDArray[np.signedinteger[Any]] = comms.ranks
    last = int(ranks.max(initial=-1))
    if last > _SPARSE * (len(ranks) + 1):
        known = np.unique(ranks)
        last, ranks = len(known) - 1, np.searchsorted(known, ranks)
        at = np.minimum(np.searchsorted(known, rank), last)
        rank = np.where(known[at] == rank, at, last + 1).astype("i4")
    elif rank.max(initial=-1) > last:
        rank = np.minimum(rank, last + 1).astype("i4")
    order = np.argsort(ranks, kind="stable")
    first = np.searchsorted(ranks[order], np.arange(last + 3)).astype("i4")
    members = np.empty(len(order), kernel.MEMBER).view(np.recarray)
    members.comm, members.place = owner[order], place[order]
    return rank, first, members


def _numbered(comm: I4, rank: I4, comms: Communicators, sequence: I8) -> tuple[I8, Mask]:
    """Return what `_counted` does where some calls have a number in `sequence`, the others -1."""
    step = np.where(sequence < 0, running(rank, comm), sequence)
    again = running(Numbers().of(rank, comm), step)
    rank = _rank_in(comms, comm, rank)
    order = np.lexsort((rank, again, step, comm))
    order = order[rank[order] >= 0]
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in (step, again, comm)])
    return order, new


def _grouped(key: I4) -> I4:
    """Return the rows of small numbers, sorted by them, equal ones in order."""
    counts = np.zeros(int(key.max(initial=-1)) + 1, "i4")
    sorting.count(key, counts)
    out = np.empty(len(key), "i4")
    sorting.group(key, np.cumsum(counts, dtype="i4") - counts, out)
    return out


def _rank_in(comms: Communicators, comm: I4, rank: I4) -> I4:
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


def _agreeing(op: U1, comm: I4, counted: Mask, start: I8, group: I4) -> Mask:
    """Return per instance whether all members call the same routine, and no counted instance before it went wrong."""
    wrong = np.zeros(len(start), bool)
    wrong[group[op != op[start][group]]] = True
    broken = np.cumsum(wrong & counted[start])
    head = np.flatnonzero(np.diff(comm[start], prepend=-1))
    size = np.diff(np.append(head, len(start)))
    earlier: I8 = np.repeat(broken[head] - (wrong & counted[start])[head], size)
    return ~wrong & ~((broken > earlier) & counted[start])


def _roots(calls: Calls, members: Members, first: I4, traffic: U1, process: I8) -> I4:
    """Return the root per instance: as recorded, else the one member whose internal traffic only leaves (or only enters), else -1."""
    out = np.full(len(first), NONE, "i4")
    rooted = np.flatnonzero(np.isin(operations.KIND[calls.op[members.call[first]]], (operations.ONE_TO_N, operations.N_TO_ONE)))
    if len(rooted):
        sizes = np.diff(np.append(first, len(members)))[rooted]
        begin = np.cumsum(sizes) - sizes
        call = members.call[np.repeat(first[rooted] - begin, sizes) + np.arange(sizes.sum())]
        kind = operations.KIND[calls.op[call]]
        pure = ((kind == operations.ONE_TO_N) & (traffic[call] == 1)) | ((kind == operations.N_TO_ONE) & (traffic[call] == 2))
        alone = np.add.reduceat(pure.astype("i4"), begin) == 1
        rank = process[calls.location[call]]
        inferred = np.where(alone, np.maximum.reduceat(np.where(pure, rank, -1), begin), -1)
        recorded = np.maximum.reduceat(calls.root[call], begin)
        out[rooted] = np.where(recorded >= 0, recorded, inferred)
    return out
