"""Why drawn runs gain another amount than the recorded one: what took long by chance in that, and hides a gain or makes it."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import critical_path, sweep
from perwiz.graph.graph import entering
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I4
from perwiz.trace.tables import NONE
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.sure.noise import Noise

_HALF = 0.5
"""Part of the larger of two gains from which on they differ, and of their difference from which on one piece explains it."""
_LITTLE = 0.005
"""Part of the run below which it does not matter by how much they differ."""


@dataclasses.dataclass(frozen=True)
class Chance:
    """What differs between the recorded run and those drawn of it."""

    hides: bool
    """Whether drawn runs gain more than the recorded one, in which something hides it; else less, as something makes it."""
    piece: Piece | None = None
    """What that is; None if it is no single piece of the run."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """Computation, or the work in a call, that took longer than it usually does."""

    rank: int
    thread: int
    call: int
    """The call, or the one that follows the computation, a row; NONE if none does."""
    routine: str
    """Of that call; empty if there is none."""
    computes: bool
    """Whether it is computation."""
    took: int
    """ns."""
    longer: int
    """Of them, beyond what is usual, ns."""


def differs(now: int, mean: int, part: int) -> bool:
    """Return whether the recorded run gains, ns, less than half or more than twice of what drawn runs do on average, and that matters.

    551 and 2850 of 38600 do; 551 and 900 do not, nor do 5 and 28.
    """
    off = abs(mean - now)
    return off > _HALF * max(abs(now), abs(mean)) and off >= _LITTLE * part


def chance(noise: Noise, recorded: Weighted, changed: Weighted, now: int, mean: int) -> Chance:
    """Return what explains that a changed run gains `now`, ns, and drawn ones another `mean`: the piece on a critical path, of the changed
    run if it hides a gain, of the recorded one alone if it makes it, that takes longest beyond what is usual, if that is half of it.
    """
    hides, share = mean > now, recorded.trace.share
    vertices = _on_path(noise, changed)
    if not hides:
        vertices = np.setdiff1d(_on_path(noise, recorded), vertices)
    longer = -noise.more[vertices]
    most = float(share.reduced(np.array([longer.max(initial=-np.inf)]), "max")[0])
    if most < _HALF * abs(mean - now):
        return Chance(hides)
    return Chance(hides, _told(noise, recorded, vertices[longer == most], round(most)))


def _told(noise: Noise, recorded: Weighted, vertices: I4, longer: int) -> Piece:
    """Return the first of some pieces of all processes, given the vertices of those here: computation before calls, both by location."""
    trace, graph = recorded.trace, noise.graph
    calls, first, share = trace.calls, trace.first_calls, trace.share
    returned, entered, ends = graph.returning[vertices], entering(graph)[vertices], np.argsort(graph.ended)
    computes = returned == NONE
    call = np.where(computes, entered, returned)
    location = ends[np.minimum(np.searchsorted(graph.ended, vertices, sorter=ends), len(ends) - 1)]
    location[call != NONE] = calls.location[call[call != NONE]]
    place = np.where(call == NONE, first[location + 1], call) - first[location]
    key = (~computes).astype("i8") << 62 | location << 32 | place
    least = share.least(int(key.min(initial=np.iinfo("i8").max)))
    took = recorded.weight[recorded.graph.start[vertices]]
    told = np.full(6, np.iinfo("i8").min)
    for row in np.flatnonzero(key == least).tolist():
        at, its, places = call[row], location[row], trace.locations
        op = calls.op[at] if at != NONE else NONE
        number = share.named(call[row : row + 1])[0]
        told[:] = places.process[its], places.thread[its], number, op, computes[row], took[row]
    rank, thread, number, op, is_computation, lasted = share.reduced(told, "max").tolist()
    return Piece(rank, thread, number, operations.OPS[op] if op != NONE else "", bool(is_computation), lasted, longer)


def _on_path(noise: Noise, weighted: Weighted) -> I4:
    """Return what of the noise is on a critical path of a weighted graph: vertices of the recorded one, ascending."""
    graph, recorded = weighted.graph, noise.graph
    time = sweep(graph, weighted.weight)
    vertex = np.searchsorted(graph.start, critical_path(graph, weighted.weight, time), "right") - 1
    rows = np.argsort(weighted.call) if isinstance(weighted, Reordered) else slice(None)
    known = np.full(graph.vertices, NONE, "i4")
    known[graph.entered] = recorded.entered[rows]
    known[graph.ended] = recorded.ended
    known[graph.returned] = recorded.returned[rows]
    found = known[vertex]
    return np.unique(found[found != NONE])
