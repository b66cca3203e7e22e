"""What one file tells of its rank: who it is, its threads and streams, and what the events on them are."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.kineto import events, files, names
from perwiz.formats.kineto.events import ANNOTATION, COPY, DRIVER, KERNEL, RUNTIME, SET, SYNC, Recorded
from perwiz.trace.arrays import I4, I8, U1, Mask
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.tables import NONE

MOST_RANKS = 1 << 20
_ON_DEVICE = np.isin(np.arange(len(events.CATEGORIES)), (KERNEL, COPY, SET))


@dataclasses.dataclass(frozen=True)
class Group:
    """A process group: its name, and its ranks; none if nobody tells them."""

    name: str
    ranks: tuple[int, ...]


@dataclasses.dataclass
class Columns:
    """Events, in order of (location, begin, end backwards)."""

    row: I8
    """Row of the events of the file."""
    location: I4
    enter: I8
    leave: I8
    kind: U1
    name: I4
    """Number of the text."""

    def take(self, rows: I8 | Mask) -> Columns:
        """Return some of them."""
        return Columns(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))

    def extended(self, others: Columns) -> Columns:
        """Return them, and others behind."""
        names = (field.name for field in dataclasses.fields(self))
        return Columns(*(np.append(getattr(self, name), getattr(others, name)) for name in names))


@dataclasses.dataclass
class Filled:
    """What Gloo did on threads that a file that was cut off does not tell, on places behind those that it tells."""

    at: Columns
    op: I4
    sent: I8
    received: I8

    def __len__(self) -> int:
        return len(self.op)

    @classmethod
    def none(cls) -> Filled:
        """Return nothing."""
        i8, i4 = np.empty(0, "i8"), np.empty(0, "i4")
        return cls(Columns(i8, i4, i8, i8, np.empty(0, "u1"), i4), i4, i8, i8)

    def take(self, rows: I8 | Mask) -> Filled:
        """Return some of it."""
        return Filled(self.at.take(rows), self.op[rows], self.sent[rows], self.received[rows])


class Rank:
    """One rank. Locations are numbered: the first thread, which has the steps, other threads, streams."""

    def __init__(self, recorded: Recorded, place: int) -> None:
        self.recorded, self.texts = recorded, recorded.texts
        self.path = recorded.path
        column = recorded.columns
        self._settle(recorded.beside, place)
        base = recorded.beside.get("baseTimeNanoseconds")
        self.base = base if isinstance(base, int) and 0 <= base < 1 << 61 else None
        """The instant that times count from, ns; None if the file does not tell."""
        self.enter: I8 = column["time"] + (self.base or 0)
        self.leave: I8 = self.enter + column["duration"]
        if not len(self.enter):
            raise TraceError(f"{self.path}: no event of an operator, a kernel or a launch, must have some")
        if column["duration"].max() >= 1 << 61 or abs(self.enter).max() >= 1 << 61:
            raise TraceError(f"{self.path}: times beyond 70 years, must be of one run")
        self._leave_out_silent()
        self.filled = Filled.none()
        self.whole = True
        """Whether some time is known of which the file tells all."""
        self._locations()
        self.steps = self._steps()

    def _leave_out_silent(self) -> None:
        """Leave out threads that only ask how far others are, as the one of NCCL does that watches over its collectives."""
        column = self.recorded.columns
        kind, on_device = column["kind"], _ON_DEVICE[column["kind"]]
        known = np.array([self.texts.raw(k) in names.ROUTINES for k in range(len(self.texts))] + [False], bool)
        on_host = np.flatnonzero(~on_device & (kind != SYNC))
        pairs, which = distinct_pairs(column["process"][on_host], column["thread"][on_host])
        does = ~np.isin(kind[on_host], (RUNTIME, DRIVER)) | known[column["name"][on_host]]
        silent = np.bincount(which, does, len(pairs)) == 0
        rows = on_host[silent[which]]
        launched = column["correlation"][on_device & (column["correlation"] >= 0)]
        launches = np.bincount(which[silent[which]], np.isin(column["correlation"][rows], launched), len(pairs)) > 0
        rows = on_host[(silent & ~launches)[which]]
        if 0 < len(rows) < len(kind):
            self._keep(~np.isin(np.arange(len(kind)), rows))

    def _keep(self, stays: Mask) -> None:
        """Leave out all other events."""
        self.recorded.columns = {name: values[stays] for name, values in self.recorded.columns.items()}
        self.enter, self.leave = self.enter[stays], self.leave[stays]

    def _settle(self, beside: dict[str, Any], place: int) -> None:
        """Find out which rank this is, and which process groups there are."""
        told = beside.get("distributedInfo")
        told = told if isinstance(told, dict) else {}
        rank = told.get("rank")
        named = files.rank_in(self.path)
        self.sure = _is_rank(rank) or named is not None
        self.rank: int = int(str(rank)) if _is_rank(rank) else named if named is not None else place
        world = told.get("world_size")
        self.world = int(world) if isinstance(world, int) and 0 < world <= MOST_RANKS else 0
        self.host = str(beside.get("host_name") or files.host_in(self.path))
        self.backend = str(told.get("backend", ""))
        self.groups: dict[str, Group] = {}
        listed = told.get("pg_config")
        for one in listed if isinstance(listed, list) else ():
            ranks = one.get("ranks") if isinstance(one, dict) else None
            if isinstance(ranks, list) and ranks and all(map(_is_rank, ranks)):
                name = str(one.get("pg_name", ""))
                self.groups[name] = Group(name, tuple(ranks))

    def _locations(self) -> None:
        """Number the threads and streams: the first thread is the one with most steps, then most events; others go by their numbers."""
        column = self.recorded.columns
        kept = np.flatnonzero(column["kind"] != SYNC)
        owner = (_ON_DEVICE[column["kind"]].astype("i8") << 32) + column["process"] + 1
        pairs, which = distinct_pairs(owner[kept], column["thread"][kept])
        keys, count = np.stack([pairs[:, 0] >> 32, (pairs[:, 0] & 0xFFFFFFFF) - 1, pairs[:, 1]]), np.bincount(which)
        device = keys[0] == 1
        steps = np.bincount(which, self._named(b"ProfilerStep#")[column["name"][kept]], len(device))
        told = np.array([_whole(self.texts.raw(int(thread))) for thread in keys[2]], "i8")
        first = np.zeros(len(device), bool)
        if not device.all():
            first[np.lexsort((-count, -steps, device))[0]] = True
        order = np.lexsort((keys[2], told, keys[1], ~first, device))
        told_hosts = max(int((~device).sum()), 1)
        _, lane = np.unique(self.filled.at.location, return_inverse=True)
        self.filled.at.location = (told_hosts + lane).astype("i4")
        self.hosts = int(self.filled.at.location.max(initial=told_hosts - 1)) + 1
        """Threads; the first one has no events where only devices are recorded."""
        place = np.empty(len(device), "i4")
        place[order] = np.arange(len(device)) + (1 if device.all() else 0)
        place[device] += np.int32(self.hosts - told_hosts)
        self.locations = self.hosts + int(device.sum())
        self._row_of = np.full(len(column["kind"]), NONE, "i4")
        """Location per event of the file."""
        self._row_of[kept] = place[which]
        streams = [(tuple(keys[1:, k].tolist()), int(told[k]), int(place[k])) for k in np.flatnonzero(device)]
        self._streams = {pair: where for pair, _, where in streams}
        numbers = [number for _, number, _ in streams]
        self.numbers = numbered(self.hosts, [number for _, number, _ in sorted(streams, key=lambda stream: stream[2])])
        """The number of each location in the rank."""
        self._numbered = {number: where for _, number, where in streams if numbers.count(number) == 1}

    def _named(self, prefix: bytes) -> Mask:
        """Return per text, and one more for none, whether it begins so."""
        return np.array([self.texts.raw(k).startswith(prefix) for k in range(len(self.texts))] + [False], bool)

    def _steps(self) -> dict[int, tuple[int, int]]:
        """Return when each step of the schedule began and ended on the first thread."""
        column = self.recorded.columns
        rows = np.flatnonzero((column["kind"] == ANNOTATION) & self._named(b"ProfilerStep#")[column["name"]] & (self._row_of == 0))
        number = [names.step(self.texts.raw(int(name))) for name in column["name"][rows]]
        return {k: (int(self.enter[row]), int(self.leave[row])) for k, row in zip(number, rows, strict=True) if k >= 0}

    def count_from(self, base: int) -> None:
        """Take the times of a file that does not tell its instant for times since this one."""
        self.base = base
        self.enter, self.leave = self.enter + base, self.leave + base
        self.steps = self._steps()

    def cut(self, begin: int, end: int) -> None:
        """Leave out the events before and behind some steps; those of devices that begin in them stay whole."""
        column = self.recorded.columns
        stays = (self.enter >= begin) & np.where(_ON_DEVICE[column["kind"]], self.enter < end, self.leave <= end)
        self._keep(stays)
        self.fill(self.filled.take((self.filled.at.enter >= begin) & (self.filled.at.leave <= end)))

    def fill(self, filled: Filled) -> None:
        """Add what threads did of which the file tells nothing."""
        self.filled = filled
        self._locations()

    def chosen(self, *kinds: int) -> Columns:
        """Return the events of some categories, in order."""
        kind = self.recorded.columns["kind"]
        row = np.flatnonzero(np.isin(kind, kinds))
        row = row[np.lexsort((-self.leave[row], self.enter[row], self._row_of[row]))]
        return Columns(row, self._row_of[row], self.enter[row], self.leave[row], kind[row], self.recorded.columns["name"][row])

    def column(self, name: str, row: I8) -> NDArray[Any]:
        """Return a column of events: correlation, bytes."""
        return self.recorded.columns[name][row]

    def detail(self, name: str, row: I8) -> NDArray[Any]:
        """Return what the details of events say, -1 where there are none."""
        place = self.recorded.columns["detail"][row]
        values = self.recorded.details[name]
        return np.where(place >= 0, np.append(values, -1)[place], -1)

    def stream_of(self, row: I8) -> I4:
        """Return the streams that events of synchronisation are about, locations, -1 for what is none with events."""
        column = self.recorded.columns
        pairs = zip(column["process"][row].tolist(), column["thread"][row].tolist(), strict=True)
        return np.array([self._streams.get(pair, NONE) for pair in pairs], "i4")

    def stream_named(self, numbers: I8) -> I4:
        """Return the locations of streams by their numbers, -1 for those without events, or of several devices."""
        return np.array([self._numbered.get(number, NONE) for number in numbers.tolist()], "i4")

    def start(self) -> int:
        """Return when the first event begins."""
        return int(self.enter.min())

    def end(self) -> int:
        """Return when the last event ends."""
        return int(self.leave.max())

    def end_of_first(self) -> int:
        """Return when the last event of the first thread ends: it waits for no stream behind that; the begin, without any."""
        return int(self.leave[self._row_of == 0].max(initial=self.start()))

    def let_go(self) -> None:
        """Let go of the events: of some ranks they take more than what is made of them."""
        self.recorded.columns, self.recorded.details, self.filled = {}, {}, Filled.none()
        self.enter = self.leave = np.empty(0, "i8")
        self._row_of = np.empty(0, "i4")


def numbered(threads: int, streams: Sequence[int]) -> I4:
    """Return the numbers of some threads, and of streams that the profiler gives these numbers, 0 if none.

    A stream has its own, if that is above 0 and no other's; else, as threads, it has the next that is free.

    2 threads, streams 7 20   out 0 1 7 20        2 threads, streams 1 7 7 (of two devices)   out 0 2 1 3 4
    """
    own = [number if 0 < number < 1 << 31 and streams.count(number) == 1 else 0 for number in streams]
    free = (number for number in itertools.count() if number == 0 or number not in own)
    return np.array([number or next(free) for number in (*[0] * threads, *own)], "i4")


def _is_rank(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_RANKS


def _whole(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 12 else 0
