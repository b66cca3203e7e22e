"""Clocks of different hosts, by what their ranks do together: no rank leaves before the last has entered, all at about one time."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE, Calls, Collectives, Members, Offsets, Times
from perwiz.words import duration, several

_NAMED = 3
_APART = 10**6
"""What clocks of devices and hosts may be off by where they are not wrong, ns."""
_FEWEST = 3
"""Collectives that ranks leave at one time from which on that is no chance."""
_OFTEN = 0.1
"""Part of the collectives of a rank in which it may nevertheless be alone."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Met:
    """What the ranks of a host do in a collective of several hosts: rows, in order of (collective, host)."""

    collective: I8
    host: I8
    entered: I8
    """When the last of them enters, ns."""
    left: I8
    """When the first of them leaves, ns."""


def offsets(
    nodes: tuple[str, ...], node: I4, calls: Calls, collectives: Collectives, members: Members, times: Times
) -> tuple[Offsets, str]:
    """Return by how much each location is to be moved, and in words which hosts that are; nothing if no clock is proven wrong.

    `node` is the host of each location, those of unknown ones stay. A host is moved by the median by which it leaves collectives before
    another one, or as near to that as lets no rank leave before the last has entered.
    """
    met = _met(node, calls, collectives, members, times)
    if not _wrong(met):
        return Offsets.empty(), ""
    moved, seen = _moved(met, len(nodes)), len(np.unique(met.collective))
    by = np.append(moved, 0)[node] / 1e3
    zero = np.zeros(len(node))
    told = [f"{nodes[k]} {duration(abs(ns))} {'behind' if ns > 0 else 'ahead'}" for k, ns in enumerate(moved.tolist()) if ns]
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    said = f"clocks against {nodes[0]}: {', '.join(told[:_NAMED])}{more}; moved by the ends of {several(seen, 'collective')}"
    return Offsets(np.arange(len(node), dtype="i4"), np.zeros(len(node), "i8"), by, zero, zero), said


class Alone(NamedTuple):
    """A rank that others do not meet in collectives in which all wait for all."""

    rank: int
    often: int
    """In how many it leaves before others come, or comes when they have left."""
    of: int
    most: int
    """By how much at most, ns."""


