"""How long each call waits for its partners, and for which."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import calls_at, entering, hubs
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I4, I8
from perwiz.trace.resources import in_parts


@dataclasses.dataclass(frozen=True, eq=False)
class Waits:
    """How long each call waits for its partners in one run."""

    time: I8
    """ns per call."""
    partner: I4
    """Call that is waited for, -1 if none; in a collective the one that entered last: of a part none, as another process may have it."""

    @classmethod
    def of_none(cls) -> Waits:
        """Return the waits of no calls."""
        return cls(np.zeros(0, "i8"), np.zeros(0, "i4"))


def waiting(weighted: Weighted, time: I8) -> Waits:
    """Return how long each call waits for its partners when vertices have these times, and for which call; in a collective, for that
    which entered last.
    """
    graph = weighted.graph
    known, hub = entering.told(graph), hubs(graph)
    owner = calls_at(graph, graph.entered) if known is None else known.copy()
    if graph.border is None and len(hub):
        kernel.inherit_owner(graph.start, graph.source, hub, time, owner)
    return _measured(weighted, time, owner)


def waiting_time(weighted: Weighted, time: I8) -> I8:
    """Return the same without for which: ns per call."""
    return _measured(weighted, time, weighted.graph.returning).time


def _measured(weighted: Weighted, time: I8, owner: I4) -> Waits:
    """Return how long each call waits, and for the owner of which vertex. Vertices are read in the order of memory."""
    graph = weighted.graph
    wait, partner = np.empty(len(graph.returned), "i8"), np.empty(len(graph.returned), "i4")
    columns = graph.start, graph.source, graph.kind, weighted.weight, time, graph.returning, owner

    def measure(part: slice) -> None:
        kernel.measure_waits(*columns, part.start, part.stop, wait, partner)

    in_parts(measure, graph.vertices, graph.edges)
    return Waits(wait, partner)


def recorded_waits(waits: Waits, call: I8) -> Waits:
    """Return waits of calls in another order with the rows of the recorded ones: `call` is the row there of each of these.

    time       5 0 7    partner    1 -1 0      call    2 0 1
    recorded   7 5 0               1  2 -1
    """
    back = np.append(np.argsort(call), -1).astype("i4")
    return Waits(waits.time[call], back[waits.partner[call]])
