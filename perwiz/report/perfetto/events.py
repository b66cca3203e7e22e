"""The events of one run in an order in which slices nest: location by location, by time, what has the same time from outside in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.kernels import nesting as kernel
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Mask, chunks
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.waits import Waits

END, REGION, CALL, WAIT, ARRIVED, RELEASED = range(6)
"""Kinds of events: the end of a slice, or the begin of one."""
SEND, RECEIVE, LATE_SEND, EARLY_RECEIVE, CAUSE, EFFECT, LATE_CAUSE, EARLY_EFFECT = range(6, 14)
"""Further kinds: an end of the arrow of a message, or of a link: its tail (SEND, EARLY_RECEIVE; CAUSE, EARLY_EFFECT) or head."""
_RESTS = (ARRIVED, RELEASED)
"""What a call does once it has all that it waits for."""
_SLICES_AT_ONCE = 1 << 17


@dataclasses.dataclass(frozen=True, eq=False)
class Events:
    """Equally long columns: kind; row of regions, of calls (CALL to RELEASED), messages or links; time, ns; location; its track, from 0."""

    kind: U1
    row: I4
    time: I8
    location: I4
    track: I8

    def __len__(self) -> int:
        return len(self.kind)

    def __getitem__(self, rows: slice | I8) -> Events:
        """Return some of the events."""
        return Events(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))


def batches(trace: Trace, timeline: Timeline, waits: Waits | None) -> Iterator[Events]:
    """Yield all events of a run, some whole locations at a time.

    Calls and waits are on track 0 of their location; so is a user region unless it ends, in time, inside another slice that it did not
    begin in. A message leaves right behind the begin of its call, and arrives right before the end of the one that completes it. What
    that one does once it has all its messages is a slice in it if it had to wait for them: Perfetto turns an arrow round whose head is
    in a slice that begins before the one of its tail. The arrow of a message received before it is sent leads the other way, as the tail
    of an arrow must come first. Links have arrows like those of messages.
    """
    calls, regions = trace.first_calls, np.searchsorted(trace.regions.location, np.arange(len(trace.locations) + 1))
    arrows = _Arrows(trace, timeline)
    begin = 0
    while begin < len(trace.locations):
        most = calls[begin] + regions[begin] + _SLICES_AT_ONCE
        end = max(begin + 1, int(np.searchsorted(calls + regions, most, "right")) - 1)
        own = slice(int(calls[begin]), int(calls[end])), slice(int(regions[begin]), int(regions[end]))
        yield from _batch(trace, timeline, waits, arrows, *own)
        begin = end


class _Arrows:
    """Finds the messages that some calls send, and those whose receive they complete; likewise links, as rows behind all messages."""

    def __init__(self, trace: Trace, timeline: Timeline) -> None:
        send = np.concatenate([trace.messages.send, trace.links.cause])
        done = np.concatenate([trace.messages.receive_done, trace.links.effect])
        self._messages, self._send, self._ends = len(trace.messages), send, {}
        sent, received = timeline.calls.enter[send], timeline.calls.leave[done]
        self._early = (received < sent) | ((received == sent) & (done < send))
        for kind, call in ((SEND, send), (RECEIVE, done)):
            order = np.argsort(call, kind="stable").astype("i4")
            self._ends[kind] = order, call[order]

    def of(self, kind: int, calls: I4) -> tuple[U1, I4, I8]:
        """Return kind and row, of messages or links, of each arrow that begins, or ends, in some calls, and which of them that is."""
        order, call = self._ends[kind]
        first = np.searchsorted(call, calls)
        count = np.searchsorted(call, calls, "right") - first
        which = np.repeat(np.arange(len(calls)), count)
        arrow = order[np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)]
        link = arrow >= self._messages
        kinds = np.where(self._early[arrow], kind + LATE_SEND - SEND, kind) + np.where(link, CAUSE - SEND, 0)
        return kinds.astype("u1"), arrow - np.where(link, self._messages, 0).astype("i4"), which

    def sent(self, timeline: Timeline, calls: slice) -> I8:
        """Return when the last of what each of a range of calls receives was sent, ns; far in the past if there is none."""
        order, call = self._ends[RECEIVE]
        received = slice(*np.searchsorted(call, (calls.start, calls.stop)).tolist())
        out = np.full(calls.stop - calls.start, np.iinfo("i8").min)
        np.maximum.at(out, call[received] - calls.start, timeline.calls.enter[self._send[order[received]]])
        return out


def _batch(trace: Trace, timeline: Timeline, waits: Waits | None, arrows: _Arrows, calls: slice, regions: slice) -> Iterator[Events]:
    slices, track = _slices(trace, timeline, _inside(trace, timeline, waits, arrows, calls), calls, regions), 0
    late = np.zeros(calls.stop - calls.start, bool)
    late[slices.row[np.isin(slices.kind, _RESTS)] - calls.start] = True
    while len(slices.kind):
        bounds, missed = _nested(slices)
        for piece in chunks(len(bounds)):
            yield _events(slices, bounds[piece], track, arrows, late, calls.start)
        slices, track = slices.take(np.flatnonzero(missed)), track + 1


@dataclasses.dataclass(frozen=True, eq=False)
class _Slices:
    """Equally long columns of slices of time, ordered so that what may lie in others stands behind them."""

    kind: U1
    row: I4
    location: I4
    enter: I8
    leave: I8

    def take(self, rows: I8) -> _Slices:
        """Return some of them."""
        return _Slices(*(np.ascontiguousarray(getattr(self, field.name)[rows]) for field in dataclasses.fields(self)))


_Inside = list[tuple[int, I8, I8, I8]]


def _inside(trace: Trace, timeline: Timeline, waits: Waits | None, arrows: _Arrows, calls: slice) -> _Inside:
    """Return (kind, which calls of a range, enter, leave) of the slices that lie in calls: their waits, and what they do afterwards."""
    enter, leave = timeline.calls.enter[calls], timeline.calls.leave[calls]
    waited = enter if waits is None else np.minimum(enter + waits.time[calls], leave)
    sent = arrows.sent(timeline, calls)
    arrived = np.minimum(np.maximum(waited, sent), leave - 1)
    rests, later = np.flatnonzero(waited > enter), np.flatnonzero((arrived > enter) & (sent > np.iinfo("i8").min))
    mpi = operations.MPI[trace.calls.op[calls][later]]
    ends = [(kind, later[which], arrived[later[which]], leave[later[which]]) for kind, which in ((ARRIVED, mpi), (RELEASED, ~mpi))]
    return [(WAIT, rests, enter[rests], waited[rests]), *ends]


def _slices(trace: Trace, timeline: Timeline, inside: _Inside, calls: slice, regions: slice) -> _Slices:
    """Return regions, calls and what lies in them, of a range of each."""
    location, times = trace.calls.location[calls], timeline.regions
    row = np.arange(calls.start, calls.stop, dtype="i4")
    own = np.arange(regions.start, regions.stop, dtype="i4")
    parts = [
        (REGION, own, trace.regions.location[regions], times.enter[regions], times.leave[regions]),
        (CALL, row, location, timeline.calls.enter[calls], timeline.calls.leave[calls]),
        *((kind, row[which], location[which], enter, leave) for kind, which, enter, leave in inside),
    ]
    kinds = np.repeat([part[0] for part in parts], [len(part[1]) for part in parts]).astype("u1")
    every = _Slices(kinds, *(np.concatenate([part[column] for part in parts]) for column in range(1, 5)))
    return every.take(np.lexsort((-every.leave, every.enter, every.location)))


def _nested(slices: _Slices) -> tuple[I8, U1]:
    """Return the begins (2 i) and ends (2 i + 1) of the slices that nest, in order, and a 1 for each that does not."""
    missed, out = np.zeros(len(slices.kind), "u1"), np.empty(2 * len(slices.kind), "i8")
    stack, fixed = np.empty(len(slices.kind), "i4"), (slices.kind != REGION).astype("u1")
    bounds = out[: kernel.nest(slices.location, slices.enter, slices.leave, fixed, missed, stack, out)]
    return bounds[missed[bounds >> 1] == 0] if missed.any() else bounds, missed


def _events(slices: _Slices, bounds: I8, track: int, arrows: _Arrows, late: Mask, first: int) -> Events:
    """Return events of slices, with the ends of arrows behind the begins of calls, and before the ends of what receives.

    `late` tells the calls, from number `first` on, in which that is a slice of its own.
    """
    slice_of, ends = bounds >> 1, (bounds & 1) == 1
    kind, row, time = slices.kind[slice_of], slices.row[slice_of], np.where(ends, slices.leave[slice_of], slices.enter[slice_of])
    events = Events(np.where(ends, END, kind).astype("u1"), row, time, slices.location[slice_of], np.full(len(slice_of), track))
    called = np.flatnonzero(kind == CALL)
    tails = called[~ends[called]]
    heads = np.concatenate([np.flatnonzero(np.isin(kind, _RESTS) & ends), called[ends[called] & ~late[row[called] - first]]])
    parts, keys = [events], [4 * np.arange(len(slice_of)) + 1]
    for end, holders, place in ((SEND, tails, 2), (RECEIVE, heads, 0)):
        kinds, message, which = arrows.of(end, row[holders])
        parts.append(dataclasses.replace(events[holders[which]], kind=kinds, row=message))
        keys.append(4 * holders[which] + place)
    joined = Events(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(Events)))
    return joined[np.argsort(np.concatenate(keys), kind="stable")]
