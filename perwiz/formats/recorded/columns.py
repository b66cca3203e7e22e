"""The columns of all locations of a recorded run, one behind the other."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.recorded.communicators import Comms
from perwiz.formats.recorded.files import Process, Rows
from perwiz.formats.recorded.sites import Sites, roomy
from perwiz.formats.traffic import Share, Traffic
from perwiz.kernels import recorded as kernel
from perwiz.kernels import records
from perwiz.trace import operations as ops
from perwiz.trace import resources
from perwiz.trace.arrays import I4, I8

COLUMNS = {
    "op": "u2",
    **dict.fromkeys(("peer", "tag", "comm", "root", "site"), "i4"),
    **dict.fromkeys(("enter", "leave", "sent", "received"), "i8"),
}
BEGIN, END, TASK_END = "begin", "end", "task end"
_PIECE = 1 << 14
"""Rows handled at a time: they stay in the cache."""
ALIKE = {
    "MPI_Comm_dup_with_info": "MPI_Comm_dup",
    "MPI_Comm_idup_with_info": "MPI_Comm_idup",
    "MPI_Comm_create_from_group": "MPI_Comm_create_group",
    **dict.fromkeys(("MPI_Intercomm_create_from_groups", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join"), "MPI_Intercomm_create"),
    "MPI_Comm_spawn_multiple": "MPI_Comm_spawn",
    "MPI_Comm_disconnect": "MPI_Comm_free",
    "MPI_Isendrecv_replace": "MPI_Isendrecv",
    **dict.fromkeys(("MPI_Pready_range", "MPI_Pready_list"), "MPI_Pready"),
    "MPI_Dist_graph_create_adjacent": "MPI_Dist_graph_create",
    "MPI_Rget_accumulate": "MPI_Get_accumulate",
    "MPI_Win_flush_local": "MPI_Win_flush",
    "MPI_Win_flush_local_all": "MPI_Win_flush_all",
    TASK_END: "omp_release",
    **{f"MPI_Ineighbor_{name}": f"MPI_Neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")},
}
"""Routines that have no op of their own, and those that do to their partners what they do; an op is one byte."""


@functools.lru_cache(1)
def operations(names: tuple[str, ...]) -> Rows:
    """Return what each operation of a process is, one OPERATION for any number that a record may name."""
    table = np.recarray(1 << 16, kernel.OPERATION)
    table["op"], table["bits"] = records.NO_CALL, 0
    ops_of_names = [ops.OP.get(ALIKE.get(name, name), ops.OTHER if name.startswith("MPI_") else records.NO_CALL) for name in names]
    op = np.array(ops_of_names, "i2")
    kind = ops.KIND[np.maximum(op, 0)]
    table["op"][: len(op)] = op
    table["bits"][: len(op)] = (
        records.ROOTED * np.isin(kind, (ops.ONE_TO_N, ops.N_TO_ONE))
        + records.COMPLETES * np.isin(kind, (ops.COMPLETE, ops.TEST))
        + records.TESTS * (op == ops.OP["MPI_Test"])
        + records.TALKS * np.isin(kind, (ops.SEND, ops.ISEND, ops.RECV, ops.IRECV, ops.SENDRECV))
    )
    return table


class Work:
    """What is to be done for one process. Kept small: there may be many."""

    def __init__(self, process: Process, comms: Comms, first: int) -> None:
        """`first` is the location of its first thread."""
        self.process, self.first = process, first
        self._communicators, self._members = comms.add(process)
        self.open = [first + k for k, calls in enumerate(process.calls) if len(calls) and not calls[-1]["leave"]]
        """Locations whose last call never returned."""
        self.threads = [
            (calls[:-1] if first + k in self.open else calls, parts)
            for k, (calls, parts) in enumerate(zip(process.calls, process.parts, strict=True))
        ]
        self.calls: list[int] = []
        """Per thread how many there are."""
        self.sites: Rows = np.zeros(16, kernel.SITE).view(np.recarray)
        """The hash table of addresses."""
        self.progress = np.zeros(1, kernel.PROGRESS).view(np.recarray)
        self.counts = np.zeros(1, kernel.TRAFFIC).view(np.recarray)

    def survey(self) -> None:
        """Count what there is, and number the addresses."""
        named, progress = operations(tuple(self.process.about.operations)), self.progress
        for calls, parts in self.threads:
            done = progress["calls"][0] = progress["part"][0] = 0
            while done < len(calls):
                progress["row"] = done
                done += kernel.survey(calls[done:], parts, named, self.sites, progress, self.counts)
                if done < len(calls):
                    self.sites = roomy(self.sites)
            self.calls.append(int(progress["calls"][0]))

    def fill(self, columns: dict[str, NDArray[Any]], call: int, start: int, share: Share) -> list[tuple[Rows, NDArray[np.int64]]]:
        """Fill in the calls, from this one on, and what they do; return per thread its records that are no calls, and the calls before."""
        named = operations(tuple(self.process.about.operations))
        self.progress["calls"] = call
        out = [self._filled(calls, parts, named, columns, start, share) for calls, parts in self.threads]
        share.end()
        return out

    def _filled(
        self, calls: Rows, parts: Rows, named: Rows, columns: dict[str, NDArray[Any]], start: int, share: Share
    ) -> tuple[Rows, NDArray[np.int64]]:
        progress, rows = self.progress, min(_PIECE, len(calls))
        first, progress["part"] = int(progress["calls"][0]), 0
        actions = np.recarray(2 * rows + len(parts), kernel.ACTION)
        others = np.recarray(rows, kernel.OTHER)
        kept = [others[:0]]
        for begin in range(0, len(calls), _PIECE):
            progress["row"], progress["actions"], progress["others"] = begin, 0, 0
            kernel.split(
                calls[begin : begin + _PIECE],
                parts,
                named,
                self._communicators,
                self._members,
                self.process.rank,
                start,
                **columns,
                actions=actions,
                others=others,
                sites=self.sites,
                progress=progress,
            )
            kept.append(others[: progress["others"][0]].copy())
            share.add(actions[: progress["actions"][0]])
        rest = np.concatenate(kept)
        return calls[rest["row"]], rest["calls"] - first


class Columns:
    """The calls and other records of all locations, and their traffic. Location k is thread `thread[k]` of `processes[process[k]]`."""

    def __init__(self, processes: list[Process], comms: Comms, sites: Sites, start: int) -> None:
        """`start` is the time that is 0 in the trace."""
        self.processes, self.sites, self.start = processes, sites, start
        self.process = np.repeat(np.arange(len(processes)), [len(process.calls) for process in processes])
        self.thread = np.concatenate([np.empty(0, "i4"), *(np.arange(len(process.calls), dtype="i4") for process in processes)])
        firsts = np.cumsum([0, *(len(process.calls) for process in processes)]).tolist()
        works = [Work(process, comms, first) for process, first in zip(processes, firsts, strict=False)]
        self.open = [location for work in works for location in work.open]
        """Locations whose last call never returned."""
        self.last = np.array([calls[-1]["leave"] if len(calls) else 0 for work in works for calls, _ in work.threads], "i8")
        """When the last record of each location was made."""
        several = resources.thread_count(sum(len(calls) for process in processes for calls in process.calls))
        resources.map_threads(Work.survey, works, several)
        self.first = np.cumsum([0, *(count for work in works for count in work.calls)], dtype="i8")
        """First call of each location, and the end of the last."""
        for work in works:
            self.sites.place(work.process, work.sites)
        self._fill(works, start, several)
        self.not_members, self.to_nobody = (sum(int(work.progress[name][0]) for work in works) for name in ("strangers", "to_nobody"))

    def _fill(self, works: list[Work], start: int, several: int) -> None:
        rows = int(self.first[-1])
        self._columns = {name: np.empty(rows, dtype) for name, dtype in COLUMNS.items()}
        self.traffic = Traffic(np.concatenate([work.counts for work in works]))

        def filled(k: int) -> tuple[Share, list[tuple[Rows, NDArray[np.int64]]]]:
            share = self.traffic.share(k)
            call = int(self.first[works[k].first])
            return share, works[k].fill(self._columns, call, start, share)

        filled_shares = resources.map_threads(filled, range(len(works)), several)
        self.rest = [rest for _, rests in filled_shares for rest in rests]
        """Per location: its records that are no calls, and how many calls came before each."""
        self.shares = [share for share, _ in filled_shares]

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column of the calls; it can be written to."""
        return self._columns[name]

    def location(self) -> NDArray[np.int32]:
        """Return the location of every call."""
        return np.repeat(np.arange(len(self.rest), dtype="i4"), np.diff(self.first))

    def location_of(self, call: I4) -> I8:
        """Return the locations of some calls."""
        return np.searchsorted(self.first, call, "right") - 1

    def rank(self) -> NDArray[np.int32]:
        """Return the rank of each location."""
        return np.array([self.processes[k].rank for k in self.process.tolist()], "i4")
