"""Reading ALOG, whoever wrote it: chunks of text become rows, rows become calls, messages and regions (perwiz.formats.alog.machine).

A definition that stands behind events makes a second pass, with all definitions known from its start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.alog.communicators import listed
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.machine import LINES, Machine, Recording
from perwiz.formats.alog.notes import Notes
from perwiz.formats.foreign import refusal
from perwiz.formats.source import Source
from perwiz.kernels import alog, alog_lines
from perwiz.trace import defects


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
        self._machine: Machine | None = None
        self._found = defects.DefectList()
        self._line, self._records = 1, 0

    def run(self) -> Recording:
        """Return what the file holds."""
        for text, lines, first in _lines(self._source):
            self._some(text, lines, first)
            self._line = first + len(lines)
        if self._machine is None or not self._machine.moved:
            raise TraceError(f"{self._source.path}: no event record, must have at least one")
        if self._source.cut_off:
            self._found.add(self._line, defects.CUT_OFF)
        self._found.add(np.full(self._machine.close(), -1), defects.NEVER_ENDS)
        self._found.add([*self._headers.defects, *self._unusable], defects.BAD_HEADER)
        form = "ALOG, perwiz-ext 1" if self._headers.extended else "ALOG"
        return self._machine.recording(self._headers, self._groups, self._notes, self._records, self._found, form)

    def _some(self, text: bytes, lines: alog.Records, first: int) -> None:
        status = lines.status
        present = np.bincount(status, minlength=alog.NO_TAG_AND_BYTES + 1)
        if present[alog.HEADER] and not self._complete and self._headers.read(text, lines, first) and self._machine:
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
        if self._machine is None:
            self._machine = Machine(self._source.path, States(self._headers), self._headers.rollover)
            self._groups, self._unusable = listed(self._headers)
            self._notes = Notes(self._groups)
        self._machine.place(lines)
        notes = self._notes.find(text, lines) if self._headers.extended else None
        self._machine.run(lines)
        if notes is not None and len(notes):
            self._say_more(lines)
            bad = self._notes.keep(text, lines, notes)
            self._found.add(first + bad, defects.BAD_ATTRIBUTE)

    def _say_more(self, lines: alog.Records) -> None:
        """A stand-alone event that continues a list of requests, or tells a link, belongs to the call it stands in."""
        for event, owner in self._headers.more.items():
            lines.owner[(lines.owner == alog.SINGLE) & (lines.type == event)] = owner


def _mark_clock_events(lines: alog.Records) -> None:
    """What p4 logs as -101 or -102 without a string becomes a stand-alone event, as are its -103 and -104."""
    empty = (lines.status == alog.NO_TAG_AND_BYTES) & (lines.text == lines.text_end)
    lines.type[empty], lines.status[empty] = alog.CLOCK_EVENT, alog.EVENT
