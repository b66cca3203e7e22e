"""Reading ALOG, whoever wrote it: chunks of text become rows, rows become calls, messages and regions, those become a Trace.

A definition that stands behind events makes a second pass, with all definitions known from its start.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.kernels import alog_attributes, alog_lines, alog_states
from perwiz.trace import alog_rows as row
from perwiz.trace import defects, ops
from perwiz.trace.alog_headers import Headers, States
from perwiz.trace.numbers import Numbers
from perwiz.trace.source import Source, describe

_DTYPES = {
    **{"location": "i4", "op": "u1", "region": "i4", "peer": "i4", "tag": "i4", "internal": "u1", "call": "i4", "number": "i4"},
    **{"name": "i4", "parent": "i4", "first_call": "i4", "end_call": "i4", "instance": "i4", "type": "i4", "owner": "u1", "row": "i4"},
    **{"key": "i4"},
}
NOTE_COLUMNS = ("owner", "location", "row", "key", "value")


class Column:
    """Columns that grow chunk by chunk, in compact dtypes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._parts: dict[str, list[NDArray[np.generic]]] = {name: [] for name in names}

    def add(self, values: NDArray[np.int64]) -> None:
        """Append the rows of a matrix with one column per name; what does not fit its dtype is clipped."""
        for k, (name, parts) in enumerate(self._parts.items()):
            dtype = np.dtype(_DTYPES.get(name, "i8"))
            info = np.iinfo(dtype)
            column = values[:, k]
            parts.append((column if dtype == "i8" else np.clip(column, info.min, info.max)).astype(dtype))

    def take(self, name: str) -> NDArray[np.generic]:
        """Return one column, whole, and forget its parts."""
        parts = self._parts.pop(name)
        return np.concatenate(parts) if parts else np.empty(0, _DTYPES.get(name, "i8"))


@dataclasses.dataclass
class Recording:
    """What one pass over the file leaves behind; locations in order of first occurrence, call numbers counted per location."""

    headers: Headers
    states: States
    locations: NDArray[np.int64]
    """(process, task) per location."""
    places: NDArray[np.int64]
    calls: Column
    regions: Column
    messages: Column
    notes: Column
    texts: list[str]
    records: int
    defects: list[tuple[int, int]]


class _LateDefinition(Exception):
    """A header record behind events says what those events mean."""


def looks_like(head: bytes) -> bool:
    """Return whether a file beginning with `head` is ALOG: one of its first whole lines starts with six integers."""
    text = head if len(head) < 4096 else head[: head.rfind(b"\n") + 1]
    rows = np.zeros((text.count(b"\n") + 1, row.ROW_COLUMNS), "i8")
    count = alog_lines.lines(text, rows)
    return bool((rows[:count, row.STATUS] <= row.HEADER).any())


def record(source: Source) -> Recording:
    """Return what the file holds. Raises TraceError for a file that holds no ALOG event."""
    if not looks_like(source.head()):
        raise TraceError(f"{source.path}: {describe(source.head())}, must be a trace in ALOG format")
    try:
        return _Pass(source, Headers(), complete=False).run()
    except _LateDefinition:
        return _Pass(source, _all_headers(source), complete=True).run()


def _all_headers(source: Source) -> Headers:
    headers = Headers()
    line = 1
    for text in source.chunks():
        rows = _parse(text)
        headers.read(text, rows, line)
        line += len(rows)
    return headers


def _parse(text: bytes) -> NDArray[np.int64]:
    rows = np.zeros((text.count(b"\n") + 1, row.ROW_COLUMNS), "i8")
    return rows[: alog_lines.lines(text, rows)]


