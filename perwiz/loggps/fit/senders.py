"""What held senders, and what did not: when each sender was let go, beside the times at which its receiver could have let it.

A message of a sender that comes at `sent` and is let go at `done` was free, if that was before its receiver did anything; was sent in
place, if its receiver only had to be in some call (Open MPI does so with what it neither copies nor announces); or waited for its
receive, as above the eager limit, and if the library makes progress only inside calls, for the next call of a receiver that had posted
it before.

    receiver      ..... computes .....| some call | computes ..| receives
    sender        |sent             called                   posted
    let go before `called`: free       before `posted`: in place       behind `posted`: held by it
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.latency import distance
from perwiz.kernels.names import FREE, SAME
from perwiz.loggps.pairs import SENDS_OF
from perwiz.loggps.progress import Letting, Progressing, progressing, visible_waits
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE, STANDARD
from perwiz.trace.trace import Trace

_WELL = 0.5
"""Part of a wait after which a sender that went on before did not wait, and that a receiver must have been outside of calls."""
_LONG, _USUAL = 2, 0.9
"""A message has had the time to be let go after so many times what held senders usually take to go on once they may; what is usual."""
_NEARLY = 0.9
"""Part of a wait to which tests must have found a message unsent."""


@dataclasses.dataclass(frozen=True, eq=False)
class Senders:
    """Standard messages between locations whose send is seen completed, and what each shows; arrays as long."""

    bytes: I8
    pairs: U1
    """Pair class, as `perwiz.clock.latency.distance` gives it."""
    sends: U1
    """Kind of the sending call: 0 blocking, 1 non-blocking, 2 a Sendrecv."""
    gone: Mask
    """Let go well before the receive was posted."""
    called: Mask
    """Those let go as the receiver came back to some call."""
    kept: Mask
    """Held until the receive was posted."""
    waited: Mask
    """The receive was posted late, and long before its receiver waited in calls that let messages move: what is sent in place is let go."""
    computed: Mask
    """The receive was posted in time; let go well before the receiver entered any call."""
    passed: Mask
    """Let go, before it was received, while the receiver computed, well before it came back; it may have been in a call since the send."""
    moved: Mask
    """Held until the receiver came back to some call, well after it had posted the receive."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Waits:
    """Times of messages, ns: when the send was entered, asked for and let go, and how late one is."""

    sent: I8
    asked: I8
    done: I8
    completes: I4
    """The call that completes the send."""
    tested: I8
    """When a test last found it unfinished; before `sent` if none did."""
    least: I8
    """The shortest wait that is seen, ns, and"""
    shortest: int
    """of all messages."""
    bytes: I8

    def take(self, rows: I8 | slice) -> _Waits:
        """Return some of them."""
        columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return _Waits(**{name: column if name == "shortest" else column[rows] for name, column in columns.items()})


@dataclasses.dataclass(frozen=True, eq=False)
class _Table:
    """Some messages of a trace, rows: of a part those with an end there, of which receivers and senders tell each other."""

    share: Share
    rows: I8
    count: int
    """Messages of the table."""
    received: I8 | slice
    """Those of the rows, by position, that are received here: all of a whole trace, without copies."""

    def told(self, tell: Callable[[NDArray[Any]], NDArray[Any]], values: Ints) -> Ints:
        """Return values, one per row, as those processes have them that tell; nobody may write to them."""
        if self.share.team is None:
            return values
        every = np.zeros(self.count, values.dtype)
        every[self.rows] = values
        return tell(every)[self.rows]

    def by_receivers(self, values: Ints) -> Ints:
        """Return values per row, given those of the rows received here."""
        if isinstance(self.received, slice):
            return self.told(self.share.told_by_receivers, values)
        every = np.zeros(len(self.rows), values.dtype)
        every[self.received] = values
        return self.told(self.share.told_by_receivers, every)

    def by_senders(self, values: Ints) -> Ints:
        """Return values of the rows received here, given those per row, which are right of those sent here."""
        return self.told(self.share.told_by_senders, values)[self.received]


