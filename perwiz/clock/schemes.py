"""What follows from comparing clocks: the flat and the hierarchical scheme (Becker et al. 2007, section 4).

A reading tells the offset of one location's clock to that of its master at one instant; masters may have masters. The recorder decides who
compares clocks with whom (`perwiz/record/clocks.c`).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import ClockError, UsageError
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.tables import NONE, Offsets, Readings
from perwiz.trace.trace import Trace

SCHEMES = ("single", "flat", "hierarchical")
"""Each clock is compared with that of all, once at the start; that at start and end; or with its local master's, and that with that of all.

The measurements of Table 2, the coarsest first.
"""
Line = tuple[I8, I8]
"""Local times (int64 ns, rising) and the offsets to global time measured there (int64 ns)."""


def to_global(line: Line, local: I8) -> I8:
    """Return the global time of local times, int64 ns: the offset is interpolated between measurements and extrapolated at both ends.

    With one measurement the offset is constant. It is rounded once; times are never multiplied.
    """
    time, offset = line
    if len(time) == 1:
        return local + offset[0]
    before = np.clip(np.searchsorted(time, local, side="right") - 1, 0, len(time) - 2)
    slope = np.diff(offset) / np.diff(time)
    return local + offset[before] + np.rint((local - time[before]) * slope[before]).astype("i8")


def scheme_of(readings: Readings) -> str:
    """Return the finest of the schemes that readings are of."""
    across = _with_that_of_all(readings)
    if not across.all():
        return "hierarchical"
    return "flat" if np.bincount(readings.location).max(initial=0) > 1 else "single"


def chosen(trace: Trace, scheme: str | None = None) -> Trace:
    """Return the trace with the readings of one scheme alone, by default the finest.

    Raises UsageError for another scheme, and for a trace in which clocks were not compared so.
    """
    readings = trace.readings
    if scheme not in (None, *SCHEMES):
        raise UsageError(f"offsets '{scheme}': must be one of {', '.join(SCHEMES)}")
    if not len(readings):
        if scheme is None:
            return trace
        raise UsageError(f"{trace.path}: no clocks were compared; --offsets {scheme} must be asked of a recorded run of several clocks")
    rows = _rows(readings, scheme or "hierarchical")
    kept = Readings(**{field.name: getattr(readings, field.name)[rows] for field in dataclasses.fields(readings)})
    name = scheme_of(kept)
    if name == "flat" and len(np.unique(trace.locations.metahost)) == 1 and scheme == "hierarchical":
        name = "hierarchical"  # in one metahost they are the same
    if scheme not in (None, name) or len(np.setdiff1d(readings.location, kept.location)):
        how = f"clocks were compared by the scheme {scheme_of(readings)}"
        raise UsageError(f"{trace.path}: {how}; for --offsets {scheme} they must be by that one, or all (perwiz record --offsets)")
    return dataclasses.replace(trace, readings=kept)


def _rows(readings: Readings, scheme: str) -> I8:
    """Return the readings that a scheme takes; a hierarchical one has those of local masters, too, which are flat."""
    across = _with_that_of_all(readings)
    if scheme == "hierarchical":
        return np.flatnonzero(~across | ~np.isin(readings.location, readings.location[~across]))
    rows = np.flatnonzero(across)
    return rows if scheme == "flat" else rows[np.unique(readings.location[rows], return_index=True)[1]]


def _with_that_of_all(readings: Readings) -> Mask:
    """Return which readings compare a clock with that of all, or say that it is that."""
    return (readings.master == NONE) | np.isin(readings.master, readings.location[readings.master == NONE])


def combined(readings: Readings) -> Offsets:
    """Return the offset of each location to the clock of all, at the times it was compared itself: the offsets on the way are added.

    The readings are of one scheme. Raises ClockError where masters go round in a circle, or the clock of one was not compared.

    Worked example, each compared once:
        location  0  1       2          master  -1  0  1
        time      0  1000    1500       offset   0  -10000  3000
        so location 2 at 1500 is location 1 at 4500, which is location 0 at -5500: its offset is -7000
    """
    own: dict[int, tuple[int, Line, I8]] = {}
    order = np.argsort(readings.location, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(readings.location[order])) + 1) if len(order) else ():
        line = readings.time[rows], readings.offset[rows]
        own[int(readings.location[rows[0]])] = int(readings.master[rows[0]]), line, readings.error[rows]
    offsets, errors = zip(*(_on_the_way(location, own) for location in own), strict=True) if own else ((), ())
    count = len(order)
    return Offsets(
        location=readings.location[order],
        time=readings.time[order],
        offset=np.concatenate(offsets or [np.zeros(0)]) / 1e3,
        drift=np.zeros(count),
        error=np.concatenate(errors or [np.zeros(0)]) / 1e3,
    )


def _on_the_way(location: int, own: dict[int, tuple[int, Line, I8]]) -> tuple[I8, F8]:
    """Return the offsets of a location to the clock of all at its own readings, and their errors, ns."""
    master, (local, offset), error = own[location]
    time, errors, passed = local + offset, error.astype("f8"), [location]
    who = f"location {location}: its clock was compared"
    while master != NONE:
        if master not in own:
            raise ClockError(f"{who} with that of location {master}, and that with no other; it must be")
        if master in passed:
            raise ClockError(f"{who} in a circle, by way of location {master}; one must be that of all")
        passed.append(master)
        master, line, more = own[master]
        errors += np.interp(time, line[0], more)
        time = to_global(line, time)
    return time - local, errors
