"""When threads and streams of devices had nothing to do, and what their process did meanwhile.

A worker is idle from the end of its last team until the next is forked, a thread until it is created, a stream from the end of what it
did last until it is given more. Their process could have given them work then, so this time is told by the call paths of its first
thread: most is where that computes alone, the serial part of the program (Scalasca; in KOJAK, Wolf et al. 2006, the same).

    last team ends    join       fork          the worker begins
        |-------------|-----------|----------------|
          management      idle         fork (of a stream: launch latency)

A stream that also waits for another one does so from the launch until that lets it go.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.intervals import intervals
from perwiz.patterns.pattern import View
from perwiz.patterns.severity import Cells, dense
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import JOIN, NONE, PROCESS, STARTS
from perwiz.trace.trace import Trace


def routines(*names: str) -> Mask:
    """Return which ops are one of these routines of threads and devices, bool per op."""
    return np.isin(np.arange(len(operations.OPS)), [operations.OP[name] for name in names])


OF_TEAMS, OF_DEVICES = routines("omp_idle"), routines("device_idle")
OF_THREADS = routines("omp_idle", "pthread_idle", "thread_idle")
"""Per op: the call lasts while its thread, or its stream, has nothing to do."""
_TEAM_ENDS = routines("omp_fork", "omp_join")


@dataclasses.dataclass(frozen=True, eq=False)
class Idle:
    """Calls in which their locations have nothing to do, cut into parts; ns of the timeline."""

    call: I4
    joined: I8
    """When the team before was joined."""
    begun: I8
    """When what ends it was forked, created or launched: idle until then; the call's return if nothing ends it."""
    let: I8
    """When the last of other streams let it go, not before `begun`."""
    cause: I4
    """The call that forks, creates or launches; without one the last call of the process's first thread, -1 if that has none."""

    def where(self, chosen: Mask) -> Idle:
        """Return some of the calls."""
        return Idle(*(getattr(self, f.name)[chosen] for f in dataclasses.fields(self)))


def idle(view: View, chosen: Mask) -> Idle:
    """Return the calls of some of these routines (bool per op), in their order."""
    links, enter, leave = view.trace.links, view.enter, view.leave
    call = np.flatnonzero(chosen[view.op]).astype("i4")
    first = first_threads(view.trace)[view.location[call]]
    cause, last = np.full(len(enter), NONE, "i4"), view.trace.first_calls
    cause[call] = np.where((first != NONE) & (last[first + 1] > last[first]), last[first + 1] - 1, NONE)
    joined, begun, let = enter.copy(), leave.copy(), enter.copy()
    starts = np.isin(links.kind, STARTS)
    cause[links.effect[starts]] = links.cause[starts]
    begun[links.effect[starts]] = enter[links.cause[starts]]
    np.maximum.at(let, links.effect[~starts], enter[links.cause[~starts]])
    joins = (links.kind == JOIN) & OF_TEAMS[view.op[links.cause]]
    joined[links.cause[joins]] = leave[links.effect[joins]]
    begun = np.clip(begun, enter, leave)[call]
    joined = np.clip(joined[call], enter[call], begun)
    return Idle(call, joined, begun, np.clip(let[call], begun, leave[call]), cause[call])


def first_threads(trace: Trace) -> I8:
    """Return, per location, the location of its process's first thread, -1 if the trace has none."""
    process, row = trace.locations.process, np.flatnonzero(trace.locations.kind == PROCESS)
    if not len(row):
        return np.full(len(process), NONE)
    row = row[np.argsort(process[row], kind="stable")]
    nearest = row[np.minimum(np.searchsorted(process[row], process), len(row) - 1)]
    out = np.where(process[nearest] == process, nearest, NONE)
    out[row] = row
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """Some time of a location: windows in order, none overlapping; ns of the timeline."""

    begin: I8
    end: I8

    def before(self, time: I8) -> I8:
        """Return how much of them lies before each time, ns.

        windows 10-20 30-35, times 5 12 32      0 2 12
        """
        if not len(self.begin):
            return np.zeros(len(time), "i8")
        length = self.end - self.begin
        before, k = np.cumsum(length) - length, np.searchsorted(self.begin, time, side="right") - 1
        return np.asarray(np.where(k < 0, 0, before[k] + np.minimum(time - self.begin[k], length[k])), "i8")


def parallel_regions(view: View, location: int) -> Windows:
    """Return when a location was between a fork and its join, teams within teams left out; what is not joined lasts to its end."""
    call = np.arange(*view.trace.first_calls[location : location + 2])
    call = call[_TEAM_ENDS[view.op[call]]]
    forks = view.op[call] == operations.OP["omp_fork"]
    depth = np.cumsum(np.where(forks, 1, -1))
    begin, end = view.enter[call[forks & (depth == 1)]], view.leave[call[~forks & (depth == 0)]]
    unjoined = np.full(max(len(begin) - len(end), 0), view.trace.timeline.locations.leave[location])
    return Windows(begin, np.append(end[: len(begin)], unjoined))


def parallel_time(view: View, found: Idle) -> I8:
    """Return how long, ns, each of some calls is idle while its process's first thread is in a parallel region without it."""
    out, first = np.zeros(len(found.call), "i8"), first_threads(view.trace)[view.location[found.call]]
    for location in np.unique(first[first != NONE]).tolist():
        regions, rows = parallel_regions(view, location), np.flatnonzero(first == location)
        out[rows] = regions.before(found.begun[rows]) - regions.before(found.joined[rows])
    return out


def spread(view: View, tree: CallTree, found: Idle, parallel: bool = False) -> Cells:
    """Return how long calls are idle by what the first thread of their process did then: its call paths, their locations.

    What lies outside of the time of that thread stands at the calls themselves. With `parallel` only that in parallel regions.
    """
    trace, done = view.trace, intervals(view, tree)
    out = np.zeros((len(tree), len(trace.locations)), "i8")
    first, ends = first_threads(trace), trace.timeline.locations
    location, node = view.location[found.call], tree.of_calls(trace, found.call)
    for x in np.unique(location).tolist():
        rows = np.flatnonzero(location == x)
        begin, end, thread = found.joined[rows], found.begun[rows], int(first[x])
        outside = end - begin
        if thread != NONE:
            own = slice(done.first[thread], done.first[thread + 1])
            edge = np.append(done.start[own], max(ends.leave[thread], done.start[own][-1]))
            length = np.diff(Windows(begin, end).before(edge))
            outside = outside - (np.clip(end, edge[0], edge[-1]) - np.clip(begin, edge[0], edge[-1]))
            kept = np.diff(parallel_regions(view, thread).before(edge)) > 0 if parallel else length > 0
            np.add.at(out[:, x], done.node[own][kept], length[kept])
        if not parallel:
            np.add.at(out[:, x], node[rows], outside)
    return dense(out)
