"""Times of two runs summed: per routine, per user region and process, per parallel step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.trace.arrays import I8
from perwiz.whatif.compare.compare import Comparison, Spans


@dataclasses.dataclass(frozen=True, eq=False)
class Sums:
    """Times in both runs per key, by key."""

    key: I8
    time: Spans
    """ns since the start; 0 where a run does not have the key."""
    count: Spans
    """How many there are in each run."""


def routines(runs: Comparison) -> Sums:
    """Return the time in calls of each routine (key: row of OPS), all locations together."""
    return _summed([side.trace.calls.op.astype("i8") for side in runs.sides], _lengths(runs, "calls"))


def regions(runs: Comparison) -> Sums:
    """Return the time in each user region per location; key: number of the path times `places` plus that of the location."""
    many, keys = places(runs), []
    for side, path, place in zip(runs.sides, runs.alignment.paths, runs.alignment.places, strict=True):
        table = side.trace.regions
        keys.append(path[table.path].astype(np.int64) * many + place[table.location])
    return _summed(keys, _lengths(runs, "regions"))


def places(runs: Comparison) -> int:
    """Return how many locations the two runs have together, those of both counted once."""
    return max(1, *(int(place.max(initial=-1)) + 1 for place in runs.alignment.places))


def steps(runs: Comparison) -> tuple[list[str], Sums]:
    """Return names, and the time of each step of each parallel region, from the first process that enters it to the last that leaves it.

    The k-th step is the k-th instance on every process; key: row of names times 2**32 plus k, from 1.
    """
    marked = {
        name for side in runs.sides for name, parallel in zip(side.trace.names, side.trace.parallel.tolist(), strict=True) if parallel
    }
    names = sorted(marked)
    number = {name: row for row, name in enumerate(names)}
    keys, enters, leaves = [], [], []
    for side in runs.sides:
        trace = side.trace
        step = np.array([*(number.get(name, -1) for name in trace.names), -1], "i8")[trace.region_names]
        rows = np.flatnonzero(step >= 0)
        keys.append(step[rows] << 32 | trace.regions.instance[rows])
        enters.append(side.since(side.timeline.regions.enter[rows]))
        leaves.append(side.since(side.timeline.regions.leave[rows]))
    return names, _stretched(keys, enters, leaves)


def _lengths(runs: Comparison, table: str) -> list[I8]:
    both = ((side, getattr(side.timeline, table)) for side in runs.sides)
    return [side.since(times.leave) - side.since(times.enter) for side, times in both]


def _summed(keys: Sequence[I8], times: Sequence[I8]) -> Sums:
    """Return the sums per key: keys 7 5 7 and 5, times 1 2 3 and 4 -> key 5 7, time 2 4 and 4 0, count 1 2 and 1 0."""
    key, rows = _numbered(keys)
    sums = [np.zeros(len(key), "i8") for _ in keys]
    for out, row, time in zip(sums, rows, times, strict=True):
        np.add.at(out, row, time)
    return Sums(key, Spans(*sums), _counts(key, rows))


def _stretched(keys: Sequence[I8], enters: Sequence[I8], leaves: Sequence[I8]) -> Sums:
    """Return per key the time from the first enter to the last leave.

    Keys 7 5 7 and 5, enters 1 2 3 and 4, leaves 2 9 6 and 7 -> key 5 7, time 7 5 and 3 0, count 1 2 and 1 0.
    """
    key, rows = _numbered(keys)
    out = []
    for row, enter, leave in zip(rows, enters, leaves, strict=True):
        first, last = np.full(len(key), np.iinfo("i8").max), np.zeros(len(key), "i8")
        np.minimum.at(first, row, enter)
        np.maximum.at(last, row, leave)
        out.append(np.maximum(last - np.minimum(first, last), 0))
    return Sums(key, Spans(*out), _counts(key, rows))


def _numbered(keys: Sequence[I8]) -> tuple[I8, list[I8]]:
    """Return the distinct keys of both runs, ascending, and per run the row of each of its keys among them."""
    distinct, rows = np.unique(np.concatenate(keys), return_inverse=True)
    return distinct, np.split(rows, [len(keys[0])])


def _counts(key: I8, rows: Sequence[I8]) -> Spans:
    return Spans(*(np.bincount(row, minlength=len(key)) for row in rows))
