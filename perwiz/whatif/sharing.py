"""Interfaces of nodes in a changed program: which messages pass which, and in what order."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from perwiz.clock.latency import distance
from perwiz.engines.sweep import sweep
from perwiz.graph.anew import carried, numbers
from perwiz.graph.graph import EJECTION, INJECTION, MESSAGE, RENDEZVOUS
from perwiz.graph.interfaces import SIDES, Passing, Queue, Ways, passed, vertices, ways, with_interfaces, with_queues
from perwiz.kernels.names import METAHOST
from perwiz.loggps import interfaces
from perwiz.loggps.links.contracted import contracted
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import distinct
from perwiz.trace.tables import NONE


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Messages between nodes, and how they share interfaces, in a recorded run and under hypotheses."""

    pairs: int
    """Neighbours in the queues of interfaces, of the changed run."""
    swapped: int
    """Those that would change places: the one behind comes first."""
    left_out: int
    """Places in queues that would close a cycle: there nobody waits for whom is ahead."""
    between: int
    """Messages between nodes in the recorded run."""
    between_now: int
    bytes: int
    """That they have."""
    bytes_now: int
    told_apart: bool
    """Whether the model has other costs, interfaces that messages keep busy, or links for messages between nodes than within."""
    ranks_moved: int
    """Ranks that are on another node than in the recorded run."""


_PASSES = 4
"""How often the order on interfaces is made anew."""
AnyWeighted = TypeVar("AnyWeighted", bound=Weighted)


def sharing(before: Weighted, after: Weighted, time: I8) -> Sharing:
    """Return how messages share interfaces in a run and in what hypotheses make of it, whose vertices have these times."""
    found = swapped(after, time)
    was, size = _between(before)
    same = all(getattr(before, name) is getattr(after, name) for name in ("trace", "places", "size"))
    now, size_now = (was, size) if same else _between(after)
    elsewhere = after.places.node != before.places.node
    moved = len(distinct(before.places.process[elsewhere]))
    return Sharing(found.pairs, found.swapped, after.graph.queues_left_out, was, now, size, size_now, told_apart(after.network), moved)


def swapped(weighted: Weighted, time: I8) -> interfaces.Swapped:
    """Return how many neighbours in the queues of interfaces would change places, when vertices have these times, int64 ns."""
    if weighted.queues is None:
        return interfaces.swapped(weighted.graph, weighted.weight, time)
    cost = interfaces.costs(weighted.placed, weighted.network, weighted.size, weighted.rounds)
    through = passing_now(weighted)
    out = np.full(len(cost.occupied), CUT)
    out[through.message] = interfaces.leaving(through, cost, time)
    into = out + cost.passage
    changed = [(comes[queue.behind] < comes[queue.ahead]).sum() for comes, queue in zip((out, into), weighted.queues, strict=True)]
    return interfaces.Swapped(sum(len(queue.ahead) for queue in weighted.queues), int(sum(changed)))


def told_apart(network: Model) -> bool:
    """Return whether a model has other costs, interfaces that messages keep busy, or links for those between nodes than within."""
    busy = interfaces.shared(network) and any(row.g or row.G for row in network.costs)
    own = {row.pairs for row in network.costs} | {row.pairs for row in network.limits}
    return busy or own != {""} or network.topology is not None


def _between(weighted: Weighted) -> tuple[int, int]:
    """Return how many messages are between nodes, and how many bytes they have."""
    table, location, places = weighted.trace.messages, weighted.trace.calls.location, weighted.places
    if all((column == column[:1]).all() for column in (places.metahost, places.node)):
        return 0, 0
    far = distance(weighted.places, location[table.send], location[table.receive_done]) >= METAHOST
    return int(far.sum()), int(weighted.size[far].sum())


def rewired(weighted: Weighted) -> Weighted:
    """Return the graph whose messages pass the interfaces that there are now where their processes are, in the order of the prediction.

    That is the order in which they would come to them in the recorded run, made anew from the run that this gives, and so again.
    """
    if not interfaces.shared(weighted.network):
        return without_queues(weighted)
    time = interfaces.of_calls(weighted.graph, weighted.timeline.calls)
    for _ in range(_PASSES):
        weighted = with_queued(weighted, *queued(weighted, time))
        time = sweep(weighted.graph, weighted.weight)
    return weighted


def without_queues(weighted: Weighted) -> Weighted:
    """Return the graph whose messages pass no interfaces."""
    nobody = np.zeros(0, "i8")
    empty = Queue(nobody, nobody.astype(bool), np.full(len(weighted.size), NONE))
    return with_queued(weighted, Passing(*[nobody] * 5), (empty, empty)) if len(passed(weighted.graph)) else weighted


def queued(weighted: Weighted, time: I8) -> tuple[Passing, tuple[Queue, Queue]]:
    """Return which messages pass interfaces, and in what order if vertices have these times."""
    return interfaces.queued(weighted.placed, weighted.graph, weighted.network, time, weighted.size, weighted.rounds)


