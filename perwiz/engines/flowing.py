"""The fluid engine compiled: calls and the messages that flow between them in one run, in the order of time.

`engines.fluid` says what it comes to; `whatif.links.settled` goes on from there.
"""

from __future__ import annotations

import numpy as np

from perwiz.loggps.links import flows
from perwiz.loggps.links.inside import Depending
from perwiz.loggps.links.simulated import Spread, Works, simulated
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE


def delayed(weighted: Weighted, was: I8) -> I8 | None:
    """Return by how much longer each message takes on links than alone in the run that the graph gives, int64 ns per message.

    `was` are the delays that its weights have. None if calls wait for messages that wait for them, which no program that ran does.
    """
    trace, graph, model, size = weighted.placed, weighted.graph, weighted.network, weighted.size
    found = flows.flows(trace, graph, model, size, weighted.rounds)
    row = np.full(len(was), NONE)
    row[found.message] = np.arange(len(found.message))
    edge, message = flows.own_edges(trace, graph, model, size, row != NONE, weighted.rounds)
    longest = np.zeros(graph.edges, "i8")
    np.maximum.at(longest, edge, was[message])
    floor = np.zeros(graph.vertices, "i8")
    net = Spread(graph.start, graph.source, graph.kind, weighted.weight, floor, Depending(edge, row[message]), longest[edge])
    run = simulated(net, found, works=_works(weighted, row, was))
    if run is None:
        return None
    out = np.zeros(len(was), "i8")
    out[found.message] = run.delay
    return out


def _works(weighted: Weighted, row: I8, was: I8) -> Works:
    """Return the calls whose work has messages, `row` being that of each as a flow."""
    trace, graph = weighted.placed, weighted.graph
    message = np.flatnonzero(flows.handshakes(trace, weighted.network, weighted.size))
    call, of = np.unique(trace.messages.receive_done[message], return_inverse=True)
    longest = np.zeros(len(call), "i8")
    np.maximum.at(longest, of, was[message])
    there = row[message] != NONE
    return Works(graph.returned[call].astype("i8"), longest, row[message[there]], of[there])
