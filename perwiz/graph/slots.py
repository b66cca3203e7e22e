"""Room for the times of several sweeps at once: only those are kept that later vertices still need."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from perwiz.graph.border import Border, Bundle
from perwiz.graph.graph import Graph
from perwiz.kernels import order as counting
from perwiz.kernels import sets as kernel
from perwiz.trace.arrays import I4
from perwiz.trace.resources import remembered


@dataclasses.dataclass(frozen=True, eq=False)
class Slots:
    """Where the times of each vertex stand while a sweep goes on."""

    row: I4
    """Per vertex; a row serves again when nobody needs it: not that of the last instant of a location. Row 0 is that of the origin, and of
    what nobody tells of vertices of others.
    """
    rows: int
    """How many there are."""


@remembered(4)
def slots(graph: Graph) -> Slots:
    """Return where the times of the vertices of a graph stand, found once."""
    border, uses = graph.rounds, np.zeros(graph.vertices, "i4")
    counting.count(graph.source, uses)
    uses[graph.ended] += 1
    out, out_ends = _crossing([step.out for step in border.steps])
    counting.count(out, uses)
    row, ends = np.empty(graph.vertices, "i4"), np.array([step.end for step in border.steps], "i4")
    crossing = *_crossing([step.into for step in border.steps]), out, out_ends
    columns = graph.start, graph.source, border.own, ends, *crossing, uses, np.empty(graph.vertices, "i4"), row
    return Slots(row, kernel.assign_slots(*columns))


def _crossing(steps: Sequence[Sequence[Bundle]]) -> tuple[I4, I4]:
    """Return the vertices that cross in each step, one step behind the other, and where they end."""
    bundles = [[bundle.vertices for bundle in step] for step in steps]
    ends = np.cumsum([sum(map(len, step)) for step in bundles], dtype="i4")
    return np.concatenate([np.zeros(0, "i4"), *chain.from_iterable(bundles)]), ends


@dataclasses.dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds of a graph as sweeps that keep few times go through them."""

    border: Border
    """What crosses, by the rows where its times stand."""
    instants: Mapping[int, tuple[I4, I4]]
    """By the first vertex of a round: the first and the last instants of locations here that lie in it."""


@remembered(4)
def rounds(graph: Graph) -> Rounds:
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
    return Rounds(dataclasses.replace(border, steps=tuple(steps)), instants)


def last_uses(graph: Graph) -> I4:
    """Return, per vertex, the last one that an edge leads to, the vertex itself if there is none."""
    last = np.empty(graph.vertices, "i4")
    kernel.last_uses(graph.start, graph.source, last)
    return last
