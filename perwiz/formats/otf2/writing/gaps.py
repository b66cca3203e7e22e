"""What OTF2 records between and inside calls that is neither: region boundaries, parameters, records of other models, in program order."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats import message_ends
from perwiz.formats.otf2.library.binding import load
from perwiz.formats.otf2.writing.archive import RECORDS
from perwiz.kernels import otf2_write as kernel
from perwiz.trace.arrays import I8, Ints, chunks
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

BOUNDARY, PARAMETER, RECORD, COUNTER = range(4)
"""What an item is made of: a region (entered, or left: row + number of regions), a parameter, a record, the
value of a counter before a region is entered, or left (row + number of these)."""


_PLACES = 4
"""So many kinds of items stand at a boundary: counters before it, what is behind it in the order of its key."""


def kinds(trace: Trace) -> I8:
    """Return the kind of row that each text names as the kind of a record, -1 none that OTF2 and its library know."""
    library = load()
    return np.array([RECORDS.get(text, NONE) if library.has(f"EvtWriter_{text}") else NONE for text in trace.texts], "i8")


@dataclasses.dataclass
class Items:
    """Items in the order they are written."""

    step: Ints
    """Which gap: first call entered after it + location; for items inside calls that call + location."""
    what: Ints
    row: Ints
    time: Ints
    """When it is written; may be less than that of the item before."""
    moved: int
    """How many had to be written at another time, that of a call."""


class Gaps:
    """The items of one trace: `between` calls and `inside` them."""

    def __init__(self, trace: Trace, timeline: Timeline) -> None:
        self._trace, self._timeline = trace, timeline
        calls, records = trace.calls, trace.records
        self._first, self._end = trace.first_calls[:-1], trace.first_calls[1:]
        before = np.maximum(records.call - 1, 0)
        inside = records.call > self._first[records.location]
        if len(calls):
            inside &= records.time < timeline.calls.leave[before]
        written = kinds(trace)[records.kind] >= 0
        rows = np.flatnonzero(inside & written)
        self.inside = self._records(rows, before[rows])
        self.between = self._between(np.flatnonzero(~inside & written))

    def _records(self, rows: Ints, call: Ints) -> Items:
        records, times = self._trace.records, self._timeline.calls
        time = np.clip(records.time[rows], times.enter[call], times.leave[call])
        step = call.astype("i8") + records.location[rows]
        return Items(step, np.full(len(rows), RECORD, "u1"), rows.astype("i4"), time, int((time != records.time[rows]).sum()))

    def _between(self, records: Ints) -> Items:
        boundaries = self._boundaries()
        pieces = list[tuple[Items, Ints]]()
        if len(self._trace.region_counters):
            pieces.append(self._counters(boundaries))
        if len(self._trace.parameters):
            pieces.append(self._parameters(boundaries))
        if len(records):
            pieces.append(self._others(records, boundaries))
        if not pieces:
            return boundaries
        pieces.insert(0, (boundaries, _PLACES * np.arange(len(boundaries.step)) + 1))
        step, what, rows, time = (np.concatenate([getattr(piece, name) for piece, _ in pieces]) for name in ("step", "what", "row", "time"))
        order = np.lexsort((np.concatenate([place for _, place in pieces]), step))
        return Items(step[order], what[order], rows[order], time[order], sum(piece.moved for piece, _ in pieces))

    def _counters(self, boundaries: Items) -> tuple[Items, Ints]:
        """Return the values of counters and their places, each before the boundary it was read at."""
        table, count = self._trace.region_counters, len(self._trace.regions)
        place = np.empty(2 * count, "i8")
        place[boundaries.row] = np.arange(2 * count)
        at = place[np.concatenate([table.region, table.region.astype("i8") + count])]
        what = np.full(len(at), COUNTER, "u1")
        return Items(boundaries.step[at], what, np.arange(len(at), dtype="i4"), boundaries.time[at], 0), _PLACES * at

    def _boundaries(self) -> Items:
        """Return the boundaries of regions in program order, times between those of the calls around them."""
        turn, location, step, wanted = message_ends.boundaries(self._trace, self._timeline)
        if ((step[1:] < step[:-1]) | ((step[1:] == step[:-1]) & (wanted[1:] < wanted[:-1]))).any():
            order = np.lexsort((self._sortable(turn, step, wanted), step))
            turn, step, wanted, location = turn[order], step[order], wanted[order], location[order]
        time = self._clipped(wanted, step - location, location)
        return Items(step, np.full(len(turn), BOUNDARY, "u1"), turn, time, self._moved(time, step, wanted))

    def _sortable(self, turn: Ints, step: Ints, time: Ints) -> Ints:
        """Return the times to sort by; all the same in gaps where they would part a region from its end or its parent."""
        parent, count = self._trace.regions.parent, len(self._trace.regions)
        order = np.lexsort((time, step))
        place, gap = np.empty(2 * count, "i8"), np.empty(2 * count, "i8")
        place[turn[order]], gap[turn] = np.arange(2 * count), step
        rows = np.arange(count)
        child = np.flatnonzero(parent >= 0)
        bad = np.concatenate([rows[place[rows] > place[rows + count]], child[place[child] < place[parent[child]]]])
        out = time.copy()
        out[np.isin(step, gap[bad])] = 0
        return out

    def _clipped(self, time: Ints, call: Ints, location: Ints) -> Ints:
        """Return the times moved between the return of the call before and the entry of this one."""
        times, out = self._timeline.calls, time.copy()
        for piece in chunks(len(out)):
            has = np.flatnonzero(call[piece] > self._first[location[piece]]) + piece.start
            out[has] = np.maximum(out[has], times.leave[call[has] - 1])
            has = np.flatnonzero(call[piece] < self._end[location[piece]]) + piece.start
            out[has] = np.minimum(out[has], times.enter[call[has]])
        return out

    def _moved(self, time: Ints, step: Ints, wanted: Ints) -> int:
        """Return how many times are not as wanted where each is the running maximum of those of its gap.

        step  0 0 0 1 1   time  5 3 6 2 1    wanted  5 3 6 2 1
                          out   5 5 6 2 2    so 2 are not
        """
        moved, gap, last = 0, NONE, 0
        for some in chunks(len(time)):
            its, now = step[some], time[some].copy()
            if its[0] == gap:
                now[0] = max(now[0], last)
            low = int(now.min())
            lift = (np.cumsum(np.diff(its, prepend=its[0]) != 0)) * (int(now.max()) - low + 1)
            risen = np.maximum.accumulate(now - low + lift) - lift + low
            moved += int((risen != wanted[some]).sum())
            gap, last = int(its[-1]), int(risen[-1])
        return moved

    def _parameters(self, boundaries: Items) -> tuple[Items, Ints]:
        """Return the parameters and their places among the boundaries. Their times are not known: they take those of what is before."""
        table, regions = self._trace.parameters, self._trace.regions
        count = len(regions)
        step = np.clip(table.call, self._first[table.location], self._end[table.location]) + table.location
        inner = np.empty(2 * count, "i4")
        leaves = (boundaries.row >= count).astype("u1")
        kernel.innermost((boundaries.row % max(count, 1)).astype("i4"), leaves, regions.parent, np.zeros(count, "u1"), inner)
        behind = np.empty(len(table), "i8")
        kernel.place(boundaries.step.astype("i8"), inner, step.astype("i8"), table.region, behind)
        time = self._clipped(np.full(len(table), np.iinfo("i8").min), step - table.location, table.location)
        return Items(step, np.full(len(table), PARAMETER, "u1"), np.arange(len(table), dtype="i4"), time, 0), _PLACES * behind + 2

    def _others(self, rows: Ints, boundaries: Items) -> tuple[Items, Ints]:
        """Return records between calls and their places among the boundaries."""
        records = self._trace.records
        location = records.location[rows]
        step = np.clip(records.call[rows], self._first[location], self._end[location]) + location
        ends = self._timeline.locations
        within = np.clip(records.time[rows], ends.enter[location], np.maximum(ends.enter, ends.leave)[location])
        time = self._clipped(within, step - location, location)
        order = np.lexsort(
            (
                np.repeat([0, 1], [len(boundaries.step), len(rows)]),
                np.concatenate([boundaries.time, time]),
                np.concatenate([boundaries.step, step]),
            )
        )
        behind = np.empty(len(order), "i8")
        behind[order] = np.cumsum(order < len(boundaries.step)) - 1
        moved = int((time != records.time[rows]).sum())
        place = np.maximum.accumulate(behind[len(boundaries.step) :]) if len(rows) else behind
        return Items(step.astype("i8"), np.full(len(rows), RECORD, "u1"), rows.astype("i4"), time, moved), _PLACES * place + 3
