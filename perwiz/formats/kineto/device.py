"""Streams of a rank: what runs on them, what launched it, and what waits for it."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.book import Book, idle
from perwiz.formats.kineto.events import COPY, DRIVER, KERNEL, RUNTIME, SET, SYNC
from perwiz.formats.kineto.rank import Columns, Rank
from perwiz.trace import operations, streams
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE

_IDLE, _LAUNCH, _SYNCHRONIZE, _COPY = (operations.OP[f"device_{name}"] for name in ("idle", "launch", "synchronize", "copy"))
_WAITS = (streams.DEVICE, streams.STREAM, streams.OF_EVENT)
_NOTHING = 255
_FAR = np.int64(1 << 62)


@dataclasses.dataclass
class Ran:
    """What runs on streams, in order of (stream, time); times such that nothing overlaps on a stream."""

    at: Columns
    begin: I8
    end: I8
    before: I8
    """Handle of the call that ends when it begins."""
    behind: I8
    """Handle of the call that begins when it ends."""
    turn: I8
    op: I4
    """What it is among ranks, as its kernel is named, then as what is around its launch tells; -1 for computation and copies."""
    correlation: I8


class Device:
    """The streams of a rank."""

    def __init__(self, rank: Rank, book: Book) -> None:
        self.rank, self._book = rank, book
        self.ran = self._activities()
        self._calls_of_host()

    def _activities(self) -> Ran:
        """Return what runs on the streams, after adding the calls between: idle ones."""
        rank, book = self.rank, self._book
        at = rank.chosen(KERNEL, COPY, SET)
        did = idle(book, _IDLE, at.location, at.enter, at.leave, rank.start(), rank.end())
        op = np.array([names.of_kernel(rank.texts.raw(int(k))) for k in range(len(rank.texts))] + [NONE], "i4")[at.name]
        op[at.kind != KERNEL] = NONE
        correlation = rank.column("correlation", at.row)
        return Ran(at, *did, op, correlation)

    def _calls_of_host(self) -> None:
        """Add the calls of threads that launch and wait, and keep what routines do for `streams.link`."""
        rank, ran = self.rank, self.ran
        at = rank.chosen(RUNTIME, DRIVER)
        does = np.array([names.ROUTINES.get(rank.texts.raw(k), _NOTHING) for k in range(len(rank.texts))] + [_NOTHING], "u1")[at.name]
        correlation = rank.column("correlation", at.row)
        launched = np.isin(correlation, ran.correlation[ran.correlation >= 0])
        rows = np.flatnonzero((does != _NOTHING) | launched)
        rows = rows[_outermost(at.take(rows))]
        at, does, correlation, launched = at.take(rows), does[rows], correlation[rows], launched[rows]
        makes = launched | np.isin(does, _WAITS)
        self._blocking(at, correlation, launched)
        op = np.where(self._copies, _COPY, np.where(launched, _LAUNCH, _SYNCHRONIZE))
        call = np.full(len(makes), NONE, "i8")
        call[makes] = self._book.add(at.location[makes], op[makes], at.enter[makes], at.leave[makes])
        self.host, self.does, self.correlation, self._launched, self._call = at, does, correlation, launched, call

    def _blocking(self, at: Columns, correlation: I8, launched: Mask) -> None:
        """Find the calls that return when the copy they launched has ended."""
        ran = self.ran
        copies = np.flatnonzero((ran.at.kind == COPY) & (ran.correlation >= 0))
        copies = copies[np.argsort(ran.correlation[copies], kind="stable")]
        found = np.searchsorted(ran.correlation[copies], correlation)
        row = np.append(copies, 0)[found]
        same = np.append(ran.correlation[copies], NONE)[found] == correlation
        self._copies: Mask = launched & same & (at.leave >= np.append(ran.end, _FAR)[row]) & (correlation >= 0)
        self._copied = np.where(self._copies, row, NONE)

    def activities(self, row: I8, first: int, process: int) -> streams.Activities:
        """Return the activities; `row` is the row of each handle, `first` the first location of the rank."""
        ran = self.ran
        what = np.where(ran.at.kind == KERNEL, streams.KERNEL, streams.ON_DEVICE).astype("u1")
        return streams.Activities(
            row[ran.before].astype("i4"),
            row[ran.behind].astype("i4"),
            np.full(len(what), process, "i4"),
            ran.at.location + np.int32(first),
            ran.begin,
            ran.end,
            what,
            ran.correlation,
            np.full(len(what), NONE, "i4"),
        )

    def routines(self, row: I8, first: int, process: int) -> streams.Routines:
        """Return the calls that launch and wait, likewise; one that launched several activities is there as often."""
        ran, launched, waits = self.ran, np.flatnonzero(self._launched), np.flatnonzero(np.isin(self.does, _WAITS) & ~self._launched)
        numbers = np.sort(ran.correlation[ran.correlation >= 0])
        ends = (np.searchsorted(numbers, self.correlation[launched], side) for side in ("left", "right"))
        launched = np.repeat(launched, np.abs(np.subtract(*ends)))
        copies = np.flatnonzero(self._copies)
        index = np.concatenate([launched, waits, copies])
        sizes = [len(launched), len(waits), len(copies)]
        what = np.concatenate([np.full(sizes[0], streams.KERNEL), self.does[waits], np.full(sizes[2], streams.STREAM)])
        none = np.full(len(index), NONE)
        key, stream = none.astype("i8"), none.astype("i4")
        key[: sizes[0]] = self.correlation[launched]
        stream[sizes[0] : sizes[0] + sizes[1]] = self._awaited(waits)
        stream[sizes[0] + sizes[1] :] = ran.at.location[self._copied[copies]]
        return streams.Routines(
            row[self._call[index]].astype("i4"),
            np.full(len(index), process, "i4"),
            self.host.location[index] + np.int32(first),
            self.host.enter[index],
            self.host.leave[index],
            what.astype("u1"),
            np.zeros(len(index), bool),
            np.ones(len(index), bool),
            np.where(stream >= 0, stream + np.int32(first), np.int32(NONE)),
            none.astype("i8"),
            key,
            none.astype("i4"),
        )

    def synchronised(self, index: I8) -> tuple[I8, Mask]:
        """Return the rows of the file's events of synchronisation that belong to calls, and which calls have one."""
        at = self.rank.chosen(SYNC)
        number = self.rank.column("correlation", at.row)
        order = np.argsort(number, kind="stable")
        found = np.searchsorted(number[order], self.correlation[index])
        same = np.append(number[order], NONE)[found] == self.correlation[index]
        return np.append(at.row[order], 0)[found], same & (self.correlation[index] >= 0)

    def _awaited(self, index: I8) -> I4:
        """Return the stream that calls wait for, -1 where nothing tells it, and of those that wait for all."""
        row, told = self.synchronised(index)
        out = np.full(len(index), NONE, "i4")
        out[told] = self.rank.stream_of(row[told])
        of_event = told & (self.does[index] == streams.OF_EVENT)
        out[of_event] = self.rank.stream_named(self.rank.detail("awaited", row[of_event]))
        out[self.does[index] == streams.DEVICE] = NONE
        return out

    def launched(self) -> I8:
        """Return per activity the row of the host's call that launched it, -1 where it was not recorded."""
        rows = np.flatnonzero(self._launched)
        order = rows[np.argsort(self.correlation[rows], kind="stable")]
        if not len(order):
            return np.full(len(self.ran.begin), NONE, "i8")
        found = np.minimum(np.searchsorted(self.correlation[order], self.ran.correlation), len(order) - 1)
        same = (self.correlation[order[found]] == self.ran.correlation) & (self.ran.correlation >= 0)
        return np.where(same, order[found], NONE)


def _outermost(at: Columns) -> Mask:
    """Return which calls are in no other one, bool; they are in order of (location, enter, leave backwards)."""
    first = np.append(True, at.location[1:] != at.location[:-1])[: len(at.row)]
    shift = np.cumsum(first) * (int(np.ptp(np.append(at.enter, at.leave))) + 1 if len(first) else 0)
    latest = np.maximum.accumulate(at.leave + shift)
    out = np.ones(len(at.row), bool)
    out[1:] = first[1:] | ((at.enter + shift)[1:] >= latest[:-1])
    return out
