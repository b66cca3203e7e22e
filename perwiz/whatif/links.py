"""Links in a changed program: what messages lose there when they meet others than in the recorded run.

Delays depend on when messages flow, and that on delays. One run of calls and of messages that flow (`perwiz.engines.fluid` defines it)
gives both. Where a recording has lags too short for what flowed, its times are not quite those that its delays give; then from those of one
timeline the next is swept, and again, until nothing changes. Where that does not come closer, the delays of the run stay.
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
_CLOSER = 0.5
"""Part of what the delays of one pass were off by that those of the next may be off by, if passes are to settle."""
_ROUNDED = 2
"""ns by which delays may differ from those that they are."""


def settled(weighted: Weighted, passes: int = PASSES, enough: float = ENOUGH) -> Weighted:
    """Return the graph whose messages are delayed on links as they are in the run that it gives, as nearly as so many passes tell."""
    if not has_links(weighted):
        return weighted
    trace, graph, model, size, rounds = weighted.placed, weighted.graph, weighted.network, weighted.size, weighted.rounds
    inside = recorded_inside(weighted)
    start = inside if weighted.delayed is None else inside + weighted.delayed
    found, time = flows.flows(trace, graph, model, size, rounds), sweep(graph, weighted.weight)
    if _far(flows.delays(found, len(start), time), start) <= _ROUNDED:
        return dataclasses.replace(weighted, passes=Passes(1, None))

    def under(delay: I8) -> Weighted:
        weight = flows.shifted(trace, graph, model, size, weighted.weight, flows.Delays(start, delay), CUT, rounds)
        return dataclasses.replace(weighted, weight=weight, delayed=delay - inside)

    together = delayed(weighted, start)
    delay, off, moved = start if together is None else together, list[int](), list[int]()
    simulated = out = under(delay)
    time = sweep(graph, out.weight)
    for number in range(1, passes + 1):
        was, delay = delay, flows.delays(found, len(start), time)
        off.append(_far(delay, was))
        if off[-1] <= enough * time.max(initial=0):
            return dataclasses.replace(out, passes=Passes(number, None))
        if together is not None and len(off) > 1 and off[-1] > _CLOSER * off[-2]:
            return dataclasses.replace(simulated, passes=Passes(number, moved[0], simulated=True))
        out, ended = under(delay), _makespan(graph, time)
        time = sweep(graph, out.weight)
        moved.append(abs(_makespan(graph, time) - ended))
    return dataclasses.replace(out, passes=Passes(passes, moved[-1] if moved else None))


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
