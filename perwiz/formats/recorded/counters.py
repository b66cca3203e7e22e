"""The counters of a recorded run: row k of a file of counts has their values around record k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.formats.recorded.columns import BEGIN, END, Columns, operations
from perwiz.formats.recorded.definitions import Counted
from perwiz.formats.recorded.regions import RegionInstances
from perwiz.kernels import records
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.tables import Counters, RegionCounters


class Values(NamedTuple):
    """The values of counters around calls and regions, and their names."""

    calls: Counters
    regions: RegionCounters
    names: tuple[str, ...]


def values(columns: Columns, regions: RegionInstances) -> Values:
    """Return what was counted; empty tables if nothing was. Regions that nothing ended have no values."""
    names: dict[str, int] = {}
    of_calls, of_regions = ([_table(np.empty(0, "i8"), np.empty(0, "i4"), np.empty((0, 0)), np.empty((0, 0)))] for _ in range(2))
    first_region = np.searchsorted(regions.table.location, np.arange(len(columns.rest)))
    for location, (number, thread) in enumerate(zip(columns.process.tolist(), columns.thread.tolist(), strict=True)):
        process = columns.processes[number]
        told = process.of(Counted)
        if not told or not process.counts:
            continue
        counts = process.counts[thread]
        counter = np.array([names.setdefault(name, len(names)) for name in told[0].counters], "i4")
        op = process.calls[thread]["op"][: len(counts)]
        row = np.flatnonzero(operations(tuple(process.about.operations))["op"][op] != records.NO_CALL)
        calls = np.arange(*columns.first[location : location + 2])[: len(row)]
        row = row[: len(calls)]  # the last call may not have returned
        of_calls.append(_table(calls, counter, counts["entered"][row], counts["returned"][row]))
        boundary = np.flatnonzero(np.isin(op, [process.about.operations.index(name) for name in (BEGIN, END)]))
        begin, end = regions.ends[location]
        good = np.flatnonzero((end >= 0) & (np.maximum(begin, end) < len(boundary)))
        begun, left = (counts["entered"][boundary[which[good]]] for which in (begin, end))
        of_regions.append(_table(first_region[location] + good, counter, begun, left))
    calls_, regions_ = (tuple(np.concatenate(column) for column in zip(*tables, strict=True)) for tables in (of_calls, of_regions))
    return Values(Counters(*calls_), RegionCounters(*regions_), tuple(names))


def _table(row: I8, counter: I4, begin: F8, end: F8) -> tuple[I4, I4, F8, F8]:
    """Return the columns of a table of counters: values by row and counter one below the other."""
    place = np.argsort(counter)
    begun, ended = (np.asarray(value, "f8")[:, place].ravel() if len(row) else np.empty(0) for value in (begin, end))
    return np.repeat(row, len(counter)).astype("i4"), np.tile(counter[place], len(row)), begun, ended
