"""Collectives made in rounds in place of hubs; where messages share links or interfaces, all that several nodes make.

Rounds cost what the model says; what the recorded exits are off by after that stays. Where the messages share links or interfaces, they do
so in the recorded run first, beside those between calls at their recorded times: so the recorded algorithm gives back the recorded exits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.graph.anew import carried, numbers
from perwiz.graph.graph import COLLECTIVE, Graph
from perwiz.graph.interfaces import Queue
from perwiz.graph.rounds import Rounds, with_rounds
from perwiz.kernels.names import METAHOST
from perwiz.loggps import interfaces
from perwiz.loggps.algorithms.play import Group, Instances, Played, Way
from perwiz.loggps.algorithms.recorded import Fit, Recorded, factors, recorded_ways
from perwiz.loggps.algorithms.routines import each_message
from perwiz.loggps.links import flows
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.weigh import CUT, Weighted, vertex_times, weigh
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.links import has_links, recorded_inside, settled
from perwiz.whatif.sharing import last, queued, with_queued, without_queues

MOST = 1_000_000
"""Messages inside of collectives that share links, at most: they take some 20 us each, and the graph has three or four edges for one.
Where they share interfaces it has up to ten."""
_LITTLE = 0.05
"""Part of the latency by which messages of a collective may delay one another before that counts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sharing:
    """Collectives of a trace whose messages share links or interfaces, and how they were made."""

    rows: I8
    """Of collectives."""
    groups: list[Group]
    """Of these, each made one way."""
    ways: dict[int, Recorded]
    """Per kind."""
    factor: F8
    """Per row of collectives, what all costs are multiplied by."""


def matter(instances: Instances, model: Model, anywhere: bool = False) -> Mask:
    """Return the collectives whose messages may delay one another so that it counts, bool per row: of several nodes, and not too small.

    `anywhere` they may be of one node, too, if their processes are to be on others.
    """
    kinds = instances.kinds
    row = model.letters(Sent(kinds.size, pairs=np.full(len(kinds.op), METAHOST, "u1")))
    loads = kinds.processes * kinds.size * row.G > _LITTLE * np.asarray(row.L)
    return np.asarray((loads & (anywhere | (np.maximum(kinds.nodes, kinds.metahosts) > 1)))[instances.kind])


def share(weighted: Weighted) -> bool:
    """Return whether messages inside of collectives share links or interfaces, as long as no others take the place of recorded ones."""
    return has_links(weighted) or (interfaces.shared(weighted.network) and len(weighted.size) == len(weighted.trace.messages))


@remembered(2)
def shared(trace: Trace, model: Model, anywhere: bool) -> Sharing:
    """Return the collectives of a trace whose messages share links, as its times tell under a model how they were made; found once.

    `anywhere`: also those of one node.
    """
    model, told_by = alone(trace, model), alone(trace, model, simulated=True)
    instances = Instances(trace)
    rows = np.flatnonzero(instances.playable & matter(instances, model, anywhere) & (instances.processes**2 <= MOST))
    if not len(rows):
        return Sharing(rows, [], {}, np.ones(len(instances.count)))
    ways = recorded_ways(instances, told_by, rows, {})
    rows = _not_too_many(instances, rows, {kind: found.way for kind, found in ways.items()})
    ways = {kind: ways[kind] for kind in np.unique(instances.kind[rows]).tolist()}
    made = {kind: found.way for kind, found in ways.items()}
    return Sharing(rows, instances.groups(rows, made), ways, factors(instances, model, rows, made))


def alone(trace: Trace, model: Model, simulated: bool = False) -> Model:
    """Return the model by which collectives are played by themselves: with links in place of interfaces, if messages share these.

    By that with `simulated`, as `interfaces.as_links` says, one algorithm is told from another.
    """
    return interfaces.as_links(trace, model, simulated) if interfaces.shared(model) else model


def _not_too_many(instances: Instances, rows: I8, ways: Mapping[int, Way]) -> I8:
    """Return the collectives, rows, that have at most MOST messages together: those with the most bytes first."""
    kinds, each = instances.kinds, np.zeros(len(instances.kinds.op), "i8")
    for kind, way in ways.items():
        each[kind] = each_message(instances.kin(kind), way.algorithm, int(kinds.processes[kind]), int(kinds.size[kind]), way.segment).count
    order = rows[np.argsort(-kinds.size[instances.kind[rows]], kind="stable")]
    return np.sort(order[np.cumsum(each[instances.kind[order]]) <= MOST])


