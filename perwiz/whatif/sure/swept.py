"""Several runs drawn anew, swept at once: a process alone keeps few of their times, several tell each other those that cross."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz.graph.graph import BORDER, COLLECTIVE, Graph
from perwiz.graph.slots import rounds, slots
from perwiz.kernels import drawn as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import F4, F8, I4
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE

LANES = 16
"""Runs swept at once, or a multiple."""


@remembered(4)
def passed(graph: Graph, share: Share) -> int:
    """Return how many edges the graph of a whole run has, those from its origin to its hubs left out: its parts together have as many."""
    edge = np.flatnonzero(graph.kind == COLLECTIVE)
    between = (graph.cause[edge] == NONE) | (graph.source[edge] == 0)
    left_out = np.count_nonzero(between) + np.count_nonzero(graph.kind == BORDER)
    return max(share.total(graph.edges - int(left_out)), 1)


class Sweeps:
    """A weighted graph, or its part, of which some vertices take longer in each run, see `kernel.sweep`."""

    def __init__(self, weighted: Weighted, row: I4, more: F4, share: F4) -> None:
        self.graph, self.slots = weighted.graph, slots(weighted.graph)
        self.columns = weighted.weight, row, more, share


def through(several: Sequence[Sweeps], deviation: F8, time: F8, earliest: F8, latest: F8) -> None:
    """Make `earliest` and `latest` the first and the last instant of any location here, a row for each of several weights of one graph,
    in as many runs of these deviations, sixteen or a multiple. `time` has rows for all of them, and a column for each run, or more.
    """
    graph, row, rows = several[0].graph, several[0].slots.row, several[0].slots.rows
    known, times = rounds(graph), [time[number * rows : (number + 1) * rows] for number in range(len(several))]
    for each in times:
        each[0] = 0

    def go_on(first: int, end: int) -> None:
        begun, ended = known.instants[first]
        for number, one in enumerate(several):
            columns = graph.start, graph.source, *one.columns, deviation, row
            kernel.sweep(*columns, first, end, begun, ended, times[number], earliest[number], latest[number])

    known.border.forward(go_on, *times)
