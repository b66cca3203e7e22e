"""Room for the times of several sweeps at once: only those are kept that later vertices still need."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.kernels import order as counting
from perwiz.kernels import sets as kernel
from perwiz.trace.arrays import I4
from perwiz.trace.resources import remembered


@dataclasses.dataclass(frozen=True, eq=False)
class Slots:
    """Where the times of each vertex stand while a sweep goes on."""

    row: I4
    """Per vertex; a row serves again when nobody needs it: not that of the last instant of a location, or of what crosses a border."""
    rows: int
    """How many there are."""


@remembered(4)
def slots(graph: Graph) -> Slots:
    """Return where the times of the vertices of a graph stand, found once."""
    uses = np.zeros(graph.vertices, "i4")
    counting.count(graph.source, uses)
    uses[graph.ended] += 1
    uses[: graph.rounds.own] += 1
    for step in graph.rounds.steps:
        for bundle in step.out:
            uses[bundle.vertices] += 1
    row = np.empty(graph.vertices, "i4")
    return Slots(row, kernel.assign_slots(graph.start, graph.source, uses, np.empty(graph.vertices, "i4"), row))


def last_uses(graph: Graph) -> I4:
    """Return, per vertex, the last one that an edge leads to, the vertex itself if there is none."""
    last = np.empty(graph.vertices, "i4")
    kernel.last_uses(graph.start, graph.source, last)
    return last
