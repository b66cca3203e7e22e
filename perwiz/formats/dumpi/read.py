"""A DUMPI trace as tables. What is not kept is counted: values of counters, and when functions of the user begin and end."""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats import assembly, one_sided
from perwiz.formats.assembly import Assembly
from perwiz.formats.dumpi import files
from perwiz.formats.dumpi.columns import Columns
from perwiz.formats.format import Progress
from perwiz.trace import defects, operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE, THREAD, Calls, Labels, Links, Locations, Times
from perwiz.trace.trace import Trace
from perwiz.words import several

_WINDOWS = 1 << 34
"""Numbers of calls on windows begin here, so many a window."""


def read(entry: str, progress: Progress | None = None) -> Trace:
    """Return the trace that an entry of `files` stands for. Raises TraceError where no file has a record that can be used."""
    columns, faults = _columns(entry, progress)
    return _Builder(entry, columns, faults).trace()


def _columns(entry: str, progress: Progress | None) -> tuple[Columns, list[str]]:
    """Return the columns of all calls, and which files cannot be read; the bytes of files are not kept."""
    named, ranks, told = files.parts(entry)
    processes, faults, done = [], [], 0
    for rank, path in named.items():
        try:
            processes.append(files.process(path, rank))
        except TraceError as error:
            faults.append(str(error))
            continue
        done += processes[-1].size
        if progress:
            progress(done, 0)
    if not processes:
        raise TraceError(faults[0] if faults else f"{entry}: no file of a process, must have those of its {ranks} processes")
    return Columns(processes, ranks, told), faults


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, entry: str, columns: Columns, faults: list[str]) -> None:
        self.path, self.columns, self.ranks = entry, columns, columns.ranks
        if not columns.first[-1]:
            torn = next((work for work in columns.works if work.walk["torn"][0]), None)
            where = f", byte {torn.behind} of {torn.process.path} begins none" if torn else ""
            raise TraceError(f"{entry}: no record of a call with times of the clock{where}, must have some")
        self.faults = faults + self._faults()
        self.comms = columns.comms.table()

    def _faults(self) -> list[str]:
        """Return what could not be read, and where."""
        out = []
        for work in self.columns.works:
            process = work.process
            if work.walk["torn"][0]:
                out.append(f"{process.path}: byte {work.behind} of {process.size} begins no record, read as far as there")
            elif not process.whole:
                out.append(f"{process.path}: no index at its end, which is cut off: read as far as it goes")
            if untimed := int(work.walk["untimed"][0]):
                out.append(f"{process.path}: {several(untimed, 'call')} without times of the clock, left out")
        return assembly.few(self.path, out)

    def trace(self) -> Trace:
        """Return the trace."""
        columns, works = self.columns, self.columns.works
        threaded, posts = len(columns.thread) > len(works), [work.posts for work in works]
        traffic, untold = assembly.tied([work.taken() for work in works], posts, columns.rank, columns["enter"], threaded)
        calls, times = self._calls(), Times(columns["enter"], columns["leave"])
        locations, nodes = self._locations()
        links, labels, texts = self._windows(calls, times, locations)
        return Assembly(
            path=self.path,
            format="DUMPI",
            calls=calls,
            times=times,
            first=columns.first,
            locations=locations,
            nodes=nodes,
            communicators=self.comms,
            sequence=self._sequence(calls),
            traffic=traffic,
            defects=self._defects(),
            faults=self.faults,
            properties=self._properties(untold.assumed),
            records=columns.met("records"),
            to_nobody=columns.met("to_nobody"),
            silent=self.ranks - len(works),
            links=links,
            labels=labels,
            texts=texts,
            topologies=columns.comms.topologies(),
        ).trace()

    def _rank(self) -> I4:
        """Return the rank of each location."""
        return self.columns.rank[self.columns.work]

    def _calls(self) -> Calls:
        get = self.columns
        return Calls(
            location=get.location(),
            op=get["op"],
            path=np.full(len(get["op"]), NONE, "i4"),
            peer=get["peer"],
            tag=get["tag"],
            comm=get["comm"],
            root=get["root"],
            bytes_sent=get["sent"],
            bytes_received=get["received"],
        )

    def _sequence(self, calls: Calls) -> I8:
        """Return the number of every collective call on its communicator, -1 to have it counted: each window has an order of its own."""
        out = np.full(len(calls), NONE, "i8")
        met = np.flatnonzero(np.isin(calls.op, one_sided.MEETS) & (calls.tag >= 0) & (calls.comm >= 0))
        if len(met):
            rank = self._rank()[calls.location]
            others = operations.COLLECTIVE[calls.op] & (calls.comm >= 0)
            others[met] = False
            ordinary = np.flatnonzero(others)
            out[ordinary] = running(rank[ordinary], calls.comm[ordinary])
            window = _WINDOWS * (1 + calls.tag[met].astype("i8"))
            out[met] = window + running(Numbers().number(rank[met], calls.comm[met]), calls.tag[met])
        return out

    def _locations(self) -> tuple[Locations, tuple[str, ...]]:
        columns = self.columns
        node, nodes = assembly.placed([work.process.host for work in columns.works])
        node = node[columns.work]
        zero = np.zeros(len(node), "i4")
        first = np.searchsorted(columns.work, columns.work)
        thread = (np.arange(len(node)) - first).astype("i4")
        kind = np.minimum(thread, THREAD).astype("u1")
        return Locations(zero, node, self._rank(), thread, np.full(len(node), NONE, "i4"), kind), nodes

    def _windows(self, calls: Calls, times: Times, locations: Locations) -> tuple[Links, Labels, tuple[str, ...]]:
        """Return the links of one-sided calls, and which locks are exclusive."""
        groups, exclusive, shared = [], [], []
        for work in self.columns.works:
            made = work.changes["call"]
            groups += [(int(made[k]), rank) for k, members in work.definitions.opens for rank in members if made[k] >= 0]
            exclusive += [int(made[k]) for k in work.definitions.exclusive if made[k] >= 0]
            shared += [int(made[k]) for k in work.definitions.shared if made[k] >= 0]
        call, process = (np.array([row[k] for row in groups], "i4") for k in range(2))
        clock = np.where(locations.node >= 0, locations.node, len(locations) + np.arange(len(locations))).astype("i4")
        places = one_sided.Places(locations.process, locations.node, clock)
        links = one_sided.links(calls, times, places, one_sided.Groups(call, process), np.array(exclusive, "i4"))
        text = np.repeat(np.arange(2, dtype="i4"), [len(exclusive), len(shared)])
        call = np.array(exclusive + shared, "i4")
        order = np.argsort(call, kind="stable")
        return links, Labels(call[order], text[order]), (one_sided.EXCLUSIVE, one_sided.SHARED) if len(call) else ()

    def _defects(self) -> defects.DefectList:
        out = defects.DefectList()
        for location, work in zip(np.unique(self.columns.work, return_index=True)[1].tolist(), self.columns.works, strict=True):
            if work.walk["torn"][0] or not work.process.whole:
                out.add(NONE, defects.UNREADABLE, location)
            out.add(np.full(int(work.walk["backwards"][0]), NONE), defects.BACKWARDS, location)
            out.add(np.full(int(work.walk["not_posted"][0]), NONE), defects.NOT_POSTED, location)
        unknown = sum(work.definitions.unknown for work in self.columns.works)
        out.add(np.full(unknown, NONE), defects.UNDEFINED_COMMUNICATOR)
        out.add(np.full(self.columns.met("strangers"), NONE), defects.NOT_A_MEMBER)
        return out

    def _properties(self, assumed: int) -> dict[str, str]:
        lost: list[tuple[int, str]] = [
            (self.columns.met("counters"), "value of counters"),
            (self.columns.met("regions"), "begin or end of functions"),
        ]
        said = [f"{count} x {what}" for count, what in lost if count]
        if unsized := self.columns.met("unsized"):
            said.append(f"sizes of datatypes {unsized} times: taken as 0")
        version = ".".join(map(str, self.columns.works[0].process.version))
        return assembly.properties(f"DUMPI {version}", self.columns.start, said, assumed)
