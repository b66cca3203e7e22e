"""The interfaces of nodes, which messages between nodes share: who follows whom on each, and what that costs.

A message leaves by an interface of its sender's node (injection) and comes in by one of its receiver's (ejection). Each is occupied by a
message of k bytes for g + (k - 1) G. Several at once share it equally, packet by packet; each side does so whatever the other does, and a
message is there when both are done with it. Over idle interfaces it takes what it takes without. A process has one interface; those of its
node are dealt out in the order of ranks.

How long an interface is busy depends on the order in which messages come to it, and on nothing else: it is a queue. The order is that of
a timeline, and fixed, so a prediction is one sweep; how many neighbours would change places there, `swapped` counts. And so is with whose
end in the queue each message is done, whom it shares with:

    three come at once, each takes 4 alone      the queue ends at 4 8 12, all are done at 12: until the third
    the second comes at 10                      no queue: each until its own end
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from perwiz.clock.latency import distance
from perwiz.graph.graph import EJECTION, KINDS, QUEUE, RENDEZVOUS, Graph
from perwiz.graph.interfaces import SIDES, Passing, Queue, Ways, ways, ways_of, with_interfaces
from perwiz.kernels import share as kernel
from perwiz.kernels.names import METAHOST
from perwiz.loggps.keys import NO_LIMIT, POSTED
from perwiz.loggps.links.inside import Inside
from perwiz.loggps.links.shapes import fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.model import Model, Sent
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import F8, I4, I8, Ints, Mask
from perwiz.trace.tables import NONE, Times
from perwiz.trace.trace import Trace

CUT = -(1 << 61)
"""Weight of an edge that binds nobody."""
_REVERSE = 0.05
"""Part of what a message takes that SimGrid's take of the links the other way (network/crosstraffic)."""
_AT_INTERFACES = np.isin(np.arange(len(KINDS)), (*SIDES, QUEUE))
"""Which kinds of edges are those of interfaces and queues."""


class Swapped(NamedTuple):
    """Neighbours in the queues of interfaces."""

    pairs: int
    swapped: int
    """Those of which the one behind comes first to the interface."""


def shared(model: Model) -> bool:
    """Return whether messages share interfaces under a model."""
    return model.interfaces < NO_LIMIT


def as_links(trace: Trace, model: Model, simulated: bool = False) -> Model:
    """Return the model with links of nodes in place of its interfaces, at most one per process: its messages share them max-min fairly.

    With `simulated`, messages that move once posted, which are those of SimGrid, take of the links the other way, too.
    """
    if model.topology is not None:
        return model
    row = np.unique(trace.locations.process, return_index=True)[1]
    count = np.unique(np.stack((trace.locations.metahost, trace.locations.node))[:, row], axis=1, return_counts=True)[1]
    ports = min(model.interfaces, int(count.max(initial=1)))
    reverse = _REVERSE if simulated and model.progress == POSTED else 0.0
    return model.on(Topology("interfaces", fat_tree([len(count)], 1.0, []), 1.0, 0.0, reverse, (), ports=ports))


class Ends(NamedTuple):
    """Where messages begin and end in a graph, by their numbers: rows of messages, and behind all of these those inside of collectives."""

    sent: I8
    """Vertex where each is sent."""
    posted: I8
    """Where its receive is posted."""
    done: I8
    """Where its receiver waits for it."""
    held: I8
    """Where its sender may wait until it is there, -1 nowhere."""
    sender: I4
    """Location."""
    receiver: I4


class Costs(NamedTuple):
    """What messages cost at interfaces, ns, by their numbers."""

    occupied: I8
    """For how long each has an interface for itself."""
    leaves: I8
    """From when it is sent until it may leave,"""
    after_post: I8
    """and from when its receive is posted; CUT if it need not be."""
    passage: I8


def ends(trace: Trace, graph: Graph, inside: Inside | None = None) -> Ends:
    """Return where the messages of a trace, and those inside of collectives, begin and end in a graph."""
    table, location = trace.messages, trace.calls.location
    holds = np.where(table.send_done == NONE, NONE, graph.returned[table.send_done])
    vertices = [graph.entered[table.send], graph.entered[table.receive], graph.returned[table.receive_done], holds]
    processes = [location[table.send], location[table.receive_done]]
    if inside is not None:
        held = np.where(inside.held == NONE, NONE, graph.targets(inside.held))
        within: list[Ints] = [graph.source[inside.edge], graph.source[inside.posts], graph.targets(inside.edge), held]
        vertices = [np.append(column, other) for column, other in zip(vertices, within, strict=True)]
        processes = [np.append(column, other) for column, other in zip(processes, (inside.sender, inside.receiver), strict=True)]
    return Ends(*(column.astype("i8") for column in vertices), *processes)


def costs(trace: Trace, model: Model, size: I8 | None, inside: Inside | None = None) -> Costs:
    """Return what messages of their recorded or another size cost at interfaces, and those inside of collectives by their factors."""
    out = _costs(model, sent(trace, model, slice(None), size), np.ones(len(trace.messages)))
    if inside is None:
        return out
    return Costs(*(np.append(*columns) for columns in zip(out, _costs(model, inside.sent(trace), inside.factor), strict=True)))


