"""Which messages of a trace tell how long a message takes: not those that were under way while a process that they needed was computing.

A machine that makes progress only inside MPI calls moves a long message when both ends are in one; what arrives while its receiver
computes is only seen when that is back in MPI. Either way the time from send to receipt is that of the computation. And a call that
completes several requests returns with the last of them: of the others it tells only that they took no longer.
"""

from __future__ import annotations

import numpy as np

from perwiz.loggps.progress import first_after
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_OUTSIDE = 0.5
"""Part of a message's way that a process is outside MPI from which on the way tells what it computed."""


def telling(trace: Trace, ahead: F8) -> Mask:
    """Return which messages tell how long one of their size takes; `ahead` is by how many ns the clock of each receiver is ahead.

    Not one for half of whose way or more its receiver was outside MPI before it entered the completing call; nor one in whose way that
    call waited so long for another request, or for a sender that was outside MPI and came back.

        sender    Isend ............... Wait          sends at 0, its next call from 900 to 950
        receiver        Recv ~~~~~~~~~~~~~~~          enters at 100, returns at 940: 890 of 940 outside, and back: tells nothing

    But what is faster than all of its size, sender and receiver that tell does so, too: a message takes no longer than it took.
    """
    table, times, location = trace.messages, trace.timeline.calls, trace.calls.location
    send, done = table.send, table.receive_done
    sent, came = times.enter[send] + ahead, times.leave[done].astype("f8")
    way = came - sent
    share, (late, held) = trace.share, _outside(trace, sent, came - ahead)
    ready = np.full(len(trace.calls), -np.inf)
    np.maximum.at(ready, done, sent + held)
    own = (table.send_done != NONE) & (table.send_done != send) & (times.enter[done] - ahead <= times.leave[table.send_done])
    np.maximum.at(ready, table.send_done[own], (sent - ahead + late)[own])
    tells = share.told_by_receivers(np.maximum(late, ready[done] - sent) < _OUTSIDE * np.maximum(way, 1))
    channels = Numbers()
    number = channels.number(location[send].astype("i8") * len(trace.locations) + location[done], table.bytes)
    shortest = np.full(channels.count, -np.inf)
    shortest[number[tells]] = np.inf
    np.minimum.at(shortest, number[tells], way[tells])
    return np.asarray(tells | (way < shortest[number]))


def _outside(trace: Trace, sent: F8, came: F8) -> tuple[F8, F8]:
    """Return how long, ns per message, its receiver was outside MPI from when it was sent until it entered the completing call, and its
    sender from the send until it came; either time on the clock of that process.
    """
    location, share, gaps = trace.calls.location, trace.share, _time_in_gaps(trace)
    send, done = trace.messages.send, trace.messages.receive_done
    late, held = np.zeros((2, len(send)))
    here, own = (np.flatnonzero(share.has(location[end])) for end in (done, send))
    last = _last_entered(trace, location[done[here]], sent[here])
    left = trace.timeline.calls.leave[last]
    late[here] = gaps[done[here]] - gaps[last] - np.where(sent[here] > left, sent[here] - left, 0.0)
    held[own] = gaps[_last_entered(trace, location[send[own]], came[own])] - gaps[send[own]]
    return share.told_by_receivers(late), share.told_by_senders(held)


def _time_in_gaps(trace: Trace) -> F8:
    """Return per call how long its location was outside MPI between its first call and this one, ns."""
    times, location = trace.timeline.calls, trace.calls.location
    gap = np.append(0, np.where(location[1:] == location[:-1], times.enter[1:] - times.leave[:-1], 0))[: len(location)]
    total = np.cumsum(gap)
    return np.asarray((total - total[trace.first_calls[location]]).astype("f8"))


def _last_entered(trace: Trace, location: I4, time: F8) -> I8:
    """Return the last call that each of some locations has entered at a time, its first one if none yet."""
    later = first_after(trace.first_calls, trace.timeline.calls.enter, location, np.floor(time).astype("i8"))
    return np.maximum(later - 1, trace.first_calls[location])
