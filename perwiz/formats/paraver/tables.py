"""From a recording of Paraver to the tables of a trace: rows in program order, messages put to their calls, collectives matched."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats import completions
from perwiz.formats.devices import HOST
from perwiz.formats.paraver import codes
from perwiz.formats.paraver.locations import RecordedLocations
from perwiz.formats.paraver.read import ROLES, Recording
from perwiz.formats.paraver.regions import COPY, RegionInstances, sites
from perwiz.formats.paraver.threads import Threads
from perwiz.formats.paraver.ties import Ties, direction
from perwiz.kernels import alog, paraver, paraver_columns, paraver_messages
from perwiz.trace import matching, matching_collectives, operations, roots
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.defects import UNDEFINED_COMMUNICATOR
from perwiz.trace.origin import MEASURED
from perwiz.trace.tables import (
    NONE,
    STREAM,
    THREAD,
    Calls,
    Counters,
    Labels,
    Links,
    Messages,
    Offsets,
    Records,
    RegionCounters,
    Requests,
    Times,
)
from perwiz.trace.trace import Counts, Timeline, Trace
from perwiz.trace.unrecorded import ON_OFF

_ON, _OFF = 1, 2
_COLUMNS = ("location", "op", "enter", "leave", "sent", "received")
_OF_HOST = np.isin(np.arange(len(operations.OPS)), HOST)
_VALUES = ("counter", "entered", "returned")
_IDLES = operations.OP["omp_idle"], operations.OP["device_idle"]


class Builder:
    """Builds the trace step by step; each step uses what the ones before it made."""

    def __init__(self, recording: Recording, path: str) -> None:
        self.recording, self.path = recording, path
        used = np.flatnonzero(recording.places.first > 0)
        self._row = np.full(len(recording.places), NONE, "i4")
        self._row[used] = np.arange(len(used), dtype="i4")
        self._places = recording.places[used]
        self.locations = RecordedLocations(recording.header, recording.labels, used)

    def trace(self) -> Trace:
        """Return the trace."""
        self._calls()
        self._split_messages()
        self.regions = self._regions()
        self._collective_columns()
        self._messages()
        self._threads()
        self._ties()
        self._collectives()
        return self._assemble()

    def _calls(self) -> None:
        made, more = self.recording.calls, alog.empty(len(self.recording.calls), paraver_columns.MORE)
        self.first = np.append(0, np.cumsum(self._places.calls))
        self._new = np.empty(len(made), "i4")
        get: dict[str, NDArray[Any]] = {name: np.empty(len(made), made.dtype[name]) for name in _COLUMNS}
        paraver_columns.spread(made, self._row, self.first[:-1].copy(), self._new, more, *get.values())
        self.recording.calls = alog.empty(0, paraver.MADE)
        self._made = more
        get["sent"][_OF_HOST[get["op"]]] = 0
        devices = (get["op"] == _IDLES[0]) & (self.locations.table.kind[get["location"]] == STREAM)
        get["op"][devices] = _IDLES[1]
        joins = (get["op"] == operations.OP["omp_join"]) & ((more.bits & paraver.CLOSES) == 0)
        get["op"][joins] = operations.OP["omp_implicit_barrier"]
        for name in ("peer", "tag", "comm", "root"):
            get[name] = np.full(len(more), NONE, "i4")
        self.column = get
        instants = self._places.first - 1, np.maximum(self._places.clock, self._places.busy)
        self.instants = Times(*(np.array(times, "i8") for times in instants))

    def _split_messages(self) -> None:
        """Keep the communications between a process and its streams apart: no messages, whatever call they are in."""
        rows = self.recording.messages
        self.records = len(rows)
        rows.sender, rows.receiver = self._row[rows.sender], self._row[rows.receiver]
        there = (rows.sender >= 0) & (rows.receiver >= 0)
        self._sent = rows if there.all() else rows[there]
        self._own = self._sent[:0]
        stream = self.locations.table.kind == STREAM
        if stream.any():
            own = (stream[self._sent.sender] | stream[self._sent.receiver]) & self._inside(self._sent)
            self._own, self._sent = self._sent[own], self._sent[~own]
        self.recording.messages = alog.empty(0, paraver.MESSAGE)

    def _inside(self, rows: alog.Records) -> Mask:
        """Return which communications are between two locations of one process."""
        return (self.locations.task[rows.sender] == self.locations.task[rows.receiver]) & (rows.sender != rows.receiver)

    def _regions(self) -> RegionInstances:
        made = self.recording.regions
        copies = direction(made, self._row[made.location], self._own)
        made.number[copies >= 0] = COPY + copies[copies >= 0]
        regions = RegionInstances(made, self._row[made.location], self.recording.labels, self.first, self.column["leave"])
        self.column["path"] = regions.path_of[self._made.region]
        return regions

    def _collective_columns(self) -> None:
        get = self.column
        of_processes = operations.COLLECTIVE[get["op"]] & operations.OF_PROCESSES[get["op"]]
        rows = np.flatnonzero(of_processes & (self._made.comm > 0))
        location = get["location"]
        get["comm"][rows] = self.locations.rows(self.locations.application[location[rows]], self._made.comm[rows])
        undefined = int(np.count_nonzero(get["comm"][rows] == NONE))
        self.recording.defects.add(np.full(undefined, -1), UNDEFINED_COMMUNICATOR)
        untold = np.flatnonzero(of_processes & (self._made.comm == 0))
        get["comm"][untold[self._of_world(untold)]] = 0
        talks = operations.TALKS[get["op"]] & ~of_processes
        get["comm"][talks] = 0
        is_root = of_processes & operations.ROOTED[get["op"]] & ((self._made.bits & paraver.IS_ROOT) != 0)
        get["root"][is_root] = self.locations.task[location[is_root]]

    def _of_world(self, calls: I8) -> Mask:
        """Return which collective calls that tell no communicator are of the world: the last of a process, and all if all make the same."""
        op, process = self.column["op"][calls], self.locations.task[self.column["location"][calls]]
        out = np.isin(op, operations.FINALIZES)
        sequences = {tuple(op[process == one].tolist()) for one in np.unique(self.locations.task).tolist()} if len(calls) else set()
        return np.asarray(out | (len(sequences) == 1))

    def _messages(self) -> None:
        get, rows = self.column, self._sent
        send, receive, done = (np.empty(len(rows), "i4") for _ in range(3))
        roles = ROLES[get["op"]]
        used = np.zeros(len(roles), "u1")
        paraver_messages.place(rows, self.first, get["enter"], get["leave"], roles, used, send, receive, done)
        placed = (send >= 0) & (receive >= 0) & (done >= receive)
        if not placed.all():
            self._own = np.concatenate([self._own, rows[~placed & self._inside(rows)]]).view(np.recarray)
        made = alog.empty(int(np.count_nonzero(placed)), paraver.PLACED)
        told = (get[name] for name in ("peer", "tag", "comm", "sent", "received"))
        begins = np.zeros(len(roles), "i8")
        paraver_messages.arrange(rows, self.locations.task, send, receive, done, begins, made, *told)
        send, receive, done, tag = (made[name].copy() for name in ("send", "receive", "done", "tag"))
        receives_only = operations.KIND[get["op"]] == operations.SENDRECV
        receives_only[send] = False
        get["peer"][receives_only] = NONE
        self._requests(send, receive, done)
        posted = operations.NONBLOCKING[get["op"][send]]
        send_done = np.where(posted, self._done[send], send).astype("i4")
        none, mode = np.zeros(len(made), "i8"), operations.MODE[get["op"][send]]
        self.messages = Messages(send, send_done, receive, done, tag, np.zeros(len(made), "i4"), mode, made.bytes.copy(), none, none.copy())

    def _requests(self, send: I4, receive: I4, done: I4) -> None:
        """Make a request of each call that posts one: messages tell when a receive was completed, waits in program order the rest."""
        get = self.column
        posted = np.flatnonzero(operations.NONBLOCKING[get["op"]]).astype("i4")
        by = np.full(len(get["op"]), NONE, "i4")
        by[receive[receive != done]] = done[receive != done]
        posts = np.zeros(len(by), bool)
        posts[send] = True
        requests = Requests(posted, by[posted], np.zeros(len(posted), "u1"))
        self.requests, self.inferred = completions.inferred(get["op"], get["location"], requests, posts[posted])
        self._done = matching.completions(get["op"], self.requests)

    def _threads(self) -> None:
        locations, teams = self.locations.table, self._places.teams != 0
        self._be_idle(teams)
        self.threads = Threads(self.column, self.first, locations, self._made.comm, teams)

    def _ties(self) -> None:
        """Tie what own communications say."""
        ties = Ties(self.column, self.first, self.locations.table, self._made, self._own)
        self.links = Links.joined(self.threads.links, ties.links(self.regions, self.recording.labels))
        self.tied, self.untied_launches = int(ties.tied.sum()), ties.untied_launches

    def _be_idle(self, teams: Mask) -> None:
        """Let threads of teams be there, and idle, from the first instant of their process on, as long as it has no team for them."""
        get, table = self.column, self.locations.table
        place = np.flatnonzero(teams & (table.kind == THREAD))
        place = place[get["op"][self.first[place]] == operations.OP["omp_idle"]]
        begun = np.minimum.reduceat(self.instants.enter, np.flatnonzero(np.diff(table.process, prepend=-1)))
        enter = self.instants.enter.copy()
        enter[place] = get["enter"][self.first[place]] = begun[np.searchsorted(np.unique(table.process), table.process[place])]
        self.instants = Times(enter, self.instants.leave)

    def _collectives(self) -> None:
        get, comms = self.column, self.locations.communicators
        process = self.locations.task.astype("i8")
        count, table = len(get["op"]), self._call_table()
        untold, nothing = np.full(count, NONE, "i8"), np.zeros(count, "u1")
        instances = matching_collectives.collectives(table, self._done, process, untold, nothing, comms, get["enter"])
        times = Times(get["enter"], get["leave"])
        self.roots = roots.inferred(instances, table, times, self.locations.task, self.messages, comms)
        self.instances = matching_collectives.with_teams(self.roots.instances, get["op"], *self.threads.barriers)
        get["root"] = get["root"].copy()
        get["root"][self.instances.members.call] = self.instances.collectives.root[self.instances.members.collective]

    def _call_table(self) -> Calls:
        names = ("location", "op", "path", "peer", "tag", "comm", "root", "sent", "received")
        return Calls(*(self.column[name] for name in names))

    def _kept(self) -> tuple[Records, I8, tuple[str, ...]]:
        """Return the records of events that have no table, their values, and the names of their types."""
        kept = self.recording.kept
        order = np.argsort(self._row[kept.location], kind="stable")
        kept = kept[order]
        location = self._row[kept.location]
        kinds, kind = np.unique(kept.type, return_inverse=True)
        names = [self.recording.labels.types.get(one, str(one)) for one in kinds.tolist()]
        switches = kept.type == codes.SWITCHED
        value = np.where(switches, np.where(kept.value != 0, _ON, _OFF), kept.value)
        texts = [ON_OFF if one == codes.SWITCHED else name for one, name in zip(kinds.tolist(), names, strict=True)]
        text = {name: row for row, name in enumerate(dict.fromkeys(texts))}
        row = np.array([text[name] for name in texts], "i4").reshape(-1)[kind.ravel()]
        call = (self.first[location] + kept.call).astype("i4")
        return Records(location, row, call, kept.time.copy(), np.arange(len(kept), dtype="i8")), value, tuple(text)

    def _counters(self) -> tuple[Counters, RegionCounters, tuple[str, ...]]:
        """Return the values of counters around calls and regions, and their names, without what Extrae says of them in brackets."""
        counted, around = self.recording.counted, self.recording.around
        order = _by_call(self._new[counted.call])
        table = Counters(self._new[counted.call][order], *(counted[name][order] for name in _VALUES))
        around = around[around.counter >= 0]
        region = self.regions.new[around.call]
        order = np.lexsort((around.counter, region))
        inside = RegionCounters(region[order], *(around[name][order] for name in _VALUES))
        labels = self.recording.labels.types
        told = sorted((number, kind) for kind, (what, number) in self.recording.kinds.items() if what == paraver.COUNTER)
        return table, inside, tuple(labels.get(kind, str(kind)).split(" [")[0].strip() or str(kind) for _, kind in told)

    def _counts(self) -> Counts:
        lines, rows = self.recording.lines[0], self.recording.rows[0]
        op, sent = self.column["op"], self.records - self.tied
        kind = operations.KIND[op]
        talks = np.isin(kind, (operations.SEND, operations.ISEND, operations.SENDRECV, operations.RECV)) & (self.column["peer"] < 0)
        talks[self.messages.receive] = False
        return Counts(
            records=int(lines.states + lines.events + lines.messages),
            states=len(op) + len(self.recording.regions),
            sends=sent,
            receives=sent,
            unmatched_sends=sent - len(self.messages),
            unmatched_receives=sent - len(self.messages),
            internal_calls=int(rows.inner),
            to_nobody=int(np.count_nonzero(talks)),
            incomplete_collectives=self.instances.incomplete,
            unmatched_collectives=self.instances.unmatched,
            rootless_collectives=self.instances.rootless,
            inferred_roots=self.roots.inferred,
            adopted_roots=self.roots.adopted,
            assumed_roots=self.roots.assumed,
            inferred_completions=self.inferred,
            silent_processes=self.locations.silent,
            untied_waits=self.threads.untied,
            untied_launches=self.untied_launches,
        )

    def _assemble(self) -> Trace:
        records, values, texts = self._kept()
        counters, region_counters, counter_names = self._counters()
        site, site_names = sites(self._made, self.recording.labels)
        regions = self.regions
        return Trace(
            path=self.path,
            format="Paraver",
            locations=self.locations.table,
            communicators=self.locations.communicators,
            names=regions.names,
            parallel=np.zeros(len(regions.names), bool),
            paths=regions.paths,
            calls=self._call_table(),
            requests=self.requests,
            regions=regions.table,
            messages=self.messages,
            collectives=self.instances.collectives,
            members=self.instances.members,
            links=self.links,
            timeline=Timeline(Times(self.column["enter"], self.column["leave"]), regions.times, self.instants, MEASURED),
            labels=Labels.empty(),
            texts=texts,
            nodes=self.locations.nodes,
            offsets=Offsets.empty(),
            defects=self.recording.defects.table(),
            counts=self._counts(),
            properties={},
            wildcards_told=False,
            sources=regions.sources,
            counters=counters,
            region_counters=region_counters,
            counter_names=counter_names,
            records=records,
            values=values,
            site=site,
            sites=site_names,
        )


def _by_call(call: I4) -> I8:
    """Return the order by calls of rows in which those of one call stand together, in an order to keep.

    call  2 2 0 0 0   out  2 3 4 0 1
    """
    begin = np.flatnonzero(np.diff(call, prepend=-1))
    size = np.diff(np.append(begin, len(call)))
    order = np.argsort(call[begin])
    begin, size = begin[order], size[order]
    return np.repeat(begin - np.cumsum(size) + size, size) + np.arange(len(call))
