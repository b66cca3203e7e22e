"""Writes a trace, with any of its timelines, as a Paraver trace such as Extrae makes: states, events and messages in order of time."""

from __future__ import annotations

import numpy as np

from perwiz.formats import losses, message_ends
from perwiz.formats.paraver import codes, counters
from perwiz.formats.paraver.counters import Readings
from perwiz.formats.paraver.names import LocationNumbers, configuration
from perwiz.formats.templates import ABSENT, ROWS_AT_ONCE, Templates
from perwiz.formats.whole import packed
from perwiz.trace import operations
from perwiz.trace.arrays import I8, U1, Ints
from perwiz.trace.tables import DONE, EVENT, LAUNCH, NONE
from perwiz.trace.trace import Timeline, Trace

_BEFORE, _FIRST, _ENTER, _LEAVE, _BEGIN, _END, _MESSAGE, _LAST, _REST, _RISE, _LINK, _UNTIL, _SINCE = range(13)
"""What a moment is: a location is not there yet, begins (later: ends); a region is entered, left; a call begins, ends; a message is
gone; a thread or stream begins, ends to be idle; a call lets a stream go on, or a stream a call; a counter is read where a call begins,
where it ends. Each is one line or more, so that a process has a state at all times."""
_STEP = np.array([0, 0, 1, 1, 3, 5, 6, 3, 3, 5, 6, 2, 4], "i8")
"""The order of moments of one time and one place in the program."""
_RECORD = ("cpu", "task", "thread", "time", "until", "state", "type", "value", "sent", "received", "comm", "root", "closed")
_MESSAGE_ENDS = ("to_cpu", "to_task", "to_thread", "posted", "gone", "awaited", "came", "bytes", "tag")
_COLUMNS = (*_RECORD, *_MESSAGE_ENDS)
_PLACE = "%(cpu)d:1:%(task)d:%(thread)d:"
_STATE = f"1:{_PLACE}%(time)d:%(until)d:%(state)d\n"
_EVENT = f"2:{_PLACE}%(time)d:%(type)d:%(value)d"
_COMMUNICATION = f"3:{_PLACE}%(posted)d:%(gone)d:%(to_cpu)d:1:%(to_task)d:%(to_thread)d:%(awaited)d:%(came)d:%(bytes)d:%(tag)d\n"
_TEMPLATES = (
    _STATE,
    f"%(until)[{_STATE}%]{_EVENT}\n",
    f"{_EVENT}\n",
    f"{_EVENT}\n",
    f"%(until)[{_STATE}%]{_EVENT}%(sent)[:{codes.SENT}:%(sent)d%]%(received)[:{codes.RECEIVED}:%(received)d%]"
    f"%(comm)[:{codes.COMMUNICATOR}:%(comm)d%]%(root)[:{codes.ROOT}:%(root)d%]\n",
    f"%(until)[{_STATE}%]{_EVENT}%(closed)[:{codes.PARALLEL}:%(closed)d%]\n",
    _COMMUNICATION,
    f"{_EVENT}\n",
    *[f"%(until)[{_STATE}%]"] * 2,
    _COMMUNICATION,
    *[f"{_EVENT}\n"] * 2,
)


_JOIN = operations.OP["omp_join"]
_UNSHOWN = (codes.TYPE == 0) & ~np.char.endswith(operations.OPS, "_idle")
"""Per op: it has no event, nor do gaps between events tell it, as they do of what is idle."""


def missing(trace: Trace) -> list[tuple[str, int]]:
    """Return what a Paraver trace does not hold of a trace, and how many of each."""
    lost = trace.calls.peer != NONE
    lost[trace.messages.send], lost[trace.messages.receive] = False, False
    links = len(trace.links) - len(_told(trace)) + np.count_nonzero(trace.collectives.comm == NONE)
    others = (
        ("calls that Paraver has no event for", np.count_nonzero(_UNSHOWN[trace.calls.op])),
        ("partners, tags and sizes of calls without a message", np.count_nonzero(lost)),
        ("messages over another communicator than the world", np.count_nonzero(trace.messages.comm > 0)),
        (losses.LINKS, links),
        (losses.COUNTERS, len(trace.counters) - len(counters.readings(trace)) + len(trace.region_counters)),
    )
    kinds = (*(kind for kind in losses.SHOWN_BY_NO_VIEWER if kind != losses.COUNTERS), losses.SITES, losses.METAHOSTS, losses.NO_ASCII)
    return losses.counted(trace, kinds, others)


def _told(trace: Trace) -> I8:
    """Return the links that are written, as communications between a process and its streams."""
    return np.flatnonzero(np.isin(trace.links.kind, (LAUNCH, DONE, EVENT)))


