"""The columns of all locations of a DUMPI trace, one behind the other, and what their calls do to messages and requests."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.dumpi import files, functions
from perwiz.formats.dumpi.communicators import Comms
from perwiz.formats.dumpi.definitions import Definitions
from perwiz.formats.traffic import Rows
from perwiz.kernels import dumpi_rows as rows
from perwiz.kernels.dumpi_calls import Calls
from perwiz.kernels.dumpi_records import Records
from perwiz.trace import resources
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE

COLUMNS = {
    "op": "u2",
    **dict.fromkeys(("peer", "tag", "comm", "root"), "i4"),
    **dict.fromkeys(("enter", "leave", "sent", "received"), "i8"),
}
_LEAST = 1 << 10
"""Actions there is room for at least."""
_SHORTEST = 15
"""Bytes of the shortest record that may post a request: there are no more requests at once, and they are numbered without gaps."""
_THREADS, _HANDLES = 1 << 16, 1 << 16


class Work:
    """What is to be done for one process."""

    def __init__(self, process: files.Process) -> None:
        self.process = process
        self.status = rows.STATUS_BYTES if process.version >= functions.STATUSES_HAVE_TAGS else rows.STATUS_BYTES - 4
        self._table = functions.table(process.version >= functions.STRUCTS_HAVE_LISTS)
        self.walk: Rows = np.zeros(1, rows.WALK).view(np.recarray)
        self.actions = np.empty(0, rows.ACTION)
        self.posts = 0

    def survey(self) -> None:
        """Count what there is, and find what defines something."""
        threads = np.zeros(_THREADS, rows.THREADS).view(np.recarray)
        self.walk["at"], self.walk["ranks"], self.walk["own"] = self.process.first, NONE, NONE
        places = []
        defined = np.empty(1 << 12, "i8")
        records = Records(self.process.data, self.process.end, *self._table, self.status, self.walk)
        while True:
            count = records.survey(threads, defined)
            places.append(defined[:count].copy())
            if count < len(defined):
                break
        self.definitions = Definitions(self.process, np.concatenate(places).tolist())
        self.thread = np.flatnonzero(threads["calls"]).astype("i4")
        self.threads = threads[self.thread].copy()
        self.behind = int(self.walk["at"][0])

    def said(self) -> None:
        """Take the rank that the process says it has."""
        rank = int(self.walk["own"][0])
        if 0 <= rank < files.MOST_RANKS:
            self.process = self.definitions.process = dataclasses.replace(self.process, rank=rank)

    @property
    def ranks(self) -> int:
        """How many processes there were at least: as many as the process says, if it does."""
        return max(self.process.rank + 1, min(int(self.walk["ranks"][0]), files.MOST_RANKS))

    @property
    def calls(self) -> int:
        """How many calls there are."""
        return int(self.threads["calls"].sum())

    @property
    def begun(self) -> int:
        """When the first call was entered, ns since 1970; 0 if there is none."""
        return self.process.second * 10**9 + int(self.threads["first"].min()) if len(self.thread) else 0

    def fill(self, columns: dict[str, NDArray[Any]], call: int, start: int, comms: Comms) -> None:
        """Fill in the calls, from this one on; keep what they do in `actions`, and in `changes` which calls define something."""
        threads = np.zeros(int(self.thread.max(initial=0)) + 1, rows.THREADS).view(np.recarray)
        threads["calls"][self.thread] = call + np.cumsum(self.threads["calls"]) - self.threads["calls"]
        meanings = np.zeros(_HANDLES, rows.MEANING).view(np.recarray)
        meanings["bytes"], meanings["comm"], meanings["window_comm"] = self.process.sizes, -1, -1
        meanings["comm"][rows.WORLD] = 0
        meanings["comm"][rows.SELF] = 1 if self.definitions.entries[1] >= 0 else -1
        known, members = comms.known(self.definitions)
        most = (self.behind - self.process.first) // _SHORTEST + _LEAST  # memory that nobody touches costs nothing
        handles: Rows = np.zeros(most, rows.HANDLE).view(np.recarray)
        posts: Rows = np.zeros(most, rows.POST).view(np.recarray)
        actions: Rows = np.empty(most, rows.ACTION).view(np.recarray)
        self.changes = self.definitions.table()
        walk = np.zeros(1, rows.WALK).view(np.recarray)
        walk["at"], walk["posts"] = self.process.first, rows.FIRST_POST
        calls = Calls(self.process.data, self.behind, *self._table, self.status, walk)
        calls.know(meanings, known, members)
        calls.into(threads, self.changes, **columns)
        made, needed = [], 1
        while needed:
            calls.give(handles, posts, actions)
            needed = calls.fill(start - self.process.second * 10**9)
            made.append(actions[: walk["actions"][0]])
            walk["actions"] = 0
            if needed:
                actions = np.empty(_LEAST + 2 * needed, rows.ACTION).view(np.recarray)
                if walk["posts"][0] + needed > len(posts):
                    posts = np.concatenate([posts, np.zeros(len(posts) + needed, rows.POST)]).view(np.recarray)
        self.actions = made[0] if len(made) == 1 else np.concatenate(made)
        if len(self.thread) > 1:
            self.actions = self.actions[np.argsort(self.actions["call"], kind="stable")]
        self.posts = int(walk["posts"][0])
        self.process = self.definitions.process = dataclasses.replace(self.process, data=self.process.data[:0].copy())
        walk["counters"], walk["regions"] = self.walk["counters"], self.walk["regions"]
        walk["untimed"], walk["torn"] = self.walk["untimed"], self.walk["torn"]
        walk["records"] = self.walk["records"]
        self.walk = walk

    def taken(self) -> Rows:
        """Return what the calls do, which is not kept."""
        out, self.actions = self.actions, self.actions[:0].copy()
        return out


class Columns:
    """The calls of all locations. Location k is thread `thread[k]` of the process in `works[work[k]]`."""

    def __init__(self, processes: list[files.Process], ranks: int, told: bool) -> None:
        """`ranks`: how many processes there were; unless `told`, at least."""
        self.works = [Work(process) for process in processes]
        several = resources.thread_count(sum(len(process.data) for process in processes) // 64)
        resources.map_threads(Work.survey, self.works, several)
        if len(self.works) == 1 and not told:
            self.works[0].said()
        self.ranks = ranks if told else max(ranks, *(work.ranks for work in self.works))
        self.comms = Comms(self.ranks, sum(process.size for process in processes))
        for work in self.works:
            alone = bool(work.walk["alone"][0])
            work.definitions.entries += [0, self.comms.alone(work.process.rank) if alone else -1]
        self.comms.resolve([work.definitions for work in self.works])
        self.thread: I4 = np.concatenate([work.thread if len(work.thread) else np.zeros(1, "i4") for work in self.works])
        self.work: I8 = np.repeat(np.arange(len(self.works)), [max(1, len(work.thread)) for work in self.works])
        counts = np.concatenate([work.threads["calls"] if len(work.thread) else np.zeros(1, "i8") for work in self.works])
        self.first: I8 = np.concatenate([[0], np.cumsum(counts)])
        """First call of each location, and the end of the last."""
        self.start = min((work.begun for work in self.works if len(work.thread)), default=0)
        self._columns = {name: np.empty(int(self.first[-1]), dtype) for name, dtype in COLUMNS.items()}
        firsts = np.concatenate([[0], np.cumsum([work.calls for work in self.works])]).tolist()

        def fill(k: int) -> None:
            self.works[k].fill(self._columns, firsts[k], self.start, self.comms)

        resources.map_threads(fill, range(len(self.works)), several)
        self.rank = np.array([work.process.rank for work in self.works], "i4")
        """Of each process."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one column of the calls; it can be written to."""
        return self._columns[name]

    def location(self) -> I4:
        """Return the location of every call."""
        return np.repeat(np.arange(len(self.thread), dtype="i4"), np.diff(self.first))

    def met(self, name: str) -> int:
        """Return how often all processes met one of the fields of WALK."""
        return sum(int(work.walk[name][0]) for work in self.works)
