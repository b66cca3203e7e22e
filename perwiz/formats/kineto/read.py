"""The traces of a job as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.kineto import clocks, order
from perwiz.formats.kineto.book import Book
from perwiz.formats.kineto.comms import Ends, Kernels
from perwiz.formats.kineto.device import Device
from perwiz.formats.kineto.groups import Groups
from perwiz.formats.kineto.job import Job
from perwiz.formats.kineto.rank import Rank
from perwiz.formats.kineto.regions import Names, instances
from perwiz.formats.kineto.threads.workers import Workers
from perwiz.formats.otf2.hybrid.threads import endings
from perwiz.trace import defects, matching, matching_collectives, operations, roots, streams, tables
from perwiz.trace.arrays import I4, I8
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.numbers import distinct_pairs, paths, running
from perwiz.trace.tables import NONE, Calls, Labels, Links, Locations, Offsets, Paths, Regions, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace
from perwiz.words import duration, several

_IDLES = [operations.OP[name] for name in ("device_idle", "thread_idle")]
_INFERRED = "inferred"
"""Key of Trace.properties."""


def read(path: str, progress: Callable[[int, int], None] | None = None) -> Trace:
    """Return the trace of the ranks that a name stands for."""
    return _Builder(path, Job(path, progress)).trace()


class _Part:
    """What is made of one rank, which then lets go of its events: calls in order, links between them, regions."""

    def __init__(self, rank: Rank, groups: Groups, known: Names, locations: int, calls: int, start: int) -> None:
        self.rank, self.first = rank, locations
        book = Book()
        device = Device(rank, book)
        workers = Workers(rank, book, groups)
        kernels = Kernels(rank, device, book, groups)
        self.calls, row = book.closed()
        row = np.append(row + calls, NONE)
        self.calls["location"] += np.int32(locations)
        self._tie(device, workers, row)
        self._ends(row, workers, kernels)
        self._regions(device, workers.hidden, known, calls, start)
        for name in ("enter", "leave"):
            self.calls[name] -= start
        self.count, self.unnumbered = len(self.calls["op"]), _unnumbered(self.calls)
        self.begin, self.end, self.end_of_first = (time - start for time in (rank.start(), rank.end(), rank.end_of_first()))
        self.events = len(rank.enter)
        rank.let_go()

    def _tie(self, device: Device, workers: Workers, row: I8) -> None:
        parts = [np.empty((3, 0), "i8")]
        for kind, cause, effect in workers.links:
            parts.append(np.stack([np.full(len(cause), kind), row[cause], row[effect]]))
        activities = device.activities(row, self.first, self.rank.rank)
        found, self.untied_launches = streams.link(device.routines(row, self.first, self.rank.rank), activities)
        parts.append(np.stack([found.kind, found.cause, found.effect]).astype("i8"))
        earlier, later = order.events(device)
        ran = device.ran
        parts.append(np.stack([np.full(len(earlier), tables.EVENT), row[ran.behind[earlier]], row[ran.before[later]]]))
        self.links = np.unique(np.concatenate(parts, axis=1), axis=1)
        self.untied_waits = workers.untied

    def _ends(self, row: I8, workers: Workers, kernels: Kernels) -> None:
        self.sends, self.receives = (
            _joined([getattr(workers, side), getattr(kernels, side)], row, self.rank.rank) for side in ("sends", "receives")
        )

    def _regions(self, device: Device, hidden: I8, known: Names, calls: int, start: int) -> None:
        found = instances(self.rank, device, hidden, known)
        location = found.location + np.int32(self.first)
        enter, leave = found.enter.copy(), found.leave.copy()
        first, end = (np.empty(len(enter), "i4") for _ in range(2))
        mine, call_enter, call_leave = (self.calls[name] for name in ("location", "enter", "leave"))
        for one in np.unique(location).tolist():
            begin, stop = np.searchsorted(mine, (one, one + 1))
            rows = slice(*np.searchsorted(location, (one, one + 1)))
            for time, out in ((enter, first), (leave, end)):
                place = begin + np.searchsorted(call_enter[begin:stop], time[rows], "left")
                before = np.where(place > begin, call_leave[np.maximum(place - 1, 0)] if stop > begin else 0, time[rows])
                time[rows] = np.maximum(time[rows], before)
                out[rows] = place
        self.regions = [location, found.name, found.parent, first + calls, end + calls, enter - start, leave - start]


def _joined(ends: list[Ends], row: I8, rank: int) -> matching.Ends:
    """Return ends of messages as they are matched."""
    handle, peer, group, size, waits = (np.concatenate([getattr(one, name) for one in ends]) for name in _OF_ENDS)
    call = row[handle].astype("i4")
    by_call = np.argsort(call, kind="stable")
    call, peer, group, size, waits = call[by_call], peer[by_call], group[by_call], size[by_call], waits[by_call]
    zero = np.zeros(len(call), "i4")
    return matching.Ends(
        call=call, done=np.where(waits, call, NONE), rank=zero + np.int32(rank), peer=peer, tag=zero, comm=group, bytes=size
    )


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, path: str, job: Job) -> None:
        self.path, self.job = path, job
        self.groups, names = Groups(job.ranks), Names()
        self.start, self.by = job.start(), "their order"
        self.parts: list[_Part] = []
        locations = calls = 0
        for rank in job.ranks:
            self.parts.append(_Part(rank, self.groups, names, locations, calls, self.start))
            locations, calls = locations + rank.locations, calls + self.parts[-1].count
        self.names = names.all()

    def trace(self) -> Trace:
        """Return the trace."""
        comms = self.groups.communicators()
        locations, nodes = self._locations()
        regions, times_of_regions, above = self._regions()
        column = {name: np.concatenate([part.calls.pop(name) for part in self.parts]) for name in list(self.parts[0].calls)}
        calls = self._calls(column, regions)
        links = self._links(column, locations.process)
        times = Times(column["enter"], column["leave"])
        messages, differs = self._messages()
        instances, moved, said = self._collectives(calls, column["sequence"], locations, nodes, times, messages, comms)
        self.job.faults = [*self._strangers(calls, instances, messages), *said, *self.job.faults]
        return Trace(
            path=self.path,
            format="PyTorch profiler",
            locations=locations,
            communicators=comms,
            names=self.names,
            parallel=np.zeros(len(self.names), bool),
            paths=above,
            calls=calls,
            requests=tables.Requests.empty(),
            regions=regions,
            messages=messages,
            collectives=instances.collectives,
            members=instances.members,
            links=links,
            timeline=Timeline(times, times_of_regions, self.instants),
            labels=Labels.empty(),
            texts=(),
            nodes=nodes,
            offsets=moved,
            offsets_applied=not len(moved.location),
            defects=self._defects(),
            counts=self._counts(calls, messages.receive, differs, column["sequence"]),
            properties=self._properties(column["sequence"], calls),
            faults=tuple(self.job.faults),
            clocks_compared=len(nodes) < 2 or len(moved.location) > 0,
        )

    def _collectives(
        self,
        calls: Calls,
        sequence: I8,
        locations: Locations,
        nodes: tuple[str, ...],
        times: Times,
        messages: tables.Messages,
        comms: Communicators,
    ) -> tuple[CollectiveInstances, Offsets, list[str]]:
        """Return what belongs together, by how much clocks are to be moved for it, and in words what is wrong with either."""
        done, quiet = matching.completions(calls.op, tables.Requests.empty()), np.zeros(len(calls), "u1")

        def tied(sequence: I8) -> CollectiveInstances:
            found = matching_collectives.collectives(calls, done, locations.process.astype("i8"), sequence, quiet, comms, times.enter)
            self.roots = roots.inferred(found, calls, times, locations.process, messages, comms) if found.rootless else roots.Roots(found)
            return self.roots.instances

        met = tied(sequence)
        moved, said = clocks.offsets(nodes, locations.node, calls, met.collectives, met.members, times)
        apart = clocks.alone(locations.process, calls, met.collectives, met.members, times, moved)
        by_ends = clocks.by_ends(locations.process, calls, times, sequence) if apart and not said else None
        if by_ends is None:
            return met, moved, [*self._alone(apart), *([said] if said else [])]
        self.by, met, many = "when they end", tied(by_ends), int((by_ends >= 0).sum())
        joined = int((np.bincount(met.members.collective)[met.members.collective] > 1).sum())
        why = "collectives are not the same in their order, some are not recorded"
        return met, moved, [f"{self.path}: {why}: put together by when they end, {joined} of {many} with others"]

    def _locations(self) -> tuple[Locations, tuple[str, ...]]:
        nodes, node = self.job.nodes()
        count = np.array([rank.locations for rank in self.job.ranks])
        place = np.concatenate([np.arange(one) for one in count])
        hosts = np.repeat([rank.hosts for rank in self.job.ranks], count)
        kind = np.where(place == 0, tables.PROCESS, np.where(place < hosts, tables.THREAD, tables.STREAM)).astype("u1")
        thread = np.concatenate([rank.numbers for rank in self.job.ranks])
        process = np.repeat(np.array([rank.rank for rank in self.job.ranks], "i4"), count)
        none = np.full(len(thread), NONE, "i4")
        return Locations(np.zeros(len(thread), "i4"), np.repeat(node, count), process, thread, none, kind), nodes

    def _regions(self) -> tuple[Regions, Times, Paths]:
        count = np.cumsum([0, *(len(part.regions[0]) for part in self.parts)])
        location, name, parent, first, end, enter, leave = (np.concatenate([part.regions.pop(0) for part in self.parts]) for _ in range(7))
        parent = np.where(parent >= 0, parent + np.repeat(count[:-1], np.diff(count)), NONE).astype("i4")
        path, *above = paths(parent, name.astype("i4"))
        instance = running(location, name) + np.int32(1)
        table = Regions(location.astype("i4"), path, parent, instance, first, end)
        return table, Times(enter, leave), Paths(*above)

    def _calls(self, column: dict[str, NDArray[Any]], regions: Regions) -> Calls:
        group = np.where(operations.TALKS[column["op"]], column["group"], NONE)
        tag = np.where(column["peer"] >= 0, 0, NONE)
        none = np.full(len(group), NONE, "i4")
        return Calls(
            location=column["location"].astype("i4"),
            op=column["op"].astype("u2"),
            path=_path_of_calls(column["location"], regions),
            peer=column["peer"].astype("i4"),
            tag=tag.astype("i4"),
            comm=group.astype("i4"),
            root=none,
            bytes_sent=column["sent"],
            bytes_received=column["received"],
        )

    def _messages(self) -> tuple[tables.Messages, int]:
        sides = ([getattr(part, name) for part in self.parts] for name in ("sends", "receives"))
        sends, receives = (matching.Ends(*(np.concatenate([getattr(one, name) for one in side]) for name in _ENDS)) for side in sides)
        self.ends = len(sends.call), len(receives.call)
        mode = np.full(len(sends.call), 3, "u1")
        return matching.messages(sends, receives, mode)

    def _links(self, column: dict[str, NDArray[Any]], process: I4) -> Links:
        kind, cause, effect = np.concatenate([part.links for part in self.parts], axis=1)
        tied = Links.in_order(kind.astype("u1"), cause.astype("i4"), effect.astype("i4"))
        ends = endings(column["location"], column["op"], column["enter"], column["leave"], process, tied)
        self._end_idleness(column, ends)
        return Links.joined(tied, ends)

    def _end_idleness(self, column: dict[str, NDArray[Any]], ends: Links) -> None:
        """Let threads and streams with nothing more to do be there until their first thread comes to its last call, or else no longer."""
        count = [rank.locations for rank in self.job.ranks]
        begin, end = (np.repeat([getattr(part, name) for part in self.parts], count) for name in ("begin", "end"))
        last = np.flatnonzero(np.diff(column["location"], append=-1))
        idle = last[np.isin(column["op"][last], _IDLES)]
        until = column["enter"].copy()
        until[ends.effect] = np.maximum(until[ends.effect], column["enter"][ends.cause])
        column["leave"][idle] = end[column["location"][idle]] = until[idle]
        threads = np.cumsum([0, *count[:-1]])
        end[threads] = [part.end_of_first for part in self.parts]
        np.maximum.at(end, column["location"][last], column["leave"][last])
        self.instants = Times(begin, end)

    def _strangers(self, calls: Calls, instances: CollectiveInstances, messages: tables.Messages) -> list[str]:
        """Return in words which ranks do with others in a group what none of those does there: they may be of another job."""
        rank = np.repeat([rank.rank for rank in self.job.ranks], [part.count for part in self.parts])
        several = np.bincount(instances.members.collective)[instances.members.collective] > 1
        met = np.unique(rank[np.concatenate([instances.members.call[several], messages.send, messages.receive])])
        talks = np.flatnonzero(operations.DIST[calls.op] & operations.TALKS[calls.op])
        pairs, _ = distinct_pairs(calls.comm[talks], rank[talks])
        shared = np.isin(pairs[:, 0], pairs[np.isin(pairs[:, 1], met), 0])
        lone = np.setdiff1d(pairs[shared, 1], met).tolist()
        why = "nothing that it does with other ranks is done by them: must be of one job"
        return [f"{rank.path}: {why}" for rank in self.job.ranks if rank.rank in lone]

    def _alone(self, found: list[clocks.Alone]) -> list[str]:
        """Return in words which ranks others do not meet."""
        path = {rank.rank: rank.path for rank in self.job.ranks}
        what = "leaves before others come, or comes when they have left, by up to"
        return [
            f"{path[one.rank]}: in {one.often} of {several(one.of, 'collective')} it {what} {duration(one.most)}: must be of one job"
            for one in found
        ]

    def _defects(self) -> tables.Defects:
        out = defects.DefectList()
        for part in self.parts:
            recorded = part.rank.recorded
            out.add(np.full(recorded.bad, NONE), defects.UNREADABLE_RECORD, part.first)
            if recorded.fault:
                out.add(NONE, defects.UNREADABLE, part.first)
        return out.table()

    def _counts(self, calls: Calls, received: I4, differs: int, sequence: I8) -> Counts:
        instances, recorded = self.roots.instances, [rank.recorded for rank in self.job.ranks]
        return Counts(
            records=sum(one.records for one in recorded),
            states=sum(part.events for part in self.parts),
            single_events=sum(one.left_out for one in recorded),
            sends=self.ends[0],
            receives=self.ends[1],
            unmatched_sends=self.ends[0] - len(received),
            unmatched_receives=self.ends[1] - len(received),
            size_differs=differs,
            incomplete_collectives=instances.incomplete,
            unmatched_collectives=instances.unmatched,
            rootless_collectives=instances.rootless,
            inferred_roots=self.roots.inferred,
            adopted_roots=self.roots.adopted,
            assumed_roots=self.roots.assumed,
            silent_processes=self.groups.world - len(self.job.ranks),
            untied_waits=sum(part.untied_waits for part in self.parts),
            untied_launches=sum(part.untied_launches for part in self.parts),
        )

    def _properties(self, sequence: I8, calls: Calls) -> dict[str, str]:
        said = []
        collective = operations.COLLECTIVE[calls.op] & operations.OF_PROCESSES[calls.op]
        if by_order := int((collective & (sequence < 0)).sum()):
            said.append(f"which {several(by_order, 'part')} of collectives belong together: by {self.by}, as no numbers are recorded")
            cut = [str(part.rank.rank) for part in self.parts if not part.rank.whole and part.unnumbered]
            if cut:
                said.append(f"those of rank {', '.join(cut)}, cut off, likewise: what is missing in front of others shifts them")
        if self.groups.unnamed:
            said.append(f"the process group of {several(self.groups.unnamed, 'operation')}: taken to be all ranks")
        return {_INFERRED: "; ".join(said)} if said else {}


def _unnumbered(calls: dict[str, NDArray[Any]]) -> bool:
    """Return whether a rank does something together with others that has no number."""
    op = calls["op"]
    return bool((operations.COLLECTIVE[op] & operations.OF_PROCESSES[op] & (calls["sequence"] < 0)).any())


_OF_ENDS = ("handle", "peer", "group", "bytes", "waits")
_ENDS = ("call", "done", "rank", "peer", "tag", "comm", "bytes")


def _path_of_calls(location: I4, regions: Regions) -> I4:
    """Return the path of the innermost region around each call, -1 for none."""
    count = len(location)
    out = np.full(count, NONE, "i4")
    length = regions.end_call - regions.first_call
    rows = np.flatnonzero(length > 0)
    # Regions are in order of entry, inner ones behind outer ones: the last that is written stays.
    for begin in range(0, len(rows), 1 << 16):
        some = rows[begin : begin + (1 << 16)]
        many = length[some].astype("i8")
        call = np.repeat(regions.first_call[some] - (np.cumsum(many) - many), many) + np.arange(many.sum())
        out[call] = np.repeat(regions.path[some], many)
    return out