def write(trace: Trace, timeline: Timeline, files: tuple[str, ...]) -> None:
    """Write the trace with the times of `timeline` to new files: the records, packed or not, the configuration and the names."""
    records, *others = files
    read = counters.readings(trace)
    numbers, moments = LocationNumbers(trace), _Moments(trace, timeline, read)
    with packed(records) as file:
        file.write("".join(f"{line}\n" for line in numbers.header(moments.end)).encode("ascii"))
        cells = _Cells(trace, timeline, numbers, read, moments.later)
        for begin in range(0, len(moments.order), ROWS_AT_ONCE):
            rows = moments.order[begin : begin + ROWS_AT_ONCE]
            file.write(cells.text(moments.kind[rows], moments.row[rows], moments.time[rows]))
    for name, text in zip(others, (configuration(trace), numbers.rows()), strict=True):
        with packed(name) as file:
            file.write(text.encode("ascii"))


class _Moments:
    """Kind (u1), row of its table (i4) and time (i8, ns, from 0) per moment; `order` holds their numbers in the order of the file."""

    def __init__(self, trace: Trace, timeline: Timeline, read: Readings) -> None:
        pieces = [*_of_locations(trace, timeline), *_of_regions(trace, timeline), *_of_calls(trace, timeline, read)]
        size, begin = sum(len(row) for _, row, _, _ in pieces), 0
        self.kind, self.row, self.time = np.empty(size, "u1"), np.empty(size, "i4"), np.empty(size, "i8")
        program_order = np.empty(size, "i8")
        while pieces:
            kind, row, time, step = pieces.pop()
            rows = slice(begin, begin + len(row))
            self.kind[rows], self.row[rows], self.time[rows] = kind, row, time
            program_order[rows] = len(_STEP) * step + _STEP[kind]
            begin += len(row)
        self.later = -int(self.time.min(initial=0))
        self.time[self.kind != _BEFORE] += self.later
        self.end = int(self.time.max(initial=0))
        self.order = np.lexsort((program_order, self.time))


_Piece = tuple[int | Ints, Ints, Ints, Ints]
"""Kind, rows, times and places in the program of their locations: gaps between calls have even steps, calls odd ones."""


def _of_locations(trace: Trace, timeline: Timeline) -> list[_Piece]:
    rows, times, gap = np.arange(len(trace.locations)), timeline.locations, trace.first_calls
    begins, ends = 2 * (gap[rows] + rows), 2 * (gap[rows + 1] + rows)
    return [(_BEFORE, rows, rows * 0, begins), (_FIRST, rows, times.enter, begins), (_LAST, rows, times.leave, ends)]


def _of_regions(trace: Trace, timeline: Timeline) -> list[_Piece]:
    rows, _, gap, time = message_ends.boundaries(trace, timeline)
    leaves, row = np.divmod(rows, max(len(trace.regions), 1))
    return [(np.where(leaves, _LEAVE, _ENTER), row, time, 2 * gap.astype("i8"))]


def _of_calls(trace: Trace, timeline: Timeline, read: Readings) -> list[_Piece]:
    calls, times = np.arange(len(trace.calls)), timeline.calls
    step, send = 2 * (calls + trace.calls.location) + 1, trace.messages.send
    messages, told = np.arange(len(trace.messages)), _told(trace)
    causes = trace.links.cause[told]
    begins, ends = (np.where(codes.TYPE[trace.calls.op] > 0, *kinds) for kinds in ((_BEGIN, _REST), (_END, _RISE)))
    return [
        (begins, calls, times.enter, step),
        (ends, calls, times.leave, step),
        (_MESSAGE, messages, _gone(trace, timeline), step[send]),
        (_LINK, told, times.enter[causes], step[causes]),
        (_UNTIL, np.arange(len(read)), times.enter[read.call], step[read.call]),
        (_SINCE, np.arange(len(read)), times.leave[read.call], step[read.call]),
    ]


def _gone(trace: Trace, timeline: Timeline) -> I8:
    """Return when each message has gone: the call that sends it returns, or it has come, if that is earlier and after it was posted."""
    enter, leave, messages = timeline.calls.enter, timeline.calls.leave, trace.messages
    return np.maximum(np.minimum(leave[messages.send], leave[messages.receive_done]), enter[messages.send])


