"""The shortest times of messages by size: of ways, of sending calls, of receiving calls."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.loggps.fit.ways import Ways
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.spread.share import ALONE, Share
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


def points(place: I4, size: I8, time: F8, share: Share = ALONE) -> Points:
    """Return the shortest times of messages: of many places a tenth may be too fast. A longer message is not faster.

    All messages of a size that one place has are on one process. At most 64 sizes are kept: of those near each other the one of most
    messages.

    The shortest of n times that get longer by chance lies above the shortest possible by as much as the next one lies above it, on average,
    and varies by that (Robson and Whitlock, Biometrika 51, 1964). Of several places there is their difference, over the root of how many
    these are. A size of one message is as uncertain, in proportion, as others are; one that takes the time of a longer one as that.

        place      0   0   0   1   1
        size       8   8  64   8  64
        time      30  20  50  25  15    size 8: 15 (what 64 bytes take), 64: 15; of ten places and more, not the least of all
    """
    groups = _groups(place, size, time)
    groups = share.by_key(groups["size"], groups)
    every, beyond = _by_size(groups)
    every = share.rows(every)
    every = every[np.argsort(every["size"])]
    sizes, places, shortest = (np.ascontiguousarray(every[name]) for name in ("size", "places", "time"))
    spread = _median(share, beyond)
    part = np.hypot(every["next"] / np.maximum(shortest, 1.0) - 1, _NORMAL * spread / places**0.5)
    known = np.isfinite(part)
    off = np.where(known, part, np.median(part[known]) if known.any() else 0.0) * shortest
    kept = _kept(sizes, every["messages"])
    lowest = np.minimum.accumulate(shortest[kept][::-1])[::-1]
    own = np.where(shortest[kept] == lowest, np.arange(len(kept)), len(kept))
    of = kept[np.minimum.accumulate(own[::-1])[::-1]]
    typical = float(np.median(places)) if len(places) else 1.0
    return Points(sizes[kept], shortest[of], every["messages"][kept], off[of], spread, typical)


_OF_PLACE = np.dtype([("size", "i8"), ("time", "f8"), ("next", "f8"), ("messages", "i8")])
_OF_ALL = np.dtype([*_OF_PLACE.descr, ("places", "i8")])


def _groups(place: I4, size: I8, time: F8) -> NDArray[Any]:
    """Return the shortest time of each size and place, the next one, infinite without any, and how many messages there are.

    place   0   0   0   1
    size    8   8   8   8
    time   30  20  20  25     (8, 20, 20, 3) (8, 25, infinite, 1)
    """
    groups = Numbers()
    group = groups.number(place, size)
    out = np.zeros(groups.count, _OF_PLACE)
    least, following = np.full((2, groups.count), np.inf)
    taken = np.zeros(groups.count, "i8")
    np.minimum.at(least, group, time)
    shortest = np.flatnonzero(time == least[group])
    taken[group[shortest]] = shortest
    rest = np.ones(len(time), bool)
    rest[taken] = False
    np.minimum.at(following, group[rest], time[rest])
    out["size"], out["time"], out["next"] = groups.pairs[:, 1], least, following
    out["messages"] = np.bincount(group, minlength=groups.count)
    return out


def _by_size(groups: NDArray[Any]) -> tuple[NDArray[Any], F8]:
    """Return the row of each size that counts, given all rows of that, and by what part the times of all of them lie beyond it."""
    sizes, column, places = np.unique(groups["size"], return_inverse=True, return_counts=True)
    order = np.lexsort((groups["next"], groups["time"], column))
    first = np.cumsum(places) - places
    chosen = order[first + (_OUTLIERS * np.maximum(places - 1, 0)).astype("i8")]
    out = np.zeros(len(sizes), _OF_ALL)
    for name in ("size", "time", "next"):
        out[name] = groups[name][chosen]
    np.add.at(out["messages"], column, groups["messages"])
    out["places"] = places
    return out, np.abs(np.log(np.maximum(groups["time"], 1.0) / np.maximum(out["time"][column], 1.0)))


def _median(share: Share, values: F8) -> float:
    """Return the median of values from 0 on of all processes; 0 without any."""
    count = share.total(len(values))
    ends = [share.ranked(values.view("i8"), rank) for rank in ((count - 1) // 2, count // 2)] if count else [0]
    return float(np.median(np.array(ends, "i8").view("f8")))


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
    told = which & seen.tells & seen.home
    told = told & seen.sure if seen.share.any((told & seen.sure).any()) else told
    return points(seen.place[told], seen.bytes[told], np.maximum(seen.way[told], 1.0), seen.share)


@dataclasses.dataclass(frozen=True, eq=False)
class CallTimes:
    """How long the calls of messages last that send or receive them alone, ns; all columns as long as `Ways.row`."""

    send: F8
    """Infinite where the sending call sends several, or is of another process."""
    blocking_send: Mask
    sender: I4
    receive: F8
    """Infinite where the completing call completes more, or also sends, or is of another process."""
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
    which = which & blocking if seen.share.any((which & blocking).any()) else which
    return points(place[which], seen.bytes[which], time[which], seen.share)


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
        send=np.where(sends_one & seen.sent, took[send], np.inf),
        blocking_send=kind[send] == operations.SEND,
        sender=calls.location[send],
        receive=np.where(receives_one & seen.received, took[done], np.inf),
        blocking_receive=kind[done] == operations.RECV,
        receiver=calls.location[done],
    )
