"""A liballprof trace as tables."""

from __future__ import annotations

import os
import threading
from collections import Counter

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats import assembly
from perwiz.formats.allprof import files, requests
from perwiz.formats.allprof.communicators import Comms
from perwiz.formats.allprof.lines import Lines
from perwiz.formats.allprof.requests import World
from perwiz.formats.assembly import Assembly
from perwiz.formats.format import Progress
from perwiz.formats.source import content
from perwiz.trace import defects, operations, resources
from perwiz.trace.arrays import I4, I8, U2, Mask
from perwiz.trace.tables import ANY, NONE, Calls, Locations, Times
from perwiz.trace.trace import Trace
from perwiz.words import several

_LARGEST, _WHAT = 1 << 36, "lines of liballprof"
_LINE = 64
"""Bytes of a line, about."""


def _of(names: str) -> Mask:
    """Return per routine whether it is one of these."""
    return np.isin(np.arange(len(operations.OPS)), [operations.OP[f"MPI_{name}"] for name in names.split()])


_CASTS, _REDUCES = _of("Bcast Ibcast"), _of("Reduce Ireduce")
_FROM_ROOT, _TO_ROOT = _CASTS | _of("Scatter Scatterv"), _REDUCES | _of("Gather Gatherv")
_TO_EACH, _FROM_EACH = _of("Alltoall Ialltoall Scatter"), _of("Allgather Iallgather Alltoall Ialltoall Gather")
_BOTH = _CASTS | _REDUCES | _of("Allreduce Iallreduce Scan Exscan")
_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))
_MOVES = _RECEIVES | np.isin(operations.KIND, (operations.SEND, operations.ISEND))
_TALKS = operations.POINT_TO_POINT & (operations.KIND != operations.COMPLETE) & (operations.KIND != operations.TEST)
_FINALIZE = operations.OP["MPI_Finalize"]


def _bytes(op: U2, value: dict[str, I4]) -> tuple[I8, I8]:
    """Return the bytes that calls send and receive, messages and collectives alike."""
    one = value["count"].astype("i8") * value["type"]
    two = np.where(_BOTH[op], one, value["count2"].astype("i8") * value["type2"])
    each = np.flatnonzero(_TO_EACH[op] | _FROM_EACH[op])
    of = np.clip(value["of"][each], 0, files.MOST_RANKS).astype("i8")
    most = np.int64(1 << 60) // np.maximum(of, 1)
    is_root = value["root"] == value["rank"]
    sent, received = np.where((_FROM_ROOT[op] & ~is_root) | _RECEIVES[op] | (_REDUCES[op] & is_root), 0, one), two
    sent[each] = np.where(_TO_EACH[op[each]] & (sent[each] != 0), np.minimum(one[each], most) * of, sent[each])
    received[each] = np.where(_FROM_EACH[op[each]], np.minimum(two[each], most) * of, two[each])
    received[(_TO_ROOT[op] & ~is_root) | (_CASTS[op] & is_root)] = 0
    return np.minimum(sent, 1 << 60), np.minimum(received, 1 << 60)


class Process:
    """What the file of a process holds."""

    def __init__(self, path: str, rank: int) -> None:
        raw = content(path, _LARGEST, _WHAT)
        self.path, self.rank, self.size, self.host = path, rank, len(raw), files.host(raw[:4096])
        self.lines = Lines(raw)
        self.said = Counter(self.lines.value["of"][self.lines.value["rank"] == rank][:1].tolist())
        """How many processes there are: what it says first."""

    def meet(self, ranks: int) -> None:
        """Take what the world is."""
        value = self.lines.value
        mine = np.flatnonzero((value["of"] == ranks) & (value["rank"] == self.rank))
        self.world = World(int(self.lines.wide["comm"][mine[0]]) if len(mine) else None)

    def settle(self, comms: Comms, row: int) -> None:
        """Take what calls do on their communicators; `row` is that of this process among all. The arguments of its lines are used up."""
        lines, comm = self.lines, comms.of(row)
        peer, other, root = (comms.peers(row, lines.value[name], self.world.mpich) for name in ("peer", "peer2", "root"))
        found = requests.uses(lines, self.world.stride)
        self.actions = requests.actions(lines, found, comm, peer, other)
        self.inferred, self.posts = found.inferred, len(found.posting)
        used = (lines.value["of"] >= 0) & (comm < 0)
        self.strange = len(np.unique(lines.wide["comm"][used]))
        """Communicators it names of which nobody tells who is in them."""
        self._columns(comm, peer, root)
        lines.value, lines.wide = {}, {}

    def _columns(self, comm: I4, peer: I4, root: I4) -> None:
        """Take the columns of its calls. Those on communicators of which no line tells who is in it have none."""
        op, tag = self.lines.op, self.lines.value["tag"]
        comm = np.where(op == _FINALIZE, 0, comm).astype("i4")
        talks, on = _TALKS[op], comm >= 0
        self.to_nobody = int((_MOVES[op] & on & (peer == NONE)).sum())
        sent, received = _bytes(op, self.lines.value)
        self.columns = {
            "op": op,
            "peer": np.where(talks & on & (peer >= ANY), peer, NONE).astype("i4"),
            "tag": np.where(talks, np.where(tag < 0, ANY, tag), NONE).astype("i4"),
            "comm": comm,
            "root": np.where(operations.ROOTED[op] & on & (root >= 0), root, NONE).astype("i4"),
            "bytes_sent": sent,
            "bytes_received": received,
        }

    def faults(self) -> list[str]:
        """Return what could not be read."""
        out = []
        if self.lines.bad:
            out.append(f"{self.path}: {several(self.lines.bad, 'line')} that cannot be read, left out")
        if not self.lines.finalized:
            out.append(f"{self.path}: no MPI_Finalize at its end, which is cut off: read as far as it goes")
        return out


