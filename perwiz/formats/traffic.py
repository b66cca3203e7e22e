"""Requests and messages of formats whose records say which request is whose: actions of perwiz.kernels.recorded to tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import recorded as kernel
from perwiz.kernels import records
from perwiz.trace import matching
from perwiz.trace.arrays import I8, U1, Ints
from perwiz.trace.tables import ANY, NONE, Messages, Requests, Unfinished

Rows = NDArray[Any]
"""A structured array."""
_SENDS = {**dict.fromkeys(("call", "request", "peer", "tag", "comm"), "i4"), "mode": "u1", "bytes": "i8"}
_RECEIVES = {**dict.fromkeys(("call", "done", "peer", "tag", "comm"), "i4"), "bytes": "i8"}
"""Columns of the kernel that ties, behind `send_` and `receive_`."""
_SPARSE, _LEAST = 16, 1 << 12
"""Requests are numbered from 0 on, and few are not recorded: a number above so many per request, and so many more, is damaged."""


def _columns(dtypes: dict[str, str], rows: int) -> dict[str, NDArray[Any]]:
    return {name: np.empty(rows, dtype) for name, dtype in dtypes.items()}


class Traffic:
    """The requests and ends of messages of all processes: each fills its rows through a Share, then `finish` matches them."""

    def __init__(self, counts: Rows) -> None:
        """`counts`: per process a TRAFFIC; its tests are how many there are at most."""
        self._counts = counts
        self._begins = np.zeros_like(counts).view(np.recarray)
        for name in ("sends", "receives", "requests", "tests"):
            self._begins[name] = np.cumsum(counts[name]) - counts[name]
        sends, receives, requests, tests = (int(counts[name].sum()) for name in ("sends", "receives", "requests", "tests"))
        self._sends, self._receives = _columns(_SENDS, sends), _columns(_RECEIVES, receives)
        self._requests = _columns({"posted_by": "i4", "completed_by": "i4", "cancelled": "u1"}, requests)
        self._tests = _columns({"test_call": "i4", "test_request": "i4"}, tests)

    def share(self, process: int) -> Share:
        """Return where a process puts its own."""
        columns = {f"send_{name}": column for name, column in self._sends.items()}
        columns |= {f"receive_{name}": column for name, column in self._receives.items()}
        last, requests = (int(self._counts[name][process]) for name in ("last_request", "requests"))
        slots = min(last, _SPARSE * requests + _LEAST) + 1
        return Share(columns | self._requests | self._tests, self._begins[process : process + 1].copy(), slots)

    def finish(
        self,
        shares: list[Share],
        rank: NDArray[np.int32],
        enter: NDArray[np.int64] | None,
        tell: Callable[[matching.Ends, matching.Ends], None] | None = None,
        match: Callable[[matching.Ends, matching.Ends, U1], tuple[Messages, int]] | None = None,
    ) -> None:
        """Match messages. The shares are those of all processes, after their end; `rank` is that of each process.

        `enter` of every call is given where processes have several threads. `tell` is called with the sends and the receives before they
        are matched, and may write into these what their records do not tell. `match`, if given, finds the messages, and how many have ends
        of different size.
        """
        self.not_members = sum(share.not_members for share in shares)
        self.not_posted = sum(share.not_posted for share in shares)
        self.requests = Requests(**self._requests)
        self._tabulate_tests(shares)
        sends, mode = self._sent(np.repeat(rank, self._counts["sends"]))
        receives = self._received(np.repeat(rank, self._counts["receives"]))
        self._sends, self._receives, self._requests, self._tests = {}, {}, {}, {}
        self.sends, self.receives = len(sends.call), len(receives.call)
        if tell:
            tell(sends, receives)
        self.messages, self.size_differs = match(sends, receives, mode) if match else matching.messages(sends, receives, mode, enter=enter)
        self.matched = len(self.messages)

    def _tabulate_tests(self, shares: list[Share]) -> None:
        slices = [slice(begin, share.tests) for begin, share in zip(self._begins["tests"].tolist(), shares, strict=True)]
        call, request = (np.concatenate([self._tests[name][which] for which in slices]) for name in ("test_call", "test_request"))
        order = np.argsort(call, kind="stable")
        self.unfinished = Unfinished(call[order], request[order])

    def _sent(self, rank: NDArray[np.int32]) -> tuple[matching.Ends, NDArray[np.uint8]]:
        """Return the sends in program order, without those that were cancelled, and their modes."""
        columns: dict[str, NDArray[Any]] = {**self._sends, "rank": rank}
        if self.requests.cancelled.any():
            sent = (columns["request"] < 0) | (self.requests.cancelled[columns["request"]] == 0)
            columns = {name: column[sent] for name, column in columns.items()}
        mode, request, done = columns.pop("mode"), columns.pop("request"), columns["call"]
        later = np.flatnonzero(request >= 0)
        if len(later):
            done = done.copy()
            done[later] = self.requests.completed_by[request[later]]
        return matching.Ends(**columns, done=done), mode

    def _received(self, rank: NDArray[np.int32]) -> matching.Ends:
        """Return the receives that were completed, in the order they were posted."""
        columns: dict[str, NDArray[Any]] = {**self._receives, "rank": rank}
        completed = columns["done"] >= 0
        if not completed.all():
            columns = {name: column[completed] for name, column in columns.items()}
        return matching.Ends(**columns)


class Share:
    """What one process has of the traffic. Different shares can be filled at the same time: they write to different rows."""

    def __init__(self, columns: dict[str, NDArray[Any]], begin: Rows, slots: int) -> None:
        """`begin`: where it begins in each of the tables; its requests have numbers below `slots`."""
        self._columns, self._next = columns, begin
        self._slots: Rows = np.recarray(slots, kernel.SLOT)
        self._slots["request"] = self._slots["receive"] = NONE
        self._left: list[Rows] = []
        self.not_posted = 0

    def _tie(self, actions: Rows) -> Rows:
        """Return those that name requests not posted yet."""
        return actions[: kernel.tie(actions, self._slots, **self._columns, traffic=self._next)]

    def add(self, actions: Rows) -> None:
        """Add actions of the kernel, those of one thread after those of another; they are used up."""
        left = self._tie(actions)
        if len(left):
            self._left.append(left.copy())

    def end(self) -> None:
        """All actions were added: what was posted by a later thread is known now."""
        for actions in self._left:
            self.not_posted += int((self._tie(actions)["bits"] & records.DONE != 0).sum())
        self._left, self._slots = [], self._slots[:0].copy()

    @property
    def tests(self) -> int:
        """Where the tests of this process end."""
        return int(self._next["tests"][0])

    @property
    def not_members(self) -> int:
        """How many of its partners are in none of its communicators."""
        return int(self._next["strangers"][0])


class Untold:
    """Tells receives what no record does; counts whose sender or tag was assumed, and whose nobody knows."""

    def __init__(self, enter: I8) -> None:
        """`enter`: when each call was entered."""
        self._enter = enter
        self.assumed = self.unsaid = 0

    def tell(self, sends: matching.Ends, receives: matching.Ends) -> None:
        """Tell receives what no status does: of any sender or tag, those that other receives leave, as they were sent; sizes as sent."""
        unsized = np.flatnonzero(receives.bytes < 0)
        if not len(unsized):
            return
        wild = np.flatnonzero((receives.peer == ANY) | (receives.tag == ANY))
        if len(wild):
            self._assume(sends, receives, wild)
        found = matching.receive_of_each(sends, receives)
        taken = np.flatnonzero(found >= 0)
        size = np.maximum(receives.bytes, 0)
        size[found[taken]] = np.where(receives.bytes[found[taken]] < 0, sends.bytes[taken], size[found[taken]])
        receives.bytes[:] = size

    def _assume(self, sends: matching.Ends, receives: matching.Ends, wild: I8) -> None:
        """Write into receives whose sender or tag nobody tells those of the sends they would take in the order of time."""
        free = np.flatnonzero(matching.receive_of_each(sends, receives) < 0)
        free = free[np.argsort(self._enter[sends.call[free]], kind="stable")]
        zero = np.zeros(len(sends.call), "i4")
        for any_peer, any_tag in ((True, False), (False, True), (True, True)):
            rows = wild[((receives.peer[wild] == ANY) == any_peer) & ((receives.tag[wild] == ANY) == any_tag)]
            if not len(rows) or not len(free):
                continue
            sent: list[Ints] = [sends.peer, zero if any_peer else sends.rank, zero if any_tag else sends.tag, sends.comm]
            blank = np.zeros(len(receives.call), "i4")
            got: list[Ints] = [receives.rank, blank if any_peer else receives.peer, blank if any_tag else receives.tag, receives.comm]
            found = matching.fifo([column[free] for column in sent], [column[rows] for column in got])
            rows, of = rows[found >= 0], free[found[found >= 0]]
            receives.peer[rows], receives.tag[rows] = sends.rank[of], sends.tag[of]
            self.assumed += len(rows)
            free = np.delete(free, found[found >= 0])
        self.unsaid += len(wild) - self.assumed
