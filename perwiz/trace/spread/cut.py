"""The part of one of several processes, cut out of a trace that each of them has whole, or mapped."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I8, Ints, Mask, chunks
from perwiz.trace.parts.rows import ENDS
from perwiz.trace.spread.part import LINK_ENDS, Piece, Tied, joined
from perwiz.trace.spread.team import Team, check_alike
from perwiz.trace.table import Table
from perwiz.trace.tables import NONE, Collectives, Links, Members, Messages, Records
from perwiz.trace.trace import Timeline, Trace

T = TypeVar("T", bound=Table)


def bounds_of(process_of: Ints, weight: Ints, size: int) -> I8:
    """Return the first location of each process of a team, and the end of the last: neighbours together, about as much weight each.

    Threads and streams stay with their process, `process_of` per location.

    Worked example, locations of 1, 1, 1, 30 and 30 calls for two processes:
        weight  4 4 4 62 62    middle  2 6 10 43 105    process  0 0 0 0 1, so from 0 and from 4 on
    """
    process, row = np.unique(process_of, return_inverse=True)
    last = np.zeros(len(process), "i8")
    np.maximum.at(last, row, np.arange(len(row)))
    reach = np.maximum.accumulate(last[row]) if len(row) else last
    begins = np.flatnonzero(np.append(-1, reach[:-1])[: len(row)] < np.arange(len(row)))
    heavy = np.add.reduceat(weight.astype("i8"), begins) if len(begins) else np.zeros(0, "i8")
    middle = np.cumsum(heavy) - heavy / 2
    taker = np.minimum(middle * size // max(int(heavy.sum()), 1), size - 1).astype("i8")
    return np.append(np.append(begins, len(weight))[np.searchsorted(taker, np.arange(size))], len(weight)).astype("i8")


def cut(trace: Trace, team: Team) -> Trace:
    """Return the part of a trace that this process of a team has. Raises TraceError where others have another trace."""
    first, ends = trace.first_calls.astype("i8"), trace.timeline.locations
    count = {name: len(getattr(trace, name)) for name in ("calls", "messages", "collectives", "members", "regions", "links")}
    told = np.concatenate([[*count.values()], first, trace.locations.process, ends.enter, ends.leave]).astype("i8")
    check_alike(team, trace.path, zlib.crc32(told.tobytes()))
    bounds = bounds_of(trace.locations.process, 2 * np.diff(first) + 2, team.size)
    low, high = (int(first[bounds[team.rank + end]]) for end in (0, 1))
    messages = _tied(trace.messages, ENDS, low, high)
    links = _tied(trace.links, LINK_ENDS, low, high)
    own, instances, sizes, places = _own(trace, int(bounds[team.rank]), int(bounds[team.rank + 1]), low, high)
    return joined(team, Piece(own, bounds, first, messages, links, instances, sizes, places, count))


def _tied(table: Messages | Links, ends: tuple[str, ...], low: int, high: int) -> Tied:
    """Return the rows of a table with an end in some calls."""
    found = []
    for piece in chunks(len(table)):
        here = np.zeros(len(getattr(table, ends[0])[piece]), bool)
        for name in ends:
            column = getattr(table, name)[piece]
            here |= (column >= low) & (column < high)
        found.append(np.flatnonzero(here) + piece.start)
    rows = np.concatenate([np.zeros(0, "i8"), *found])
    others = [field.name for field in dataclasses.fields(table) if field.name not in ends]
    return Tied(
        {name: getattr(table, name)[rows].astype("i8") for name in ends}, {name: getattr(table, name)[rows] for name in others}, rows
    )


def _own(trace: Trace, begin: int, end: int, low: int, high: int) -> tuple[Trace, I8, I8, I8]:
    """Return what is about some locations and their calls alone; and as `Part` of its collectives: instances, sizes, places."""
    calls = slice(low, high)
    collectives, members, instances, sizes, places = _members(trace, low, high)
    requests = _between(trace.requests.posted_by, low, high)
    regions = _between(trace.regions.location, begin, end)
    unfinished = _inside(trace.unfinished.call, low, high)
    counters = trace.region_counters.region
    records, values = _records(trace, begin, end, low)
    times = trace.timeline
    own = dataclasses.replace(
        trace,
        calls=_rows(trace.calls, calls),
        site=trace.site[calls],
        requests=_rows(trace.requests, requests, low, "posted_by", "completed_by"),
        unfinished=_moved(_rows(trace.unfinished, unfinished, low, "call"), requests.start, "request"),
        regions=_moved(_rows(trace.regions, regions, low, "first_call", "end_call"), regions.start, "parent"),
        messages=Messages.empty(),
        links=Links.empty(),
        collectives=collectives,
        members=members,
        labels=_rows(trace.labels, _inside(trace.labels.call, low, high), low, "call"),
        counters=_rows(trace.counters, _inside(trace.counters.call, low, high), low, "call"),
        region_counters=_moved(_rows(trace.region_counters, _inside(counters, regions.start, regions.stop)), regions.start, "region"),
        parameters=_moved(_rows(trace.parameters, _inside(trace.parameters.location, begin, end), low, "call"), regions.start, "region"),
        records=records,
        values=values,
        timeline=Timeline(_rows(times.calls, calls), _rows(times.regions, regions), times.locations, times.origin),
    )
    return own, instances, sizes, places


def _between(ordered: Ints, low: int, high: int) -> slice:
    """Return the rows of a rising column that are from one value on to before another."""
    begin, end = np.searchsorted(ordered, (low, high)).tolist()
    return slice(begin, end)


def _inside(column: Ints, low: int, high: int) -> Mask:
    return np.asarray((column >= low) & (column < high))


def _rows(table: T, rows: slice | Mask | Ints, less: int = 0, *moved: str) -> T:
    """Return some rows of a table, with `less` taken from some columns, in which -1 stays."""
    columns: dict[str, NDArray[Any]] = {field.name: getattr(table, field.name)[rows] for field in dataclasses.fields(table)}
    return _moved(type(table)(**columns), less, *moved)


def _moved(table: T, less: int, *names: str) -> T:
    columns: dict[str, NDArray[Any]] = {name: getattr(table, name) for name in names}
    new: dict[str, Any] = {name: np.where(column == NONE, NONE, column - less).astype("i4") for name, column in columns.items()}
    return dataclasses.replace(table, **new) if names else table


def _members(trace: Trace, low: int, high: int) -> tuple[Collectives, Members, I8, I8, I8]:
    """Return the instances that some calls are members of, and these members; and rows, sizes and places as `Part` has them."""
    rows = np.flatnonzero(_inside(trace.members.call, low, high))
    of, first = trace.members.collective[rows], trace.collectives.first_member
    instances, place = np.unique(of, return_inverse=True)
    sizes = np.diff(np.append(first, len(trace.members)))[instances]
    begins = np.searchsorted(of, instances).astype("i4")
    table = dataclasses.replace(_rows(trace.collectives, instances), first_member=begins)
    members = dataclasses.replace(_rows(trace.members, rows, low, "call", "done"), collective=place.astype("i4"))
    return table, members, instances.astype("i8"), sizes.astype("i8"), (rows - first[of]).astype("i8")


def _records(trace: Trace, begin: int, end: int, low: int) -> tuple[Records, I8]:
    """Return the records of some locations, and their values."""
    table, values = trace.records, trace.values
    rows = np.flatnonzero(_inside(table.location, begin, end))
    size = np.diff(np.append(table.first_value, len(values)))[rows]
    first = np.cumsum(size) - size
    picked = np.repeat(table.first_value[rows] - first, size) + np.arange(size.sum())
    return dataclasses.replace(_rows(table, rows, low, "call"), first_value=first.astype("i8")), values[picked.astype("i8")]
