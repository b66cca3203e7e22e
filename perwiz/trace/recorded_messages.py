"""Requests and messages of a recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import match
from perwiz.trace.recorded_columns import STRANGER, Columns
from perwiz.trace.tables import NONE, Requests, Unfinished

SENDS, RECEIVES, POSTS, DONE, ANY_SOURCE, ANY_TAG, FAILED, CANCELLED, MANY = (1 << k for k in range(9))
_MODE, _FREED = 9, 1 << 12
"""Flags of a record, as recorder.h has them; two bits from _MODE on are the send mode."""
_EXCHANGES = SENDS | RECEIVES
Ints = NDArray[np.int64]
_ENDS = ("call", "where", "request", "bytes", "peer", "tag", "comm", "flags")


class Traffic:
    """The requests and messages, and what could not be matched."""

    def __init__(self, columns: Columns, location: NDArray[np.int32]) -> None:
        self._columns, self._location = columns, location
        self._flags = columns["flags"]
        self._parts = columns.parts()
        self._base = self._bases()
        self._requests()
        self._unfinished()
        self._messages()

    def _bases(self) -> Ints:
        """Return, per process, the first number of its requests among those of all, and the end."""
        process = self._columns.process
        most = np.zeros(len(self._columns.processes) + 1, "i8")
        first, request = self._columns.first, self._columns["request"]
        named = self._flags & (POSTS | DONE)
        for where in range(len(process)):
            mine = slice(int(first[where]), int(first[where + 1]))
            top = int(np.max(np.where(named[mine] != 0, request[mine], -1), initial=-1))
            most[process[where] + 1] = max(most[process[where] + 1], top + 1)
        np.maximum.at(most, process[self._parts["where"]] + 1, self._parts["request"] + 1)
        return np.cumsum(most)

    def _number(self, where: NDArray[np.int32], request: Ints) -> Ints:
        return self._base[self._columns.process[where]] + np.maximum(request, 0)

    def _some(self, has: int, of: int, names: Sequence[str] = _ENDS) -> dict[str, NDArray[Any]]:
        """Return columns of the calls and parts whose flags, among `of`, are `has`."""
        at, mine = (np.flatnonzero((flags & of) == has) for flags in (self._flags, self._parts["flags"]))
        size = "sent" if has & SENDS and not has & DONE else "received"
        get = self._columns
        out: dict[str, NDArray[Any]] = {}
        for name in names:
            if name == "call":
                column: NDArray[Any] = at
            else:
                column = (self._location if name == "where" else get[size] if name == "bytes" else get[name])[at]
            out[name] = np.concatenate([column, self._parts[name][mine]]) if len(mine) else column
        return out

    def _requests(self) -> None:
        count = int(self._base[-1])
        posted, done, cancelled = np.full(count, NONE, "i4"), np.full(count, NONE, "i4"), np.zeros(count, "u1")
        posts, ends = (self._some(one, one, ("call", "where", "request", "flags")) for one in (POSTS, DONE))
        posted[self._number(posts["where"], posts["request"])] = posts["call"]
        number = self._number(ends["where"], ends["request"])
        done[number] = ends["call"]
        cancelled[number] = (ends["flags"] & CANCELLED) != 0
        self.not_posted = int((posted[number] == NONE).sum())
        self._posted_by, self._completed_by = posted, done
        order = np.flatnonzero(posted >= 0)
        if (posted[order][1:] < posted[order][:-1]).any():
            order = order[np.argsort(posted[order], kind="stable")]
        self._order = order
        self.requests = Requests(posted[order], done[order], cancelled[order])

    def _unfinished(self) -> None:
        """A test that names a request it does not complete found it not complete."""
        from perwiz.trace import ops

        tests = (self._columns["op"] == ops.OP["MPI_Test"]) & ((self._flags & (DONE | MANY)) == 0) & (self._columns["request"] >= 0)
        at = np.flatnonzero(tests)
        row = np.full(len(self._posted_by) + 1, NONE, "i4")
        row[self._order] = np.arange(len(self._order), dtype="i4")
        number = np.minimum(self._number(self._location[at], self._columns["request"][at]), len(self._posted_by))
        at, request = at[row[number] >= 0], row[number][row[number] >= 0]
        self.unfinished = Unfinished(at.astype("i4"), request)

    def _messages(self) -> None:
        sends = self._sides(self._some(SENDS, SENDS | DONE))
        now = self._some(RECEIVES, RECEIVES | DONE | POSTS)
        self._exchanged(now)
        later = self._some(RECEIVES | DONE, RECEIVES | DONE | CANCELLED)
        receives = self._sides({name: np.concatenate([now[name], later[name]]) for name in now}, True)
        mode = ((sends[1] >> _MODE) & 3).astype("u1")
        self.strangers = int((sends[0].peer == STRANGER).sum() + (receives[0].peer == STRANGER).sum())
        self.messages, self.size_differs = match.messages(sends[0], receives[0], mode)
        self.sends, self.receives = len(sends[0].call), len(receives[0].call)
        self.to_nobody = self._to_nobody()

    def _to_nobody(self) -> int:
        """Return the calls whose only partner is MPI_PROC_NULL."""
        from perwiz.trace import ops

        talks = np.isin(ops.KIND, (ops.SEND, ops.ISEND, ops.RECV, ops.IRECV, ops.SENDRECV))[self._columns["op"]]
        quiet = (self._flags & (_EXCHANGES | FAILED | MANY | CANCELLED)) == 0
        return int((talks & quiet).sum())

    def _exchanged(self, ends: dict[str, NDArray[Any]]) -> None:
        """MPI_Sendrecv names the partner it received from where others name their request."""
        at = np.flatnonzero((ends["flags"] & (_EXCHANGES | POSTS)) == _EXCHANGES)
        word = ends["request"][at]
        source, tag = (((word >> shift) & 0xFFFFFFFF).astype("u4").view("i4") for shift in (0, 32))
        rows = ends["comm"][at]
        ends["peer"][at] = self._columns.world_of_rows(ends["where"][at], rows, source)
        ends["tag"][at] = tag

    def _sides(self, ends: dict[str, NDArray[Any]], receives: bool = False) -> tuple[match.Ends, NDArray[Any]]:
        """Return one side of all messages in program order, and its flags."""
        call, done = ends["call"].astype("i4"), ends["call"].astype("i4")
        which = DONE if receives else POSTS
        at = np.flatnonzero(ends["flags"] & which)
        number = self._number(ends["where"][at], ends["request"][at])
        (call if receives else done)[at] = (self._posted_by if receives else self._completed_by)[number]
        rank = self._columns.rank()[ends["where"]]
        order: Any = slice(None) if (call >= 0).all() else np.flatnonzero(call >= 0)
        if not receives and (call[1:] < call[:-1]).any():  # receives are put in order when they are matched
            order = np.argsort(call, kind="stable")
        columns = (call, done, rank, ends["peer"], ends["tag"], ends["comm"], ends["bytes"])
        return match.Ends(*(column[order] for column in columns)), ends["flags"][order]