def alone(process: I4, calls: Calls, collectives: Collectives, members: Members, times: Times, moved: Offsets) -> list[Alone]:
    """Return which ranks cannot have been where most others are, given the rank of each location, and by how much clocks are moved.

    Where all wait for all, each is there from when the last comes to when the first leaves. Who leaves before half of them came, or
    comes when half have left, belongs to others. Of two, or of halves, the first is not named.
    """
    ns = np.zeros(len(process), "i8")
    ns[moved.location] = np.rint(moved.offset * 1e3)
    by = ns[calls.location]
    met = _met(process, calls, collectives, members, Times(times.enter + by, times.leave + by))
    begin = np.flatnonzero(np.diff(met.collective, prepend=-1))
    if not len(begin):
        return []
    count = np.diff(np.append(begin, len(met.host)))
    own = np.repeat(np.arange(len(begin)), count)
    comes = met.entered[np.lexsort((met.entered, met.collective))[begin + count // 2]][own]
    leaves = met.left[np.lexsort((met.left, met.collective))[begin + (count - 1) // 2]][own]
    off = np.maximum(comes - met.left, met.entered - leaves)
    often, of = np.bincount(met.host[off > _APART], minlength=met.host.max() + 1), np.bincount(met.host)
    found = np.flatnonzero(often > np.maximum(_OFTEN * of, 1))
    if len(found) == len(np.unique(met.host)):
        found = found[1:]
    most = np.zeros(len(of), "i8")
    np.maximum.at(most, met.host, off)
    return [Alone(rank, int(often[rank]), int(of[rank]), int(most[rank])) for rank in found.tolist()]


def by_ends(process: I4, calls: Calls, times: Times, sequence: I8) -> I8 | None:
    """Return numbers of collectives by when they end, per call, given the rank of each location; None unless that joins half of those of
    the ranks that have fewest, at least three.

    Where all wait for all, ranks of one job leave at one time. It is asked where no numbers are recorded and their order contradicts the
    times: some collectives are not recorded, and those behind them are not the same. Those of a communicator that leave within a
    millisecond, of each rank one, are one; others are alone.

    rank      0  0  0  1  1
    leaves    5 20 30 20 30 ms
    number    0  1  2  1  2
    """
    row = np.flatnonzero(operations.COLLECTIVE[calls.op] & operations.OF_PROCESSES[calls.op])
    if not len(row) or (sequence[row] >= 0).any() or (operations.KIND[calls.op[row]] != operations.N_TO_N).any():
        return None
    row = row[np.lexsort((times.leave[row], calls.op[row], calls.comm[row]))]
    rank, kind = process[calls.location[row]].tolist(), list(zip(calls.comm[row].tolist(), calls.op[row].tolist(), strict=True))
    number, of, first, there = [], -1, 0, set[int]()
    for k, (leave, who) in enumerate(zip(times.leave[row].tolist(), rank, strict=True)):
        if not k or kind[k] != kind[k - 1] or leave - first > _APART or who in there:
            of, first, there = of + 1, leave, set()
        there.add(who)
        number.append(of)
    joined = np.bincount(number)[number] > 1
    fewest = int(np.unique(rank, return_counts=True)[1].min())
    if np.unique(np.array(number)[joined]).size < max(_FEWEST, fewest / 2):
        return None
    out = np.full(len(sequence), NONE, "i8")
    out[row] = number
    return out


def _met(node: I4, calls: Calls, collectives: Collectives, members: Members, times: Times) -> _Met:
    """Return what hosts do in collectives in which all wait for all."""
    meets = (operations.KIND[collectives.op] == operations.N_TO_N) & operations.OF_PROCESSES[collectives.op]
    host = node[calls.location[members.call]].astype("i8")
    row = np.flatnonzero(meets[members.collective] & (members.done >= 0) & (host >= 0))
    row = row[np.lexsort((host[row], members.collective[row]))]
    collective, host = members.collective[row].astype("i8"), host[row]
    first = np.flatnonzero((np.diff(collective, prepend=-1) != 0) | (np.diff(host, prepend=-1) != 0))
    if not len(first):
        return _Met(*np.zeros((4, 0), "i8"))
    entered = np.maximum.reduceat(times.enter[members.call[row]], first)
    left = np.minimum.reduceat(times.leave[members.done[row]], first)
    collective, host = collective[first], host[first]
    several_hosts = np.bincount(collective)[collective] > 1
    return _Met(*(column[several_hosts] for column in (collective, host, entered, left)))


def _wrong(met: _Met) -> bool:
    """Return whether a host leaves a collective before another one has entered."""
    begin = np.flatnonzero(np.diff(met.collective, prepend=-1))
    if not len(begin):
        return False
    own = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(met.host))))
    latest, soonest = np.maximum.reduceat(met.entered, begin), np.minimum.reduceat(met.left, begin)
    late, soon = np.full((2, len(begin)), -1)
    late[own[met.entered == latest[own]]] = met.host[met.entered == latest[own]]
    soon[own[met.left == soonest[own]]] = met.host[met.left == soonest[own]]
    return bool(((latest > soonest) & (late != soon)).any())


def _moved(met: _Met, hosts: int) -> I8:
    """Return by how much each host is to be moved, ns: the first one stays, each other goes by one that has its place already."""
    out, placed = np.zeros(hosts, "i8"), [0]
    for known in placed:
        beside = np.isin(met.collective, met.collective[met.host == known])
        for other in np.setdiff1d(met.host[beside], placed).tolist():
            out[other] = out[known] + _between(met, known, other)
            placed.append(other)
    return out


def _between(met: _Met, known: int, other: int) -> int:
    """Return by how much a host is to be moved against one that is known, ns."""
    one, two = met.host == known, met.host == other
    both = np.intersect1d(met.collective[one], met.collective[two])
    one, two = (which & np.isin(met.collective, both) for which in (one, two))
    least, most = (met.entered[one] - met.left[two]).max(), (met.left[one] - met.entered[two]).min()
    usual = int(np.median(met.left[one] - met.left[two]))
    return int(np.clip(usual, least, most)) if least <= most else usual