def with_queued(weighted: AnyWeighted, passing: Passing, queues: tuple[Queue, Queue]) -> AnyWeighted:
    """Return the graph whose messages pass interfaces in this order: over idle ones they let others go on when they do without them.

    Messages inside of collectives have vertices only where they may come last, unless queues would close a cycle.
    """
    edges, lags = _ways(weighted, passing, queues)
    if weighted.rounds is None:
        return _on_ways(weighted, edges, lags)
    occupied = interfaces.costs(weighted.placed, weighted.network, weighted.size, weighted.rounds).occupied
    made = _on_ways(weighted, *contracted(edges, lags, weighted.graph.vertices, queues, occupied, len(weighted.size)))
    return _on_ways(weighted, edges, lags) if made.graph.queues_left_out else dataclasses.replace(made, queues=queues)


def whole(weighted: AnyWeighted) -> AnyWeighted:
    """Return the graph in which all messages that pass interfaces have vertices there, so that they can follow one another otherwise."""
    if weighted.queues is None:
        return weighted
    out = _on_ways(weighted, *_ways(weighted, passing_now(weighted), weighted.queues))
    (was, of), (edge, at) = last(weighted), last(out)
    row, weight = np.full((2, 2, len(weighted.queues[0].until)), NONE), out.weight.copy()
    row[of] = was
    weight[edge] = weighted.weight[row[at]]
    return dataclasses.replace(out, weight=weight)


def passing_now(weighted: Weighted) -> Passing:
    """Return the messages that pass interfaces, those inside of collectives, too."""
    at = interfaces.ends(weighted.placed, weighted.graph, weighted.rounds)
    return interfaces.passing(weighted.placed, weighted.graph, weighted.network, at, weighted.rounds)


def _ways(weighted: Weighted, passing: Passing, queues: tuple[Queue, Queue]) -> tuple[Ways, I8]:
    """Return the edges by which messages pass interfaces, and their ns."""
    trace, graph = weighted.placed, weighted.graph
    at = interfaces.ends(trace, graph, weighted.rounds)
    cost = interfaces.costs(trace, weighted.network, weighted.size, weighted.rounds)
    edges = ways(graph, passing, queues)
    return edges, interfaces.edge_lags(edges, graph.vertices, at, cost, *_alone(weighted))


def _on_ways(weighted: AnyWeighted, edges: Ways, lags: I8) -> AnyWeighted:
    """Return the graph whose messages pass interfaces by these edges."""
    old = weighted.graph
    made, edge = with_interfaces(weighted.placed, old, edges)
    rounds = None if weighted.rounds is None else weighted.rounds.at(numbers(edge, old.edges))
    weight = carried(old, made, edge, weighted.weight, lags)
    return dataclasses.replace(weighted, graph=made, weight=weight, rounds=rounds, queues=None)


def _alone(weighted: Weighted) -> tuple[I8, I8]:
    """Return the weights by which messages, by their numbers, let their receivers and their senders go on over idle interfaces."""
    graph, weight, messages, rounds = weighted.graph, weighted.weight, len(weighted.trace.messages), weighted.rounds
    alone, held = np.full((2, messages + (0 if rounds is None else len(rounds))), CUT)
    for kind, out in ((MESSAGE, alone), (RENDEZVOUS, held)):
        of = np.flatnonzero(graph.kind == kind)
        out[graph.cause[of]] = weight[of]
    if rounds is not None:
        alone[messages:] = weight[rounds.edge]
        held[messages:] = np.where(rounds.held == NONE, CUT, weight[rounds.held])
    return alone, held


def last(weighted: Weighted) -> tuple[I8, tuple[I8, I8, I8]]:
    """Return the edges by which messages at interfaces let calls go on, and what each is of: side, receiver or sender, and message."""
    graph = weighted.graph
    edge = np.flatnonzero(np.isin(graph.kind, SIDES))
    edge = edge[graph.returning[graph.targets(edge)] != NONE]
    message = graph.cause[edge].astype("i8")
    held = graph.targets(edge) != interfaces.ends(weighted.trace, graph, weighted.rounds).done[message]
    return edge, ((graph.kind[edge] == EJECTION).astype("i8"), held.astype("i8"), message)


def requeued(weighted: AnyWeighted) -> AnyWeighted:
    """Return the graph whose messages pass interfaces in the order in which they come to them in the run that it gives."""
    old, trace, rounds = weighted.graph, weighted.placed, weighted.rounds
    message = passed(old)
    if not len(message):
        return weighted
    time, at = sweep(old, weighted.weight), interfaces.ends(trace, old, rounds)
    ready = interfaces.ready(old, weighted.weight, time)[vertices(old, INJECTION, len(at.sent))[message]]
    occupied = interfaces.costs(trace, weighted.network, weighted.size, rounds).occupied
    queues = interfaces.order(trace, weighted.network, message, at, ready, time, occupied[message])
    made, edge = with_queues(trace, old, queues)
    more = occupied[np.concatenate([queue.ahead for queue in queues])]
    rounds = None if rounds is None else rounds.at(numbers(edge, old.edges))
    return dataclasses.replace(weighted, graph=made, weight=carried(old, made, edge, weighted.weight, more), rounds=rounds)
