"""Several runs drawn anew, swept at once: a process alone keeps few of their times, several tell each other those that cross."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from perwiz.graph.border import Border, Bundle
from perwiz.graph.graph import BORDER, COLLECTIVE, Graph
from perwiz.graph.slots import slots
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


@dataclasses.dataclass(frozen=True, eq=False)
class _Rounds:
    """The rounds of a graph as sweeps that keep few times go through them."""

    border: Border
    """What crosses, by the rows where its times stand."""
    instants: Mapping[int, tuple[I4, I4]]
    """By the first vertex of a round: the first and the last instants of locations here that lie in it."""


@remembered(4)
def _rounds(graph: Graph) -> _Rounds:
    """Return the rounds of a graph, found once for all its sweeps: what is found of one round takes longer than to sweep through it."""
    slot, border = slots(graph).row, graph.rounds

    def standing(bundles: list[Bundle]) -> list[Bundle]:
        return [bundle._replace(vertices=slot[bundle.vertices]) for bundle in bundles]

    def within(instants: I4) -> list[I4]:
        return [instants[slice(*some)] for some in np.searchsorted(instants, bounds).tolist()]

    steps = [step._replace(into=standing(step.into), out=standing(step.out)) for step in border.steps]
    bounds = np.array([(step.first, step.end) for step in steps]).reshape(-1, 2)
    both = (within(np.sort(instants[border.locations])) for instants in (graph.begun, graph.ended))
    instants = dict(zip(bounds[:, 0].tolist(), zip(*both, strict=True), strict=True))
    return _Rounds(dataclasses.replace(border, steps=tuple(steps)), instants)


class Sweeps:
    """Sweeps over a weighted graph, or its part, of which some vertices take longer in each run, see `kernel.sweep`."""

    def __init__(self, weighted: Weighted, row: I4, more: F4, share: F4) -> None:
        self._weighted, self._pieces, self._slots = weighted, (row, more, share), slots(weighted.graph)

    @property
    def rows(self) -> int:
        """Rows of times that a sweep needs room for."""
        return self._slots.rows

    def through(self, deviation: F8, time: F8, earliest: F8, latest: F8) -> None:
        """Make `earliest` and `latest` the first and the last instant of any location here, in as many runs of these deviations, sixteen or
        a multiple; `time` has a column for each of them, or more.
        """
        graph, slot = self._weighted.graph, self._slots.row
        rounds, columns = _rounds(graph), (graph.start, graph.source, self._weighted.weight, *self._pieces)
        border = rounds.border
        time[0] = 0

        def through(first: int, end: int) -> None:
            begun, ended = rounds.instants[first]
            kernel.sweep(*columns, deviation, slot, first, end, begun, ended, time, earliest, latest)

        border.forward(through, time)