class _Pass:
    def __init__(self, source: Source, headers: Headers, complete: bool) -> None:
        self._source, self._headers, self._complete = source, headers, complete
        self._states: States | None = None
        self._locations = Numbers()
        self._places = _places(0)
        self._pool = np.empty((0, row.POOL_COLUMNS), "i8")
        self._calls = Column(row.CALL_COLUMNS)
        self._regions = Column(row.REGION_COLUMNS)
        self._messages = Column(row.MESSAGE_COLUMNS)
        self._notes = Column(NOTE_COLUMNS)
        self._texts: dict[str, int] = {}
        self._defects: list[tuple[int, int]] = []
        self._line, self._records, self._text = 1, 0, b""

    def run(self) -> Recording:
        for text in self._source.chunks():
            self._chunk(text)
        if self._states is None:
            raise TraceError(f"{self._source.path}: no event record, must have at least one")
        self._mark_cut()
        self._never_ended()
        self._defects += [(line, defects.BAD_HEADER) for line in self._headers.defects]
        return Recording(
            *(self._headers, self._states, self._locations.pairs, self._places),
            *(self._calls, self._regions, self._messages, self._notes, list(self._texts)),
            *(self._records, self._defects),
        )

    def _chunk(self, text: bytes) -> None:
        self._text = text
        rows = _parse(text)
        events = (rows[:, row.STATUS] == row.EVENT) & (rows[:, row.SLOT] == 0)
        if not self._complete:
            self._read_headers(text, rows, events)
        if events.any():
            self._states = self._states or States(self._headers, self._source.path)
            self._events(text, rows, events, self._states)
        bad = np.flatnonzero(rows[:, row.STATUS] >= row.DAMAGED)
        self._defects += [(self._line + int(r), int(rows[r, row.STATUS]) - row.DAMAGED) for r in bad]
        self._line += len(rows)

    def _read_headers(self, text: bytes, rows: NDArray[np.int64], events: NDArray[np.bool_]) -> None:
        if not (rows[:, row.STATUS] == row.HEADER).any():
            return
        before = self._states is not None
        if events.any():
            first = int(np.argmax(events))
            meant = self._headers.read(text, rows[:first], self._line)
            late = Headers().read(text, rows[first:], 0)
            if late:
                raise _LateDefinition
            self._headers.read(text, rows[first:], self._line + first)
        else:
            meant = self._headers.read(text, rows, self._line)
        if before and meant:
            raise _LateDefinition

    def _events(self, text: bytes, rows: NDArray[np.int64], events: NDArray[np.bool_], states: States) -> None:
        self._records += int(events.sum())
        if (rows[:, row.CYCLE] != 0).any():
            rows[:, row.TIME] += np.where(events, rows[:, row.CYCLE], 0) * self._headers.rollover
        rows[:, row.SLOT] = states.slots(rows[:, row.TYPE])
        rows[events, row.LOCATION] = self._locations.of(rows[events, row.PROCESS], rows[events, row.TASK])
        notes = self._attributes(text, rows) if self._headers.extended else None
        self._grow(len(rows))
        self._run_states(rows, states)
        if notes is not None:
            self._keep_notes(rows, notes)

    def _attributes(self, text: bytes, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.empty((text.count(b"=") + text.count(b",") + 1, 4), "i8")
        return out[: alog_attributes.attributes(text, rows, out)]

    def _grow(self, rows: int) -> None:
        count = self._locations.count
        if count >= len(self._places):
            places = _places(2 * count)
            places[: len(self._places) - 1] = self._places[:-1]
            places[-1] = self._places[-1]
            self._places = places
        used = int(self._places[-1, row.POOL_USED])
        if used + rows > len(self._pool):
            pool = np.empty((used + 2 * rows, row.POOL_COLUMNS), "i8")
            pool[:used] = self._pool[:used]
            self._pool = pool

    def _run_states(self, rows: NDArray[np.int64], states: States) -> None:
        count = self._places[-1]
        count[[row.CALLS_OUT, row.REGIONS_OUT, row.MESSAGES_OUT]] = 0
        count[row.RECV_OP], count[row.ROLLOVER] = ops.OP["MPI_Recv"], self._headers.rollover
        calls = np.empty((len(rows), len(row.CALL_COLUMNS)), "i8")
        regions = np.empty((len(rows), len(row.REGION_COLUMNS)), "i8")
        messages = np.empty((len(rows), len(row.MESSAGE_COLUMNS)), "i8")
        alog_states.states(rows, states.matrix, ops.KIND, self._places, self._pool, calls, regions, messages)
        self._calls.add(calls[: count[row.CALLS_OUT]])
        self._regions.add(regions[: count[row.REGIONS_OUT]])
        self._messages.add(messages[: count[row.MESSAGES_OUT]])
        count[row.MESSAGE_BASE] += count[row.MESSAGES_OUT]

    def _keep_notes(self, rows: NDArray[np.int64], notes: NDArray[np.int64]) -> None:
        """Tie each attribute to the call, message or region its record became; texts (key o) by their number."""
        at = notes[:, 0]
        for k in np.flatnonzero(notes[:, 1] == ord("o")):
            word = self._text[notes[k, 3] :].split(None, 1)[0].decode("latin-1")
            notes[k, 2] = self._texts.setdefault(word, len(self._texts))
        kept = rows[at, row.OWNER] != row.NOBODY
        columns = (rows[at, row.OWNER], rows[at, row.LOCATION], rows[at, row.OWNER_ROW], notes[:, 1], notes[:, 2])
        self._notes.add(np.stack(columns, axis=1)[kept])

    def _mark_cut(self) -> None:
        """A last line without newline that cannot be read was cut off."""
        if self._source.cut_off:
            self._defects.append((self._line - 1, defects.CUT_OFF))
        elif self._defects and self._defects[-1] == (self._line - 1, defects.NOT_INTEGERS) and not self._text.endswith(b"\n"):
            self._defects[-1] = (self._line - 1, defects.CUT_OFF)

    def _never_ended(self) -> None:
        """Close what is still open, at the last instant of its location."""
        assert self._states is not None
        closing = len(self._states.matrix) - 1
        cells = []
        for location in np.flatnonzero(self._places[:-1, row.TOP] >= 0):
            place = self._places[location]
            entry = int(place[row.TOP])
            while entry >= 0:
                self._pool[entry, 1] = closing
                cells.append((place[row.CLOCK] - place[row.WRAPS] * self._headers.rollover, location))
                entry = int(self._pool[entry, 0])
        rows = np.zeros((len(cells), row.ROW_COLUMNS), "i8")
        if cells:
            rows[:, [row.TIME, row.LOCATION]] = cells
            rows[:, row.SLOT] = closing
            self._run_states(rows, self._states)
        self._defects += [(-1, defects.NEVER_ENDS)] * len(cells)


def _places(locations: int) -> NDArray[np.int64]:
    """Return the state of locations no record has touched, and the row of counts behind them."""
    places = np.full((locations + 1, 16), -1, "i8")
    places[:, [row.CLOCK, row.WRAPS, row.CALLS, row.DEPTH]] = 0
    places[-1] = 0
    places[-1, row.FREE] = -1
    return places