def in_rounds(weighted: Weighted) -> Weighted:
    """Return the graph that questions on one network, with ranks where they are, are asked of: with rounds where their messages share."""
    return unchanged(weighted) if weighted.rounds is None and share(weighted) else weighted


def unchanged(weighted: Weighted) -> Weighted:
    """Return the graph with rounds whose messages share in place of the hubs of collectives, made as in the recorded run."""
    moved = weighted.places is not weighted.trace.locations
    found = shared(weighted.trace, weighted.model, moved)
    if not len(found.rows):
        return weighted
    return sharing(weighted, Instances(weighted.placed), found.groups, found.groups, found.factor)


def sharing(weighted: Weighted, there: Instances, was: list[Group], now: list[Group], factor: F8) -> Weighted:
    """Return the graph with rounds whose messages share links or interfaces in place of the hubs of groups of instances.

    `was` are the groups as they were recorded, `now` as they are made; instances are `there` now.
    """
    return (_on_interfaces if weighted.network.topology is None else _on_links)(weighted, there, was, now, factor)


def _on_links(weighted: Weighted, there: Instances, was: list[Group], now: list[Group], factor: F8) -> Weighted:
    recorded = Instances(weighted.trace).play(was, weighted.model).flowing(weighted.trace, weighted.model, factor, weighted.graph)
    played = there.play(now, weighted.network)
    made, number = put_in(weighted, played, Fit(factor, Instances(weighted.trace).leave - recorded.end))
    of = played.messages(factor).at(number)
    before, none = recorded.beside, np.zeros(len(of), "i8")
    delayed = None if weighted.delayed is None else np.append(weighted.delayed, none)
    out = dataclasses.replace(made, rounds=of, inside=np.append(before, none), delayed=delayed)
    if was is not now:
        return out
    inside = np.append(before, recorded.delay)
    asked = out.placed, out.graph, out.network, out.size, out.weight
    return dataclasses.replace(out, weight=flows.shifted(*asked, flows.Delays(np.append(before, none), inside), CUT, of), inside=inside)


def _on_interfaces(weighted: Weighted, there: Instances, was: list[Group], now: list[Group], factor: F8) -> Weighted:
    """Return it where they share interfaces: in the recorded order as long as the same messages pass the same ones, else in a new one.

    Who comes when to an interface is told by flows, which need no order.
    """
    same = weighted.places is weighted.trace.locations and weighted.network.interfaces == weighted.model.interfaces
    recorded = _as_recorded(weighted.graph, weighted.trace, weighted.timeline, weighted.model, was, factor)
    if not same or was is not now:
        weighted = without_queues(weighted)
    played = there.play(now, interfaces.as_links(there.trace, weighted.network))
    made, number = put_in(weighted, played, Fit(factor, Instances(weighted.trace).leave - recorded.end))
    made = dataclasses.replace(made, rounds=played.messages(factor).at(number))
    if same and was is now:
        passing, queues = queued(made, vertex_times(made.timeline, made.graph, made.weight))[0], recorded.queues
    else:
        flowing = _on_links(_linked(weighted), there, was, now, factor)
        inside = recorded_inside(flowing).copy()
        inside[: len(weighted.size)] = 0  # as weights without queues
        flowing = settled(dataclasses.replace(flowing, inside=inside), passes=0)  # an order is asked for, no times
        passing, queues = queued(made, sweep(flowing.graph, flowing.weight))
    out = with_queued(made, passing, queues)
    return _sooner(out, recorded.early) if same else out


def _linked(weighted: Weighted) -> Weighted:
    """Return the graph of a machine with links in place of interfaces."""
    model, network = interfaces.as_links(weighted.trace, weighted.model), interfaces.as_links(weighted.placed, weighted.network)
    return dataclasses.replace(weighted, model=model, network=network)


@dataclasses.dataclass(frozen=True, eq=False)
class _AsRecorded:
    """Collectives in rounds in the recorded run."""

    end: I8
    """When each member is done, ns."""
    queues: tuple[Queue, Queue]
    """In which messages follow one another on interfaces."""
    early: I8
    """ns by which messages, by number, came sooner out of nodes and into them (first axis) than their receivers and senders (second) could
    have gone on."""


