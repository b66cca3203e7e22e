"""What it cost: recorded durations split into waiting, which the sweep recomputes, and work, which it keeps.

A call returns when its partners let it and its work is done: R = max(E + own, max over partners (T + lag)) + rest. `own` is the lag
of a synchronous sender's own request, `lag` the model's, lowered where the recording proves it smaller, `rest` what remains of the
recorded duration. So a sweep without hypothesis gives back every recorded time (PerWiz paper, section 4; Ino et al. 2001).
"""

from __future__ import annotations

import dataclasses
import weakref
from functools import partial
from typing import Any

import numpy as np

from perwiz.graph.graph import (
    COLLECTIVE,
    EJECTION,
    GAP,
    INJECTION,
    KINDS,
    LOCAL,
    MESSAGE,
    PROBE,
    RENDEZVOUS,
    TRANSFER,
    Graph,
    entering,
    hubs,
)
from perwiz.graph.interfaces import Queue
from perwiz.kernels import sweep as reading
from perwiz.kernels import weigh as kernel
from perwiz.loggps import instances, interfaces
from perwiz.loggps.fit import launches
from perwiz.loggps.interfaces import CUT as CUT
from perwiz.loggps.keys import NO_LIMIT, POSTED
from perwiz.loggps.links import flows
from perwiz.loggps.links.inside import Inside
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import sent
from perwiz.loggps.progress import movers
from perwiz.trace.arrays import I4, I8, Ints, Mask, chunks, narrowed
from perwiz.trace.origin import Origin
from perwiz.trace.resources import at_once, in_parts, map_threads, remembered, thread_count
from perwiz.trace.tables import NONE, Locations, Times
from perwiz.trace.trace import Timeline, Trace


