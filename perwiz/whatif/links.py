"""Links in a changed program: what messages lose there when they meet others than in the recorded run.

Delays depend on when messages flow, and that on delays. So from those of one timeline the next is swept, and again, until nothing changes:
what happens first is right first, and what comes after it the next time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.loggps.links import flows
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.tables import Times

PASSES = 12
"""How often delays are made anew."""
ENOUGH = 1e-4
"""Part of the last instant by which none of them changes then."""


def settled(weighted: Weighted, passes: int = PASSES, enough: float = ENOUGH) -> Weighted:
    """Return the graph whose messages are delayed on links as they are in the run that it gives, as nearly as so many passes tell."""
    if weighted.network.topology is None or len(weighted.size) != len(weighted.trace.messages):
        return weighted
    trace, graph, model, size = weighted.placed, weighted.graph, weighted.network, weighted.size
    inside = _inside(weighted)
    start = inside if weighted.delayed is None else inside + weighted.delayed
    was, weight = start, weighted.weight
    for _ in range(passes):
        time = sweep(graph, weight)
        now = flows.delays(trace, model, model.topology, size, Times(time[graph.entered], time[graph.returned]))
        near = np.abs(now - was).max(initial=0) <= enough * time.max(initial=0)
        if near:
            break
        was, weight = now, flows.shifted(trace, graph, model, size, weighted.weight, start, now, CUT)
    return dataclasses.replace(weighted, weight=weight, delayed=was - inside)


def _inside(weighted: Weighted) -> I8:
    """Return the delays that the weights of the recorded times have: behind a handshake those of the recorded run itself."""
    model, size = weighted.network, weighted.size
    now = flows.recorded_delays(weighted.placed, model, size)
    return np.where(flows.handshakes(weighted.placed, model, size), flows.recorded_delays(weighted.trace, weighted.model), now)
