"""What collectives cost, fitted to the recorded ones: from the last entry that a member needs to its exit.

Waiting only makes a member's part longer: so of parts alike that at the lower quartile counts, and in a tree the farthest place of all,
which tells its depth. Lines through those of different sizes are the costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perwiz.loggps import collectives, instances
from perwiz.loggps.collectives import ALL, MEMBERS, OTHERS, ROOT, CollectiveCost
from perwiz.loggps.inner import last_before
from perwiz.loggps.instances import Parts
from perwiz.loggps.machine import Estimate, Unknown
from perwiz.loggps.rounds import MOVES
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.spread.instances import whole_instances
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_NEAR = 0.1
"""Part of a cost by which a line may miss it."""
_ENOUGH = 4
"""Instances of which one is below the lower quartile: fewer tell neither the depth of a tree nor what one away from its root takes."""


class Fitted(NamedTuple):
    """Costs of collectives as a trace tells them."""

    costs: tuple[CollectiveCost, ...]
    estimates: tuple[Estimate, ...]
    """One per cost, in their order: its value is the cost at `from_bytes`, counts are of instances."""
    unknown: tuple[Unknown, ...]
    """Routines of which no instance tells what it costs."""


class _Kind(NamedTuple):
    """Parts whose costs make one curve over sizes."""

    op: int
    processes: int
    members: int
    """Row of MEMBERS."""


class _Points(NamedTuple):
    """What instances of one kind cost that are of sizes within a factor of two, the size of one of them, and how many there are."""

    kind: I8
    size: I8
    cost: I8
    telling: I8


def fitted_collectives(trace: Trace) -> Fitted:
    """Return the costs of the routines that synchronise or move data, by routine, processes, members and bytes; empty without any."""
    trace = whole_instances(trace, trace.timeline).trace
    share = trace.share
    of = instances.parts(trace, _members(trace))
    if not share.any(len(of.row)):
        return Fitted((), (), ())
    part, tells, against = _times(trace, of)
    code = (of.op.astype("i8") << 40) | (of.processes << 8) | of.members
    every = share.distinct(code)
    kinds, kind = [_Kind(each >> 40, each >> 8 & 0xFFFFFFFF, each & 0xFF) for each in every.tolist()], np.searchsorted(every, code)
    told = _typical(trace, kinds, _Telling(trace, of, kind, part, tells & ~against[of.collective]))
    disturbed = share.reduced(_instances(of, kind, against[of.collective], len(kinds)), "sum").tolist()
    estimates = {}
    for number in np.unique(told.kind).tolist():
        for cost, telling in _lines(told, np.flatnonzero(told.kind == number), kinds[number]):
            estimates[cost] = Estimate(str(cost), "", cost.first_ns, telling, disturbed[number])
    costs = collectives.checked(estimates)
    silent = np.setdiff1d(np.arange(len(kinds)), told.kind).tolist()
    unknown = tuple(_unknown(kinds[number], disturbed[number]) for number in silent)
    return Fitted(costs, tuple(estimates[cost] for cost in costs), unknown)


def _unknown(kind: _Kind, disturbed: int) -> Unknown:
    whose = {ALL: "", ROOT: " at its root", OTHERS: " away from its root"}[kind.members]
    few = f"in fewer than {_ENOUGH} instances alike did" if kind.members == OTHERS else "in none of its instances did"
    why = "clocks contradict its instances" if disturbed else f"{few} a member wait for the last it needs"
    return Unknown("collectives", "", (), f"what {operations.OPS[kind.op]} of {kind.processes} processes costs{whose}: {why}")


def _members(trace: Trace) -> I8:
    """Return the members with a known end of complete instances, of several processes, that move data; of rooted ones only if known."""
    table, members = trace.collectives, trace.members
    if not len(table):
        return np.zeros(0, "i8")
    count = np.diff(np.append(table.first_member, len(members)))
    kind = operations.KIND[table.op]
    free = (kind == operations.N_TO_N) | (kind == operations.PREFIX)
    whole = MOVES[table.op] & (count == instances.processes(trace)) & (count > 1) & (free | (table.root >= 0))
    return np.flatnonzero(np.repeat(whole, count) & (members.done != NONE))


def _times(trace: Trace, of: Parts) -> tuple[I8, Mask, Mask]:
    """Return (ns from the last entry that each part needs to its exit, which tell a cost, which instances contradict their clocks).

    What a member away from the root waits for inside a tree is not known: the last that came before it left is taken. If in a broadcast
    that is not the root, the part tells nothing of its depth.

        broadcast from     0   1   2   3
        enter             10   0   2  30
        leave             12  20  25  40
        part               2  10  15  10   rank 3 came after the root, all others tell
    """
    members, times, table = trace.members, trace.timeline.calls, trace.collectives
    call, done = members.call[of.row], members.done[of.row]
    entered = times.enter[members.call]
    enter, begin, leave = entered[of.row], times.enter[done], times.leave[done]
    kind, rooted = operations.KIND[of.op], of.members != ALL
    last = np.maximum.reduceat(entered, table.first_member)[of.collective]
    needed = np.where((kind == operations.N_TO_ONE) & (of.members == ROOT), last, enter)
    needed = np.where(kind == operations.N_TO_N, last, needed)
    prefix = kind == operations.PREFIX
    needed[prefix] = _so_far(trace, entered)[of.row[prefix]]
    root = np.full(len(table), np.iinfo("i8").min)
    root[of.collective[of.members == ROOT]] = enter[of.members == ROOT]
    from_root = (kind == operations.ONE_TO_N) & (of.members == OTHERS)
    needed = np.where(from_root, np.maximum(needed, root[of.collective]), needed)
    against = np.zeros(len(table), bool)
    against[of.collective[leave < needed]] = True
    inner = rooted & ~((kind == operations.N_TO_ONE) & (of.members == ROOT))
    needed[inner] = np.maximum(needed[inner], _before(trace, of, inner, leave))
    tells = (call == done) | (needed >= begin)
    tells &= ~from_root | (root[of.collective] >= needed)
    tells &= (kind != operations.N_TO_ONE) | (of.members != ROOT) | (last > enter)
    return leave - np.maximum(needed, begin), tells, against


def _so_far(trace: Trace, entered: I8) -> I8:
    """Return, per member, the last entry of it and the members of lower rank."""
    order = np.argsort(entered, kind="stable")
    place = np.empty(len(order), "i8")
    place[order] = np.arange(len(order))
    key = trace.members.collective.astype("i8") * len(order) + place
    return entered[order[np.maximum.accumulate(key) % len(order)]]


def _before(trace: Trace, of: Parts, inner: Mask, leave: I8) -> I8:
    """Return the last entry before the exit, of any member of the instance, for some of the parts; their instances have all members."""
    members = np.flatnonzero(np.isin(trace.members.collective, of.collective[inner]))
    end = np.full(len(trace.members), np.iinfo("i8").max)
    end[of.row] = leave
    entered = trace.timeline.calls.enter[trace.members.call[members]]
    last = np.empty(len(trace.members), "i8")
    last[members] = entered[last_before(trace.members.collective[members], entered, end[members])]
    return last[of.row[inner]]


_ALIKE = np.dtype([(name, "i8") for name in ("kind", "octave", "tree", "place", "part", "size")])
_MANY = np.dtype([(name, "i8") for name in ("kind", "octave", "instances")])
_OCTAVES = 128
"""More than sizes have bits."""


class _Telling:
    """Parts that tell what their kind costs; sizes of one octave are within a factor of two."""

    def __init__(self, trace: Trace, of: Parts, kind: I8, part: I8, tells: Mask) -> None:
        rows = np.flatnonzero(tells)
        self.parts = np.zeros(len(rows), _ALIKE)
        octave = np.frexp(of.size[rows].astype("f8"))[1].astype("i8")
        columns = {"kind": kind[rows], "octave": octave, "place": _places(trace, of)[rows], "part": part[rows], "size": of.size[rows]}
        for name, column in columns.items():
            self.parts[name] = column
        instance = np.unique(np.stack((kind[rows], octave, of.collective[rows]), 1), axis=0)
        first = _begins(instance[:, 0], instance[:, 1])
        self.instances = np.zeros(len(first), _MANY)
        """How many instances of each kind and octave have one."""
        self.instances["kind"], self.instances["octave"] = instance[first, 0], instance[first, 1]
        self.instances["instances"] = np.diff(np.append(first, len(instance)))


def _typical(trace: Trace, kinds: Sequence[_Kind], told: _Telling) -> _Points:
    """Return the points of each kind, by kind and size.

    Of the parts that tell, those of the same place in the algorithm, the rank behind the root, are alike in all instances: of each
    place that at the lower quartile. Of the places of a tree, those with enough instances, the largest is the cost, its depth; where all
    wait for all, or no place has enough, the middle one.

        place                1         2         3
        parts          10 11 40 50  20 20 23 24  12 14 90      the last has but three instances
        at the quartile     10           20          12         cost of a broadcast 20, of an allreduce 12
    """
    share, free = trace.share, np.array([operations.KIND[kind.op] == operations.N_TO_N for kind in kinds])
    alike = share.by_key(told.parts["place"] + told.parts["octave"], told.parts)
    alike = alike[np.lexsort([alike[name] for name in ("size", "part", "place", "octave", "kind")])]
    first = _begins(alike["kind"], alike["octave"], alike["place"])
    many = np.diff(np.append(first, len(alike)))
    of_place = alike[first + (many - 1) // 4]
    of_place["tree"] = (many >= _ENOUGH) & ~free[of_place["kind"]]
    of_place = share.by_key(of_place["kind"] * _OCTAVES + of_place["octave"], of_place)
    of_place = of_place[np.lexsort([of_place[name] for name in ("size", "part", "tree", "octave", "kind")])]
    first = _begins(of_place["kind"], of_place["octave"])
    count = np.diff(np.append(first, len(of_place)))
    largest = first + count - 1
    chosen = share.rows(of_place[np.where(of_place["tree"][largest] > 0, largest, first + (count - 1) // 2)])
    chosen = chosen[np.lexsort((chosen["octave"], chosen["kind"]))]
    telling = np.zeros(len(chosen), "i8")
    key, each = chosen["kind"] * _OCTAVES + chosen["octave"], share.rows(told.instances)
    np.add.at(telling, np.searchsorted(key, each["kind"] * _OCTAVES + each["octave"]), each["instances"])
    inner = np.array([kind.members == OTHERS for kind in kinds])[chosen["kind"]]
    enough = ~inner | (telling >= _ENOUGH)
    return _Points(chosen["kind"][enough], chosen["size"][enough], chosen["part"][enough], telling[enough])


def _places(trace: Trace, of: Parts) -> I8:
    """Return how many ranks of the communicator each part's process is behind the root, or behind the first."""
    first = trace.collectives.first_member
    rank = of.row - first[of.collective]
    root = np.zeros(len(first), "i8")
    root[of.collective[of.members == ROOT]] = rank[of.members == ROOT]
    return (rank - root[of.collective]) % of.processes


