"""The default engine: the earliest time of every vertex in one compiled pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from perwiz.graph.border import Border, Bundle
from perwiz.graph.graph import BORDER, Graph
from perwiz.graph.slots import Slots, slots
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I4, I8
from perwiz.trace.spread.share import ALONE, Share
from perwiz.trace.spread.team import Team

_ROOM = 1 << 25
"""Bytes of weights and times that are held to be swept together."""


def sweep(graph: Graph, weight: I8) -> I8:
    """Return the earliest time of every vertex, int64 ns by position, from int64 ns weights per edge. The origin is at 0.

    Edges of weight CUT bind nobody. Nothing happens before the origin.
    """
    return sweep_all(graph, [weight])[0]


def sweep_all(graph: Graph, weights: Sequence[I8]) -> list[I8]:
    """Return what `sweep` returns of each of several weights of a graph, of which processes tell each other together."""
    times = [np.zeros(graph.vertices, "i8") for _ in weights]

    def through(first: int, end: int) -> None:
        for weight, time in zip(weights, times, strict=True):
            kernel.sweep(graph.start, graph.source, weight, first, end, time)

    graph.rounds.forward(through, *times)
    return times


def ends(graph: Graph, weight: I8, room: Slots) -> tuple[I8, I8]:
    """Return the first and the last instants of locations, ns, in no order, as `sweep` has them; times are kept while they are needed."""
    begun, ended = np.sort(graph.begun), np.sort(graph.ended)
    first, last = np.empty(len(begun), "i8"), np.empty(len(ended), "i8")
    kernel.sweep_ends(graph.start, graph.source, weight, room.row, begun, ended, np.empty(room.rows, "i8"), first, last)
    return first, last


def makespan(graph: Graph, time: I8, share: Share = ALONE) -> int:
    """Return the time from the first instant of any location to the last of any, ns, when vertices have these times."""
    if not len(graph.ended):
        return 0
    begun, ended = time[graph.begun[share.locations]], time[graph.ended[share.locations]]
    return share.most(int(ended.max(initial=0))) - share.least(int(begun.min(initial=np.iinfo("i8").max)))


def swept_makespan(weighted: Weighted) -> int:
    """Return the makespan that a weighted graph gives, ns."""
    graph, room = weighted.graph, slots.told(weighted.graph)
    if graph.border is None and room is not None and len(graph.ended):
        first, last = ends(graph, weighted.weight, room)
        return int(last.max() - first.min())
    return makespan(weighted.graph, sweep(weighted.graph, weighted.weight), weighted.trace.share)


def swept_makespans(share: Share, made: Iterable[Callable[[], Weighted | None]]) -> Iterator[int | None]:
    """Yield the makespan, ns, of each weighted graph that is made, in order; None where none is.

    Several processes sweep those of one graph at once, as many as there is room for, and tell each other together what crosses.
    """
    if share.team is None:
        yield from (_swept([make()])[0] for make in made)
        return
    waiting = list[Weighted | None]()
    for make in made:
        weighted = make()
        graph, known = weighted and weighted.graph, next((one.graph for one in waiting if one is not None), None)
        if share.any(graph is not None and known is not None and graph is not known):
            yield from _swept(waiting)
            waiting = []
        waiting.append(weighted)
        if (len(waiting) + 1) * share.most(8 * (graph.edges + graph.vertices) if graph else 0) > _ROOM:
            yield from _swept(waiting)
            waiting = []
    yield from _swept(waiting)


def _swept(several: Sequence[Weighted | None]) -> list[int | None]:
    """Return the makespans, ns, of several weights of one graph; None where there are none."""
    known = [weighted for weighted in several if weighted is not None]
    if len(known) <= 1:
        return [None if weighted is None else swept_makespan(weighted) for weighted in several]
    times = iter(sweep_all(known[0].graph, [weighted.weight for weighted in known]))
    return [None if one is None else makespan(one.graph, next(times), one.trace.share) for one in several]


def to_end(graph: Graph, weight: I8) -> I8:
    """Return the longest path from every vertex to the last instant of a location, int64 ns by position; CUT where there is none.

    So `sweep(...)[v] + to_end(...)[v]` is the latest end of a path through v. In the graph of a part that holds of its own vertices.
    """
    left, rounds = np.full(graph.vertices, CUT, "i8"), graph.rounds
    left[graph.ended[rounds.locations]] = 0

    def take(bundle: Bundle) -> None:
        here = left[bundle.vertices]
        left[bundle.vertices] = np.maximum(here, rounds.received(bundle, np.empty_like(here)))

    def through(first: int, end: int) -> None:
        kernel.sweep_back(graph.start, graph.source, weight, CUT, first, end, left)

    rounds.back(through, lambda bundle: rounds.give(bundle, left[bundle.vertices]), take)
    return left


def critical_path(graph: Graph, weight: I8, time: I8, last: int | None = None) -> I4:
    """Return the edges of one critical path in the order of time, given what `sweep` returns.

    It leads to the vertex `last`, by default the last instant of the location that ends last (of several the first), and prefers a
    location's own edges. Of the graph of a part of a run they are those into its own vertices of the path through all.
    """
    path = np.empty(graph.vertices, "i4")
    if graph.border and graph.border.team:
        return _through_all(graph, weight, time, path, graph.border, graph.border.team)
    if not len(graph.ended):
        return path[:0]
    last = int(graph.ended[time[graph.ended].argmax()]) if last is None else last
    count = kernel.find_critical_path(graph.start, graph.source, weight, time, last, path)
    return path[:count][::-1].copy()


def _through_all(graph: Graph, weight: I8, time: I8, path: I4, border: Border, team: Team) -> I4:
    """Return the edges of a critical path into vertices of this process: one after the other goes back until it leads to another."""
    came, given = ([_crossing(border, peer, side) for peer in range(team.size)] for side in ("into", "out"))
    ended = graph.ended[border.locations]
    latest = int(team.reduce(np.array([time[ended].max(initial=CUT)]), "max")[0])
    is_last = np.flatnonzero(time[ended] == latest)
    holder = int(team.reduce(np.array([team.rank if len(is_last) else team.size]), "min")[0])
    vertex, out = int(ended[is_last[0]]) if holder == team.rank else 0, [path[:0]]
    while holder >= 0:
        move = np.full(3, -1)
        if holder == team.rank:
            edges = path[: kernel.find_critical_path(graph.start, graph.source, weight, time, vertex, path)].copy()
            edges = edges[graph.kind[edges] != BORDER]
            out.append(edges)
            vertex = int(graph.source[edges[-1]]) if len(edges) else vertex
            if 0 < vertex < border.own:
                peer = next(peer for peer, copies in enumerate(came) if vertex in copies)
                move[:] = peer, team.rank, int(np.flatnonzero(came[peer] == vertex)[0])
        holder, giver, place = team.reduce(move, "max").tolist()
        if holder == team.rank:
            vertex = int(given[giver][place])
    return np.concatenate(out)[::-1].copy()


def _crossing(border: Border, peer: int, side: Literal["into", "out"]) -> I4:
    """Return the copies of vertices of another process here, or what that has copies of, both in one order."""
    bundles = [bundle.vertices for step in border.steps for bundle in getattr(step, side) if bundle.peer == peer]
    return np.concatenate([np.zeros(0, "i4"), *bundles])