def read(path: str, progress: Progress | None = None) -> Trace:
    """Return the trace that a file or directory stands for. Raises TraceError where no file has a call."""
    done, lock = [0], threading.Lock()

    def process(part: tuple[int, str]) -> Process | str:
        try:
            found = Process(part[1], part[0])
        except TraceError as error:
            return str(error)
        with lock:
            done[0] += found.size
            if progress:
                progress(done[0], 0)
        return found

    parts = files.parts(path)
    several = resources.thread_count(sum(os.path.getsize(file) for file in parts.values()) // _LINE)
    found = resources.map_threads(process, parts.items(), min(several, len(parts)) or 1)
    processes = [one for one in found if not isinstance(one, str)]
    faults = [one for one in found if isinstance(one, str)]
    if not any(len(process.lines) for process in processes):
        raise TraceError(faults[0] if faults else f"{path}: no line of a call, must have some")
    return _Builder(path, processes, faults).trace()


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, path: str, processes: list[Process], faults: list[str]) -> None:
        self.path, self.processes = path, processes
        said = sum((process.said for process in processes), Counter())
        most = said.most_common(1)[0][0] if said else 0
        self.ranks = min(max(most, processes[-1].rank + 1), files.MOST_RANKS)
        for process in processes:
            process.meet(self.ranks)
        handles = [process.world.handle for process in processes]
        lines, ranks = [process.lines for process in processes], [process.rank for process in processes]
        self.comms = Comms(lines, ranks, self.ranks, handles, sum(process.size for process in processes))
        several = resources.thread_count(sum(len(process.lines) for process in processes))
        resources.map_threads(lambda row: processes[row].settle(self.comms, row), range(len(processes)), several)
        self.first = np.cumsum([0, *(len(process.lines) for process in processes)])
        self.rank = np.array([process.rank for process in processes], "i4")
        found = [fault for process in processes for fault in process.faults()]
        self.faults = faults + assembly.few(path, found)

    def trace(self) -> Trace:
        """Return the trace."""
        start = min(int(process.lines.enter[0]) for process in self.processes if len(process.lines))
        enter, leave = (np.concatenate([getattr(process.lines, name) for process in self.processes]) - start for name in ("enter", "leave"))
        calls = self._calls()
        actions, posts = [process.actions for process in self.processes], [process.posts for process in self.processes]
        for rows, first in zip(actions, self.first, strict=False):
            rows["call"] += first
        traffic, untold = assembly.tied(actions, posts, self.rank, enter, False)
        node, nodes = assembly.placed([process.host for process in self.processes])
        zero = np.zeros(len(node), "i4")
        return Assembly(
            path=self.path,
            format="liballprof",
            calls=calls,
            times=Times(enter, leave),
            first=self.first,
            locations=Locations(zero, node, self.rank, zero, np.full(len(node), NONE, "i4"), zero.astype("u1")),
            nodes=nodes,
            communicators=self.comms.table,
            sequence=np.full(len(calls), NONE, "i8"),
            traffic=traffic,
            defects=self._defects(traffic.not_members),
            faults=self.faults,
            properties=self._properties(start, untold.assumed),
            records=len(calls) + sum(process.lines.bad for process in self.processes),
            to_nobody=sum(process.to_nobody for process in self.processes),
            silent=self.ranks - len(self.processes),
        ).trace()

    def _calls(self) -> Calls:
        """Return the calls; the columns of the processes are used up."""
        names = tuple(self.processes[0].columns)
        columns = {name: np.concatenate([process.columns.pop(name) for process in self.processes]) for name in names}
        location = np.repeat(np.arange(len(self.processes), dtype="i4"), np.diff(self.first))
        return Calls(location=location, path=np.full(len(location), NONE, "i4"), **columns)

    def _defects(self, not_members: int) -> defects.DefectList:
        out = defects.DefectList()
        for location, process in enumerate(self.processes):
            if process.lines.bad or not process.lines.finalized:
                out.add(NONE, defects.UNREADABLE, location)
            out.add(np.full(process.lines.backwards, NONE), defects.BACKWARDS, location)
            out.add(np.full(process.strange, NONE), defects.UNDEFINED_COMMUNICATOR, location)
        out.add(np.full(not_members, NONE), defects.NOT_A_MEMBER)
        return out

    def _properties(self, start: int, assumed: int) -> dict[str, str]:
        said = []
        if inferred := sum(process.inferred for process in self.processes):
            said.append(f"which call completed {several(inferred, 'request')}: taken as the last that names it")
        return assembly.properties("liballprof", start, said, assumed)