def _costs(model: Model, messages: Sent, factor: F8) -> Costs:
    what = model.occupancy(messages), model.leaves_after(messages), model.leaves_after_post(messages), model.passage(messages)
    out = Costs(*(np.rint(ns * factor).astype("i8") for ns in what))
    return out._replace(after_post=np.where(_free(model, messages), CUT, out.after_post))


def _free(model: Model, messages: Sent) -> Mask:
    """Return which messages need no receive to leave, bool each."""
    return ~(model.is_synchronous(messages) | (model.progress == POSTED))


def passing(trace: Trace, graph: Graph, model: Model, at: Ends, inside: Inside | None = None) -> Passing:
    """Return the messages that pass interfaces: those between nodes."""
    waits = np.zeros(len(at.sent), bool)
    waits[graph.cause[graph.kind == RENDEZVOUS]] = True
    if inside is not None:
        waits[len(trace.messages) :] = model.is_synchronous(inside.sent(trace))
    message = np.flatnonzero((distance(trace.locations, at.sender, at.receiver) >= METAHOST) & shared(model))
    waits, sent_, posted, done, held = (column[message] for column in (waits, *at[:4]))
    once_posted = model.progress == POSTED
    return Passing(message, sent_, np.where(waits | once_posted, posted, NONE), done, np.where(waits & once_posted, held, NONE))


def attached(trace: Trace, graph: Graph, model: Model, time: I8, size: I8 | None = None, inside: Inside | None = None) -> tuple[Graph, I4]:
    """Return the graph whose messages pass the interfaces of a model, and which edge each was, as `graph.anew` says it.

    They do so in the order of the times of vertices, ns; messages are of their recorded or another `size`.
    """
    return with_interfaces(trace, graph, ways(graph, *queued(trace, graph, model, time, size, inside)))


def of_calls(graph: Graph, times: Times) -> I8:
    """Return the times of vertices, ns, as calls have them; 0 of others."""
    out = np.zeros(graph.vertices, "i8")
    out[graph.entered], out[graph.returned] = times.enter, times.leave
    return out


def queued(
    trace: Trace, graph: Graph, model: Model, time: I8, size: I8 | None = None, inside: Inside | None = None
) -> tuple[Passing, tuple[Queue, Queue]]:
    """Return the messages that pass the interfaces of a model, and who follows whom there, as `attached` takes them."""
    at, cost = ends(trace, graph, inside), costs(trace, model, size, inside)
    through = passing(trace, graph, model, at, inside)
    return through, order(trace, model, through.message, at, leaving(through, cost, time), time, cost.occupied[through.message])


def leaving(through: Passing, cost: Costs, time: I8) -> I8:
    """Return when messages that pass interfaces are ready to leave, ns each, when vertices have these times."""
    ready, after = time[through.sent] + cost.leaves[through.message], cost.after_post[through.message]
    late = np.flatnonzero((through.posted != NONE) & (after != CUT))
    ready[late] = np.maximum(ready[late], time[through.posted[late]] + after[late])
    return ready


def order(trace: Trace, model: Model, message: I8, at: Ends, ready: I8, time: I8, occupied: I8) -> tuple[Queue, Queue]:
    """Return who follows whom, out of nodes and into them, given when messages are ready to leave, ns each, and the times of vertices.

    Of those that are ready together, processes take turns. What was received before it could have come has its place by that: so no
    message is behind one that its own receive lets begin. `occupied` is for how long each has an interface for itself.
    """
    interface, done = _interfaces(trace, model), time[at.done[message]]
    sender, receiver = at.sender[message], at.receiver[message]
    key = np.minimum(ready, done)
    turn = _turn(sender, key)
    sides = []
    for end in (sender, receiver):
        row = np.lexsort((turn, key, interface[end]))
        sides.append(_queue(message[row], interface[end][row], key[row], done[row], occupied[row], len(at.sent)))
    return sides[0], sides[1]


