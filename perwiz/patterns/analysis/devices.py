"""What the devices of each process do: kernels, communication that no kernel hides, and nothing, of which for want of a launch.

    efficiency      mean of kernels by the time: the product of
    load balance    mean of kernels by the most
    communication   most kernels by the most of kernels and communication that they do not hide
    supply          that by the time: what is left is idle

The streams of a process count as one device, which computes while any of them does. Of processes without devices their threads count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.kernels import lanes
from perwiz.patterns.analysis.efficiency import part
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, before
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.tables import PROCESS
from perwiz.trace.trace import Trace

_IDLE, _LAUNCH = operations.OP["device_idle"], operations.OP["device_launch"]
_NEVER = 1 << 62
_CALLS, _TIMES = 1 << 18, 16
"""Lanes are looked at together until they have so many calls, for little memory; but all in at most so many times."""
Spans = tuple[I8, I8, I8]
"""Stretches: whose, and when they begin and end, ns."""


@dataclasses.dataclass(frozen=True, eq=False)
class Devices:
    """What the device of each process does, ns, a row a process."""

    rank: I4
    time: I8
    """From the first to the last instant of the process."""
    kernels: I8
    exposed: I8
    """Communication while no kernel runs."""
    unlaunched: I8
    """Neither, and what comes next is not yet launched."""
    steps: I8
    """Kernels launched in each iteration, which are the steps of training: a row each, a column a process."""
    told: bool
    """Whether they are devices; else threads."""

    @property
    def idle(self) -> I8:
        """Neither kernel nor communication."""
        return self.time - self.kernels - self.exposed

    @property
    def load_balance(self) -> float:
        """Mean of kernels by the most."""
        return part(float(self.kernels.mean()), int(self.kernels.max()))

    @property
    def communication(self) -> float:
        """Most kernels by the most of kernels and exposed communication."""
        return part(int(self.kernels.max()), int((self.kernels + self.exposed).max()))

    @property
    def supply(self) -> float:
        """Most of kernels and exposed communication by the time."""
        return part(int((self.kernels + self.exposed).max()), int(self.time.max()))

    @property
    def efficiency(self) -> float:
        """Of all three."""
        return self.load_balance * self.communication * self.supply


def devices(trace: Trace, found: Iterations | None = None) -> Devices | None:
    """Return what devices do, with the kernels in each iteration, if these are given; None of a trace without processes."""
    first = np.flatnonzero(trace.locations.kind == PROCESS)
    if not len(first) or not len(trace.calls):
        return None
    ends, count = trace.timeline.locations, len(first)
    ranks, row = trace.locations.processes()
    own = row[first]
    lane = np.full(len(ranks), -1, "i8")
    lane[own] = np.arange(count)
    lane = lane[row]
    of_device = np.zeros(len(lane), bool)
    of_device[trace.calls.location[trace.calls.op == _IDLE]] = True
    told = bool(of_device.any())
    if told:
        lane[~of_device] = -1
    steps = 0 if found is None else len(found)
    busy, either, waiting, within = *np.zeros((3, count), "i8"), np.empty((steps, count), "i8")
    calls = np.zeros(count, "i8")
    np.add.at(calls, lane[lane >= 0], np.diff(trace.first_calls)[lane >= 0])
    for some in _by_calls(calls):
        of = np.where((lane >= some.start) & (lane < some.stop), lane - some.start, -1)
        kernels, talks, late, launches = _computing(trace, of), _talking(trace, of), *_launches(trace, of)
        joined = union(kernels)
        for out, spans in (busy, joined), (either, union(_together(kernels, talks))), (waiting, union(_together(kernels, talks, late))):
            out[some] = _length(spans, some.stop - some.start)
        if found is not None and steps:
            begin, stop = (until(joined, _begun(launches, side[:, first[some]])) for side in (found.begin, found.stop))
            within[:, some] = stop - begin
    start, end = np.full(len(ranks), np.iinfo("i8").max), np.zeros(len(ranks), "i8")
    np.minimum.at(start, row, ends.enter)
    np.maximum.at(end, row, ends.leave)
    return Devices(ranks[own], end[own] - start[own], busy, either - busy, waiting - either, within, told)


def _by_calls(calls: I8) -> Iterator[slice]:
    """Yield some lanes at a time, of about as many calls, given how many each has."""
    place = np.cumsum(calls) // max(_CALLS, calls.sum() // _TIMES)
    ends = np.append(np.flatnonzero(np.diff(place)) + 1, len(calls)).tolist()
    yield from map(slice, [0, *ends[:-1]], ends)


def _computing(trace: Trace, lane: I8) -> Spans:
    """Return the stretches between the calls of locations, each of its lane; of a lane -1 none."""
    own = lane >= 0
    rows = np.flatnonzero(own[trace.calls.location])
    times, at, behind = trace.timeline.calls, trace.timeline.locations, np.cumsum(np.diff(trace.first_calls)[own])
    place = np.append(0, behind[:-1])
    whose = np.insert(lane[trace.calls.location[rows]], place, lane[own])
    return whose, np.insert(times.leave[rows], place, at.enter[own]), np.insert(times.enter[rows], behind, at.leave[own])


def _talking(trace: Trace, lane: I8) -> Spans:
    """Return the calls of processes that such locations make."""
    rows = np.flatnonzero((lane >= 0)[trace.calls.location] & operations.OF_PROCESSES[trace.calls.op])
    return lane[trace.calls.location[rows]], trace.timeline.calls.enter[rows], trace.timeline.calls.leave[rows]


def _launches(trace: Trace, lane: I8) -> tuple[Spans, Spans]:
    """Return the stretches in which such streams are idle and wait for a launch; and of each launch when it is made and done."""
    links, op, times = trace.links, trace.calls.op, trace.timeline.calls
    whose = lane[trace.calls.location[links.effect]]
    rows = np.flatnonzero((op[links.cause] == _LAUNCH) & (op[links.effect] == _IDLE) & (whose >= 0))
    whose, made, cleared = whose[rows], times.enter[links.cause[rows]], times.leave[links.effect[rows]]
    begin = times.enter[links.effect[rows]]
    return (whose, begin, np.clip(made, begin, cleared)), (whose, made, cleared)


def _begun(launches: Spans, instants: I8) -> I8:
    """Return when devices begin what is launched from some instants on: behind those where the host is ahead; they where none is told.

    A row has an instant of each lane. Launched at 1 3 6, begun at 2 9 12; from 2 and 7 on: 9 and never.
    """
    lane, launched, begun = (column[np.lexsort(launches[1::-1])] for column in launches)
    soonest = np.append(begun, _NEVER)
    lanes.soonest(lane, soonest)
    first = np.searchsorted(lane, np.arange(instants.shape[1] + 1))
    place = first[:-1] + before(launched, first, instants)
    return np.where(first[:-1] == first[1:], instants, np.where(place < first[1:], soonest[place], _NEVER))


def _together(*spans: Spans) -> Spans:
    lane, begin, end = (np.concatenate(columns) for columns in zip(*spans, strict=True))
    return lane, begin, end


def union(spans: Spans) -> Spans:
    """Return stretches in order, those of a lane that touch or overlap joined.

    0 to 10, 30 to 31 and 5 to 20: 0 to 20 and 30 to 31.
    """
    there = spans[2] > spans[1]
    lane, begin, end = (column[there] for column in spans)
    order = np.lexsort((begin, lane))
    lane, begin, end = lane[order], begin[order], end[order]
    count = lanes.join(lane, begin, end)
    return lane[:count], begin[:count], end[:count]


def _length(spans: Spans, count: int) -> I8:
    """Return how long stretches that do not overlap are together, ns by lane."""
    out = np.zeros(count, "i8")
    np.add.at(out, spans[0], spans[2] - spans[1])
    return out


def until(spans: Spans, instants: I8) -> I8:
    """Return how much of stretches of its lane, in order, which do not overlap, is before each instant, ns; a row has one of each lane.

    Of 0 to 20 and 30 to 31 before 5, 25 and 40: 5, 20 and 21.
    """
    lane, begin, end = spans
    first = np.searchsorted(lane, np.arange(instants.shape[1] + 1))
    total = np.append(0, np.cumsum(end - begin))
    count = before(begin, first, instants, True)
    place = first[:-1] + count
    inside = np.append(end, 0)[place - 1] - instants
    return total[place] - total[first[:-1]] - np.where(count > 0, np.maximum(inside, 0), 0)
