"""Links in a changed program: what messages lose there when they meet others than in the recorded run.

Delays depend on when messages flow, and that on delays. So from those of one timeline the next is swept, and again, until nothing changes:
what happens first is right first, and what comes after it the next time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.flowing import delayed
from perwiz.engines.sweep import sweep
from perwiz.graph.graph import Graph
from perwiz.loggps.links import flows
from perwiz.loggps.links.load import Overloaded, overloaded
from perwiz.loggps.weigh import CUT, Passes, Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.tables import Times

PASSES = 12
"""How often delays are made anew."""
ENOUGH = 1e-4
"""Part of the last instant by which none of them changes then."""


def settled(weighted: Weighted, passes: int = PASSES, enough: float = ENOUGH) -> Weighted:
    """Return the graph whose messages are delayed on links as they are in the run that it gives, as nearly as so many passes tell."""
    if not _has_links(weighted):
        return weighted
    trace, graph, model, size = weighted.placed, weighted.graph, weighted.network, weighted.size
    inside = recorded_inside(weighted)
    start = inside if weighted.delayed is None else inside + weighted.delayed
    was, weight = start, weighted.weight
    together = delayed(weighted, start)
    if together is not None:
        was, weight = together, flows.shifted(trace, graph, model, size, weight, start, together, CUT)
    time = sweep(graph, weight)
    told = Passes(0, None)
    for number in range(1, passes + 1):
        now = flows.delays(trace, model, model.topology, size, _calls(graph, time))
        if np.abs(now - was).max(initial=0) <= enough * time.max(initial=0):
            told = Passes(number, None)
            break
        was, weight = now, flows.shifted(trace, graph, model, size, weighted.weight, start, now, CUT)
        before, time = time, sweep(graph, weight)
        told = Passes(number, abs(_makespan(graph, time) - _makespan(graph, before)))
    return dataclasses.replace(weighted, weight=weight, delayed=was - inside, passes=told)


def recorded_inside(weighted: Weighted) -> I8:
    """Return the delays that the weights of the recorded times have: behind a handshake those of the recorded run itself."""
    if weighted.inside is not None:
        return weighted.inside
    model, size = weighted.network, weighted.size
    now = flows.recorded_delays(weighted.placed, model, size)
    return np.where(flows.handshakes(weighted.placed, model, size), flows.recorded_delays(weighted.trace, weighted.model), now)


def in_other_rows(weighted: Weighted, message: I8) -> tuple[I8 | None, I8 | None]:
    """Return `inside` and `delayed` if message k has row `message[k]`."""
    if not _has_links(weighted):
        return None, None
    old = np.argsort(message)
    return recorded_inside(weighted)[old], None if weighted.delayed is None else weighted.delayed[old]


@dataclasses.dataclass(frozen=True)
class OnLinks:
    """What becomes of messages on links."""

    overloaded: list[Overloaded]
    """The longest first."""
    passes: Passes | None
    """In which their delays were found; None: they are those of the recorded times."""
    left_alone: bool = False
    """Whether nothing is slowed down there: other messages than the recorded ones are sent."""
    collectives: int = 0
    """That are made by several nodes: what they send shares no links."""


def on_links(weighted: Weighted, time: I8) -> OnLinks:
    """Return which links are overloaded in the run whose vertices have these times, and how the delays on them were found."""
    if weighted.network.topology is None:
        return OnLinks([], None)
    apart = _collectives_apart(weighted)
    if not _has_links(weighted):
        return OnLinks([], None, True, apart)
    found = overloaded(weighted.placed, weighted.network, weighted.size, _calls(weighted.graph, time))
    return OnLinks(found, weighted.passes, False, apart)


def _collectives_apart(weighted: Weighted) -> int:
    """Return how many collectives have members on several nodes."""
    trace, members = weighted.placed, weighted.trace.members
    where = trace.locations
    node = (where.metahost.astype("i8") << 32) + where.node
    of = node[trace.calls.location[members.call]]
    first = trace.collectives.first_member.astype("i8")
    if not len(first):
        return 0
    return int((np.maximum.reduceat(of, first) != np.minimum.reduceat(of, first)).sum())


def _has_links(weighted: Weighted) -> bool:
    """Return whether the network has links that messages pass; where others take the place of the recorded ones they are left alone."""
    return weighted.network.topology is not None and len(weighted.size) == len(weighted.trace.messages)


def _calls(graph: Graph, time: I8) -> Times:
    return Times(time[graph.entered], time[graph.returned])


def _makespan(graph: Graph, time: I8) -> int:
    return int(time[graph.ended].max() - time[graph.begun].min()) if len(graph.ended) else 0
