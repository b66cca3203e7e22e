"""What who is late does while others wait for it: computes, and where; or is in calls. Of a chain of waits the first one counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.run import Run

_CHAIN, _HALF, _LEAST = 64, 0.5, 0.25
"""Waits of a chain that are followed; part of a wait that decides what it is for; part of the waiting below which nothing is told."""


@dataclasses.dataclass(frozen=True)
class Late:
    """What most of the waiting of some calls is for."""

    computes: bool
    """Whether the late process computes meanwhile; else it is in calls."""
    where: str
    """Innermost region that it computes in, empty outside of any; or the site of the calls."""
    process: int | None
    """Which process does that, where it is one for at least half of that waiting."""
    part: float
    """Of the waiting of all these calls."""
    chained: bool
    """Whether most of these calls wait for a process that waits itself: then the first one of the chain is told."""


def late(run: Run, segments: Segments, calls: I8) -> Late | None:
    """Return what most of the waiting of some calls, rows, is for; None if no kind of it makes up a fourth.

    Rank 1 receives from rank 0 and waits 100 ns, in 80 of which rank 0 computes in `solve`: it computes there, all of the waiting.
    """
    trace, waits = run.trace, run.waits
    calls = calls[(waits.time[calls] > 0) & (waits.partner[calls] >= 0)]
    if not len(calls):
        return None
    weight = waits.time[calls]
    last, chained = _first_of_chain(run, calls)
    partner, begin = waits.partner[last].astype("i8"), trace.timeline.calls.enter[last]
    end = np.maximum(np.minimum(begin + waits.time[last], trace.timeline.calls.enter[partner]), begin)
    computes = end - begin - _in_calls(trace, partner, begin, end) >= _HALF * (end - begin)
    region = _region_before(segments, partner)
    meanwhile = np.maximum(partner - 1, 0)
    site_of, sites = selectors.sites(trace)
    place = np.where(computes, region, len(trace.names) + 1 + site_of[meanwhile])
    sums = np.bincount(place, weight)
    most = int(sums.argmax())
    if sums[most] < _LEAST * weight.sum():
        return None
    here = place == most
    ranks, process = trace.locations.processes()
    by = np.bincount(process[trace.calls.location[partner[here]]], weight[here])
    by_computing = most <= len(trace.names)
    where = [*trace.names, ""][most] if by_computing else selectors.site(*sites[most - len(trace.names) - 1])
    return Late(
        computes=by_computing,
        where=where,
        process=int(ranks[by.argmax()]) if by.max() >= _HALF * by.sum() else None,
        part=float(sums[most] / weight.sum()),
        chained=bool(weight[chained & here].sum() >= _HALF * weight[here].sum()),
    )


def _first_of_chain(run: Run, calls: I8) -> tuple[I8, Mask]:
    """Return per call the wait that its own is for, itself if it waits for none, and whether that is another one.

    0 |--compute--| Send
    1 |   Recv (waits)   |-| Send
    2 |   Recv (waits)          |        for most of its time, rank 1 waits itself: that of rank 1 is the first of the chain
    """
    waits, times, location = run.waits, run.trace.timeline.calls, run.trace.calls.location
    waiting = np.flatnonzero((waits.time > 0) & (waits.partner >= 0))
    now = calls.astype("i8")
    for _ in range(_CHAIN):
        partner = waits.partner[now]
        place = np.searchsorted(waiting, partner) - 1
        before = waiting[np.maximum(place, 0)]
        begin, end = times.enter[now], times.enter[now] + waits.time[now]
        both = np.minimum(end, times.enter[before] + waits.time[before]) - np.maximum(begin, times.enter[before])
        goes_on = (place >= 0) & (location[before] == location[partner]) & (both >= _HALF * waits.time[now]) & (before != now)
        if not goes_on.any():
            break
        now = np.where(goes_on, before, now)
    return now, now != calls


def _in_calls(trace: Trace, partner: I8, begin: I8, end: I8) -> I8:
    """Return how long, ns, the process of each partner's call is in calls from one instant to another, up to that call."""
    times, location, (span, left, total) = trace.timeline.calls, trace.calls.location, _left(trace)
    first = np.minimum(np.searchsorted(left, location[partner] * np.int64(span) + begin, "right"), partner)
    early = np.where(first < partner, np.clip(begin - times.enter[first], 0, None), 0)
    return np.clip(total[partner] - total[first] - early, 0, end - begin)


def _left(trace: Trace) -> tuple[int, I8, I8]:
    """Return (more than any instant; when each call returns, ascending: so much later by location; how long those before it last), ns."""
    times = trace.timeline.calls
    span = int(times.leave.max(initial=0)) + 1
    total = np.concatenate(([0], np.cumsum(times.leave - times.enter)))
    return span, trace.calls.location.astype("i8") * span + times.leave, total


def _region_before(segments: Segments, calls: I8) -> I8:
    """Return per call the region, row of names, that its process computes longest in since its last call; behind the names outside."""
    trace = segments.trace
    gaps, which = np.unique(calls + trace.calls.location[calls], return_inverse=True)
    chosen = np.zeros(len(segments.edge), bool)
    chosen[gaps] = True
    rows = np.flatnonzero(chosen[segments.gap])
    rows = rows[np.lexsort((segments.length[rows], segments.gap[rows]))]
    last = np.searchsorted(segments.gap[rows], gaps, "right") - 1
    path = segments.path[rows[last]]
    return np.where(path == NONE, len(trace.names), np.append(trace.paths.region, 0)[path])[which.reshape(-1)].astype("i8")
