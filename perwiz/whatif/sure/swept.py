"""Several runs drawn anew, swept at once: a process alone keeps few of their times, several tell each other those that cross."""

from __future__ import annotations

import numpy as np

from perwiz.graph.border import Bundle
from perwiz.graph.graph import BORDER, COLLECTIVE, Graph
from perwiz.graph.slots import slots
from perwiz.kernels import drawn as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import F4, F8, I4
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE

TOGETHER = 16
"""Runs swept at once."""


@remembered(4)
def passed(graph: Graph, share: Share) -> int:
    """Return how many edges the graph of a whole run has, those from its origin to its hubs left out: its parts together have as many."""
    edge = np.flatnonzero(graph.kind == COLLECTIVE)
    between = (graph.cause[edge] == NONE) | (graph.source[edge] == 0)
    left_out = np.count_nonzero(between) + np.count_nonzero(graph.kind == BORDER)
    return max(share.total(graph.edges - int(left_out)), 1)


class Sweeps:
    """Sweeps over a weighted graph, or its part, of which some vertices take longer in each run, see `kernel.sweep`."""

    def __init__(self, weighted: Weighted, row: I4, more: F4, share: F4) -> None:
        graph, own = weighted.graph, weighted.trace.share.locations
        self._weighted, self._pieces, self._slots = weighted, (row, more, share), slots(graph)
        self._first, self._last = np.sort(graph.begun[own]), np.sort(graph.ended[own])

    @property
    def rows(self) -> int:
        """Rows of times that a sweep needs room for."""
        return self._slots.rows

    def through(self, deviation: F8, time: F8, earliest: F8, latest: F8) -> None:
        """Make `earliest` and `latest` the first and the last instant of any location here, of TOGETHER runs of these deviations."""
        weighted, slot = self._weighted, self._slots.row
        graph = weighted.graph
        rounds = graph.rounds
        time[slot[: rounds.own]] = 0

        def through(first: int, end: int) -> None:
            begun, ended = (ends[slice(*np.searchsorted(ends, (first, end)))] for ends in (self._first, self._last))
            columns = graph.start, graph.source, weighted.weight, *self._pieces
            kernel.sweep(*columns, deviation, slot, first, end, begun, ended, time, earliest, latest)

        def give(bundle: Bundle) -> None:
            rounds.give(bundle, time[slot[bundle.vertices]])

        def take(bundle: Bundle) -> None:
            time[slot[bundle.vertices]] = rounds.received(bundle, np.empty((len(bundle.vertices), TOGETHER)))

        rounds.rounds(through, give, take)