def _queue(message: I8, interface: I8, ready: I8, done: I8, occupied: I8, messages: int) -> Queue:
    """Return who follows whom, of so many messages those that stand here by interface and in order."""
    follows = np.append(np.zeros(min(len(message), 1), bool), interface[1:] == interface[:-1])
    shares = np.empty(len(message), "i8")
    kernel.share(interface, ready, occupied, np.empty(len(message), "i8"), np.empty(len(message)), shares)
    begins = _begins(interface, ready, occupied)
    until = np.full(messages, NONE, "i8")
    until[message] = _until(message, interface, begins + occupied // 2, shares, done)
    return Queue(message, follows, until)


def _until(message: I8, interface: I8, middle: I8, shares: I8, done: I8) -> I8:
    """Return with whose end in the queue each message is done, the nearest: the last whose middle is no later; -1 before the first.

    It is no later in the queue than when its receive is `done`, or than itself: so nobody waits for what only comes behind that.
    """
    out = np.full(len(message), NONE, "i8")
    for part in _parts(interface):
        place, latest = (np.searchsorted(middle[part], time[part], "right") - 1 for time in (shares, done))
        place = np.minimum(place, np.maximum(latest, np.arange(len(place))))
        out[part] = np.where(place >= 0, message[part][place], NONE)
    return out


def _begins(interface: I8, ready: I8, occupied: I8) -> I8:
    """Return when messages that follow one another on interfaces begin, ns.

    On one interface ready at 0 1 9, occupied for 4 each -> 0 4 9.
    """
    before = np.cumsum(occupied) - occupied
    out = ready - before
    for part in _parts(interface):
        np.maximum.accumulate(out[part], out=out[part])
    return out + before


def _parts(interface: I8) -> list[slice]:
    """Return the rows of each interface, which stand together."""
    bounds = [0, *(np.flatnonzero(np.diff(interface)) + 1).tolist(), len(interface)]
    return [slice(begin, end) for begin, end in itertools.pairwise(bounds) if begin < end]


def _turn(sender: Ints, key: I8) -> I8:
    """Return how many messages of the same sender are ready at the same time before each."""
    row = np.lexsort((key, sender))
    new = np.ones(len(row), bool)
    new[1:] = (sender[row[1:]] != sender[row[:-1]]) | (key[row[1:]] != key[row[:-1]])
    first = np.flatnonzero(new)
    out = np.empty(len(row), "i8")
    out[row] = np.arange(len(row)) - np.repeat(first, np.diff(np.append(first, len(row))))
    return out


def _interfaces(trace: Trace, model: Model) -> I8:
    """Return the number of the interface of each location: processes of a node have them in turn, in the order of their ranks."""
    places = trace.locations
    node = np.unique(np.stack((places.metahost, places.node), 1), axis=0, return_inverse=True)[1].ravel()
    process, first, of = np.unique(places.process, return_index=True, return_inverse=True)
    home = node[first]
    row = np.argsort(home, kind="stable")
    begin = np.searchsorted(home[row], home[row])
    place = np.empty(len(process), "i8")
    place[row] = np.arange(len(row)) - begin
    most = min(model.interfaces, len(process) or 1)
    return (home * most + place % most)[of.ravel()].astype("i8")


def fill(trace: Trace, graph: Graph, model: Model, size: I8 | None, out: I8, inside: Inside | None = None) -> None:
    """Write the lags of the edges of interfaces and queues, ns, into `out`; CUT of those that bind nobody.

    That into a call is what is left, so that over idle interfaces a message lets its receiver go on when it does without them. Those of
    messages `inside` of collectives, which no model of a trace has, are left alone; others may be done with the end of one of them.
    """
    edge = np.flatnonzero(_AT_INTERFACES[graph.kind])
    edge = edge[graph.cause[edge] < len(trace.messages)]
    if not len(edge):
        return
    at, messages = ends(trace, graph), sent(trace, model, slice(None), size)
    waits, alone = model.is_synchronous(messages), model.ready(messages)
    out[edge] = edge_lags(ways_of(graph, edge), graph.vertices, at, costs(trace, model, size, inside), alone, np.where(waits, alone, CUT))


def edge_lags(edges: Ways, vertices: int, at: Ends, cost: Costs, alone: I8, held: I8) -> I8:
    """Return the ns of edges of interfaces and queues of a graph of so many vertices; CUT of those that bind nobody.

    `alone` and `held` are the ns from when a message is sent until it lets its receiver go on, and its sender, over idle interfaces.
    """
    source, target, kind, message = edges
    passage = np.where(kind == EJECTION, cost.passage[message], 0)
    post, into = cost.after_post[message], target >= vertices
    whole = np.where(target == at.done[message], alone[message], held[message])
    until = cost.occupied[np.where(source >= vertices, (source - vertices) % max(len(cost.occupied), 1), 0)]
    last = np.where(whole == CUT, CUT, whole - cost.leaves[message] - passage + until - cost.occupied[message])
    first = np.where(source == at.sent[message], cost.leaves[message] + passage, np.where(post == CUT, CUT, post + passage))
    return np.where(kind == QUEUE, cost.occupied[message], np.where(into, first, last))


def ready(graph: Graph, weight: I8, time: I8) -> I8:
    """Return when messages come to the interfaces where they wait for those ahead, int64 ns by position, when vertices have these times."""
    edge = np.flatnonzero(np.isin(graph.kind, SIDES))
    out = np.full(graph.vertices, CUT)
    np.maximum.at(out, graph.targets(edge), time[graph.source[edge]] + weight[edge])
    return out


def swapped(graph: Graph, weight: I8, time: I8) -> Swapped:
    """Return how many neighbours in queues would change places, when vertices have these times, int64 ns; each message has its vertices."""
    edge = np.flatnonzero(graph.kind == QUEUE)
    if not len(edge):
        return Swapped(0, 0)
    comes = ready(graph, weight, time)
    return Swapped(len(edge), int((comes[graph.targets(edge)] < comes[graph.source[edge]]).sum()))