def senders(trace: Trace) -> Senders:
    """Return what the senders of a trace show, of a part those whose messages are received there; its clocks must be treated.

    Time grows with messages and calls.
    """
    table, times, calls = trace.messages, trace.timeline.calls, trace.calls
    pairs = distance(trace.locations, calls.location[table.send], calls.location[table.receive_done])
    row = np.flatnonzero((table.mode == STANDARD) & (pairs != SAME) & (table.send_done != NONE) & (table.receive >= 0))
    mine = trace.share.has(calls.location[table.receive_done[row]])
    here = _Table(trace.share, row, len(table), slice(None) if mine.all() else np.flatnonzero(mine))
    every = _waits(trace, row, visible_waits(trace, trace.timeline).waits[row])
    row, waits = row[here.received], dataclasses.replace(every.take(here.received), tested=here.by_senders(every.tested))
    posted, receiver, sent = times.enter[table.receive[row]], calls.location[table.receive_done[row]], waits.sent
    late = posted - sent >= waits.least
    found = progressing(trace, trace.timeline, waits.shortest)
    inside, call = found.calls, _came_back(found, receiver, waits)
    back, outside = inside.enter[call], np.where(found.outside[call] < FREE, found.outside[call], 0)
    ready = _next_entered(inside, receiver, posted)
    last = _last_cause(trace, every, here.by_receivers(back), here.by_receivers(ready))
    last = _Last(*(here.by_senders(column) for column in last))
    returned = _held_until(waits, back, last) & (outside >= _WELL * (back - waits.asked))
    before = late & returned & (posted - waits.done >= waits.least)
    moved = returned & (found.back[call] - np.maximum(sent, posted) >= waits.least)
    kept = late & ~moved & (_held_until(waits, ready, last) | (returned & (waits.done >= posted)))
    held = late & (kept | moved)
    usual = _delay(trace.share, (waits.done - np.where(moved, back, ready))[held])
    waited = _waited(inside, receiver, posted, waits) - _waited(inside, receiver, sent, waits)
    return Senders(
        bytes=waits.bytes,
        pairs=pairs[row],
        sends=SENDS_OF[calls.op[table.send[row]]].astype("u1"),
        gone=(late & _well_before(waits, posted)) | before,
        called=before,
        kept=kept,
        waited=late & (waited >= np.maximum(waits.least, _LONG * usual)),
        computed=~late & _well_before(waits, _next_entered(inside, receiver, sent)),
        passed=(posted <= waits.asked)
        & (times.leave[table.receive_done[row]] > waits.asked)
        & _well_before(waits, _next_entered(inside, receiver, waits.asked)),
        moved=moved,
    )


def _waits(trace: Trace, row: I8, least: I8) -> _Waits:
    """Return the times of some messages; when they were tested of those sent here."""
    table, times = trace.messages, trace.timeline.calls
    send, completes = table.send[row], table.send_done[row]
    shortest = trace.share.least(int(least.min(initial=FREE)))
    asked, done = times.enter[completes], times.leave[completes]
    return _Waits(times.enter[send], asked, done, completes, _tested(trace, send), least, shortest, table.bytes[row])


def _tested(trace: Trace, send: I4) -> I8:
    """Return when each sending call was last found unfinished by a test, ns; for one of several requests, or without test, before all."""
    last, requests = np.full(len(trace.calls), -FREE), trace.requests
    alone = np.bincount(requests.posted_by, minlength=len(last)) == 1
    np.maximum.at(last, requests.posted_by[trace.unfinished.request], trace.timeline.calls.enter[trace.unfinished.call])
    return np.where(alone, last, -FREE)[send]


def _next_entered(inside: Letting, location: I4, time: I8) -> I8:
    """Return when each of some locations next enters a call that lets messages move, ns, or the time itself if it is in one; else FREE.

    calls of the location     10 to 20, 50 to 60
    time                      5  15  30  70
    entered                  10  15  50  FREE
    """
    call = inside.first_left_after(location, time)
    there = np.append(inside.location, NONE)[call] == location
    return np.where(there, np.maximum(np.append(inside.enter, FREE)[call], time), FREE)


