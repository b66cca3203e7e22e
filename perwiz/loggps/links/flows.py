"""What messages lose on links to others that pass these at the same time.

A message of k bytes has the link of its node for itself for g + (k - 1) G if it is alone, as it has an interface. Where those on a link
together want more than it carries, they share it max-min fairly: nobody gets more as long as another one has less there (Bertsekas and
Gallager, Data Networks, section 6.5.2). What a message takes longer than alone is its delay; the latency of links that are more than two is
in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.clock.latency import distance
from perwiz.graph.graph import GAP, MESSAGE, PROBE, RENDEZVOUS, TRANSFER, Graph
from perwiz.kernels import fluid as kernel
from perwiz.kernels.alog import Records, zeros
from perwiz.kernels.names import METAHOST
from perwiz.loggps.keys import POSTED
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import Messages, Times
from perwiz.trace.trace import Trace

_LONGEST = 2.0**53


class Flows(NamedTuple):
    """Messages between nodes as flows, and the links on their ways."""

    message: I8
    """Rows of messages."""
    after: I8
    """ns from the entry of the sending call until each can flow."""
    after_post: I8
    """The same from that of the call that posts the receive, of `posted`."""
    posted: Mask
    """Which cannot flow before their receive is posted."""
    volume: F8
    """What each takes of its links: bytes for as long as it has that of its node for itself."""
    route: I4
    """Of each."""
    first: I4
    """First link of each route in `link`, and one more."""
    link: I4
    part: F8
    """What a message takes of each link of `link`, of its rate: less than 1 the other way."""
    capacity: F8
    """Per link, bytes per ns."""
    most: float
    """Bytes per ns of each alone: the capacity of the link of a node."""
    farther: I8
    """ns of the links that are more than two, of each."""

    @property
    def links(self) -> tuple[I4, I4, F8]:
        """Return the links of all routes: `first`, `link` and `part`."""
        return self.first, self.link, self.part

    def desk(self) -> tuple[Records, Records, I4, Records, Records]:
        """Return what the kernel works on: rows of flows, of their stays, their heap, links, and where it is."""
        count, width = len(self.message), int(np.diff(self.first).max(initial=0))
        load, desk = zeros(len(self.capacity), kernel.LOAD), zeros(1, kernel.DESK)
        load.capacity, desk.most, desk.width = self.capacity, self.most, width
        return zeros(count, kernel.FLOW), zeros(count * width, kernel.STAY), np.zeros(count, "i4"), load, desk

    def start(self, table: Messages, times: Times) -> I8:
        """Return when each can flow, ns, if calls have these times."""
        out = times.enter[table.send[self.message]] + self.after
        rows = np.flatnonzero(self.posted)
        posted = times.enter[table.receive[self.message[rows]]] + self.after_post[rows]
        np.maximum.at(out, rows, posted)
        return out


def handshakes(trace: Trace, model: Model, size: I8) -> Mask:
    """Return which messages travel behind a handshake, so that their receiver's work has them, bool per message."""
    if model.progress == POSTED:
        return np.zeros(len(size), bool)
    return model.is_synchronous(sent(trace, model, slice(None), size))


def flows(trace: Trace, model: Model, topology: Topology, size: I8) -> Flows:
    """Return the messages of these sizes between nodes as flows through a topology. Raises ModelError if it has too few places."""
    return _flows(trace, model, topology, size)


@remembered(4)
def _flows(trace: Trace, model: Model, topology: Topology, size: I8) -> Flows:
    node, place = _places(trace, topology)
    table, places, location = trace.messages, trace.locations, trace.calls.location
    ends = location[table.send], location[table.receive_done]
    far = (distance(places, *ends) >= METAHOST) & (node[ends[0]] != node[ends[1]])
    message = np.flatnonzero(far)
    messages = sent(trace, model, message, size)
    pair = np.stack([node[end[message]] for end in ends], 1) if len(message) else np.zeros((0, 2), "i8")
    pairs, route = np.unique(pair, axis=0, return_inverse=True)
    ways = [topology.route(place[one], place[other]) for one, other in pairs.tolist()]
    back = [topology.route(place[other], place[one]) if topology.reverse else [] for one, other in pairs.tolist()]
    first = np.cumsum([0, *(len(way) + len(other) for way, other in zip(ways, back, strict=True))])
    part = [each for way, other in zip(ways, back, strict=True) for each in [1.0] * len(way) + [topology.reverse] * len(other)]
    posted = handshakes(trace, model, size)[message] | (model.progress == POSTED)
    return Flows(
        message,
        np.broadcast_to(model.leaves_after(messages), message.shape),
        np.broadcast_to(model.leaves_after_post(messages), message.shape),
        posted,
        np.maximum(model.occupancy(messages) * topology.node, 1e-3),
        route.ravel().astype("i4"),
        first.astype("i4"),
        np.array([link for way, other in zip(ways, back, strict=True) for link in (*way, *other)], "i4"),
        np.array(part, "f8"),
        np.array(topology.capacities()),
        topology.node,
        np.rint([topology.hop * (len(way) - 2) for way in ways]).astype("i8")[route.ravel()],
    )


