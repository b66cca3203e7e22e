"""A run in parts, one behind the other: iterations of the program, or windows of equal time; and what of it lies in each part.

Parts have bounds on every location: an iteration begins on each where that one begins it, a window at the same instant on all. What is
summed over parts is so to the ns: what crosses a bound is divided there.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from perwiz import words
from perwiz.trace.arrays import F8, I4, I8, Ints, before, places
from perwiz.trace.parts.course import Course, course
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.trace.resources import remembered
from perwiz.trace.tied import processors
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.stretch import Segments

WINDOWS = 100
"""Windows, where nobody says how many."""
MOST, _CELLS, _FEWEST = 500, 1 << 22, 20
"""Parts at most; of more iterations some neighbours are one. Parts times locations at most, unless that leaves too few."""
_HALF = 0.5
"""Part of the time that iterations must last to be the parts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The parts of a run, in order."""

    by: Literal["iterations", "windows"]
    names: tuple[str, ...]
    """What repeats: regions or routines of an iteration of the first process; none of windows."""
    why: str
    """Why windows, though nobody asked for them; empty else."""
    shown: bool
    """Whether the trace shows MPI_Init and MPI_Finalize of the program, between which windows lie; else in the whole run."""
    number: I8
    """Number of the first iteration, or window, of each, from 1, and one more."""
    cuts: I8
    """When they begin, ns by part and location, and when the last ends."""
    before: bool
    """Whether the first part lies before the first iteration."""
    after: bool
    """Whether the last part lies behind the last iteration."""
    open: bool
    """Whether the last iteration ends with its last call: what it computes behind that is not told from what follows the loop."""
    course: Course | None = None
    """How the times of iterations go on; None of windows."""

    def __len__(self) -> int:
        return len(self.cuts) - 1

    @property
    def counted(self) -> slice:
        """Which parts are iterations or windows."""
        return slice(int(self.before), len(self) - self.after)


def split(trace: Trace, windows: int | None = None) -> Split:
    """Return a run in its iterations, or in so many windows; in windows too if it has no iterations that last half of the time.

    Iterations count from the last return of MPI_Init to the last entry of MPI_Finalize, and so do windows; where the trace does not show
    that, the whole run.
    """
    start, stop, shown = span(trace)
    why = ""
    if windows is None:
        found = find(trace)
        own = found.processes
        lasts = float((found.stop[-1] - found.begin[0])[own].mean()) if len(found) else 0.0
        if len(found) and lasts >= _HALF * (stop - start):
            most = min(MOST, max(_FEWEST, _CELLS // max(1, len(trace.locations))))
            each = -(-len(found) // most)
            cuts = np.concatenate((found.begin[::each], found.stop[-1:]))
            return _iterations(trace, cuts, each, found, (start, stop))
        why = found.why or f"its {len(found)} iterations last {words.percent(lasts, stop - start)} of the time"
    count = min(WINDOWS if windows is None else windows, max(1, stop - start))
    bounds = start + np.arange(count + 1) * (stop - start) // count
    cuts = np.repeat(bounds[:, None], len(trace.locations), axis=1)
    return Split("windows", (), why, shown, np.arange(1, count + 2), cuts, False, False, False)


def _iterations(trace: Trace, cuts: I8, each: int, found: Iterations, ends: tuple[int, int]) -> Split:
    """Return iterations with what is before and behind them."""
    low, high = np.minimum(cuts[0], ends[0]), np.maximum(cuts[-1], ends[1])
    before, after = bool((low < cuts[0]).any()), bool((high > cuts[-1]).any())
    number = np.append(np.arange(1, len(found) + 1, each), len(found) + 1)
    cuts = np.concatenate((*([low[None]] * before), cuts, *([high[None]] * after)))
    return Split("iterations", found.body, "", True, number, cuts, before, after, found.kind == "calls", course(found))


def span(trace: Trace) -> tuple[int, int, bool]:
    """Return when the last process leaves MPI_Init and when the last enters MPI_Finalize, ns; and whether the trace shows both.

    Else the first and the last instant of the run.
    """
    calls, ends = trace.timeline.calls, trace.timeline.locations
    first, last = int(ends.enter.min(initial=0)), int(ends.leave.max(initial=0))
    if len(ends.enter):
        first = int(ends.enter.min())
    inits, finalizes = selectors.init_calls(trace), selectors.finalize_calls(trace)
    start = int(calls.leave[inits].max()) if len(inits) else first
    stop = int(calls.enter[finalizes].max()) if len(finalizes) else last
    return (start, stop, bool(len(inits) and len(finalizes))) if start < stop else (first, last, False)


@dataclasses.dataclass(frozen=True, eq=False)
class Pieces:
    """The computation of a run, cut at the bounds of parts: pieces in the order of locations, then of time."""

    segment: I4
    """Row of segments."""
    part: I4
    """-1 of what lies before all parts or behind them."""
    length: I8
    """ns, above 0."""
    location: I4


def pieces(segments: Segments, cuts: I8) -> Pieces:
    """Return the computation in parts.

    segments  aaaa--bb---cccc     cuts  |  |      |     pieces aa|aa of parts -1 0, bb of 0, c|ccc of 0 and -1
    """
    trace = segments.trace
    begin = begins(segments)
    end = begin + segments.length
    first = np.searchsorted(segments.location, np.arange(len(trace.locations) + 1))
    earlier = before(begin, first, cuts)
    part = places(earlier, first) - np.int32(1)
    at, kept = np.nonzero(earlier.T)
    row, instant = first[at] + earlier[kept, at] - 1, cuts[kept, at]
    crossed = end[row] > instant
    cut = np.stack([row[crossed], instant[crossed], kept[crossed]])
    behind = cut[0] + 1
    segment, part = np.insert(np.arange(len(begin), dtype="i4"), behind, cut[0]), np.insert(part, behind, cut[2])
    begin = np.insert(begin, behind, cut[1])
    last = np.append(segment[1:] != segment[:-1], True)
    length = np.where(last, end[segment], np.append(begin[1:], 0)) - begin
    part[part >= len(cuts) - 1] = -1
    there = length > 0
    segment = segment[there]
    return Pieces(segment, part[there], length[there], segments.location[segment])


def begins(segments: Segments) -> I8:
    """Return when each segment of computation begins in the timeline of its trace, ns."""
    trace = segments.trace
    calls, ends = trace.timeline.calls, trace.timeline.locations
    gap_begin = np.empty(len(trace.calls) + len(trace.locations), "i8")
    gap_begin[np.arange(len(trace.calls)) + trace.calls.location + 1] = calls.leave
    gap_begin[trace.first_calls[:-1] + np.arange(len(trace.locations))] = ends.enter
    total = np.cumsum(segments.length) - segments.length
    fresh = np.append(True, segments.gap[1:] != segments.gap[:-1])[: len(total)]
    start = np.maximum.accumulate(np.where(fresh, total, 0))
    return gap_begin[segments.gap] + total - start


def computed(pieces: Pieces, parts: int, locations: int) -> I8:
    """Return what each location computes in each part, int64 ns by part and location."""
    out = np.zeros((parts + 1) * locations, "i8")
    np.add.at(out, pieces.part.astype("i8") * locations + pieces.location, pieces.length)  # those of no part go to the last row
    return out.reshape(parts + 1, locations)[:parts]


def inside(trace: Trace, cuts: I8, lost: I8) -> I8:
    """Return how much of an int64 ns per call, that begins as the call does, lies in each part, by part and location.

    No call may lose more than it takes.
    """
    if not lost.any():
        return np.zeros((len(cuts) - 1, cuts.shape[1]), "i8")
    first, begun = trace.first_calls[:-1], _begun(trace, cuts)
    last = np.maximum(first + begun - 1, 0)
    here = np.clip(cuts - trace.timeline.calls.enter[last], 0, lost[last])
    total = np.append(0, np.cumsum(lost))
    return np.diff(np.where(begun > 0, total[last] - total[first] + here, 0), axis=0)


@remembered(1)
def _begun(trace: Trace, cuts: I8) -> I8:
    """Return how many calls of each location begin at or before each cut, by cut and location."""
    return before(trace.timeline.calls.enter, trace.first_calls, cuts, True)


def moved(trace: Trace, cuts: I8, enter: I8, leave: I8, begun: I8, ended: I8) -> F8:
    """Return when parts begin and end on a location in another timeline of the same calls, float64 ns.

    There each has done what it has done at that instant here: computation goes on as it does here, and of a call the same share is over.
    `enter` and `leave` are the other times of calls, `begun` and `ended` those of locations.
    """
    calls, ends = trace.timeline.calls, trace.timeline.locations
    first, here = chained(trace, calls.enter, calls.leave, ends.enter, ends.leave)
    there = chained(trace, enter, leave, begun, ended)[1]
    last = np.clip(first[:-1] + before(here, first, cuts, True) - 1, first[:-1], first[1:] - 1)
    following = np.minimum(last + 1, first[1:] - 1)
    reached, then = (there[rows].astype(float) for rows in (last, following))
    slope = (then - reached) / np.maximum(here[following] - here[last], 1)
    return np.asarray(slope * np.clip(cuts - here[last], 0, None) + reached)


def chained(trace: Trace, enter: Ints | int, leave: Ints | int, begun: Ints | int, ended: Ints | int) -> tuple[I8, I8]:
    """Return where each location begins, and behind the last, and what is given of locations and calls in order of time, int64.

    Of one location of two calls: begun, enter, leave, enter, leave, ended.
    """
    first = 2 * (trace.first_calls + np.arange(len(trace.locations) + 1))
    out, entered = np.empty(int(first[-1]), "i8"), 2 * (np.arange(len(trace.calls)) + trace.calls.location) + 1
    out[entered], out[entered + 1], out[first[:-1]], out[first[1:] - 1] = enter, leave, begun, ended
    return first, out


def hosts(trace: Trace) -> I8:
    """Return the locations that compute what another one could as well."""
    return np.flatnonzero(processors(trace))
