"""Which call of its receiver lets a message move, where the library makes progress only inside calls.

What held a sender is a matter of order as which send a wildcard receives: the calls that a run shows stay, whatever is asked of it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.clock.latency import distance
from perwiz.errors import TraceError
from perwiz.kernels import progressing as kernel
from perwiz.kernels.names import FREE
from perwiz.loggps.keys import ALL_PAIRS
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import I4, I8, U1, Mask
from perwiz.trace.operations import PROGRESSES
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import Part
from perwiz.trace.tables import NONE, Times
from perwiz.trace.trace import Timeline, Trace

_SCALE = 2
"""A wait is seen if it lasts so many times what a short receipt does."""
SHORT = 0.1
"""Part of times alike that are shorter than what is taken for the shortest: a few may be wrong."""


@remembered(4)
def movers(trace: Trace, timeline: Timeline, model: Model, recorded: Model | None = None, size: I8 | None = None) -> I4:
    """Return the call of its receiver that lets each message move once that is entered, row of calls per message; -1 if none has to.

    Unless progress is "in calls", that which posts the receive. Else that in which the receiver stays when the message is there and its
    receive posted, or that with which it next comes back from computing, if the sender was let go no earlier; no later than the call that
    completes the receive. Calls that only post do not let it. What is sent in place does not need the receive.

        receiver     Irecv 0 to 5 ......... Wait 90 to 99         sent at 10: the Wait
        receiver     Irecv 0 to 5 .. Recv 20 to 50 .. Wait        the Recv, of some other message

    If the run was recorded under another model, `recorded`, or with other sizes of messages than `size`, what held the senders of those
    that move otherwise here tells nothing: then it is the first such call that the receiver is in, or enters, when the message is there.
    Of a part these calls must be known there, see `moving`: raises TraceError, on all processes, where they are not.
    """
    table, share = trace.messages, trace.share
    if model.progress != "in calls" or not share.in_all("messages", len(table)):
        return table.receive
    mover = _movers(trace, timeline, model, recorded, size)
    if not isinstance(share, Part):
        return mover
    told = share.told_by_receivers(share.named(mover))
    if share.any(share.lacks(told)):
        others = "other calls than in the recorded run would let messages move, and which is known to one process alone"
        raise TraceError(f"{trace.path}: {others}; must be asked of one (without mpiexec)")
    return share.here(told).astype("i4")


def moving(trace: Trace, model: Model, recorded: Model | None = None, size: I8 | None = None) -> I8:
    """Return the numbers of the calls that `movers` names, where the clocks are those of the trace; of a whole one none."""
    share = trace.share
    if model.progress != "in calls" or not isinstance(share, Part) or not share.in_all("messages", 0):
        return np.zeros(0, "i8")
    return share.told_by_receivers(share.named(_movers(trace, trace.timeline, model, recorded, size)))


@remembered(4)
def _movers(trace: Trace, timeline: Timeline, model: Model, recorded: Model | None = None, size: I8 | None = None) -> I4:
    """Return the same; of a part of a trace for the messages that are received there."""
    table, times = trace.messages, timeline.calls
    seen = _seen(trace, timeline)
    receiver, calls = trace.calls.location[table.receive_done], seen.calls
    messages = sent(trace, model, np.arange(len(table)), size)
    in_place = model.is_in_place(messages)
    otherwise = _otherwise(trace, model, messages, recorded)
    there = times.enter[table.send] + model.request(messages)
    there = np.where(in_place, there, np.maximum(there, times.enter[table.receive]))
    within = np.minimum(calls.first_left_after(receiver, there), len(calls.row) - 1)
    enter, leave = (side[calls.row[within]] for side in (times.enter, times.leave))
    stays = (calls.location[within] == receiver) & (enter <= there) & (leave - there >= seen.least.waits)
    last = trace.share.most(int(times.leave[trace.share.calls].max(initial=0)))
    done = np.where(table.send_done == NONE, last, times.leave[table.send_done])
    mover = np.where(stays, calls.row[within], _came_back(trace, seen, receiver, there, done))
    if otherwise.any():
        mover = np.where(otherwise, _first(calls, receiver, there), mover)
    mover = np.where(mover == NONE, np.where(in_place, NONE, table.receive), mover)
    return np.minimum(mover, table.receive_done).astype("i4")


@dataclasses.dataclass(frozen=True, eq=False)
class _Seen:
    """What tells of a recording which calls let its messages move, whatever a model says."""

    least: Visible
    calls: Letting
    back: I4
    """Of these calls the positions of those with which a process comes back from computing."""
    before: I4
    """How many of those there are before each of these calls, and before the end."""
    alone: Mask
    """Per message: whether its sender waits for nothing else in the call that completes it."""


@remembered(1)
def _seen(trace: Trace, timeline: Timeline) -> _Seen:
    table, least = trace.messages, visible_waits(trace, timeline)
    shortest = trace.share.least(int(least.waits.min(initial=FREE)))
    found = progressing(trace, timeline, shortest)
    waits = np.bincount(table.send_done[table.send_done != NONE], minlength=len(trace.calls))
    waits += np.bincount(table.receive_done, minlength=len(trace.calls))
    comes = found.outside >= shortest
    before = np.append(np.int32(0), comes.cumsum(dtype="i4"))
    alone = trace.share.told_by_senders((table.send_done != NONE) & (waits[table.send_done] == 1))
    return _Seen(least, found.calls, np.flatnonzero(comes).astype("i4"), before, alone)


def _otherwise(trace: Trace, model: Model, messages: Sent, recorded: Model | None) -> Mask:
    """Return which messages hold their sender in another way than under the model that a run was recorded under, bool per message."""
    if recorded is None:
        return np.zeros(len(trace.messages), bool)
    if recorded.progress != model.progress:
        return np.ones(len(trace.messages), bool)
    before = sent(trace, recorded, np.arange(len(trace.messages)))
    other = model.is_synchronous(messages) != recorded.is_synchronous(before)
    return other | (model.is_in_place(messages) != recorded.is_in_place(before))


def _first(calls: Letting, receiver: I4, there: I8) -> I8:
    """Return the first call that each of some receivers leaves after its message is there, -1 if there is none."""
    row = np.minimum(calls.first_left_after(receiver, there), len(calls.row) - 1)
    return np.where((calls.location[row] == receiver) & (calls.leave[row] > there), calls.row[row], NONE)


def _came_back(trace: Trace, seen: _Seen, receiver: I4, there: I8, done: I8) -> I8:
    """Return the call with which each receiver came back from computing, after its message was there and no later than its send was done.

    It is -1 if there is none; of several the first, but the last where the sender waited for nothing else: so the others let nothing move.
    """
    calls, back = seen.calls, seen.back
    first, behind = (seen.before[calls.first_entered_after(receiver, instant)] for instant in (there, done))
    call = np.append(back, NONE)
    entered = calls.enter[call[np.minimum(first, len(back))]]
    alone = seen.alone & (trace.timeline.calls.enter[trace.messages.send_done] <= entered)
    return np.where(first < behind, np.append(calls.row, NONE)[call[np.where(alone, behind - 1, np.minimum(first, len(back)))]], NONE)


@dataclasses.dataclass(frozen=True, eq=False)
class Letting:
    """The calls that let messages of their process move, in the order of rows: those that wait, test or probe, no others."""

    times: Times
    """Of all calls."""
    row: I4
    location: I4
    first: I8
    """Per location: the position of its first, and one more."""

    @property
    def enter(self) -> I8:
        """When each is entered, ns."""
        return self.times.enter[self.row]

    @property
    def leave(self) -> I8:
        """When each is left, ns."""
        return self.times.leave[self.row]

    def first_entered_after(self, location: I4, time: I8) -> I8:
        """Return the position of the first of them that each of some locations enters later than a time.

        Where none is, of the first of the next location that has any, in the end their number.
        """
        return first_after(self.first, self.enter, location, time)

    def first_left_after(self, location: I4, time: I8) -> I8:
        """Return the position of the first of them that each of some locations leaves later; where none is, as above."""
        return first_after(self.first, self.leave, location, time)


@dataclasses.dataclass(frozen=True, eq=False)
class Progressing:
    """The calls that let messages of their process move, and how long it computed before; arrays as long."""

    calls: Letting
    outside: I8
    """How long the location was last outside of any calls for as long as a wait is seen, since the one before; if it was not, the longest
    that it was, ns. FREE before its first call."""
    back: I8
    """When that ended, ns."""


def progressing(trace: Trace, timeline: Timeline, least: int) -> Progressing:
    """Return the calls of a trace that let messages move; those that complete a receive do, whatever they are.

    `least` is from what length on a wait is seen, ns.

    calls      Wait 0 to 5, Irecv 50 to 51, Wait 52 to 60, least 10        outside 45, back at 50
    calls      Wait 0 to 5, Irecv 50 to 51, Wait 72 to 80, least 10        outside 21, back at 72
    """
    times, location = timeline.calls, trace.calls.location
    lets = PROGRESSES[trace.calls.op]
    lets[trace.messages.receive_done] = True
    row = np.flatnonzero(lets).astype("i4")
    outside = np.full(len(location), FREE)
    outside[1:] = np.where(location[1:] == location[:-1], times.enter[1:] - times.leave[:-1], FREE)
    last = np.empty(len(row), "i8")
    kernel.came_back(location, lets.view("u1"), np.where(outside < FREE, outside, 0), least, last)
    first = np.append(0, np.cumsum(np.bincount(location[row], minlength=len(trace.locations))))
    return Progressing(Letting(times, row, location[row], first), outside[last], times.enter[last])


@dataclasses.dataclass(frozen=True, eq=False)
class Visible:
    """From what length on a wait for a process is told from what messages cost."""

    pairs: U1
    """Class of pairs of each message."""
    least: I8
    """Of each class, ns."""

    @property
    def waits(self) -> I8:
        """Of each message, ns."""
        return self.least[self.pairs]


def visible_waits(trace: Trace, timeline: Timeline) -> Visible:
    """Return from what length on a wait of the receiver of each message is seen.

    A multiple of what short receipts of its class of pairs last once the message and the receiver are there.
    """
    table, times, location = trace.messages, timeline.calls, trace.calls.location
    pairs = distance(trace.locations, location[table.send], location[table.receive_done])
    lasts = times.leave[table.receive_done] - np.maximum(times.enter[table.receive_done], times.enter[table.send])
    least, here, share = np.ones(ALL_PAIRS + 1, "i8"), np.zeros(len(table), bool), trace.share
    here[share.messages] = True
    for pair in np.flatnonzero(share.reduced(np.bincount(pairs, minlength=ALL_PAIRS + 1), "sum")).tolist():
        least[pair] = max(1, int(_SCALE * share.quantile(lasts[here & (pairs == pair)], SHORT)))
    return Visible(pairs, least)


def first_after(first: I8, column: I8, location: I4, time: I8) -> I8:
    """Return per location and time asked for the first row of that location whose value is later; that behind its last if none is.

    `column[first[x]:first[x + 1]]` are the values of location x, ascending.
    """
    out = np.empty(len(time), "i8")
    kernel.first_after(first, column, location, time, first[:-1].copy(), out)
    return out
