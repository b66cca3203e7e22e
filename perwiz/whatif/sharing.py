"""Interfaces of nodes in a changed program: which messages pass which, and in what order."""

from __future__ import annotations

import dataclasses
from typing import TypeVar

import numpy as np

from perwiz.clock.latency import distance
from perwiz.engines.sweep import sweep
from perwiz.graph.anew import carried
from perwiz.graph.graph import INJECTION, MESSAGE, RENDEZVOUS, Graph
from perwiz.graph.interfaces import passed, vertices, with_queues
from perwiz.kernels.names import METAHOST
from perwiz.loggps import interfaces
from perwiz.loggps.pairs import sent
from perwiz.loggps.weigh import CUT, Weighted, lags
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE, Times


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
    """Whether the model has other costs, interfaces or links for messages between nodes than for those within."""


_PASSES = 4
"""How often the order on interfaces is made anew."""
AnyWeighted = TypeVar("AnyWeighted", bound=Weighted)


def sharing(before: Weighted, after: Weighted, time: I8) -> Sharing:
    """Return how messages share interfaces in a run and in what hypotheses make of it, whose vertices have these times."""
    found = interfaces.swapped(after.graph, after.weight, time)
    (was, size), (now, size_now) = (_between(weighted) for weighted in (before, after))
    network = after.network
    told_apart = any(row.pairs for row in network.costs) or interfaces.shared(network) or network.topology is not None
    return Sharing(found.pairs, found.swapped, after.graph.queues_left_out, was, now, size, size_now, told_apart)


def _between(weighted: Weighted) -> tuple[int, int]:
    """Return how many messages are between nodes, and how many bytes they have."""
    table, location, places = weighted.trace.messages, weighted.trace.calls.location, weighted.places
    if len(np.unique(np.stack([places.metahost, places.node]), axis=1).T) < 2:
        return 0, 0
    far = distance(weighted.places, location[table.send], location[table.receive_done]) >= METAHOST
    return int(far.sum()), int(weighted.size[far].sum())


def rewired(weighted: Weighted) -> Weighted:
    """Return the graph whose messages pass the interfaces that there are now where their processes are, in the order of the prediction.

    That is the order in which they would come to them in the recorded run, made anew from the run that this gives, and so again.
    """
    times = weighted.timeline.calls
    if not interfaces.shared(weighted.network):
        return _attached(weighted, times) if len(passed(weighted.graph)) else weighted
    for _ in range(_PASSES):
        weighted = _attached(weighted, times)
        time = sweep(weighted.graph, weighted.weight)
        times = Times(time[weighted.graph.entered], time[weighted.graph.returned])
    return weighted


def _attached(weighted: Weighted, times: Times) -> Weighted:
    old, trace = weighted.graph, weighted.placed
    made, edge = interfaces.attached(trace, old, weighted.network, times, weighted.size)
    lag = lags(trace, made, weighted.network, weighted.size)
    new = np.flatnonzero(edge >= old.edges)
    weight = carried(old, made, edge, weighted.weight, np.zeros(int(edge.max(initial=old.edges)) + 1 - old.edges, "i8"))
    weight[new] = lag[new]
    last = (made.returning[made.targets(new)] != NONE) & (lag[new] != CUT)
    weight[new[last]] = _last(weighted, made, weight, lag, new[last])
    return dataclasses.replace(weighted, graph=made, weight=weight)


def _last(weighted: Weighted, made: Graph, weight: I8, lag: I8, edge: I8) -> I8:
    """Return the weights of edges by which messages let calls go on: over idle interfaces they do so when they do without."""
    trace, message = weighted.placed, made.cause[edge]
    call = made.returning[made.targets(edge)]
    alone = np.full(len(trace.messages), CUT)
    held = alone.copy()
    for kind, out in ((MESSAGE, alone), (RENDEZVOUS, held)):
        of = np.flatnonzero(made.kind == kind)
        out[made.cause[of]] = weight[of]
    without = np.where(call == trace.messages.receive_done[message], alone[message], held[message])
    more = lag[edge] - weighted.network.ready(sent(trace, weighted.network, message, weighted.size))
    return np.where(without == CUT, CUT, without + more)


def requeued(weighted: AnyWeighted) -> AnyWeighted:
    """Return the graph whose messages pass interfaces in the order in which they come to them in the run that it gives."""
    old, trace = weighted.graph, weighted.placed
    message = passed(old)
    if not len(message):
        return weighted
    time = sweep(old, weighted.weight)
    ready = interfaces.ready(old, weighted.weight, time)[vertices(trace, old, INJECTION)[message]]
    done, occupied = time[old.returned[trace.messages.receive_done[message]]], sent(trace, weighted.network, message, weighted.size)
    queues = interfaces.order(trace, weighted.network, message, ready, done, weighted.network.occupancy(occupied))
    made, edge = with_queues(trace, old, queues)
    messages = np.concatenate([queue.ahead for queue in queues])
    more = weighted.network.occupancy(sent(trace, weighted.network, messages, weighted.size))
    return dataclasses.replace(weighted, graph=made, weight=carried(old, made, edge, weighted.weight, more))
