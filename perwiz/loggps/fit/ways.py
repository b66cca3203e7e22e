"""How long the messages of a trace were under way, clocks set right: what the fit of costs and protocol starts from.

The way of a message counts from the entry of its sending call to the return of the call that receives it. Clocks that are apart by a
constant make it longer one way and shorter the other, so the mean of both directions is that of right clocks; as clocks drift, of messages
at about the same time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.latency import distance
from perwiz.loggps.fit.evidence import telling
from perwiz.trace.arrays import F8, I4, I8, U1, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace

_PARTS, _PART = 16, 8
"""Parts of a run at most, and messages of one size between two processes in each of them at least, in one direction."""
_NEVER = 1 << 61
"""ns before and after all times."""
_REVERSED = 0.01
"""Share of messages of a pair in one direction, but at least one, that may come before they are sent where clocks are right."""
_APART = 3
"""Directions of a pair that differ by this factor or more differ for other reasons than clocks that were compared."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ways:
    """Messages between two locations, in the order of the table, and how long they were under way; all columns as long as `row`.

    Of a part those with an end there: of each pair of locations that has one there all messages, in both directions.
    """

    share: Share
    home: Mask
    """Whether this process looks at its pair: the one that has the first of the two locations."""
    sent: Mask
    """Whether it is sent here."""
    received: Mask
    """Whether it is received here."""
    row: I8
    """Of messages."""
    pairs: U1
    """Class of the pair of locations, as `perwiz.clock.latency.distance` numbers them."""
    ahead: F8
    """How far the receiver's clock is ahead of the sender's, ns."""
    way: F8
    """From the entry of the sending call to the return of the call that completes the receive, right clocks, ns."""
    tells: Mask
    """Whether it tells how long a message takes: nobody computed, and no other request was waited for, for half of its way."""
    sure: Mask
    """Whether its pair was heard in both directions, or its clocks are one."""
    compared: Mask
    """Whether its clocks are one, or were compared and are not wrong: else only the sum of both directions is sure."""
    place: I4
    """Number of the pair of locations and the part of the run."""
    bytes: I8


