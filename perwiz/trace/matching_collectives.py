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
from perwiz.trace.arrays import I4, I8, U1, U2, Ints, Mask
from perwiz.trace.matching import is_sorted
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE, Calls, Collectives, Members
from perwiz.trace.trace import Communicators

_SPARSE = 64
"""Largest rank, in members of all communicators together, up to which a table over all ranks is made."""


@dataclasses.dataclass
class CollectiveInstances:
    """The collectives of a trace, their members, and what could not be matched."""

    collectives: Collectives
    members: Members
    unmatched: int
    incomplete: int
    rootless: int


def collectives(calls: Calls, done: I4, process: I8, sequence: I8, traffic: U1, comms: Communicators, enter: I8) -> CollectiveInstances:
    """Return the instances of collectives, sorted by (communicator, sequence), members in communicator rank order.

    `process` is the rank of each location. `sequence` numbers the collective calls of a rank within its communicator; -1 means: count
    them, those of several threads in order of `enter`. Where ranks disagree about the routine, that instance and, if counted, all
    later ones of its communicator stay unmatched (MPI 3.1, 5.12: same order on all ranks). `traffic` (1 sent, 2 received internally)
    tells the root where the trace does not name it.
    """
    rank_of = process.astype("i4")
    call = np.flatnonzero(operations.COLLECTIVE[calls.op] & (calls.comm >= 0)).astype("i4")
    if len(np.unique(rank_of)) < len(rank_of):
        call = call[np.lexsort((enter[call], rank_of[calls.location[call]]))]
    order, begins, counted = _instance_order(calls.comm[call], rank_of[calls.location[call]], comms, sequence[call])
    call, start = call[order], np.flatnonzero(begins)
    instance = np.cumsum(begins, dtype="i4") - np.int32(1)
    good = _agreeing(calls.op[call], calls.comm[call], counted, start, instance)
    sizes, head = np.diff(np.append(start, len(call))), call[start]
    if not good.all():
        sizes, call, head = sizes[good], call[good[instance]], head[good]
    first = (np.cumsum(sizes) - sizes).astype("i4")
    members = Members(np.repeat(np.arange(len(sizes), dtype="i4"), sizes), call, done[call])
    table = Collectives(calls.op[head], calls.comm[head], _roots(calls, members, first, traffic, process), first)
    rooted = np.isin(operations.KIND[table.op], (operations.ONE_TO_N, operations.N_TO_ONE))
    return CollectiveInstances(
        table,
        members,
        unmatched=int((operations.COLLECTIVE & operations.OF_PROCESSES)[calls.op].sum()) - len(members),
        incomplete=int((sizes != comms.sizes()[table.comm]).sum()),
        rootless=int((rooted & (table.root < 0)).sum()),
    )


def with_teams(instances: CollectiveInstances, op: U2, call: Ints, team: Ints) -> CollectiveInstances:
    """Return instances with those of barriers of threads behind them, a row a team in ascending order, members in order of their calls.

    `op` is the routine of each call, `call` are the barriers, none twice, `team` is a number that those which belong together share.
    Where they disagree about the routine, they are unmatched.

    call      7 2 5 9     of routines b b b c
    team      4 3 4 3
    members   5 7         behind: 2 and 9 call b and c
    """
    order = np.lexsort((call, team))
    call, team = call[order], team[order]
    begins = np.diff(team, prepend=team[:1] - 1) != 0
    start, instance = np.flatnonzero(begins), np.cumsum(begins) - 1
    good = np.ones(len(start), bool)
    good[instance[op[call] != op[call[start]][instance]]] = False
    unmatched = int(np.count_nonzero(~good[instance]))
    call, sizes = call[good[instance]].astype("i4"), np.diff(np.append(start, len(call)))[good]
    first, none = np.cumsum(sizes) - sizes, np.full(len(sizes), NONE, "i4")
    old, members = instances.collectives, instances.members
    row = (np.repeat(np.arange(len(sizes)), sizes) + len(old)).astype("i4")
    table = Collectives(
        np.append(old.op, op[call[first]]),
        np.append(old.comm, none),
        np.append(old.root, none),
        np.append(old.first_member, (first + len(members)).astype("i4")),
    )
    joined = Members(np.append(members.collective, row), np.append(members.call, call), np.append(members.done, call))
    return dataclasses.replace(instances, collectives=table, members=joined, unmatched=instances.unmatched + unmatched)


def _instance_order(comm: I4, rank: I4, comms: Communicators, sequence: I8) -> tuple[I4 | I8, Mask, Mask]:
    """Return the collective calls by (communicator, sequence, rank in it), which begin an instance, and which are counted.

    Calls of ranks that are not in their communicator are left out.
    """
    counted = sequence < 0
    order: I4 | I8
    if counted.all():
        order, begins = _count_instances(comm, rank, comms)
    else:
        order, begins = _number_instances(comm, rank, comms, sequence)
    return order, begins, counted[order]


