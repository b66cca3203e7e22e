"""From a recording of ALOG to the tables of a trace: rows in program order, attributes put in their columns, partners matched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.alog.headers import CLOCKS_UNCOMPARED, COUNTS, ORIGIN, WILDCARDS_UNTOLD
from perwiz.formats.alog.locations import RecordedLocations
from perwiz.formats.alog.machine import Recording
from perwiz.formats.alog.messages import Records, in_order
from perwiz.formats.alog.regions import RegionInstances
from perwiz.kernels import alog
from perwiz.trace import matching, matching_collectives, operations, roots
from perwiz.trace.arrays import I8
from perwiz.trace.defects import BAD_ATTRIBUTE
from perwiz.trace.origin import Origin, from_json, from_words
from perwiz.trace.tables import LINKS, NONE, Calls, Labels, Links, Requests, Times
from perwiz.trace.trace import Counts, Timeline, Trace


class Builder:
    """Builds the trace step by step; each step uses what the ones before it made."""

    def __init__(self, recording: Recording, path: str) -> None:
        self.recording, self.path = recording, path
        self.locations = RecordedLocations(recording.locations, recording.places, recording.headers)

    def trace(self) -> Trace:
        """Return the trace."""
        self._calls()
        self.regions = RegionInstances(self.recording, self.locations, self.first, self.column["leave"])
        self.column["path"] = self.regions.path_of[self.column.pop("region")]
        self._attributes()
        self._requests()
        self._messages()
        self._collectives()
        self._links()
        return self._assemble()

    def _calls(self) -> None:
        take = self.recording.calls.take
        location = self.locations.row[take("location")]
        order = in_order(location, len(self.locations))
        sizes = np.bincount(location, minlength=len(self.locations))
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        self.column: dict[str, NDArray[Any]] = {"location": np.repeat(np.arange(len(sizes), dtype="i4"), sizes)}
        for name in alog.CALL.names or ():
            if name != "location":
                self.column[name] = take(name)[order]
        for name in ("enter", "leave"):
            self.column[name] -= self.locations.start

    def _notes(self, owner: int, key: str) -> tuple[I8, NDArray[np.signedinteger]]:
        return self.recording.notes.take(owner, key, self.first, self.locations.row)

    def _attributes(self) -> None:
        column, count = self.column, len(self.column["op"])
        column["comm"] = np.where(operations.TALKS[column["op"]], np.int32(0), np.int32(NONE))
        column["root"], column["mode"] = np.full(count, NONE, "i4"), operations.MODE[column["op"]]
        for key, name in (("p", "peer"), ("t", "tag"), ("r", "root"), ("sb", "sent"), ("rb", "received"), ("k", "mode")):
            rows, values = self._notes(alog.CALL_BEGIN, key)
            column[name][rows] = values
        rows, values = self._notes(alog.CALL_BEGIN, "c")
        column["comm"][rows] = np.maximum(values, NONE)
        self.comms = self.recording.groups.table(self.locations.process)
        self._foreign_roots()

    def _foreign_roots(self) -> None:
        """A root in a world that the header does not list must be a process that occurs."""
        root = self.column["root"]
        calls = np.flatnonzero((root >= 0) & (self.column["comm"] == 0))
        calls = calls[~np.isin(root[calls], self.comms.members(0))]
        root[calls] = NONE
        self.recording.defects.add(np.full(len(calls), -1), BAD_ATTRIBUTE)

    def _requests(self) -> None:
        posted, posted_id = self._notes(alog.CALL_BEGIN, "q")
        completed, completed_id = self._notes(alog.CALL_END, "q")
        location = self.column["location"]
        self.requests: Requests = matching.requests(posted, location[posted], posted_id, completed, location[completed], completed_id)
        self.request_id = posted_id[np.argsort(posted, kind="stable")]

    def _messages(self) -> None:
        records = Records(self.recording.messages, self.recording.notes, self.locations, self.first, self.column.pop("mode"))
        records.place(self.column["op"], Times(self.column["enter"], self.column["leave"]), self.recording.headers.extended)
        self.messages, self.size_differs, self.sends, self.receives = records.matched(
            self._call_table(), self.locations.process, self.requests, self.request_id
        )

    def _collectives(self) -> None:
        get = self.column
        done = matching.completions(get["op"], self.requests)
        sequence = np.full(len(done), NONE)
        rows, values = self._notes(alog.CALL_BEGIN, "s")
        sequence[rows] = values
        instances = matching_collectives.collectives(
            self._call_table(), done, self.locations.process, sequence, get["internal"], self.comms, get["enter"]
        )
        self.roots = roots.Roots(instances)
        if not self.recording.headers.extended:
            times, process = Times(get["enter"], get["leave"]), self.locations.process.astype("i4")
            self.roots = roots.inferred(instances, self._call_table(), times, process, self.messages, self.comms)
        teams = np.flatnonzero((sequence >= 0) & (get["comm"] < 0) & operations.COLLECTIVE[get["op"]] & ~operations.OF_PROCESSES[get["op"]])
        self.instances = matching_collectives.with_teams(self.roots.instances, get["op"], teams.astype("i4"), sequence[teams])
        get["root"] = get["root"].copy()
        get["root"][self.instances.members.call] = self.instances.collectives.root[self.instances.members.collective]

    def _links(self) -> None:
        """Tie the calls that name, by l=, what they wait for to the call that has that number; to the last of several."""
        cause, told = self._notes(alog.CALL_BEGIN, "l")
        of_kind = [self._notes(alog.LINK + kind, "l") for kind in range(len(LINKS))]
        kind = np.repeat(np.arange(len(LINKS), dtype="u1"), [len(rows) for rows, _ in of_kind])
        effect, wanted = (np.concatenate(column) for column in zip(*of_kind, strict=True))
        order = np.argsort(told, kind="stable")
        place = np.searchsorted(told[order], wanted, "right") - 1
        known = np.flatnonzero(place >= 0)
        known = known[told[order[place[known]]] == wanted[known]]
        self.recording.defects.add(np.full(len(wanted) - len(known), -1), BAD_ATTRIBUTE)
        self.links = Links.in_order(kind[known], cause[order[place[known]]].astype("i4"), effect[known].astype("i4"))

    def _call_table(self) -> Calls:
        names = ("location", "op", "path", "peer", "tag", "comm", "root", "sent", "received")
        return Calls(*(self.column[name] for name in names))

    def _labels(self) -> Labels:
        """Return one label per call that has some: the last."""
        call, text = self._notes(alog.CALL_BEGIN, "o")
        label = np.full(len(self.column["op"]) if len(call) else 0, NONE, "i4")
        label[call] = text
        call = np.flatnonzero(label >= 0)
        return Labels(call.astype("i4"), label[call])

    def _to_nobody(self) -> int:
        """Return how many calls have MPI_PROC_NULL for a partner and no other."""
        alone = (self.column["internal"] & alog.NULL_PARTNER) != 0
        for call in (self.messages.send, self.messages.receive_done):
            alone[call] = False
        return int((alone & (self.column["peer"] < 0)).sum())

    def _counts(self) -> Counts:
        counts = self.recording.counts[0]
        return Counts(
            records=self.recording.records,
            states=int(counts.states),
            single_events=int(counts.singles),
            sends=self.sends,
            receives=self.receives,
            internal_messages=int(counts.internal_messages),
            internal_calls=int(counts.internal_calls),
            to_nobody=self._to_nobody(),
            bare=int(((self.column["internal"] & alog.BARE) != 0).sum()),
            unmatched_sends=self.sends - len(self.messages),
            unmatched_receives=self.receives - len(self.messages),
            size_differs=self.size_differs,
            incomplete_collectives=self.instances.incomplete,
            unmatched_collectives=self.instances.unmatched,
            rootless_collectives=self.instances.rootless,
            inferred_roots=self.roots.inferred,
            adopted_roots=self.roots.adopted,
            assumed_roots=self.roots.assumed,
            silent_processes=max(self.recording.headers.processes - len(np.unique(self.locations.process)), 0),
        )

    def _assemble(self) -> Trace:
        recording, regions = self.recording, self.regions
        properties = recording.headers.properties()
        origin = _origin(properties.pop("made_by", "measured"), properties.pop(ORIGIN, None))
        uncompared, untold = (properties.pop(key, None) for key in (CLOCKS_UNCOMPARED, WILDCARDS_UNTOLD))
        times = Times(self.column["enter"], self.column["leave"])
        locations, nodes = self.locations.table()
        return Trace(
            path=self.path,
            format=recording.format,
            locations=locations,
            communicators=self.comms,
            names=regions.names,
            parallel=regions.parallel,
            paths=regions.paths,
            calls=self._call_table(),
            requests=self.requests,
            regions=regions.table,
            messages=self.messages,
            collectives=self.instances.collectives,
            members=self.instances.members,
            links=self.links,
            timeline=Timeline(times, regions.times, self.locations.instants, origin),
            labels=self._labels(),
            texts=recording.notes.texts,
            nodes=nodes,
            offsets=self.locations.offsets(),
            defects=recording.defects.table(),
            counts=self._counts().with_lacking(_stored(properties.pop(COUNTS, "{}"))),
            properties=properties,
            clocks_compared=not uncompared,
            wildcards_told=recording.headers.extended and not untold,
        )


def _stored(text: str) -> Mapping[str, object]:
    """Return the object that a text of JSON is, an empty one for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _origin(words: str, text: str | None) -> Origin:
    """Return where a timeline comes from; files that say it in words alone are of an older perwiz, or of others."""
    try:
        return from_words(words) if text is None else from_json(text)
    except (ValueError, RecursionError):
        return from_words(words)
