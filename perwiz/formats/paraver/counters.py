"""Counters around calls as Paraver has them: what each counted since it was read last on its thread."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.kernels import paraver
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.trace import Trace

_TYPES = 42001000
"""The type of events of the first counter: behind those of PAPI that are the same everywhere."""
_MOST = 2.0**53
"""From here on not each whole number is one of floating point."""


@dataclasses.dataclass(frozen=True, eq=False)
class Readings:
    """What is written of counters, by call and counter."""

    call: I4
    type: I8
    before: I8
    """What it counted before the call was entered, since it was read last."""
    inside: I8
    """What it counted until the call returned."""

    def __len__(self) -> int:
        return len(self.call)


def kinds(trace: Trace) -> dict[int, str]:
    """Return the names of the counters that are written, by the types of their events."""
    return {_TYPES + counter: trace.counter_names[counter] for counter in np.flatnonzero(_written(trace, *_differences(trace))).tolist()}


def readings(trace: Trace) -> Readings:
    """Return what is written of the counters around calls: of those that count whole things, and never less."""
    table, (before, inside) = trace.counters, _differences(trace)
    rows = np.flatnonzero(_written(trace, before, inside)[table.counter])
    return Readings(table.call[rows], _TYPES + table.counter[rows].astype("i8"), before[rows].astype("i8"), inside[rows].astype("i8"))


def _differences(trace: Trace) -> tuple[F8, F8]:
    """Return per row of the counters what was counted before its call, since the one before, and in it; a thread begins with 0."""
    table = trace.counters
    location = trace.calls.location[table.call]
    order = np.lexsort((table.call, location, table.counter))
    last = np.zeros(len(order))
    last[1:] = np.where(np.diff(location[order]) | np.diff(table.counter[order]), 0, table.returned[order[:-1]])
    before = np.empty(len(order))
    before[order] = table.entered[order] - last
    return before, table.returned - table.entered


def _written(trace: Trace, before: F8, inside: F8) -> Mask:
    """Return of each counter whether Paraver can have it: it does not fall, nor is it a level, and all it counts are whole numbers."""
    table, out = trace.counters, np.zeros(len(trace.counter_names), bool)
    out[np.unique(table.counter)[: paraver.COUNTERS]] = True
    out[[*trace.levels]] = False
    whole = (np.rint(table.entered) == table.entered) & (np.rint(table.returned) == table.returned) & (table.returned < _MOST)
    out[table.counter[~(whole & (before >= 0) & (inside >= 0))]] = False
    return out
