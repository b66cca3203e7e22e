"""Device streams: which routine of the host launched what runs on them, and which one waits for it.

A stream does one thing after the other, in the order in which it was told to (CUDA C++ Programming Guide, "Streams"); how launches and
waits follow where nobody recorded them: F. Schmitt, R. Dietrich, G. Juckeland: Scalable critical-path analysis and optimization guidance
for hybrid MPI-CUDA applications, IJHPCA 2017.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.kernels import launches as kernel
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.tables import DONE, EVENT, LAUNCH, NONE, Links

KERNEL, TO_DEVICE, FROM_DEVICE, ON_DEVICE, COPY, OFFLOAD, GRAPH, DEVICE, STREAM, OF_EVENT, RECORD, STREAM_WAIT = range(12)
"""What a routine of the host is about. Up to GRAPH it launches that (COPY: one in any direction; OFFLOAD: a region and its copies; GRAPH:
nobody says how many kernels and copies, be it none); behind it it waits for all streams, for one, for an event; puts an event into a
stream; lets a stream wait for an event."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Columns of one length."""

    def take(self, rows: Ints | Mask | slice) -> Any:
        """Return some of the rows."""
        return type(self)(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Routines(Rows):
    """Calls of the host that concern devices. What is not known is -1."""

    call: I4
    process: I4
    location: I4
    enter: I8
    leave: I8
    what: U1
    blocks: Mask
    """Whether it may wait for what it launches."""
    queues: Mask
    """Whether it may return without waiting: it does not block, or only if it is told to."""
    stream: I4
    """Location of the stream that it names."""
    event: I8
    key: I8
    """What it shares with the kernel that it launches."""
    name: I4
    """The kernel that it launches, by a number for its name."""


@dataclasses.dataclass(frozen=True)
class Activities(Rows):
    """What runs on the streams, in order of (stream, time)."""

    before: I4
    """The call that ends when it begins."""
    behind: I4
    """The call that begins when it ends."""
    process: I4
    stream: I4
    begin: I8
    end: I8
    what: U1
    """KERNEL to ON_DEVICE."""
    key: I8
    name: I4


def link(routines: Routines, activities: Activities) -> tuple[Links, int]:
    """Return the links of launches, waits and events, and how many activities have none to the routine that launched them.

    An activity is tied to the blocking routine of the host in which it begins; else by what both share, by the stream that the routine
    names, by the name of the kernel, or by the direction of the copy: it takes the oldest routine left that was entered before it began and
    for which nothing waited that returned before. A copy to the device may begin behind its routine, which has put the data elsewhere.
    What is left was launched by graphs, in equal parts, or if that cannot be by the last one entered before it. What would break the order
    of its stream stays untied.
    The default stream, that of blocking copies, takes turns with others (CUDA C++ Programming Guide, "Implicit Synchronization").
    """
    found = [np.empty((3, 0), "i8")]
    untied = 0
    routines = routines.take(np.lexsort((routines.enter, routines.process)))
    activities = activities.take(np.argsort(activities.process, kind="stable"))
    for process in np.unique(activities.process):
        sides = [side.take(slice(*np.searchsorted(side.process, (process, process + 1)))) for side in (routines, activities)]
        if not len(sides[0].call):
            untied += len(sides[1].begin)
            continue
        one = _Process(*sides)
        found += [one.launches(), one.waits(), one.events(), one.defaults()]
        untied += int((one.launch < 0).sum())
    kind, cause, effect = np.concatenate(found, axis=1)
    return Links(kind.astype("u1"), cause.astype("i4"), effect.astype("i4")), untied


class _Process:
    """The devices of one process: its routines in order of entry, and what runs on its streams."""

    def __init__(self, routines: Routines, activities: Activities) -> None:
        self._routines, self._activities = routines, activities
        self.launch = np.full(len(activities.begin), NONE)
        """The routine that launched each activity, a row, or -1."""
        self._free = routines.what <= OFFLOAD
        self._streams = [slice(*np.searchsorted(activities.stream, (stream, stream + 1))) for stream in np.unique(activities.stream)]
        self._over = self._ends()
        """When what a routine launched has ended, at the latest."""
        self._tie_all()
        self._begun = np.where(self.launch >= 0, routines.enter[self.launch], activities.begin)
        """When each activity had been launched, at the latest: no later than those behind it on its stream."""
        for stream in self._streams:
            self._begun[stream] = np.minimum.accumulate(self._begun[stream][::-1])[::-1]

    def _ends(self) -> I8:
        """Return per routine when the next wait for all that was launched returns: of copies from the device too, if it has one stream."""
        routines = self._routines
        waits = routines.blocks & ~routines.queues & (routines.what != TO_DEVICE) & (len(self._streams) == 1)
        waits |= routines.what == DEVICE
        rows = np.flatnonzero(waits)
        leave = np.append(np.minimum.accumulate(routines.leave[rows][::-1])[::-1], np.iinfo("i8").max)
        return leave[np.searchsorted(rows, np.arange(len(waits)))]

    def _tie_all(self) -> None:
        """Tie activities to their launches, the surest first."""
        launched, ran = self._routines.what.astype("i8"), self._activities.what.astype("i8")
        kernel, runs = launched == KERNEL, ran == KERNEL
        for what in (OFFLOAD, FROM_DEVICE, COPY):
            self._tie_inside(what)
        self._free &= self._routines.queues | (launched == TO_DEVICE)
        self._tie(self._routines.key, self._activities.key)
        if (self._routines.what == GRAPH).any():
            self._tie(*(_both(side.name, side.stream, which) for side, which in ((self._routines, kernel), (self._activities, runs))))
        self._tie(np.where(kernel, self._routines.stream, NONE), np.where(runs, self._activities.stream, NONE))
        self._tie(np.where(kernel, NONE, self._routines.stream), np.where(runs, NONE, self._activities.stream))
        sure = self.launch >= 0
        self._tie(np.where(kernel, self._routines.name, NONE), np.where(runs, self._activities.name, NONE))
        left = runs & (self.launch < 0)
        if len(np.unique(self._activities.stream[left])) == 1:
            self._tie(np.where(kernel, 0, NONE), np.where(left, 0, NONE))
        self._tie(np.where(kernel | (launched >= COPY), NONE, launched), np.where(runs, NONE, ran))
        self._tie(np.where(launched == COPY, 0, NONE), np.where(runs, NONE, 0))
        self._tie_graphs()
        self._keep_order(sure)

    def _tie_inside(self, what: int) -> None:
        """Tie activities to the blocking routine in which they begin."""
        routines, activities = self._routines, self._activities
        rows = np.flatnonzero(routines.blocks & (routines.what == what))
        fits = {OFFLOAD: activities.what >= KERNEL, COPY: activities.what > KERNEL}.get(what, activities.what == what)
        last = np.searchsorted(routines.enter[rows], activities.begin, "right") - 1
        fits &= (last >= 0) & (self.launch < 0)
        ties = np.flatnonzero(fits)
        ties = ties[activities.begin[ties] < routines.leave[rows[last[ties]]]]
        self.launch[ties] = rows[last[ties]]
        self._free[self.launch[ties]] = False

    def _tie(self, launched: Ints, ran: Ints) -> None:
        """Tie activities to the oldest launches of the same key; -1 is none."""
        rows, ties = np.flatnonzero(self._free & (launched >= 0)), np.flatnonzero((self.launch < 0) & (ran >= 0))
        rows = rows[np.argsort(launched[rows], kind="stable")]
        ties = ties[np.lexsort((self._activities.begin[ties], ran[ties]))]
        kinds = (launched[rows].astype("i8"), ran[ties].astype("i8"))
        taken = np.empty(len(ties), "i4")
        kernel.oldest(kinds[0], self._routines.enter[rows], self._over[rows], kinds[1], self._activities.begin[ties], taken)
        launches = rows[taken[taken >= 0]]
        self.launch[ties[taken >= 0]] = launches
        self._free[launches] = False

    def _tie_graphs(self) -> None:
        """Tie what is left on each stream to the graphs launched into it, or if they name no stream to all."""
        routines, begin = self._routines, self._activities.begin
        launched = np.flatnonzero(routines.what == GRAPH)
        for stream in self._streams if len(launched) else ():
            graphs = launched[np.isin(routines.stream[launched], (NONE, self._activities.stream[stream.start]))]
            ties = stream.start + np.flatnonzero(self.launch[stream] < 0)
            if not len(graphs) or not len(ties):
                continue
            each, rest = divmod(len(ties), len(graphs))
            if rest or (begin[ties[::each]] < routines.enter[graphs]).any():
                last = np.searchsorted(routines.enter[graphs], begin[ties], "right") - 1
                self.launch[ties[last >= 0]] = graphs[last[last >= 0]]
            else:
                self.launch[ties] = np.repeat(graphs, each)

    def _keep_order(self, sure: Mask) -> None:
        """Untie activities that would have been launched before one in front of them on their stream; those that are sure stay."""
        for stream in self._streams:
            rows = stream.start + np.flatnonzero(self.launch[stream] >= 0)
            self.launch[rows[(self.launch[rows] < np.maximum.accumulate(self.launch[rows])) & ~sure[rows]]] = NONE

    def launches(self) -> I8:
        """Return (kind, cause, effect) of the links from routines to what they launched."""
        tied = np.flatnonzero(self.launch >= 0)
        return _links(LAUNCH, self._routines.call[self.launch[tied]], self._activities.before[tied])

    def waits(self) -> I8:
        """Return those from the end of activities to the routines that wait for it; what a thread has waited for before is left out."""
        pairs = [self._own(), *(self._of_one(what) for what in (STREAM, OF_EVENT))]
        pairs += self._of_all()
        wait, activity = (np.concatenate(side) for side in zip(*pairs, strict=True))
        good = (activity >= 0) & (self._activities.end[activity] <= self._routines.leave[wait])
        wait, activity = wait[good], activity[good]
        thread, stream = self._routines.location[wait], self._activities.stream[activity]
        order = np.lexsort((activity, wait, stream, thread))
        wait, activity, group = wait[order], activity[order], np.stack([thread, stream], 1)[order]
        new = np.ones(len(wait), bool)
        new[1:] = (np.diff(activity) != 0) | (np.diff(group, axis=0) != 0).any(axis=1)
        return _links(DONE, self._activities.behind[activity[new]], self._routines.call[wait[new]])

    def _of_all(self) -> list[tuple[I8, I8]]:
        """Return the waits for all streams, and what each waited for, stream by stream: if the wait before did not wait for the same."""
        waits = np.flatnonzero(self._routines.what == DEVICE)
        waits = waits[np.argsort(self._routines.location[waits], kind="stable")]
        other, pairs = np.diff(self._routines.location[waits], prepend=NONE) != 0, []
        for stream in self._streams:
            last = self._last(stream, waits)
            first = other | (np.diff(last, prepend=NONE) != 0)
            pairs.append((waits[first], last[first]))
        return pairs

    def _last(self, stream: slice, waits: Ints) -> I8:
        """Return per wait the last activity of a stream that was launched before it was entered and ended before it returned, or -1."""
        launched = np.searchsorted(self._begun[stream], self._routines.enter[waits], "right")
        ended = np.searchsorted(self._activities.end[stream], self._routines.leave[waits], "right")
        last = np.minimum(launched, ended) - 1
        return np.where(last < 0, NONE, stream.start + last)

    def _own(self) -> tuple[I8, I8]:
        """Return blocking routines and the activities that they launched."""
        own = np.flatnonzero((self.launch >= 0) & self._routines.blocks[self.launch])
        return self.launch[own], own

    def _of_one(self, what: int) -> tuple[I8, I8]:
        """Return the waits for a stream or an event, and what each waited for: if it does not tell, what ended last before it returned."""
        waits = np.flatnonzero(self._routines.what == what)
        stream, record = self._routines.stream[waits], self._records(waits)
        last = np.where(record >= 0, self._in_front(record), NONE)
        untold = (record < 0) & (stream < 0)
        for one in self._streams:
            candidate = self._last(one, waits)
            later = untold & (candidate >= 0) & ((last < 0) | (self._activities.end[candidate] > self._activities.end[last]))
            later |= (record < 0) & (stream == self._activities.stream[one.start])
            last[later] = candidate[later]
        return waits, last

    def _records(self, waits: Ints) -> I8:
        """Return the routine that put the event of each wait into a stream last, or -1."""
        event, rows = self._routines.event, len(self._routines.event)
        number = np.unique(event, return_inverse=True)[1] * rows
        record = np.flatnonzero((self._routines.what == RECORD) & (event >= 0) & (self._routines.stream >= 0))
        known = np.sort(number[record] + record)
        last = np.append(known, NONE)[np.searchsorted(known, number[waits] + waits) - 1]
        return np.where(last >= number[waits], last - number[waits], NONE)

    def _in_front(self, records: Ints) -> I8:
        """Return the last activity that was launched into the stream of an event before it, or -1."""
        out = np.full(len(records), NONE)
        for stream in self._streams:
            here = self._routines.stream[records] == self._activities.stream[stream.start]
            last = np.searchsorted(self._begun[stream], self._routines.enter[records[here]], "right") - 1
            out[here] = np.where(last < 0, NONE, stream.start + last)
        return out

    def defaults(self) -> I8:
        """Return those between the default stream, on which blocking copies run, and others, which take turns with it.

        A stream that does not, in one instance, was created not to.
        """
        launch, routines, activities = self.launch, self._routines, self._activities
        blocking = (launch >= 0) & (routines.blocks & ~routines.queues & (routines.what != OFFLOAD))[launch]
        pairs = [np.empty((2, 0), "i8")]
        default = [stream for stream in self._streams if blocking[stream].any()]
        for other in self._streams if len(default) == 1 else ():
            turns = np.concatenate([self._turns(default[0], other), self._turns(other, default[0])], axis=1)
            if other != default[0] and (activities.end[turns[0]] <= activities.begin[turns[1]]).all():
                pairs.append(turns)
        earlier, later = np.concatenate(pairs, axis=1)
        return _links(EVENT, activities.behind[earlier], activities.before[later])

    def _turns(self, earlier: slice, later: slice) -> I8:
        """Return (activity of one stream, activity of another launched behind it), the last before the first of each; an array of two."""
        rows = later.start + np.flatnonzero(self.launch[later] >= 0)
        last = np.searchsorted(self._begun[earlier], self._routines.enter[self.launch[rows]]) - 1
        first = np.diff(last, prepend=NONE) > 0
        return np.stack([earlier.start + last[first], rows[first]])

    def events(self) -> I8:
        """Return those from the end of activities to what another stream began after it had waited for that."""
        waits = np.flatnonzero((self._routines.what == STREAM_WAIT) & (self._routines.stream >= 0))
        record = self._records(waits)
        waits, record = waits[record >= 0], record[record >= 0]
        earlier, later = self._in_front(record), np.full(len(waits), NONE)
        for stream in self._streams:
            here = self._routines.stream[waits] == self._activities.stream[stream.start]
            next_one = stream.start + np.searchsorted(self._begun[stream], self._routines.enter[waits[here]], "right")
            later[here] = np.where(next_one < stream.stop, next_one, NONE)
        good = (earlier >= 0) & (later >= 0)
        earlier, later = earlier[good], later[good]
        good = self._activities.end[earlier] <= self._activities.begin[later]
        return _links(EVENT, self._activities.behind[earlier[good]], self._activities.before[later[good]])


def _both(name: Ints, stream: Ints, which: Mask) -> I8:
    """Return a number for name and stream of some rows, -1 where one of them is not known."""
    return np.where(which & (name >= 0) & (stream >= 0), (name.astype("i8") << 32) + stream, NONE)


def _links(kind: int, cause: Ints, effect: Ints) -> I8:
    return np.stack([np.full(len(cause), kind), cause, effect]).astype("i8")
