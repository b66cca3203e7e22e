"""Messages that share the interfaces of nodes: a vertex where each has that of its sender, one where it has that of its receiver.

Edges lead from where a message is sent and its receive posted, calls or rounds of collectives, to both. The messages of an interface
follow one another in a fixed order, so one sweep is enough. How far the interface has come when a message is done, there begin the edges to
who waits for it: at the message itself if it is alone, at the last of several that share the interface from the same instant on.

    entered(send) --> injection --> the next there --> returned(receive)
             and --> ejection --> the next there -->
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perwiz.graph.anew import Anew
from perwiz.graph.graph import EJECTION, INJECTION, QUEUE, Graph
from perwiz.trace.arrays import I4, I8, U1, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

SIDES = (INJECTION, EJECTION)
"""Kinds of the edges into and out of the vertices of messages at interfaces."""


class Passing(NamedTuple):
    """Messages that pass interfaces, and vertices of a graph."""

    message: I8
    """Their numbers: rows of messages, and behind all of these messages inside of collectives."""
    sent: I8
    """Where each is sent."""
    posted: I8
    """Where its receive is posted; -1 of those that do not wait for that."""
    done: I8
    """Where its receiver waits for it."""
    held: I8
    """Where its sender may wait until it is there, -1 nowhere."""


class Queue(NamedTuple):
    """Who follows whom on the interfaces of one side, numbers of messages."""

    order: I8
    """Those of an interface together, each behind the one ahead of it."""
    follows: Mask
    """Whether each has one ahead."""
    until: I8
    """Per message, by number, the one with whose end it is done; -1 where it does not wait for any."""

    @property
    def ahead(self) -> I8:
        """Of neighbours."""
        return self.order[:-1][self.follows[1:]]

    @property
    def behind(self) -> I8:
        """Of neighbours."""
        return self.order[1:][self.follows[1:]]

    def renumbered(self, number: I8) -> Queue:
        """Return it with these numbers of messages."""
        until = np.empty_like(self.until)
        until[number] = np.where(self.until == NONE, NONE, number[self.until])
        return Queue(number[self.order], self.follows, until)


class Ways(NamedTuple):
    """Edges by which messages pass interfaces.

    Ends are vertices of a graph, or behind all of these, in the order of their numbers, messages out of nodes, and then into them.
    """

    source: I8
    target: I8
    kind: U1
    cause: I8
    """Message; in queues that ahead."""

    def take(self, rows: Mask | I8) -> Ways:
        """Return some of them."""
        return Ways(self.source[rows], self.target[rows], self.kind[rows], self.cause[rows])


def joined(parts: Sequence[Ways]) -> Ways:
    """Return the edges of several parts."""
    source, target, cause = (np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "cause"))
    return Ways(source, target, np.concatenate([part.kind for part in parts]), cause)


def alike(source: I8, target: I8, kind: int, cause: I8) -> Ways:
    """Return edges of one kind."""
    return Ways(source, target, np.full(len(source), kind, "u1"), cause)


def ways(graph: Graph, passing: Passing, queues: tuple[Queue, Queue]) -> Ways:
    """Return the edges by which messages pass interfaces in these queues, of injection and ejection."""
    message, sent, posted, done, held = passing
    waits, holds = posted != NONE, held != NONE
    pieces: list[Ways] = []
    for number, (kind, queue) in enumerate(zip(SIDES, queues, strict=True)):
        first = graph.vertices + number * len(queue.until)
        until = queue.until[message]
        some, late = until != NONE, holds & (until != NONE)
        pieces += [
            alike(sent, first + message, kind, message),
            alike(posted[waits], first + message[waits], kind, message[waits]),
            alike(first + until[some], done[some], kind, message[some]),
            alike(first + until[late], held[late], kind, message[late]),
            alike(first + queue.ahead, first + queue.behind, QUEUE, queue.ahead),
        ]
    return joined(pieces)


def with_interfaces(trace: Trace, graph: Graph, edges: Ways) -> tuple[Graph, I4]:
    """Return the graph whose messages pass interfaces by these edges alone, and which edge each edge was, as `Anew.graph` says it."""
    leaves = np.isin(graph.kind, (*SIDES, QUEUE))
    ends = np.concatenate([edges.source, edges.target])
    at_interface = ends >= graph.vertices
    there, place = np.unique(ends[at_interface], return_inverse=True)
    anew = Anew(trace, graph, at_interfaces(graph), leaves, len(there))
    number = np.empty(len(ends), "i4")
    number[at_interface], number[~at_interface] = anew.first + place, anew.number[ends[~at_interface]]
    return anew.graph(number[: len(edges.source)], number[len(edges.source) :], edges.kind, edges.cause)


def with_queues(trace: Trace, graph: Graph, queues: tuple[Queue, Queue]) -> tuple[Graph, I4]:
    """Return the graph whose messages follow one another in another order on their interfaces; else as `with_interfaces`."""
    anew = Anew(trace, graph, np.zeros(graph.vertices, bool), graph.kind == QUEUE, 0)
    count = int(passed(graph).max(initial=-1)) + 1
    sides = [anew.number[vertices(graph, kind, count)] for kind in SIDES]
    source = np.concatenate([at[queue.ahead] for at, queue in zip(sides, queues, strict=True)])
    target = np.concatenate([at[queue.behind] for at, queue in zip(sides, queues, strict=True)])
    return anew.graph(source, target, np.full(len(source), QUEUE, "u1"), np.concatenate([queue.ahead for queue in queues]))


def passed(graph: Graph) -> I8:
    """Return the numbers of the messages that pass interfaces."""
    return np.unique(graph.cause[graph.kind == INJECTION]).astype("i8")


def vertices(graph: Graph, side: int, count: int) -> I8:
    """Return the vertex of each of `count` messages at the interface of a side, 0 of those that pass none."""
    edge = np.flatnonzero(graph.kind == side)
    edge = edge[into_interfaces(graph, edge)]
    out = np.zeros(count, "i8")
    out[graph.cause[edge]] = graph.targets(edge)
    return out


def ways_of(graph: Graph, edge: I8) -> Ways:
    """Return some edges of interfaces and queues as such ways; those of both sides begin and end at the same."""
    end = np.where(at_interfaces(graph), graph.vertices + messages_at(graph), np.arange(graph.vertices))
    return Ways(end[graph.source[edge]], end[graph.targets(edge)], graph.kind[edge], graph.cause[edge].astype("i8"))


def messages_at(graph: Graph) -> I8:
    """Return the message whose vertex at an interface each vertex is, 0 of others."""
    out = np.zeros(graph.vertices, "i8")
    edge = np.flatnonzero(np.isin(graph.kind, SIDES))
    edge = edge[into_interfaces(graph, edge)]
    out[graph.targets(edge)] = graph.cause[edge]
    return out


@remembered(2)
def at_interfaces(graph: Graph) -> Mask:
    """Return which vertices are messages at interfaces, bool each: nothing else leads into them."""
    passing, target = np.isin(graph.kind, (*SIDES, QUEUE)), graph.target
    out = np.zeros(graph.vertices, bool)
    out[target[passing]] = True
    out[target[~passing]] = False
    return out


def into_interfaces(graph: Graph, edge: I8) -> Mask:
    """Return which of some edges lead to messages at interfaces."""
    return np.asarray(at_interfaces(graph)[graph.targets(edge)])