def _came_back(found: Progressing, location: I4, waits: _Waits) -> I8:
    """Return with which call that lets messages move, by its position, each of some receivers last came back before its sender was let go.

    That is one before which it was outside of calls for as long as a wait is seen, else its first.

        calls of the receiver     10 to 20, 50 to 51, 52 to 90
        let go                    15  55  95, least 5
        came back at              10  50  50
    """
    last = np.maximum.accumulate(np.where(found.outside >= waits.shortest, np.arange(len(found.outside)), 0))
    return last[np.maximum(found.calls.first_entered_after(location, waits.done) - 1, found.calls.first[location])]


def _delay(share: Share, delays: I8) -> float:
    """Return how long held senders usually take to go on once they may, ns."""
    return share.quantile(delays, _USUAL) if share.any(len(delays)) else 0.0


def _waited(inside: Letting, location: I4, time: I8, waits: _Waits) -> I8:
    """Return how long each of some locations was in calls that let messages move until a time, ns, but for what all have in common.

    Calls that are shorter than any wait that is seen do not count: one that finds all it needs may return without letting anything move.

        calls of the location     10 to 20, 50 to 51, 60 to 90; least 5
        time                      15  55  70
        waited                     5  10  20
    """
    lasts = inside.leave - inside.enter
    lasts[lasts < waits.shortest] = 0
    before = np.append(0, np.cumsum(lasts))
    call = inside.first_entered_after(location, time)
    last = np.maximum(call - 1, 0)
    left = np.where(inside.location[last] == location, np.minimum(inside.leave[last] - time, lasts[last]), 0)
    return before[call] - np.maximum(left, 0)


def _well_before(waits: _Waits, instant: I8) -> Mask:
    """Return which senders were let go long before an instant that is late."""
    wait = instant - waits.asked
    return (wait >= waits.least) & (waits.done - waits.asked < _WELL * wait)


class _Last(NamedTuple):
    """What may have let go the call that completes a send, per message."""

    instant: I8
    """The last that let go a send of the call, ns."""
    bytes: I8
    """Of the largest of these."""
    sent: I8
    """When the last message was sent that the call receives, ns; FREE if it ends a collective."""


def _held_until(waits: _Waits, instant: I8, last: _Last) -> Mask:
    """Return which senders were held until an instant that is late, and let go then.

    What completes the send must have waited for it, or tested it, for most of the time, and must not wait for something else: another of
    its sends that was let go later, or is larger, a message that it receives, or a collective.
    """
    wait = instant - waits.sent
    waited, after = instant - waits.asked, waits.done - instant
    waiting = (waited >= waits.least) & (waited >= after)
    tested = waits.tested - waits.sent
    testing = (tested >= _NEARLY * wait) & (tested <= wait + waits.least) & (after <= wait)
    alone = (instant >= last.instant) & (waits.bytes >= last.bytes) & (instant - last.sent >= waits.least)
    return (wait >= waits.least) & (after >= 0) & (waiting | testing) & alone


def _last_cause(trace: Trace, waits: _Waits, instant: I8, other: I8) -> _Last:
    """Return what may have let go the call that completes each send, of those sent here; at either of two instants one may have been."""
    table, calls, completes = trace.messages, len(trace.calls), waits.completes

    def last(pairs: Iterable[tuple[Ints, I8]], besides: Ints) -> I8:
        """Return the largest value of the call that completes each, of pairs (calls, values); FREE of some calls besides."""
        out = np.full(calls, -FREE)
        for call, values in pairs:
            np.maximum.at(out, call, values)
        out[besides] = FREE
        return out[completes]

    done = trace.members.done
    let_go = ((completes[each <= waits.done], each[each <= waits.done]) for each in (instant, other))
    received = table.receive_done, trace.timeline.calls.enter[table.send]
    return _Last(
        last(let_go, besides=done[:0]),
        last([(completes, waits.bytes)], besides=done[:0]),
        last([received], besides=done[done != NONE]),
    )
