"""Who measures whose clock, and what follows for every location: the flat and the hierarchical scheme (Becker et al. 2007, section 4).

A reading tells the offset of one location's clock to another's, its master's, at one instant; masters may have masters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np

from perwiz.clock.offsets import Line, to_global
from perwiz.errors import ClockError
from perwiz.trace.arrays import I4, I8, Ints
from perwiz.trace.table import Table, column
from perwiz.trace.tables import Locations, Offsets


@dataclasses.dataclass(frozen=True, eq=False)
class Readings(Table):
    """One reading of a remote clock, those of each location in order of its time."""

    location: I4 = column("row of locations: whose clock was read")
    master: I4 = column("row of locations: who read it")
    time: I8 = column("time on the clock that was read", "ns")
    offset: I8 = column("to be added to it for the master's time", "ns")
    error: I8 = column("at most wrong by", "ns")


def read_remote(sent: Ints, stamp: Ints, received: Ints) -> tuple[int, int, int]:
    """Return (time, offset, error) of a remote clock, ns, from ping-pongs: the one with the shortest round trip counts (Cristian 1989).

    The master sends at `sent` and has the answer at `received`, which says that the other clock showed `stamp`.
    """
    best = int(np.argmin(received - sent))
    before, time, after = int(sent[best]), int(stamp[best]), int(received[best])
    return time, before + (after - before) // 2 - time, -(-(after - before) // 2)


def leaders(locations: Locations) -> tuple[Ints, Ints]:
    """Return per location (who stands for the clock of its node, local master of its metahost): the first location of each.

    Where nodes are not recorded, each process has a clock of its own.
    """
    node = np.where(locations.node >= 0, locations.node, -1 - locations.process)
    clocks, metahosts = np.stack((locations.metahost, node)), locations.metahost[None]
    firsts = []
    for keys in (clocks, metahosts):
        _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        firsts.append(first[group.ravel()])
    return firsts[0], firsts[1]


def flat(locations: Locations) -> list[tuple[int, int]]:
    """Return whom to read, as (location, master): each clock is read by the first location."""
    clock, _ = leaders(locations)
    return [(int(row), 0) for row in np.unique(clock) if row != 0]


def hierarchical(locations: Locations, global_clock: Collection[int] = ()) -> list[tuple[int, int]]:
    """Return whom to read, as (location, master): local masters by the metamaster, each other clock by its local master.

    The metamaster is the local master of the lowest metahost. Inside metahosts with a global clock nobody is read.
    """
    clock, local = leaders(locations)
    masters = np.unique(local)
    meta = int(masters[np.argmin(locations.metahost[masters])]) if len(masters) else 0
    across = [(int(row), meta) for row in masters if row != meta]
    inside = [row for row in np.unique(clock) if row != local[row] and locations.metahost[row] not in global_clock]
    return across + [(int(row), int(local[row])) for row in inside]


def combine(locations: Locations, readings: Readings, global_clock: Collection[int] = ()) -> Offsets:
    """Return the offset of each location to the clock nobody read, at the times it was read itself: the offsets on the way are added.

    Locations of one node share a clock, those of a metahost with a global clock too. Raises ClockError for one that cannot be told.
    """
    clock, local = leaders(locations)
    shared = np.where(np.isin(locations.metahost, list(global_clock)), local, clock)
    known: dict[int, tuple[int, Line]] = {}
    for row in np.unique(readings.location):
        some = readings.location == row
        known[int(row)] = int(readings.master[some][0]), (readings.time[some], readings.offset[some])
    roots = sorted({int(shared[master]) for master in readings.master} - set(known)) or [0]
    if len(roots) > 1:
        raise ClockError(f"the clocks of locations {roots[0]} and {roots[1]} were read by nobody; only one can be that of all")
    return _table([_to_root(row, known, shared, roots[0]) for row in range(len(locations))])


def _to_root(row: int, known: dict[int, tuple[int, Line]], shared: Ints, root: int) -> Line:
    """Return the measurements of a location to the root: local times, offsets."""
    at, time, passed = int(shared[row]), None, None
    for _ in range(len(shared) + 1):
        if at not in known:
            break
        at, line = known[at]
        time, passed = (line[0], line[0] + line[1]) if passed is None else (time, to_global(line, passed))
        at = int(shared[at])
    if at != root:
        raise ClockError(f"location {row}: its clock was never read; it must be, or that of another location of its node")
    if time is None or passed is None:
        return np.zeros(1, "i8"), np.zeros(1, "i8")
    return time, passed - time


def _table(found: Sequence[Line]) -> Offsets:
    """Return the table of offsets of all locations."""
    counts = [len(time) for time, _ in found]
    every = np.zeros(sum(counts))
    time, offset = (np.concatenate([line[part] for line in found] or [np.zeros(0, "i8")]) for part in (0, 1))
    return Offsets(np.repeat(np.arange(len(found), dtype="i4"), counts), time, offset / 1e3, every, every.copy())
