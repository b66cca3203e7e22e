"""A liballprof trace as tables."""

from __future__ import annotations

from collections import Counter

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats import assembly
from perwiz.formats.allprof import files, requests
from perwiz.formats.allprof.lines import Lines, merged
from perwiz.formats.allprof.requests import World
from perwiz.formats.assembly import Assembly
from perwiz.formats.format import Progress
from perwiz.formats.source import content
from perwiz.formats.traffic import Rows
from perwiz.trace import defects, operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import ANY, NONE, Calls, Locations, Times
from perwiz.trace.trace import Communicators, Trace
from perwiz.words import several

_LARGEST, _WHAT = 1 << 36, "lines of liballprof"
_GATHERS, _SCATTERS = (
    [operations.OP[f"MPI_{name}"] for name in names.split()] for names in ("Gather Gatherv Reduce Ireduce", "Scatter Scatterv Bcast Ibcast")
)
_CASTS, _REDUCES = ([operations.OP[f"MPI_{name}"], operations.OP[f"MPI_I{name.lower()}"]] for name in ("Bcast", "Reduce"))
_TO_EACH = [operations.OP[f"MPI_{name}"] for name in ("Alltoall", "Ialltoall", "Scatter")]
_FROM_EACH = [operations.OP[f"MPI_{name}"] for name in ("Allgather", "Iallgather", "Alltoall", "Ialltoall", "Gather")]
_BOTH = [operations.OP[f"MPI_{name}"] for name in ("Allreduce", "Iallreduce", "Scan", "Exscan", "Reduce", "Ireduce", "Bcast", "Ibcast")]


