"""What a recorded run tells of one-sided calls beside their columns: groups of epochs, and whether locks are exclusive."""

from __future__ import annotations

import numpy as np

from perwiz.formats import one_sided
from perwiz.formats.recorded.columns import Columns, operations
from perwiz.kernels import records
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import Calls, Labels, Links, Locations, Times


class Windows:
    """The links and labels of one-sided calls."""

    def __init__(self, columns: Columns, calls: Calls) -> None:
        self._columns, self._calls = columns, calls
        told = np.isin(calls.op, (*one_sided.OPENS, one_sided.LOCK)) & (calls.tag >= 0)
        self._call = np.flatnonzero(told).astype("i4")
        self._locks = np.flatnonzero(calls.op[self._call] == one_sided.LOCK)
        groups, self._exclusive = [(np.empty(0, "i4"), np.empty(0, "i4"))], np.zeros(len(self._call), bool)
        for place in np.unique(calls.location[self._call]).tolist():
            mine = np.flatnonzero(calls.location[self._call] == place)
            groups.append(self._told(place, mine))
        call, process = (np.concatenate(column) for column in zip(*groups, strict=True))
        self._groups = one_sided.Groups(call, process)

    def _told(self, place: int, mine: I8) -> tuple[I4, I4]:
        """Note which locks of a location are exclusive; return its groups: the call that opens an epoch, and a process, per row."""
        columns, call = self._columns, self._call[mine]
        process = columns.processes[columns.process[place]]
        rows, parts = process.calls[columns.thread[place]], process.parts[columns.thread[place]]
        named = operations(tuple(process.about.operations))["op"][rows["op"]] != records.NO_CALL
        row = np.flatnonzero(named)[call - columns.first[place]]
        self._exclusive[mine] = rows["bits"][row] & records.EXCLUSIVE != 0
        opens = np.isin(self._calls.op[call], one_sided.OPENS)
        first, end = (np.searchsorted(parts["call"], row[opens], side) for side in ("left", "right"))
        size = np.maximum(end - first, 0)
        part = np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())
        return np.repeat(call[opens], size), np.asarray(parts["peer"][part])

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the labels, if there are any."""
        return (one_sided.EXCLUSIVE, one_sided.SHARED) if len(self._locks) else ()

    def links(self, times: Times, locations: Locations) -> Links:
        """Return the links."""
        columns = self._columns
        clocks = [process.about.clock for process in columns.processes]
        clock = np.array([clocks.index(clock) for clock in clocks], "i4")[columns.process]
        places = one_sided.Places(locations.process, locations.node, clock)
        return one_sided.links(self._calls, times, places, self._groups, self._call[self._exclusive])

    def labels(self, first: int) -> Labels:
        """Return which locks are exclusive and which are shared; the texts are in rows from `first` on."""
        return Labels(self._call[self._locks], np.where(self._exclusive[self._locks], first, first + 1).astype("i4"))
