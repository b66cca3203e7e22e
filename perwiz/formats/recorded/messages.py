"""Requests and messages of a recorded run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import recorded as kernel
from perwiz.trace import matching
from perwiz.trace.tables import NONE, Requests, Unfinished

DONE = 8
"""Flag of a record that completes the request it names, as recorder.h has it."""
_SENDS, _RECEIVES, _REQUESTS, _TESTS, _STRANGERS = range(5)
"""Cells of the kernel's state."""


class Traffic:
    """The requests and ends of messages of all processes: each fills its rows through a Share, then `finish` matches them."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        """`counts`: per process its sends, receives, requests and, at most, tests."""
        self._counts = counts
        self._begins = np.cumsum(counts, axis=0) - counts
        sends, receives, requests, tests = counts.sum(axis=0).tolist()
        self._ends, self._sizes = np.empty((11, max(sends, receives)), "i4"), np.empty((2, max(sends, receives)), "i8")
        self._rows = np.empty((5, max(requests, tests)), "i4")

    def share(self, process: int, slots: int) -> Share:
        """Return where a process puts its own; its requests have numbers below `slots`."""
        return Share((self._ends, self._sizes, self._rows), self._begins[process], slots)

    def finish(self, shares: list[Share], rank: NDArray[np.int32]) -> None:
        """Match messages. The shares are those of all processes, after their end; `rank` is that of each process."""
        self.strangers = sum(share.strangers for share in shares)
        self.not_posted = sum(share.not_posted for share in shares)
        self._tabulate(shares)
        sends, mode = self._sent(np.repeat(rank, self._counts[:, _SENDS]))
        receives = self._received(np.repeat(rank, self._counts[:, _RECEIVES]))
        self._ends, self._sizes, self._rows = (np.empty((0, 0), dtype) for dtype in ("i4", "i8", "i4"))
        self.sends, self.receives = len(sends.call), len(receives.call)
        self.messages, self.size_differs = matching.messages(sends, receives, mode)

    def _tabulate(self, shares: list[Share]) -> None:
        posted, done, cancelled = self._rows[:3, : self._counts[:, _REQUESTS].sum()]
        self.requests = Requests(posted.copy(), done.copy(), cancelled.astype("u1"))
        begins = self._begins[:, _TESTS].tolist()
        found = [self._rows[3:, begin : share.tests] for begin, share in zip(begins, shares, strict=True)]
        call, request = np.concatenate(found, axis=1)
        order = np.argsort(call, kind="stable")
        self.unfinished = Unfinished(call[order], request[order])

    def _sent(self, rank: NDArray[np.int32]) -> tuple[matching.Ends, NDArray[np.uint8]]:
        """Return the sends in program order, and their modes."""
        call, request, peer, tag, comm, mode = self._ends[:6, : len(rank)]
        done, later = call, np.flatnonzero(request >= 0)
        if len(later):
            done = call.copy()
            done[later] = self.requests.completed_by[request[later]]
        return matching.Ends(call, done, rank, peer, tag, comm, self._sizes[0, : len(rank)]), mode.astype("u1")

    def _received(self, rank: NDArray[np.int32]) -> matching.Ends:
        """Return the receives that were completed, in the order they were posted."""
        call, done, peer, tag, comm = self._ends[6:, : len(rank)]
        columns = [call, done, rank, peer, tag, comm, self._sizes[1, : len(rank)]]
        if not (done >= 0).all():
            kept = np.flatnonzero(done >= 0)
            columns = [column[kept] for column in columns]
        return matching.Ends(*columns)


class Share:
    """What one process has of the traffic. Different shares can be filled at the same time: they write to different rows."""

    def __init__(
        self, tables: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]], begin: NDArray[np.int64], slots: int
    ) -> None:
        """`begin`: where it begins in each of the tables."""
        self._tables = tables
        self._state = np.append(begin, 0)
        self._slots = np.full((slots, 2), NONE, "i4")
        self._left: list[NDArray[np.int64]] = []
        self.not_posted = 0

    def add(self, entries: NDArray[np.int64]) -> None:
        """Add entries of the kernel, those of one thread after those of another; they are used up."""
        left = kernel.tie(entries, self._slots, *self._tables, self._state)
        if left:
            self._left.append(entries[:left].copy())

    def end(self) -> None:
        """All entries were added: what was posted by a later thread is known now."""
        for entries in self._left:
            left = kernel.tie(entries, self._slots, *self._tables, self._state)
            self.not_posted += int((entries[:left, 6] & DONE != 0).sum())
        self._left, self._slots = [], np.empty((0, 2), "i4")

    @property
    def tests(self) -> int:
        """Where the tests of this process end."""
        return int(self._state[_TESTS])

    @property
    def strangers(self) -> int:
        """How many of its partners are in none of its communicators."""
        return int(self._state[_STRANGERS])