def _count_instances(comm: I4, rank: I4, comms: Communicators) -> tuple[I4, Mask]:
    """Return the collective calls by (communicator, how many before, rank in it), and which begin an instance.

    comm    0 0 1 0 0 1
    rank    1 1 1 0 0 0    the communicators have the ranks (0, 1) and (1, 0)
    order   3 0 4 1 2 5
    begins  1 0 1 0 1 0
    """
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

    Ranks stay as they are where they are small and all occur; else only those that do have one. A file may name any: those in no
    communicator share the number behind the last.

        communicators (0, 1) and (1, 0); rank   1 0 9
        ranks as numbers                        1 0 2
        first membership of 0, 1, 2, and the end   0 2 4 4    memberships (0, 0) (1, 1) (0, 1) (1, 0)
    """
    ranks: NDArray[np.signedinteger[Any]] = comms.ranks
    last = int(ranks.max(initial=-1))
    if last > _SPARSE * (len(ranks) + 1):
        distinct = np.unique(ranks)
        last, ranks = len(distinct) - 1, np.searchsorted(distinct, ranks)
        number = np.minimum(np.searchsorted(distinct, rank), last)
        rank = np.where(distinct[number] == rank, number, last + 1).astype("i4")
    elif rank.max(initial=-1) > last:
        rank = np.minimum(rank, last + 1).astype("i4")
    occurs = np.zeros(last + 2, bool)
    occurs[rank] = True
    membership: I8 = np.flatnonzero(occurs[ranks])
    if len(membership) < len(ranks):
        number = np.cumsum(occurs, dtype="i4") - np.int32(1)
        last, ranks, rank = int(number[last]), number[ranks[membership]], number[rank]
    owner = np.searchsorted(comms.first, membership, "right") - 1
    place = membership - comms.first[owner]
    order = np.argsort(ranks, kind="stable")
    first = np.searchsorted(ranks[order], np.arange(last + 3)).astype("i4")
    members = np.empty(len(order), kernel.MEMBER).view(np.recarray)
    members.comm, members.place = owner[order], place[order]
    return rank, first, members


def _number_instances(comm: I4, rank: I4, comms: Communicators, sequence: I8) -> tuple[I8, Mask]:
    """Return what `_count_instances` does where some calls have a number in `sequence`, the others -1.

    A number that comes again on a rank is the next round of it.
    """
    step = np.where(sequence < 0, running(rank, comm), sequence)
    again = running(Numbers().number(rank, comm), step)
    place = rank_in(comms, comm, rank)
    order = np.lexsort((place, again, step, comm))
    order = order[place[order] >= 0]
    begins = np.ones(len(order), bool)
    begins[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in (step, again, comm)])
    return order, begins


def _grouped(key: I4) -> I4:
    """Return the rows of small numbers, sorted by them, equal ones in order."""
    counts = np.zeros(int(key.max(initial=-1)) + 1, "i4")
    sorting.count(key, counts)
    out = np.empty(len(key), "i4")
    sorting.group(key, np.cumsum(counts, dtype="i4") - counts, out)
    return out


def rank_in(comms: Communicators, comm: I4, rank: I4) -> I4:
    """Return the rank in the communicator of each world rank, -1 of those that are not in it."""
    memberships = Numbers()
    memberships.number(np.repeat(np.arange(len(comms)), comms.sizes()), comms.ranks)
    count = memberships.count
    out = memberships.number(comm, rank)
    return np.where(out < count, out - comms.first.astype("i4")[comm], np.int32(NONE))


def _agreeing(op: U2, comm: I4, counted: Mask, start: I8, instance: I4) -> Mask:
    """Return per instance whether all members call the same routine, and no counted instance before it went wrong.

    instance      0 1 2 3     of communicators 0 0 0 1, all counted
    disagrees     0 1 0 0
    good          1 0 0 1
    """
    wrong = np.zeros(len(start), bool)
    wrong[instance[op != op[start][instance]]] = True
    spoils = wrong & counted[start]
    spoiled = np.cumsum(spoils)
    head = np.flatnonzero(np.diff(comm[start], prepend=-1))
    size = np.diff(np.append(head, len(start)))
    earlier_comms: I8 = np.repeat(spoiled[head] - spoils[head], size)
    return ~wrong & ~((spoiled > earlier_comms) & counted[start])


def _roots(calls: Calls, members: Members, first: I4, traffic: U1, process: I8) -> I4:
    """Return the root per instance: as recorded, else the one member whose internal traffic only leaves (or only enters), else -1.

    members of    Bcast of ranks 0 1 2    Reduce of ranks 0 1 2
    traffic                      2 1 2                    1 1 1    1 sent, 2 received internally
    root                           1                       -1
    """
    out = np.full(len(first), NONE, "i4")
    rooted = np.flatnonzero(np.isin(operations.KIND[calls.op[members.call[first]]], (operations.ONE_TO_N, operations.N_TO_ONE)))
    if len(rooted):
        sizes = np.diff(np.append(first, len(members)))[rooted]
        begin = np.cumsum(sizes) - sizes
        call = members.call[np.repeat(first[rooted] - begin, sizes) + np.arange(sizes.sum())]
        kind = operations.KIND[calls.op[call]]
        one_way = ((kind == operations.ONE_TO_N) & (traffic[call] == 1)) | ((kind == operations.N_TO_ONE) & (traffic[call] == 2))
        single = np.add.reduceat(one_way.astype("i4"), begin) == 1
        inferred = np.where(single, np.maximum.reduceat(np.where(one_way, process[calls.location[call]], -1), begin), -1)
        recorded = np.maximum.reduceat(calls.root[call], begin)
        out[rooted] = np.where(recorded >= 0, recorded, inferred)
    return out
