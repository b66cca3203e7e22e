"""Messages, and the logical messages of collectives, counted: how many are reversed, how many break the clock condition, by how much."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.clock.condition import latest_so_far
from perwiz.clock.latency import Latencies, distance
from perwiz.clock.roles import roles
from perwiz.trace import operations
from perwiz.trace.arrays import Ints, Mask
from perwiz.trace.trace import Timeline, Trace

_PIECE = 1 << 18


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Pairs of a cause and its effect at two locations."""

    pairs: int
    reversed: int
    """Effect recorded before the cause."""
    violating: int
    """Effect recorded less than the minimum latency behind the cause; the reversed ones among them."""
    displacement: int
    """By how much the reversed ones are reversed, in all, ns."""
    worst: int
    """Largest reversal, ns."""

    @property
    def average(self) -> float:
        """Mean reversal of the reversed ones, ns."""
        return self.displacement / max(self.reversed, 1)

    def percent(self, count: int) -> float:
        """Return a number of pairs in percent of all."""
        return 100 * count / max(self.pairs, 1)

    def __add__(self, other: Pairs) -> Pairs:
        pairs, back, violating = self.pairs + other.pairs, self.reversed + other.reversed, self.violating + other.violating
        return Pairs(pairs, back, violating, self.displacement + other.displacement, max(self.worst, other.worst))


_NO_PAIRS = Pairs(0, 0, 0, 0, 0)


def _counted(lag: Ints, least: Ints) -> Pairs:
    """Return the pairs of these times from cause to effect and least times, ns."""
    back = -lag[lag < 0]
    return Pairs(len(lag), len(back), int((lag < least).sum()), int(back.sum()), int(back.max(initial=0)))


def by_class(mu: Latencies) -> Ints:
    """Return the minimum latencies by pair class, int64 ns."""
    return np.array([0, mu.node, mu.metahost, mu.across], "i8")


def messages(trace: Trace, timeline: Timeline, mu: Latencies) -> Pairs:
    """Return the messages between two locations, counted: from the entry of the sending call to the return of the receiving one."""
    out, table, times, at = _NO_PAIRS, trace.messages, timeline.calls, trace.calls.location
    for first in range(0, len(table), _PIECE):
        send, done = table.send[first : first + _PIECE], table.receive_done[first : first + _PIECE]
        send, done = send[at[send] != at[done]], done[at[send] != at[done]]
        out += _counted(times.leave[done] - times.enter[send], by_class(mu)[distance(trace.locations, at[send], at[done])])
    return out


def logical(trace: Trace, timeline: Timeline, mu: Latencies) -> Pairs:
    """Return the logical messages of all collectives, counted; of N to N each member's to each other. No pair is ever listed."""
    prefix = operations.KIND[trace.collectives.op][trace.members.collective] == operations.PREFIX
    sends, receives = roles(trace)
    product = _products(trace, timeline, mu, sends & ~prefix, receives & ~prefix)
    return product + _prefixes(trace, timeline, mu, sends & prefix, receives & prefix)


def _products(trace: Trace, timeline: Timeline, mu: Latencies, sends: Mask, receives: Mask) -> Pairs:
    """Return the pairs of instances in which each receiver waits for each sender but itself.

    Those of each class are those of a wider group less those of the narrower one inside it.
    """
    members, count = trace.members, len(trace.collectives)
    size = [np.bincount(members.collective[some], minlength=count) for some in (sends, receives)]
    both = sends & receives
    enter, leave = timeline.calls.enter[members.call], timeline.calls.leave[members.done]
    groups = _groups(trace)
    late, displacement = _late(groups[0], enter, leave, sends, receives)
    violating = 0
    for group, narrower, least in zip(groups, [*groups[1:], None], (mu.across, mu.metahost, mu.node), strict=True):
        violating += _late(group, enter + least, leave, sends, receives)[0]
        if narrower is not None:
            violating -= _late(narrower, enter + least, leave, sends, receives)[0]
    violating -= int((leave[both] < enter[both] + mu.node).sum())
    worst = _worst(trace, np.where(sends, enter, enter.min(initial=0)), leave, receives)
    return Pairs(int((size[0] * size[1]).sum() - both.sum()), late, violating, displacement, worst)


def _worst(trace: Trace, enter: Ints, leave: Ints, receives: Mask) -> int:
    """Return how long before the last entry of its instance a receiver left, at most, ns."""
    if not len(enter):
        return 0
    last = np.maximum.reduceat(enter, trace.collectives.first_member)[trace.members.collective]
    return max(int((last - leave)[receives].max(initial=0)), 0)


def _groups(trace: Trace) -> list[Ints]:
    """Return numbers per member, equal for members of one instance; of one instance and metahost; of one instance, metahost and node."""
    at = trace.calls.location[trace.members.call]
    whole = trace.members.collective.astype("i8")
    metahost, node = (values - values.min(initial=0) for values in (trace.locations.metahost[at], trace.locations.node[at]))
    part = whole * (int(metahost.max(initial=0)) + 1) + metahost
    return [whole, part, part * (int(node.max(initial=0)) + 1) + node]


def _late(group: Ints, enter: Ints, leave: Ints, sends: Mask, receives: Mask) -> tuple[int, int]:
    """Return how many pairs of a sender and a receiver of one group have the receiver leave before the sender enters, and by how much."""
    which = np.concatenate((np.flatnonzero(sends), np.flatnonzero(receives)))
    receiving = np.arange(len(which)) >= sends.sum()
    at = np.where(receiving, leave[which], enter[which])
    order = np.lexsort((receiving, at, group[which]))
    at, receiving, group = at[order], receiving[order], group[which][order]
    entered, total = np.cumsum(~receiving), np.cumsum(np.where(receiving, 0, at))
    end = np.searchsorted(group, group[receiving], side="right") - 1
    later = entered[end] - entered[receiving]
    return int(later.sum()), int((total[end] - total[receiving] - later * at[receiving]).sum())


def _prefixes(trace: Trace, timeline: Timeline, mu: Latencies, sends: Mask, receives: Mask) -> Pairs:
    """Return the pairs of instances in which each receiver waits for the senders before it; only those of late ones are looked at."""
    members = trace.members
    rows = np.flatnonzero(sends | receives)
    if not len(rows):
        return _NO_PAIRS
    enter, leave = timeline.calls.enter[members.call], timeline.calls.leave[members.done]
    first = trace.collectives.first_member[members.collective]
    before = np.concatenate(([0], np.cumsum(sends)))
    pairs = int((before[:-1] - before[first])[receives].sum())
    low = enter.min()
    last = np.full(len(members), low)
    last[rows] = latest_so_far(np.where(sends, enter, low), members.collective, rows)
    out = Pairs(pairs, 0, 0, 0, 0)
    at = trace.calls.location[members.call]
    for k, i in _expanded(first, np.flatnonzero(receives & (last + mu.across > leave))):
        k, i = k[sends[k]], i[sends[k]]
        found = _counted(leave[i] - enter[k], by_class(mu)[distance(trace.locations, at[k], at[i])])
        out += dataclasses.replace(found, pairs=0)
    return out


def _expanded(first: Ints, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield (each row from the first of its instance to the one before it, the row), for some rows at a time."""
    count = rows - first[rows]
    share = np.cumsum(count) // _PIECE
    for part in np.unique(share):
        some, counts = rows[share == part], count[share == part]
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[some], counts) + np.arange(counts.sum()) - begin, np.repeat(some, counts)
