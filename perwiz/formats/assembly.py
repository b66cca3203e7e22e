"""A trace put together from the calls of all locations and what they do to messages: once, for formats of a file per process."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np

from perwiz.formats.traffic import Rows, Share, Traffic, Untold
from perwiz.kernels import records
from perwiz.kernels.recorded import TRAFFIC
from perwiz.trace import defects, matching, matching_collectives, operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.resources import map_threads, thread_count
from perwiz.trace.tables import Calls, Labels, Links, Locations, Offsets, Paths, Regions, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Topology, Trace
from perwiz.words import several

LEFT_OUT = "not kept"
"""Key of Trace.properties."""
_MOST_FAULTS = 20
"""Files that are named."""


def few(path: str, faults: list[str]) -> list[str]:
    """Return the first faults of files, and how many more there are of the trace at `path`."""
    more = len(faults) - _MOST_FAULTS
    return [*faults[:_MOST_FAULTS], *([f"{path}: {several(more, 'more file')} likewise"] if more > 0 else [])]


def tied(actions: list[Rows], posts: list[int], rank: I4, enter: I8, threaded: bool) -> tuple[Traffic, Untold]:
    """Return requests and matched messages by what the calls of each process do, and what was told of receives that no record tells.

    `actions` are used up. A process posted requests numbered from 0 to `posts`; `rank` is its own, `enter` when each call was entered.
    """
    counts = np.zeros(len(actions), TRAFFIC).view(np.recarray)
    processes, several_threads = range(len(actions)), thread_count(sum(map(len, actions)))

    def count(k: int) -> None:
        bits = actions[k]["bits"]
        for name, what in (("sends", records.SENDS), ("receives", records.RECEIVES), ("requests", records.POSTS)):
            counts[name][k] = np.count_nonzero(bits & (what | records.DONE) == what)
        counts["tests"][k] = np.count_nonzero(bits & records.UNSUCCESSFUL_TEST)

    map_threads(count, processes, several_threads)
    counts["last_request"] = posts
    traffic, untold = Traffic(counts), Untold(enter)

    def fill(k: int) -> Share:
        share = traffic.share(k)
        share.add(actions[k].view(np.recarray))
        share.end()
        actions[k] = actions[k][:0].copy()
        return share

    traffic.finish(map_threads(fill, processes, several_threads), rank, enter if threaded else None, untold.tell)
    return traffic, untold


def placed(hosts: list[str]) -> tuple[I4, tuple[str, ...]]:
    """Return the node of each process by the name of its host, -1 for one without, and the names of the nodes."""
    nodes = {host: number for number, host in enumerate(dict.fromkeys(host for host in hosts if host))}
    return np.array([nodes.get(host, -1) for host in hosts], "i4"), tuple(nodes)


def properties(recorder: str, start: int, said: list[str], assumed: int) -> dict[str, str]:
    """Return what wrote the trace and when it begins, ns since 1970, and what was not kept; of so many messages the sender was assumed."""
    if assumed:
        said = [*said, f"who sent {several(assumed, 'message')}: taken as sent"]
    started = datetime.datetime.fromtimestamp(start / 1e9, datetime.UTC).isoformat()
    return {"recorder": recorder, "started": started} | ({LEFT_OUT: "; ".join(said)} if said else {})


@dataclasses.dataclass
class Assembly:
    """What a format knows of a run, its messages tied."""

    path: str
    format: str
    calls: Calls
    times: Times
    """Of the calls."""
    first: I8
    """First call of each location, and the end of the last."""
    locations: Locations
    nodes: tuple[str, ...]
    communicators: Communicators
    sequence: I8
    """Number of every collective call on its communicator, -1 to have it counted."""
    traffic: Traffic
    defects: defects.DefectList
    faults: list[str]
    properties: dict[str, str]
    records: int
    to_nobody: int
    """Messages of MPI_PROC_NULL."""
    silent: int
    """Processes that have no file."""
    links: Links = dataclasses.field(default_factory=Links.empty)
    labels: Labels = dataclasses.field(default_factory=Labels.empty)
    texts: tuple[str, ...] = ()
    topologies: tuple[Topology, ...] = ()

    def trace(self) -> Trace:
        """Return the trace, its collectives matched."""
        calls, traffic = self.calls, self.traffic
        done = matching.completions(calls.op, traffic.requests)
        process, quiet = self.locations.process.astype("i8"), np.zeros(len(calls), "u1")
        found = matching_collectives.collectives(calls, done, process, self.sequence, quiet, self.communicators, self.times.enter)
        return Trace(
            path=self.path,
            format=self.format,
            locations=self.locations,
            communicators=self.communicators,
            names=(),
            parallel=np.zeros(0, bool),
            paths=Paths.empty(),
            calls=calls,
            requests=traffic.requests,
            regions=Regions.empty(),
            messages=traffic.messages,
            collectives=found.collectives,
            members=found.members,
            links=self.links,
            timeline=Timeline(self.times, Times.empty(), self._instants()),
            labels=self.labels,
            texts=self.texts,
            nodes=self.nodes,
            offsets=Offsets.empty(),
            defects=self.defects.table(),
            counts=self._counts(found),
            properties=self.properties,
            faults=tuple(self.faults),
            topologies=self.topologies,
            unfinished=traffic.unfinished,
        )

    def _instants(self) -> Times:
        """Return when each location has its first and its last call."""
        begin, end = np.zeros((2, len(self.locations)), "i8")
        full = np.flatnonzero(np.diff(self.first))
        begin[full], end[full] = self.times.enter[self.first[full]], self.times.leave[self.first[full + 1] - 1]
        return Times(begin, end)

    def _counts(self, found: matching_collectives.CollectiveInstances) -> Counts:
        traffic, calls = self.traffic, self.calls
        alone = int((operations.COLLECTIVE[calls.op] & (calls.comm < 0)).sum())
        return Counts(
            records=self.records,
            states=len(calls),
            sends=traffic.sends,
            receives=traffic.receives,
            to_nobody=self.to_nobody,
            unmatched_sends=traffic.sends - len(traffic.messages),
            unmatched_receives=traffic.receives - len(traffic.messages),
            size_differs=traffic.size_differs,
            incomplete_collectives=found.incomplete,
            unmatched_collectives=found.unmatched - alone,
            rootless_collectives=found.rootless,
            silent_processes=self.silent,
        )
