"""The roots of collectives that the trace does not tell, as far as times tell them.

Nobody leaves a broadcast or scatter before its root has entered, and the root of a reduction or gather leaves after all have entered
(MPI 3.1, 5.1): every other member is out. Where several are left, other calls from the same place in the program tell, which mostly
have one root. Of those left in a broadcast, the one that entered last is the root if the others had waited for it: the root itself
waits for nobody. Of a reduction nothing like that is said, for in a tree inner members wait as the root does.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.tables import NONE, Calls, Messages, Times
from perwiz.trace.trace import Communicators

_WAITED = 0.25
"""Part of the members' time in a broadcast that must have been waiting for its root before that tells who it is."""
_DRIFT = 100
"""Part of the longest stay in a collective by which clocks may be apart, where nothing else says so."""
_FAR, _RANKS = np.int64(1 << 62), np.int64(1 << 32)


@dataclasses.dataclass
class Roots:
    """Roots of instances that had none, and how they were found."""

    instances: CollectiveInstances
    inferred: int = 0
    """How many times tell."""
    adopted: int = 0
    """How many do not tell themselves, but others that were called from the same place."""
    assumed: int = 0
    """For how many it is taken to be the first rank of the communicator, which the times allow, as they allow others."""


class _Asked(NamedTuple):
    """The members of some instances, one after the other."""

    first: I8
    """First row of each instance."""
    instance: I8
    """Per member: row of `first`."""
    process: I4
    enter: I8
    leave: I8
    """Of the call that completes the collective; very late if that is not known."""
    spreads: Mask
    """Per instance: from the root to all."""
    apart: int
    """Time by which clocks are seen to be apart."""
    waits: Mask
    """Per instance: all members return only from the call that starts it, so that their time in it is waiting."""


def inferred(instances: CollectiveInstances, calls: Calls, times: Times, process: I4, messages: Messages, comms: Communicators) -> Roots:
    """Return the instances with the roots of complete ones that times tell; `process` is the rank of each location.

    Clocks may be apart: a member is out only if more than the largest contradiction of the messages and of the collectives of all to
    all says so.
    """
    table, members = instances.collectives, instances.members
    kind, sizes = operations.KIND[table.op], np.diff(np.append(table.first_member, len(members)))
    rooted = (kind == operations.ONE_TO_N) | (kind == operations.N_TO_ONE)
    rows = np.flatnonzero(rooted & (table.root < 0) & (sizes == comms.sizes()[table.comm]))
    if not len(rows):
        return Roots(instances)
    apart = _apart(instances, times, messages, kind, sizes)
    asked = _asked(instances, calls, times, process, rows, apart)
    place = table.comm[rows], table.op[rows], calls.path[members.call[table.first_member[rows]]]
    site = np.unique(np.stack(place, 1), axis=0, return_inverse=True)[1].ravel()
    root, adopted, assumed = _agreed(asked, site)
    found = table.root.copy()
    found[rows] = root
    count = int((root >= 0).sum())
    changed = dataclasses.replace(instances, collectives=dataclasses.replace(table, root=found), rootless=instances.rootless - count)
    others, first = int(adopted.sum()), int(assumed.sum())
    return Roots(changed, count - others - first, others, first)


def _asked(instances: CollectiveInstances, calls: Calls, times: Times, process: I4, rows: I8, apart: int) -> _Asked:
    table, members = instances.collectives, instances.members
    sizes = np.diff(np.append(table.first_member, len(members)))[rows]
    first = np.cumsum(sizes) - sizes
    member = np.repeat(table.first_member[rows] - first, sizes) + np.arange(sizes.sum())
    call, done = members.call[member], members.done[member]
    return _Asked(
        first=first,
        instance=np.repeat(np.arange(len(rows)), sizes),
        process=process[calls.location[call]],
        enter=times.enter[call],
        leave=np.where(done >= 0, times.leave[done], _FAR),
        spreads=operations.KIND[table.op[rows]] == operations.ONE_TO_N,
        apart=apart,
        waits=np.logical_and.reduceat(call == done, first),
    )


def _apart(instances: CollectiveInstances, times: Times, messages: Messages, kind: I8, sizes: I8) -> int:
    """Return the largest time by which messages arrive before they are sent, or members leave before the last has entered, ns."""
    early = times.enter[messages.send] - times.leave[messages.receive_done]
    members, everyone = instances.members, np.repeat(kind == operations.N_TO_N, sizes) & (instances.members.done >= 0)
    first = instances.collectives.first_member
    entered = np.maximum.reduceat(times.enter[members.call], first)[members.collective]
    before = (entered - times.leave[members.done])[everyone]
    return max(int(early.max(initial=0)), int(before.max(initial=0)))


