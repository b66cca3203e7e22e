"""Collectives made in rounds in place of hubs; where messages have links, those of all collectives that several nodes make.

Rounds cost what the model says; what the recorded exits are off by after that stays. Where the messages share links, they do so in the
recorded run first, beside those between calls at their recorded times: so the recorded algorithm gives back the recorded exits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from perwiz.graph.anew import carried
from perwiz.graph.rounds import Rounds, with_rounds
from perwiz.kernels.names import METAHOST
from perwiz.loggps.algorithms.play import Group, Instances, Played, Way
from perwiz.loggps.algorithms.recorded import Fit, Recorded, factors, recorded_ways
from perwiz.loggps.algorithms.routines import each_message
from perwiz.loggps.links import flows
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

MOST = 1_000_000
"""Messages inside of collectives that share links, at most: they take some 20 us each, and the graph has three or four edges for one."""
_LITTLE = 0.05
"""Part of the latency by which messages of a collective may delay one another before that counts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sharing:
    """Collectives of a trace whose messages share links, and how they were made."""

    rows: I8
    """Of collectives."""
    ways: dict[int, Recorded]
    """Per kind."""
    factor: F8
    """Per row of collectives, what all costs are multiplied by."""


def matter(instances: Instances, model: Model) -> Mask:
    """Return the collectives whose messages may delay one another so that it counts, bool per row: of several nodes, and not too small."""
    kinds = instances.kinds
    row = model.letters(Sent(kinds.size, pairs=np.full(len(kinds.op), METAHOST, "u1")))
    loads = kinds.processes * kinds.size * row.G > _LITTLE * np.asarray(row.L)
    return np.asarray((loads & (np.maximum(kinds.nodes, kinds.metahosts) > 1))[instances.kind])


def shared(trace: Trace, model: Model) -> Sharing:
    """Return the collectives of a trace whose messages share links, as its times tell under a model how they were made; found once."""
    return _shared(trace, model)


@remembered(2)
def _shared(trace: Trace, model: Model) -> Sharing:
    instances = Instances(trace)
    rows = np.flatnonzero(instances.playable & matter(instances, model) & (instances.processes**2 <= MOST))
    if not len(rows):
        return Sharing(rows, {}, np.ones(len(instances.count)))
    ways = recorded_ways(instances, model, rows, {})
    rows = _not_too_many(instances, rows, {kind: found.way for kind, found in ways.items()})
    ways = {kind: ways[kind] for kind in np.unique(instances.kind[rows]).tolist()}
    return Sharing(rows, ways, factors(instances, model, rows, {kind: found.way for kind, found in ways.items()}))


def _not_too_many(instances: Instances, rows: I8, ways: Mapping[int, Way]) -> I8:
    """Return the collectives, rows, that have at most MOST messages together: those with the most bytes first."""
    kinds, each = instances.kinds, np.zeros(len(instances.kinds.op), "i8")
    for kind, way in ways.items():
        each[kind] = each_message(instances.kin(kind), way.algorithm, int(kinds.processes[kind]), int(kinds.size[kind]), way.segment).count
    order = rows[np.argsort(-kinds.size[instances.kind[rows]], kind="stable")]
    return np.sort(order[np.cumsum(each[instances.kind[order]]) <= MOST])


def unchanged(weighted: Weighted) -> Weighted:
    """Return the graph with rounds whose messages share links in place of the hubs of collectives, made as in the recorded run."""
    found = shared(weighted.trace, weighted.model)
    if not len(found.rows):
        return weighted
    instances = Instances(weighted.trace)
    groups = instances.groups(found.rows, {kind: one.way for kind, one in found.ways.items()})
    there = instances if weighted.places is weighted.trace.locations else Instances(weighted.placed)
    return on_links(weighted, there, groups, groups, found.factor)


def on_links(weighted: Weighted, there: Instances, was: list[Group], now: list[Group], factor: F8) -> Weighted:
    """Return the graph with rounds whose messages share links in place of the hubs of groups of instances.

    `was` are the groups as they were recorded, `now` as they are made; instances are `there` now.
    """
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
    new = np.full(graph.edges + len(first) + len(of_member), NONE)
    new[edge[edge != NONE]] = np.flatnonzero(edge != NONE)
    return dataclasses.replace(weighted, graph=made, weight=weight), new[graph.edges + row]
