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
from perwiz.graph.graph import EJECTION, QUEUE, RENDEZVOUS, Graph
from perwiz.graph.interfaces import SIDES, Passing, Queue, into_hubs, messages_at, with_interfaces
from perwiz.kernels import share as kernel
from perwiz.kernels.names import METAHOST
from perwiz.loggps.keys import NO_LIMIT, POSTED
from perwiz.loggps.model import Model
from perwiz.loggps.pairs import sent
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.tables import NONE, Times
from perwiz.trace.trace import Trace

CUT = -(1 << 61)
"""Weight of an edge that binds nobody."""


class Swapped(NamedTuple):
    """Neighbours in the queues of interfaces."""

    pairs: int
    swapped: int
    """Those of which the one behind comes first to the interface."""


def shared(model: Model) -> bool:
    """Return whether messages share interfaces under a model."""
    return model.interfaces < NO_LIMIT


def passing(trace: Trace, graph: Graph, model: Model) -> Passing:
    """Return the messages that pass interfaces: those between nodes."""
    table, location = trace.messages, trace.calls.location
    far = distance(trace.locations, location[table.send], location[table.receive_done]) >= METAHOST
    message = np.flatnonzero(far & shared(model))
    waits = np.zeros(len(table), bool)
    waits[graph.cause[graph.kind == RENDEZVOUS]] = True
    waits = waits[message]
    posted = waits | (model.progress == POSTED)
    return Passing(message, posted, waits & (model.progress == POSTED) & (table.send_done[message] != NONE))


def attached(trace: Trace, graph: Graph, model: Model, times: Times, size: I8 | None = None) -> tuple[Graph, I4]:
    """Return the graph whose messages pass the interfaces of a model, and which edge each was, as `graph.anew` says it.

    They do so in the order of `times`, those of calls; messages are of their recorded or another `size`.
    """
    through = passing(trace, graph, model)
    message, table = through.message, trace.messages
    messages = sent(trace, model, message, size)
    ready = times.enter[table.send[message]] + model.leaves_after(messages)
    posted = np.flatnonzero(through.posted & ~_free(trace, model, message, size))
    np.maximum.at(ready, posted, (times.enter[table.receive[message]] + model.leaves_after_post(messages))[posted])
    done = times.leave[table.receive_done[message]]
    return with_interfaces(trace, graph, through, order(trace, model, message, ready, done, model.occupancy(messages)))


def order(trace: Trace, model: Model, message: I8, ready: I8, done: I8, occupied: I8) -> tuple[Queue, Queue]:
    """Return who follows whom, out of nodes and into them, given when messages (rows) are ready to leave and their receives done, ns each.

    Of those that are ready together, processes take turns. What is done before it could have come has its place by that: so no message
    is behind one that its own receive lets begin. `occupied` is for how long each has an interface for itself.
    """
    table, location, interface = trace.messages, trace.calls.location, _interfaces(trace, model)
    sender, receiver = location[table.send[message]], location[table.receive_done[message]]
    key = np.minimum(ready, done)
    turn = _turn(sender, key)
    sides = []
    for end in (sender, receiver):
        row = np.lexsort((turn, key, interface[end]))
        sides.append(_queue(message[row], interface[end][row], key[row], done[row], occupied[row], np.argsort(row)))
    return sides[0], sides[1]


def _queue(message: I8, interface: I8, ready: I8, done: I8, occupied: I8, back: I8) -> Queue:
    """Return who follows whom, of messages that stand by interface and in order; `back` is the row of each as `Queue` has them."""
    same = interface[1:] == interface[:-1]
    shares = np.empty(len(message), "i8")
    kernel.share(interface, ready, occupied, np.empty(len(message), "i8"), np.empty(len(message)), shares)
    begins = _begins(interface, ready, occupied)
    until = _until(message, interface, begins + occupied // 2, shares, done)
    return Queue(message[:-1][same], message[1:][same], until[back])


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


def _free(trace: Trace, model: Model, message: Ints, size: I8 | None) -> Mask:
    """Return which messages need no receive to leave, bool each."""
    if model.progress == POSTED:
        return np.zeros(len(message), bool)
    return ~model.is_synchronous(sent(trace, model, message, size))


def fill(trace: Trace, graph: Graph, model: Model, size: I8 | None, out: I8) -> None:
    """Write the lags of the edges of interfaces and queues, ns, into `out`; CUT of those that bind nobody.

    That into a call is what is left, so that over idle interfaces a message lets its receiver go on when it does without them.
    """
    edge = np.flatnonzero(graph.kind == QUEUE)
    out[edge] = model.occupancy(sent(trace, model, graph.cause[edge], size))
    edge = np.flatnonzero(np.isin(graph.kind, SIDES))
    if not len(edge):
        return
    message, source, target = graph.cause[edge], graph.source[edge], graph.targets(edge)
    table, messages = trace.messages, sent(trace, model, message, size)
    passage = np.where(graph.kind[edge] == EJECTION, model.passage(messages), 0)
    leaves = model.leaves_after(messages) + passage
    from_send = source == graph.entered[table.send[message]]
    after_post = np.where(_free(trace, model, message, size), CUT, model.leaves_after_post(messages) + passage)
    until = sent(trace, model, messages_at(trace, graph)[source], size)
    last = model.ready(messages) - leaves + model.occupancy(until) - model.occupancy(messages)
    last[(target == graph.returned[table.send_done[message]]) & ~model.is_synchronous(messages)] = CUT
    out[edge] = np.where(into_hubs(graph, edge), np.where(from_send, leaves, after_post), last)


def ready(graph: Graph, weight: I8, time: I8) -> I8:
    """Return when messages come to the interfaces where they wait for those ahead, int64 ns by position, when vertices have these times."""
    edge = np.flatnonzero(np.isin(graph.kind, SIDES))
    out = np.full(graph.vertices, CUT)
    np.maximum.at(out, graph.targets(edge), time[graph.source[edge]] + weight[edge])
    return out


def swapped(graph: Graph, weight: I8, time: I8) -> Swapped:
    """Return how many neighbours in queues would change places, when vertices have these times, int64 ns."""
    edge = np.flatnonzero(graph.kind == QUEUE)
    if not len(edge):
        return Swapped(0, 0)
    comes = ready(graph, weight, time)
    return Swapped(len(edge), int((comes[graph.targets(edge)] < comes[graph.source[edge]]).sum()))
