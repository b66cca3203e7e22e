"""What messages lose on links to others that pass these at the same time.

A message of k bytes has the link of its node for itself for g + (k - 1) G if it is alone, as it has an interface. Where those on a link
together want more than it carries, they share it max-min fairly: nobody gets more as long as another one has less there (Bertsekas and
Gallager, Data Networks, section 6.5.2). What a message takes longer than alone is its delay; the latency of links that are more than two is
in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from perwiz.clock.latency import distance
from perwiz.graph.graph import GAP, MESSAGE, PROBE, RENDEZVOUS, TRANSFER, Graph
from perwiz.kernels import fluid as kernel
from perwiz.kernels.alog import Records, zeros
from perwiz.kernels.names import METAHOST
from perwiz.loggps.keys import POSTED
from perwiz.loggps.links.inside import Depending, Inside
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import F8, I4, I8, Ints, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

_NOBODY = (kernel.VERTEX, kernel.CAUSE, kernel.TIE, kernel.WORK)
"""Rows of the kernel that a graph of no vertices has none of."""


class Net(Protocol):
    """A graph: where edges come from and lead to."""

    @property
    def source(self) -> Any:
        """Vertex each edge comes from."""

    def targets(self, edges: Any, /) -> I8:
        """Return the vertex that each of some edges leads into."""


class Flows(NamedTuple):
    """Messages between nodes as flows, and the links on their ways."""

    message: I8
    """Rows of messages, and behind those of messages inside of collectives."""
    begins: I8
    """Vertex where each is sent."""
    after: I8
    """ns from there until it can flow."""
    posts: I8
    """Vertex where its receive is posted, of `posted`."""
    after_post: I8
    posted: Mask
    """Which cannot flow before their receive is posted."""
    ends: I8
    """Vertex where each is there, -1: nowhere."""
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

    def fluid(self) -> kernel.Fluid:
        """Return what lets them flow."""
        return kernel.Fluid(self.first, self.link, self.part, self.capacity, self.most)

    def start(self, time: I8) -> I8:
        """Return when each can flow, ns, if vertices have these times."""
        out = time[self.begins] + self.after
        rows = np.flatnonzero(self.posted)
        out[rows] = np.maximum(out[rows], time[self.posts[rows]] + self.after_post[rows])
        return out

    def journeys(self) -> Records:
        """Return them as rows of the kernel, and one more."""
        out = zeros(len(self.message) + 1, kernel.JOURNEY)
        for name in ("volume", "farther", "route"):
            out[name][:-1] = getattr(self, name)
        out.call = NONE
        return out


def handshakes(trace: Trace, model: Model, size: I8) -> Mask:
    """Return which messages travel behind a handshake, so that their receiver's work has them, bool per message."""
    if model.progress == POSTED:
        return np.zeros(len(size), bool)
    return model.is_synchronous(sent(trace, model, slice(None), size))


class _Part(NamedTuple):
    """Messages that flow, of one kind."""

    message: I8
    sender: Ints
    """Location."""
    receiver: Ints
    sent: Sent
    factor: F8
    """What costs are multiplied by."""
    begins: I8
    posts: I8
    ends: I8
    posted: Mask


def flows(trace: Trace, graph: Graph, model: Model, size: I8, inside: Inside | None = None) -> Flows:
    """Return the messages of these sizes between nodes, and those inside of collectives, as flows through the links of a model.

    Raises ModelError if it has too few places.
    """
    return _flows(graph, trace, model, size, inside)


@remembered(4)
def _flows(graph: Graph, trace: Trace, model: Model, size: I8, inside: Inside | None) -> Flows:
    parts = [_of_messages(trace, graph, model, size)]
    if inside is not None:
        part = _of_inside(trace, graph, model, inside)
        parts.append(part._replace(message=part.message + len(size)))
    return _through(trace, model, parts)


def inside(trace: Trace, net: Net, model: Model, messages: Inside, graph: Graph | None) -> tuple[Flows, I8]:
    """Return messages inside of collectives as flows, and when others begin, ns: the recorded ones of a graph, which are behind them.

    These begin at no vertex.
    """
    parts = [_of_inside(trace, net, model, messages)]
    begun = np.zeros(len(parts[0].message), "i8")
    if graph is not None and len(trace.messages):
        beside = flows(trace, graph, model, trace.messages.bytes)
        part = _of_messages(trace, graph, model, trace.messages.bytes)
        parts.append(part._replace(begins=np.full_like(part.begins, NONE)))
        begun = np.append(begun, beside.start(recorded_entries(trace, graph)))
    return _through(trace, model, parts), begun