class Process:
    """What the file of a process holds."""

    def __init__(self, path: str, rank: int) -> None:
        raw = content(path, _LARGEST, _WHAT)
        self.path, self.rank, self.size, self.host = path, rank, len(raw), files.host(raw[:4096])
        self.lines = Lines(raw)
        self.enter, self.leave, self.backwards = merged(self.lines.enter, self.lines.leave)
        self.said = Counter(self.lines.value["of"][self.lines.value["rank"] == rank][:1].tolist())
        """How many processes there are: what it says first."""

    def settle(self, ranks: int) -> None:
        """Take what the world is, and what calls do in it."""
        value = self.lines.value
        mine = np.flatnonzero((value["of"] == ranks) & (value["rank"] == self.rank))
        self.world = World(self.rank, ranks, int(value["comm"][mine[0]]) if len(mine) else None)
        self.on_world = requests.on_world(self.lines, self.world)
        found = requests.uses(self.lines, self.world.stride)
        self.actions, self.inferred, self.posts = requests.actions(self.lines, self.world, found), found.inferred, len(found.posting)

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
    processes, done = [], 0
    faults: list[str] = []
    for rank, file in files.parts(path).items():
        try:
            processes.append(Process(file, rank))
        except TraceError as error:
            faults.append(str(error))
            continue
        done += processes[-1].size
        if progress:
            progress(done, 0)
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
            process.settle(self.ranks)
        self.first = np.cumsum([0, *(len(process.lines) for process in processes)])
        self.rank = np.array([process.rank for process in processes], "i4")
        found = [fault for process in processes for fault in process.faults()]
        self.faults = faults + assembly.few(path, found)

    def trace(self) -> Trace:
        """Return the trace."""
        start = min(int(process.enter[0]) for process in self.processes if len(process.enter))
        enter, leave = (np.concatenate([getattr(process, name) for process in self.processes]) - start for name in ("enter", "leave"))
        calls = self._calls()
        actions, posts = [process.actions for process in self.processes], [process.posts for process in self.processes]
        for rows, first in zip(actions, self.first, strict=False):
            rows["call"] += first
        traffic, untold = assembly.tied(actions, posts, self.rank, enter, False)
        node, nodes = assembly.placed([process.host for process in self.processes])
        zero = np.zeros(len(node), "i4")
        talks = np.isin(operations.KIND[calls.op], (operations.SEND, operations.ISEND, operations.RECV, operations.IRECV))
        return Assembly(
            path=self.path,
            format="liballprof",
            calls=calls,
            times=Times(enter, leave),
            first=self.first,
            locations=Locations(zero, node, self.rank, zero, np.full(len(node), NONE, "i4"), zero.astype("u1")),
            nodes=nodes,
            communicators=Communicators(("MPI_COMM_WORLD",), np.array([0, self.ranks], "i8"), np.arange(self.ranks, dtype="i4")),
            sequence=np.full(len(calls), NONE, "i8"),
            traffic=traffic,
            defects=self._defects(traffic.not_members),
            faults=self.faults,
            properties=self._properties(start, untold.assumed),
            records=len(calls) + sum(process.lines.bad for process in self.processes),
            to_nobody=int((talks & (calls.comm == 0) & (calls.peer == NONE)).sum()),
            silent=self.ranks - len(self.processes),
        ).trace()

    def _column(self, name: str) -> I8:
        return np.concatenate([process.lines.value[name] for process in self.processes])

    def _calls(self) -> Calls:
        """Return the calls. Those on other communicators than the world have none: no line tells who is in it."""
        op = np.concatenate([process.lines.op for process in self.processes])
        on = np.concatenate([process.on_world for process in self.processes])
        peer = np.concatenate([process.world.peers(process.lines.value["peer"]) for process in self.processes])
        on |= op == operations.OP["MPI_Finalize"]
        talks = (operations.POINT_TO_POINT & (operations.KIND != operations.COMPLETE) & (operations.KIND != operations.TEST))[op]
        tag = self._column("tag")
        sent, received = self._bytes(op)
        root = self._column("root")
        return Calls(
            location=np.repeat(np.arange(len(self.processes), dtype="i4"), np.diff(self.first)),
            op=op,
            path=np.full(len(op), NONE, "i4"),
            peer=np.where(talks & on, peer, NONE).astype("i4"),
            tag=np.where(talks, np.where(tag < 0, ANY, tag), NONE).astype("i4"),
            comm=np.where(on, 0, NONE).astype("i4"),
            root=np.where(operations.ROOTED[op] & on & (root >= 0) & (root < self.ranks), root, NONE).astype("i4"),
            bytes_sent=sent,
            bytes_received=received,
        )

    def _bytes(self, op: Rows) -> tuple[I8, I8]:
        """Return the bytes that calls send and receive, messages and collectives alike."""
        of, root = np.clip(self._column("of"), 0, files.MOST_RANKS), self._column("root")
        type1, type2 = self._column("type"), self._column("type2")
        one = self._column("count") * type1 + self._column("sum") * type1
        two = self._column("count2") * type2 + self._column("sum2") * type2
        two = np.where(np.isin(op, _BOTH), one, two)
        most = np.int64(1 << 60) // np.maximum(of, 1)
        sent = np.where(np.isin(op, _TO_EACH), np.minimum(one, most) * of, one)
        received = np.where(np.isin(op, _FROM_EACH), np.minimum(two, most) * of, two)
        is_root = root == self._column("rank")
        sent = np.where(np.isin(op, _SCATTERS) & ~is_root, 0, sent)
        received = np.where((np.isin(op, _GATHERS) & ~is_root) | (np.isin(op, _CASTS) & is_root), 0, received)
        quiet = np.isin(operations.KIND[op], (operations.RECV, operations.IRECV)) | (np.isin(op, _REDUCES) & is_root)
        return np.where(quiet, 0, np.minimum(sent, 1 << 60)), np.minimum(received, 1 << 60)

    def _strange(self, process: Process) -> int:
        """Return how many communicators beside the world a process names."""
        used = (process.lines.value["of"] >= 0) & ~process.on_world
        return len(np.unique(process.lines.value["comm"][used]))

    def _defects(self, not_members: int) -> defects.DefectList:
        out = defects.DefectList()
        for location, process in enumerate(self.processes):
            if process.lines.bad or not process.lines.finalized:
                out.add(NONE, defects.UNREADABLE, location)
            out.add(np.full(process.backwards, NONE), defects.BACKWARDS, location)
            out.add(np.full(self._strange(process), NONE), defects.UNDEFINED_COMMUNICATOR, location)
        out.add(np.full(not_members, NONE), defects.NOT_A_MEMBER)
        return out

    def _properties(self, start: int, assumed: int) -> dict[str, str]:
        said = []
        if inferred := sum(process.inferred for process in self.processes):
            said.append(f"which call completed {several(inferred, 'request')}: taken as the last that names it")
        return assembly.properties("liballprof", start, said, assumed)
