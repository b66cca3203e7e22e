"""Reading CLOG-2: one pass over the records for what is defined, one for the events, which become what those of ALOG do."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.machine import LINES, Machine, Recording
from perwiz.formats.alog.notes import Notes
from perwiz.formats.clog import records
from perwiz.formats.clog.communicators import Communicators
from perwiz.formats.clog.records import Log, Piece
from perwiz.kernels import alog
from perwiz.trace import defects, operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE

_LONGEST = 2e9
"""Seconds that a log may last."""
_MOST = 1 << 20
"""Most definitions: what they say is kept in Python objects."""
_LATEST = float(1 << 53)


def record(log: Log) -> Recording:
    """Return what the file holds. Raises TraceError for one without events, or with more definitions than can be."""
    return _Events(log, _Definitions(log)).run()


def _events(kinds: I8) -> Mask:
    """Return which records are events: bare, with cargo, or of messages."""
    return (kinds >= records.BARE) & (kinds <= records.MESSAGE)


class _Definitions:
    """What the file defines: states, communicators, and when it begins."""

    def __init__(self, log: Log) -> None:
        self.headers = Headers(log.path, processes=log.processes)
        self.communicators = Communicators(log.processes)
        self.earliest = np.inf
        defined = 0
        for piece in log.pieces():
            kinds = piece.kinds()
            states = np.flatnonzero(kinds == records.STATE)
            defined += len(states)
            if defined > _MOST:
                raise TraceError(f"{log.path}: more than {_MOST} definitions, must be fewer")
            for row in states.tolist():
                self._state(piece, row)
            self.communicators.add(piece, np.flatnonzero(kinds == records.COMMUNICATOR))
            times = piece.time(np.flatnonzero(_events(kinds)))
            self.earliest = min(self.earliest, times[np.abs(times) < _LATEST].min(initial=np.inf))
        self.communicators.close()

    def _state(self, piece: Piece, row: int) -> None:
        begin, end = (int(piece.word(np.array([row]), records.BODY + word)[0]) for word in (1, 2))
        name = piece.text(row, records.BODY + 10, 8).strip()
        if begin < 0 or end < 0 or not name:
            self.headers.defects.append(piece.number + row)
        else:
            self.headers.states.setdefault(begin, (end, "".join(c if c.isprintable() else "?" for c in name)))


class _Events:
    def __init__(self, log: Log, told: _Definitions) -> None:
        self._log, self._told = log, told
        self._groups = told.communicators.groups()
        self._notes = Notes(self._groups)
        self._machine = Machine(States(told.headers))
        self._found = defects.DefectList()
        self._records = 0

    def run(self) -> Recording:
        """Return what the file holds."""
        lines = alog.empty(LINES, alog.LINE)
        last = 0
        for piece in self._log.pieces():
            kinds = piece.kinds()
            self._found.add(piece.number + np.flatnonzero(kinds < 0), defects.UNREADABLE_RECORD)
            rows = np.flatnonzero(_events(kinds))
            if len(rows):
                self._some(piece, rows, kinds[rows] == records.MESSAGE, lines[: len(rows)])
            last = piece.number + len(kinds)
        if not self._machine.moved:
            raise TraceError(f"{self._log.path}: no event record, must have at least one")
        if not self._log.complete:
            self._found.add(last, defects.CUT_OFF)
        self._found.add(np.full(self._machine.close(), -1), defects.NEVER_ENDS)
        self._found.add(self._told.headers.defects, defects.BAD_HEADER)
        return self._machine.recording(self._told.headers, self._groups, self._notes, self._records, self._found, "CLOG-2")

    def _some(self, piece: Piece, rows: I8, moves: Mask, lines: alog.Records) -> None:
        """Take in the events in some rows; those that `moves` marks are ends of messages."""
        comm, process = self._told.communicators.look_up(piece.word(rows, records.COMM), piece.word(rows, records.RANK))
        seconds = piece.time(rows) - self._told.earliest
        fits = (seconds >= 0) & (seconds < _LONGEST)
        lines.type, lines.process, lines.task = piece.word(rows, records.ETYPE), process, piece.word(rows, records.THREAD)
        lines.time = np.rint(np.where(fits, seconds, 0) * 1e9).astype("i8")
        lines.status, lines.owner, lines.cycle, lines.int_data = alog.EVENT, alog.NOBODY, 0, 0
        ends = np.flatnonzero(moves)
        self._ends(piece, rows[ends], ends, lines)
        of_message = (lines.type == alog.MESSAGE_SENT) | (lines.type == alog.MESSAGE_RECEIVED)
        fits &= (lines.task >= 0) & (moves == of_message)
        lines.status[~fits] = alog.OUT_OF_RANGE
        lines.status[process < 0] = alog.DAMAGED + defects.NOT_A_MEMBER
        self._records += len(rows)
        self._machine.place(lines)
        self._machine.run(lines)
        self._keep(lines, comm)
        bad = np.flatnonzero(lines.status >= alog.DAMAGED)
        self._found.add(piece.number + rows[bad], lines.status[bad] - alog.DAMAGED)

    def _ends(self, piece: Piece, rows: I8, ends: I8, lines: alog.Records) -> None:
        """Fill in partner, tag and size of ends of messages; a partner may be of another communicator: that of an intercommunicator."""
        other, rank, tag, size = (piece.word(rows, records.BODY + word) for word in (1, 2, 3, 4))
        own = piece.word(rows, records.COMM)
        _, partner = self._told.communicators.look_up(np.where(other < 0, own, other), rank)
        lines.int_data[ends], lines.tag[ends], lines.bytes[ends] = partner, tag, np.maximum(size, 0)
        lines.status[ends[(rank >= 0) & (partner < 0)]] = alog.DAMAGED + defects.NOT_A_MEMBER
        lines.status[ends[size < 0]] = alog.OUT_OF_RANGE

    def _keep(self, lines: alog.Records, comm: I8) -> None:
        """Say of calls and messages on which communicator they are, if that is not the world."""
        other = np.flatnonzero((comm != 0) & (lines.status == alog.EVENT))
        owner = lines.owner[other]
        calls = other[owner == alog.CALL_BEGIN]
        calls = calls[operations.TALKS[self._machine.states.matrix.op[lines.state[calls]]]]
        self._notes.add(alog.CALL_BEGIN, "c", lines.location[calls], lines.owner_number[calls], np.maximum(comm[calls], NONE))
        moved = other[owner == alog.MESSAGE_RECORD]
        self._notes.add(alog.MESSAGE_RECORD, "c", None, lines.owner_number[moved], np.maximum(comm[moved], NONE))
