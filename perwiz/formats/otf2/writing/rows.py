"""The events of an OTF2 archive as rows of integers: location by location, some ten thousand at a time, in program order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from perwiz.formats.otf2.writing.archive import UNDEFINED
from perwiz.formats.otf2.writing.cells import Cells, Events
from perwiz.formats.otf2.writing.definitions import Definitions
from perwiz.formats.otf2.writing.gaps import kinds
from perwiz.kernels import records
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Timeline, Trace

STEPS, EVENTS = 1 << 14, 1 << 17
"""Most calls taken at a time, and most events, unless one call has more."""
_MESSAGES = (records.SEND, records.ISEND, records.RECV, records.IRECV)


@dataclasses.dataclass
class _Group:
    """Events that stand together in each step, which is a call and the gap before it; and what fills their rows."""

    steps: Ints
    """Call, in order; for items of gaps the first call after them + location."""
    gap: bool
    fill: Callable[[Events, Ints, slice], None]

    def rows(self, base: int, count: int) -> slice:
        """Return the rows of so many steps from `base` on."""
        return slice(*np.searchsorted(self.steps, np.array([base, base + count], self.steps.dtype)).tolist())


class Rows:
    """Makes the rows of one trace under one timeline."""

    def __init__(self, trace: Trace, timeline: Timeline, definitions: Definitions) -> None:
        times = timeline.calls.enter, timeline.regions.enter, timeline.regions.leave, timeline.locations.enter
        shift = -min(int(column.min(initial=0)) for column in times)
        cells = Cells(trace, timeline, definitions, shift)
        self._groups = [group for group in _groups(cells, trace) if len(group.steps)]
        self._first = trace.first_calls
        self._begun, self._ended = _instants(trace, timeline, shift)
        self.start: int | None = None
        """The first instant of all that was made."""
        self.end = 0
        """The last instant of all that was made."""
        self.moved = cells.gaps.between.moved + cells.gaps.inside.moved
        """Region boundaries and records that do not have their time, so that no time runs backwards; complete when all rows are made."""

    def of(self, location: int) -> Iterator[Events]:
        """Yield the rows of one location, in the order of its file."""
        for rows in self._pieces(location):
            self.start = int(rows["time"][0]) if self.start is None else min(self.start, int(rows["time"][0]))
            self.end = max(self.end, int(rows["time"][-1]))
            yield rows

    def _pieces(self, location: int) -> Iterator[Events]:
        last, ended = int(self._begun[location]), int(self._ended[location])
        if last >= 0:
            yield _alone(records.PROGRAM_BEGIN, last, UNDEFINED)
        for rows in self._blocks(location):
            wanted = rows["time"].copy()
            rows["time"][0] = max(last, wanted[0])
            rows["time"] = np.maximum.accumulate(rows["time"])
            self.moved += int((np.isin(rows["kind"], _MESSAGES) & (rows["time"] != wanted)).sum())
            last = int(rows["time"][-1])
            yield rows
        if ended >= 0:
            yield _alone(records.PROGRAM_END, max(last, ended), 0)

    def _blocks(self, location: int) -> Iterator[Events]:
        """Yield rows that still may run back in time."""
        first, end = self._first[location : location + 2].tolist()
        step, steps = first, end + 1
        while step < steps:
            count = min(STEPS, steps - step)
            while (slices := self._slices(location, step, count, end)) and _size(slices) > EVENTS and count > 1:
                count = (count + 1) // 2
            rows = self._block(location, step, count, slices)
            if len(rows):
                yield rows
            step += count

    def _slices(self, location: int, step: int, count: int, end: int) -> list[slice]:
        """Return the rows of each group in some steps; the last step of a location, `end`, has no call."""
        calls = min(step + count, end) - step
        return [group.rows(step + location, count) if group.gap else group.rows(step, calls) for group in self._groups]

    def _block(self, location: int, step: int, count: int, slices: list[slice]) -> Events:
        present = [(group, which) for group, which in zip(self._groups, slices, strict=True) if which.stop > which.start]
        owners = [group.steps[which].astype("i8") - (step + location if group.gap else step) for group, which in present]
        counts = [np.bincount(own, minlength=count) for own in owners]
        total = np.sum(counts, 0) if counts else np.zeros(count, "i8")
        begin = np.cumsum(total) - total
        rows = np.zeros(int(total.sum()), records.RECORD)
        for (group, which), own, sizes in zip(present, owners, counts, strict=True):
            before = np.cumsum(sizes) - sizes
            group.fill(rows, (begin - before)[own] + np.arange(len(own)), which)
            begin += sizes
        return rows


def _groups(cells: Cells, trace: Trace) -> list[_Group]:
    """Return all groups in their order within a step."""
    partners, every = cells.partners, np.arange(len(trace.calls), dtype="i4")
    return [
        _Group(cells.gaps.between.step, True, cells.between),
        _Group(trace.counters.call, False, cells.counters_before),
        _Group(every, False, cells.enter),
        _Group(cells.extras.call, False, cells.extra),
        _Group(partners.posts.call, False, cells.posts),
        _Group(cells.collective, False, cells.begins),
        _Group(cells.gaps.inside.step, True, cells.inside),
        _Group(partners.tests.call, False, cells.tests),
        _Group(partners.dones.call, False, cells.dones),
        _Group(cells.collective, False, cells.ends),
        _Group(trace.counters.call, False, cells.counters_behind),
        _Group(every, False, cells.leave),
    ]


def _size(slices: list[slice]) -> int:
    return sum(part.stop - part.start for part in slices)


def _instants(trace: Trace, timeline: Timeline, shift: int) -> tuple[Ints, Ints]:
    """Return the first and last instant of each location, -1 where another event shows it."""
    times, records = timeline.locations, trace.records
    written = kinds(trace)[records.kind] >= 0
    first, last = times.leave + 1, times.enter - 1
    for location, enter, leave in (
        (trace.calls.location, timeline.calls.enter, timeline.calls.leave),
        (trace.regions.location, timeline.regions.enter, timeline.regions.leave),
        (records.location[written], records.time[written], records.time[written]),
    ):
        np.minimum.at(first, location, enter)
        np.maximum.at(last, location, leave)
    return np.where(times.enter < first, times.enter + shift, -1), np.where(times.leave > last, times.leave + shift, -1)


def _alone(kind: int, time: int, value: int) -> Events:
    """Return one row."""
    rows = np.zeros(1, records.RECORD)
    rows["kind"], rows["time"], rows["reference"] = kind, time, value
    return rows
