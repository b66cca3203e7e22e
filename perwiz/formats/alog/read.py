"""Reading ALOG, whoever wrote it: chunks of text become rows, rows become calls, messages and regions, those become a Trace.

A definition that stands behind events makes a second pass, with all definitions known from its start.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.alog import rows as row
from perwiz.formats.alog.communicators import Groups
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.notes import Notes
from perwiz.formats.columns import Columns
from perwiz.formats.source import Source, describe
from perwiz.kernels import alog_lines, alog_states
from perwiz.trace import defects, operations
from perwiz.trace.numbers import Numbers

ROWS = 1 << 14
"""Lines turned into rows at a time: what they need stays in the cache."""
_PLACES = 1 << 16
"""Processes below this find their location in a table."""


@dataclasses.dataclass
class Recording:
    """What one pass over the file leaves behind; locations in order of first occurrence, call numbers counted per location."""

    headers: Headers
    states: States
    groups: Groups
    locations: NDArray[np.int64]
    """(process, task) per location."""
    places: NDArray[np.int64]
    calls: Columns
    regions: Columns
    messages: Columns
    notes: Notes
    records: int
    defects: defects.Found


class _LateDefinition(Exception):
    """A header record behind events says what those events mean."""


def looks_like(head: bytes) -> bool:
    """Return whether a file beginning with `head` is ALOG: one of its first whole lines starts with six integers."""
    text = head if len(head) < 4096 else head[: head.rfind(b"\n") + 1] or head
    rows = np.empty((text.count(b"\n") + 1, row.ROW_COLUMNS), "i8")
    count, _ = alog_lines.lines(text, 0, rows)
    return bool((rows[:count, row.STATUS] <= row.HEADER).any())


def record(source: Source) -> Recording:
    """Return what the file holds. Raises TraceError for a file that holds no ALOG event."""
    head = source.head()
    if not looks_like(head):
        raise TraceError(f"{source.path}: {describe(head)}, must be ALOG or the anchor file of an OTF2 archive")
    try:
        return _Pass(source, Headers(source.path), complete=False).run()
    except _LateDefinition:
        return _Pass(source, _all_headers(source), complete=True).run()


def _all_headers(source: Source) -> Headers:
    headers = Headers(source.path)
    for text, rows, line in _rows(source):
        headers.read(text, rows, line)
    return headers


def _rows(source: Source) -> Iterator[tuple[bytes, NDArray[np.int64], int]]:
    """Yield (text, rows of some lines of it, number of the first). The rows are overwritten by the next ones."""
    buffer = np.empty((ROWS, row.ROW_COLUMNS), "i8")
    line = 1
    for text in source.chunks():
        start = 0
        while start < len(text):
            count, start = alog_lines.lines(text, start, buffer)
            rows = buffer[:count]
            if start > len(text) and rows[-1, row.STATUS] == row.DAMAGED + defects.NOT_INTEGERS:
                rows[-1, row.STATUS] = row.DAMAGED + defects.CUT_OFF
            yield text, rows, line
            line += count


class _Pass:
    def __init__(self, source: Source, headers: Headers, complete: bool) -> None:
        self._source, self._headers, self._complete = source, headers, complete
        self._states: States | None = None
        self._locations = Numbers()
        self._place_of = np.full(_PLACES, -2, "i4")
        self._places = _places(0)
        self._pool = np.empty((0, row.POOL_COLUMNS), "i8")
        self._columns = Columns(row.CALL_COLUMNS), Columns(row.REGION_COLUMNS), Columns(row.MESSAGE_COLUMNS)
        self._out = self._room(ROWS)
        self._found = defects.Found()
        self._line, self._records = 1, 0

    def run(self) -> Recording:
        """Return what the file holds."""
        for text, rows, line in _rows(self._source):
            self._some(text, rows, line)
            self._line = line + len(rows)
        if self._states is None or not (self._places[:-1, row.FIRST] >= 0).any():
            raise TraceError(f"{self._source.path}: no event record, must have at least one")
        if self._source.cut_off:
            self._found.add(self._line, defects.CUT_OFF)
        self._close()
        self._found.add([*self._headers.defects, *self._groups.defects], defects.BAD_HEADER)
        return Recording(
            *(self._headers, self._states, self._groups, self._locations.pairs, self._places, *self._columns),
            *(self._notes, self._records, self._found),
        )

    def _some(self, text: bytes, rows: NDArray[np.int64], line: int) -> None:
        status = rows[:, row.STATUS]
        present = np.bincount(status, minlength=row.DAMAGED + defects.NO_TAG_AND_SIZE + 1)
        if present[row.HEADER] and not self._complete and self._headers.read(text, rows, line) and self._states:
            raise _LateDefinition
        if self._headers.clock_events and present[row.DAMAGED + defects.NO_TAG_AND_SIZE]:
            _mark_clock_events(rows)
        events = int(np.count_nonzero(status == row.EVENT))
        if events:
            self._records += events
            self._events(text, rows, line)
        bad = np.flatnonzero(status >= row.DAMAGED)
        if len(bad):
            self._found.add(line + bad, status[bad] - row.DAMAGED)

    def _events(self, text: bytes, rows: NDArray[np.int64], line: int) -> None:
        if self._states is None:
            self._states, self._groups = States(self._headers), Groups(self._headers)
            self._notes = Notes(self._groups)
        if alog_lines.look_up(rows, self._states.table, self._place_of):
            self._look_up_rest(rows, self._states)
        notes = self._notes.find(text, rows) if self._headers.extended else None
        self._grow(len(rows))
        self._run(rows, self._states)
        if notes is not None and len(notes):
            self._continue_lists(rows)
            bad = self._notes.keep(text, rows, notes)
            self._found.add(line + bad, defects.BAD_ATTRIBUTE)

    def _look_up_rest(self, rows: NDArray[np.int64], states: States) -> None:
        """Number what the tables do not know, and enter the processes below 65536."""
        event = rows[:, row.STATUS] == row.EVENT
        at = np.flatnonzero(event & (rows[:, row.SLOT] == -2))
        rows[at, row.SLOT] = states.far(rows[at, row.TYPE])
        at = np.flatnonzero(event & (rows[:, row.LOCATION] == -2))
        rows[at, row.LOCATION] = self._locations.of(rows[at, row.PROCESS], rows[at, row.TASK])
        at = at[(rows[at, row.TASK] == 0) & (rows[at, row.PROCESS] < _PLACES)]
        self._place_of[rows[at, row.PROCESS]] = rows[at, row.LOCATION]

    def _continue_lists(self, rows: NDArray[np.int64]) -> None:
        """A stand-alone event that continues a list of requests belongs to the call it stands in."""
        for event, owner in self._headers.more.items():
            rows[(rows[:, row.OWNER] == row.SINGLE) & (rows[:, row.TYPE] == event), row.OWNER] = owner

    def _grow(self, rows: int) -> None:
        count = self._locations.count
        if count >= len(self._places):
            places = _places(2 * count)
            places[: len(self._places) - 1] = self._places[:-1]
            places[-1] = self._places[-1]
            self._places = places
        used = int(self._places[-1, row.POOL_USED])
        if used + rows > len(self._pool):
            pool = np.empty((2 * used + rows, row.POOL_COLUMNS), "i8")
            pool[:used] = self._pool[:used]
            self._pool = pool

    def _room(self, rows: int) -> list[NDArray[np.int64]]:
        return [np.empty((rows, len(names)), "i8") for names in (row.CALL_COLUMNS, row.REGION_COLUMNS, row.MESSAGE_COLUMNS)]

    def _run(self, rows: NDArray[np.int64], states: States) -> None:
        count = self._places[-1]
        count[row.RECV_OP], count[row.ROLLOVER] = operations.OP["MPI_Recv"], self._headers.rollover
        alog_states.states(rows, states.matrix, operations.KIND, self._places, self._pool, *self._out)
        count[row.MESSAGE_BASE] += count[row.MESSAGES_OUT]
        self._keep(self._out)

    def _keep(self, out: list[NDArray[np.int64]]) -> None:
        """Move what a kernel wrote to the columns."""
        at = [row.CALLS_OUT, row.REGIONS_OUT, row.MESSAGES_OUT]
        for columns, values, count in zip(self._columns, out, self._places[-1, at], strict=True):
            columns.add(values[:count])
        self._places[-1, at] = 0

    def _close(self) -> None:
        """Close what is still open, at the last instant of its location."""
        count = int(self._places[:-1, row.DEPTH].sum())
        out = self._room(count)
        alog_states.close(self._places, self._pool, out[0], out[1])
        self._keep(out)
        self._found.add(np.full(count, -1), defects.NEVER_ENDS)


def _mark_clock_events(rows: NDArray[np.int64]) -> None:
    """What p4 logs as -101 or -102 without a string becomes a stand-alone event, as are its -103 and -104."""
    empty = (rows[:, row.STATUS] == row.DAMAGED + defects.NO_TAG_AND_SIZE) & (rows[:, row.TEXT] == rows[:, row.TEXT_END])
    rows[empty, row.TYPE], rows[empty, row.STATUS] = -103, row.EVENT


def _places(locations: int) -> NDArray[np.int64]:
    """Return the state of locations no record has touched, and the row of counts behind them."""
    places = np.full((locations + 1, 16), -1, "i8")
    places[:, [row.CLOCK, row.WRAPS, row.CALLS, row.DEPTH]] = 0
    places[-1] = 0
    places[-1, row.FREE] = -1
    return places
