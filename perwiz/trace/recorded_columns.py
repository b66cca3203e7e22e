"""The columns of all locations of a recorded run, one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import recorded as kernel
from perwiz.trace import ops
from perwiz.trace.recorded_communicators import Comms
from perwiz.trace.recorded_files import CALL, PART, Process, Rows
from perwiz.trace.recorded_messages import Traffic
from perwiz.trace.recorded_sites import CELLS, Sites, roomy
from perwiz.trace.tables import NONE

INTS = ("peer", "tag", "comm", "root", "site")
LONGS = ("enter", "leave", "sent", "received")
BEGIN, END = "begin", "end"
_PIECE = 1 << 13
"""Rows handled at a time: they stay in the cache."""
_CALL, _ENTRY, _ADDRESSES, _STRANGERS, _NOBODY, _ROW, _PART, _START = range(8)
"""Cells of the kernel's state."""
_ROOTED, _COMPLETES, _TESTS, _TALKS = (256 << k for k in range(4))
ALIKE = {
    "MPI_Comm_dup_with_info": "MPI_Comm_dup",
    "MPI_Comm_disconnect": "MPI_Comm_free",
    "MPI_Dist_graph_create_adjacent": "MPI_Dist_graph_create",
    "MPI_Rget_accumulate": "MPI_Get_accumulate",
    "MPI_Win_flush_local": "MPI_Win_flush",
    "MPI_Win_flush_local_all": "MPI_Win_flush_all",
    **{f"MPI_Ineighbor_{name}": f"MPI_Neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")},
}
"""Routines that have no op of their own, and those that do to their partners what they do; an op is one byte."""


def operations(names: list[str]) -> NDArray[np.int32]:
    """Return per operation of a process its op, and what the kernel must know of it beside that; -1 for records that are no calls."""
    found = [ops.OP.get(ALIKE.get(name, name), ops.OTHER) if name.startswith("MPI_") else NONE for name in names]
    op = np.array(found, "i4")
    kind = ops.KIND[np.maximum(op, 0)]
    code = op + _ROOTED * np.isin(kind, (ops.ONE_TO_N, ops.N_TO_ONE)) + _COMPLETES * np.isin(kind, (ops.COMPLETE, ops.TEST))
    code += _TESTS * (op == ops.OP["MPI_Test"]) + _TALKS * np.isin(kind, (ops.SEND, ops.ISEND, ops.RECV, ops.IRECV, ops.SENDRECV))
    table = np.full(1 << 16, NONE, "i4")
    table[: len(op)] = np.where(op < 0, NONE, code)
    return table


def known(process: Process, comms: Comms) -> NDArray[np.int32]:
    """Return what the kernel must know of a process: its operations and communicators."""
    table, members = comms.add(process)
    head = (1 << 16) + 2 + table.size
    table[:, 1] += head
    return np.concatenate([operations(process.about["operations"]), np.array([len(table), process.rank], "i4"), table.ravel(), members])


class Columns:
    """The calls and other records of all locations, and their traffic. Location k is thread `thread[k]` of `processes[process[k]]`."""

    def __init__(self, processes: list[Process], comms: Comms, sites: Sites, start: int) -> None:
        """`start` is the time that is 0 in the trace."""
        self.processes = processes
        self.process = np.repeat(np.arange(len(processes)), [len(one.calls) for one in processes])
        self.thread = np.concatenate([np.empty(0, "i4"), *(np.arange(len(one.calls), dtype="i4") for one in processes)])
        rows = sum(len(calls) for one in processes for calls in one.calls)
        parts = [len(part) for one in processes for part in one.parts]
        self._op, self._ints, self._longs = np.empty(rows, "u1"), np.empty((len(INTS), rows), "i4"), np.empty((len(LONGS), rows), "i8")
        self._entries = np.empty((2 * _PIECE + max(parts, default=0), 7), "i8")
        self.open: list[int] = []
        """Locations whose last call never returned."""
        self.rest: list[tuple[Rows, NDArray[np.int64]]] = []
        """Per location: its records that are no calls, and how many calls came before each."""
        self.first = np.zeros(len(self.process) + 1, "i8")
        """First call of each location, and the end of the last."""
        self.last = np.zeros(len(self.process), "i8")
        """When the last record of each location was made."""
        self.traffic = Traffic(2 * rows + sum(parts))
        self.sites = sites
        self.strangers = self.to_nobody = 0
        for process in processes:
            self._add(process, known(process, comms), start)
        count = int(self.first[-1])
        self._op, self._ints, self._longs = self._op[:count], self._ints[:, :count], self._longs[:, :count]

    def _add(self, process: Process, known: NDArray[np.int32], start: int) -> None:
        state = np.zeros(CELLS, "i8")
        state[_START] = start
        for calls, parts in zip(process.calls, process.parts, strict=True):
            where = len(self.rest)
            if len(calls) and not calls[-1]["leave"]:
                self.open.append(where)
                calls = calls[:-1]
            state[_CALL], state[_PART] = self.first[where], 0
            state = self._split(where, calls, parts, known, state)
            self.last[where] = calls[-1]["leave"] if len(calls) else 0
        self.traffic.end_process()
        self.strangers += int(state[_STRANGERS])
        self.to_nobody += int(state[_NOBODY])

    def _split(self, where: int, calls: Rows, parts: Rows, known: NDArray[np.int32], state: NDArray[np.int64]) -> NDArray[np.int64]:
        """Handle one location; return the state after it."""
        rows, words = (_words(one, of) for one, of in ((calls, CALL), (parts, PART)))
        others = [np.empty((0, 2), "i8")]
        first = int(state[_CALL])
        for at in range(0, len(rows), _PIECE):
            piece, before = rows[at : at + _PIECE], int(state[_CALL])
            state = roomy(state, len(piece))
            state[_ENTRY], state[_ROW], known_before = 0, at, state[_ADDRESSES]
            kernel.split(piece, words, known, self._op, self._ints, self._longs, self._entries, state)
            entries = self._entries[: state[_ENTRY]]
            if state[_CALL] - before < len(piece):
                others.append(entries[entries[:, 6] == 0, :3:2])
            if state[_ADDRESSES] > known_before:
                self.sites.place(self.processes[self.process[where]], state, self["site"][before : state[_CALL]])
            self.traffic.add(entries)
        before, row = np.concatenate(others).T
        self.first[where + 1] = state[_CALL]
        self.rest.append((calls[row], before - first))
        self.traffic.end_location()
        return state

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column of the calls; it can be written to."""
        return self._op if name == "op" else self._ints[INTS.index(name)] if name in INTS else self._longs[LONGS.index(name)]

    def location(self) -> NDArray[np.int32]:
        """Return the location of every call."""
        return np.repeat(np.arange(len(self.rest), dtype="i4"), np.diff(self.first))

    def rank(self) -> NDArray[np.int32]:
        """Return the rank of each location."""
        return np.array([self.processes[k].rank for k in self.process.tolist()], "i4")


def _words(rows: Rows, dtype: np.dtype[Any]) -> NDArray[np.int64]:
    return rows.view("i8").reshape(-1, dtype.itemsize // 8)
