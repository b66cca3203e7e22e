"""Messages that share the interfaces of nodes: a vertex where each has that of its sender, one where it has that of its receiver.

Edges lead from the calls that send and post to both. The messages of an interface follow one another in a fixed order, so one sweep is
enough. How far the interface has come when a message is done, there begin the edges to the calls that wait for it: at the message itself
if it is alone, at the last of several that share the interface from the same instant on.

    entered(send) --> injection --> the next there --> returned(receive)
             and --> ejection --> the next there -->
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.graph.anew import Anew
from perwiz.graph.graph import EJECTION, INJECTION, QUEUE, Graph
from perwiz.kernels.names import LOCAL
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

SIDES = (INJECTION, EJECTION)
"""Kinds of the edges into and out of the vertices of messages at interfaces."""


class Passing(NamedTuple):
    """Messages that pass interfaces."""

    message: I8
    """Rows of messages."""
    posted: Mask
    """Which may have to wait for their receive to be posted."""
    delivered: Mask
    """Which may hold their sender until they are there."""


class Queue(NamedTuple):
    """Who follows whom on the interfaces of one side, rows of messages."""

    ahead: I8
    behind: I8
    until: I8
    """Per message that passes, the one with whose end it is done; -1 where it does not wait for any."""


def with_interfaces(trace: Trace, graph: Graph, passing: Passing, queues: tuple[Queue, Queue]) -> tuple[Graph, I4]:
    """Return the graph in which these messages pass interfaces, and no others, and which edge each edge was, as `Anew.graph` says it.

    `queues` are of injection and ejection.
    """
    leaves = np.isin(graph.kind, (*SIDES, QUEUE))
    without = np.zeros(graph.vertices, bool)
    without[graph.target[leaves]] = True
    message, posted, delivered = passing
    count, table = len(message), trace.messages
    message = message.astype("i4")
    anew = Anew(trace, graph, without, leaves, 2 * count)
    entered = anew.layout.entered
    vertex, pieces = np.zeros(len(table), "i4"), []
    for number, (kind, queue) in enumerate(zip(SIDES, queues, strict=True)):
        at = np.arange(anew.first + number * count, anew.first + (number + 1) * count, dtype="i4")
        vertex[message] = at
        pieces += [
            (entered[table.send[message]], at, kind, message),
            (entered[table.receive[message[posted]]], at[posted], kind, message[posted]),
            _ends(table.receive_done, entered, vertex, message, queue.until, kind),
            _ends(table.send_done, entered, vertex, message[delivered], queue.until[delivered], kind),
            (vertex[queue.ahead], vertex[queue.behind], QUEUE, queue.ahead),
        ]
    source, target, cause = (np.concatenate([piece[column] for piece in pieces]) for column in (0, 1, 3))
    kinds = np.concatenate([np.full(len(piece[0]), piece[2], "u1") for piece in pieces])
    return anew.graph(source, target, kinds, cause)


def _ends(done: I4, entered: I4, vertex: I4, message: Ints, until: I8, kind: int) -> tuple[Ints, Ints, int, Ints]:
    """Return the edges from where messages are done to these calls: source, target, kind and cause."""
    waits = until != NONE
    return vertex[until[waits]], entered[done[message[waits]]] + 1, kind, message[waits]


def with_queues(trace: Trace, graph: Graph, queues: tuple[Queue, Queue]) -> tuple[Graph, I4]:
    """Return the graph whose messages follow one another in another order on their interfaces; else as `with_interfaces`."""
    anew = Anew(trace, graph, np.zeros(graph.vertices, bool), graph.kind == QUEUE, 0)
    sides = [anew.number[vertices(trace, graph, kind)] for kind in SIDES]
    source, target = (np.concatenate([at[queue[end]] for at, queue in zip(sides, queues, strict=True)]) for end in (0, 1))
    return anew.graph(source, target, np.full(len(source), QUEUE, "u1"), np.concatenate([queue.ahead for queue in queues]))


def passed(graph: Graph) -> I8:
    """Return the rows of the messages that pass interfaces."""
    return np.unique(graph.cause[graph.kind == INJECTION]).astype("i8")


def vertices(trace: Trace, graph: Graph, side: int) -> I8:
    """Return the vertex of each message at the interface of a side, 0 of those that pass none."""
    edge = np.flatnonzero(graph.kind == side)
    edge = edge[graph.source[edge] == graph.entered[trace.messages.send[graph.cause[edge]]]]
    out = np.zeros(len(trace.messages), "i8")
    out[graph.cause[edge]] = graph.targets(edge)
    return out


def messages_at(trace: Trace, graph: Graph) -> I8:
    """Return the message whose vertex at an interface each vertex is, 0 of others."""
    out = np.zeros(graph.vertices, "i8")
    for side in SIDES:
        at = vertices(trace, graph, side)
        row = np.flatnonzero(at)
        out[at[row]] = row
    return out


def into_hubs(graph: Graph, edge: I8) -> Mask:
    """Return which of some edges lead into vertices of no location."""
    return np.asarray(graph.kind[graph.start[graph.targets(edge)]] != LOCAL)
