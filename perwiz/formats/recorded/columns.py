"""The columns of all locations of a recorded run, one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.recorded.communicators import Comms
from perwiz.formats.recorded.files import CALL, PART, Process, Rows
from perwiz.formats.recorded.messages import Share, Traffic
from perwiz.formats.recorded.sites import CELLS, Sites, roomy
from perwiz.kernels import recorded as kernel
from perwiz.trace import operations as ops
from perwiz.trace import threads
from perwiz.trace.tables import NONE

INTS = ("peer", "tag", "comm", "root", "site")
LONGS = ("enter", "leave", "sent", "received")
BEGIN, END = "begin", "end"
_PIECE = 1 << 13
"""Rows handled at a time: they stay in the cache."""
_CALL, _ENTRY, _ADDRESSES, _STRANGERS, _NOBODY, _ROW, _PART, _START = range(8)
"""Cells of the state of the kernel that fills."""
_FROM, _NEXT_PART, _, _CALLS = range(4)
"""Cells of the state of the kernel that counts; its other counts follow."""
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


_Filled = tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int64]]


class Work:
    """What is to be done for one process. Kept small: there may be many."""

    def __init__(self, process: Process, comms: Comms, first: int) -> None:
        """`first` is the location of its first thread."""
        self.process, self.first, self.requests = process, first, 0
        table, members = comms.add(process)
        table[:, 1] += (1 << 16) + 2 + table.size
        self._comms = np.concatenate([np.array([len(table), process.rank], "i4"), table.ravel(), members])
        self.open = [first + k for k, calls in enumerate(process.calls) if len(calls) and not calls[-1]["leave"]]
        """Locations whose last call never returned."""
        self.threads = [
            (calls[:-1] if first + k in self.open else calls, parts)
            for k, (calls, parts) in enumerate(zip(process.calls, process.parts, strict=True))
        ]
        self.calls: list[int] = []
        """Per thread how many there are."""
        self.counts = [0, 0, 0, 0]
        """Sends, receives, requests, and at most so many tests."""
        self.state = np.zeros(CELLS + 32, "i8")
        """Of the kernels, with the table of addresses."""

    def known(self) -> NDArray[np.int32]:
        """Return what the kernels must know of the process: its operations and communicators."""
        return np.concatenate([operations(self.process.about["operations"]), self._comms])

    def survey(self) -> None:
        """Count what there is, and number the addresses."""
        known = self.known()
        for calls, parts in self.threads:
            rows, words, at = _words(calls, CALL), _words(parts, PART), 0
            before, self.state[_NEXT_PART] = int(self.state[_CALLS]), 0
            while at < len(rows):
                self.state[_FROM] = at
                at += kernel.survey(rows[at:], words, known, self.state)
                if at < len(rows):
                    self.state = roomy(self.state)
            self.calls.append(int(self.state[_CALLS]) - before)
        *self.counts, most = self.state[_CALLS + 1 : _CALLS + 6].tolist()
        self.requests = most + 1

    def fill(self, columns: _Filled, call: int, start: int, share: Share) -> list[tuple[Rows, NDArray[np.int64]]]:
        """Fill in the calls, from this one on, and what they do; return per thread its records that are no calls, and the calls before."""
        known, state = self.known(), self.state
        state[:_ADDRESSES], state[_STRANGERS:CELLS] = 0, 0
        state[_CALL], state[_START] = call, start
        out = [self._filled(*thread, known, columns, share) for thread in self.threads]
        share.end()
        return out

    def _filled(self, calls: Rows, parts: Rows, known: NDArray[np.int32], columns: _Filled, share: Share) -> tuple[Rows, NDArray[np.int64]]:
        rows, words, state = _words(calls, CALL), _words(parts, PART), self.state
        others, first, state[_PART] = [np.empty((0, 2), "i8")], int(state[_CALL]), 0
        room = np.empty((2 * min(_PIECE, len(rows)) + len(parts), 7), "i8")
        for at in range(0, len(rows), _PIECE):
            piece, before = rows[at : at + _PIECE], int(state[_CALL])
            state[_ENTRY], state[_ROW] = 0, at
            kernel.split(piece, words, known, columns[0], columns[1], columns[2], room, state)
            entries = room[: state[_ENTRY]]
            if state[_CALL] - before < len(piece):
                others.append(entries[entries[:, 6] == 0, :3:2])
            share.add(entries)
        before_each, row = np.concatenate(others).T
        return calls[row], before_each - first


class Columns:
    """The calls and other records of all locations, and their traffic. Location k is thread `thread[k]` of `processes[process[k]]`."""

    def __init__(self, processes: list[Process], comms: Comms, sites: Sites, start: int) -> None:
        """`start` is the time that is 0 in the trace."""
        self.processes, self.sites = processes, sites
        self.process = np.repeat(np.arange(len(processes)), [len(one.calls) for one in processes])
        self.thread = np.concatenate([np.empty(0, "i4"), *(np.arange(len(one.calls), dtype="i4") for one in processes)])
        firsts = np.cumsum([0, *(len(one.calls) for one in processes)]).tolist()
        work = [Work(one, comms, first) for one, first in zip(processes, firsts, strict=False)]
        self.open = [where for one in work for where in one.open]
        """Locations whose last call never returned."""
        self.last = np.array([calls[-1]["leave"] if len(calls) else 0 for one in work for calls, _ in one.threads], "i8")
        """When the last record of each location was made."""
        several = threads.count(sum(len(calls) for one in processes for calls in one.calls))
        threads.each(Work.survey, work, several)
        self.first = np.cumsum([0, *(count for one in work for count in one.calls)], dtype="i8")
        """First call of each location, and the end of the last."""
        for one in work:
            self.sites.place(one.process, one.state)
        self._fill(work, start, several)
        self.strangers, self.to_nobody = (sum(int(one.state[cell]) for one in work) for cell in (_STRANGERS, _NOBODY))

    def _fill(self, work: list[Work], start: int, several: int) -> None:
        rows = int(self.first[-1])
        self._op, self._ints, self._longs = np.empty(rows, "u1"), np.empty((len(INTS), rows), "i4"), np.empty((len(LONGS), rows), "i8")
        self.traffic = Traffic(np.array([one.counts for one in work], "i8"))

        def filled(k: int) -> tuple[Share, list[tuple[Rows, NDArray[np.int64]]]]:
            share = self.traffic.share(k, work[k].requests)
            call = int(self.first[work[k].first])
            return share, work[k].fill((self._op, self._ints, self._longs), call, start, share)

        found = threads.each(filled, range(len(work)), several)
        self.rest = [one for _, some in found for one in some]
        """Per location: its records that are no calls, and how many calls came before each."""
        self.shares = [share for share, _ in found]

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
