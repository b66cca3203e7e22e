"""Which call of its receiver lets a message move, where the library makes progress only inside calls.

What held a sender is a matter of order as which send a wildcard receives: the calls that a run shows stay, whatever is asked of it.
"""

from __future__ import annotations

import numpy as np

from perwiz.clock.latency import distance
from perwiz.kernels.names import FREE
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

_SCALE = 2
"""A wait is seen if it lasts so many times what a short receipt does."""
SHORT = 0.1
"""Part of times alike that are shorter than what is taken for the shortest: a few may be wrong."""


def movers(trace: Trace, timeline: Timeline, model: Model) -> I4:
    """Return the call of its receiver that lets each message move once that is entered, row of calls per message; -1 if none has to.

    Unless progress is "in calls", that which posts the receive. Else that in which the receiver stays when the message is there and its
    receive posted, or that with which it next comes back from computing, if the sender was let go no earlier; no later than the call that
    completes the receive. What is sent in place does not need the receive.

        receiver     Irecv 0 to 5 ......... Wait 90 to 99         sent at 10: the Wait
        receiver     Irecv 0 to 5 .. Recv 20 to 50 .. Wait        the Recv, of some other message
    """
    table, times = trace.messages, timeline.calls
    if model.progress != "in calls" or not len(table):
        return table.receive
    location, least = trace.calls.location[table.receive_done], visible_waits(trace, timeline)
    messages = sent(trace, model, np.arange(len(table)))
    in_place = model.is_in_place(messages)
    there = times.enter[table.send] + model.request(messages)
    there = np.where(in_place, there, np.maximum(there, times.enter[table.receive]))
    within = np.minimum(first_after(trace, times.leave, location, there), len(trace.calls) - 1)
    stays = (trace.calls.location[within] == location) & (times.enter[within] <= there) & (times.leave[within] - there >= least)
    done = np.where(table.send_done == NONE, FREE, times.leave[table.send_done])
    mover = np.where(stays, within, _came_back(trace, timeline, there, done, int(least.min())))
    mover = np.where(mover == NONE, np.where(in_place, NONE, table.receive), mover)
    return np.minimum(mover, table.receive_done).astype("i4")


def _came_back(trace: Trace, timeline: Timeline, there: I8, done: I8, least: int) -> I8:
    """Return the call with which each receiver came back from computing, after its message was there and no later than its send was done.

    It is -1 if there is none; of several the first, but the last where the sender waited for nothing else: so the others let nothing move.
    """
    table, times, location = trace.messages, timeline.calls, trace.calls.location
    back = np.flatnonzero(times_outside(trace, timeline) >= least)
    receiver = location[table.receive_done]
    first, behind = (np.searchsorted(back, first_after(trace, times.enter, receiver, instant)) for instant in (there, done))
    call = np.append(back, NONE)
    waits = np.bincount(table.send_done[table.send_done != NONE], minlength=len(location))
    waits += np.bincount(table.receive_done, minlength=len(location))
    alone = (waits[table.send_done] == 1) & (times.enter[table.send_done] <= times.enter[call[np.minimum(first, len(back))]])
    return np.where(first < behind, call[np.where(alone, behind - 1, np.minimum(first, len(back)))], NONE)


def times_outside(trace: Trace, timeline: Timeline) -> I8:
    """Return how long a location was outside of calls before each of its calls, ns; FREE before the first."""
    times, location = timeline.calls, trace.calls.location
    out = np.full(len(location), FREE)
    out[1:] = np.where(location[1:] == location[:-1], times.enter[1:] - times.leave[:-1], FREE)
    return out


def visible_waits(trace: Trace, timeline: Timeline) -> I8:
    """Return from what length on a wait for a process is told from what messages cost, ns per message.

    A multiple of what short receipts of its class of pairs last once the message and the receiver are there.
    """
    table, times, location = trace.messages, timeline.calls, trace.calls.location
    pairs = distance(trace.locations, location[table.send], location[table.receive_done])
    lasts = times.leave[table.receive_done] - np.maximum(times.enter[table.receive_done], times.enter[table.send])
    out = np.ones(len(table), "i8")
    for pair in np.unique(pairs).tolist():
        out[pairs == pair] = max(1, int(_SCALE * np.quantile(lasts[pairs == pair], SHORT)))
    return out


def first_after(trace: Trace, column: I8, location: I4, time: I8) -> I8:
    """Return the first call of each of some locations whose time in a column (enter or leave of calls) is later.

    Where none is, the first of the next location that has calls, in the end their number.
    """
    if not len(column) or not len(time):
        return np.zeros(len(time), "i8")
    begin = int(min(column.min(), time.min()))
    span = int(max(column.max(), time.max())) - begin + 1
    key = trace.calls.location.astype("i8") * span + column - begin
    return np.searchsorted(key, location.astype("i8") * span + time - begin, side="right")
