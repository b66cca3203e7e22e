"""Why drawn runs gain another amount than the recorded one: what took long by chance in that, and hides a gain or makes it."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import critical_path, sweep
from perwiz.loggps.weigh import Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
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
    hides = mean > now
    piece = _on_path(noise, changed)
    if not hides:
        piece = np.setdiff1d(_on_path(noise, recorded), piece)
    longer = -noise.more[piece]
    most = int(longer.argmax()) if len(longer) else 0
    if not len(longer) or longer[most] < _HALF * abs(mean - now):
        return Chance(hides)
    return Chance(hides, _told(noise, recorded.trace, int(piece[most]), round(float(longer[most]))))


def _told(noise: Noise, trace: Trace, row: int, longer: int) -> Piece:
    """Return a piece, given its row in the noise."""
    calls, computations = trace.calls, len(trace.calls) + len(trace.locations)
    computes, call = row < computations, row - computations
    if computes:
        location = int(np.searchsorted(trace.first_calls + np.arange(len(trace.first_calls)), row, "right")) - 1
        call = row - location if row - location < trace.first_calls[location + 1] else NONE
    else:
        location = int(calls.location[call])
    routine = operations.OPS[calls.op[call]] if call != NONE else ""
    rank, thread = int(trace.locations.process[location]), int(trace.locations.thread[location])
    return Piece(rank, thread, call, routine, computes, int(noise.whole[row]), longer)


def _on_path(noise: Noise, weighted: Weighted) -> I8:
    """Return the pieces, rows of the noise, on a critical path of a weighted graph, ascending."""
    graph, trace = weighted.graph, weighted.trace
    time = sweep(graph, weighted.weight)
    vertex = np.searchsorted(graph.start, critical_path(graph, weighted.weight, time), "right") - 1
    calls, locations = trace.calls.location.astype("i8"), np.arange(len(trace.locations))
    rows = np.argsort(weighted.call) if isinstance(weighted, Reordered) else np.arange(len(calls))
    piece = np.full(graph.vertices, NONE, "i8")
    piece[graph.entered] = rows + calls
    piece[graph.ended] = trace.first_calls[1:] + locations
    piece[graph.returned] = rows + len(calls) + len(locations)
    found = piece[vertex]
    return np.unique(found[found != NONE])
