"""Reading ALOG, whoever wrote it: chunks of text become rows, rows become calls, messages and regions, those become a Trace.

A definition that stands behind events makes a second pass, with all definitions known from its start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.alog.communicators import Groups
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.notes import Notes
from perwiz.formats.foreign import refusal
from perwiz.formats.source import Source
from perwiz.kernels import alog, alog_lines, alog_states
from perwiz.trace import defects, operations
from perwiz.trace.arrays import Columns
from perwiz.trace.numbers import Numbers

LINES = 1 << 14
"""Lines turned into rows at a time: what they need stays in the cache."""
_PROCESSES = 1 << 16
"""Processes below this find their location in a table."""
ROUTINES = alog.zeros(len(operations.OPS), alog.ROUTINE)
"""What each op makes of message records."""
ROUTINES.collective = operations.COLLECTIVE
ROUTINES.says_receiver = operations.SHOWS_RECEIVER
ROUTINES.says_sender = operations.SHOWS_SENDER


@dataclasses.dataclass
class Recording:
    """What one pass over the file leaves behind; locations in order of first occurrence, call numbers counted per location."""

    headers: Headers
    states: States
    groups: Groups
    locations: NDArray[np.int64]
    """(process, task) per location."""
    places: alog.Records
    """alog.LOCATION per location, and some rows more."""
    counts: alog.Records
    """One row of alog.COUNTS."""
    calls: Columns
    regions: Columns
    messages: Columns
    notes: Notes
    records: int
    defects: defects.DefectList


class _LateDefinition(Exception):
    """A header record behind events says what those events mean."""


def looks_like(head: bytes) -> bool:
    """Return whether a file beginning with `head` is ALOG: one of its first whole lines starts with six integers."""
    text = head if len(head) < 4096 else head[: head.rfind(b"\n") + 1] or head
    lines = alog.empty(text.count(b"\n") + 1, alog.LINE)
    count, _ = alog_lines.parse(text, 0, lines)
    return bool((lines.status[:count] <= alog.HEADER).any())


def record(source: Source) -> Recording:
    """Return what the file holds. Raises TraceError for a file that holds no ALOG event."""
    head = source.head()
    if not looks_like(head):
        raise TraceError(f"{source.path}: {refusal(head, source.path)}")
    try:
        return _Pass(source, Headers(source.path), complete=False).run()
    except _LateDefinition:
        return _Pass(source, _all_headers(source), complete=True).run()


def _all_headers(source: Source) -> Headers:
    headers = Headers(source.path)
    for text, lines, first in _lines(source):
        headers.read(text, lines, first)
    return headers


def _lines(source: Source) -> Iterator[tuple[bytes, alog.Records, int]]:
    """Yield (text, some lines of it, number of the first). The lines are overwritten by the next ones."""
    buffer = alog.empty(LINES, alog.LINE)
    first = 1
    for text in source.chunks():
        start = 0
        while start < len(text):
            count, start = alog_lines.parse(text, start, buffer)
            lines = buffer[:count]
            if start > len(text) and lines.status[-1] == alog.NOT_INTEGERS:
                lines.status[-1] = alog.DAMAGED + defects.CUT_OFF
            yield text, lines, first
            first += count


class _Pass:
    def __init__(self, source: Source, headers: Headers, complete: bool) -> None:
        self._source, self._headers, self._complete = source, headers, complete
        self._states: States | None = None
        self._locations = Numbers()
        self._location_of = np.full(_PROCESSES, alog.UNKNOWN, "i4")
        self._places, self._open_calls = untouched(0), alog.empty(0, alog.CALL)
        self._stack = alog.empty(0, alog.ENTRY)
        self._counts = no_counts()
        self._calls, self._regions, self._messages = Columns(alog.CALL), Columns(alog.REGION), Columns(alog.MESSAGE)
        self._out = _Room(LINES)
        self._found = defects.DefectList()
        self._line, self._records = 1, 0

    def run(self) -> Recording:
        """Return what the file holds."""
        for text, lines, first in _lines(self._source):
            self._some(text, lines, first)
            self._line = first + len(lines)
        if self._states is None or not (self._places.first >= 0).any():
            raise TraceError(f"{self._source.path}: no event record, must have at least one")
        if self._source.cut_off:
            self._found.add(self._line, defects.CUT_OFF)
        self._close()
        self._found.add([*self._headers.defects, *self._groups.defects], defects.BAD_HEADER)
        return Recording(
            headers=self._headers,
            states=self._states,
            groups=self._groups,
            locations=self._locations.pairs,
            places=self._places,
            counts=self._counts,
            calls=self._calls,
            regions=self._regions,
            messages=self._messages,
            notes=self._notes,
            records=self._records,
            defects=self._found,
        )

    def _some(self, text: bytes, lines: alog.Records, first: int) -> None:
        status = lines.status
        present = np.bincount(status, minlength=alog.NO_TAG_AND_BYTES + 1)
        if present[alog.HEADER] and not self._complete and self._headers.read(text, lines, first) and self._states:
            raise _LateDefinition
        if self._headers.clock_events and present[alog.NO_TAG_AND_BYTES]:
            _mark_clock_events(lines)
        events = int(np.count_nonzero(status == alog.EVENT))
        if events:
            self._records += events
            self._events(text, lines, first)
        bad = np.flatnonzero(status >= alog.DAMAGED)
        if len(bad):
            self._found.add(first + bad, status[bad] - alog.DAMAGED)

    def _events(self, text: bytes, lines: alog.Records, first: int) -> None:
        if self._states is None:
            self._states, self._groups = States(self._headers), Groups(self._headers)
            self._notes = Notes(self._groups)
        if alog_lines.look_up(lines, self._states.table, self._location_of):
            self._look_up_rest(lines, self._states)
        notes = self._notes.find(text, lines) if self._headers.extended else None
        self._grow(len(lines))
        self._run(lines, self._states)
        if notes is not None and len(notes):
            self._say_more(lines)
            bad = self._notes.keep(text, lines, notes)
            self._found.add(first + bad, defects.BAD_ATTRIBUTE)

    def _look_up_rest(self, lines: alog.Records, states: States) -> None:
        """Number what the tables do not know, and enter the processes below 65536."""
        event = lines.status == alog.EVENT
        far = np.flatnonzero(event & (lines.state == alog.UNKNOWN))
        lines.state[far] = states.far(lines.type[far])
        new = np.flatnonzero(event & (lines.location == alog.UNKNOWN))
        lines.location[new] = self._locations.number(lines.process[new], lines.task[new])
        near = new[(lines.task[new] == 0) & (lines.process[new] < _PROCESSES)]
        self._location_of[lines.process[near]] = lines.location[near]

    def _say_more(self, lines: alog.Records) -> None:
        """A stand-alone event that continues a list of requests, or tells a link, belongs to the call it stands in."""
        for event, owner in self._headers.more.items():
            lines.owner[(lines.owner == alog.SINGLE) & (lines.type == event)] = owner

    def _grow(self, lines: int) -> None:
        """Make room for all locations, and for as many more open states as there are lines."""
        count = self._locations.count
        if count > len(self._places):
            places, calls = untouched(2 * count), alog.empty(2 * count, alog.CALL)
            places[: len(self._places)], calls[: len(self._places)] = self._places, self._open_calls
            self._places, self._open_calls = places, calls
        used = int(self._counts.entries[0])
        if used + lines > len(self._stack):
            stack = alog.empty(2 * used + lines, alog.ENTRY)
            stack[:used] = self._stack[:used]
            self._stack = stack

    def _run(self, lines: alog.Records, states: States) -> None:
        alog_states.read(
            lines,
            states.matrix,
            ROUTINES,
            operations.OP["MPI_Send"],
            operations.OP["MPI_Recv"],
            self._headers.rollover,
            self._places,
            self._open_calls,
            self._stack,
            self._counts,
            self._out.calls,
            self._out.regions,
            self._out.messages,
        )
        self._counts.messages += self._counts.messages_out
        self._keep(self._out)

    def _keep(self, out: _Room) -> None:
        """Move what a kernel wrote to the columns."""
        for columns, rows, count in (
            (self._calls, out.calls, self._counts.calls_out),
            (self._regions, out.regions, self._counts.regions_out),
            (self._messages, out.messages, self._counts.messages_out),
        ):
            columns.add(rows[: count[0]], count[0])
            count[:] = 0

    def _close(self) -> None:
        """Close what is still open, at the last instant of its location."""
        count = int(self._places.depth.sum())
        out = _Room(count)
        alog_states.close(self._places, self._open_calls, self._stack, self._counts, out.calls, out.regions)
        self._keep(out)
        self._found.add(np.full(count, -1), defects.NEVER_ENDS)


class _Room:
    """Where the kernel writes calls, regions and messages, at most so many each."""

    def __init__(self, rows: int) -> None:
        self.calls, self.regions, self.messages = (alog.empty(rows, dtype) for dtype in (alog.CALL, alog.REGION, alog.MESSAGE))


def _mark_clock_events(lines: alog.Records) -> None:
    """What p4 logs as -101 or -102 without a string becomes a stand-alone event, as are its -103 and -104."""
    empty = (lines.status == alog.NO_TAG_AND_BYTES) & (lines.text == lines.text_end)
    lines.type[empty], lines.status[empty] = alog.CLOCK_EVENT, alog.EVENT


def untouched(locations: int) -> alog.Records:
    """Return the state (alog.LOCATION) of locations no record has touched."""
    places = alog.zeros(locations, alog.LOCATION)
    places.first = places.call_entry = places.top = places.innermost = alog.NONE
    return places


def no_counts() -> alog.Records:
    """Return one row of alog.COUNTS for a file nothing is read of."""
    counts = alog.zeros(1, alog.COUNTS)
    counts.free_entry = alog.NONE
    return counts
