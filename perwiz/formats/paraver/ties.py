"""Who of a process waits for whom, as its own communications tell: Extrae writes one from the routine that launches a kernel or a copy to
the stream, from a copy to the routine that waits for it, and from where a task was created to where it runs. A stream does what lies
between two of its idle times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from perwiz.formats import devices
from perwiz.formats.paraver import codes
from perwiz.formats.paraver.labels import Labels
from perwiz.formats.paraver.regions import RegionInstances
from perwiz.kernels import alog
from perwiz.trace import operations, streams
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.tables import DONE, EVENT, LAUNCH, NONE, STREAM, TASK, TASKWAIT, Links, Locations

_IDLE = operations.OP["device_idle"]
_HOST = np.array(devices.HOST)
_MOST, _EACH = 1 << 22, 64
"""Pairs of a routine and a stream that are looked at, and so many more per call: a file that has more is damaged."""


def direction(regions: alog.Records, location: I4, own: alog.Records) -> I4:
    """Return per region a row of devices.COPIES, -1 of what is no copy that a communication of its process ends or begins with.

    What a stream puts elsewhere is sent as it begins to copy, what it gets has come when it has copied. `location` is that of each region.
    """
    copies = np.isin(regions.number, [[*codes.REGIONS].index(kind) for kind in codes.TRANSFERS])
    place = np.concatenate([location, location, own.sender, own.receiver])
    _, number = distinct_pairs(place, np.concatenate([regions.enter, regions.leave, own.posted, own.came]))
    count, sent = len(regions), len(regions) * 2 + len(own)
    from_device, to_device = (np.isin(number[a : a + count], number[b : b + len(own)]) for a, b in ((0, 2 * count), (count, sent)))
    return np.where(copies & from_device, 0, np.where(copies & to_device, 1, NONE)).astype("i4")


class Ties:
    """The links that communications inside processes give, and those of waits for devices."""

    def __init__(self, column: Mapping[str, NDArray[Any]], first: I8, locations: Locations, made: alog.Records, own: alog.Records) -> None:
        """`column` are the calls, `made` more of them; `own` the communications, between rows of `locations`."""
        self._column, self._first, self._locations, self._made, self._own = column, first, locations, made, own
        self._stream = locations.kind == STREAM
        self.tied = np.zeros(len(own), bool)
        """Which of the communications tell something."""
        self.untied_launches = 0
        self._links = [Links.empty()]

    def links(self, regions: RegionInstances, labels: Labels) -> Links:
        """Return the links."""
        self._follow_devices(regions, labels)
        self._follow_told()
        return Links.joined(*self._links)

    def _call(self, location: I4, time: I8, ends: Mask | bool) -> I8:
        """Return the call of a location around a time, that which ends then rather than that which begins then, or the reverse; or -1.

        On a stream, which idles between all that it does, it ends, or begins, just then.
        """
        enter, leave = (np.append(self._column[name], NONE) for name in ("enter", "leave"))
        ends, stream = np.broadcast_to(ends, len(time)), self._stream[location]
        begun = np.where(stream, self._search(enter, location, time, "left"), self._search(enter, location, time, "right") - 1)
        out = np.where(ends, self._search(leave, location, time, "left"), begun)
        exact = time == np.where(ends, leave[out], enter[out])
        good = np.where(stream, exact, (enter[out] <= time) & (time <= leave[out]))
        return np.where(good & (out >= self._first[location]) & (out < self._first[location + 1]), out, NONE)

    def _search(self, times: I8, location: I4, time: I8, side: Literal["left", "right"]) -> I8:
        """Return where each time belongs among those of the calls of its location."""
        out = np.empty(len(time), "i8")
        for one, rows in _by(location):
            begin, end = self._first[one], self._first[one + 1]
            out[rows] = begin + np.searchsorted(times[begin:end], time[rows], side)
        return out

    def _follow_told(self) -> None:
        """Tie what communications tell that no routine of a device has told yet: it depends on the kinds of their ends what they are."""
        own, op = self._own, self._column["op"]
        cause, effect = self._call(own.sender, own.posted, False), self._call(own.receiver, own.came, True)
        good = ~self.tied & (cause >= 0) & (effect >= 0)
        good &= self._column["enter"][cause] <= self._column["leave"][effect]
        from_stream, to_stream = self._stream[own.sender], self._stream[own.receiver]
        creates, waits = op[cause] == operations.OP["omp_task_create"], op[effect] == operations.OP["omp_taskwait"]
        kinds = ((from_stream & to_stream, EVENT), (to_stream, LAUNCH), (from_stream, DONE), (creates, TASK), (waits, TASKWAIT))
        kind = np.select([which for which, _ in kinds], [kind for _, kind in kinds], NONE)
        good &= (kind >= 0) & (own.sender != own.receiver)
        self._links.append(Links(kind[good].astype("u1"), cause[good].astype("i4"), effect[good].astype("i4")))
        self.tied |= good

    def _follow_devices(self, regions: RegionInstances, labels: Labels) -> None:
        """Tie what runs on streams to the routines that launch it, by the communications, and routines to what they wait for."""
        column, made = self._column, self._made
        call = np.flatnonzero(np.isin(column["op"], _HOST))
        values, which = np.unique(made.comm[call], return_inverse=True)
        roles = [devices.role(labels.routine(value)) for value in values.tolist()]
        op, what = (np.array([role[k] for role in roles], "i4")[which] for k in (0, 1))
        call, what = call[op >= 0], what[op >= 0]
        ran = self._activities(regions)
        if not len(call) or not len(ran.begin):
            return
        if len(call) * np.count_nonzero(self._stream) > _MOST + _EACH * len(column["op"]):
            self.untied_launches = len(ran.begin)
            return
        location = column["location"][call]
        blocks = column["op"][call] == devices.COPY_OP
        none, key = np.full(len(call), NONE, "i4"), np.full(len(call), NONE)
        row, activity, number = self._keys(call, ran)
        key[row], ran.key[activity] = number, number
        given, gets = (self._stream[end[number]] for end in (self._own.sender, self._own.receiver))
        what[row] = np.where(given, streams.FROM_DEVICE, np.where(gets & (what[row] == streams.COPY), streams.TO_DEVICE, what[row]))
        event = np.where(np.isin(what, (streams.OF_EVENT, streams.RECORD, streams.STREAM_WAIT)), made.sent[call], NONE)
        process = self._locations.process[location]
        enter, leave = column["enter"][call], column["leave"][call]
        named = self._streams(process, made.stream[call].astype("i8"))
        about = what.astype("u1"), blocks, ~blocks, named, event, key, none
        found, self.untied_launches = streams.link(streams.Routines(call.astype("i4"), process, location, enter, leave, *about), ran)
        self._links.append(found)
        self.tied[number] = True

    def _keys(self, call: I8, ran: streams.Activities) -> tuple[I8, I8, I8]:
        """Return which routine and which activity each communication between a host and a stream ties, as rows, and its number."""
        own = self._own
        to_stream = self._stream[own.receiver]
        number = np.flatnonzero(to_stream != self._stream[own.sender])
        to_stream = to_stream[number]
        host = np.where(to_stream, own.sender[number], own.receiver[number])
        around = self._call(host, np.where(to_stream, own.posted[number], own.came[number]), ~to_stream)
        row = np.searchsorted(call, around)
        row[row == len(call)] = 0
        stream = np.where(to_stream, own.receiver[number], own.sender[number])
        time = np.where(to_stream, own.came[number], own.posted[number])
        activity = np.full(len(number), NONE)
        for one, rows in _by(stream):
            begin, end = np.searchsorted(ran.stream, (one, one + 1))
            nearest = begin + np.searchsorted(ran.begin[begin:end], time[rows], "right") - 1
            activity[rows] = np.where(nearest >= begin, nearest, NONE)
        good = (activity >= 0) & (call[row] == around) & (time <= ran.end[activity])
        return row[good], activity[good], number[good]

    def _activities(self, regions: RegionInstances) -> streams.Activities:
        """Return what streams did between their idle times."""
        get, table = self._column, regions.table
        idle = np.flatnonzero(get["op"] == _IDLE)
        follows = np.flatnonzero(get["location"][idle[1:]] == get["location"][idle[:-1]])
        before, behind = idle[follows], idle[follows + 1]
        name = np.full(len(get["op"]) + 1, NONE, "i4")
        top = np.flatnonzero((table.parent == NONE) & self._stream[table.location])
        name[table.first_call[top]] = regions.paths.region[table.path[top]]
        kinds = np.array([_what(one) for one in regions.names] + [streams.KERNEL], "u1")
        stream = get["location"][before]
        none = np.full(len(before), NONE, "i4")
        process, begin, end = self._locations.process[stream], get["leave"][before], get["enter"][behind]
        what = kinds[name[behind]]
        return streams.Activities(before.astype("i4"), behind.astype("i4"), process, stream, begin, end, what, none.astype("i8"), none)

    def _streams(self, process: I4, thread: I8) -> I4:
        """Return the location of a thread of each process, from 1, or -1."""
        table = self._locations
        _, number = distinct_pairs(np.append(table.process, process), np.append(table.thread + np.int64(1), thread))
        row = np.full(int(number.max(initial=0)) + 1, NONE, "i4")
        row[number[: len(table)]] = np.arange(len(table))
        return row[number[len(table) :]]


def _by(location: I4) -> Iterator[tuple[int, I8]]:
    """Yield each location that there is, and the rows of it."""
    order = np.argsort(location, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(location[order])) + 1) if len(order) else ():
        yield int(location[rows[0]]), rows


def _what(name: str) -> int:
    """Return what a region of a stream does."""
    return devices.OF_COPY.get(name, streams.ON_DEVICE if name.startswith(("cudaMemcpy", "hipMemcpy")) else streams.KERNEL)
