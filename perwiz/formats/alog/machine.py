"""Events to calls, messages and regions, whatever file they stand in: those of ALOG, and of CLOG-2, which is ALOG in binary."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.alog.communicators import Groups
from perwiz.formats.alog.definitions import States
from perwiz.formats.alog.headers import Headers
from perwiz.formats.alog.notes import Notes
from perwiz.kernels import alog, alog_lines, alog_states
from perwiz.trace import defects, operations
from perwiz.trace.arrays import Columns
from perwiz.trace.nesting import DEEPEST
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
    format: str


class Machine:
    """Turns events (alog.LINE) into calls, messages and regions, some at a time, in the order of the file."""

    def __init__(self, path: str, states: States, rollover: int = 0) -> None:
        self.states, self._path, self._rollover = states, path, rollover
        self._locations = Numbers()
        self._location_of = np.full(_PROCESSES, alog.UNKNOWN, "i4")
        self._places, self._open_calls = untouched(0), alog.empty(0, alog.CALL)
        self._stack = alog.empty(0, alog.ENTRY)
        self._counts = no_counts()
        self._calls, self._regions, self._messages = Columns(alog.CALL), Columns(alog.REGION), Columns(alog.MESSAGE)
        self._out = _Room(LINES)

    @property
    def moved(self) -> bool:
        """Whether any event had a time."""
        return bool((self._places.first >= 0).any())

    def place(self, lines: alog.Records) -> None:
        """Look up the states and locations of at most LINES events."""
        if alog_lines.look_up(lines, self.states.table, self._location_of):
            self._look_up_rest(lines)

    def run(self, lines: alog.Records) -> None:
        """Take in events whose states and locations are looked up; their `owner` and `status` then say what became of them.

        Raises TraceError for more open regions within each other than a trace may have.
        """
        self._grow(len(lines))
        alog_states.read(
            lines,
            self.states.matrix,
            ROUTINES,
            operations.OP["MPI_Send"],
            operations.OP["MPI_Recv"],
            self._rollover,
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

    def close(self) -> int:
        """Close what is still open, at the last instant of its location; return how many."""
        count = int(self._places.depth.sum())
        out = _Room(count)
        alog_states.close(self._places, self._open_calls, self._stack, self._counts, out.calls, out.regions)
        self._keep(out)
        return count

    def recording(self, headers: Headers, groups: Groups, notes: Notes, records: int, found: defects.DefectList, format: str) -> Recording:
        """Return what was taken in, with what else its file holds."""
        return Recording(
            headers=headers,
            states=self.states,
            groups=groups,
            locations=self._locations.pairs,
            places=self._places,
            counts=self._counts,
            calls=self._calls,
            regions=self._regions,
            messages=self._messages,
            notes=notes,
            records=records,
            defects=found,
            format=format,
        )

    def _look_up_rest(self, lines: alog.Records) -> None:
        """Number what the tables do not know, and enter the processes below 65536."""
        event = lines.status == alog.EVENT
        far = np.flatnonzero(event & (lines.state == alog.UNKNOWN))
        lines.state[far] = self.states.far(lines.type[far])
        new = np.flatnonzero(event & (lines.location == alog.UNKNOWN))
        lines.location[new] = self._locations.number(lines.process[new], lines.task[new])
        near = new[(lines.task[new] == 0) & (lines.process[new] < _PROCESSES)]
        self._location_of[lines.process[near]] = lines.location[near]

    def _grow(self, lines: int) -> None:
        """Make room for all locations, and for as many more open states as there are lines."""
        count = self._locations.count
        if count > len(self._places):
            places, calls = untouched(2 * count), alog.empty(2 * count, alog.CALL)
            places[: len(self._places)], calls[: len(self._places)] = self._places, self._open_calls
            self._places, self._open_calls = places, calls
        used = int(self._counts.entries[0])
        if used + lines > len(self._stack):
            deep = int((self._places.depth - self._places.inner - (self._places.call_entry >= 0)).max(initial=0))
            if deep > DEEPEST:
                there = f"{deep} regions within each other that have not ended at one place"
                raise TraceError(f"{self._path}: {there}, must be at most {DEEPEST}")
            stack = alog.empty(2 * used + lines, alog.ENTRY)
            stack[:used] = self._stack[:used]
            self._stack = stack

    def _keep(self, out: _Room) -> None:
        """Move what a kernel wrote to the columns."""
        for columns, rows, count in (
            (self._calls, out.calls, self._counts.calls_out),
            (self._regions, out.regions, self._counts.regions_out),
            (self._messages, out.messages, self._counts.messages_out),
        ):
            columns.add(rows[: count[0]], count[0])
            count[:] = 0


class _Room:
    """Where the kernel writes calls, regions and messages, at most so many each."""

    def __init__(self, rows: int) -> None:
        self.calls, self.regions, self.messages = (alog.empty(rows, dtype) for dtype in (alog.CALL, alog.REGION, alog.MESSAGE))


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
