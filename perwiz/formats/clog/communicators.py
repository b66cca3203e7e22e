"""The communicators of a CLOG-2 file: every process says, as it enters one, which rank it has there."""

from __future__ import annotations

import numpy as np

from perwiz.formats.alog.communicators import MOST_RANKS, Groups
from perwiz.formats.clog import records
from perwiz.formats.clog.records import Piece
from perwiz.trace.arrays import I4, I8, Columns
from perwiz.trace.tables import NONE

_WORLD, _SELF, _FREE, _INTRA, _LOCAL, _REMOTE, _INTER = 0, 1, 10, 100, 101, 102, 1000
"""What a record of a communicator tells: that it is made, and of what kind, or freed."""


_IN_TABLE = 1 << 16
"""Ranks of the world below this are looked up in a table; from it on, they are processes."""


class Communicators:
    """Who has which rank where. Records are added, then it is closed, then asked.

    A world of which no record tells is number 0, and its ranks are processes.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._columns = Columns(np.dtype([("comm", "i4"), ("rank", "i4"), ("process", "i4"), ("kind", "i4")]))
        self._rows = 0

    def add(self, piece: Piece, rows: I8) -> None:
        """Take in records of communicators: no more than there can be, and only of processes that there are."""
        kind, comm, rank, process = (piece.word(rows, records.BODY + word) for word in range(4))
        fits = np.isin(kind, (_WORLD, _SELF, _INTRA, _LOCAL, _INTER)) & (comm >= 0) & (rank >= 0)
        fits &= (process >= 0) & (process < self._processes)
        fits[MOST_RANKS - self._rows :] = False
        kept = np.flatnonzero(fits)
        told = {"comm": comm[kept], "rank": rank[kept], "process": process[kept], "kind": kind[kept]}
        self._columns.add(told, len(kept))
        self._rows += len(kept)

    def close(self) -> None:
        """Sort what was told: by communicator and rank, the first that says it counts."""
        comm, rank, process, kind = (self._columns.take(name).astype("i8") for name in ("comm", "rank", "process", "kind"))
        worlds = comm[kind == _WORLD]
        self._world = int(worlds[0]) if len(worlds) else 0
        self._key, first = np.unique((comm << 32) + rank, return_index=True)
        self._process = process[first]
        self._number, begin = np.unique(self._key >> 32, return_index=True)
        self._begin = np.append(begin, len(self._key))
        inter = np.unique(comm[kind == _INTER])
        whole = np.diff(self._begin) == (self._key[self._begin[1:] - 1] & 0xFFFFFFFF) + 1
        whole &= self._number != self._world
        usable = np.array([k for k in np.flatnonzero(whole & ~np.isin(self._number, inter)).tolist() if self._differ(k)], "i8")
        self._row = np.full(len(self._number), NONE)
        self._row[usable] = np.arange(len(usable)) + 1
        self._row[self._number == self._world] = 0
        self._usable = usable
        told = self._key >> 32 == self._world
        rank = self._key[told] & 0xFFFFFFFF
        self._of_world = np.arange(min(self._processes, _IN_TABLE))
        inside = rank < len(self._of_world)
        self._of_world[rank[inside]] = self._process[told][inside]

    def groups(self) -> Groups:
        """Return them: row 0 is the world; intercommunicators, and those that lack ranks or name a process twice, are none."""
        out: dict[int, tuple[str, I4]] = {}
        for number, k in enumerate(self._usable.tolist(), start=1):
            out[number] = f"communicator {self._number[k]}", self._members(k)
        return Groups(out)

    def _members(self, k: int) -> I4:
        return self._process[self._begin[k] : self._begin[k + 1]].astype("i4")

    def _differ(self, k: int) -> bool:
        """Return whether no process has two ranks."""
        members = self._members(k)
        return len(np.unique(members)) == len(members)

    def look_up(self, comm: I8, rank: I8) -> tuple[I8, I8]:
        """Return the row of each communicator, -1 for one that is unknown, and the process of each rank there, -1 for none."""
        there = (rank >= 0) & (rank < self._processes)
        near = there & (rank < len(self._of_world))
        process = np.where(near, self._of_world[np.where(near, rank, 0)], np.where(there, rank, NONE))
        row = np.zeros(len(comm), "i8")
        other = np.flatnonzero(comm != self._world)
        if len(other):
            row[other], process[other] = self._search(comm[other], rank[other])
        return row, process

    def _search(self, comm: I8, rank: I8) -> tuple[I8, I8]:
        if not len(self._key):
            return np.full(len(comm), NONE), np.full(len(comm), NONE)
        at = np.minimum(np.searchsorted(self._number, comm), len(self._number) - 1)
        row = np.where(self._number[at] == comm, self._row[at], NONE)
        key = (comm << 32) + rank
        at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        return row, np.where((self._key[at] == key) & (rank >= 0), self._process[at], NONE)
