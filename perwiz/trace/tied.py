"""Which locations take part in the answer: those that something ties to others, and each process; and the trace of these alone."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TypeVar

import numpy as np

from perwiz.trace.arrays import I4, I8, Mask, chunks
from perwiz.trace.table import Table
from perwiz.trace.tables import NONE, PROCESS, STREAM, THREAD, Parameters, Records, Regions, Times
from perwiz.trace.trace import Timeline, Trace

T = TypeVar("T", bound=Table)


def tied(trace: Trace) -> Mask:
    """Return which locations take part in the answer, bool per location.

    Those with a call of a message, of a collective instance or of a link; and where no location of a process has one, that of the
    process itself.
    The times of other threads and of device streams hang on nothing that a trace tells: they would stay where they are, whatever is asked.
    """
    process, kind = trace.locations.process, trace.locations.kind
    if (kind == PROCESS).all() and len(np.unique(process)) == len(process):
        return np.ones(len(process), bool)
    out, messages, members, links = np.zeros(len(process), bool), trace.messages, trace.members, trace.links
    sides = (
        messages.send,
        messages.send_done,
        messages.receive,
        messages.receive_done,
        members.call,
        members.done,
        links.cause,
        links.effect,
    )
    for call in sides:
        for piece in chunks(len(call)):
            out[trace.calls.location[call[piece][call[piece] != NONE]]] = True
    return np.asarray(out | ((kind == PROCESS) & ~np.isin(process, process[out])))


def _loose(trace: Trace, keep: Mask) -> int:
    """Return how many threads, of those that take part beside others of their process, are in no collective instance with one of these.

    Where no link tells when its process starts a thread and waits for its end, and no common barrier, a thread delays nothing there.
    """
    process = trace.locations.process
    loose = keep & (trace.locations.kind == THREAD) & (np.bincount(process, keep) > 1)[process]
    for call in (trace.links.cause, trace.links.effect):
        loose[trace.calls.location[call]] = False
    if not loose.any():
        return 0
    location = trace.calls.location[trace.members.call]
    team = trace.members.collective.astype("i8") * (int(process.max()) + 1) + process[location]
    _, number, size = np.unique(team, return_inverse=True, return_counts=True)
    loose[location[size[number] > 1]] = False
    return int(loose.sum())


def tied_part(trace: Trace) -> Trace:
    """Return the trace of the locations that take part in the answer; `counts` says how many were left out, and how many threads are loose.

    The rows of its tables are numbered anew, in their order. A defect of a location that is left out is one of none. Paths and names of
    regions that only such locations have are left out too.
    """
    keep = tied(trace)
    if loose := _loose(trace, keep):
        trace = dataclasses.replace(trace, counts=dataclasses.replace(trace.counts, loose_threads=loose))
    if keep.all():
        return trace
    left_out = trace.locations.kind[~keep]
    streams = int((left_out == STREAM).sum())
    more = {"untied_threads": len(left_out) - streams, "untied_streams": streams}
    counts = dataclasses.replace(trace.counts, **{name: getattr(trace.counts, name) + number for name, number in more.items()})
    return dataclasses.replace(_Part(trace, keep).trace(), counts=counts)


def widened(trace: Trace, timeline: Timeline) -> Timeline:
    """Return a timeline of the tied part of a trace as one of the whole: the locations that are left out keep the times of the trace."""
    keep = tied(trace)
    if keep.all():
        return timeline
    old = trace.timeline
    return Timeline(
        _with(old.calls, keep[trace.calls.location], timeline.calls),
        _with(old.regions, keep[trace.regions.location], timeline.regions),
        _with(old.locations, keep, timeline.locations),
        timeline.origin,
    )


def _with(times: Times, rows: Mask, others: Times) -> Times:
    """Return times with others in some of their rows."""
    enter, leave = times.enter.copy(), times.leave.copy()
    enter[rows], leave[rows] = others.enter, others.leave
    return Times(enter, leave)


class _Part:
    """The trace of some locations: which rows of its tables are kept, and what becomes of their numbers."""

    def __init__(self, trace: Trace, keep: Mask) -> None:
        self._trace, self._keep = trace, keep
        self._calls, self._regions = keep[trace.calls.location], keep[trace.regions.location]
        self._requests = self._calls[trace.requests.posted_by]
        self._paths = self._kept_paths()
        self._names = _stay(trace.paths.region, trace.paths.region[self._paths], len(trace.names))
        self._location, self._call, self._request, self._region, self._path, self._name = (
            _numbers(kept) for kept in (keep, self._calls, self._requests, self._regions, self._paths, self._names)
        )
        self._before = np.concatenate([[0], np.cumsum(self._calls)]).astype("i4")
        """Per call and one more: how many before it are kept."""

    def trace(self) -> Trace:
        """Return it."""
        trace, calls, call, location = self._trace, self._calls, self._call, self._location
        messages = {name: call[getattr(trace.messages, name)] for name in ("send", "send_done", "receive", "receive_done")}
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
            messages=dataclasses.replace(trace.messages, **messages),
            links=dataclasses.replace(trace.links, cause=call[trace.links.cause], effect=call[trace.links.effect]),
            members=dataclasses.replace(trace.members, call=call[trace.members.call], done=call[trace.members.done]),
            timeline=self._timeline(),
            labels=_rows(trace.labels, calls[trace.labels.call], call=call),
            offsets=_rows(trace.offsets, clock[trace.offsets.location] != NONE, location=clock),
            readings=_rows(trace.readings, clock[trace.readings.location] != NONE, location=clock, master=clock),
            counters=_rows(trace.counters, calls[trace.counters.call], call=call),
            parameters=self._parameters(),
            records=records,
            values=values,
            defects=dataclasses.replace(trace.defects, location=location[trace.defects.location]),
            site=trace.site[calls] if len(trace.site) else trace.site,
        )

    def _kept_paths(self) -> Mask:
        """Return which paths stay, with those above them."""
        trace, parent = self._trace, self._trace.paths.parent
        every = np.concatenate([trace.calls.path, trace.regions.path])
        kept = np.concatenate([trace.calls.path[self._calls], trace.regions.path[self._regions]])
        out = _stay(every[every != NONE], kept[kept != NONE], len(parent))
        above = np.flatnonzero(out)
        while len(above):
            above = parent[above][parent[above] != NONE]
            above = above[~out[above]]
            out[above] = True
        return out

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
        table = self._trace.parameters
        return _rows(table, self._keep[table.location], location=self._location, region=self._region, call=self._before)

    def _records(self) -> tuple[Records, I8]:
        table, values = self._trace.records, self._trace.values
        keep, size = self._keep[table.location], np.diff(np.append(table.first_value, len(values)))
        kept = _rows(table, keep, location=self._location, call=self._before)
        first = np.cumsum(size[keep]) - size[keep]
        return dataclasses.replace(kept, first_value=first), values[np.repeat(keep, size)]


def _numbers(kept: Mask) -> I4:
    """Return the new number of each row, -1 for those not kept, and for -1.

    kept  1 0 1   out  0 -1 1 -1
    """
    return np.append(np.where(kept, np.cumsum(kept) - 1, NONE), NONE).astype("i4")


def _stay(every: I4, kept: I4, count: int) -> Mask:
    """Return which of `count` rows stay: those that what is kept refers to, and those that nothing refers to."""
    out = np.ones(count, bool)
    out[every] = False
    out[kept] = True
    return out


def _rows(table: T, keep: Mask, **numbers: I4) -> T:
    """Return the rows of a table that are kept, the columns `numbers` replaced by what stands there under their values."""
    columns = {field.name: getattr(table, field.name)[keep] for field in dataclasses.fields(table)}
    return type(table)(**columns | {name: number[columns[name]] for name, number in numbers.items()})