def _places(trace: Trace, topology: Topology) -> tuple[I8, list[int]]:
    """Return the node of each location, numbered in the order of their first ranks, and the place of each node."""
    where = trace.locations
    key = np.stack((where.metahost, where.node), 1)
    row = np.lexsort((np.arange(len(where)), where.process))
    _, first, of = np.unique(key[row], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), "i8")
    number[order] = np.arange(len(order))
    node = np.empty(len(where), "i8")
    node[row] = number[of.ravel()]
    names = [trace.nodes[at] if at >= 0 else "" for at in where.node[row[first[order]]].tolist()]
    return node, topology.places(names)


def passed(found: Flows, start: I8) -> F8:
    """Return when each flow has passed its links, ns, given when it starts."""
    row = np.lexsort((found.message, start))
    done, out = np.empty(len(row)), np.empty(len(row))
    kernel.flow(start[row], found.volume[row], found.route[row], *found.links, *found.desk(), done)
    out[row] = done
    return out


def delays(trace: Trace, model: Model, topology: Topology | None, size: I8, times: Times) -> I8:
    """Return by how much longer each message takes on links than alone, int64 ns per message, if calls have these times."""
    out = np.zeros(len(trace.messages), "i8")
    if topology is None:
        return out
    found = flows(trace, model, topology, size)
    start = found.start(trace.messages, times)
    longer = passed(found, start) - start - found.volume / found.most
    out[found.message] = np.rint(np.minimum(longer, _LONGEST)).astype("i8") + found.farther
    return out


def recorded_delays(trace: Trace, model: Model, size: I8 | None = None) -> I8:
    """Return the delays of messages under a model, of their recorded or another size, in the recorded run, int64 ns per message."""
    return _recorded(trace, model, trace.messages.bytes if size is None else size)


@remembered(4)
def _recorded(trace: Trace, model: Model, size: I8) -> I8:
    return delays(trace, model, model.topology, size, trace.timeline.calls)


def add(trace: Trace, graph: Graph, model: Model, size: I8 | None, lag: I8, cut: int) -> None:
    """Add the delays in the recorded run to the lags of the edges by which messages let calls go on; not of those behind a handshake."""
    if model.topology is None:
        return
    delay = recorded_delays(trace, model, size)
    edge, message = own_edges(trace, graph, model, trace.messages.bytes if size is None else size, delay)
    binds = lag[edge] != cut
    lag[edge[binds]] += delay[message[binds]]


def own_edges(trace: Trace, graph: Graph, model: Model, size: I8, delay: I8 | Mask) -> tuple[I8, I8]:
    """Return the edges whose lag has the way of a message that is delayed, and which message."""
    kinds = [MESSAGE, PROBE, *([RENDEZVOUS, TRANSFER] if model.progress == POSTED else [])]
    edge = np.flatnonzero(np.isin(graph.kind, kinds))
    message = graph.cause[edge]
    lags = (delay != 0) & ~handshakes(trace, model, size)
    table = trace.messages
    edge, message = edge[lags[message]], message[lags[message]]
    if model.progress != POSTED:
        return edge, message
    local = [(np.flatnonzero(lags & (table.receive == table.receive_done)), table.receive)]
    local.append(
        (np.flatnonzero(lags & (table.send == table.send_done) & model.is_synchronous(sent(trace, model, slice(None), size))), table.send)
    )
    edges = [edge, *(graph.start[graph.returned[call[rows]]] for rows, call in local)]
    return np.concatenate(edges).astype("i8"), np.concatenate([message, *(rows for rows, _ in local)]).astype("i8")


def carriers(trace: Trace, graph: Graph, model: Model, size: I8) -> tuple[I8, I8]:
    """Return the edges that weigh more by the delay of a message, and that message; by the longest where an edge has several."""
    edge, message = own_edges(trace, graph, model, size, np.ones(len(size), "i8"))
    rows = np.flatnonzero(handshakes(trace, model, size))
    into = [np.arange(*graph.start[vertex : vertex + 2]) for vertex in graph.returned[trace.messages.receive_done[rows]].tolist()]
    into = [edges[graph.kind[edges] != GAP] for edges in into]
    return np.concatenate([edge, *into]).astype("i8"), np.concatenate([message, np.repeat(rows, list(map(len, into)))]).astype("i8")


def shifted(trace: Trace, graph: Graph, model: Model, size: I8, weight: I8, was: I8, now: I8, cut: int) -> I8:
    """Return weights in which messages have other delays than they had, ns each.

    Of messages behind a handshake, which their receiver's work has, that of all which it lets go on changes by the longest one's.
    """
    out, least = weight.copy(), np.minimum(weight, 0)
    edge, message = own_edges(trace, graph, model, size, now | was)
    one, place = np.unique(edge, return_inverse=True)
    more = np.full(len(one), np.iinfo("i8").min)
    np.maximum.at(more, place, (now - was)[message])
    binds = out[one] != cut
    out[one[binds]] = np.maximum(out[one] + more, least[one])[binds]
    rows = np.flatnonzero(handshakes(trace, model, size))
    longest = np.zeros((2, len(trace.calls)), "i8")
    for column, delay in zip(longest, (was, now), strict=True):
        np.maximum.at(column, trace.messages.receive_done[rows], delay[rows])
    change = longest[1] - longest[0]
    call = np.append(change, 0)[np.repeat(graph.returning, np.diff(graph.start))]
    edge = np.flatnonzero((call != 0) & (graph.kind != GAP) & (out != cut))
    out[edge] = np.maximum(out[edge] + call[edge], least[edge])
    return out
