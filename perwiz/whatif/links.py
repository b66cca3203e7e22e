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
from perwiz.loggps.weigh import CUT, Passes, Weighted
from perwiz.trace.arrays import I8

PASSES = 12
"""How often delays are made anew."""
ENOUGH = 1e-4
"""Part of the last instant by which none of them changes then."""
_ROUNDED = 2
"""ns by which delays may differ from those that they are."""


def settled(weighted: Weighted, passes: int = PASSES, enough: float = ENOUGH) -> Weighted:
    """Return the graph whose messages are delayed on links as they are in the run that it gives, as nearly as so many passes tell."""
    if not has_links(weighted):
        return weighted
    trace, graph, model, size, rounds = weighted.placed, weighted.graph, weighted.network, weighted.size, weighted.rounds
    inside = recorded_inside(weighted)
    start = inside if weighted.delayed is None else inside + weighted.delayed
    was, weight = start, weighted.weight
    found, time = flows.flows(trace, graph, model, size, rounds), sweep(graph, weight)
    if model.topology == weighted.model.topology and _far(flows.delays(found, len(start), time), start) <= _ROUNDED:
        return dataclasses.replace(weighted, passes=Passes(1, None))
    together = delayed(weighted, start)
    if together is not None:
        was, weight = together, flows.shifted(trace, graph, model, size, weight, flows.Delays(start, together), CUT, rounds)
        time = sweep(graph, weight)
    told = Passes(0, None)
    for number in range(1, passes + 1):
        now = flows.delays(found, len(start), time)
        if _far(now, was) <= enough * time.max(initial=0):
            told = Passes(number, None)
            break
        was, weight = now, flows.shifted(trace, graph, model, size, weighted.weight, flows.Delays(start, now), CUT, rounds)
        before, time = time, sweep(graph, weight)
        told = Passes(number, abs(_makespan(graph, time) - _makespan(graph, before)))
    return dataclasses.replace(weighted, weight=weight, delayed=was - inside, passes=told)


def recorded_inside(weighted: Weighted) -> I8:
    """Return the delays that the weights of the recorded times have: those of the recorded run."""
    if weighted.inside is not None:
        return weighted.inside
    return flows.recorded_delays(weighted.trace, weighted.graph, weighted.model)


def in_other_rows(weighted: Weighted, message: I8) -> tuple[I8 | None, I8 | None]:
    """Return `inside` and `delayed` if message k has row `message[k]`."""
    if not has_links(weighted):
        return None, None
    inside = recorded_inside(weighted)
    old = np.append(np.argsort(message), np.arange(len(message), len(inside)))
    return inside[old], None if weighted.delayed is None else weighted.delayed[old]


def has_links(weighted: Weighted) -> bool:
    """Return whether the network has links that messages pass; where others take the place of the recorded ones they are left alone."""
    return weighted.network.topology is not None and len(weighted.size) == len(weighted.trace.messages)


def _far(now: I8, was: I8) -> int:
    return int(np.abs(now - was).max(initial=0))


def _makespan(graph: Graph, time: I8) -> int:
    return int(time[graph.ended].max() - time[graph.begun].min()) if len(graph.ended) else 0
