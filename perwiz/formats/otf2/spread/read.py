"""An archive read by several processes, each its locations alone; messages and collectives are matched by telling each other."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.otf2 import read as reading
from perwiz.formats.otf2 import repair
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.locations import arranged
from perwiz.formats.otf2.read import Recorded, Recording
from perwiz.formats.otf2.tables import Builder, Side
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I8, U1
from perwiz.trace.matching_collectives import CollectiveInstances
from perwiz.trace.roots import Roots
from perwiz.trace.spread.assembled import AskedWholeError, assembled, totals
from perwiz.trace.spread.cut import bounds_of
from perwiz.trace.spread.matched import Places, matched_collectives, matched_messages
from perwiz.trace.spread.team import Team, agreed, check_alike, gathered, texts
from perwiz.trace.tables import NONE, PROCESS, Locations, Messages
from perwiz.trace.trace import Counts, Sampled, Trace, of_readers


def read(path: str, team: Team, progress: Callable[[int, int], None] | None = None) -> Trace | None:
    """Return the part of an archive that this process of a team has, having read its locations alone.

    None, on all, for one that is to be read whole: with one-sided communication, of whose collectives times are to tell the root, or in
    which perwiz ties calls of several processes by what OTF2 does not hold. Raises TraceError and LibraryError as
    `perwiz.formats.otf2.read.record`.
    """
    share = _Share(team)
    recording = agreed(team, lambda: reading.record(path, progress, kept=share.kept, others=team.size - 1))
    check_alike(team, path, share.seen)
    told = [np.array(column, kind) for column, kind in zip(zip(*recording.offsets, strict=True), ("i8", "i8", "i8", "f8"), strict=False)]
    columns = [np.concatenate(gathered(team, column)) for column in told or [np.zeros(0, kind) for kind in ("i8", "i8", "i8", "f8")]]
    offsets = [*zip(*(column.tolist() for column in columns), strict=True)]
    try:
        return _Builder(dataclasses.replace(recording, offsets=offsets, told=share.told), path, share).part()
    except AskedWholeError:
        return None


class _Share:
    """Which locations are read here."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.bounds: I8 = np.zeros(team.size + 1, "i8")
        self.seen = 0
        """Tells this archive from others."""

    def kept(self, definitions: Definitions, sizes: Mapping[str, int]) -> Container[int]:
        """Return the locations to read: some in a row, by bytes of their event files; those of metrics alone the first process reads."""
        rows = arranged(definitions)
        process = np.array([rank for _, rank in rows], "i4")
        zero = np.zeros(len(rows), "i4")
        places = Locations(zero, zero, process, zero, zero, zero.astype("u1"))
        weight = np.array([sizes.get(f"{ref}.evt", 0) + 1 for ref, _ in rows], "i8")
        self.bounds = bounds_of(places, weight, self.team.size)
        times = definitions.global_offset, definitions.trace_length, definitions.realtime
        self.seen = zlib.crc32(repr((times, rows, sorted(sizes.items()))).encode())
        own = {ref for ref, _ in rows[self.bounds[self.team.rank] : self.bounds[self.team.rank + 1]]}
        computing = {ref for ref, _ in rows}
        return own if self.team.rank else own | {location.ref for location in definitions.locations} - computing

    def told(self, state: Any, rows: list[Recorded]) -> Any:
        """Return the state of all locations."""
        own = slice(*self.bounds[self.team.rank : self.team.rank + 2].tolist())
        return np.concatenate(gathered(self.team, np.ascontiguousarray(state[own])))


class _Builder(Builder):
    """Builds the part of a trace that a process has."""

    def __init__(self, recording: Recording, path: str, share: _Share) -> None:
        self.team, self._bounds = share.team, share.bounds
        super().__init__(recording, path)
        if not self.locations.state["records"].any():
            raise TraceError(f"{path}: no event record, must have at least one")
        first = np.append(0, np.cumsum(self.locations.state["calls"])).astype("i8")
        self.places = Places(share.team, self.locations.process, share.bounds, first)
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
        self.matched = int((self.places.of_call(self._tied.calls["receive_done"]) == self._team.rank).sum())

    def _collectives(self) -> None:
        calls = self._call_table()
        done = matching.completions(calls.op, self.requests)
        self.sequence = np.full(len(done), NONE, "i8")
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
