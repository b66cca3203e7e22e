"""An archive read by several processes, each its locations alone; messages and collectives are matched by telling each other."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.otf2 import read as reading
from perwiz.formats.otf2 import repair
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.files import definitions_of
from perwiz.formats.otf2.locations import arranged
from perwiz.formats.otf2.read import Recorded, Recording
from perwiz.formats.otf2.tables import Builder, Side
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I8, U1
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.roots import Roots
from perwiz.trace.spread.apart import Dealt, dealt, seen
from perwiz.trace.spread.assembled import AskedWholeError, assembled, totals
from perwiz.trace.spread.matched import Places, matched_collectives, matched_messages
from perwiz.trace.spread.team import Team, agreed, gathered, texts
from perwiz.trace.tables import NONE, PROCESS, Messages
from perwiz.trace.trace import Counts, Sampled, Trace, of_readers


def read(path: str, team: Team, progress: Callable[[int, int], None] | None = None) -> Trace | None:
    """Return the part of an archive that this process of a team has, having read its locations alone.

    None, on all, for one that is to be read whole: with one-sided communication, of whose collectives times are to tell the root, or in
    which perwiz ties calls of several processes by what OTF2 does not hold. Raises TraceError and LibraryError as
    `perwiz.formats.otf2.read.record`.
    """
    share = _Share(team, path)
    recording = agreed(team, lambda: reading.record(path, progress, kept=share.kept, others=team.size - 1))
    team = share.team
    told = [np.array(column, kind) for column, kind in zip(zip(*recording.offsets, strict=True), ("i8", "i8", "i8", "f8"), strict=False)]
    columns = [np.concatenate(gathered(team, column)) for column in told or [np.zeros(0, kind) for kind in ("i8", "i8", "i8", "f8")]]
    offsets = [*zip(*(column.tolist() for column in columns), strict=True)]
    try:
        return _Builder(dataclasses.replace(recording, offsets=offsets, told=share.told), path, share).part()
    except AskedWholeError:
        if not share.directories.apart:
            return None
    what = "one-sided communication, and calls that perwiz alone ties, are matched where all event files are seen"
    raise TraceError(f"{path}: {what}; must be asked of one process (without mpiexec)")


class _Share:
    """Which locations are read here: on all processes the same, but for what only some see."""

    def __init__(self, team: Team, path: str) -> None:
        """Raises TraceError, on all, if processes see some of the same event files, and not the same."""
        anchor = agreed(team, lambda: reading.checked(path))
        own = reading.event_files(anchor)
        with open(definitions_of(anchor), "rb") as file:
            self.directories = seen(team, path, file.read(), json.dumps(sorted(own.items())).encode())
        self._holder: dict[str, int] = {}
        """The first process that sees an event file, by its name; those that all see are not listed."""
        self._sizes = own
        if self.directories.apart:
            leads = self.directories.leader[team.rank] == team.rank
            every = [json.loads(text) for text in texts(team, json.dumps(own if leads else {}))]
            self.directories.check([[*each] for each in every])
            self._holder = {name: leader for leader, each in enumerate(every) for name in each}
            self._sizes = {name: size for each in every for name, size in each.items()}
        self._started = team
        self.dealt = Dealt(team, np.zeros(team.size + 1, "i8"))

    @property
    def team(self) -> Team:
        """The processes in the order of their locations, once these are known."""
        return self.dealt.team

    @property
    def own(self) -> slice:
        """The locations that are read here."""
        return slice(*self.dealt.bounds[self.team.rank : self.team.rank + 2].tolist())

    def kept(self, definitions: Definitions) -> Container[int]:
        """Return the locations to read: some in a row, by bytes of their event files; those of metrics alone the first process reads that
        sees them.
        """
        rows = arranged(definitions)
        process = np.array([rank for _, rank in rows], "i4")
        weight = np.array([self._sizes.get(f"{ref}.evt", 0) + 1 for ref, _ in rows], "i8")
        self.dealt = dealt(self._started, self.directories, process, weight, self._holders([ref for ref, _ in rows]))
        own = {ref for ref, _ in rows[self.own]}
        others = {location.ref for location in definitions.locations} - {ref for ref, _ in rows}
        return own | {ref for ref in others if self._holder.get(f"{ref}.evt", 0) == self._started.rank}

    def _holders(self, refs: list[int]) -> I8:
        """Return the first process that sees each location: of one without an event file, that of the location before it."""
        known = np.array([self._holder.get(f"{ref}.evt", NONE if self._holder else 0) for ref in refs], "i8")
        last = np.maximum.accumulate(np.where(known >= 0, np.arange(len(known)), NONE))
        first = known[known >= 0][:1]
        return np.where(last >= 0, known[last], first[0] if len(first) else 0)

    def told(self, state: Any, rows: list[Recorded]) -> Any:
        """Return the state of all locations."""
        return np.concatenate(gathered(self.team, np.ascontiguousarray(state[self.own])))


class _Builder(Builder):
    """Builds the part of a trace that a process has."""

    def __init__(self, recording: Recording, path: str, share: _Share) -> None:
        self.team, self._bounds = share.team, share.dealt.bounds
        super().__init__(recording, path)
        if not self.locations.state["records"].any():
            raise TraceError(f"{path}: no event record, must have at least one")
        first = np.append(0, np.cumsum(self.locations.state["calls"])).astype("i8")
        self.places = Places(share.team, self.locations.process, share.dealt.bounds, first)
        self._team = share.team

    def part(self) -> Trace:
        """Return it. Raises AskedWholeError, on all."""
        own = self.trace()
        self._whole_if(self.extras.bad > 0)
        loose = self._team.reduce(np.array([own.counts.loose_counters], "i8"), "sum")
        told = texts(self._team, json.dumps([dataclasses.astuple(one) for one in own.sampled]))
        sampled = of_readers(Sampled(*fields) for each in told for fields in json.loads(each))
        own = dataclasses.replace(own, counts=dataclasses.replace(own.counts, loose_counters=int(loose[0])), sampled=sampled)
        return assembled(self.places, own, self._tied, self._found)

    def _whole_if(self, asked: bool) -> None:
        if self._team.reduce(np.array([asked], "i8"), "max")[0]:
            raise AskedWholeError

    def _calls(self) -> None:
        super()._calls()
        self._whole_if(bool(operations.ON_WINDOWS[self.column["op"]].any()))

    def _take_extras(self) -> None:
        self.extras.take(self.other_records, self.places.begin)
        self._whole_if(self.extras.ties_processes())

    def _match(self, sends: Side, receives: Side, mode: U1) -> None:
        """Find the messages with an end here."""

        if written := self.extras.written:
            self._extras(sends.ends, receives.ends, mode)

        def tell(there: matching.Ends, here: matching.Ends) -> None:
            if written:
                return
            self.repaired = repair.communicators(there, here)
            more, self.resized = repair.sizes(there, here)
            np.add.at(self.column["received"], here.done, more)

        enter = self.column["enter"]
        self._tied, self.contradicting = matched_messages(
            self.places, sends.ends, receives.ends, mode, enter, tell, equal=not written, several=self._several()
        )
        self.messages = Messages.empty()
        self.matched = int(self.places.has(self._tied.calls["receive_done"]).sum())

    def _collectives(self) -> None:
        calls = self._call_table()
        done = matching.completions(calls.op, self.requests)
        self.sequence = np.broadcast_to(np.int64(NONE), len(done))
        found = matched_collectives(self.places, calls, done, self.comms.table(), self.column["enter"])
        self._whole_if(found.rootless > 0 and not self.extras.written)
        self._found = found
        instances = CollectiveInstances(found.collectives, found.members, found.unmatched, found.incomplete, found.rootless)
        self.instances = instances
        self.roots = Roots(instances)

    def _counts(self, other_records: Any, kept: int) -> Counts:
        own = super()._counts(other_records, kept)
        heard, process = self.locations.state["records"] > 0, self.locations.process
        silent = len(np.setdiff1d(process[self.locations.kind == PROCESS], process[heard]))
        moved = int(self._team.reduce(np.array([own.placed_ns], "i8"), "max")[0])
        return totals(self._team, own, self._found, {"silent_processes": silent, "placed_ns": moved})
