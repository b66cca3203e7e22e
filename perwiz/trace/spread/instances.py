"""Whole instances of collectives, each on one process: what looks at all members of one, asks for these."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I8
from perwiz.trace.numbers import distinct
from perwiz.trace.spread.share import AtHome, Part
from perwiz.trace.table import dtypes
from perwiz.trace.tables import (
    NONE,
    Calls,
    Collectives,
    Counters,
    Labels,
    Links,
    Members,
    Messages,
    Parameters,
    Records,
    RegionCounters,
    Regions,
    Requests,
    Times,
    Unfinished,
)
from perwiz.trace.trace import Timeline, Trace

_MEMBER = np.dtype([*((name, "i8") for name in ("instance", "place", "call", "done", "comm", "root")), ("op", "u2")])
_CALL = np.dtype([("number", "i8"), ("enter", "i8"), ("leave", "i8"), *dtypes(Calls).items()])


@dataclasses.dataclass(frozen=True, eq=False)
class Instances:
    """Whole instances that are at home on this process, as a trace of their members' calls alone, which it has alone."""

    trace: Trace
    timeline: Timeline
    rows: I8
    """Numbers of the instances in the whole trace."""
    calls: I8
    """Numbers of the calls."""


def whole_instances(trace: Trace, timeline: Timeline) -> Instances:
    """Return the instances of a trace that are at home here, on a timeline: of one that a process has alone, all of them."""
    share = trace.share
    if not isinstance(share, Part):
        return Instances(trace, timeline, np.arange(len(trace.collectives)), np.arange(len(trace.calls)))
    home = share.home[trace.members.collective]
    sent = [np.flatnonzero(home == peer) for peer in range(share.team.size)]
    members = np.concatenate(share.team.exchange([_members(trace, share, rows) for rows in sent]))
    calls = np.concatenate(share.team.exchange([_calls(trace, timeline, share, rows) for rows in sent]))
    calls = calls[np.argsort(calls["number"], kind="stable")]
    members = members[np.lexsort((members["place"], members["instance"]))]
    rows, first, of = np.unique(members["instance"], return_index=True, return_inverse=True)
    head = members[first]

    def here(number: I8) -> NDArray[np.int32]:
        return np.where(number == NONE, NONE, np.searchsorted(calls["number"], number)).astype("i4")

    columns: dict[str, Any] = {name: np.ascontiguousarray(calls[name]) for name in dtypes(Calls)}
    heads: dict[str, Any] = {name: head[name].astype(kind) for name, kind in (("op", "u2"), ("comm", "i4"), ("root", "i4"))}
    times = Times(np.ascontiguousarray(calls["enter"]), np.ascontiguousarray(calls["leave"]))
    whole = dataclasses.replace(
        trace,
        share=AtHome(share),
        calls=Calls(**columns),
        collectives=Collectives(**heads, first_member=first.astype("i4")),
        members=Members(of.ravel().astype("i4"), here(members["call"]), here(members["done"])),
        timeline=Timeline(times, Times.empty(), timeline.locations, timeline.origin),
        site=trace.site[:0],
        **_NOTHING,
    )
    return Instances(whole, whole.timeline, rows, calls["number"])


_NOTHING: dict[str, Any] = {
    "requests": Requests.empty(),
    "unfinished": Unfinished.empty(),
    "regions": Regions.empty(),
    "messages": Messages.empty(),
    "links": Links.empty(),
    "labels": Labels.empty(),
    "counters": Counters.empty(),
    "region_counters": RegionCounters.empty(),
    "parameters": Parameters.empty(),
    "records": Records.empty(),
    "values": np.empty(0, "i8"),
}


def _members(trace: Trace, share: Part, rows: I8) -> NDArray[Any]:
    """Return what a home is told about some members."""
    members, of = np.empty(len(rows), _MEMBER), trace.members.collective[rows]
    members["instance"], members["place"] = share.instances[of], share.places[rows]
    members["call"], members["done"] = share.named(trace.members.call[rows]), share.named(trace.members.done[rows])
    for name in ("op", "comm", "root"):
        members[name] = getattr(trace.collectives, name)[of]
    return members


def _calls(trace: Trace, timeline: Timeline, share: Part, rows: I8) -> NDArray[Any]:
    """Return the calls of some members."""
    both = np.concatenate([trace.members.call[rows], trace.members.done[rows]])
    calls = distinct(both[both != NONE])
    out = np.empty(len(calls), _CALL)
    out["number"] = share.named(calls)
    for name in dtypes(Calls):
        out[name] = getattr(trace.calls, name)[calls]
    out["enter"], out["leave"] = timeline.calls.enter[calls], timeline.calls.leave[calls]
    return out
