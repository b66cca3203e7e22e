"""Which call of its receiver lets a message move, where the library makes progress only inside calls.

What held a sender is a matter of order as which send a wildcard receives: the calls that a run shows stay, whatever is asked of it.
"""

from __future__ import annotations

import numpy as np

from perwiz.clock.latency import distance
from perwiz.kernels.names import FREE
from perwiz.loggps.model import Model
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace

_SCALE = 4
"""A wait is seen if it lasts so many times what a short receipt does."""
_SHORT = 0.1
"""Part of the receipts that are shorter."""


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
    in_place = model.is_in_place(table.bytes, table.mode)
    there = times.enter[table.send] + model.request()
    there = np.where(in_place, there, np.maximum(there, times.enter[table.receive]))
    within = np.minimum(first_after(trace, times.leave, location, there), len(trace.calls) - 1)
    stays = (trace.calls.location[within] == location) & (times.enter[within] <= there) & (times.leave[within] - there >= least)
    back = _next_back(trace, timeline, location, there, int(least.min()))
    done = np.where(table.send_done == NONE, FREE, times.leave[table.send_done])
    comes = (back != NONE) & (times.enter[back] <= done)
    mover = np.where(stays, within, np.where(comes, back, np.where(in_place, NONE, table.receive)))
    return np.minimum(mover, table.receive_done).astype("i4")


def _next_back(trace: Trace, timeline: Timeline, location: I4, time: I8, least: int) -> I8:
    """Return the first call behind a time that each of some locations enters after it was outside for as long as `least`, or -1."""
    call = np.append(np.flatnonzero(times_outside(trace, timeline) >= least), NONE)
    out = call[np.searchsorted(call[:-1], first_after(trace, timeline.calls.enter, location, time))]
    return np.where((out != NONE) & (trace.calls.location[out] == location), out, NONE)


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
        out[pairs == pair] = max(1, int(_SCALE * np.quantile(lasts[pairs == pair], _SHORT)))
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