def ways(trace: Trace) -> Ways:
    """Return the ways of all messages between two locations; clocks may drift slowly."""
    table, times, location, share = trace.messages, trace.timeline.calls, trace.calls.location, trace.share
    row, place, up, count = _between(trace)
    a, b = location[table.send[row]], location[table.receive_done[row]]
    home = share.has(np.minimum(a, b))
    way, size = (times.leave[table.receive_done[row]] - times.enter[table.send[row]]).astype("f8"), table.bytes[row]
    wrong = _wrong(place, way, up, count)[place]
    forth, back = (_least(place, way, up == side, count) for side in (True, False))
    first = np.zeros(len(table))
    first[row] = np.where(wrong, _signed(_half(forth, back), place, up), 0.0)
    tells = telling(trace, first)[row] & (way > first[row])
    pairs = share.total(len(np.unique(place[home])))
    parts = min(max(share.total(int(home.sum())) // (2 * _PART * max(pairs, 1) * max(len(share.distinct(size)), 1)), 1), _PARTS)
    sent = times.enter[table.send[row]]
    begin, end = share.least(int(sent.min(initial=_NEVER))), share.most(int(sent.max(initial=-_NEVER)))
    place = Numbers().number(place, (sent - begin) * parts // (max(end - begin, 0) + 1))
    one = ~wrong & (trace.locations.node[a] == trace.locations.node[b]) & (trace.locations.node[a] >= 0)
    compared = one | (~wrong & trace.clocks_compared)
    ahead, sure = _ahead(share, _Heard(place, up, size, np.where(tells, way, np.inf)), first[row], one, compared)
    ends = share.has(a), share.has(b)
    return Ways(share, home, *ends, row, distance(trace.locations, a, b), ahead, way - ahead, tells, sure, compared, place, size)


def with_right_clocks(trace: Trace) -> Trace:
    """Return a trace in which clocks that are apart by constants are not: where messages come before they are sent; else as it is.

    How far two clocks are apart is half the difference of their shortest ways there and back; of others it is what lies between them.
    """
    table, times, location = trace.messages, trace.timeline, trace.calls.location
    row, place, up, count = _between(trace)
    way = (times.calls.leave[table.receive_done[row]] - times.calls.enter[table.send[row]]).astype("f8")
    if not trace.share.any(_wrong(place, way, up, count).any()):
        return trace
    first = np.unique(place, return_index=True)[1]
    ends = location[table.send[row[first]]], location[table.receive_done[row[first]]]
    pairs = np.empty(count, _AHEAD)
    pairs["a"], pairs["b"] = np.minimum(*ends), np.maximum(*ends)
    pairs["ahead"] = _half(*(_least(place, way, up == side, count) for side in (True, False)))
    pairs = trace.share.rows(pairs[trace.share.has(pairs["a"])])
    pairs = pairs[np.lexsort((pairs["b"], pairs["a"]))]
    offset = _offsets(pairs["a"], pairs["b"], pairs["ahead"], len(trace.locations))
    shift = np.rint(offset).astype("i8")
    calls, regions = _moved(times.calls, shift[location]), _moved(times.regions, shift[trace.regions.location])
    return dataclasses.replace(trace, timeline=Timeline(calls, regions, _moved(times.locations, shift), times.origin))


_AHEAD = np.dtype([("a", "i4"), ("b", "i4"), ("ahead", "f8")])


def _moved(times: Times, shift: I8) -> Times:
    return Times(times.enter - shift, times.leave - shift)


def _offsets(a: I4, b: I4, ahead: F8, count: int) -> F8:
    """Return how far each clock is ahead of that of the first location heard in both directions that is tied to it by messages, ns.

    a            0   1   3
    b            1   2   2
    b ahead of a 5  -2   7     clocks of 0 to 3 are ahead by 0, 5, 3 and -4
    """
    known = np.isfinite(ahead)
    a, b, ahead = a[known], b[known], ahead[known]
    out = np.full(count, np.nan)
    while True:
        onward, backward = np.isfinite(out[a]) & np.isnan(out[b]), np.isnan(out[a]) & np.isfinite(out[b])
        loose = np.isnan(out[a]) & np.isnan(out[b])
        if onward.any() or backward.any():
            out[b[onward]] = (out[a] + ahead)[onward]
            out[a[backward]] = (out[b] - ahead)[backward]
        elif loose.any():
            out[a[np.argmax(loose)]] = 0.0
        else:
            return np.nan_to_num(out)


def _between(trace: Trace) -> tuple[I8, I4, Mask, int]:
    """Return the messages between two locations, the number of the pair of each, which go up, and how many pairs there are."""
    location, table = trace.calls.location, trace.messages
    a, b = location[table.send], location[table.receive_done]
    row = np.flatnonzero(a != b)
    numbers = Numbers()
    place = numbers.number(np.minimum(a, b)[row], np.maximum(a, b)[row])
    return row, place, (a < b)[row], numbers.count


def _wrong(place: I4, way: F8, up: Mask, count: int) -> Mask:
    """Return which pairs have wrong clocks: messages in both directions, and in one more than a few that come before they are sent."""
    direction = 2 * place.astype("i8") + up
    messages = np.bincount(direction, minlength=2 * count).reshape(-1, 2)
    early = np.bincount(direction, way <= 0, 2 * count).reshape(-1, 2)
    return np.asarray((messages > 0).all(axis=1) & (early > np.maximum(1, _REVERSED * messages)).any(axis=1))


@dataclasses.dataclass(frozen=True, eq=False)
class _Heard:
    """Messages between two locations, and their ways, infinite of those that tell nothing."""

    place: I4
    up: Mask
    size: I8
    way: F8


def _ahead(share: Share, heard: _Heard, first: F8, one: Mask, compared: Mask) -> tuple[F8, Mask]:
    """Return how far the receiver's clock is ahead per message, and whether that is sure.

    Half the difference of both directions of a pair, each measured by how much longer than others of its size its shortest way is. Clocks
    of one node are one, and clocks that were compared are not wrong by as much as a way takes: there nothing is ahead.
    """
    groups = Numbers()
    up, group = heard.up, groups.number(heard.place, heard.size)
    forth, back = (_least(group, heard.way, up == side, groups.count) for side in (True, False))
    half = _half(forth, back)
    of_pair = _half(*_beyond_size(share, groups.pairs, forth, back))
    half = np.where(np.isfinite(half), half, of_pair[groups.pairs[:, 0]])
    apart = np.maximum(forth, back) >= _APART * np.minimum(forth, back)
    right = one | (compared & apart[group])
    ahead = _signed(half, group, up)
    return np.where(right, 0.0, np.where(np.isfinite(ahead), ahead, first)), np.isfinite(ahead) | right


def _beyond_size(share: Share, groups: I8, forth: F8, back: F8) -> tuple[F8, F8]:
    """Return per place how much longer than others of their size its shortest ways are, in each direction; groups are (place, size)."""
    place, size = groups.T
    sizes = share.distinct(size)
    every, places = np.ones(len(place), bool), int(place.max(initial=-1)) + 1
    mean = share.reduced(_least(np.searchsorted(sizes, size), (forth + back) / 2, every, len(sizes)), "min")
    known = np.isfinite(mean)
    expected = np.interp(size, sizes[known], mean[known]) if known.any() else np.zeros(len(size))
    return _least(place, forth - expected, every, places), _least(place, back - expected, every, places)


def _least(place: I4 | I8, time: F8, which: Mask, count: int) -> F8:
    """Return the shortest time per place of some messages, infinite where there is none."""
    out = np.full(count, np.inf)
    np.minimum.at(out, place[which], time[which])
    return out


def _half(forth: F8, back: F8) -> F8:
    with np.errstate(invalid="ignore"):
        return np.asarray((forth - back) / 2)


def _signed(value: F8, place: I4, up: Mask) -> F8:
    return np.where(up, value[place], -value[place])
