"""Messages, and the logical messages of collectives, counted: how many are reversed, how many break the clock condition, by how much."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.clock.condition import inside, latest_so_far
from perwiz.clock.latency import Latencies, distance_of_clocks
from perwiz.clock.roles import roles
from perwiz.kernels.names import SAME, WITHIN
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask, chunks
from perwiz.trace.spread.instances import whole_instances
from perwiz.trace.trace import Timeline, Trace


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
        return Pairs(
            pairs=self.pairs + other.pairs,
            reversed=self.reversed + other.reversed,
            violating=self.violating + other.violating,
            displacement=self.displacement + other.displacement,
            worst=max(self.worst, other.worst),
        )


_PAIRS = 1 << 18
"""Pairs listed at a time."""
_NO_PAIRS = Pairs(0, 0, 0, 0, 0)


def _counted(lag: I8, least: I8) -> Pairs:
    """Return the pairs of these times from cause to effect and least times, ns."""
    reversals = -lag[lag < 0]
    return Pairs(
        pairs=len(lag),
        reversed=len(reversals),
        violating=int((lag < least).sum()),
        displacement=int(reversals.sum()),
        worst=int(reversals.max(initial=0)),
    )


def messages(trace: Trace, timeline: Timeline, latencies: Latencies) -> tuple[Pairs, Pairs]:
    """Return the messages between two locations, counted: from the sender's entry to the receiver's return, and from record to record."""
    table, times, location = trace.messages, timeline.calls, trace.calls.location
    within, by_calls, by_records = inside(trace, timeline), _NO_PAIRS, _NO_PAIRS
    here = np.zeros(len(table), bool)
    here[trace.share.messages] = True
    for chunk in chunks(len(table)):
        send, done = table.send[chunk], table.receive_done[chunk]
        between_two = (location[send] != location[done]) & here[chunk]
        send, done = send[between_two], done[between_two]
        lag = times.leave[done] - times.enter[send]
        least = latencies.by_class()[distance_of_clocks(trace.locations, location[send], location[done])]
        by_calls += _counted(lag, least)
        by_records += _counted(lag - within[chunk][between_two], least)
    return _of_all(trace, by_calls), _of_all(trace, by_records)


def _of_all(trace: Trace, here: Pairs) -> Pairs:
    """Return the pairs of all processes."""
    share = trace.share
    counts = np.array([here.pairs, here.reversed, here.violating, here.displacement], "i8")
    pairs, reversed_, violating, displaced = share.reduced(counts, "sum").tolist()
    return Pairs(pairs, reversed_, violating, displaced, share.most(here.worst))


def links(trace: Trace, timeline: Timeline, latencies: Latencies) -> Pairs:
    """Return the links between two locations, counted, from the entry of the cause to the return of the effect."""
    here, location = trace.share.links, trace.calls.location
    cause, effect = trace.links.cause[here], trace.links.effect[here]
    between_two = location[cause] != location[effect]
    cause, effect = cause[between_two], effect[between_two]
    pair_class = distance_of_clocks(trace.locations, location[cause], location[effect])
    return _of_all(trace, _counted(timeline.calls.leave[effect] - timeline.calls.enter[cause], latencies.by_class()[pair_class]))


def logical(trace: Trace, timeline: Timeline, latencies: Latencies) -> Pairs:
    """Return the logical messages of all collectives, counted; of N to N each member's to each other. No pair is ever listed."""
    whole = whole_instances(trace, timeline)
    return _of_all(trace, _logical(whole.trace, whole.timeline, latencies))


def _logical(trace: Trace, timeline: Timeline, latencies: Latencies) -> Pairs:
    prefix = operations.KIND[trace.collectives.op][trace.members.collective] == operations.PREFIX
    sends, receives = roles(trace)
    product = _products(trace, timeline, latencies, sends & ~prefix, receives & ~prefix)
    return product + _prefixes(trace, timeline, latencies, sends & prefix, receives & prefix)