def recorded_entries(trace: Trace, graph: Graph) -> I8:
    """Return the recorded times of the vertices where calls are entered, ns; 0 of others."""
    time = np.zeros(graph.vertices, "i8")
    time[graph.entered] = trace.timeline.calls.enter
    return time


def _of_messages(trace: Trace, graph: Graph, model: Model, size: I8) -> _Part:
    table, location = trace.messages, trace.calls.location
    message = np.flatnonzero(_far(trace, location[table.send], location[table.receive_done]))
    done = table.receive_done[message]
    return _Part(
        message,
        location[table.send[message]],
        location[done],
        sent(trace, model, message, size),
        np.ones(len(message)),
        graph.entered[table.send[message]].astype("i8"),
        graph.entered[table.receive[message]].astype("i8"),
        np.where(done == NONE, NONE, graph.returned[done]).astype("i8"),
        handshakes(trace, model, size)[message] | (model.progress == POSTED),
    )


def _of_inside(trace: Trace, net: Net, model: Model, inside: Inside) -> _Part:
    message = np.flatnonzero(_far(trace, inside.sender, inside.receiver))
    edge, messages = inside.edge[message], inside.sent(trace)[message]
    return _Part(
        message,
        inside.sender[message],
        inside.receiver[message],
        messages,
        inside.factor[message],
        net.source[edge].astype("i8"),
        net.source[inside.posts[message]].astype("i8"),
        net.targets(edge),
        model.is_synchronous(messages) | (model.progress == POSTED),
    )


def _far(trace: Trace, sender: Ints, receiver: Ints) -> Mask:
    """Return which of some messages are between nodes."""
    return np.asarray(distance(trace.locations, sender, receiver) >= METAHOST)


