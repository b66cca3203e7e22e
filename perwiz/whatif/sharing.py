"""Interfaces of nodes in a changed program: which messages pass which, and in what order."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from perwiz.clock.latency import distance
from perwiz.engines.sweep import sweep
from perwiz.graph.anew import carried, numbers
from perwiz.graph.graph import INJECTION, MESSAGE, RENDEZVOUS, Graph
from perwiz.graph.interfaces import Passing, Queue, passed, vertices, with_interfaces, with_queues
from perwiz.kernels.names import METAHOST
from perwiz.loggps import interfaces
from perwiz.loggps.links.inside import Inside
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8
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
    found = interfaces.swapped(after.graph, after.weight, time)
    was, size = _between(before)
    same = all(getattr(before, name) is getattr(after, name) for name in ("trace", "places", "size"))
    now, size_now = (was, size) if same else _between(after)
    elsewhere = after.places.node != before.places.node
    moved = len(np.unique(before.places.process[elsewhere]))
    return Sharing(found.pairs, found.swapped, after.graph.queues_left_out, was, now, size, size_now, told_apart(after.network), moved)


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
    return with_queued(weighted, Passing(*[nobody] * 5), (Queue(*[nobody] * 3),) * 2) if len(passed(weighted.graph)) else weighted


def queued(weighted: Weighted, time: I8) -> tuple[Passing, tuple[Queue, Queue]]:
    """Return which messages pass interfaces, and in what order if vertices have these times."""
    return interfaces.queued(weighted.placed, weighted.graph, weighted.network, time, weighted.size, weighted.rounds)


def with_queued(weighted: Weighted, passing: Passing, queues: tuple[Queue, Queue]) -> Weighted:
    """Return the graph whose messages pass interfaces in this order: over idle ones they let others go on when they do without them."""
    old, trace = weighted.graph, weighted.placed
    made, edge = with_interfaces(trace, old, passing, queues)
    weight = carried(old, made, edge, weighted.weight, np.zeros(int(edge.max(initial=old.edges)) + 1 - old.edges, "i8"))
    rounds = None if weighted.rounds is None else weighted.rounds.at(numbers(edge, old.edges))
    new = np.flatnonzero(edge >= old.edges)
    at, cost = interfaces.ends(trace, made, rounds), interfaces.costs(trace, weighted.network, weighted.size, rounds)
    weight[new] = interfaces.edge_lags(made, new, at, cost, *_alone(made, weight, len(trace.messages), rounds))
    return dataclasses.replace(weighted, graph=made, weight=weight, rounds=rounds)


def _alone(graph: Graph, weight: I8, messages: int, rounds: Inside | None) -> tuple[I8, I8]:
    """Return the weights by which messages, by their numbers, let their receivers and their senders go on over idle interfaces."""
    alone, held = np.full((2, messages + (0 if rounds is None else len(rounds))), CUT)
    for kind, out in ((MESSAGE, alone), (RENDEZVOUS, held)):
        of = np.flatnonzero(graph.kind == kind)
        out[graph.cause[of]] = weight[of]
    if rounds is not None:
        alone[messages:] = weight[rounds.edge]
        held[messages:] = np.where(rounds.held == NONE, CUT, weight[rounds.held])
    return alone, held


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
