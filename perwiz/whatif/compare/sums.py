"""Times of two runs summed: per routine, per user region and process, per parallel step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.trace.arrays import I8, Ints
from perwiz.whatif.compare.compare import Comparison, Spans


@dataclasses.dataclass(frozen=True, eq=False)
class Sums:
    """Times in both runs per key, by key."""

    key: I8
    time: Spans
    """ns since the start; 0 where a run does not have the key."""
    count: Spans
    """How many there are in each run."""


def routines(found: Comparison) -> Sums:
    """Return the time in calls of each routine (key: row of OPS), all locations together."""
    return _summed([side.trace.calls.op.astype("i8") for side in found.sides], _lengths(found, "calls"))


def regions(found: Comparison) -> Sums:
    """Return the time in each user region per location; key: number of the path times `places` plus that of the location."""
    pairs = found.alignment
    sides = zip(found.sides, pairs.paths, pairs.places, strict=True)
    many = places(found)
    return _summed(
        [path[s.trace.regions.path].astype("i8") * many + place[s.trace.regions.location] for s, path, place in sides],
        _lengths(found, "regions"),
    )


def places(found: Comparison) -> int:
    """Return how many locations the two runs have together, those of both counted once."""
    return max(1, *(int(place.max(initial=-1)) + 1 for place in found.alignment.places))


def steps(found: Comparison) -> tuple[list[str], Sums]:
    """Return names, and the time of each step of each parallel region, from the first process that enters it to the last that leaves it.

    The k-th step is the k-th instance on every process; key: row of names times 2**32 plus k, from 1.
    """
    marked = {
        name for side in found.sides for name, parallel in zip(side.trace.names, side.trace.parallel.tolist(), strict=True) if parallel
    }
    names = sorted(marked)
    number = {name: row for row, name in enumerate(names)}
    keys, enters, leaves = [], [], []
    for side in found.sides:
        trace = side.trace
        of = np.array([*(number.get(name, -1) for name in trace.names), -1], "i8")[trace.region_names]
        rows = np.flatnonzero(of >= 0)
        keys.append(of[rows] << 32 | trace.regions.instance[rows])
        enters.append(side.since(side.timeline.regions.enter[rows]))
        leaves.append(side.since(side.timeline.regions.leave[rows]))
    return names, _stretched(keys, enters, leaves)


def _lengths(found: Comparison, table: str) -> list[Ints]:
    both = ((side, getattr(side.timeline, table)) for side in found.sides)
    return [side.since(times.leave) - side.since(times.enter) for side, times in both]


def _summed(keys: Sequence[Ints], times: Sequence[Ints]) -> Sums:
    known, rows = _numbered(keys)
    sums = [np.zeros(len(known), "i8") for _ in keys]
    for out, row, time in zip(sums, rows, times, strict=True):
        np.add.at(out, row, time)
    return Sums(known, Spans(*sums), _counts(known, rows))


def _stretched(keys: Sequence[Ints], enters: Sequence[Ints], leaves: Sequence[Ints]) -> Sums:
    """Return per key the time from the first enter to the last leave."""
    known, rows = _numbered(keys)
    out = []
    for row, enter, leave in zip(rows, enters, leaves, strict=True):
        first, last = np.full(len(known), np.iinfo("i8").max), np.zeros(len(known), "i8")
        np.minimum.at(first, row, enter)
        np.maximum.at(last, row, leave)
        out.append(np.maximum(last - np.minimum(first, last), 0))
    return Sums(known, Spans(*out), _counts(known, rows))


def _numbered(keys: Sequence[Ints]) -> tuple[Ints, list[Ints]]:
    known, rows = np.unique(np.concatenate(keys), return_inverse=True)
    return known, np.split(rows, [len(keys[0])])


def _counts(known: Ints, rows: Sequence[Ints]) -> Spans:
    return Spans(*(np.bincount(row, minlength=len(known)) for row in rows))
