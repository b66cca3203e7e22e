"""A recorded run (`perwiz record`) as a trace."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats import one_sided
from perwiz.formats.recorded import counters, notes
from perwiz.formats.recorded.columns import Columns
from perwiz.formats.recorded.communicators import Comms
from perwiz.formats.recorded.definitions import Comparison
from perwiz.formats.recorded.files import Process, processes
from perwiz.formats.recorded.regions import RegionInstances
from perwiz.formats.recorded.shmem import Shmem
from perwiz.formats.recorded.sites import Sites, told_of
from perwiz.formats.recorded.threads import Threads
from perwiz.formats.recorded.windows import Windows
from perwiz.trace import defects, matching, matching_collectives, operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.spread.team import Team
from perwiz.trace.tables import NONE, THREAD, Calls, Defects, Links, Locations, Offsets, Readings, Records, Times
from perwiz.trace.trace import SHARED, UNRETURNED, Counts, Timeline, Trace

MODEL = "model.toml"
"""Name of the file, in the directory of a run, with the model of the machine it was recorded on."""
_LASTING = 1 << 32
"""Numbers of persistent collectives begin here."""
_OF_WINDOWS = 1 << 34
"""From here on, those of calls on windows: so many a window."""
_FLUSH = "BUFFER_FLUSH"
"""Kind of the records that say when the recorder itself took time, as OTF2 names it; their value is the end."""


def read(path: str, *more: str) -> Trace:
    """Return the trace in the directory of a recorded run; a run recorded in several directories is given as all of them.

    Raises TraceError when there is no such run, or nothing in it.
    """
    folders = [path, *more]
    return Builder(processes(folders), folders, told_of(folders)).trace()


def model_of(folders: list[str]) -> str:
    """Return the model file that lies in the first directory that has one, or nothing."""
    return next((path for folder in folders if os.path.isfile(path := os.path.join(folder, MODEL))), "")


class Builder:
    """Builds the trace step by step; each step uses what the ones before it made."""

    team: Team | None = None
    """Processes that have a run together, each with what it read."""

    def __init__(self, recorded: list[Process], folders: list[str], told: Mapping[str, str]) -> None:
        """`told`: the files of places of calls, by path."""
        self.path, self.processes, self.folders = folders[0], recorded, folders
        worlds: dict[int, int] = {}
        for about in (process.about for process in recorded):
            worlds[about.first] = max(worlds.get(about.first, 0), about.processes)
        self.silent = sum(worlds.values()) - len(recorded)
        self.comms = Comms(worlds.get(0, 0))
        firsts = [int(calls["enter"][0]) for process in recorded for calls in process.calls if len(calls)]
        if not any(process.calls for process in recorded):
            raise TraceError(f"{self.path}: a recorded run without records")
        begun = [process.about.begun for process in recorded]
        self.start = self._earliest(begun + firsts)
        self.columns = Columns(recorded, self.comms, Sites(told), self.start)
        self.faults = [*(fault for process in recorded for fault in process.faults), *self.columns.sites.faults]
        self.begun = np.array(begun, "i8")[self.columns.process]
        self.notes = self._notes(notes.still_in(recorded, self.columns.sites))

    def _notes(self, inside: dict[int, notes.Call]) -> dict[str, str]:
        """Return what the run tells of itself, as properties of the trace, given the calls that ranks were still in when it ended."""
        told = notes.unreturned(inside, len(self.processes), self.silent)
        said = {UNRETURNED: told, SHARED: notes.shared_processors(self.processes)}
        return {key: text for key, text in said.items() if text}

    def _earliest(self, times: list[int]) -> int:
        return min(times)

    def trace(self) -> Trace:
        """Return the trace."""
        self.threads = Threads(self.columns, self.begun - self.start)
        self.readings = readings(self.processes, self.columns.process, self.start)
        self.shmem = Shmem(self.columns, self.readings)
        self.regions = RegionInstances(self.columns, self.start, self.team)
        self.traffic = self.columns.traffic
        self._messages()
        self._collectives()
        self.windows = Windows(self.columns, self.calls)
        return self._assemble()

    def _messages(self) -> None:
        enter = self.columns["enter"] if len(self.columns.process) > len(self.processes) else None
        self.traffic.finish(self.columns.shares, np.array([process.rank for process in self.processes], "i4"), enter)

    def _sequence(self) -> I8:
        """Return the number of every collective call on its communicator, -1 to have it counted; forget the numbers the recorder gave.

        It numbers persistent ones as they are made: they may start in any order. Each window has an order of its own.
        """
        op, tag, comm = self.columns["op"], self.columns["tag"], self.columns["comm"]
        out = np.full(len(tag), NONE, "i8")
        numbered = operations.COLLECTIVE[op] & (tag >= 0) & (comm >= 0)
        if numbered.any():
            on_window = numbered & np.isin(op, one_sided.MEETS)
            lasting = numbered & ~operations.ON_WINDOWS[op]
            ordinary = np.flatnonzero(operations.COLLECTIVE[op] & ~lasting & ~on_window)
            rank = self.columns.rank()[self.columns.location()]
            out[ordinary] = running(rank[ordinary], comm[ordinary])
            out[lasting] = _LASTING + tag[lasting].astype("i8")
            window = _OF_WINDOWS * (1 + tag[on_window].astype("i8"))
            out[on_window] = window + running(Numbers().number(rank[on_window], comm[on_window]), tag[on_window])
            tag[lasting] = NONE
        return out

    def _collectives(self) -> None:
        get, sequence = self.columns, self._sequence()
        self.calls = Calls(
            location=get.location(),
            op=get["op"],
            path=self.regions.path_of_calls,
            peer=get["peer"],
            tag=get["tag"],
            comm=get["comm"],
            root=get["root"],
            bytes_sent=get["sent"],
            bytes_received=get["received"],
        )
        done = matching.completions(self.calls.op, self.traffic.requests)
        self.instances = self.threads.with_teams(self._instances(done, sequence))

    def _instances(self, done: I4, sequence: I8) -> CollectiveInstances:
        """Return the collectives of processes, given what completes each call, and its number."""
        quiet, enter, process = np.zeros(len(done), "u1"), self.columns["enter"], self.columns.rank().astype("i8")
        return matching_collectives.collectives(self.calls, done, process, sequence, quiet, self.comms.table(), enter)

    def _locations(self) -> tuple[Locations, tuple[str, ...], tuple[str, ...]]:
        about = [process.about for process in self.processes]
        nodes = list(dict.fromkeys(process.host for process in about))
        metahosts = {process.metahost: process.metahost_name for process in about}
        node, metahost, cpu = (
            np.array(values, "i4")[self.columns.process]
            for values in zip(*((nodes.index(process.host), process.metahost, process.cpu) for process in about), strict=True)
        )
        kind = np.minimum(self.columns.thread, THREAD).astype("u1")
        table = Locations(metahost, node, self.columns.rank(), self.columns.thread, cpu, kind)
        named = any(metahosts.values()) and min(metahosts) >= 0 and max(metahosts) < 1 << 16
        return table, tuple(nodes), tuple(metahosts.get(k, "") for k in range(max(metahosts) + 1)) if named else ()

    def _instants(self) -> Times:
        last = np.maximum(self.columns.last, self.begun) - self.start
        first = np.where(self.columns.thread == 0, self.begun - self.start, last)
        for location, (rest, _) in enumerate(self.columns.rest):
            if len(rest):
                first[location] = min(first[location], int(rest["enter"][0]) - self.start)
        workers = self.threads.workers
        first[workers], last[workers] = self.begun[workers] - self.start, self.columns["leave"][self.columns.first[workers + 1] - 1]
        return Times(first, last)

    def _defects(self) -> Defects:
        out = defects.DefectList()
        for location in sorted({*self.columns.open, *self.threads.never_end} - {*self.regions.never_end}):
            out.add(NONE, defects.NEVER_ENDS, location)
        for location, (rest, _) in enumerate(self.columns.rest):
            if len(rest) and rest["peer"][0] > 0:
                out.add(NONE, defects.UNREADABLE, location)
        for lines, reason in ((self.regions.never_end, defects.NEVER_ENDS), (self.regions.not_open, defects.NOT_OPEN)):
            for location in lines:
                out.add(NONE, reason, location)
        out.add(np.full(self.columns.not_members + self.traffic.not_members, NONE), defects.NOT_A_MEMBER)
        out.add(np.full(len(self.faults), NONE), defects.BAD_HEADER)
        out.add(np.full(self.traffic.not_posted, NONE), defects.NOT_POSTED)
        return out.table()

    def _counts(self) -> Counts:
        traffic, instances = self.traffic, self.instances
        collective = operations.COLLECTIVE & operations.OF_PROCESSES
        failed = int((collective[self.calls.op] & (self.calls.comm == NONE)).sum())
        return Counts(
            records=sum(len(calls) for process in self.processes for calls in [*process.calls, *process.parts]),
            states=len(self.calls) + len(self.regions.table),
            sends=traffic.sends,
            receives=traffic.receives,
            to_nobody=self.columns.to_nobody,
            unmatched_sends=traffic.sends - traffic.matched,
            unmatched_receives=traffic.receives - traffic.matched,
            size_differs=traffic.size_differs,
            incomplete_collectives=instances.incomplete,
            unmatched_collectives=instances.unmatched - failed,
            rootless_collectives=instances.rootless,
            silent_processes=self.silent,
        )

    def _marks(self) -> tuple[Records, I8]:
        """Return when the recorder itself took time."""
        locations, calls, begin, end = [], [], [], []
        for where, (rest, before) in enumerate(self.columns.rest):
            operations = self.columns.processes[self.columns.process[where]].about.operations
            flushes = np.flatnonzero(rest["op"] == operations.index("flush"))
            locations.append(np.full(len(flushes), where, "i4"))
            calls.append(self.columns.first[where] + before[flushes])
            begin.append(rest["enter"][flushes] - self.start)
            end.append(rest["leave"][flushes] - self.start)
        location, call, time, until = (np.concatenate(column) for column in (locations, calls, begin, end))
        count = len(location)
        return Records(location, np.zeros(count, "i4"), call.astype("i4"), time, np.arange(count, dtype="i8")), until

    def _properties(self) -> dict[str, str]:
        about = self.processes[0].about
        local, real = about.real
        started = datetime.datetime.fromtimestamp((real - local + about.begun) / 1e9, datetime.UTC).isoformat()
        program = " ".join(os.fsencode(word).decode(errors="backslashreplace") for word in about.program)
        mpi = " ".join(about.mpi.split("\n")[0].split())
        return {"recorder": "perwiz", "program": program} | ({"mpi": mpi} if mpi else {}) | {"started": started} | self.notes

    def _assemble(self) -> Trace:
        locations, nodes, metahosts = self._locations()
        records, values = self._marks()
        counted = counters.values(self.columns, self.regions)
        times = Times(self.columns["enter"], self.columns["leave"])
        return Trace(
            path=self.path,
            format="perwiz run",
            locations=locations,
            communicators=self.comms.table(),
            names=tuple(self.regions.names),
            parallel=self.regions.parallel,
            paths=self.regions.paths,
            calls=self.calls,
            requests=self.traffic.requests,
            regions=self.regions.table,
            messages=self.traffic.messages,
            collectives=self.instances.collectives,
            members=self.instances.members,
            links=Links.joined(self.threads.links(), self.windows.links(times, locations), self.shmem.links()),
            timeline=Timeline(times, self.threads.around(self.regions.table, self.regions.times), self._instants()),
            labels=self.windows.labels(1),
            texts=(_FLUSH, *self.windows.texts),
            nodes=nodes,
            offsets=Offsets.empty(),
            offsets_applied=False,
            readings=self.readings,
            defects=self._defects(),
            counts=self._counts(),
            properties=self._properties(),
            faults=tuple(self.faults),
            records=records,
            values=values,
            site=self.columns["site"],
            sites=self.columns.sites.texts,
            model=model_of(self.folders),
            metahosts=metahosts,
            topologies=self.comms.topologies(),
            unfinished=self.traffic.unfinished,
            counters=counted.calls,
            region_counters=counted.regions,
            counter_names=counted.names,
        )


def readings(processes: list[Process], process: I8, start: int) -> Readings:
    """Return how the clock of every location was compared, as often as it was; nothing if all share one clock.

    `process` is the number of each location's process, `start` the time that is 0 in the trace, ns. A process that shares its clock with
    one that compared it has the readings of that. The clock of the lowest rank is that of all.
    """
    clocks = {recorded.rank: recorded.about.clock for recorded in processes}
    if len(set(clocks.values())) < 2:
        return Readings.empty()
    numbers, first_locations = np.unique(process, return_index=True)
    location_of = {processes[number].rank: int(first) for number, first in zip(numbers.tolist(), first_locations, strict=True)}
    rows = {clocks[processes[0].rank]: [(NONE, 0, 0, 0)]}
    for recorded in processes:
        lines = [line for line in recorded.of(Comparison) if line.master in location_of]
        compared = [(location_of[line.master], line.time - start, line.offset, -(-line.round_trip // 2)) for line in lines]
        if compared:
            rows.setdefault(clocks[recorded.rank], compared)
    every = [(location, *row) for location, number in enumerate(process.tolist()) for row in rows.get(clocks[processes[number].rank], [])]
    columns = zip(*every, strict=True) if every else [()] * 5
    return Readings(*(np.array(values, kind) for values, kind in zip(columns, ("i4", "i4", "i8", "i8", "i8"), strict=True)))
