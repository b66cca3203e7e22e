"""The columns of all locations of a recorded run, one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import recorded as kernel
from perwiz.trace import ops
from perwiz.trace.recorded_communicators import Comms
from perwiz.trace.recorded_files import CALL, Process, Rows
from perwiz.trace.tables import NONE

INTS = ("op", "peer", "tag", "comm", "root", "flags")
LONGS = ("enter", "leave", "sent", "received", "request")
BEGIN, END = "begin", "end"
_ROOT_HERE, STRANGER = -3, -4
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
    """Return per operation of a process its op, plus 256 if its peer is a root; -1 for records that are no calls."""
    found = [ops.OP.get(ALIKE.get(name, name), ops.OTHER) if name.startswith("MPI_") else NONE for name in names]
    op = np.array(found, "i4")
    rooted = (op >= 0) & np.isin(ops.KIND[np.maximum(op, 0)], (ops.ONE_TO_N, ops.N_TO_ONE))
    table = np.full(1 << 16, NONE, "i4")
    table[: len(op)] = op + 256 * rooted
    return table


class Columns:
    """The calls, parts and other records of all locations. Location k is thread `thread[k]` of `processes[process[k]]`."""

    def __init__(self, processes: list[Process], comms: Comms) -> None:
        self.processes = processes
        self.process = np.repeat(np.arange(len(processes)), [len(one.calls) for one in processes])
        self.thread = np.concatenate([np.empty(0, "i4"), *(np.arange(len(one.calls), dtype="i4") for one in processes)])
        rows = [calls for one in processes for calls in one.calls]
        total = sum(map(len, rows))
        self._ints, self._longs = np.empty((len(INTS), total), "i4"), np.empty((len(LONGS), total), "i8")
        self.open: list[int] = []
        """Locations whose last call never returned."""
        self.rest: list[tuple[Rows, NDArray[np.int64]]] = []
        """Per location: its records that are no calls, and how many calls came before each."""
        self.peers: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        """Per process: (row, first member, size) per communicator, and the members."""
        self.first = np.zeros(len(rows) + 1, "i8")
        """First call of each location, and the end of the last."""
        self.last = np.zeros(len(rows), "i8")
        """When the last record of each location was made."""
        for process in processes:
            self._add(process, comms)
        count = self.first[-1]
        self._ints, self._longs = self._ints[:, :count], self._longs[:, :count]

    def _add(self, process: Process, comms: Comms) -> None:
        peers = comms.add(process)
        self.peers.append(peers)
        table = operations(process.about["operations"])
        for calls in process.calls:
            where = len(self.rest)
            if len(calls) and not calls[-1]["leave"]:
                self.open.append(where)
                calls = calls[:-1]
            self._split(where, calls, table, peers)

    def _split(self, where: int, calls: Rows, table: NDArray[np.int32], peers: tuple[NDArray[np.int32], NDArray[np.int32]]) -> None:
        words = calls.view("i8").reshape(-1, CALL.itemsize // 8)
        rest = np.empty((len(calls), 2), "i8")
        at = int(self.first[where])
        count = kernel.split(words, table, *peers, at, self._ints, self._longs, rest)
        others = rest[: len(calls) - count].copy()
        self.rest.append((calls[others[:, 0]], others[:, 1]))
        self.first[where + 1] = at + count
        self.last[where] = calls[-1]["leave"] if len(calls) else 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column of the calls; it can be written to."""
        return self._ints[INTS.index(name)] if name in INTS else self._longs[LONGS.index(name)]

    def location(self) -> NDArray[np.int32]:
        """Return the location of every call."""
        return np.repeat(np.arange(len(self.rest), dtype="i4"), np.diff(self.first))

    def rank(self) -> NDArray[np.int32]:
        """Return the rank of each location."""
        return np.array([self.processes[k].rank for k in self.process.tolist()], "i4")

    def roots(self, location: NDArray[np.int32]) -> None:
        """Replace roots that mean the caller itself, in an inter-communicator."""
        root = self["root"]
        own = np.flatnonzero(root == _ROOT_HERE)
        root[own] = self.rank()[location[own]]
        np.maximum(root, NONE, out=root)

    def world(self, where: NDArray[np.int32], comm: NDArray[np.int32], peer: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the world ranks of peers; `comm` is a number of the process of location `where`."""
        out = np.array(peer, "i4")
        for k in np.unique(self.process[where]).tolist():
            table, members = self.peers[k]
            mine = np.flatnonzero((self.process[where] == k) & (peer >= 0))
            known = (comm[mine] >= 0) & (comm[mine] < len(table))
            out[mine[~known]] = STRANGER
            mine = mine[known]
            row = table[comm[mine]]
            inside = peer[mine] < row[:, 2]
            out[mine] = np.where(inside, members[np.where(inside, row[:, 1] + peer[mine], 0)] if len(members) else NONE, STRANGER)
        return out

    def world_of_rows(self, where: NDArray[np.int32], row: NDArray[np.int32], peer: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the world ranks of peers; `row` is a row of all communicators."""
        number = np.full(len(row), NONE, "i4")
        for k in np.unique(self.process[where]).tolist():
            mine = np.flatnonzero((self.process[where] == k) & (row >= 0))
            table = self.peers[k][0]
            number_of = np.full(int(table[:, 0].max(initial=0)) + 1, NONE, "i4")
            number_of[table[:, 0]] = np.arange(len(table))
            number[mine] = number_of[row[mine]]
        return self.world(where, number, peer)

    def parts(self) -> dict[str, NDArray[Any]]:
        """Return the parts of calls that handle several requests: calls, communicators and partners as in the columns of calls."""
        found: list[tuple[NDArray[np.int32], Rows]] = []
        for where, (k, thread) in enumerate(zip(self.process.tolist(), self.thread.tolist(), strict=True)):
            calls, rows = self.processes[k].calls[thread], self.processes[k].parts[thread]
            rows = rows[: int(np.searchsorted(rows["call"], len(calls) - (where in self.open)))] if len(rows) else rows
            rows = rows[rows["flags"] != 0]
            found.append((np.full(len(rows), where, "i4"), rows))
        where_of = np.concatenate([np.empty(0, "i4"), *(one for one, _ in found)])
        rows = np.concatenate([one for _, one in found]) if found else np.empty(0)
        return self._part_columns(where_of, found, rows)

    def _part_columns(self, where: NDArray[np.int32], found: list[tuple[NDArray[np.int32], Rows]], rows: Rows) -> dict[str, NDArray[Any]]:
        call = [self._shifted(k, one["call"]) for k, (_, one) in enumerate(found)]
        comm = np.full(len(rows), NONE, "i4")
        for k, (table, _) in enumerate(self.peers):
            mine = (self.process[where] == k) & (rows["comm"] >= 0) & (rows["comm"] < len(table))
            comm[mine] = table[rows["comm"][mine], 0]
        return {
            "call": np.concatenate([np.empty(0, "i8"), *call]),
            "where": where,
            "request": rows["request"].astype("i8"),
            "bytes": rows["bytes"].astype("i8"),
            "peer": self.world(where, rows["comm"], rows["peer"]),
            "tag": rows["tag"].astype("i4"),
            "comm": comm,
            "flags": rows["flags"].astype("i4"),
        }

    def _shifted(self, where: int, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the calls that rows of a location's file are."""
        rest, before = self.rest[where]
        others = np.arange(len(rest)) + before  # rows of the file that are no calls
        return self.first[where] + row - np.searchsorted(others, row)
