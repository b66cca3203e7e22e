"""Reading CLOG-2: one pass over the records for what is defined, one for the events, which become what those of ALOG do."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.machine import Machine, Recording
from perwiz.formats.alog.notes import Notes
from perwiz.formats.clog import records
from perwiz.formats.clog.communicators import Communicators
from perwiz.formats.clog.records import AT_ONCE, Log, Piece
from perwiz.kernels import alog, clog
from perwiz.trace import defects, operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE

_LONGEST = 2e9
"""Seconds that a log may last."""
_MOST = 1 << 20
"""Most definitions: what they say is kept in Python objects."""
_LATEST = float(1 << 53)


def record(log: Log) -> Recording:
    """Return what the file holds. Raises TraceError for one without events, or with more definitions than can be."""
    return _Events(log, _Definitions(log)).run()


class _Definitions:
    """What the file defines: states, communicators, and when it begins."""

    def __init__(self, log: Log) -> None:
        self.headers = Headers(log.path, processes=log.processes)
        self.communicators = Communicators(log.processes)
        self.earliest = np.inf
        defined = 0
        for piece in log.pieces():
            states = np.flatnonzero(piece.kinds == records.STATE)
            defined += len(states)
            if defined > _MOST:
                raise TraceError(f"{log.path}: more than {_MOST} definitions, must be fewer")
            for row in states.tolist():
                self._state(piece, row)
            self.communicators.add(piece, np.flatnonzero(piece.kinds == records.COMMUNICATOR))
            times = piece.time(np.flatnonzero((piece.kinds >= records.BARE) & (piece.kinds <= records.MESSAGE)))
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
        self._machine = Machine(log.path, States(told.headers))
        self._found = defects.DefectList()
        self._records = 0

    def run(self) -> Recording:
        """Return what the file holds."""
        lines, found = alog.empty(AT_ONCE, alog.LINE), alog.empty(AT_ONCE, clog.FOUND)
        last = 0
        for piece in self._log.pieces():
            wrong = np.flatnonzero(piece.kinds < 0)
            self._found.add(piece.number + wrong, defects.UNREADABLE_RECORD)
            count = piece.events(lines, found)
            if count:
                self._some(piece, lines[:count], found[:count])
            last = piece.number + len(piece.kinds)
        if not self._machine.moved:
            raise TraceError(f"{self._log.path}: no event record, must have at least one")
        if not self._log.complete:
            self._found.add(last, defects.CUT_OFF)
        self._found.add(np.full(self._machine.close(), -1), defects.NEVER_ENDS)
        self._found.add(self._told.headers.defects, defects.BAD_HEADER)
        return self._machine.recording(self._told.headers, self._groups, self._notes, self._records, self._found, "CLOG-2")

    def _some(self, piece: Piece, lines: alog.Records, found: alog.Records) -> None:
        """Take in some events as they stand in the file."""
        comm, process = self._told.communicators.look_up(found.comm, lines.process)
        seconds = piece.time(found.row) - self._told.earliest
        fits = (seconds >= 0) & (seconds < _LONGEST)
        seconds[~fits] = 0
        lines.process, lines.time = process, np.rint(seconds * 1e9)
        self._ends(lines, found)
        kind = lines.type
        of_message = (kind == alog.MESSAGE_SENT) | (kind == alog.MESSAGE_RECEIVED)
        fits &= (lines.task >= 0) & (found.moves == of_message)
        lines.status[~fits] = alog.OUT_OF_RANGE
        lines.status[process < 0] = alog.DAMAGED + defects.NOT_A_MEMBER
        self._records += len(lines)
        self._machine.place(lines)
        self._machine.run(lines)
        self._keep(lines, comm)
        bad = np.flatnonzero(lines.status >= alog.DAMAGED)
        self._found.add(piece.number + found.row[bad], lines.status[bad] - alog.DAMAGED)

    def _ends(self, lines: alog.Records, found: alog.Records) -> None:
        """Replace the ranks of partners by processes; a partner may be of another communicator: that of an intercommunicator."""
        ends = np.flatnonzero(found.moves)
        rank = lines.int_data[ends]
        _, partner = self._told.communicators.look_up(found.other[ends], rank)
        lines.int_data[ends] = partner
        lines.status[ends[(rank >= 0) & (partner < 0)]] = alog.DAMAGED + defects.NOT_A_MEMBER
        negative = np.flatnonzero(lines.bytes < 0)
        lines.status[negative], lines.bytes[negative] = alog.OUT_OF_RANGE, 0

    def _keep(self, lines: alog.Records, comm: I8) -> None:
        """Say of calls and messages on which communicator they are, if that is not the world."""
        other = np.flatnonzero((comm != 0) & (lines.status == alog.EVENT))
        owner = lines.owner[other]
        calls = other[owner == alog.CALL_BEGIN]
        calls = calls[operations.TALKS[self._machine.states.matrix.op[lines.state[calls]]]]
        self._notes.add(alog.CALL_BEGIN, "c", lines.location[calls], lines.owner_number[calls], np.maximum(comm[calls], NONE))
        moved = other[owner == alog.MESSAGE_RECORD]
        self._notes.add(alog.MESSAGE_RECORD, "c", None, lines.owner_number[moved], np.maximum(comm[moved], NONE))
