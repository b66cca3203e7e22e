"""The fluid engine compiled: calls and the messages that flow between them in one run, in the order of time.

`engines.fluid` says what it comes to. Where a recording made lags so short that a message is there before it has flowed, what follows it
begins late here, as if it had been alone so far; `whatif.links.settled` goes on from there.
"""

from __future__ import annotations

import numpy as np

from perwiz.kernels import fluid as kernel
from perwiz.kernels.alog import Records, zeros
from perwiz.loggps.links import flows
from perwiz.loggps.links.flows import Flows
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE

_BELOW = -(1 << 62)
"""ns less than any weight."""


def delayed(weighted: Weighted, was: I8) -> I8 | None:
    """Return by how much longer each message takes on links than alone in the run that the graph gives, int64 ns per message.

    `was` are the delays that its weights have. None if calls wait for messages that wait for them, which no program that ran does.
    """
    trace, graph, model, size = weighted.placed, weighted.graph, weighted.network, weighted.size
    if model.topology is None:
        raise ValueError("a network without links, must have a topology")
    found = flows.flows(trace, model, model.topology, size)
    count = len(found.message)
    row = np.full(len(size), NONE)
    row[found.message] = np.arange(count)
    vertices = zeros(graph.vertices, kernel.VERTEX)
    vertices.flow = vertices.behind = NONE
    journeys = zeros(count + 1, kernel.JOURNEY)
    for name, values in (("volume", found.volume), ("was", was[found.message]), ("farther", found.farther), ("route", found.route)):
        journeys[name][:count] = values
    causes = _causes(weighted, found, vertices, journeys)
    edge, message = flows.own_edges(trace, graph, model, size, row >= 0)
    binds = weighted.weight[edge] != CUT
    ties = _ties(weighted, edge[binds], row[message[binds]], journeys)
    works = _works(weighted, row, was, vertices, journeys)
    np.add.at(vertices.open, ties.vertex, 1)
    mine = journeys.call[:count][journeys.call[:count] != NONE]
    np.add.at(vertices.open, works.vertex[mine], 1)
    changed = weighted.weight.copy()
    changed[ties.edge] = _BELOW
    out, ready = np.empty(graph.edges, "i4"), np.empty(graph.vertices, "i4")
    of_graph = graph.start, graph.source, graph.kind, weighted.weight, CUT, changed
    happened = kernel.run(*of_graph, vertices, out, ready, causes, journeys, ties, works, *found.links, *found.desk())
    if happened < graph.vertices:
        return None
    delay = np.zeros(len(size), "i8")
    delay[found.message] = journeys.delay[:count]
    return delay


def _causes(weighted: Weighted, found: Flows, vertices: Records, journeys: Records) -> Records:
    """Return what lets flows begin, and note it at the vertices and journeys."""
    graph, table = weighted.graph, weighted.placed.messages
    posted = np.flatnonzero(found.posted)
    flow = np.concatenate([np.arange(len(found.message)), posted])
    call = np.concatenate([table.send[found.message], table.receive[found.message[posted]]])
    causes = zeros(len(flow), kernel.CAUSE)
    causes.flow, causes.after = flow, np.concatenate([found.after, found.after_post[posted]])
    journeys.open[:-1] = 1 + found.posted
    vertex = graph.entered[call]
    row = np.argsort(vertex, kind="stable")
    last = np.append(np.diff(vertex[row]) != 0, True)[: len(row)]
    causes.next[row] = np.where(last, NONE, np.append(row[1:], NONE))
    first = np.append(True, last[:-1])[: len(row)]
    vertices.flow[vertex[row[first]]] = row[first]
    return causes


def _ties(weighted: Weighted, edge: I8, flow: I8, journeys: Records) -> Records:
    """Return the edges that wait for flows, by flow, and note where those of each begin."""
    row = np.argsort(flow, kind="stable")
    ties = zeros(len(row), kernel.TIE)
    ties.edge, ties.weight, ties.vertex = edge[row], weighted.weight[edge[row]], weighted.graph.targets(edge[row])
    journeys.tie = np.searchsorted(flow[row], np.arange(len(journeys)))
    return ties


def _works(weighted: Weighted, flow: I8, was: I8, vertices: Records, journeys: Records) -> Records:
    """Return the calls whose work has messages, and note them at their vertices and journeys."""
    trace, graph = weighted.placed, weighted.graph
    journeys.call = NONE
    message = np.flatnonzero(flows.handshakes(trace, weighted.network, weighted.size))
    call, of = np.unique(trace.messages.receive_done[message], return_inverse=True)
    works = zeros(len(call), kernel.WORK)
    np.maximum.at(works.was, of, was[message])
    works.vertex = graph.returned[call]
    vertices.behind[works.vertex] = np.arange(len(call))
    there = flow[message] >= 0
    journeys.call[flow[message[there]]] = of[there]
    return works
