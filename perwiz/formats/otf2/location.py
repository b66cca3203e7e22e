"""The events of one OTF2 location, piece by piece, to columns of calls, regions, message records and requests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.hybrid import routines
from perwiz.formats.otf2.library import events
from perwiz.kernels import otf2_calls as kernel
from perwiz.kernels import otf2_rows, records
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE

_OTHER = np.dtype(
    [("kind", "u1"), ("inside", "u1"), ("time", "i8"), ("calls", "i4"), ("region", "i4"), *((name, "i8") for name in records.ARGUMENTS)]
)
"""The columns of the records from METRIC on."""
TABLES = {
    "call": otf2_rows.CALL,
    "region": otf2_rows.REGION,
    "request": otf2_rows.REQUEST,
    **dict.fromkeys(("send", "receive", "poll"), otf2_rows.MESSAGE),
    "other": _OTHER,
}
"""The columns that a location makes, by the prefix of their names."""

ARGUMENTS_OF = np.zeros(records.OTHER_KIND + len(events.OTHERS), "u1")
ARGUMENTS_OF[[records.PARAMETER_INT, records.PARAMETER_UNSIGNED, records.PARAMETER_STRING, records.ATTRIBUTE]] = 4
ARGUMENTS_OF[records.METRIC] = 5
ARGUMENTS_OF[[records.MEASUREMENT, records.BUFFER_FLUSH]] = 1
ARGUMENTS_OF[records.OTHER_KIND :] = [min(len(events.EVENTS[name]), len(records.ARGUMENTS)) for name in events.OTHERS]
"""So many of ARGUMENTS say something in records of each kind, of those from METRIC on."""
_MAY_LACK = {"call.sent", "call.received", *(f"other.{name}" for name in records.ARGUMENTS)}
"""Columns that are left out where they are 0 throughout."""

_OF_MESSAGES = (records.ISEND, records.ISEND_COMPLETE, records.IRECV_REQUEST, records.IRECV)
_OF_REQUESTS = (records.REQUEST_TEST, records.REQUEST_CANCELLED, records.NONBLOCKING_REQUEST, records.NONBLOCKING_COMPLETE)
_WITH_REQUEST = np.isin(np.arange(256), _OF_MESSAGES + _OF_REQUESTS)


class _Table:
    """Rows of a kernel with room for more: that of a table which is not used any more, as the next location needs about as much."""

    _spare: ClassVar[dict[np.dtype[Any], tuple[NDArray[Any], NDArray[Any]]]] = {}

    def __init__(self, dtype: Any, fill: int | None = None) -> None:
        """`fill` is what free rows hold, if that matters."""
        spare = self._spare.pop(np.dtype(dtype), None) if fill is None else None
        self.rows, self._named = spare or _named(np.empty(0, dtype))
        self._fill = fill

    def give_back(self) -> None:
        """Leave the room to the next table."""
        self._spare[self.rows.dtype] = self.rows, self._named

    def reserve(self, rows: int) -> NDArray[Any]:
        """Return the table with room for so many rows, as the kernel takes it."""
        if rows > len(self.rows):
            more = np.empty(2 * rows, self.rows.dtype)
            more[: len(self.rows)] = self.rows
            if self._fill is not None:
                more[len(self.rows) :] = self._fill
            self.rows, self._named = _named(more)
        return self._named


def _named(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows, and the same as a kernel takes them: interpreted ones ask for columns by name."""
    return rows, rows.view(np.recarray) if rows.dtype.fields else rows


