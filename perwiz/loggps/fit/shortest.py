"""The shortest times of messages by size: of ways, of sending calls, of receiving calls."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.loggps.fit.ways import Ways
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

SPAN = 4
"""Largest over smallest size that a slope needs."""
OFTEN = 10
"""Messages of a size from which on one of them was hardly disturbed."""
_OUTLIERS = 0.1
"""Share of places that may be too fast."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute deviations."""
_SIZES = 64
"""Sizes looked at, at most."""


@dataclasses.dataclass(frozen=True, eq=False)
class Points:
    """The shortest time of messages per size, sizes rising, ns, and how many messages tell it."""

    size: I8
    time: F8
    messages: I8
    off: F8
    """Standard errors of the times, ns: see `points`."""
    spread: float
    """By what part places differ (a process, a pair of them): half of them are nearer to the shortest time of a size."""
    places: float = 1.0
    """Of a size, typically."""

    def __getitem__(self, which: Mask) -> Points:
        return Points(self.size[which], self.time[which], self.messages[which], self.off[which], self.spread, self.places)

    @property
    def told(self) -> int:
        """Messages in all."""
        return int(self.messages.sum())

    @property
    def often(self) -> Mask:
        """Which sizes enough messages have for their shortest to count, or all if none has."""
        often = self.messages >= OFTEN
        return often if often.any() else np.ones(len(often), bool)

    @property
    def error(self) -> float:
        """By what part the shortest times may be wrong."""
        return self.spread / self.places**0.5

    @property
    def wide(self) -> bool:
        """Whether the sizes are far enough apart for a slope."""
        return len(self.size) > 1 and bool(self.size[-1] >= SPAN * max(int(self.size[0]), 1))


def points(place: I4, size: I8, time: F8) -> Points:
    """Return the shortest times of messages: of many places a tenth may be too fast. A longer message is not faster.

    At most 64 sizes are kept: of those near each other the one of most messages.

    The shortest of n times that get longer by chance lies above the shortest possible by as much as the next one lies above it, on average,
    and varies by that (Robson and Whitlock, Biometrika 51, 1964). Of several places there is their difference, over the root of how many
    these are. A size of one message is as uncertain, in proportion, as others are; one that takes the time of a longer one as that.

        place      0   0   0   1   1
        size       8   8  64   8  64
        time      30  20  50  25  15    size 8: 15 (what 64 bytes take), 64: 15; of ten places and more, not the least of all
    """
    groups = Numbers()
    group = groups.number(place, size)
    least = np.full(groups.count, np.inf)
    np.minimum.at(least, group, time)
    sizes, column, places = np.unique(groups.pairs[:, 1], return_inverse=True, return_counts=True)
    order = np.lexsort((least, column))
    first = np.cumsum(places) - places
    chosen = order[first + (_OUTLIERS * np.maximum(places - 1, 0)).astype("i8")]
    shortest = least[chosen]
    messages = np.bincount(column[group], minlength=len(sizes))
    beyond = np.abs(np.log(np.maximum(least, 1.0) / np.maximum(shortest[column], 1.0)))
    spread = float(np.median(beyond)) if len(beyond) else 0.0
    part = np.hypot(_next(group, time, chosen) / np.maximum(shortest, 1.0) - 1, _NORMAL * spread / places**0.5)
    known = np.isfinite(part)
    off = np.where(known, part, np.median(part[known]) if known.any() else 0.0) * shortest
    kept = _kept(sizes, messages)
    lowest = np.minimum.accumulate(shortest[kept][::-1])[::-1]
    own = np.where(shortest[kept] == lowest, np.arange(len(kept)), len(kept))
    of = kept[np.minimum.accumulate(own[::-1])[::-1]]
    return Points(sizes[kept], shortest[of], messages[kept], off[of], spread, float(np.median(places)) if len(places) else 1.0)


def _next(group: I4, time: F8, chosen: I8) -> F8:
    """Return the second shortest time of each chosen group, ns, not a number of one that has a single time."""
    which = np.full(int(group.max(initial=-1)) + 1, -1)
    which[chosen] = np.arange(len(chosen))
    number = which[group]
    rows = np.flatnonzero(number >= 0)
    rows = rows[np.lexsort((time[rows], number[rows]))]
    first = np.searchsorted(number[rows], np.arange(len(chosen)))
    several = np.bincount(number[rows], minlength=len(chosen)) > 1
    out = np.full(len(chosen), np.nan)
    out[several] = time[rows[first[several] + 1]]
    return out


def _kept(sizes: I8, messages: I8) -> I8:
    """Return the rows of the sizes to look at."""
    if len(sizes) <= _SIZES:
        return np.arange(len(sizes))
    logs = np.log2(np.maximum(sizes, 1))
    bins = np.minimum((logs - logs[0]) / (logs[-1] - logs[0]) * _SIZES, _SIZES - 1).astype("i8")
    order = np.lexsort((-messages, bins))
    return np.sort(order[np.unique(bins[order], return_index=True)[1]])


def ways(seen: Ways, which: Mask) -> Points:
    """Return the shortest ways of some messages that tell; of those of which clocks are sure, if there are any."""
    told = which & seen.tells
    told = told & seen.sure if (told & seen.sure).any() else told
    return points(seen.place[told], seen.bytes[told], np.maximum(seen.way[told], 1.0))


@dataclasses.dataclass(frozen=True, eq=False)
class CallTimes:
    """How long the calls of messages last that send or receive them alone, ns; all columns as long as `Ways.row`."""

    send: F8
    """Infinite where the sending call sends several."""
    blocking_send: Mask
    sender: I4
    receive: F8
    """Infinite where the completing call completes more, or also sends."""
    blocking_receive: Mask
    receiver: I4

    def sends(self, seen: Ways, which: Mask) -> Points:
        """Return the shortest times of calls that send one of some messages: of blocking ones, if there are any; may be none."""
        return _calls(self.sender, seen, self.send, which, self.blocking_send)

    def receives(self, seen: Ways, which: Mask) -> Points:
        """Return the shortest times of calls that receive one of some messages: of blocking ones, if there are any; may be none."""
        return _calls(self.receiver, seen, self.receive, which, self.blocking_receive)


def _calls(place: I4, seen: Ways, time: F8, which: Mask, blocking: Mask) -> Points:
    which = which & np.isfinite(time)
    which = which & blocking if (which & blocking).any() else which
    return points(place[which], seen.bytes[which], time[which])


def call_times(trace: Trace, seen: Ways) -> CallTimes:
    """Return how long the calls of messages between two locations last."""
    table, calls, times = trace.messages, trace.calls, trace.timeline.calls
    send, done = table.send[seen.row], table.receive_done[seen.row]
    took, kind = (times.leave - times.enter).astype("f8"), operations.KIND[calls.op]
    completed = np.bincount(table.receive_done, minlength=len(calls))
    completed += np.bincount(table.send_done[(table.send_done != NONE) & (table.send_done != table.send)], minlength=len(calls))
    sends_one = (np.bincount(table.send, minlength=len(calls))[send] == 1) & (kind[send] != operations.SENDRECV)
    receives_one = (completed[done] == 1) & (kind[done] != operations.SENDRECV)
    return CallTimes(
        send=np.where(sends_one, took[send], np.inf),
        blocking_send=kind[send] == operations.SEND,
        sender=calls.location[send],
        receive=np.where(receives_one, took[done], np.inf),
        blocking_receive=kind[done] == operations.RECV,
        receiver=calls.location[done],
    )
