"""What PEs of a recorded run of OpenSHMEM did to each other: puts that waits were for, and locks handed over.

The recorder names memory alike on all PEs, by its place in the program or on the symmetric heap. A wait on some memory ends by the last
put or atomic operation of any PE to it that was entered before the wait returned. Stores that are no calls (of the PE itself, or through
shmem_ptr) are not recorded: what waits for one is tied to nothing, or to the last put before.
"""

from __future__ import annotations

import numpy as np

from perwiz.formats.recorded.columns import Columns, operations
from perwiz.kernels import records
from perwiz.trace import operations as ops
from perwiz.trace import tables
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.matching import handed_over
from perwiz.trace.tables import NONE, Links, Readings

_FOUND = 1 << 11
"""Flag of tests that were successful."""
_WORD = 3
"""Memory is compared in words of 2 to this many bytes."""
_PLACE = 46
"""Bits of the number of a word, below that of its PE."""


def _named(*names: str) -> list[int]:
    return [ops.OP[f"shmem_{name}"] for name in names]


_PUTS = _named("put", "put_nbi", "put_signal", "put_signal_nbi", "atomic")
_WAITS, _TESTS = _named("wait_until"), _named("test")
_LOCKS, _TRIES, _RELEASES = _named("set_lock"), _named("test_lock"), _named("clear_lock")


class Shmem:
    """The links between PEs."""

    def __init__(self, columns: Columns, readings: Readings) -> None:
        """Take memory and spans out of the columns, where the recorder has them in place of tags. Its operations are the last it names."""
        self._columns, self._readings = columns, readings
        told = [process.about.operations[-1].startswith("shmem_") for process in columns.processes]
        several = [place for place, k in enumerate(columns.process.tolist()) if told[k]]
        rows = np.concatenate([np.empty((6, 0), "i8"), *map(self._of, several)], axis=1)
        self._call, self._op, self._location, self._memory, self._span, found = rows
        self._succeeded = found > 0
        columns["tag"][self._call] = NONE
        self._error = int(readings.error.max(initial=0))

    def _of(self, place: int) -> I8:
        """Return call, op, location, memory, span, and whether it was successful, of the calls of a location that are about memory.

        Shape (6, calls).
        """
        columns = self._columns
        process = columns.processes[columns.process[place]]
        rows, first, end = process.calls[columns.thread[place]], int(columns.first[place]), int(columns.first[place + 1])
        op = columns["op"][first:end]
        mine = np.flatnonzero(np.isin(op, [*_PUTS, *_WAITS, *_TESTS, *_LOCKS, *_TRIES, *_RELEASES]))
        named = operations(tuple(process.about.operations))["op"][rows["op"]] != records.NO_CALL
        raw = rows[np.flatnonzero(named)[: end - first][mine]]
        about = (raw[name].astype("i8") for name in ("request", "tag"))
        return np.stack([mine + first, op[mine].astype("i8"), np.full(len(mine), place), *about, (raw["bits"] & _FOUND).astype("i8")])

    def _time(self, name: str, rows: I8) -> I8:
        """Return when calls were entered, or left, by the clock of all, ns."""
        time = self._columns[name][self._call[rows]].astype("i8")
        where, table = self._location[rows].copy(), self._readings
        while len(table) and (where >= 0).any():
            for location in np.unique(where[where >= 0]).tolist():
                own, at = np.flatnonzero(table.location == location), where == location
                if len(own):
                    time[at] += np.interp(time[at], table.time[own], table.offset[own]).round().astype("i8")
                where[at] = table.master[own[0]] if len(own) else NONE
        return time

    def _which(self, *op: int) -> Mask:
        return np.isin(self._op, op)

    def links(self) -> Links:
        """Return the links."""
        parts = [(tables.PUT, *self._put()), (tables.LOCK, *self._locked())]
        kind, cause, effect = (
            np.concatenate(column) for column in zip(*((np.full(len(c), k, "u1"), c, e) for k, c, e in parts), strict=True)
        )
        apart = self._columns.location_of(cause) != self._columns.location_of(effect)
        return Links.in_order(kind[apart], cause[apart].astype("i4"), effect[apart].astype("i4"))

    def _locked(self) -> tuple[I4, I4]:
        had = self._which(*_LOCKS) | (self._which(*_TRIES) & self._succeeded)
        entered, left = (self._time(end, np.arange(len(self._call))) for end in ("enter", "leave"))
        release, next_ = handed_over(self._memory, self._location, had, self._which(*_RELEASES), entered, left)
        true = self._time("enter", release) <= left[next_] + self._error
        return self._call[release[true]], self._call[next_[true]]

    def _words(self, rows: I8, pe: I8) -> tuple[I8, I8]:
        """Return the first word that each call is about, and the end behind its last, with the PE whose they are."""
        begin = pe << _PLACE
        first, last = self._memory[rows], self._memory[rows] + self._span[rows] - 1
        return begin + (first >> _WORD), begin + (last >> _WORD) + 1

    def _put(self) -> tuple[I4, I4]:
        """Return (puts, the waits they ended).

        Per word that is waited for: the puts to it by time, of which a wait takes the last; of several words the last of all.
        """
        wait = np.flatnonzero(self._which(*_WAITS) | (self._which(*_TESTS) & self._succeeded))
        put = np.flatnonzero(self._which(*_PUTS) & (self._columns["peer"][self._call] >= 0))
        waited, of_wait = _spread(*self._words(wait, self._columns.rank().astype("i8")[self._location[wait]]))
        known = np.unique(waited)
        begin, end = self._words(put, self._columns["peer"][self._call[put]].astype("i8"))
        word, of_put = _spread(np.searchsorted(known, begin), np.searchsorted(known, end))
        entered = self._time("enter", put)[of_put]
        order = np.lexsort((entered, word))
        word, of_put, entered = word[order], of_put[order], entered[order]
        asked, until = np.searchsorted(known, waited), (self._time("leave", wait) + self._error)[of_wait]
        place = _last_before(word, entered, asked, until)
        seen = place >= 0
        of_wait, of_put = of_wait[seen], of_put[place[seen]]
        order = np.lexsort((self._time("enter", put)[of_put], of_wait))
        last = order[np.diff(of_wait[order], append=-1) != 0]
        return self._call[put[of_put[last]]], self._call[wait[of_wait[last]]]


def _spread(begin: I8, end: I8) -> tuple[I8, I8]:
    """Return every number of some ranges, and which range it is of."""
    count = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(len(begin)), count)
    return begin[which] + np.arange(len(which)) - (np.cumsum(count) - count)[which], which


def _last_before(key: I8, time: I8, wanted: I8, until: I8) -> I8:
    """Return the last row of each wanted key whose time is not above `until`, -1 none; rows are sorted by (key, time)."""
    every = np.lexsort((np.append(np.zeros(len(key), "i1"), np.ones(len(wanted), "i1")), np.append(time, until), np.append(key, wanted)))
    rows = np.where(every < len(key), every, NONE)
    place = np.maximum.accumulate(rows)[np.argsort(every)[len(key) :]] if len(every) else np.empty(0, "i8")
    return np.where((place >= 0) & (key[place] == wanted), place, NONE) if len(key) else np.full(len(wanted), NONE, "i8")
