"""Reading Paraver: chunks of text become events and messages, those become calls, regions and counters. perwiz.formats.paraver.tables
makes a trace of them.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats import devices
from perwiz.formats.paraver import codes
from perwiz.formats.paraver.header import Header
from perwiz.formats.paraver.labels import Labels
from perwiz.formats.source import CHUNK, LONGEST_LINE, Source
from perwiz.kernels import paraver, paraver_calls, paraver_lines
from perwiz.kernels.alog import Records, empty, zeros
from perwiz.trace import defects, operations
from perwiz.trace.arrays import I4

_PAIRS = (CHUNK + LONGEST_LINE) // 4 + 2
"""Events for which there is room: those of the longest line."""
_LINES = 1 << 14
"""Messages, and lines that are no records, for which there is room."""
_AT_ONCE = 1 << 14
"""Events made to calls at a time."""
_TEAM_OPS = {
    "fork": "omp_fork",
    "join": "omp_join",
    "idle": "omp_idle",
    "barrier": "omp_implicit_barrier",
    "taskwait": "omp_taskwait",
}
_ROLES = {
    operations.SEND: paraver.SENDS,
    operations.ISEND: paraver.SENDS | paraver.POSTS | paraver.SEVERAL,
    operations.RECV: paraver.RECEIVES,
    operations.IRECV: paraver.POSTS,
    operations.SENDRECV: paraver.SENDS | paraver.RECEIVES,
    operations.COMPLETE: paraver.COMPLETES | paraver.SEVERAL,
    operations.TEST: paraver.COMPLETES | paraver.SEVERAL,
}
ROLES = np.array([_ROLES.get(int(kind), 0) for kind in operations.KIND], "u1")
"""Per op: what its calls may be to messages."""
for _name in ("Isend", "Issend", "Ibsend", "Irsend"):
    ROLES[operations.OP[f"MPI_{_name}"]] = paraver.SENDS
for _name in ("Wait", "Waitany", "Test", "Testany"):
    ROLES[operations.OP[f"MPI_{_name}"]] = paraver.COMPLETES


@dataclasses.dataclass
class Recording:
    """What the file holds; locations are those that the header declares."""

    header: Header
    labels: Labels
    kinds: dict[int, tuple[int, int]]
    """What each type of events tells, and its number among those that tell it."""
    places: Records
    """paraver.PLACE per location."""
    calls: Records
    regions: Records
    kept: Records
    counted: Records
    around: Records
    """Counters around regions, as `counted` around calls."""
    messages: Records
    lines: Records
    """One row of paraver.LINES: how many there are."""
    rows: Records
    """One row of paraver.ROWS."""
    defects: defects.DefectList


def record(source: Source, labels: Labels) -> Recording:
    """Return what the file holds. Raises TraceError for one without a header or without events."""
    return _Pass(source, labels).run()


class _Pass:
    def __init__(self, source: Source, labels: Labels) -> None:
        self._source, self._labels = source, labels
        self._header = _header(source)
        locations = int(self._header.threads[-1])
        self._workers = np.ones(locations, "u1")
        self._workers[self._header.threads[:-1][np.diff(self._header.threads) > 0]] = 0
        self._places = zeros(locations, paraver.PLACE)
        self._sums, self._entered = (np.zeros(locations * paraver.COUNTERS, "f8") for _ in range(2))
        self._calls, self._regions, self._kept, self._counted, self._around, self._messages = (
            empty(0, dtype) for dtype in (paraver.MADE, paraver.INSTANCE, paraver.KEEP, paraver.COUNTED, paraver.COUNTED, paraver.MESSAGE)
        )
        self._defects, self._rows = empty(2 * _AT_ONCE, paraver.DEFECT), zeros(1, paraver.ROWS)
        self._found = defects.DefectList()
        self._kinds = _kinds(labels)
        self._ops = _routines(labels, self._kinds)
        self._ends = np.zeros(len(operations.OPS), "i4")
        self._ends[:] = codes.ENDED
        self._teams = np.array([tuple(operations.OP[name] for name in _TEAM_OPS.values())], [(name, "i4") for name in _TEAM_OPS])
        self._counters, self._values, self._message_lines = 0, 0, 0
        self._counted_types = np.zeros(len(codes.COUNTERS), bool)
        self._table()

    def _table(self) -> None:
        self._table_of_kinds = empty(len(self._kinds), paraver.KIND)
        rows = sorted((kind, *told) for kind, told in self._kinds.items())
        self._table_of_kinds[:] = np.array(rows, paraver.KIND)

    def run(self) -> Recording:
        """Return what the file holds."""
        header = self._header
        pairs, messages, others = (
            empty(size, dtype) for size, dtype in ((_PAIRS, paraver.PAIR), (_LINES, paraver.MESSAGE), (_LINES, paraver.OTHER))
        )
        lines = zeros(1, paraver.LINES)
        for text in self._source.chunks():
            start = 0
            while start < len(text):
                paraver_lines.parse(text, start, header.tasks, header.threads, header.scale, pairs, messages, others, lines)
                start = int(lines.following[0])
                self._take(text, pairs[: lines.pairs[0]], others[: lines.others[0]])
                count = int(lines.messages[0])
                self._messages = self._roomy(self._messages, self._message_lines, count)
                self._messages[self._message_lines : self._message_lines + count] = messages[:count]
                self._message_lines += count
                lines.pairs[0] = lines.messages[0] = lines.others[0] = 0
        if self._source.cut_off:
            self._found.add(int(lines.lines[0]) + 1, defects.CUT_OFF)
        if not self._rows.calls[0] and not (self._places.first > 0).any():
            raise TraceError(f"{self._source.path}: no event record, must have at least one")
        self._close()
        lines.messages[0] = self._message_lines
        rows = self._rows[0]
        return Recording(
            header=header,
            labels=self._labels,
            kinds=self._kinds,
            places=self._places,
            calls=self._calls[: rows.calls],
            regions=self._regions[: rows.regions],
            kept=self._kept[: rows.kept],
            counted=self._counted[: rows.counted],
            around=self._around[: rows.around],
            messages=self._messages[: self._message_lines],
            lines=lines,
            rows=self._rows,
            defects=self._found,
        )

    def _take(self, text: bytes, pairs: Records, others: Records) -> None:
        for other in others:
            if other.what == paraver.HEADER:
                if not self._header.take(text[other.begin : other.end]):
                    self._found.add(other.line, defects.BAD_HEADER)
            else:
                self._found.add(other.line, other.what)
        begin = 0
        while begin < len(pairs):
            end = min(begin + _AT_ONCE, len(pairs))
            while not pairs.last[end - 1]:
                end += 1
            self._some(pairs[begin:end])
            begin = end

    def _some(self, pairs: Records) -> None:
        self._learn(pairs.type)
        rows, room = self._rows[0], 4 * len(pairs)
        self._calls = self._roomy(self._calls, rows.calls, room)
        self._regions = self._roomy(self._regions, rows.regions, room)
        self._kept = self._roomy(self._kept, rows.kept, room)
        self._counted = self._roomy(self._counted, rows.counted, self._values - rows.counted)
        self._around = self._roomy(self._around, rows.around, paraver.COUNTED_REGIONS * self._values - rows.around)
        if len(self._defects) < room:
            self._defects = empty(room, paraver.DEFECT)
        paraver_calls.run(
            pairs,
            self._table_of_kinds,
            self._ops,
            self._ends,
            self._teams.view(np.recarray)[0],
            self._workers,
            self._places,
            self._sums,
            self._entered,
            self._calls,
            self._regions,
            self._kept,
            self._counted,
            self._around,
            self._defects,
            self._rows,
        )
        if self._rows.defects[0]:
            wrong = self._defects[: self._rows.defects[0]]
            for location in np.unique(wrong.location).tolist():
                mine = wrong[wrong.location == location]
                self._found.add(mine.line, mine.reason)
            self._rows.defects[0] = 0

    def _roomy(self, rows: Records, used: int, more: int) -> Records:
        """Return rows with room for some more behind those that are used, and for those that the rest of the file will make.

        Memory that is never touched costs nothing.
        """
        if used + more <= len(rows):
            return rows
        whole = 1.1 / max(self._source.part, 0.01)
        out = empty(int(used * max(whole, 1.5)) + more, rows.dtype)
        out[:used] = rows[:used]
        return out

    def _learn(self, types: NDArray[np.int64]) -> None:
        """Count the values of counters, and give counters that are new a number."""
        number = types[(types >= codes.COUNTERS.start) & (types < codes.COUNTERS.stop)] - codes.COUNTERS.start
        self._values += len(number)
        number = number[~self._counted_types[number]]
        if not len(number):
            return
        self._counted_types[number] = True
        for kind in (np.unique(number) + codes.COUNTERS.start)[: paraver.COUNTERS - self._counters].tolist():
            self._kinds[kind] = paraver.COUNTER, self._counters
            self._counters += 1
        self._table()

    def _close(self) -> None:
        room = 2 * int(np.count_nonzero(self._places.current))
        self._calls = self._roomy(self._calls, self._rows.calls[0], room)
        before = int(self._rows.unended[0])
        paraver_calls.close(
            self._teams.view(np.recarray)[0],
            self._workers,
            self._places,
            self._sums,
            self._entered,
            self._calls,
            self._regions,
            self._counted,
            self._rows,
        )
        self._found.add(np.full(int(self._rows.unended[0]) - before, -1), defects.NEVER_ENDS)


def _header(source: Source) -> Header:
    """Return the header, the first line, however long it is."""
    for text in source.chunks():
        return Header(text[: text.find(b"\n") + 1 or len(text)].decode("latin-1"), source.path)
    raise TraceError(f"{source.path}: no header, must be a Paraver trace")


def _kinds(labels: Labels) -> dict[int, tuple[int, int]]:
    """Return what types of events tell, and their numbers among those."""
    out = {kind: (paraver.CALL, number) for number, kind in enumerate(codes.CALLS)}
    out |= {codes.PARALLEL: (paraver.PARALLEL, 0)}
    for number, (kind, what) in enumerate(codes.REGIONS.items()):
        if kind not in labels.calls_of_devices:
            out[kind] = getattr(paraver, what), number
    out |= dict.fromkeys(codes.DEVICE_STREAM, (paraver.STREAM, 0)) | dict.fromkeys(codes.DEVICE_EVENT, (paraver.EVENT, 0))
    out |= {codes.SENT: (paraver.SENT, 0), codes.RECEIVED: (paraver.RECEIVED, 0), codes.ROOT: (paraver.ROOT, 0)}
    out |= {codes.COMMUNICATOR: (paraver.COMM, 0), codes.LOCK_ADDRESS: (paraver.LOCK, 0)}
    for level in range(1, codes.DEEPEST_CALLER + 1):
        out[codes.CALLER + level], out[codes.CALLER_LINE + level] = (paraver.CALLER, level), (paraver.CALLER_LINE, level)
    return out


def _routines(labels: Labels, kinds: dict[int, tuple[int, int]]) -> I4:
    """Return the routine per number of a type and value, -1 for none, as the kernel takes it: the last column is that of other values."""
    out = np.full((len(codes.CALLS), paraver.VALUES + 1), -1, "i4")
    rows = {kind: number for kind, (what, number) in kinds.items() if what == paraver.CALL}
    for kind in codes.OF_MPI:
        out[rows[kind], 1:] = 0
    for op, (kind, value) in enumerate(zip(codes.TYPE.tolist(), codes.VALUE.tolist(), strict=True)):
        if kind in rows and op and value < paraver.VALUES:
            out[rows[kind], value] = op
    for (kind, value), name in codes.ALSO.items():
        out[rows[kind], value] = operations.OP[name]
    out[rows[codes.TASK_CREATED], 1:] = operations.OP["omp_task_create"]
    for kind in set(labels.calls_of_devices) & {*rows}:
        out[rows[kind], 0] = paraver.OF_DEVICES
        named = {*codes.ROUTINES_OF_DEVICES, *labels.values.get(kind, {})}
        for value in named & {*range(1, paraver.VALUES)}:
            out[rows[kind], value] = devices.routine(labels.routine(value))
    for kind, number in rows.items():
        for value, name in labels.values.get(kind, {}).items():
            found = operations.find(name) if kind in codes.OF_MPI else operations.OP.get(name)
            if found and 0 < value < paraver.VALUES:
                out[number, value] = found
    return out
