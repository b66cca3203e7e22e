"""A trace of some rows of another: which stay, and what becomes of their numbers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.table import Table
from perwiz.trace.tables import NONE, PROCESS, Collectives, Links, Members, Messages, Parameters, Records, Regions
from perwiz.trace.trace import Timeline, Trace

T = TypeVar("T", bound=Table)
ENDS = ("send", "send_done", "receive", "receive_done")
"""Columns of messages that are calls."""


@dataclasses.dataclass(frozen=True, eq=False)
class Kept:
    """Which rows of the tables of a trace stay, bool per row; all that only others need goes with them."""

    locations: Mask
    calls: Mask
    entered: Mask
    """Calls that keep what they cause as they are entered: messages sent, links."""
    returned: Mask
    """Calls that keep what they do not return before: the other ends of these, and collectives; if all their ends do."""
    requests: Mask
    """Those that a call posts that stays; where what completes one does not, nobody knows what does."""
    regions: Mask
    parameters: Mask
    records: Mask


def part(trace: Trace, kept: Kept) -> Trace:
    """Return the trace of the rows that stay, numbered anew in their order.

    A defect of a location that is left out is one of none. Paths and names of regions that only rows left out have are left out too.
    """
    return _Part(trace, kept).trace()


def whole(table: Messages | Links, entered: Mask, returned: Mask) -> Mask:
    """Return which messages or links come about in calls `entered` and end in some `returned`, bool per row; unknown ends do not count.

    A send has to be both: what holds it to its end is its own message.
    """
    sides = [("send", entered), *((name, returned) for name in ENDS)]
    if isinstance(table, Links):
        sides = [("cause", entered), ("effect", returned)]
    out = np.ones(len(table), bool)
    for name, calls in sides:
        call = getattr(table, name)
        out &= calls[call] | (call == NONE)
    return out


def whole_collectives(trace: Trace, returned: Mask) -> Mask:
    """Return the same of collectives, bool per row: all members return in these calls."""
    members = trace.members
    out = np.ones(len(trace.collectives), "u1")
    for call in (members.call, members.done):
        out[members.collective[~returned[call] & (call != NONE)]] = 0
    return trace.share.over_instances(out, "min").view(bool)


class _Part:
    """Which rows of the tables of a trace are kept, and what becomes of their numbers."""

    def __init__(self, trace: Trace, kept: Kept) -> None:
        self._trace, self._kept = trace, kept
        self._keep, self._calls, self._regions = kept.locations, kept.calls, kept.regions
        self._requests = kept.requests
        self._paths = self._kept_paths()
        self._names = self._stay([trace.paths.region], [trace.paths.region[self._paths]], len(trace.names))
        self._location, self._call, self._request, self._region, self._path, self._name = (
            _numbers(rows) for rows in (self._keep, self._calls, self._requests, self._regions, self._paths, self._names)
        )
        self._before = np.concatenate([[0], np.cumsum(self._calls)]).astype("i4")
        """Per call and one more: how many before it are kept."""

    def trace(self) -> Trace:
        """Return it."""
        trace, calls, call, location = self._trace, self._calls, self._call, self._location
        collectives, members = self._collectives()
        records, values = self._records()
        clock = self._clocks()
        return dataclasses.replace(
            trace,
            locations=_rows(trace.locations, self._keep),
            names=tuple(itertools.compress(trace.names, self._names)),
            parallel=trace.parallel[self._names],
            sources=tuple(itertools.compress(trace.sources, self._names)),
            paths=_rows(trace.paths, self._paths, parent=self._path, region=self._name),
            calls=_rows(trace.calls, calls, location=location, path=self._path),
            requests=_rows(trace.requests, self._requests, posted_by=call, completed_by=call),
            unfinished=_rows(
                trace.unfinished, calls[trace.unfinished.call] & self._requests[trace.unfinished.request], call=call, request=self._request
            ),
            regions=self._region_table(),
            messages=_rows(trace.messages, whole(trace.messages, self._kept.entered, self._kept.returned), **dict.fromkeys(ENDS, call)),
            links=_rows(trace.links, whole(trace.links, self._kept.entered, self._kept.returned), cause=call, effect=call),
            collectives=collectives,
            members=members,
            timeline=self._timeline(),
            labels=_rows(trace.labels, calls[trace.labels.call], call=call),
            offsets=_rows(trace.offsets, clock[trace.offsets.location] != NONE, location=clock),
            readings=_rows(trace.readings, clock[trace.readings.location] != NONE, location=clock, master=clock),
            counters=_rows(trace.counters, calls[trace.counters.call], call=call),
            region_counters=_rows(trace.region_counters, self._regions[trace.region_counters.region], region=self._region),
            parameters=self._parameters(),
            records=records,
            values=values,
            defects=dataclasses.replace(trace.defects, location=location[trace.defects.location]),
            site=trace.site[calls] if len(trace.site) else trace.site,
        )

    def _kept_paths(self) -> Mask:
        """Return which paths stay, with those above them."""
        trace, parent = self._trace, self._trace.paths.parent
        kept = [trace.calls.path[self._calls], trace.regions.path[self._regions]]
        out = self._stay([trace.calls.path, trace.regions.path], kept, len(parent))
        above = np.flatnonzero(out)
        while len(above):
            above = parent[above][parent[above] != NONE]
            above = above[~out[above]]
            out[above] = True
        return out

    def _stay(self, every: Sequence[I4], kept: Sequence[I4], count: int) -> Mask:
        """Return which of `count` rows stay: those that what is kept refers to, and those that nothing refers to."""
        named = np.zeros((2, count + 1), "u1")  # the last is none
        for columns, row in zip((every, kept), named, strict=True):
            for column in columns:
                row[column] = 1
        some, of_kept = self._trace.share.reduced(named[:, :-1], "max").view(bool)
        return np.asarray(of_kept | ~some)

    def _collectives(self) -> tuple[Collectives, Members]:
        trace, kept = self._trace, whole_collectives(self._trace, self._kept.returned)
        members = kept[trace.members.collective]
        table = _rows(trace.members, members, collective=_numbers(kept), call=self._call, done=self._call)
        first = np.append(0, np.cumsum(members))[trace.collectives.first_member[kept]].astype("i4")
        return dataclasses.replace(_rows(trace.collectives, kept), first_member=first), table

    def _region_table(self) -> Regions:
        columns = {"location": self._location, "path": self._path, "parent": self._region}
        return _rows(self._trace.regions, self._regions, **columns, first_call=self._before, end_call=self._before)

    def _clocks(self) -> I4:
        """Return, per location, that which has its clock: itself, or for a process that is left out the first of its threads, or -1."""
        out, places, keep = self._location.copy(), self._trace.locations, self._keep
        for row in np.flatnonzero(~keep & (places.kind == PROCESS)).tolist():
            out[row] = max(out[:-1][places.process == places.process[row]].tolist())
        return out

    def _timeline(self) -> Timeline:
        whole = self._trace.timeline
        calls, regions, locations = _rows(whole.calls, self._calls), _rows(whole.regions, self._regions), _rows(whole.locations, self._keep)
        return Timeline(calls, regions, locations, whole.origin)

    def _parameters(self) -> Parameters:
        return _rows(self._trace.parameters, self._kept.parameters, location=self._location, region=self._region, call=self._before)

    def _records(self) -> tuple[Records, I8]:
        table, values = self._trace.records, self._trace.values
        keep, size = self._kept.records, np.diff(np.append(table.first_value, len(values)))
        kept = _rows(table, keep, location=self._location, call=self._before)
        first = np.cumsum(size[keep]) - size[keep]
        return dataclasses.replace(kept, first_value=first), values[np.repeat(keep, size)]


def _numbers(kept: Mask) -> I4:
    """Return the new number of each row, -1 for those not kept, and for -1.

    kept  1 0 1   out  0 -1 1 -1
    """
    return np.append(np.where(kept, np.cumsum(kept) - 1, NONE), NONE).astype("i4")


def _rows(table: T, keep: Mask, **numbers: I4) -> T:
    """Return the rows of a table that are kept, the columns `numbers` replaced by what stands there under their values."""
    columns = {field.name: getattr(table, field.name)[keep] for field in dataclasses.fields(table)}
    return type(table)(**columns | {name: number[columns[name]] for name, number in numbers.items()})
