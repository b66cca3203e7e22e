"""What happens and what flows, in one compiled run in the order of time: a graph whose edges wait for messages.

Where a recording made lags so short that a message is there before it has flowed, what follows it begins late here, as if it had been
alone so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.kernels import fluid as kernel
from perwiz.kernels.alog import Records, zeros
from perwiz.loggps.interfaces import CUT
from perwiz.loggps.links.flows import Flows
from perwiz.loggps.links.inside import Depending
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.tables import NONE

_BELOW = -(1 << 62)
"""ns less than any weight."""


class Spread(NamedTuple):
    """A graph in which messages flow, and what waits for them."""

    start: I4
    """As of a Graph, and so are the next ones."""
    source: I4
    kind: U1
    weight: I8
    floor: I8
    """Per vertex, ns: it happens not before."""
    waiting: Depending
    """Edges that wait for flows; `message` are rows of these."""
    has: I8
    """ns of delays that the weight of each of those has: of several flows the longest."""


class Works(NamedTuple):
    """Calls whose work has messages, those behind a handshake."""

    vertex: I8
    """Where each returns."""
    was: I8
    """ns, the longest delay of its messages that weights have."""
    flow: I8
    """Row of flows,"""
    call: I8
    """and which of these calls has it."""


class Simulated(NamedTuple):
    """What a run comes to."""

    delay: I8
    """ns by which each flow takes longer than alone."""
    time: I8
    """Per vertex, ns."""


def simulated(net: Spread, found: Flows, begun: I8 | None = None, works: Works | None = None) -> Simulated | None:
    """Return the delays of flows, and when vertices happen. Those flows that begin at no vertex do so at `begun`.

    None if vertices wait for messages that wait for them, which no program that ran does.
    """
    count, vertices = len(net.floor), zeros(len(net.floor), kernel.VERTEX)
    vertices.time = net.floor
    vertices.flow = vertices.behind = NONE
    journeys = found.journeys()
    if begun is not None:
        journeys.start[:-1] = np.where(found.begins == NONE, begun, 0)
    causes = _causes(found, vertices, journeys)
    binds = net.weight[net.waiting.edge] != CUT
    edge, flow = (column[binds] for column in net.waiting)
    row = np.argsort(flow, kind="stable")
    ties = zeros(len(row), kernel.TIE)
    ties.edge, ties.weight = edge[row], (net.weight[edge] - net.has[binds])[row]
    ties.vertex = np.searchsorted(net.start, edge[row], "right") - 1
    journeys.tie = np.searchsorted(flow[row], np.arange(len(journeys)))
    np.add.at(vertices.open, ties.vertex, 1)
    changed = net.weight.copy()
    changed[ties.edge] = _BELOW
    of_graph = net.start, net.source, net.kind, net.weight, CUT, changed
    rows = _works(works, vertices, journeys)
    happened = found.fluid().run(*of_graph, vertices, causes, journeys, ties, rows)
    return Simulated(np.asarray(journeys.delay[:-1]), np.asarray(vertices.time)) if happened == count else None


def _causes(found: Flows, vertices: Records, journeys: Records) -> Records:
    """Return what lets flows begin, and note it at the vertices and journeys."""
    sent, posted = np.flatnonzero(found.begins != NONE), np.flatnonzero(found.posted & (found.begins != NONE))
    flow, vertex = np.concatenate([sent, posted]), np.concatenate([found.begins[sent], found.posts[posted]])
    causes = zeros(len(flow), kernel.CAUSE)
    causes.flow, causes.after = flow, np.concatenate([found.after[sent], found.after_post[posted]])
    journeys.open[sent] = 1 + found.posted[sent]
    row = np.argsort(vertex, kind="stable")
    last = np.append(np.diff(vertex[row]) != 0, True)[: len(row)]
    causes.next[row] = np.where(last, NONE, np.append(row[1:], NONE))
    first = np.append(True, last[:-1])[: len(row)]
    vertices.flow[vertex[row[first]]] = row[first]
    return causes


def _works(works: Works | None, vertices: Records, journeys: Records) -> Records:
    """Return the calls whose work has messages, and note them at their vertices and journeys."""
    if works is None:
        return zeros(0, kernel.WORK)
    out = zeros(len(works.vertex), kernel.WORK)
    out.vertex, out.was = works.vertex, works.was
    vertices.behind[works.vertex] = np.arange(len(out))
    journeys.call[works.flow] = works.call
    np.add.at(vertices.open, works.vertex[works.call], 1)
    return out