def _products(trace: Trace, timeline: Timeline, latencies: Latencies, sends: Mask, receives: Mask) -> Pairs:
    """Return the pairs of instances in which each receiver waits for each sender but itself.

    Those of each class are those of a wider group less those of the narrower one inside it.
    """
    members, count = trace.members, len(trace.collectives)
    senders, receivers = (np.bincount(members.collective[role], minlength=count) for role in (sends, receives))
    both = sends & receives
    enter, leave = timeline.calls.enter[members.call], timeline.calls.leave[members.done]
    groups = _groups(trace)
    reversals, displacement = _late(groups[0], enter, leave, sends, receives)
    violating = 0
    by_group = latencies.by_class()[:WITHIN:-1] if len(groups) == 3 else latencies.by_class()[:SAME:-1]
    for group, narrower, least in zip(groups, [*groups[1:], None], by_group.tolist(), strict=True):
        violating += _late(group, enter + least, leave, sends, receives)[0]
        if narrower is not None:
            violating -= _late(narrower, enter + least, leave, sends, receives)[0]
    violating -= int((leave[both] < enter[both] + by_group[-1]).sum())
    worst = _worst(trace, np.where(sends, enter, enter.min(initial=0)), leave, receives)
    pairs = int((senders * receivers).sum() - both.sum())
    return Pairs(pairs, reversals, violating, displacement, worst)


def _worst(trace: Trace, enter: I8, leave: I8, receives: Mask) -> int:
    """Return how long before the last entry of its instance a receiver left, at most, ns."""
    if not len(enter):
        return 0
    last_cause = np.maximum.reduceat(enter, trace.collectives.first_member)[trace.members.collective]
    return max(int((last_cause - leave)[receives].max(initial=0)), 0)


def _groups(trace: Trace) -> list[I8]:
    """Return numbers per member, equal for members of one instance; of one instance and metahost; of one instance, metahost and node.

    Where processes have several locations, at last also of one instance and process.
    """
    location = trace.calls.location[trace.members.call]
    instance = trace.members.collective.astype("i8")
    metahost, node = (values - values.min(initial=0) for values in (trace.locations.metahost[location], trace.locations.node[location]))
    in_metahost = instance * (int(metahost.max(initial=0)) + 1) + metahost
    groups = [instance, in_metahost, in_metahost * (int(node.max(initial=0)) + 1) + node]
    process = trace.locations.processes()[1]
    count = int(process.max(initial=-1)) + 1
    return groups if count == len(process) else [*groups, instance * count + process[location]]


def _late(group: I8, enter: I8, leave: I8, sends: Mask, receives: Mask) -> tuple[int, int]:
    """Return how many pairs of a sender and a receiver of one group have the receiver leave before the sender enters, and by how much.

    Worked example, one group, sorted by time: receivers leave at 5 and 20, senders enter at 10, 20 and 40:
        time    5  10  20  20  40     receiving    x . . x .     senders so far    0 1 2 2 3     their times so far    0 10 30 30 70
        later senders  3 and 1 (what comes at the same time is not late), in all  70 - 0 - 3 * 5  and  70 - 30 - 1 * 20 ns late
    """
    member = np.concatenate((np.flatnonzero(sends), np.flatnonzero(receives)))
    receiving = np.arange(len(member)) >= sends.sum()
    time = np.where(receiving, leave[member], enter[member])
    order = np.lexsort((receiving, time, group[member]))
    time, receiving, group = time[order], receiving[order], group[member][order]
    entered, total = np.cumsum(~receiving), np.cumsum(np.where(receiving, 0, time))
    end = np.searchsorted(group, group[receiving], side="right") - 1
    later = entered[end] - entered[receiving]
    return int(later.sum()), int((total[end] - total[receiving] - later * time[receiving]).sum())


def _prefixes(trace: Trace, timeline: Timeline, latencies: Latencies, sends: Mask, receives: Mask) -> Pairs:
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
    out = dataclasses.replace(_NO_PAIRS, pairs=pairs)
    location = trace.calls.location[members.call]
    for cause, effect in _expanded(first, np.flatnonzero(receives & (last + latencies.across > leave))):
        cause, effect = cause[sends[cause]], effect[sends[cause]]
        pair_class = distance_of_clocks(trace.locations, location[cause], location[effect])
        out += dataclasses.replace(_counted(leave[effect] - enter[cause], latencies.by_class()[pair_class]), pairs=0)
    return out


def _expanded(first: I4, rows: I8) -> Iterator[tuple[I8, I8]]:
    """Yield (each row from the first of its instance to the one before it, the row), for some rows at a time.

    Worked example, rows 2 and 5 of instances that begin at 0 and 4:
        yields  0 1 4    and    2 2 5
    """
    count = rows - first[rows]
    share = np.cumsum(count) // _PAIRS
    for number in np.unique(share):
        later, counts = rows[share == number], count[share == number]
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        yield np.repeat(first[later], counts) + np.arange(counts.sum()) - begin, np.repeat(later, counts)