class Location:
    """Takes the rows of one location in the order of its file."""

    def __init__(self, definitions: Definitions, ref: int) -> None:
        self.ref = ref
        self._regions = routines.Regions.known(definitions)
        self._state, self._named_state = _named(np.zeros(1, otf2_rows.STATE))
        for name in ("open", "innermost", "first", "forked", "ended", "idle"):
            self._state[name] = NONE
        self._state["clock"] = np.iinfo("i8").min
        self._state["collective_time"] = self._state["quiet"] = records.UNSAID
        self._stack, self._calls, self._instances = _Table(otf2_rows.FRAME), _Table(otf2_rows.CALL), _Table(otf2_rows.REGION)
        self._teams = _Table(otf2_rows.TEAM)
        self._messages, self._requests, self._open_requests = _Table(otf2_rows.MESSAGE), _Table(otf2_rows.REQUEST), _Table("i4", NONE)
        self._ids = Numbers()
        self._others = _Table(records.RECORD)
        stream = ref in self._regions.streams and not routines.written(definitions)
        self._op = np.full_like(self._regions.op, records.NO_CALL) if stream else self._regions.op
        self._part = np.zeros_like(self._regions.part) if stream else self._regions.part
        self._op_of_kind = routines.op_of_kind(routines.written(definitions), stream, ref in self._regions.first)
        self._most = 1 if stream else self._regions.most
        """So many calls a row may make."""

    def _now(self) -> dict[str, int]:
        """Return the state by name."""
        return dict(zip(otf2_rows.STATE.fields or (), self._state.tolist()[0], strict=True))

    def add(self, rows: NDArray[Any]) -> None:
        """Take the next rows; some of their columns are written to."""
        now, count = self._now(), len(rows)
        if not count:
            return
        if not now["records"]:
            self._state["first"] = rows["time"][0]
        kind = rows["kind"].astype("u1")
        others = np.flatnonzero(kind >= records.METRIC)
        further = ((kind[others] == records.METRIC) & (rows["communicator"][others] > 0)) | (kind[others] == records.ATTRIBUTE)
        self._state["records"] += count - int(further.sum())
        self._number(rows, kind)
        kernel.calls(
            rows.view(np.recarray),
            self._op,
            self._part,
            routines.MANNER,
            self._op_of_kind,
            routines.OP_OF_OPERATION,
            self._named_state,
            self._stack.reserve(now["depth"] + count),
            self._teams.reserve(now["teams"] + count),
            self._calls.reserve(now["calls"] + self._most * count),
            self._instances.reserve(now["regions"] + count),
            self._messages.reserve(now["messages"] + count),
            self._requests.reserve(now["requests"] + count),
            self._open_requests.reserve(self._ids.count),
        )
        if len(others):
            end = now["others"] + len(others)
            rows.take(others, out=self._others.reserve(end)[now["others"] : end], mode="clip")
            self._state["others"] = end

    def _number(self, rows: NDArray[Any], kind: NDArray[np.uint8]) -> None:
        """Replace references of regions by their numbers, operations by known ones, and number the requests; `kind` is as in rows."""
        reference = rows["reference"]
        regions = np.flatnonzero(kind <= records.LEAVE)
        reference[regions], undefined = self._regions.of(reference[regions])
        self._state["undefined"] += undefined
        collectives = np.flatnonzero((kind == records.COLLECTIVE_END) | (kind == records.NONBLOCKING_COMPLETE))
        reference[collectives] = np.clip(reference[collectives], 0, len(routines.OP_OF_OPERATION) - 1)
        requests = np.flatnonzero(_WITH_REQUEST[kind])
        rows["number"][requests] = self._ids.number(np.broadcast_to(np.int64(0), len(requests)), rows["request"][requests])

    def result(self) -> dict[str, NDArray[np.generic]]:
        """Return all columns; call numbers count from 0 on this location. Closes what is still open."""
        now = self._now()
        kernel.close(
            self._named_state,
            self._stack.reserve(0),
            self._teams.reserve(0),
            self._calls.reserve(now["calls"] + now["depth"] + 1),
            self._instances.reserve(0),
            self._op,
            routines.MANNER,
        )
        now = self._now()
        tables = {
            "call": self._calls.rows[: now["calls"]],
            "region": self._instances.rows[: now["regions"]],
            "request": self._requests.rows[: now["requests"]],
            "other": self._others.rows[: now["others"]],
        }
        unused = records.ARGUMENTS[int(ARGUMENTS_OF[np.flatnonzero(np.bincount(tables["other"]["kind"]))].max(initial=0)) :]
        out = {
            f"{prefix}.{name}": table[name].copy()
            for prefix, table in tables.items()
            for name in TABLES[prefix].fields or ()
            if prefix != "other" or name not in unused
        }
        messages = self._messages.rows[: now["messages"]]
        for prefix, kind in (("send", records.SENT), ("receive", records.RECEIVED), ("poll", records.INCOMPLETE)):
            ends = np.flatnonzero(messages["kind"] == kind)
            self._state[f"{prefix}s"] = len(ends)
            out |= {f"{prefix}.{name}": messages[name][ends] for name in TABLES[prefix].fields or () if name != "kind"}
        for used in (self._stack, self._teams, self._calls, self._instances, self._messages, self._requests, self._others):
            used.give_back()
        out = {name: column for name, column in out.items() if name not in _MAY_LACK or column.any()}
        return out | {"state": self._state.view("i8")}
