"""What the devices of each process do: kernels, communication that no kernel hides, and nothing, of which for want of a launch.

    efficiency      mean of kernels by the time: the product of
    load balance    mean of kernels by the most
    communication   most kernels by the most of kernels and communication that they do not hide
    supply          that by the time: what is left is idle

The streams of a process count as one device, which computes while any of them does. Of processes without devices their threads count.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.patterns.analysis.efficiency import part
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.tables import PROCESS
from perwiz.trace.trace import Trace

_IDLE, _LAUNCH = operations.OP["device_idle"], operations.OP["device_launch"]
_NEVER = np.int64(1 << 62)
Spans = tuple[I8, I8]
"""When stretches begin and end, ns."""


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
    of_device = np.zeros(len(trace.locations), bool)
    of_device[trace.calls.location[trace.calls.op == _IDLE]] = True
    told = bool(of_device.any())
    ends, process = trace.timeline.locations, trace.locations.process
    own = np.flatnonzero(of_device) if told else np.arange(len(process))
    own = own[np.argsort(process[own], kind="stable")]
    starts, stops = (np.searchsorted(process[own], process[first], side).tolist() for side in ("left", "right"))
    launches, rows = _launches(trace), []
    for start, stop, stretches in zip(starts, stops, _iterations(found, first), strict=True):
        rows.append(_device(trace, own[start:stop].tolist(), launches, stretches))
    kernels, exposed, unlaunched, steps = zip(*rows, strict=True)
    ranks, row = trace.locations.processes()
    begin, end = np.full(len(ranks), np.iinfo("i8").max), np.zeros(len(ranks), "i8")
    np.minimum.at(begin, row, ends.enter)
    np.maximum.at(end, row, ends.leave)
    of = row[first]
    busy, talking, late = (np.array(one, "i8") for one in (kernels, exposed, unlaunched))
    return Devices(process[first], end[of] - begin[of], busy, talking, late, np.stack(steps, axis=1), told)


def _iterations(found: Iterations | None, first: I8) -> list[Spans]:
    """Return when iterations begin and end, per process."""
    if found is None or not len(found):
        return [(np.empty(0, "i8"), np.empty(0, "i8"))] * len(first)
    return [(found.begin[:, location], found.stop[:, location]) for location in first.tolist()]


def _device(trace: Trace, own: list[int], launches: I8, steps: Spans) -> tuple[int, int, int, I8]:
    """Return the ns of kernels, of exposed communication and without a launch of some locations, and of kernels in some stretches."""
    kernels, talks = _computing(trace, own), _talking(trace, own)
    merged = union(kernels)
    busy, both = length(merged), length(union(_together(kernels, talks)))
    launches = _of(trace, own, launches)
    late = length(union(_together(kernels, talks, _unlaunched(trace, launches)))) - both if len(launches) else 0
    begin, stop = (_begun(trace, launches, instant) for instant in steps)
    return busy, both - busy, late, until(merged, stop) - until(merged, begin)


def _computing(trace: Trace, own: list[int]) -> Spans:
    """Return the stretches between the calls of some locations."""
    begins, ends = [], []
    times, at = trace.timeline.calls, trace.timeline.locations
    for location in own:
        rows = slice(trace.first_calls[location], trace.first_calls[location + 1])
        begins.append(np.append(at.enter[location], times.leave[rows]))
        ends.append(np.append(times.enter[rows], at.leave[location]))
    return np.concatenate(begins or [np.empty(0, "i8")]), np.concatenate(ends or [np.empty(0, "i8")])


def _talking(trace: Trace, own: list[int]) -> Spans:
    calls = np.concatenate([np.empty(0, "i8"), *(np.arange(*trace.first_calls[location : location + 2]) for location in own)])
    rows = calls[operations.OF_PROCESSES[trace.calls.op[calls]]]
    return trace.timeline.calls.enter[rows], trace.timeline.calls.leave[rows]


def _launches(trace: Trace) -> I8:
    """Return the links from a launch to where a stream is idle until then, rows, in order of these."""
    links, op = trace.links, trace.calls.op
    rows = np.flatnonzero((op[links.cause] == _LAUNCH) & (op[links.effect] == _IDLE))
    return rows[np.argsort(links.effect[rows], kind="stable")]


def _of(trace: Trace, own: list[int], launches: I8) -> I8:
    """Return those of the launches of all that go to some locations."""
    effect = trace.links.effect[launches]
    ends = [np.searchsorted(effect, trace.first_calls[location : location + 2]) for location in own] if len(launches) else []
    return np.concatenate([launches[:0], *(launches[start:stop] for start, stop in ends)])


def _unlaunched(trace: Trace, launches: I8) -> Spans:
    """Return the stretches in which streams are idle and wait for a launch."""
    links, times = trace.links, trace.timeline.calls
    begin = times.enter[links.effect[launches]]
    return begin, np.clip(times.enter[links.cause[launches]], begin, times.leave[links.effect[launches]])


def _begun(trace: Trace, launches: I8, instant: I8) -> I8:
    """Return when devices begin what is launched from some instants on: behind those where the host is ahead; they where none is told.

    Launched at 1 3 6, begun at 2 9 12; from 2 and 7 on: 9 and never.
    """
    if not len(launches):
        return instant
    launched, begun = trace.timeline.calls.enter[trace.links.cause[launches]], trace.timeline.calls.leave[trace.links.effect[launches]]
    order = np.argsort(launched, kind="stable")
    soonest = np.append(np.minimum.accumulate(begun[order][::-1])[::-1], _NEVER)
    return soonest[np.searchsorted(launched[order], instant)]


def _together(*spans: Spans) -> Spans:
    return np.concatenate([one[0] for one in spans]), np.concatenate([one[1] for one in spans])


def union(spans: Spans) -> Spans:
    """Return stretches in order, those that touch or overlap joined.

    0 to 10, 30 to 31 and 5 to 20: 0 to 20 and 30 to 31.
    """
    order = np.flatnonzero(spans[1] > spans[0])
    order = order[np.argsort(spans[0][order], kind="stable")]
    begin, end = spans[0][order], np.maximum.accumulate(spans[1][order])
    new = np.ones(len(begin), bool)
    new[1:] = begin[1:] > end[:-1]
    return begin[new], end[np.append(new[1:], True)[: len(new)]]


def length(spans: Spans) -> int:
    """Return how long stretches that do not overlap are together, ns."""
    return int((spans[1] - spans[0]).sum())


def until(spans: Spans, instant: I8) -> I8:
    """Return how much of stretches in order, which do not overlap, is before some instants, ns.

    Of 0 to 20 and 30 to 31 before 5, 25 and 40: 5, 20 and 21.
    """
    begin, end = spans
    before = np.append(0, np.cumsum(end - begin))
    place = np.searchsorted(begin, instant, "right")
    inside = np.append(end, 0)[place - 1] - instant
    return before[place] - np.where(place > 0, np.maximum(inside, 0), 0)