def _stay(asked: _Asked) -> I8:
    """Return per member the longest time that a member of its instance is known to have spent in it, ns."""
    known = np.where(asked.leave < _FAR, asked.leave - asked.enter, 0)
    return np.asarray(np.maximum.reduceat(known, asked.first)[asked.instance])


def _possible(asked: _Asked, more: int | I8 = 0) -> Mask:
    """Return which members can be the root of their instance, if clocks are apart by so much more than they are seen to be.

    broadcast of     0  1  2      reduction to     0  1  2
    enter           50 10 90                      10 20 70
    leave           95 60 96                      95 60 80
    possible         1  1  0                       1  0  1
    """
    first_leaves, last_enters = np.minimum.reduceat(asked.leave, asked.first), np.maximum.reduceat(asked.enter, asked.first)
    spreads, apart = asked.spreads[asked.instance], asked.apart + more
    possible = np.where(spreads, asked.enter - apart <= first_leaves[asked.instance], asked.leave + apart >= last_enters[asked.instance])
    return np.asarray(possible)


def _told(asked: _Asked, possible: Mask, nearly: Mask) -> tuple[Mask, I4]:
    """Return which instances leave only one root, and the root per instance that its own times tell, -1 none: that, or who was waited for.

    broadcast of     0  1  2
    enter           10 20 70
    leave           90 90 80      80 + 70 + 10 spent in it, 60 + 50 of that until rank 2 enters: rank 2
    """
    alone = np.add.reduceat(nearly.astype("i8"), asked.first) == 1
    latest = np.maximum.reduceat(np.where(possible, asked.enter, -_FAR), asked.first)
    waited = np.minimum(latest[asked.instance], asked.leave) - asked.enter - asked.apart
    waited = np.add.reduceat(np.maximum(waited, 0), asked.first)
    spent = np.add.reduceat(asked.leave - asked.enter, asked.first, dtype="f8")
    told = alone | (asked.spreads & asked.waits & (waited >= _WAITED * spent) & (waited > 0))
    root = np.where(alone[asked.instance], nearly, possible & (asked.enter == latest[asked.instance]))
    return alone, np.where(told, np.maximum.reduceat(np.where(root, asked.process, NONE), asked.first), NONE).astype("i4")


def _agreed(asked: _Asked, site: I8) -> tuple[I4, Mask, Mask]:
    """Return the root per instance, -1 unknown, which are those of others, and which are assumed; `site` numbers their places.

    The instances of a place that tell a root, those that leave only one if there are such, must agree, and it must be possible in all:
    then it is that of all. Where none tells, it is the only rank that is possible in all, or else the first one, assumed, if that is.
    Where they disagree, each has what it tells.

        possible    012 01 12      012 01      012 01      12 1 02
        told         -  -  -        1   -       -  -       -  1 0
        root         1  1  1        1   1       0  0       -  1 0
                                    adopted    assumed
    """
    sites, first = int(site.max()) + 1, asked.process[asked.first]
    nearly = _possible(asked, _stay(asked) // _DRIFT)
    alone, told = _told(asked, _possible(asked), nearly)
    pairs, pair = np.unique(_key(site[asked.instance], asked.process), return_inverse=True)
    everywhere = pairs[np.bincount(pair.ravel(), nearly, len(pairs)) == np.bincount(site, minlength=sites)[pairs // _RANKS]]
    tells = np.where((np.bincount(site, alone, sites) > 0)[site], alone, told >= 0)
    common = _common(site[tells], told[tells], sites)
    common[~np.isin(_key(np.arange(sites), common), everywhere)] = NONE
    silent = np.bincount(site[tells], minlength=sites) == 0
    root = np.where(silent, _common(everywhere // _RANKS, everywhere % _RANKS, sites), common)[site]
    assumed = silent[site] & (root < 0) & np.isin(_key(site, first), everywhere)
    adopted = (root >= 0) & (told < 0) & ~silent[site]
    return np.where(root >= 0, root, np.where(assumed, first, told)).astype("i4"), adopted, assumed


def _key(site: I8, rank: I8 | I4) -> I8:
    return site * _RANKS + rank


def _common(site: I8, rank: I8 | I4, sites: int) -> I8:
    """Return the one rank that each of so many sites has in all its rows, -1 if it has none or several."""
    low, high = np.full(sites, _FAR), np.full(sites, np.int64(NONE))
    np.minimum.at(low, site, rank)
    np.maximum.at(high, site, rank)
    return np.where(low == high, high, NONE)
