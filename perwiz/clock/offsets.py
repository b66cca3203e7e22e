"""From the local clock of each location to global time, by measured offsets (Becker et al. 2007, section 3; 2009, section 5.1)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from perwiz.clock.schemes import Line, chosen, combined, to_global
from perwiz.errors import ClockError
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace


def apply(trace: Trace) -> Trace:
    """Return the trace in global time: as it is, if its offsets are applied already or there are none.

    Offsets that clocks were compared for are those of the finest scheme. The earliest instant keeps its time. A thread without measurements
    has the clock of its process. Raises ClockError where a location has no measurements, or they are not in order of local time, or an
    offset falls faster than the clock runs.
    """
    if trace.offsets_applied:
        return trace
    if len(trace.readings):
        trace = dataclasses.replace(trace, offsets=combined(chosen(trace).readings))
    if not len(trace.offsets):
        return dataclasses.replace(trace, offsets_applied=True)
    old, measured = trace.timeline, lines(trace)
    calls = _mapped(measured, old.calls, trace.calls.location)
    regions = _mapped(measured, old.regions, trace.regions.location)
    locations = _mapped(measured, old.locations, np.arange(len(measured), dtype="i4"))
    back = int(old.locations.enter.min()) - int(locations[0].min()) if measured else 0
    parts = [Times(enter + back, leave + back) for enter, leave in (calls, regions, locations)]
    timeline = Timeline(parts[0], parts[1], parts[2], old.origin.with_offsets())
    return dataclasses.replace(trace, timeline=timeline, offsets_applied=True)


def _mapped(measured: Sequence[Line], times: Times, location: I4) -> tuple[I8, I8]:
    """Return enter and leave in global time; `location` rises."""
    enter, leave = times.enter.copy(), times.leave.copy()
    bound = np.searchsorted(location, np.arange(len(measured) + 1))
    for line, (begin, end) in zip(measured, itertools.pairwise(bound), strict=True):
        enter[begin:end], leave[begin:end] = to_global(line, enter[begin:end]), to_global(line, leave[begin:end])
    return enter, leave


def lines(trace: Trace) -> list[Line]:
    """Return the measurements of each location. Raises ClockError as `apply` does."""
    table, process = trace.offsets, trace.locations.process
    order = np.argsort(table.location, kind="stable")
    bound = np.searchsorted(table.location[order], np.arange(len(process) + 1))
    own = [order[a:b] for a, b in itertools.pairwise(bound)]
    shared: dict[int, I8] = {}
    for rank, rows in zip(process.tolist(), own, strict=True):
        if len(rows):
            shared.setdefault(rank, rows)
    return [_line(trace, row, rows if len(rows) else shared.get(int(process[row]), rows)) for row, rows in enumerate(own)]


def _line(trace: Trace, location: int, rows: I8) -> Line:
    """Return the measurements of a location from these rows of the table of offsets."""
    who = f"{trace.path}: rank {trace.locations.process[location]} (location {location})"
    if not len(rows):
        raise ClockError(f"{who} has no clock offset; each location must have one")
    time, offset = trace.offsets.time[rows], np.rint(trace.offsets.offset[rows] * 1e3).astype("i8")
    wrong = np.flatnonzero(np.diff(time) <= 0)
    if len(wrong):
        first, then = time[wrong[0]], time[wrong[0] + 1]
        raise ClockError(f"{who} has a clock offset measured at {then} ns behind one at {first} ns; local times must rise")
    wrong = np.flatnonzero(np.diff(offset) <= -np.diff(time))
    if len(wrong):
        first, then = time[wrong[0]], time[wrong[0] + 1]
        raise ClockError(f"{who} has clock offsets by which global time does not rise from {first} to {then} ns local time; it must")
    return time, offset
