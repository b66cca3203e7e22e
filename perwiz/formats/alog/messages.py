"""The message records of an ALOG file: their attributes, the requests they belong to, and their partners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.locations import RecordedLocations
from perwiz.formats.alog.notes import Notes
from perwiz.kernels import alog
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I4, I8, U1, U2, Columns
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE, Calls, Messages, Requests, Times


class Records:
    """All message records, in the order of their calls: send, call, peer, tag, comm, bytes, mode, time; id and request if one has some."""

    def __init__(self, columns: Columns, notes: Notes, locations: RecordedLocations, first: I8, mode: U1) -> None:
        location = locations.row[columns.take("location")]
        order = in_order(location, len(locations))
        start = first.astype("i4")[location[order]]
        self._column: dict[str, NDArray[Any]] = {
            "send": (columns.take("type") == alog.MESSAGE_SENT)[order],
            "comm": np.zeros(len(order), "i4"),
        }
        for name in ("call", "peer", "tag", "bytes"):
            self._column[name] = columns.take(name)[order]
        self._column["call"] += start
        self._column["mode"] = mode[self._column["call"]]
        self._column["time"] = columns.take("time")[order] - locations.start
        place = np.empty(len(order), "i4")
        place[order] = np.arange(len(order), dtype="i4")
        for name, key in (("comm", "c"), ("bytes", "b"), ("mode", "k"), ("id", "m"), ("request", "q")):
            rows, values = notes.take(alog.MESSAGE_RECORD, key, first, locations.row)
            if len(rows):
                self._column.setdefault(name, np.full(len(order), NONE))[place[rows]] = values

    def place(self, op: U2, times: Times, known: bool) -> None:
        """Let records have, for their times, how far inside their calls they are: sends from the entry, receives to the return.

        A record may be written before the message is sent, as MPE does, or only behind that, as programs did that logged themselves; so
        unless it is `known` that they begin their sends, those of a routine that took longer before them than behind do not count.

            before and behind  2 9, 3 8 -> 2 3        9 2, 8 3 -> 0 0
        """
        column = self._column
        send, call, time = column["send"], column["call"], column.pop("time")
        before, behind = time - times.enter[call], times.leave[call] - time
        if not known:
            routine = op[call[send]]
            took = (np.bincount(routine, side[send], len(operations.OPS)) for side in (before, behind))
            late = np.greater(*took)
            before[send] *= ~late[routine]
        column["inside"] = np.where(send, before, behind)

    def matched(self, calls: Calls, process: I8, requests: Requests, request: I8) -> tuple[Messages, int, int, int]:
        """Return the messages, how many differ in size, and how many records send and receive.

        `process` is the rank of each location, `request` the id of each request.
        """
        mode = self._column.pop("mode")[self._column["send"]]
        receives = self._ends(False, calls, process, requests, request)
        sends = self._ends(True, calls, process, requests, request)
        self._column.clear()
        table, differ = matching.messages(sends, receives, mode)
        return table, differ, len(sends.call), len(receives.call)

    def _ends(self, sends: bool, calls: Calls, process: I8, requests: Requests, request: I8) -> matching.Ends:
        """Return one side. A send with a request is completed elsewhere; so, seen from its completion, was a receive posted elsewhere."""
        rows = np.flatnonzero(self._column["send"] == sends)
        get = {name: values[rows] for name, values in self._column.items() if name != "send"}
        call, done = get["call"], get["call"].copy()
        rank = process.astype("i4")[calls.location[call]]
        wanted = get.get("request", np.empty(0, "i8"))
        with_request = np.flatnonzero(wanted != NONE)
        by, other_end = (requests.posted_by, requests.completed_by) if sends else (requests.completed_by, requests.posted_by)
        request_row = _find(by, request, call[with_request], wanted[with_request])
        matched = with_request[request_row >= 0]
        if sends:
            done[operations.NONBLOCKING[calls.op[call]]] = NONE
            done[matched] = other_end[request_row[request_row >= 0]]
        else:
            call[matched] = other_end[request_row[request_row >= 0]]
        names = ("peer", "tag", "comm", "bytes", "inside")
        return matching.Ends(call, done, rank, id=get.get("id"), **{name: get[name] for name in names})


def in_order(location: I4, count: int) -> I8:
    """Return the order that sorts by location and keeps the order within each; `count` locations there are."""
    return np.argsort(location.astype("u2") if count <= 1 << 16 else location, kind="stable")


def _find(call: I4, request: I8, wanted_call: I4, wanted: I8) -> I8:
    """Return the last row with each wanted (call, request), or -1.

    call     4 4 4        wanted_call  4 4
    request  1 2 1        wanted       1 3
                          out          2 -1
    """
    numbers = Numbers()
    number = numbers.number(call, request)
    out = np.full(numbers.count + len(wanted), NONE, "i8")
    out[number] = np.arange(len(number))
    return out[numbers.number(wanted_call, wanted)]