def _begins(*keys: I8) -> I8:
    """Return the rows where one of some sorted keys differs from that of the row before."""
    if not len(keys[0]):
        return np.zeros(0, "i8")
    changes = np.logical_or.reduce([np.diff(key) != 0 for key in keys])
    return np.append(0, np.flatnonzero(changes) + 1)


def _instances(of: Parts, kind: I8, chosen: Mask, kinds: int) -> I8:
    """Return how many different instances the chosen parts of each kind are of."""
    pairs = np.unique(np.stack((of.collective[chosen], kind[chosen]), 1), axis=0)
    return np.bincount(pairs[:, 1], minlength=kinds)


def _lines(points: _Points, rows: I8, kind: _Kind) -> list[tuple[CollectiveCost, int]]:
    """Return the costs through the points of one kind and how many instances tell each: lines as long as all points are near them.

    Beyond the largest size it stays: nothing tells how it goes on.
    """
    size, cost, telling = points.size[rows], points.cost[rows].astype("f8"), points.telling[rows]
    routine, out, first = operations.OPS[kind.op], [], 0
    while True:
        end = _reach(size, cost, first)
        slope = max(0.0, float(cost[end] - cost[first]) / float(size[end] - size[first])) if end > first else 0.0
        row = CollectiveCost(routine, kind.processes, MEMBERS[kind.members], int(size[first]), float(cost[first]), float(f"{slope:.4g}"))
        out.append((row, int(telling[first : max(end, first + 1)].sum())))
        if end == first:
            return out
        first = end


def _reach(size: I8, cost: F8, first: int) -> int:
    """Return the last point that a line from the first reaches so that it rises and all points between are near it."""
    end = min(first + 1, len(size) - 1)
    for last in itertools.takewhile(lambda last: cost[last] >= cost[first], range(first + 2, len(size))):
        line = cost[first] + (cost[last] - cost[first]) / (size[last] - size[first]) * (size[first : last + 1] - size[first])
        if (np.abs(line - cost[first : last + 1]) > _NEAR * cost[first : last + 1]).any():
            break
        end = last
    return end
