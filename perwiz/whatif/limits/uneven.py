"""Parallel steps in which one process computes longer than the others, told by the recorded times alone: candidates to be balanced."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors


@dataclasses.dataclass(frozen=True, eq=False)
class Uneven:
    """Steps that several processes take part in, and not alike: the k-th instance of a region on every process; one row per step."""

    trace: Trace
    region: I8
    """Row of names."""
    number: I8
    excess: F8
    """ns that the process which computes most is above the mean; where a region is in itself, what lies in both counts twice."""

    def regions(self, most: int) -> list[str]:
        """Return the regions, at most so many, those first whose steps have the largest sums; a name of several regions is the first's."""
        names = self.trace.names
        sums = np.bincount(self.region, self.excess, minlength=len(names))
        order = np.argsort(-sums, kind="stable").tolist()
        return [names[row] for row in order if sums[row] > 0 and names.index(names[row]) == row][:most]

    def steps(self, most: int) -> list[str]:
        """Return the largest steps, at most so many, as `REGION#3`; none of a region that has one, or whose text is a region's name."""
        several = np.flatnonzero(np.bincount(self.region, minlength=1)[self.region] > 1)
        rows = several[np.argsort(-self.excess[several], kind="stable")][:most]
        names = self.trace.names
        texts = [f"{names[region]}#{number}" for region, number in zip(self.region[rows], self.number[rows], strict=True)]
        return [text for text in texts if text not in names]


def uneven(trace: Trace) -> Uneven:
    """Return the uneven steps of a trace.

    Of rank 0 in a step for 90 ns, 30 of them in calls, and of rank 1 for 100 without calls: 100 is 20 above the mean. What streams of
    devices do has no steps: no process takes it over.
    """
    calls, regions = trace.timeline.calls, trace.timeline.regions
    inside = np.concatenate(([0], np.cumsum(calls.leave - calls.enter)))
    computed = regions.leave - regions.enter - (inside[trace.regions.end_call] - inside[trace.regions.first_call])
    region, number, step = selectors.all_steps(trace, np.arange(len(computed)))
    share, on_streams = trace.share, np.zeros(len(region), "i8")
    on_streams[step[trace.locations.kind[trace.regions.location] == STREAM]] = 1
    most = np.full(len(region), np.iinfo("i8").min)
    np.maximum.at(most, step, computed)
    count = share.reduced(np.bincount(step, minlength=len(region)), "sum")
    whole = share.reduced(np.bincount(step, computed, minlength=len(region)), "sum")
    excess = share.reduced(most, "max") - whole / np.maximum(count, 1)
    kept = (count > 1) & (excess > 0) & (share.reduced(on_streams, "max") == 0)
    return Uneven(trace, region[kept], number[kept], excess[kept])