@dataclasses.dataclass(frozen=True)
class Misfit:
    """How the recording contradicts the model: edges into returns, and how many of their lags had to be lowered."""

    requests: int
    """Synchronous sends, whose own request takes o_s + L."""
    requests_lowered: int
    """Those that returned sooner than that."""
    messages: int
    messages_lowered: int
    collectives: int
    collectives_lowered: int
    gaps: int
    gaps_lowered: int
    violations: int
    """Edges whose effect was recorded before its cause; they bind at their recorded times."""
    eager_after_all: int
    """Messages above S whose sender returned before the receiver was there."""
    inner: int
    """Waits inside rooted collectives, taken to be for the last process that came before they ended."""

    def __add__(self, other: Misfit) -> Misfit:
        """Return that of the edges of both."""
        return Misfit(*(getattr(self, field.name) + getattr(other, field.name) for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Passes:
    """How the delays of a changed run were found."""

    passes: int
    """How often the run was swept to make them anew."""
    moved: int | None
    """By how much the last pass still moved the makespan, ns; None: the delays changed no more."""
    simulated: bool = False
    """Whether passes did not come closer, so that delays are those of one run of calls and of messages that flow: `moved` is then by how
    much the first pass behind that moved the makespan.
    """


@dataclasses.dataclass(frozen=True, eq=False)
class Weighted:
    """A graph with a weight (int64 ns) per edge, and what the weights came from. Hypotheses return changed copies.

    `region_enter` and `region_leave` are the ns from the vertex before a region boundary on its location to the boundary.
    """

    trace: Trace
    timeline: Timeline
    graph: Graph
    model: Model
    weight: I8
    network: Model
    """The model the weights stand for now; `model` split the recording."""
    size: I8
    """Bytes per message now."""
    places: Locations
    """Where the locations are now."""
    nodes: tuple[str, ...]
    """Names of the nodes that `places` has, which may be more than the trace's."""
    region_enter: Ints
    region_leave: Ints
    misfit: Misfit
    held: bool = dataclasses.field(default=False, kw_only=True)
    """Whether messages sent in place go on, in another order of calls, with the call of their receiver that let them go as recorded."""
    delayed: I8 | None = dataclasses.field(default=None, kw_only=True)
    """By how much messages are delayed on links beyond what the weights of the recorded times have, ns each; None: by nothing."""
    inside: I8 | None = dataclasses.field(default=None, kw_only=True)
    """The delays that the weights of the recorded times have, of messages in another order; None: they are in the recorded one."""
    passes: Passes | None = dataclasses.field(default=None, kw_only=True)
    """None: delays are those of the recorded times."""
    rounds: Inside | None = dataclasses.field(default=None, kw_only=True)
    """Messages inside of collectives that are made in rounds, and share links; `delayed` and `inside` have them behind the others."""
    queues: tuple[Queue, Queue] | None = dataclasses.field(default=None, kw_only=True)
    """Who follows whom out of nodes and into them where not all of these messages have vertices at interfaces; None: all have them."""

    @property
    def placed(self) -> Trace:
        """The trace with its locations where they are now."""
        if self.places is self.trace.locations:
            return self.trace
        return dataclasses.replace(self.trace, locations=self.places, nodes=self.nodes)


def synchronous(trace: Trace, model: Model, size: I8 | None = None) -> Mask:
    """Return which messages, of their recorded or another size, wait for their receiver under a model, bool per message."""
    out = np.zeros(len(trace.messages), bool)
    for chunk in chunks(len(out)):
        out[chunk] = model.is_synchronous(sent(trace, model, chunk, size))
    return out


def holding(trace: Trace, model: Model, size: I8 | None = None) -> Mask:
    """Return which messages may hold their sender: those that wait for their receiver, and those sent in place; bool per message."""
    out = synchronous(trace, model, size)
    if model.inline_bytes < NO_LIMIT:
        for chunk in chunks(len(out)):
            out[chunk] |= model.is_in_place(sent(trace, model, chunk, size))
    return out


def location_times(timeline: Timeline, graph: Graph) -> I8:
    """Return the time of every vertex of a location in a timeline, int64 ns by position; that of hubs is 0."""
    time = np.zeros(graph.vertices, "i8")
    sides = (
        (graph.entered, timeline.calls.enter),
        (graph.returned, timeline.calls.leave),
        (graph.begun, timeline.locations.enter),
        (graph.ended, timeline.locations.leave),
    )
    at_once([partial(reading.put_times, vertex, values, time) for vertex, values in sides], graph.vertices)
    return time


def vertex_times(timeline: Timeline, graph: Graph, lag: I8) -> I8:
    """Return the time of every vertex in a timeline, int64 ns by position; hubs have that of the last to arrive."""
    time, hub = location_times(timeline, graph), hubs(graph)

    def through(first: int, end: int) -> None:
        begin, stop = np.searchsorted(hub, (first, end)).tolist()
        reading.time_hubs(graph.start, graph.source, lag, hub[begin:stop], time)

    graph.rounds.hubs(through, time)
    return time


@remembered(4)
def _distances(timeline: Timeline, trace: Trace) -> tuple[Ints, Ints]:
    """Return the ns from the return of the call before each region boundary on its location, or its first instant, to it: the same of any
    model; in 32 bits, if they fit.
    """
    begun, left, first = timeline.locations.enter, timeline.calls.leave, trace.first_calls
    out = timeline.regions.enter.copy(), timeline.regions.leave.copy()
    for boundary, behind in zip(out, (trace.regions.first_call, trace.regions.end_call), strict=True):
        for chunk in chunks(len(boundary)):
            location, call = trace.regions.location[chunk], behind[chunk]
            inside = call > first[location]
            before = begun[location]
            before[inside] = left[call[inside] - 1]
            boundary[chunk] -= before
    return narrowed(out[0]), narrowed(out[1])


def _before(graph: Graph, location: I4, call: I4, first: I8) -> I4:
    """Return the vertex before each of some calls on its location."""
    inside = call > first[location]
    out = graph.begun[location]
    out[inside] = graph.returned[call[inside] - 1]
    return out


def weigh(trace: Trace, timeline: Timeline, graph: Graph, model: Model) -> Weighted:
    """Return the graph weighted so that a sweep gives back `timeline` exactly, int64 ns.

    Where an effect was recorded before its cause, the edge binds at the recorded times (negative weight).
    """
    weight = lags(trace, graph, model)
    time = vertex_times(timeline, graph, weight)
    fits, (enter, leave) = _split(graph, time, weight), _distances(timeline, trace)
    launches.bind(trace, timeline, graph, weight)
    return Weighted(
        trace=trace,
        timeline=timeline,
        graph=graph,
        model=model,
        weight=weight,
        network=model,
        size=trace.messages.bytes,
        places=trace.locations,
        nodes=trace.nodes,
        region_enter=enter,
        region_leave=leave,
        misfit=_misfit(trace.share.reduced(fits.view("i8"), "sum").view(kernel.FIT).view(np.recarray), graph),
    )


def _split(graph: Graph, time: I8, weight: I8) -> np.recarray[Any, Any]:
    """Replace lags by weights, in place, that a sweep gives these times back with; return how they fit, per kind of edge."""
    fits = np.zeros(len(KINDS), kernel.FIT).view(np.recarray)
    kernel.split(graph.start, graph.source, graph.kind, time, CUT, weight, fits)
    return fits


def _misfit(fits: np.recarray[Any, Any], graph: Graph) -> Misfit:
    requests, messages, collectives, gaps = (fits[kind] for kind in (LOCAL, MESSAGE, COLLECTIVE, GAP))
    return Misfit(
        requests=int(requests.edges),
        requests_lowered=int(requests.lowered),
        messages=int(messages.edges),
        messages_lowered=int(messages.lowered),
        collectives=int(collectives.edges),
        collectives_lowered=int(collectives.lowered),
        gaps=int(gaps.edges),
        gaps_lowered=int(gaps.lowered),
        violations=int(fits.violations.sum() - fits.violations[[INJECTION, EJECTION]].sum()),
        eager_after_all=int(fits[RENDEZVOUS].returned_before) + graph.let_go,
        inner=graph.inner,
    )


def lags(
    trace: Trace,
    graph: Graph,
    model: Model,
    size: I8 | None = None,
    recorded: Model | None = None,
    delay: I8 | None = None,
    inside: Inside | None = None,
) -> I8:
    """Return the model's lag per edge, int64 ns, for messages of their recorded or another `size`.

    CUT for the rendezvous edges of eager messages, and for those from other calls than let them move, where hypotheses supposed some; on
    a call's local edge the lag of its own synchronous request, or of the transfer that it lets begin. `recorded` is the model of the run,
    if that is another one, and `delay` by how much its links delayed messages, ns each. `inside` are the messages of collectives that the
    graph has beside them.
    """
    table = trace.messages
    waits, holds = synchronous(trace, model, size), holding(trace, model, size)
    gaps = Gaps(trace, model, size) if model.gap != "none" else None
    mover = None
    if graph.supposed or graph.deadlocks:
        other = None if size is table.bytes else size
        mover = _begins(trace, graph, movers(trace, trace.timeline, model, recorded, other))
    out = np.zeros(graph.edges, "i8")

    def fill(chunk: slice) -> None:
        kind, cause, lag = graph.kind[chunk], graph.cause[chunk], out[chunk]
        edge = np.flatnonzero((kind == MESSAGE) | (kind == PROBE))
        lag[edge] = model.ready(sent(trace, model, cause[edge], size))
        edge = np.flatnonzero((kind == RENDEZVOUS) | (kind == TRANSFER))
        awaited = cause[edge]
        lasts = model.ready(sent(trace, model, awaited, size)) if model.progress == POSTED else 0
        receives = (kind[edge] == TRANSFER) & (graph.source[chunk][edge] == graph.entered[table.receive[awaited]])
        lag[edge] = np.where(holds[awaited] | receives, lasts, CUT)
        if mover is not None:
            others = (mover[awaited] == NONE) | (graph.source[chunk][edge] != graph.entered[mover[awaited]])
            others &= kind[edge] == RENDEZVOUS
            lag[edge[others]] = CUT
        if gaps is not None:
            edge = np.flatnonzero(kind == GAP)
            lag[edge] = gaps.after(cause[edge])

    map_threads(fill, chunks(graph.edges), thread_count(graph.edges))
    interfaces.fill(trace, graph, model, size, out, inside)
    for chunk in chunks(len(table)):
        rows = np.flatnonzero(waits[chunk] & (table.send_done[chunk] == table.send[chunk])) + chunk.start
        out[graph.start[graph.returned[table.send[rows]]]] = model.request(sent(trace, model, rows, size))
    if model.progress == POSTED:
        rows = np.flatnonzero(table.receive == table.receive_done)
        np.maximum.at(out, graph.start[graph.returned[table.receive[rows]]], model.request(sent(trace, model, rows, size)))
    if model.topology is not None:
        flows.add(
            trace,
            graph,
            model,
            table.bytes if size is None else size,
            flows.recorded_delays(trace, graph, model) if delay is None else delay,
            out,
            CUT,
        )
    return out


def _begins(trace: Trace, graph: Graph, mover: I4) -> I4:
    """Return the call at which the rendezvous edge of each message begins, given the one that lets it move, row of calls, -1 none.

    Where the graph has none from there, as it closed a cycle, it is the call that posts the receive, if that comes before.
    """
    edge = np.flatnonzero(graph.kind == RENDEZVOUS)
    message = graph.cause[edge]
    there = np.zeros(len(mover), bool)
    there[message[graph.source[edge] == graph.entered[mover[message]]]] = True
    receive = trace.messages.receive
    return np.where(there | (receive > mover), mover, receive)


class Gaps:
    """What a model keeps between the sends of a process, for messages of their recorded or another size."""

    def __init__(self, trace: Trace, model: Model, size: I8 | None = None) -> None:
        self._trace, self._model, self._size = trace, model, size
        table, calls = trace.messages, len(trace.calls)
        self._bytes = trace.calls.bytes_sent
        """Per call, of all its messages."""
        if size is not None:
            self._bytes = np.zeros(calls, "i8")
            np.add.at(self._bytes, table.send, size)
        self._largest = np.zeros(calls, "i4")
        """Its largest message."""
        if len(model.costs) > 1 and model.gap != "none":
            bytes_, most = table.bytes if size is None else size, np.zeros(calls, "i8")
            np.maximum.at(most, table.send, bytes_)
            for chunk in chunks(len(table)):
                rows = np.flatnonzero(bytes_[chunk] == most[table.send[chunk]]) + chunk.start
                self._largest[table.send[rows]] = rows

    def after(self, calls: I4) -> I8:
        """Return the ns from the return of sending calls, those of messages, to that of the next send of their process, int64 per call."""
        return self._model.gap_after(*self.sent_by(calls))

    def sent_by(self, calls: I4) -> tuple[Sent, I8]:
        """Return the largest message of each of some sending calls, and the bytes of all of its messages."""
        return sent(self._trace, self._model, self._largest[calls], self._size), self._bytes[calls]


def work(trace: Trace, model: Model, size: I8 | None = None, network: Model | None = None, placed: Trace | None = None) -> I8:
    """Return the part of each call's work that a model explains, int64 ns, for messages of their recorded or another `size`.

    On another `network`, or with the locations of the trace `placed` elsewhere, letters tell the cost of messages, and how the model's
    costs of collectives change.
    """
    table, members, letters = trace.messages, trace.members, network or model
    out, posts = np.zeros(len(trace.calls), "i8"), np.zeros((2, len(trace.calls)), "i8")
    for chunk in chunks(len(table)):
        messages = sent(placed or trace, letters, chunk, size)
        waits, send, send_done = letters.is_synchronous(messages), table.send[chunk], table.send_done[chunk]
        completes = waits & (send_done != NONE)
        np.add.at(out, np.where(completes, send_done, send), letters.send_work(messages))
        np.add.at(out, table.receive_done[chunk], letters.receive_work(messages))
        posting = completes & (send_done != send), table.receive[chunk] != table.receive_done[chunk]
        for ends, cost, calls, which in zip(posts, letters.post_work(messages), (send, table.receive[chunk]), posting, strict=True):
            np.maximum.at(ends, calls[which], cost[which])
    out += posts[0]
    out += posts[1]
    done = np.flatnonzero(members.done != NONE)
    np.add.at(out, members.done[done], instances.work(trace, done, model, network, placed))
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
    """The measured run, whatever hypotheses made of it, int64 ns; nobody may write to it."""

    weight: I8
    """Per edge."""
    edge: I4
    """The edges whose lag is not 0, ascending."""
    lag: I8
    """What the model says of each of them."""
    work: I8
    """Per call: the part of its work that the model explains."""


_KEPT: weakref.WeakValueDictionary[tuple[int, int], Weighted] = weakref.WeakValueDictionary()
"""By graph and model, what weighs what the measured run does, as long as somebody has it."""


def measured(weighted: Weighted) -> Measured:
    """Return what the measured run weighs, and what that is made of; found once for a graph and a model."""
    return _measured(weighted.graph, weighted.trace, weighted.timeline, weighted.model, weighted.rounds)


def keep_as_measured(weighted: Weighted) -> None:
    """Let what the measured run weighs be the weights of this one: as `weigh` returned it, and nobody writes to them."""
    _KEPT[id(weighted.graph), id(weighted.model)] = weighted


def forget_measured(graph: Graph) -> None:
    """Forget what the measured run weighs, if it was found for a graph: who asks again finds it anew."""
    _measured.forget(graph)


@remembered(1)
def _measured(graph: Graph, trace: Trace, timeline: Timeline, model: Model, inside: Inside | None) -> Measured:
    kept, gaps = _KEPT.get((id(graph), id(model))), model.gap != "none"
    explained = work(trace, model)  # first, as it takes memory beside
    lag = lags(trace, graph, model, trace.messages.bytes if gaps else None, inside=inside)  # a call may have sent more than its messages
    edge = np.flatnonzero(lag).astype("i4")
    sparse = edge, lag[edge]
    if kept is not None and kept.trace is trace and kept.timeline is timeline:
        return Measured(kept.weight, *sparse, explained)
    weight = lags(trace, graph, model, inside=inside) if gaps else lag
    _split(graph, vertex_times(timeline, graph, weight), weight)
    launches.bind(trace, timeline, graph, weight)
    return Measured(weight, *sparse, explained)


def reweigh(weighted: Weighted, before: Measured, model: Model, size: I8, placed: Trace | None = None) -> I8:
    """Return the weights of the measured run on another network or with other message sizes, int64 ns per edge, given it as it was.

    `placed` is the trace with its locations elsewhere.

    What the model explains of a lag or of work changes by the ratio of the two models, so a message that proved faster than the model
    by some factor stays so; what it does not explain stays (rendezvous edges of messages that only now are synchronous come alive).
    """
    trace, graph, old, times = weighted.trace, weighted.graph, weighted.model, weighted.timeline.calls
    delay = flows.recorded_delays(trace, graph, old)
    works = before.work, work(trace, old, size, model, placed)
    out = lags(placed or trace, graph, model, size, old, delay, weighted.rounds)
    let_go = np.zeros(len(trace.messages) if graph.supposed else 0, "u1")
    for chunk in chunks(graph.edges if graph.supposed else 0):
        gone = (graph.kind[chunk] == RENDEZVOUS) & (before.weight[chunk] == CUT)
        rows = slice(*np.searchsorted(before.edge, (chunk.start, chunk.start + len(gone))).tolist())
        gone[before.edge[rows][before.lag[rows] == CUT] - chunk.start] = False
        let_go[graph.cause[chunk][gone]] = 1
    edges = graph.start, graph.kind, graph.cause, graph.returning
    kernel.reweigh(*edges, before.weight, before.edge, before.lag, *works, times.enter, times.leave, let_go, CUT, out)
    return out


def timeline_of(weighted: Weighted, time: I8, origin: Origin) -> Timeline:
    """Return the timeline that vertex times make; a region boundary keeps its distance to the vertex before it."""
    graph, table = weighted.graph, weighted.trace.regions
    regions = Times(
        _boundaries(weighted, time, weighted.region_enter, table.first_call),
        _boundaries(weighted, time, weighted.region_leave, table.end_call),
    )
    share = weighted.trace.share
    instants = Times(share.of_locations(time[graph.begun]), share.of_locations(time[graph.ended]))
    return Timeline(_call_times(graph, time), regions, instants, origin)


def _call_times(graph: Graph, time: I8) -> Times:
    """Return when calls are entered and left. Vertices are read in the order of memory, but those of a part: one stands for many there."""
    if graph.border is not None:
        return Times(time[graph.entered], time[graph.returned])
    enter, leave = np.empty(len(graph.entered), "i8"), np.empty(len(graph.returned), "i8")
    columns = time, entering(graph), graph.returning

    def spread(part: slice) -> None:
        reading.spread_times(*columns, part.start, part.stop, enter, leave)

    in_parts(spread, graph.vertices, graph.vertices)
    return Times(enter, leave)


def _boundaries(weighted: Weighted, time: I8, distance: Ints, behind: I4) -> I8:
    """Return the times of region boundaries at these distances from the vertex before them, but not behind the one after them."""
    trace, graph, first = weighted.trace, weighted.graph, weighted.trace.first_calls
    out = distance.astype("i8")
    for chunk in chunks(len(out)):
        location, call = trace.regions.location[chunk], behind[chunk]
        out[chunk] += time[_before(graph, location, call, first)]
        np.minimum(out[chunk], time[_after(graph, location, call, first)], out=out[chunk])
    return out


def _after(graph: Graph, location: I4, call: I4, first: I8) -> I4:
    """Return the vertex where each of some calls is entered; behind the last call of its location, the last instant."""
    inside = call < first[location + 1]
    out = graph.ended[location]
    out[inside] = graph.entered[call[inside]]
    return out
