"""Messages that share the interfaces of nodes: a vertex where each has that of its sender, one where it has that of its receiver.

Edges lead from where a message is sent and its receive posted, calls or rounds of collectives, to both. The messages of an interface
follow one another in a fixed order, so one sweep is enough. How far the interface has come when a message is done, there begin the edges to
who waits for it: at the message itself if it is alone, at the last of several that share the interface from the same instant on.

    entered(send) --> injection --> the next there --> returned(receive)
             and --> ejection --> the next there -->
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.graph.anew import Anew
from perwiz.graph.graph import EJECTION, INJECTION, QUEUE, Graph
from perwiz.trace.arrays import I4, I8, Mask
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

    ahead: I8
    behind: I8
    until: I8
    """Per message that passes, the one with whose end it is done; -1 where it does not wait for any."""


def with_interfaces(trace: Trace, graph: Graph, passing: Passing, queues: tuple[Queue, Queue]) -> tuple[Graph, I4]:
    """Return the graph in which these messages pass interfaces, and no others, and which edge each edge was, as `Anew.graph` says it.

    `queues` are of injection and ejection.
    """
    leaves = np.isin(graph.kind, (*SIDES, QUEUE))
    count, message = len(passing.message), passing.message.astype("i4")
    anew = Anew(trace, graph, at_interfaces(graph), leaves, 2 * count)
    sent, done, post, held = (anew.number[vertex] for vertex in (passing.sent, passing.done, passing.posted, passing.held))
    waits, holds = passing.posted != NONE, passing.held != NONE
    vertex, pieces = np.zeros(int(message.max(initial=-1)) + 1, "i4"), []
    for number, (kind, queue) in enumerate(zip(SIDES, queues, strict=True)):
        at = np.arange(anew.first + number * count, anew.first + (number + 1) * count, dtype="i4")
        vertex[message] = at
        some, late = queue.until != NONE, holds & (queue.until != NONE)
        pieces += [
            (sent, at, kind, message),
            (post[waits], at[waits], kind, message[waits]),
            (vertex[queue.until[some]], done[some], kind, message[some]),
            (vertex[queue.until[late]], held[late], kind, message[late]),
            (vertex[queue.ahead], vertex[queue.behind], QUEUE, queue.ahead),
        ]
    source, target, cause = (np.concatenate([piece[column] for piece in pieces]) for column in (0, 1, 3))
    kinds = np.concatenate([np.full(len(piece[0]), piece[2], "u1") for piece in pieces])
    return anew.graph(source, target, kinds, cause)


def with_queues(trace: Trace, graph: Graph, queues: tuple[Queue, Queue]) -> tuple[Graph, I4]:
    """Return the graph whose messages follow one another in another order on their interfaces; else as `with_interfaces`."""
    anew = Anew(trace, graph, np.zeros(graph.vertices, bool), graph.kind == QUEUE, 0)
    count = int(passed(graph).max(initial=-1)) + 1
    sides = [anew.number[vertices(graph, kind, count)] for kind in SIDES]
    source, target = (np.concatenate([at[queue[end]] for at, queue in zip(sides, queues, strict=True)]) for end in (0, 1))
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
