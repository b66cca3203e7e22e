"""Requests and messages of a recorded run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import recorded as kernel
from perwiz.trace import match
from perwiz.trace.tables import NONE, Requests, Unfinished

DONE = 8
"""Flag of a record that completes the request it names, as recorder.h has it."""
_SENDS, _RECEIVES, _REQUESTS, _TESTS, _STRANGERS = range(5)
"""Cells of the kernel's state."""
_MOST = 1 << 28
"""Requests of one process: more are no numbers of requests."""


class Traffic:
    """Collects the requests and ends of messages of one location after another; then `finish` matches them."""

    def __init__(self, most: int) -> None:
        """`most`: entries of all locations."""
        self._ends, self._sizes = np.empty((11, most), "i4"), np.empty((2, most), "i8")
        self._rows = np.empty((5, most), "i4")
        self._state = np.zeros(5, "i8")
        self._slots = np.full((1 << 12, 2), NONE, "i4")
        self._left: list[NDArray[np.int64]] = []
        self._late = False
        """Whether tests were added late, out of order."""
        self._counts: list[tuple[int, int]] = []
        self.not_posted = 0

    def add(self, entries: NDArray[np.int64]) -> None:
        """Add entries of the kernel; they are used up."""
        most = int(entries[:, 1].max(initial=-1))
        if len(self._slots) <= most < _MOST:
            self._slots = np.concatenate([self._slots, np.full((2 * most - len(self._slots) + 2, 2), NONE, "i4")])
        left = kernel.tie(entries, self._slots, self._ends, self._sizes, self._rows, self._state)
        if left:
            self._left.append(entries[:left].copy())

    def end_location(self) -> None:
        """What comes next is of another location."""
        self._counts.append((int(self._state[_SENDS]), int(self._state[_RECEIVES])))

    def end_process(self) -> None:
        """What comes next is of another process, and numbers its requests anew; what was posted by a later thread is known now."""
        if self._left:
            entries, tests = np.concatenate(self._left), self._state[_TESTS]
            left = kernel.tie(entries, self._slots, self._ends, self._sizes, self._rows, self._state)
            self.not_posted += int((entries[:left, 6] & DONE != 0).sum())
            self._late |= bool(self._state[_TESTS] > tests)
        self._left = []
        self._slots.fill(NONE)

    def finish(self, rank: NDArray[np.int32]) -> None:
        """Match messages; `rank` is that of each location."""
        counts = np.diff(np.array([(0, 0), *self._counts]), axis=0)
        self.strangers = int(self._state[_STRANGERS])
        self._tabulate()
        sends, mode = self._sent(np.repeat(rank, counts[:, 0]))
        receives = self._received(np.repeat(rank, counts[:, 1]))
        self._ends, self._sizes, self._rows = (np.empty((0, 0), dtype) for dtype in ("i4", "i8", "i4"))
        self.sends, self.receives = len(sends.call), len(receives.call)
        self.messages, self.size_differs = match.messages(sends, receives, mode)

    def _tabulate(self) -> None:
        posted, done, cancelled = self._rows[:3, : self._state[_REQUESTS]]
        self.requests = Requests(posted.copy(), done.copy(), cancelled.astype("u1"))
        call, request = self._rows[3:, : self._state[_TESTS]]
        order = np.argsort(call, kind="stable") if self._late else slice(None)
        self.unfinished = Unfinished(call[order].copy(), request[order].copy())

    def _sent(self, rank: NDArray[np.int32]) -> tuple[match.Ends, NDArray[np.uint8]]:
        """Return the sends in program order, and their modes."""
        call, request, peer, tag, comm, mode = self._ends[:6, : len(rank)]
        done, later = call, np.flatnonzero(request >= 0)
        if len(later):
            done = call.copy()
            done[later] = self.requests.completed_by[request[later]]
        return match.Ends(call, done, rank, peer, tag, comm, self._sizes[0, : len(rank)]), mode.astype("u1")

    def _received(self, rank: NDArray[np.int32]) -> match.Ends:
        """Return the receives that were completed, in the order they were posted."""
        call, done, peer, tag, comm = self._ends[6:, : len(rank)]
        columns = [call, done, rank, peer, tag, comm, self._sizes[1, : len(rank)]]
        if not (done >= 0).all():
            kept = np.flatnonzero(done >= 0)
            columns = [column[kept] for column in columns]
        return match.Ends(*columns)
