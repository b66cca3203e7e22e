"""The events of one OTF2 location, piece by piece, to columns of calls, regions, message records and requests."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.definitions import Definitions, Region
from perwiz.formats.otf2.extras import EVENTS, MARK, POSTS, PREFIX
from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.codes import MPI, OPERATIONS
from perwiz.kernels import otf2_calls as kernel
from perwiz.trace import operations
from perwiz.trace.numbers import Numbers

CALLS, OPEN, DEPTH, MESSAGES, REGIONS, INNERMOST, REQUESTS, CLOCK, PAIRS, INTERNAL, BACKWARDS = range(11)
NOT_OPEN, NOT_POSTED, COLLECTIVE_TIME, UNDEFINED, NEVER_ENDS, FIRST, RECORDS, SENDS, RECEIVES, POLLS = range(11, 21)
STATE = 21
"""State of a location between pieces; those from PAIRS on are counts, except COLLECTIVE_TIME and FIRST (ticks of the first record)."""

CALL = {
    "enter": "i8",
    "leave": "i8",
    "op": "u1",
    "region": "i4",
    "peer": "i4",
    "tag": "i4",
    "comm": "i4",
    "root": "i4",
    "sent": "i8",
    "received": "i8",
    "flags": "u1",
}
BARE, COLLECTIVE_RECORD = 1, 2
"""Bits of flags: a call made from a record outside any MPI region; one with a collective record."""
REGION = {"enter": "i8", "leave": "i8", "name": "i4", "parent": "i4", "first_call": "i4", "end_call": "i4"}
MESSAGE = {"call": "i4", "kind": "u1", "peer": "i4", "tag": "i4", "comm": "i4", "bytes": "i8", "request": "i4"}
SENT, RECEIVED, INCOMPLETE = range(3)
"""Kinds of message rows: a send, a receive, a request found not complete."""
RECORD = {name: dtype for name, dtype in MESSAGE.items() if name != "kind"}
REQUEST = {"posted": "i4", "done": "i4", "cancelled": "u1"}
_OPEN_REQUEST = 3
"""Column of the request matrix, indexed by the number of a request id: the row that is open under it."""
REST = dict.fromkeys(("kind", "time", "a", "b", "c", "d", "e", "f", "calls", "inside"), "i8")
"""Records from METRIC on, as rows of integers."""

_OPERATIONS = (*OPERATIONS, "Comm_create", "Comm_free")
"""What a collective record outside any call stands for, by its operation."""
_BARE = {row.SEND: "Send", row.ISEND: "Isend", row.RECV: "Recv", row.IRECV_REQUEST: "Irecv", row.REQUEST_TEST: "Test"}
_REQUEST_KINDS = (
    *(row.ISEND, row.ISEND_COMPLETE, row.IRECV_REQUEST, row.IRECV, row.REQUEST_TEST, row.REQUEST_CANCELLED),
    *(row.NONBLOCKING_REQUEST, row.NONBLOCKING_COMPLETE),
)
_WITH_REQUEST = np.isin(np.arange(256), _REQUEST_KINDS)
_DENSE = 1 << 20
"""References of regions below this are looked up in a table."""


def routine(name: str, paradigm: int) -> int:
    """Return the op a region stands for, -1 for a user region. Some writers leave the paradigm out, or add `()` or `_` to the name."""
    bare = name.partition("(")[0].strip().rstrip("_")
    if bare[:5].upper() == "PMPI_":
        bare = bare[1:]
    if paradigm != MPI and bare[:4].upper() != "MPI_":
        return -1
    return operations.find(bare if bare[:4].upper() == "MPI_" else f"MPI_{bare}") or 0


class _Matrix:
    """Rows of integers with room for more."""

    def __init__(self, columns: int, fill: int = 0) -> None:
        self.rows = np.full((0, columns), fill, "i8")
        self._fill = fill

    def reserve(self, rows: int) -> NDArray[np.int64]:
        """Return the matrix with room for so many rows."""
        if rows > len(self.rows):
            more = np.empty((2 * rows, self.rows.shape[1]), "i8")
            more[: len(self.rows)] = self.rows
            if self._fill:
                more[len(self.rows) :] = self._fill
            self.rows = more
        return self.rows


class Location:
    """Takes the rows of one location in the order of its file."""

    def __init__(self, definitions: Definitions, ref: int) -> None:
        self.ref = ref
        self._regions = Regions.known(definitions)
        self._state = np.zeros(STATE, "i8")
        self._state[[OPEN, INNERMOST, FIRST]] = -1
        self._state[CLOCK], self._state[COLLECTIVE_TIME] = np.iinfo("i8").min, -(1 << 62)
        self._stack, self._calls, self._region = _Matrix(2), _Matrix(len(CALL)), _Matrix(len(REGION))
        self._messages, self._requests = _Matrix(len(MESSAGE)), _Matrix(len(REQUEST) + 1, fill=-1)
        self._ids = Numbers()
        self._posts = [ref for ref, one in definitions.parameters.items() if definitions.string(one.name) == PREFIX + EVENTS[POSTS].name]
        self._rest = [np.empty((0, len(REST)), "i8")]
        self._bare = np.array([*(operations.OP[f"MPI_{_BARE.get(kind, 'Wait')}"] for kind in range(14)), *_operations()], "i4")

    def add(self, rows: NDArray[np.int64]) -> None:
        """Take the next rows; two of their columns are written to."""
        state, count = self._state, len(rows)
        if not count:
            return
        if not state[RECORDS]:
            state[FIRST] = rows[0, row.TIME]
        kind = rows[:, row.KIND].astype("u1")
        others = np.flatnonzero(kind >= row.METRIC)
        state[RECORDS] += count - int(((kind[others] == row.METRIC) & (rows[others, row.B] > 0)).sum())
        self._number(rows, kind)
        kernel.calls(
            *(rows, self._regions.op, self._bare, state),
            *(self._stack.reserve(int(state[DEPTH]) + count), self._calls.reserve(int(state[CALLS]) + count)),
            self._region.reserve(int(state[REGIONS]) + count),
            (
                self._messages.reserve(int(state[MESSAGES]) + count),
                self._requests.reserve(max(int(state[REQUESTS]), self._ids.count) + count),
            ),
        )
        others = others[kind[others] >= row.METRIC]
        if len(others):
            self._rest.append(rows[others])

    def _number(self, rows: NDArray[np.int64], kind: NDArray[np.uint8]) -> None:
        """Replace references of regions by their numbers, operations by known ones, and number the requests; `kind` is as in rows."""
        if self._posts:
            at = np.flatnonzero(((kind == row.PARAMETER_INT) | (kind == row.PARAMETER_UNSIGNED)) & np.isin(rows[:, row.A], self._posts))
            kind[at] = row.IRECV_REQUEST
            rows[at, row.KIND], rows[at, row.E] = row.IRECV_REQUEST, rows[at, row.D]
        at = np.flatnonzero(kind <= row.LEAVE)
        numbers, undefined = self._regions.of(rows[at, row.A])
        rows[at, row.A] = numbers
        self._state[UNDEFINED] += undefined
        at = np.flatnonzero((kind == row.COLLECTIVE_END) | (kind == row.NONBLOCKING_COMPLETE))
        rows[at, row.A] = np.clip(rows[at, row.A], 0, len(_OPERATIONS))
        at = np.flatnonzero(_WITH_REQUEST[kind])
        rows[at, row.CALLS] = self._ids.of(np.broadcast_to(np.int64(0), len(at)), rows[at, row.E])

    def result(self) -> dict[str, NDArray[np.generic]]:
        """Return all columns; call numbers count from 0 on this location. Closes what is still open."""
        state = self._state
        stack, calls, regions = self._stack.rows, self._calls.rows, self._region.rows
        state[NEVER_ENDS] = kernel.close(state, stack, calls, regions)
        out: dict[str, NDArray[np.generic]] = {}
        for prefix, names, matrix, count in (
            ("call", CALL, calls, CALLS),
            ("region", REGION, regions, REGIONS),
            ("request", REQUEST, self._requests.rows, REQUESTS),
        ):
            for k, (name, dtype) in enumerate(names.items()):
                out[f"{prefix}.{name}"] = matrix[: state[count], k].astype(dtype)
        out |= self._ends()
        rest = np.concatenate(self._rest)
        out |= {f"rest.{name}": rest[:, k].copy() for k, name in enumerate(REST) if len(rest)}
        return out | {"state": state}

    def _ends(self) -> dict[str, NDArray[np.generic]]:
        """Return the message records, those of each kind as columns of their own."""
        rows = self._messages.rows[: self._state[MESSAGES]]
        out: dict[str, NDArray[np.generic]] = {}
        for kind, (prefix, count) in enumerate((("send", SENDS), ("receive", RECEIVES), ("poll", POLLS))):
            at = np.flatnonzero(rows[:, 1] == kind)
            self._state[count] = len(at)
            for k, (name, dtype) in enumerate(MESSAGE.items()):
                if name in RECORD:
                    out[f"{prefix}.{name}"] = rows[at, k].astype(dtype)
        return out


class Regions:
    """The defined regions by number, and an undefined one behind them."""

    _last: ClassVar[tuple[Definitions, Regions] | None] = None

    @classmethod
    def known(cls, definitions: Definitions) -> Regions:
        """Return those of some definitions; all locations of an archive have the same."""
        if cls._last is None or cls._last[0] is not definitions:
            cls._last = definitions, cls(definitions)
        return cls._last[1]

    def __init__(self, definitions: Definitions) -> None:
        refs = np.array(sorted(definitions.regions), "i8")
        found = [definitions.regions[ref] for ref in refs.tolist()]
        self.op = np.array([*(self._op(definitions, region) for region in found), -1], "i4")
        """Op per number, -1 for user regions."""
        self._refs = refs
        self._dense = np.full(int(refs[-1]) + 2 if len(refs) and refs[-1] < _DENSE else 0, len(refs), "i8")
        if len(self._dense):
            self._dense[refs] = np.arange(len(refs))

    def _op(self, definitions: Definitions, region: Region) -> int:
        return -1 if definitions.string(region.description) == MARK else routine(definitions.string(region.name), region.paradigm)

    def of(self, refs: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Return the number of each reference, and how many of them are not defined."""
        if len(self._dense):
            numbers = self._dense[np.where((refs >= 0) & (refs < len(self._dense)), refs, len(self._dense) - 1)]
        elif len(self._refs):
            at = np.minimum(np.searchsorted(self._refs, refs), len(self._refs) - 1)
            numbers = np.where(self._refs[at] == refs, at, len(self._refs))
        else:
            numbers = np.zeros(len(refs), "i8")
        return numbers, int((numbers == len(self._refs)).sum())


def _operations() -> list[int]:
    return [*(operations.OP[f"MPI_{name}"] for name in _OPERATIONS), 0]
