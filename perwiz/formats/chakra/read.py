"""Chakra execution traces as the tables of a trace. Without times in the files, calls return when they are entered."""

from __future__ import annotations

import numpy as np

from perwiz.formats.chakra import nodes
from perwiz.formats.chakra.job import GATHER, RECV, SCATTER, SEND, Job
from perwiz.formats.chakra.lanes import Lanes
from perwiz.formats.kineto import names
from perwiz.formats.kineto.book import Between, Book, idle
from perwiz.kernels import chakra
from perwiz.trace import defects, matching, matching_collectives, operations, roots, tables
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import paths, running
from perwiz.trace.origin import MEASURED, UNTIMED
from perwiz.trace.tables import NONE, Calls, Labels, Links, Locations, Offsets, Paths, Regions, Times
from perwiz.trace.trace import NEEDS, Counts, Timeline, Trace
from perwiz.words import several

_HOST, _DEVICE = operations.OP["thread_idle"], operations.OP["device_idle"]
_INFERRED = "inferred"
"""Key of Trace.properties."""
_NAMED = 8
"""Ranks without a file that are named."""


def read(path: str) -> Trace:
    """Return the trace of the ranks that a name stands for."""
    return _Builder(path, Job(path, nodes.read(path))).trace()


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, path: str, job: Job) -> None:
        self._path, self._job = path, job
        self._lanes = Lanes(path, job)
        book = Book()
        self._did = self._between(book)
        self._meet(book)
        self._calls, self._row = book.closed()

    def _between(self, book: Book) -> Between:
        """Return what locations do, after adding what they wait for between."""
        lanes = self._lanes
        of_host = lanes.host[lanes.location]
        out = Between(*(np.empty(len(of_host), "i8") for _ in range(5)))
        for op, rows in ((_HOST, np.flatnonzero(of_host)), (_DEVICE, np.flatnonzero(~of_host))):
            did = idle(book, op, lanes.location[rows], lanes.begin[rows], lanes.end[rows], 0, 0)
            for column, values in zip(out, did, strict=True):
                column[rows] = values
        return out

    def _meet(self, book: Book) -> None:
        """Add the calls that ranks make together."""
        job, lanes, did = self._job, self._lanes, self._did
        rows = np.flatnonzero(job.op[lanes.node] >= 0)
        node = lanes.node[rows]
        op, group = job.op[node], job.group[node]
        size = np.maximum(job.rows.amount[node], 0)
        members = job.groups.communicators().sizes()[group]
        received = np.where(op == GATHER, size * members, np.where(op == SCATTER, size // members, size))
        self._call = np.full(len(lanes.node), NONE, "i8")
        self._call[lanes.node[rows]] = book.add(
            lanes.location[rows],
            op,
            did.begin[rows],
            did.end[rows],
            turn=did.turn[rows],
            group=group,
            peer=job.peer[node],
            sent=np.where(op == RECV, 0, size),
            received=np.where(op == SEND, 0, received),
            sequence=job.number[node],
        )

    def trace(self) -> Trace:
        """Return the trace."""
        job, lanes, column = self._job, self._lanes, self._calls
        comms = job.groups.communicators()
        regions, times_of_regions, above, named = self._regions()
        calls, times = self._table(), Times(column["enter"], column["leave"])
        messages, differs = self._messages(calls)
        done = matching.completions(calls.op, tables.Requests.empty())
        process, quiet = lanes.process.astype("i8"), np.zeros(len(calls), "u1")
        found = matching_collectives.collectives(calls, done, process, column["sequence"], quiet, comms, times.enter)
        told = roots.inferred(found, calls, times, lanes.process, messages, comms) if found.rootless else roots.Roots(found)
        last = np.flatnonzero(np.diff(column["location"], append=-1))
        none = np.full(len(lanes.process), NONE, "i4")
        timeline = Timeline(
            times, times_of_regions, Times(np.zeros(len(last), "i8"), column["leave"][last]), MEASURED if lanes.timed else UNTIMED
        )
        links = self._links()
        return Trace(
            path=self._path,
            format="Chakra",
            locations=Locations(np.zeros(len(none), "i4"), none, lanes.process, lanes.thread, none, lanes.kind),
            communicators=comms,
            names=named,
            parallel=np.zeros(len(named), bool),
            paths=above,
            calls=calls,
            requests=tables.Requests.empty(),
            regions=regions,
            messages=messages,
            collectives=told.instances.collectives,
            members=told.instances.members,
            links=links,
            timeline=timeline,
            labels=Labels.empty(),
            texts=(),
            nodes=(),
            offsets=Offsets.empty(),
            defects=self._defects(),
            counts=self._counts(told, differs, len(messages)),
            properties=self._properties(),
            faults=(*self._absent(), *nodes.faults(job.files)),
        )

    def _regions(self) -> tuple[Regions, Times, Paths, tuple[str, ...]]:
        """Return a region for each node that computes, and the names of regions."""
        job, lanes, did = self._job, self._lanes, self._did
        numbers: dict[str, int] = {}
        known = []
        for one in job.files:
            said, which = one.texts(one.rows.name, one.rows.name_length)
            known.append(np.array([numbers.setdefault(names.kernel(name), len(numbers)) for name in said], "i4")[which])
        name = np.concatenate(known)[lanes.node]
        kind = job.rows.type[lanes.node]
        rows = np.flatnonzero((job.op[lanes.node] < 0) & (kind >= chakra.LOAD) & (did.end > did.begin))
        used, said_by = np.unique(name[rows], return_inverse=True)
        location, number = lanes.location[rows], said_by.ravel().astype("i4")
        alone = np.full(len(rows), NONE, "i4")
        path, *above = paths(alone, number)
        behind = self._row[did.behind[rows]].astype("i4")
        listed = list(numbers)
        table = Regions(location, path, alone, running(location, number) + np.int32(1), behind, behind)
        return table, Times(did.begin[rows], did.end[rows]), Paths(*above), tuple(listed[k] for k in used.tolist())

    def _table(self) -> Calls:
        column = self._calls
        none = np.full(len(column["op"]), NONE, "i4")
        tag = none.copy()
        called = self._job.op >= 0
        tag[self._row[self._call[called]]] = np.maximum(self._job.rows.tag, 0)[called]
        return Calls(
            location=column["location"].astype("i4"),
            op=column["op"].astype("u2"),
            path=none,
            peer=column["peer"].astype("i4"),
            tag=np.where(column["peer"] >= 0, tag, NONE).astype("i4"),
            comm=np.where(operations.TALKS[column["op"]], column["group"], NONE).astype("i4"),
            root=none,
            bytes_sent=column["sent"],
            bytes_received=column["received"],
        )

    def _messages(self, calls: Calls) -> tuple[tables.Messages, int]:
        """Return the messages; a send waits for nobody."""
        sends, receives = (self._ends(calls, side) for side in self._job.messages)
        return matching.messages(sends, receives, np.full(len(sends.call), tables.BUFFERED, "u1"))

    def _ends(self, calls: Calls, side: I8) -> matching.Ends:
        """Return one end of all messages, in order of calls; those of one message have the same number."""
        call = self._row[self._call[side]].astype("i4")
        number = np.argsort(call, kind="stable")
        call = call[number]
        rank, size = self._lanes.process[calls.location[call]], np.maximum(calls.bytes_sent, calls.bytes_received)[call]
        return matching.Ends(call, call, rank, calls.peer[call], calls.tag[call], calls.comm[call], size, number)

    def _links(self) -> Links:
        """Return what nodes of other locations come before; if there are times, those that these do not contradict."""
        job, lanes, did = self._job, self._lanes, self._did
        row_of = np.empty(len(lanes.node), "i8")
        row_of[lanes.node] = np.arange(len(lanes.node))
        cause, effect = row_of[job.needed], row_of[job.needs]
        apart = lanes.location[cause] != lanes.location[effect]
        cause, effect = cause[apart], effect[apart]
        good = (did.end[cause] <= did.begin[effect]) | (not lanes.timed)
        self._untied = int((~good).sum())
        cause, effect = cause[good], effect[good]
        before, behind = (lanes.host[lanes.location[side]] for side in (cause, effect))
        kind = np.where(behind, np.where(before, tables.SIGNAL, tables.DONE), np.where(before, tables.LAUNCH, tables.EVENT))
        columns = np.unique(np.stack([kind, self._row[did.behind[cause]], self._row[did.before[effect]]]), axis=1)
        return Links.in_order(columns[0].astype("u1"), columns[1].astype("i4"), columns[2].astype("i4"))

    def _defects(self) -> tables.Defects:
        out = defects.DefectList()
        first = np.searchsorted(self._lanes.process, [one.rank for one in self._job.files])
        for one, location in zip(self._job.files, first.tolist(), strict=True):
            out.add(np.full(one.bad, NONE), defects.UNREADABLE_RECORD, location)
            if one.cut:
                out.add(NONE, defects.UNREADABLE, location)
        return out.table()

    def _absent(self) -> list[str]:
        """Return in words of which ranks there is no file though there are higher ones, or groups name them; nothing if of none."""
        absent = np.setdiff1d(np.arange(self._job.groups.world), [one.rank for one in self._job.files])
        if not len(absent):
            return []
        named = f"{', '.join(map(str, absent[:_NAMED].tolist()))}{', ...' if len(absent) > _NAMED else ''}"
        said = f"no file of rank{'s' * (len(absent) > 1)} {named} of {several(self._job.groups.world, 'rank')}"
        return [f"{self._path}: {said}: what others wait for there cannot be told"]

    def _counts(self, told: roots.Roots, differs: int, messages: int) -> Counts:
        job = self._job
        sends, receives = (int((job.op == op).sum()) for op in (SEND, RECV))
        return Counts(
            records=len(job.rows) + sum(one.bad for one in job.files),
            states=len(job.rows),
            sends=sends,
            receives=receives,
            unmatched_sends=sends - messages,
            unmatched_receives=receives - messages,
            size_differs=differs,
            incomplete_collectives=told.instances.incomplete,
            unmatched_collectives=told.instances.unmatched,
            rootless_collectives=told.instances.rootless,
            inferred_roots=told.inferred,
            adopted_roots=told.adopted,
            assumed_roots=told.assumed,
            silent_processes=job.groups.world - len(job.files),
            untied_waits=self._untied,
        )

    def _properties(self) -> dict[str, str]:
        job, said = self._job, []
        if not self._lanes.timed:
            said.append("when nodes begin: no file tells")
        if narrow := int((job.rows.narrow[job.meets] == 1).sum()):
            said.append(f"the process group of {several(narrow, 'operation')}, told by dimensions of a network: taken to be all ranks")
        if job.groups.inferred:
            said.append(f"the ranks of {several(job.groups.inferred, 'process group')}: those that name it")
        if absent := sum(one.absent for one in job.files):
            said.append(f"{several(absent, 'dependence')} on nodes that no file has: left out")
        told = {NEEDS: "Chakra execution traces tell which nodes need which"}
        return told | ({_INFERRED: "; ".join(said)} if said else {})