@remembered(2)
def _as_recorded(graph: Graph, trace: Trace, timeline: Timeline, model: Model, was: list[Group], factor: F8) -> _AsRecorded:
    """Return what groups of instances come to between recorded entries, beside messages between calls at their recorded times.

    Found once, wherever ranks are put.
    """
    size = trace.messages.bytes
    instances, none = Instances(trace), Queue(np.zeros(0, "i8"), np.zeros(0, bool), np.full(len(size), NONE))
    if not interfaces.shared(model):
        end = instances.ends(was, interfaces.as_links(trace, model), factor)  # as if each process had one, which is the model's no sharing
        return _AsRecorded(end, (none, none), np.zeros((2, 2, len(size)), "i8"))
    before = weigh(trace, timeline, graph, model)
    flowing = _on_links(_linked(before), instances, was, was, factor)
    played = instances.play(was, interfaces.as_links(trace, model))
    made, number = put_in(before, played, Fit(factor, np.zeros(len(played.end), "i8")))
    inside = played.messages(factor)
    made = dataclasses.replace(made, rounds=inside.at(number))
    passing, queues = queued(made, sweep(flowing.graph, flowing.weight))
    made = with_queued(made, passing, queues)
    time = vertex_times(made.timeline, made.graph, made.weight)
    early = np.zeros((2, 2, len(size) + len(inside)), "i8")
    edge, at = last(made)
    over = time[made.graph.source[edge]] + made.weight[edge] - time[made.graph.targets(edge)]
    early[at] = np.where(made.weight[edge] == CUT, 0, np.maximum(over, 0))
    return _AsRecorded(_ended(instances, made.graph, played, time), queues, early)


def _ended(instances: Instances, graph: Graph, played: Played, time: I8) -> I8:
    """Return when each member is done in a graph with rounds of what was played, ns, if vertices have these times; others, when entered."""
    members, out = instances.trace.members, instances.entry.copy()
    edge = np.flatnonzero((graph.kind == COLLECTIVE) & np.isin(graph.cause, np.unique(played.collective)))
    call = graph.returning[graph.targets(edge)]
    member = np.full(len(instances.trace.calls), NONE)
    member[members.call] = np.arange(len(members))
    out[member[call[call != NONE]]] = time[graph.source[edge[call != NONE]]]
    return out


def _sooner(weighted: Weighted, early: I8) -> Weighted:
    """Return the graph in which messages let calls go on sooner, as they did in the recorded run; those that it did not have as before."""
    edge, at = last(weighted)
    known = (at[2] < early.shape[2]) & (weighted.weight[edge] != CUT)
    weight = weighted.weight.copy()
    weight[edge[known]] -= early[tuple(column[known] for column in at)]
    return dataclasses.replace(weighted, weight=weight)


def put_in(weighted: Weighted, played: Played, fit: Fit) -> tuple[Weighted, I8]:
    """Return the graph with rounds in place of hubs, and which edge of it each of theirs is; what a call does beyond its rounds stays."""
    trace, graph, members = weighted.trace, weighted.graph, weighted.trace.members
    count, of_member = len(members), np.flatnonzero(played.end >= 0)
    gone = np.zeros(len(trace.collectives), bool)
    gone[members.collective[of_member]] = True
    target, cause = played.target, np.repeat(played.collective, np.diff(played.start))
    first = played.source < count
    returned = members.done[of_member]
    rounds = Rounds(
        vertices=len(played.collective),
        entered=members.call[played.source[first]],
        first=target[first] - count,
        source=played.source[~first] - count,
        target=target[~first] - count,
        last=played.end[of_member] - count,
        returned=returned,
        cause=np.concatenate([cause[first], cause[~first], members.collective[of_member]]),
    )
    made, edge = with_rounds(trace, graph, gone, rounds)
    ns, rest = played.weights(fit.factor), fit.rest[of_member]
    weight = carried(graph, made, edge, weighted.weight, np.concatenate([ns[first], ns[~first], rest]))
    weight[made.start[made.returned[returned]]] = np.maximum(played.own(fit.factor)[of_member] + rest, 0)
    row = np.empty(len(first), "i8")
    row[np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])] = np.arange(len(first))
    return dataclasses.replace(weighted, graph=made, weight=weight), numbers(edge, graph.edges + len(first))[graph.edges + row]
