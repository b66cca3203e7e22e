"""The graph of the same program with some collectives as their rounds in place of a hub."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.errors import GraphError
from perwiz.graph.graph import COLLECTIVE, LOCAL, Graph, hubs
from perwiz.graph.layout import Edges, Layout, finish, sort_topologically
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace


class Rounds(NamedTuple):
    """Vertices of rounds, from 0 on, and the edges that lead into them and out of them; causes are rows of collectives."""

    vertices: int
    entered: I4
    """Edges from the entry of these calls"""
    first: I8
    """into these vertices."""
    source: I8
    """Edges between these vertices"""
    target: I8
    """and these."""
    last: I8
    """Edges from these vertices"""
    returned: I4
    """into the return of these calls."""
    cause: I8
    """Of all edges, in this order."""


def with_rounds(trace: Trace, graph: Graph, gone: Mask, rounds: Rounds) -> tuple[Graph, I8]:
    """Return the graph in which rounds take the place of the hubs of collectives (bool per row), and which edge each edge was.

    That is its number in `graph`, from `graph.edges` on one of `rounds`, or -1 along a chain. Raises GraphError if the program would wait
    for itself.
    """
    layout = Layout(trace)
    of_hub, target = np.zeros(graph.vertices, bool), graph.target
    of_hub[hubs(graph)] = True
    leaves = (graph.kind == COLLECTIVE) & gone[np.where(graph.kind == COLLECTIVE, graph.cause, 0)]
    dropped = np.zeros(graph.vertices, bool)
    dropped[target[leaves]] = True
    kept = np.flatnonzero(of_hub & ~dropped)
    program = np.zeros(graph.vertices, "i8")
    for vertex, number in (
        (graph.entered, layout.entered),
        (graph.returned, layout.entered + 1),
        (graph.begun, layout.begun),
        (graph.ended, layout.ended),
        (kept, layout.chain + np.arange(len(kept))),
    ):
        program[vertex] = number
    layout.hubs = len(kept) + rounds.vertices
    begun = np.zeros(graph.vertices, bool)
    begun[graph.begun] = True
    old = np.flatnonzero(~leaves & ((graph.kind != LOCAL) | begun[target]))
    base = layout.chain + len(kept)
    edges = Edges()
    edges.add(program[graph.source[old]], program[target[old]], LOCAL, NONE)
    edges.add(layout.entered[rounds.entered], (base + rounds.first).astype("i4"), LOCAL, NONE)
    edges.add((base + rounds.source).astype("i4"), (base + rounds.target).astype("i4"), LOCAL, NONE)
    edges.add((base + rounds.last).astype("i4"), layout.entered[rounds.returned] + 1, LOCAL, NONE)
    source, into, _, _ = edges.whole()
    number = np.concatenate([old, graph.edges + np.arange(len(rounds.cause))])
    kind = np.concatenate([graph.kind[old], np.full(len(rounds.cause), COLLECTIVE, "u1")])
    vertex, placed = sort_topologically(layout, source, into)
    if placed < layout.size:
        raise GraphError(f"{trace.path}: the program would wait for itself, must not need a collective to let go who is in its middle")
    row = np.arange(len(source), dtype="i4")
    made = dataclasses.replace(
        finish(layout, vertex, [source, into, kind, row], graph.contradictions, graph.deadlocks), let_go=graph.let_go, inner=graph.inner
    )
    listed = made.cause.copy()
    known = listed >= 0
    made.cause[known] = np.concatenate([graph.cause[old], rounds.cause])[listed[known]]
    return made, np.where(known, number[np.maximum(listed, 0)], NONE)
