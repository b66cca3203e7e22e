"""How good a correction is: violations before and after, and how far local intervals were changed (Becker et al. 2009, section 6)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator

import numpy as np

from perwiz.clock.logical import Correction
from perwiz.clock.pairs import Pairs, links, logical, messages
from perwiz.trace.arrays import I4, I8, chunks
from perwiz.trace.trace import Timeline, Trace

THRESHOLDS = (0.0, 0.0001, 0.001, 0.01, 0.1, 1.0)
"""Relative deviations, as in Table 4 (there in percent)."""
_Intervals = tuple[I4 | I8, I8]
"""Locations, and lengths, ns."""


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
    records_before: Pairs
    """Of messages too, from the record of the send to that of the receive."""
    records_after: Pairs
    collectives_before: Pairs
    """Of the logical messages of collectives."""
    collectives_after: Pairs
    links_before: Pairs
    """Of threads and streams (forks, joins, locks, tasks, launches) and of windows (posts, completions, locks, progress)."""
    links_after: Pairs
    corrected_by_message: int
    """Events put forward to restore the clock condition of a message; fewer than violations, as one shift repairs others."""
    corrected_by_collective: int
    corrected_by_link: int
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


def figures(correction: Correction) -> Figures:
    """Return the figures of a correction."""
    trace, old, new = correction.trace, correction.before, correction.timeline
    displaced = displacement(trace, old, new)
    messages_before, records_before = messages(trace, old, correction.latencies)
    messages_after, records_after = messages(trace, new, correction.latencies)
    return Figures(
        messages_before=messages_before,
        messages_after=messages_after,
        records_before=records_before,
        records_after=records_after,
        collectives_before=logical(trace, old, correction.latencies),
        collectives_after=logical(trace, new, correction.latencies),
        links_before=links(trace, old, correction.latencies),
        links_after=links(trace, new, correction.latencies),
        corrected_by_message=correction.by_message,
        corrected_by_collective=correction.by_collective,
        corrected_by_link=correction.by_link,
        events=displaced.events,
        moved=displaced.moved,
        average_displacement=displaced.total / max(displaced.moved, 1),
        largest_displacement=displaced.largest,
        position=_deviation(trace, _positions(trace, old), _positions(trace, new)),
        distance=_deviation(trace, _distances(trace, old), _distances(trace, new)),
        slope=correction.slope,
    )


@dataclasses.dataclass(frozen=True)
class Displacement:
    """How many of all events are at other times, by how much in all and by how much at most, ns."""

    events: int
    moved: int
    total: int
    largest: int


def displacement(trace: Trace, old: Timeline, new: Timeline) -> Displacement:
    """Return how far the entries and returns of calls and regions of two timelines of a trace are apart."""
    moved, total, largest, events, share = 0, 0, 0, 0, trace.share
    for before, after, rows in ((old.calls, new.calls, share.calls), (old.regions, new.regions, slice(None))):
        for distance in (np.abs(after.enter - before.enter)[rows], np.abs(after.leave - before.leave)[rows]):
            moved += int(np.count_nonzero(distance))
            total += int(distance.sum())
            largest = max(largest, int(distance.max(initial=0)))
            events += len(distance)
    events, moved, total = share.reduced(np.array([events, moved, total], "i8"), "sum").tolist()
    return Displacement(events, moved, total, share.most(largest))


def _deviation(trace: Trace, old: Iterable[_Intervals], new: Iterable[_Intervals]) -> Deviation:
    """Return the deviation of intervals, recorded and corrected.

    Ratios are added up location by location, in the order of the program, and these sums are rounded once: whoever adds up what.
    """
    above, spent = np.zeros((2, len(THRESHOLDS)))
    count, time, change, worst, ratios = 0, 0, 0, 0.0, np.zeros(len(trace.locations))
    for (location, before), (_, after) in zip(old, new, strict=True):
        changed = np.where(before > 0, np.abs(after - before), 0)
        ratio = changed / np.maximum(before, 1)
        count, time, change = count + len(before), time + int(before.sum()), change + int(changed.sum())
        np.add.at(ratios, location, ratio)
        worst = max(worst, float(ratio.max(initial=0.0)))
        for number, threshold in enumerate(THRESHOLDS):
            beyond = ratio > threshold
            above[number] += beyond.sum()
            spent[number] += before[beyond].sum()
    share = trace.share
    count, time, change = share.reduced(np.array([count, time, change]), "sum").tolist()
    above, spent = share.reduced(np.stack([above, spent]), "sum")
    worst, total = float(share.reduced(np.array([worst]), "max")[0]), math.fsum(share.of_locations(ratios).tolist())
    shares = tuple((above / max(count, 1)).tolist()), tuple((spent / max(time, 1)).tolist())
    return Deviation(change / max(time, 1), total / max(count, 1), worst, *shares)


def _own(trace: Trace) -> tuple[I8, Iterator[slice]]:
    """Return the locations that count here, and chunks of their calls."""
    calls = trace.share.calls
    begin, end, _ = calls.indices(len(trace.calls))
    return np.arange(len(trace.locations))[trace.share.locations], (
        slice(begin + chunk.start, min(begin + chunk.stop, end)) for chunk in chunks(end - begin)
    )


def _positions(trace: Trace, timeline: Timeline) -> Iterator[_Intervals]:
    """Yield, chunk by chunk, locations, and how long after their first instants each entry, return and last instant lies, ns."""
    begun, ended = timeline.locations.enter, timeline.locations.leave
    locations, calls = _own(trace)
    for chunk in calls:
        location = trace.calls.location[chunk]
        for column in (timeline.calls.enter, timeline.calls.leave):
            yield location, column[chunk] - begun[location]
    yield locations, (ended - begun)[locations]


def _distances(trace: Trace, timeline: Timeline) -> Iterator[_Intervals]:
    """Yield, chunk by chunk, locations and the lengths of calls, of the gaps before them, and of those behind the last of a location, ns.

    Worked example, one location from 0 to 50 with calls from 10 to 20 and from 25 to 40:
        lengths  10 15    gaps before  10 5    behind the last  10
    """
    enter, leave, first_calls = timeline.calls.enter, timeline.calls.leave, trace.first_calls
    locations, calls = _own(trace)
    for chunk in calls:
        location = trace.calls.location[chunk]
        yield location, leave[chunk] - enter[chunk]
        call = np.arange(chunk.start, chunk.start + len(location))
        yield location, enter[chunk] - np.where(call == first_calls[location], timeline.locations.enter[location], leave[call - 1])
    with_calls = locations[np.diff(first_calls)[locations] > 0]
    yield with_calls, timeline.locations.leave[with_calls] - leave[first_calls[with_calls + 1] - 1]