def _through(trace: Trace, model: Model, parts: list[_Part]) -> Flows:
    topology = model.topology
    if topology is None:
        raise ValueError("a network without links, must have a topology")
    node, place = _places(trace, topology)
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _Part._fields if name != "sent"}
    pair = np.stack([node[whole["sender"]], node[whole["receiver"]]], 1)
    pairs, route = np.unique(pair, axis=0, return_inverse=True)
    ways = [topology.route(place[one], place[other]) for one, other in pairs.tolist()]
    back = [topology.route(place[other], place[one]) if topology.reverse else [] for one, other in pairs.tolist()]
    first = np.cumsum([0, *(len(way) + len(other) for way, other in zip(ways, back, strict=True))])
    part = [each for way, other in zip(ways, back, strict=True) for each in [1.0] * len(way) + [topology.reverse] * len(other)]

    def costs(of: Callable[[Sent], I8]) -> F8:
        """Return a cost of all messages, times their factors."""
        return np.concatenate([np.broadcast_to(of(part.sent), part.factor.shape) * part.factor for part in parts])

    return Flows(
        whole["message"],
        whole["begins"],
        np.rint(costs(model.leaves_after)).astype("i8"),
        whole["posts"],
        np.rint(costs(model.leaves_after_post)).astype("i8"),
        whole["posted"],
        whole["ends"],
        np.maximum(costs(model.occupancy) * topology.node, 1e-3),
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


def passed(found: Flows, start: I8) -> I8:
    """Return by how much longer each flow is under way than alone, ns, given when it starts."""
    journeys = found.journeys()
    journeys.start[:-1] = start
    nobody = np.zeros(0, "i4")
    vertices, causes, ties, works = (zeros(0, rows) for rows in _NOBODY)
    of_graph = np.zeros(1, "i4"), nobody, np.zeros(0, "u1"), np.zeros(0, "i8"), 0, np.zeros(0, "i8")
    found.fluid().run(*of_graph, vertices, causes, journeys, ties, works)
    return np.asarray(journeys.delay[:-1])


def delays(found: Flows, count: int, time: I8) -> I8:
    """Return by how much longer each of `count` messages takes on links than alone, int64 ns, if vertices have these times."""
    out = np.zeros(count, "i8")
    out[found.message] = passed(found, found.start(time))
    return out


def recorded_delays(trace: Trace, graph: Graph, model: Model) -> I8:
    """Return the delays of messages under a model in the recorded run, int64 ns per message; those of no links are 0."""
    return np.zeros(len(trace.messages), "i8") if model.topology is None else _recorded(graph, trace, model)


@remembered(4)
def _recorded(graph: Graph, trace: Trace, model: Model) -> I8:
    """Return the same, remembered as long as the graph is there, which is gone sooner than the trace."""
    count = len(trace.messages)
    return delays(flows(trace, graph, model, trace.messages.bytes), count, recorded_entries(trace, graph))


def add(trace: Trace, graph: Graph, model: Model, size: I8, delay: I8, lag: I8, cut: int) -> None:
    """Add delays to the lags of the edges by which messages let calls go on; not those of messages behind a handshake."""
    edge, message = own_edges(trace, graph, model, size, delay != 0)
    binds = lag[edge] != cut
    lag[edge[binds]] += delay[message[binds]]


def own_edges(trace: Trace, graph: Graph, model: Model, size: I8, some: Mask, inside: Inside | None = None) -> Depending:
    """Return the edges whose lag has the way of a message, of some of all, bool each; last those inside of collectives."""
    kinds = [MESSAGE, PROBE, *([RENDEZVOUS, TRANSFER] if model.progress == POSTED else [])]
    edge = np.flatnonzero(np.isin(graph.kind, kinds))
    message = graph.cause[edge]
    count, table = len(size), trace.messages
    lags = some[:count] & ~handshakes(trace, model, size)
    parts: list[tuple[Ints, Ints]] = [(edge[lags[message]], message[lags[message]])]
    if model.progress == POSTED:
        received = np.flatnonzero(lags & (table.receive == table.receive_done))
        waits = model.is_synchronous(sent(trace, model, slice(None), size))
        held = np.flatnonzero(lags & (table.send == table.send_done) & waits)
        parts += [(graph.start[graph.returned[call[rows]]], rows) for rows, call in ((received, table.receive), (held, table.send))]
    if inside is not None:
        within = inside.depending(trace, model, some[count:])
        parts.append((within.edge, within.message + count))
    return Depending(*(np.concatenate(column).astype("i8") for column in zip(*parts, strict=True)))


def carriers(trace: Trace, graph: Graph, model: Model, size: I8, inside: Inside | None = None) -> Depending:
    """Return the edges that weigh more by the delay of a message, and that message; by the longest where an edge has several."""
    edge, message = own_edges(trace, graph, model, size, np.ones(len(size) + (len(inside) if inside else 0), bool), inside)
    rows = np.flatnonzero(handshakes(trace, model, size))
    into = [np.arange(*graph.start[vertex : vertex + 2]) for vertex in graph.returned[trace.messages.receive_done[rows]].tolist()]
    into = [edges[graph.kind[edges] != GAP] for edges in into]
    return Depending(
        np.concatenate([edge, *into]).astype("i8"), np.concatenate([message, np.repeat(rows, list(map(len, into)))]).astype("i8")
    )


class Delays(NamedTuple):
    """Delays of all messages, and behind them of those inside of collectives, ns each."""

    was: I8
    now: I8


def shifted(trace: Trace, graph: Graph, model: Model, size: I8, weight: I8, delay: Delays, cut: int, inside: Inside | None = None) -> I8:
    """Return weights in which messages have other delays than they had.

    Of messages behind a handshake, which their receiver's work has, that of all which it lets go on changes by the longest one's; and so
    does an edge that several let go on.
    """
    out, least = weight.copy(), np.minimum(weight, 0)
    was, now = delay
    edge, message = own_edges(trace, graph, model, size, (now | was) != 0, inside)
    one, place = np.unique(edge, return_inverse=True)
    longest = np.zeros((2, len(one)), "i8")
    for column, each in zip(longest, delay, strict=True):
        np.maximum.at(column, place, each[message])
    binds = out[one] != cut
    out[one[binds]] = np.maximum(out[one] + longest[1] - longest[0], least[one])[binds]
    rows = np.flatnonzero(handshakes(trace, model, size))
    work = np.zeros((2, len(trace.calls)), "i8")
    for column, each in zip(work, delay, strict=True):
        np.maximum.at(column, trace.messages.receive_done[rows], each[rows])
    change = work[1] - work[0]
    call = np.append(change, 0)[np.repeat(graph.returning, np.diff(graph.start))]
    edge = np.flatnonzero((call != 0) & (graph.kind != GAP) & (out != cut))
    out[edge] = np.maximum(out[edge] + call[edge], least[edge])
    return out