class _Cells:
    """Makes text of moments; what it takes from the tables is looked up once."""

    def __init__(self, trace: Trace, timeline: Timeline, numbers: LocationNumbers, read: Readings, later: int) -> None:
        self._trace, self._numbers, self._read = trace, numbers, read
        self._templates = Templates(_COLUMNS, _TEMPLATES, [])
        self._enter, self._leave = timeline.calls.enter + later, timeline.calls.leave + later
        self._gone = _gone(trace, timeline) + later
        self._begun, self._ended = timeline.locations.enter + later, timeline.locations.leave + later
        first, calls = trace.first_calls, np.arange(len(trace.calls))
        self._next = np.append(self._enter, 0)[1:][: len(calls)]
        last = first[1:][first[1:] > first[:-1]] - 1
        self._next[last] = self._ended[trace.calls.location[last]]
        self._computing = self._ended.copy()
        calling = np.flatnonzero(first[1:] > first[:-1])
        self._computing[calling] = self._enter[first[calling]]

    def text(self, kind: U1, row: Ints, time: Ints) -> memoryview:
        """Return the lines of some moments."""
        cells = np.full((len(kind), len(_COLUMNS)), ABSENT)
        cells[:, _COLUMNS.index("time")] = time
        calls = self._begins, self._ends
        fills = (
            self._before,
            self._first,
            self._entered,
            self._left,
            *calls,
            self._message,
            self._last,
            *calls,
            self._link,
            self._until,
            self._since,
        )
        for which, fill in enumerate(fills):
            lines = np.flatnonzero(kind == which)
            for name, values in fill(row[lines]).items() if len(lines) else ():
                cells[lines, _COLUMNS.index(name)] = values
        shown = (kind != _BEFORE) | (cells[:, _COLUMNS.index("until")] > 0)
        return self._templates.fill(np.ascontiguousarray(kind[shown]), np.ascontiguousarray(cells[shown]))

    def _place(self, location: Ints, to: str = "") -> dict[str, Ints]:
        numbers = self._numbers
        return {f"{to}cpu": numbers.cpu[location], f"{to}task": numbers.task[location], f"{to}thread": numbers.thread[location]}

    def _before(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._place(row), "until": self._begun[row], "state": codes.NOT_CREATED}

    def _first(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._place(row), "type": codes.APPLICATION, "value": 1, **_lasting(self._begun[row], self._computing[row])}

    def _last(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._place(row), "type": codes.APPLICATION, "value": 0}

    def _entered(self, row: Ints) -> dict[str, Ints | int]:
        trace = self._trace
        return {**self._left(row), "value": trace.paths.region[trace.regions.path[row]] + 1}

    def _left(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._place(self._trace.regions.location[row]), "type": codes.REGION, "value": 0}

    def _ends(self, row: Ints) -> dict[str, Ints | int]:
        calls = self._trace.calls
        op, lasting = calls.op[row], _lasting(self._leave[row], self._next[row])
        closed = np.where(op == _JOIN, 0, ABSENT)
        return {**self._place(calls.location[row]), "type": codes.TYPE[op], "value": codes.ENDED[op], "closed": closed, **lasting}

    def _begins(self, row: Ints) -> dict[str, Ints | int]:
        calls = self._trace.calls
        op, root = calls.op[row], calls.root[row]
        collective = operations.COLLECTIVE[op] & operations.MPI[op]
        is_root = collective & (root >= 0) & (root == self._trace.locations.process[calls.location[row]])
        return {
            **self._place(calls.location[row]),
            **_lasting(self._enter[row], self._leave[row], codes.STATE[op]),
            "type": codes.TYPE[op],
            "value": codes.VALUE[op],
            "sent": np.where(collective, calls.bytes_sent[row], ABSENT),
            "received": np.where(collective, calls.bytes_received[row], ABSENT),
            "comm": np.where(collective & (calls.comm[row] >= 0), calls.comm[row] + np.int64(1), ABSENT),
            "root": np.where(is_root, 1, ABSENT),
        }

    def _message(self, row: Ints) -> dict[str, Ints | int]:
        """Return the cells of messages: a receive is awaited from the begin of a blocking call on."""
        messages, location = self._trace.messages, self._trace.calls.location
        send, receive, done = messages.send[row], messages.receive[row], messages.receive_done[row]
        return {
            **self._place(location[send]),
            **self._place(location[done], "to_"),
            "posted": self._enter[send],
            "gone": self._gone[row],
            "came": self._leave[done],
            "awaited": np.where(receive == done, self._enter[receive], self._leave[receive]),
            "bytes": messages.bytes[row],
            "tag": messages.tag[row],
        }

    def _link(self, row: Ints) -> dict[str, Ints | int]:
        """Return the cells of links: from the entry of the cause to the return of the effect, without bytes."""
        links, location = self._trace.links, self._trace.calls.location
        cause, effect = links.cause[row], links.effect[row]
        posted, came = self._enter[cause], self._leave[effect]
        ends = {**self._place(location[cause]), **self._place(location[effect], "to_")}
        return {**ends, "posted": posted, "gone": posted, "awaited": came, "came": came, "bytes": 0, "tag": 0}

    def _until(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._reading(row), "value": self._read.before[row]}

    def _since(self, row: Ints) -> dict[str, Ints | int]:
        return {**self._reading(row), "value": self._read.inside[row]}

    def _reading(self, row: Ints) -> dict[str, Ints]:
        return {**self._place(self._trace.calls.location[self._read.call[row]]), "type": self._read.type[row]}


def _lasting(begin: Ints, end: Ints, state: Ints | int = codes.RUNNING) -> dict[str, Ints | int]:
    """Return a state from its begin to its end; none if that is not later."""
    return {"until": np.where(end > begin, end, ABSENT), "state": state}
