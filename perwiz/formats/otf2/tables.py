"""From a recording of OTF2 to the tables of a trace: locations joined, references made rows, partners matched, gaps repaired."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats import completions
from perwiz.formats.devices import HOST
from perwiz.formats.otf2 import repair
from perwiz.formats.otf2.columns import Columns
from perwiz.formats.otf2.communicators import Comms
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.hybrid import activities
from perwiz.formats.otf2.hybrid.threads import LOCKS, Threads, columns, endings
from perwiz.formats.otf2.locations import RecordedLocations
from perwiz.formats.otf2.other_records import OtherRecords, topologies
from perwiz.formats.otf2.read import Recording
from perwiz.formats.otf2.read_extras import Extras
from perwiz.formats.otf2.regions import RegionInstances
from perwiz.formats.otf2.windows import Windows
from perwiz.kernels import records
from perwiz.kernels.otf2_rows import STATE
from perwiz.trace import defects, matching, matching_collectives, operations, roots
from perwiz.trace.arrays import I4, U1
from perwiz.trace.spread.team import Team
from perwiz.trace.streams import link
from perwiz.trace.tables import NONE, PROCESS, Calls, Defects, Labels, Links, Locations, Requests, Times, Unfinished
from perwiz.trace.trace import Counts, Timeline, Trace

_FINALIZE = operations.OP["MPI_Finalize"]
_TALKS = np.isin(operations.KIND, (operations.SEND, operations.ISEND, operations.RECV, operations.IRECV, operations.SENDRECV))
"""Which routines send or receive one message, per op."""


@dataclasses.dataclass
class Side:
    """One side of all messages, and the request of each, row of the requests or -1."""

    ends: matching.Ends
    request: I4


def properties(definitions: Definitions) -> dict[str, str]:
    """Return what the archive says about its run: who recorded it, where, when."""
    started = "" if definitions.realtime < 0 else datetime.datetime.fromtimestamp(definitions.realtime / 1e9, datetime.UTC).isoformat()
    values = {"recorder": definitions.creator, "machine": definitions.machine, "started": started}
    return {key: value for key, value in values.items() if value}


class Builder:
    """Builds the trace step by step; each step uses what the ones before it made."""

    team: Team | None = None
    """Processes that have an archive together, each with what it read."""

    def __init__(self, recording: Recording, path: str) -> None:
        self.recording, self.path = recording, path
        self.extras = Extras(recording.definitions)
        self.locations = RecordedLocations(recording, self.extras.property("START", 0, int))
        self.columns = Columns(self.locations)
        self.comms = Comms(recording.definitions, self.locations.world)

    def trace(self) -> Trace:
        """Return the trace."""
        self._calls()
        self.other_records = OtherRecords(self.columns, self.locations, self.recording.definitions)
        self._take_extras()
        locks = self.other_records.of_threads(*LOCKS)
        locks.name(self.column["op"])
        locks.number_locks(self.column["op"], self.column["tag"])
        self.regions = RegionInstances(self.columns, self.recording.definitions, self.extras, self.first, self.column["leave"], self.team)
        self.column["path"] = self.regions.path_of(self.columns.shifted("call.region", self.columns.starts("region")))
        self._devices()
        self._requests()
        self._partners()
        self.windows = Windows(self.other_records, self.recording.definitions, self.column["op"])
        if not self.extras.written:
            self.windows.tell(self.column, self.comms, self.locations.process)
        self._messages()
        self._collectives()
        self._threads()
        return self._assemble()

    def _calls(self) -> None:
        self.first = self.columns.starts("call")
        self.column: dict[str, NDArray[Any]] = {"location": self.columns.locations("call")}
        names = ("op", "peer", "tag", "comm", "root", "sent", "received", "bits")
        found = self.columns.several([f"call.{name}" for name in names], ("call.enter", "call.leave"))
        self.column |= {name.partition(".")[2]: column for name, column in found.items()}
        idle = np.flatnonzero(self.column["bits"] & records.FROM_START)
        self.instants = self.locations.instants()
        self.column["enter"][idle] = self.instants.enter[self.column["location"][idle]]

    def _take_extras(self) -> None:
        self.extras.take(self.other_records)

    def _devices(self) -> None:
        """Tie what ran on streams to the host; the region of a call that concerns a device stands where others have a root."""
        self.of_devices, self.untied_launches = Links.empty(), 0
        host = np.isin(self.column["op"], HOST)
        if not host.any():
            return
        region = np.where(host, self.column["root"], NONE)
        self.column["root"][host] = NONE
        if self.extras.written:
            return
        definitions = self.recording.definitions
        rows = {recorded.ref: row for row, recorded in enumerate(self.locations.recorded)}
        told = activities.said(self.other_records, self.column["leave"], rows)
        devices = activities.Devices(self.column, self.locations.process, self.regions, told)
        ran = devices.activities()
        names = [definitions.string(definitions.regions[ref].name) for ref in sorted(definitions.regions)]
        self.of_devices, self.untied_launches = link(devices.routines(region, names), ran)

    def _requests(self) -> None:
        ends = dict.fromkeys(("request.posted", "request.done"), self.first)
        cancelled, posted, done = self.columns.several(["request.cancelled"], shifted=ends).values()
        self.requests = self.extras.requests(Requests(posted, done, cancelled), len(self.column["op"]))

    def _partners(self) -> None:
        """Communicators become rows, ranks in them processes."""
        get = self.column
        rank = self.locations.process[get["location"]]
        self.began = self._begun()
        collective = operations.COLLECTIVE[get["op"]] & operations.OF_PROCESSES[get["op"]]
        get["comm"][~collective & ~_TALKS[get["op"]] & ((get["bits"] & records.COLLECTIVE_RECORD) != 0)] = NONE
        self.undefined = int(((self.comms.rows(get["comm"], rank) == NONE) & (get["comm"] != NONE) & collective).sum())
        get["comm"] = self.comms.rows(get["comm"], rank)
        get["comm"][(get["op"] == _FINALIZE) & (get["comm"] == NONE)] = 0
        table = self.comms.table()
        for name in ("peer", "root"):
            get[name] = self.comms.processes_of(table, get["comm"], get[name], rank, roots=name == "root")
        self.extras.calls(get, self.comms.processes, len(table))

    def _begun(self) -> I4 | None:
        """Return the call that began the team of each call of threads, -1 for others, and take it from where others have a communicator.

        None if there are none of threads.
        """
        of_processes = operations.OF_PROCESSES[self.column["op"]]
        if of_processes.all():
            return None
        comm = self.column["comm"]
        out = np.where(of_processes | (comm == NONE), NONE, self.first.astype("i4")[self.column["location"]] + comm)
        comm[~of_processes] = NONE
        return out

    def _messages(self) -> None:
        self.unfinished = Unfinished(self._calls_of("poll"), self._requests_of("poll"))
        self.not_members = self.internal = 0
        sends, receives = self._side("send"), self._side("receive")
        self.talked = np.zeros(len(self.column["op"]), bool)
        self.talked[sends.ends.call] = self.talked[receives.ends.call] = True
        self.inferred = self.repaired = self.resized = 0
        if not self.extras.written:
            posts = np.zeros(len(self.requests), bool)
            posts[sends.request[sends.request >= 0]] = True
            self.requests, self.inferred = completions.inferred(self.column["op"], self.column["location"], self.requests, posts)
        self._complete(sends, receives)
        self.sends, self.receives = len(sends.ends.call), len(receives.ends.call)
        self._match(sends, receives, operations.MODE[self.column["op"][sends.ends.call]])

    def _match(self, sends: Side, receives: Side, mode: U1) -> None:
        """Find the messages, after repairing what can be."""
        if self.extras.written:
            self._extras(sends.ends, receives.ends, mode)
        else:
            self.repaired = repair.communicators(sends.ends, receives.ends)
            more, self.resized = repair.sizes(sends.ends, receives.ends)
            np.add.at(self.column["received"], receives.ends.done, more)
        enter = self.column["enter"] if self._several() else None
        self.messages, self.contradicting = matching.messages(sends.ends, receives.ends, mode, not self.extras.written, enter)
        self.matched = len(self.messages)

    def _several(self) -> bool:
        """Return whether processes have several threads."""
        return len(np.unique(self.locations.process)) < len(self.locations.process)

    def _side(self, side: str) -> Side:
        rank = self.columns.each(side, self.locations.process)
        shifted = {f"{side}.call": self.first, f"{side}.request": self.columns.starts("request")}
        found = self.columns.several([f"{side}.{name}" for name in ("comm", "peer", "tag", "bytes")], [f"{side}.time"], shifted)
        refs, peers, tag, size, time, call, request = found.values()
        comm = self.comms.rows(refs, rank)
        self.undefined += int(((comm == NONE) & (refs != NONE)).sum())
        peer = self.comms.processes_of(self.comms.table(), comm, peers, rank)
        self.not_members += int(((peer == NONE) & (comm != NONE)).sum())
        inside = time - self.column["enter"][call] if side == "send" else self.column["leave"][call] - time
        ends = matching.Ends(call, call.copy(), rank, peer, tag, comm, size, inside=inside)
        internal = operations.COLLECTIVE[self.column["op"][call]]
        if internal.any():
            self.internal += int(internal.sum())
            ends, request = ends.take(~internal), request[~internal]
        return Side(ends, request)

    def _calls_of(self, side: str) -> I4:
        return self.columns.shifted(f"{side}.call", self.first)

    def _requests_of(self, side: str) -> I4:
        return self.columns.shifted(f"{side}.request", self.columns.starts("request"))

    def _complete(self, sends: Side, receives: Side) -> None:
        """A send is completed where its request is; a receive was posted where its request was."""
        with_request = np.flatnonzero(sends.request >= 0)
        sends.ends.done[with_request] = self.requests.completed_by[sends.request[with_request]]
        with_request = np.flatnonzero(receives.request >= 0)
        receives.ends.call[with_request] = self.requests.posted_by[receives.request[with_request]]

    def _extras(self, sends: matching.Ends, receives: matching.Ends, mode: U1) -> None:
        """Put in what an archive of perwiz says of single messages."""
        sent, received = np.full(len(sends.call), NONE, "i8"), np.full(len(receives.call), NONE, "i8")
        self.extras.sends(sends, mode, sent)
        self.extras.receives(receives, received, len(self.column["op"]))
        sends.id, receives.id = sent, received

    def _call_table(self) -> Calls:
        names = ("location", "op", "path", "peer", "tag", "comm", "root", "sent", "received")
        return Calls(*(self.column[name] for name in names))

    def _collectives(self) -> None:
        calls = self._call_table()
        done = matching.completions(calls.op, self.requests)
        self.sequence, quiet = self.extras.sequence(len(done)), np.zeros(len(done), "u1")
        comm = calls.comm.copy()
        comm[self.extras.apart()] = NONE
        process = self.locations.process.astype("i8")
        together = dataclasses.replace(calls, comm=comm)
        table = self.comms.table()
        instances = matching_collectives.collectives(together, done, process, self.sequence, quiet, table, self.column["enter"])
        self.roots = roots.Roots(instances)
        if not self.extras.written and instances.rootless:
            times = Times(self.column["enter"], self.column["leave"])
            self.roots = roots.inferred(instances, calls, times, self.locations.process, self.messages, table)
            members, root = self.roots.instances.members, self.roots.instances.collectives.root
            self.column["root"] = calls.root.copy()
            self.column["root"][members.call] = root[members.collective]
        self.instances = self.roots.instances

    def _threads(self) -> None:
        """Tie calls of threads by links, and by barriers behind the collectives of MPI."""
        self.untied = 0
        get = self.column
        if self.extras.written:
            self.links = self.extras.links(len(get["op"]))
            barrier = np.flatnonzero((operations.COLLECTIVE & ~operations.OF_PROCESSES)[get["op"]] & (self.sequence >= 0))
            self.instances = matching_collectives.with_teams(self.instances, get["op"], barrier, self.sequence[barrier])
            return
        parts = [self.of_devices]
        if self.began is not None:
            said = self.other_records.of_threads
            threads = Threads(get["location"], get["op"], self.began, get["enter"], get["leave"], self.locations.process, said).tied()
            self.untied = threads.untied
            parts += threads.links
            self.instances = matching_collectives.with_teams(self.instances, get["op"], threads.barrier, threads.together)
        tied = Links(*columns(parts))
        ends = endings(get["location"], get["op"], get["enter"], get["leave"], self.locations.process, tied)
        self.links = Links.in_order(*columns((tied, ends)))
        self._end_idleness(ends)

    def _end_idleness(self, ends: Links) -> None:
        """Let threads and streams with nothing more to do be there until their process comes to its last call: not until records end."""
        if not len(ends):
            return
        get, still = self.column, np.full(len(self.locations), np.iinfo("i8").min)
        np.maximum.at(still, self.regions.table.location, self.regions.times.leave)
        location = get["location"][ends.effect]
        until = np.maximum(get["enter"][ends.effect], get["enter"][ends.cause])
        idle = still[location] <= until
        get["leave"], leave = get["leave"].copy(), self.instants.leave.copy()
        get["leave"][ends.effect[idle]] = leave[location[idle]] = until[idle]
        self.instants = Times(self.instants.enter, leave)

    def _defects(self) -> Defects:
        out = defects.DefectList()
        self.faults: list[str] = []
        state = self.columns.state
        for key, reason in (
            ("never_ends", defects.NEVER_ENDS),
            ("not_open", defects.NOT_OPEN),
            ("backwards", defects.BACKWARDS),
            ("undefined", defects.UNDEFINED_REGION),
            ("not_posted", defects.NOT_POSTED),
        ):
            number = state(key)
            for location in np.flatnonzero(number).tolist():
                out.add(np.full(number[location], NONE), reason, location)
        for location, recorded in enumerate(self.locations.recorded):
            if recorded.error:
                out.add(NONE, defects.UNREADABLE, location)
                self.faults.append(f"location {recorded.ref} (rank {self.locations.process[location]}): {recorded.error}")
        out.add(np.full(self.undefined, NONE), defects.UNDEFINED_COMMUNICATOR)
        out.add(np.full(self.not_members, NONE), defects.NOT_A_MEMBER)
        out.add(np.full(self.extras.bad, NONE), defects.BAD_ATTRIBUTE)
        return out.table()

    def _counts(self, other_records: OtherRecords, kept: int) -> Counts:
        posts = np.zeros(len(self.column["op"]), bool)
        posts[self.requests.posted_by] = True
        alone = _TALKS[self.column["op"]] & (self.column["comm"] == NONE) & ~posts & ~self.talked
        state = self.columns.state
        heard = state("records") > 0
        return Counts(
            records=int(state("records").sum())
            + sum(int(recorded.column("state").view(STATE)["records"][0]) for recorded in self.locations.other),
            states=int(state("pairs").sum()),
            single_events=other_records.singles(kept),
            sends=self.sends,
            receives=self.receives,
            internal_messages=self.internal,
            internal_calls=int(state("internal").sum()),
            to_nobody=int(alone.sum()),
            bare=int(((self.column["bits"] & records.BARE) != 0).sum()),
            unmatched_sends=self.sends - self.matched,
            unmatched_receives=self.receives - self.matched,
            contradicting=self.contradicting,
            incomplete_collectives=self.instances.incomplete,
            unmatched_collectives=self.instances.unmatched,
            rootless_collectives=self.instances.rootless,
            inferred_roots=self.roots.inferred,
            adopted_roots=self.roots.adopted,
            assumed_roots=self.roots.assumed,
            silent_processes=len(np.setdiff1d(self.locations.process[self.locations.kind == PROCESS], self.locations.process[heard])),
            inferred_completions=self.inferred,
            repaired_communicators=self.repaired,
            repaired_sizes=self.resized,
            untied_waits=self.untied,
            untied_launches=self.untied_launches,
            placed_streams=self.locations.placed,
            placed_ns=self.locations.moved,
        )

    def _properties(self) -> dict[str, str]:
        stored = self.extras.property("PROPERTIES", {})
        return {str(key): str(value) for key, value in stored.items()} if self.extras.written else properties(self.recording.definitions)

    def _all_links(self, locations: Locations, times: Times) -> Links:
        if self.extras.written:
            return self.links
        return Links.joined(self.links, self.windows.links(self._call_table(), times, locations, self.comms))

    def _assemble(self) -> Trace:
        definitions, regions = self.recording.definitions, self.regions
        other_records, extras = self.other_records, self.extras
        counted = other_records.counters(regions.table)
        parameters, (records, values) = other_records.parameters(), other_records.records()
        locations, nodes, metahosts = self.locations.table(definitions)
        arranged = topologies(definitions, self.comms)
        labels = Labels.empty() if extras.written else self.windows.labels(self.column["op"], other_records.texts)
        offsets = self.locations.offsets(self.recording)
        origin = extras.origin()
        times = Times(self.column["enter"], self.column["leave"])
        left_out, counts = self._defects(), self._counts(other_records, len(parameters) + len(records))
        return Trace(
            path=self.path,
            format="OTF2",
            locations=locations,
            communicators=self.comms.table(),
            names=tuple(regions.known.names),
            parallel=regions.known.parallel,
            paths=regions.paths,
            calls=self._call_table(),
            requests=self.requests,
            regions=regions.table,
            messages=self.messages,
            collectives=self.instances.collectives,
            members=self.instances.members,
            links=self._all_links(locations, times),
            timeline=Timeline(times, regions.times, self.instants, origin),
            labels=labels,
            texts=other_records.texts.all(),
            nodes=nodes,
            offsets=offsets,
            defects=left_out,
            faults=tuple(self.faults),
            counts=extras.counts(dataclasses.replace(counts, loose_counters=counted.loose)),
            properties=self._properties(),
            clocks_compared=extras.property("CLOCKS", True) if extras.written else bool(len(offsets)),
            wildcards_told=extras.written and extras.property("WILDCARDS", True),
            sources=tuple(regions.known.sources),
            metahosts=metahosts,
            topologies=arranged,
            unfinished=self.unfinished,
            counters=counted.calls,
            region_counters=counted.regions,
            counter_names=counted.names,
            levels=counted.levels,
            sampled=counted.sampled,
            parameters=parameters,
            records=records,
            values=values,
        )
