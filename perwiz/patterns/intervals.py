"""What each location did when: intervals of its time, each in one node of the call tree."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.kernels import pieces as timeline
from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.pattern import NOTHING, Instances, View
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8


@dataclasses.dataclass(frozen=True, eq=False)
class Intervals:
    """What each location did when: intervals of its time, each in one node of the call tree."""

    begin: I8
    """ns per location: its first instant."""
    first: I8
    """First interval of each location, and the end of the last."""
    first_wait: I8
    """First wait state of each location, and the end of the last."""
    start: I8
    """ns per interval."""
    node: I4
    """Node of the call tree per interval, -1 for waiting."""


def intervals(view: View, tree: CallTree, waits: Instances = NOTHING) -> Intervals:
    """Return what each location did when; calls with waits, at most one each, begin with these."""
    trace, times, regions = view.trace, view.trace.timeline, view.trace.regions
    size = len(trace.locations)
    number = np.arange(size + 1)
    first, first_region, first_wait = (np.empty(size + 1, "i8") for _ in range(3))
    first_region[:] = np.searchsorted(regions.location, number)
    first_wait[:] = np.searchsorted(view.location[waits.call], number)
    most = size + 2 * len(view.enter) + len(waits.call) + 2 * len(regions)
    start, node, begin = np.empty(most, "i8"), np.empty(most, "i4"), times.locations.enter
    calls = view.enter, view.leave, trace.calls.path, trace.calls.op, tree.leaf.reshape(-1, len(operations.OPS))
    waiting = np.ascontiguousarray(waits.call, "i4"), np.ascontiguousarray(waits.severity, "i8")
    entered = times.regions.enter, times.regions.leave, regions.path, regions.parent, regions.first_call, regions.end_call
    columns = (*calls, *waiting, first_region, *entered, tree.of_path)
    count = timeline.list_intervals(trace.first_calls, begin, *columns, first, start, node)
    return Intervals(begin, first, first_wait, start[:count], node[:count])
