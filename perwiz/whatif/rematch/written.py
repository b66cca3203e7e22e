"""The tables of a run whose receives are matched anew: tasks stand where they run, and messages where they are received.

A receive that brings a task is entered by whoever asks, and returns with what the task recorded: the new call is the entry of one
recorded call and the return of another.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.graph.graph import MESSAGE, Graph
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import NONE, Counters, Links, RegionCounters, Regions, Times
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.order.tables import move_rows, scatter, sort_rows
from perwiz.whatif.waits import Waits

_RECEIVES = np.isin(operations.KIND, (operations.RECV, operations.IRECV))


@dataclasses.dataclass(frozen=True, eq=False)
class Written:
    """A run whose receives are matched anew, as a trace."""

    trace: Trace
    """Its calls, regions and messages in its own order, at its times."""
    message: I8
    """New row of each recorded message."""
    entry: I8
    """New row of the call that is entered as each recorded call was."""
    returned: I8
    """Recorded call as which each new call returns."""

    def waits(self, waits: Waits) -> Waits:
        """Return the waits of the run, given in recorded rows, with the rows of its own order."""
        return Waits(waits.time[self.returned], np.append(self.entry, NONE)[waits.partner[self.returned]].astype("i4"))


@dataclasses.dataclass(frozen=True, eq=False)
class _Rows:
    """Where recorded rows go."""

    entry: I8
    """New row of the call that is entered as each recorded call was."""
    exit: I8
    """New row of the call that returns as each recorded call did."""
    entered: I8
    """Recorded call as which each new call is entered."""
    returned: I8
    """Recorded call as which each new call returns."""
    location: I8
    """Location per new call."""
    first: I8
    """First new row of each location, and one behind the last."""
    old_first: I8
    """First recorded row of each location, likewise."""

    def of(self, row: Ints, new: I8) -> I8:
        """Return new rows of calls; -1 stays."""
        return np.append(new, NONE)[row]

    def between(self, location: Ints, call: Ints) -> tuple[I8, I8]:
        """Return the new (location, call) of what was recorded between calls: it stays behind the return of the call before it."""
        begins = np.asarray(call == self.old_first[location])
        before = np.append(self.exit, NONE)[np.where(begins, NONE, call - 1)]
        place = np.where(begins, location, np.append(self.location, NONE)[before])
        return place, np.where(begins, self.first[location], before + 1)


def written(trace: Trace, graph: Graph, timeline: Timeline, receive: I8) -> Written | None:
    """Return the trace of a run, or None where calls or regions that tasks begin in and end in do not fit each other.

    `graph` is the rewired one, `timeline` has the times of the run in recorded rows, `receive` is the recorded call per message that posts
    what takes it. Counters are left out: they counted in the recorded order.
    """
    rows = _rows(trace, graph)
    if (trace.calls.op[rows.entered] != trace.calls.op[rows.returned]).any():
        return None
    regions = _regions(trace, timeline, rows)
    if regions is None:
        return None
    table, requests = trace.messages, trace.requests
    done = table.receive_done.astype("i8")
    edge = np.flatnonzero(graph.kind == MESSAGE)
    done[graph.cause[edge]] = graph.returning[graph.targets(edge)]
    send = rows.entry[table.send]
    ends = {
        "send": send,
        "send_done": rows.of(table.send_done, rows.exit),
        "receive": rows.entry[receive],
        "receive_done": rows.exit[done],
    }
    completed = rows.of(requests.completed_by, rows.exit)
    request = np.full(len(trace.calls), NONE)
    request[requests.posted_by] = np.arange(len(requests))
    others = np.flatnonzero((done != table.receive_done) | (receive != table.receive))
    others = others[request[receive[others]] >= 0]
    completed[request[receive[others]]] = rows.exit[done[others]]
    message, posted = sort_rows(send), rows.entry[requests.posted_by]
    order = sort_rows(posted)
    tested = rows.exit[trace.unfinished.call]
    table_of_regions, times, number = regions
    calls = Times(timeline.calls.enter[rows.entered], timeline.calls.leave[rows.returned])
    made = dataclasses.replace(
        trace,
        calls=_calls(trace, rows, ends, done),
        requests=move_rows(requests, order, posted_by=posted, completed_by=completed),
        unfinished=move_rows(trace.unfinished, sort_rows(tested), call=tested, request=order[trace.unfinished.request]),
        messages=move_rows(table, message, **ends),
        members=dataclasses.replace(
            trace.members,
            call=rows.entry[trace.members.call].astype("i4"),
            done=rows.of(trace.members.done, rows.exit).astype("i4"),
        ),
        links=Links.in_order(trace.links.kind, rows.entry[trace.links.cause].astype("i4"), rows.exit[trace.links.effect].astype("i4")),
        regions=table_of_regions,
        timeline=dataclasses.replace(timeline, calls=calls, regions=times),
        labels=move_rows(trace.labels, sort_rows(rows.exit[trace.labels.call]), call=rows.exit[trace.labels.call]),
        counters=Counters.empty(),
        region_counters=RegionCounters.empty(),
        counter_names=(),
        levels=(),
        **_attached(trace, rows, number),
    )
    return Written(made, message, rows.entry, rows.returned)


def _rows(trace: Trace, graph: Graph) -> _Rows:
    """Return where recorded calls go, told by the chains of a rewired graph."""
    count = len(trace.calls)
    before = np.arange(graph.vertices)
    place = np.zeros(graph.vertices, "i8")
    for vertices in (graph.entered, graph.returned, graph.ended):
        before[vertices] = graph.source[graph.start[vertices]]
    before[graph.begun] = graph.begun
    place[graph.begun] = np.arange(len(graph.begun))
    while True:
        further = before[before]
        if (further == before).all():
            break
        before = further
    location = place[before[graph.returned]]
    order = np.lexsort((graph.returned, location))
    exit_ = np.argsort(order)
    owner = np.zeros(graph.vertices, "i8")
    owner[graph.entered] = np.arange(count)
    entered = owner[graph.source[graph.start[graph.returned]]][order]
    entry = np.empty(count, "i8")
    entry[entered] = np.arange(count)
    first = np.searchsorted(location[order], np.arange(len(graph.begun) + 1))
    return _Rows(entry, exit_, entered, order, location[order], first, trace.first_calls.astype("i8"))


def _calls(trace: Trace, rows: _Rows, ends: dict[str, I8], done: I8) -> Any:
    """Return the calls: a receive has the source and tag of what it brings, and sends go where they are received."""
    calls, table, process = trace.calls, trace.messages, trace.locations.process
    received = calls.bytes_received.copy()
    np.subtract.at(received, table.receive_done, table.bytes)
    np.add.at(received, done, table.bytes)
    columns = {f.name: getattr(calls, f.name)[rows.entered] for f in dataclasses.fields(calls)}
    takes = _RECEIVES[columns["op"]]
    columns["peer"][takes], columns["tag"][takes] = calls.peer[rows.returned][takes], calls.tag[rows.returned][takes]
    columns["bytes_received"] = received[rows.returned]
    columns["location"] = rows.location.astype(calls.location.dtype)
    send, receive = ends["send"], ends["receive"]
    others = np.flatnonzero(
        (rows.location[receive] != calls.location[table.receive])
        | (rows.location[send] != calls.location[table.send])
        | (rows.returned[ends["receive_done"]] != table.receive_done)
        | (rows.entered[receive] != table.receive)
    )
    for at, to, which in ((send, receive, ~_RECEIVES), (receive, send, _RECEIVES)):
        row = at[others]
        own = which[columns["op"][row]]
        told = own & (columns["peer"][row] >= 0)
        columns["peer"][row[told]] = process[rows.location[to[others[told]]]]
        tagged = own & (columns["tag"][row] >= 0)
        columns["tag"][row[tagged]] = table.tag[others[tagged]]
    return type(calls)(**columns)


def _regions(trace: Trace, timeline: Timeline, rows: _Rows) -> tuple[Regions, Times, I8] | None:
    """Return the regions, their times and the new row of what was entered as each was; None if boundaries of other regions meet.

    On a location, regions of one depth are entered and left in turn: the k-th is left as the k-th that is left there.
    """
    table = trace.regions
    depth = _depth(table.parent)
    into, first = rows.between(table.location, table.first_call)
    out, end = rows.between(table.location, table.end_call)
    enters, leaves = np.lexsort((first, depth, into)), np.lexsort((end, depth, out))
    fits = (into[enters] == out[leaves]) & (depth[enters] == depth[leaves]) & (table.path[enters] == table.path[leaves])
    if not fits.all() or (first[enters] > end[leaves]).any():
        return None
    left = scatter(leaves, enters)
    number = np.argsort(np.lexsort((first, into)))
    parent = np.full(len(table), NONE)
    for level in range(1, int(depth.max(initial=0)) + 1):
        inner, outer = np.flatnonzero(depth == level), np.flatnonzero(depth == level - 1)
        outer = outer[np.argsort(number[outer])]
        parent[inner] = number[outer[np.searchsorted(number[outer], number[inner]) - 1]]
    name = trace.region_names
    by_name = np.lexsort((number, name, into))
    fresh = np.append(True, (into[by_name][1:] != into[by_name][:-1]) | (name[by_name][1:] != name[by_name][:-1]))[: len(by_name)]
    turn = np.arange(len(by_name))
    instance = scatter(turn - np.maximum.accumulate(np.where(fresh, turn, 0)) + 1, by_name)
    made = move_rows(table, number, location=into, parent=parent, instance=instance, first_call=first, end_call=end[left])
    times = Times(timeline.regions.enter, timeline.regions.leave[left])
    return made, move_rows(times, number), number


def _depth(parent: Ints) -> I8:
    """Return how many regions are around each."""
    depth, at = np.zeros(len(parent), "i8"), parent.copy()
    while (at >= 0).any():
        depth += at >= 0
        at = np.append(parent, NONE)[at]
    return depth


def _attached(trace: Trace, rows: _Rows, region: I8) -> dict[str, Any]:
    """Return the tables of what was recorded between calls."""
    parameters, records = trace.parameters, trace.records
    place, call = rows.between(parameters.location, parameters.call)
    inside = np.append(region, NONE)[parameters.region]
    made = move_rows(parameters, np.argsort(np.lexsort((call, place))), location=place, call=call, region=inside)
    place, call = rows.between(records.location, records.call)
    order = np.lexsort((call, place))
    size = np.diff(np.append(records.first_value, len(trace.values)))[order]
    begin = np.cumsum(size) - size
    values = trace.values[np.repeat(records.first_value[order] - begin, size) + np.arange(size.sum())]
    at = np.argsort(order)
    moved = move_rows(records, at, location=place, call=call, first_value=begin[at])
    return {"parameters": made, "records": moved, "values": values if len(records) else trace.values}
