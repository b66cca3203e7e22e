"""Whether all numbers of a trace that comes from outside are such that kernels, which do not ask, can work with them.

Readers make tables whose rows fit each other. A store holds tables as they are: what it says of other rows is checked here, column by
column, in one pass over each.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace.arrays import Ints, chunks
from perwiz.trace.defects import REASONS
from perwiz.trace.operations import OPS
from perwiz.trace.resources import map_threads, thread_count
from perwiz.trace.tables import LINKS, NONE, STREAM, SYNCHRONOUS, Times
from perwiz.trace.trace import Timeline, Trace

_LONGEST = 1 << 60
"""ns from the begin of time, and bytes of anything."""
_RANK = (1 << 31) - 1
_Bounds = dict[str, dict[str, tuple[int, int]]]


def check_bounds(trace: Trace) -> None:
    """Raise TraceError naming a column with a number that its meaning does not allow, or lists of other lengths than their tables."""
    _check_lengths(trace)
    _check_order(trace)
    _check_parents(trace)
    columns = _columns(trace)
    several = thread_count(sum(len(values) for _, values, _, _ in columns))
    map_threads(lambda column: check_within(f"{trace.path}: {column[0]}", *column[1:]), columns, several)
    check_timeline(trace, trace.timeline)


def check_within(name: str, values: Ints, least: int, most: int) -> None:
    """Raise TraceError for a value that is not least .. most."""
    for piece in chunks(len(values)):
        part = values[piece]
        if part.min() < least or part.max() > most:
            row = piece.start + int(np.flatnonzero((part < least) | (part > most))[0])
            raise TraceError(f"{name}[{row}] is {values[row]}, must be from {least} to {most}")


def check_timeline(trace: Trace, timeline: Timeline) -> None:
    """Raise TraceError if a timeline is of another trace, or its times cannot be added up."""
    for name, table in (("calls", trace.calls), ("regions", trace.regions), ("locations", trace.locations)):
        times: Times = getattr(timeline, name)
        _check(trace, len(times) == len(table), f"timeline.{name} has {len(times)} rows, must have {len(table)}")
        for side in ("enter", "leave"):
            check_within(f"{trace.path}: timeline.{name}.{side}", getattr(times, side), -_LONGEST, _LONGEST)


def _check(trace: Trace, good: object, what: str) -> None:
    if not good:
        raise TraceError(f"{trace.path}: {what}")


def _columns(trace: Trace) -> list[tuple[str, Ints, int, int]]:
    """Return name and values of each column that says something of other rows, and between which numbers they must lie."""
    bounds = _of_communication(trace) | _of_more(trace)
    out = [(f"{table}.{name}", getattr(getattr(trace, table), name), *ends) for table, of in bounds.items() for name, ends in of.items()]
    out += [("communicators.ranks", trace.communicators.ranks, 0, _RANK), ("site", trace.site, -1, len(trace.sites) - 1)]
    return [*out, ("levels", np.array(trace.levels, "i8"), 0, len(trace.counter_names) - 1)]


def _of_communication(trace: Trace) -> _Bounds:
    """Return the bounds of what takes part in predictions, by table and column."""
    calls, locations, regions = len(trace.calls) - 1, len(trace.locations) - 1, len(trace.regions) - 1
    paths, names, comms = len(trace.paths) - 1, len(trace.names) - 1, len(trace.communicators) - 1
    collectives = len(trace.collectives) - 1
    return {
        "locations": {"node": (-1, len(trace.nodes) - 1), "process": (0, _RANK), "thread": (0, _RANK), "kind": (0, STREAM)},
        "paths": {"region": (0, names)},
        "calls": {
            "location": (0, locations),
            "op": (0, len(OPS) - 1),
            "path": (-1, paths),
            "comm": (-1, comms),
            "peer": (-2, _RANK),
            "root": (-1, _RANK),
            "bytes_sent": (0, _LONGEST),
            "bytes_received": (0, _LONGEST),
        },
        "requests": {"posted_by": (0, calls), "completed_by": (-1, calls), "cancelled": (0, 1)},
        "unfinished": {"call": (0, calls), "request": (0, len(trace.requests) - 1)},
        "regions": {
            "location": (0, locations),
            "path": (0, paths),
            "parent": (-1, regions),
            "first_call": (0, calls + 1),
            "end_call": (0, calls + 1),
        },
        "messages": {
            "send": (0, calls),
            "send_done": (-1, calls),
            "receive": (0, calls),
            "receive_done": (0, calls),
            "comm": (-1, comms),
            "mode": (0, SYNCHRONOUS),
            "bytes": (0, _LONGEST),
            "sent_after": (-_LONGEST, _LONGEST),
            "received_before": (-_LONGEST, _LONGEST),
        },
        "collectives": {"op": (0, len(OPS) - 1), "comm": (-1, comms), "root": (-1, _RANK)},
        "members": {"collective": (0, collectives), "call": (0, calls), "done": (-1, calls)},
        "links": {"kind": (0, len(LINKS) - 1), "cause": (0, calls), "effect": (0, calls)},
        "offsets": {"location": (0, locations), "time": (-_LONGEST, _LONGEST)},
        "readings": {
            "location": (0, locations),
            "master": (-1, locations),
            **dict.fromkeys(("time", "offset", "error"), (-_LONGEST, _LONGEST)),
        },
    }


def _of_more(trace: Trace) -> _Bounds:
    """Return those of what is counted, kept and shown."""
    calls, locations, regions = len(trace.calls) - 1, len(trace.locations) - 1, len(trace.regions) - 1
    texts, counters = len(trace.texts) - 1, len(trace.counter_names) - 1
    return {
        "labels": {"call": (0, calls), "text": (0, texts)},
        "counters": {"call": (0, calls), "counter": (0, counters)},
        "region_counters": {"region": (0, regions), "counter": (0, counters)},
        "parameters": {
            "location": (0, locations),
            "region": (-1, regions),
            "call": (0, calls + 1),
            "name": (0, texts),
            "value": (0, texts),
        },
        "records": {
            "location": (0, locations),
            "kind": (0, texts),
            "call": (0, calls + 1),
            "time": (-_LONGEST, _LONGEST),
            "first_value": (0, len(trace.values)),
        },
        "defects": {"location": (-1, locations), "reason": (0, len(REASONS) - 1)},
    }


def _check_parents(trace: Trace) -> None:
    """Check how many rows each is behind its parent: at least one, or whoever follows parents would not come to an end."""
    for name in ("paths", "regions"):
        parent = getattr(trace, name).parent
        for piece in chunks(len(parent)):
            part = parent[piece]
            bad = np.flatnonzero((part < NONE) | (part >= piece.start + np.arange(len(part))))
            if len(bad):
                row = piece.start + int(bad[0])
                raise TraceError(f"{trace.path}: {name}.parent[{row}] is {part[bad[0]]}, must be a row before it, or -1")


def _check_lengths(trace: Trace) -> None:
    comms = trace.communicators
    _check(trace, len(trace.parallel) == len(trace.names), "parallel has another length than names, must have the same")
    _check(trace, len(trace.sources) in (0, len(trace.names)), "sources has another length than names, must have the same or none")
    _check(trace, len(comms.first) == len(comms) + 1, "communicators.first has another length than names and one more, must have it")
    for topology in trace.topologies:
        dimensions = len(topology.sizes)
        same = dimensions == len(topology.periodic) == len(topology.dimensions) == topology.coordinates.shape[-1]
        fits = topology.coordinates.ndim == 2 and same and -1 <= topology.comm < len(comms)
        _check(trace, fits, "a topology whose dimensions are not told alike, or of no communicator, must be one of both")
    for name, column in (("first", comms.first), ("ranks", comms.ranks), ("values", trace.values), ("site", trace.site)):
        _check(trace, column.ndim == 1, f"{name} has {column.ndim} dimensions, must have one")


def _check_order(trace: Trace) -> None:
    """Check what is sorted, or says where each part of another column begins."""
    comms, members, first = trace.communicators, trace.members.collective, trace.collectives.first_member
    for name, starts, end in (
        ("communicators.first", comms.first, len(comms.ranks)),
        ("records.first_value", trace.records.first_value, None),
    ):
        _check(
            trace, not len(starts) or (starts[0] == 0 and (end is None or starts[-1] == end)), f"{name} does not begin or end where it must"
        )
        _check(trace, _rises(starts), f"{name} falls, must rise")
    for name, column in (
        ("calls.location", trace.calls.location),
        ("regions.location", trace.regions.location),
        ("requests.posted_by", trace.requests.posted_by),
        ("counters.call", trace.counters.call),
        ("region_counters.region", trace.region_counters.region),
    ):
        _check(trace, _rises(column), f"{name} falls, must rise")
    last, count = NONE, 0
    for piece in chunks(len(members)):
        part = members[piece]
        steps = np.diff(part, prepend=last)
        begins = piece.start + np.flatnonzero(steps)
        _check(trace, ((steps == 0) | (steps == 1)).all(), "members of a collective are missing, must be there")
        _check(trace, np.array_equal(begins, first[count : count + len(begins)]), "members are not those of collectives")
        last, count = int(part[-1]), count + len(begins)
    _check(trace, count == len(first), "members are not those of collectives")


def _rises(column: Ints) -> bool:
    """Return whether no value of a column is below that before it."""
    last = None
    for piece in chunks(len(column)):
        part = column[piece]
        if (last is not None and part[0] < last) or (part[1:] < part[:-1]).any():
            return False
        last = part[-1]
    return True
