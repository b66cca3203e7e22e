"""How good a correction is: violations before and after, and how far local intervals were changed (Becker et al. 2009, section 6)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from perwiz.clock.logical import Correction
from perwiz.clock.pairs import Pairs, logical, messages
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Timeline, Trace

THRESHOLDS = (0.0, 0.0001, 0.001, 0.01, 0.1, 1.0)
"""Relative deviations, as in Table 4 (there in percent)."""
_PIECE = 1 << 18


@dataclasses.dataclass(frozen=True)
class Deviation:
    """How far intervals of a location differ from the recorded ones, relative to these; 0 where the recorded interval is empty."""

    average: float
    """Sum of all changes over the sum of all intervals (Table 4)."""
    mean: float
    """Mean of the relative deviations, each interval counted alike."""
    maximum: float
    intervals: tuple[float, ...]
    """Share of the intervals with a deviation above each of THRESHOLDS."""
    time: tuple[float, ...]
    """Share of the time in such intervals."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """The quality of a correction. Events are entries and returns of calls, and region boundaries."""

    messages_before: Pairs
    messages_after: Pairs
    collectives_before: Pairs
    """Of the logical messages of collectives."""
    collectives_after: Pairs
    corrected_by_message: int
    """Events put forward to restore the clock condition of a message; fewer than violations, as one shift repairs others."""
    corrected_by_collective: int
    events: int
    moved: int
    """Events that are not where they were recorded."""
    average_displacement: float
    """Of the moved events, ns."""
    largest_displacement: int
    """Nanoseconds."""
    position: Deviation
    """Event position: the interval from the first instant of the location to the event."""
    distance: Deviation
    """Event distance: the interval between neighbouring entries and returns of a location."""
    slope: float
    """Steepest slope of the backward amortization."""


def figures(found: Correction) -> Figures:
    """Return the figures of a correction."""
    trace, old, new = found.trace, found.before, found.timeline
    moved, displacement, largest = _displacements(old, new)
    return Figures(
        *(messages(trace, old, found.mu), messages(trace, new, found.mu), logical(trace, old, found.mu), logical(trace, new, found.mu)),
        *(found.by_message, found.by_collective, 2 * (len(old.calls) + len(old.regions)), moved),
        *(displacement / max(moved, 1), largest),
        position=_deviation(zip(_positions(trace, old), _positions(trace, new), strict=True)),
        distance=_deviation(zip(_distances(trace, old), _distances(trace, new), strict=True)),
        slope=found.slope,
    )


def _displacements(old: Timeline, new: Timeline) -> tuple[int, int, int]:
    """Return how many events were moved, by how much in all, and by how much at most, ns."""
    moved, total, largest = 0, 0, 0
    for before, after in ((old.calls, new.calls), (old.regions, new.regions)):
        for by in (np.abs(after.enter - before.enter), np.abs(after.leave - before.leave)):
            moved, total, largest = moved + int(np.count_nonzero(by)), total + int(by.sum()), max(largest, int(by.max(initial=0)))
    return moved, total, largest


def _deviation(intervals: Iterable[tuple[Ints, Ints]]) -> Deviation:
    """Return the deviation of intervals, given as (recorded, corrected) piece by piece, ns."""
    count, time, change, ratios, worst = 0, 0, 0, 0.0, 0.0
    above, spent = np.zeros(len(THRESHOLDS)), np.zeros(len(THRESHOLDS))
    for old, new in intervals:
        by = np.where(old > 0, np.abs(new - old), 0)
        ratio = by / np.maximum(old, 1)
        count, time, change = count + len(old), time + int(old.sum()), change + int(by.sum())
        ratios, worst = ratios + float(ratio.sum()), max(worst, float(ratio.max(initial=0.0)))
        for number, threshold in enumerate(THRESHOLDS):
            beyond = ratio > threshold
            above[number] += beyond.sum()
            spent[number] += old[beyond].sum()
    shares = tuple((above / max(count, 1)).tolist()), tuple((spent / max(time, 1)).tolist())
    return Deviation(change / max(time, 1), ratios / max(count, 1), worst, *shares)


def _positions(trace: Trace, timeline: Timeline) -> Iterator[Ints]:
    """Yield, piece by piece, how long after the first instant of its location each entry, return and last instant lies, ns."""
    begun, ended = timeline.locations.enter, timeline.locations.leave
    for first in range(0, len(trace.calls), _PIECE):
        at = trace.calls.location[first : first + _PIECE]
        for column in (timeline.calls.enter, timeline.calls.leave):
            yield column[first : first + _PIECE] - begun[at]
    yield ended - begun


def _distances(trace: Trace, timeline: Timeline) -> Iterator[Ints]:
    """Yield, piece by piece, the lengths of calls, of the gaps before them, and of those behind the last of a location, ns."""
    enter, leave, first_calls = timeline.calls.enter, timeline.calls.leave, trace.first_calls
    for first in range(0, len(trace.calls), _PIECE):
        piece = slice(first, first + _PIECE)
        yield leave[piece] - enter[piece]
        row, at = np.arange(first, first + len(enter[piece])), trace.calls.location[piece]
        yield enter[piece] - np.where(row == first_calls[at], timeline.locations.enter[at], leave[row - 1])
    some = np.flatnonzero(np.diff(first_calls))
    yield timeline.locations.leave[some] - leave[first_calls[some + 1] - 1]
