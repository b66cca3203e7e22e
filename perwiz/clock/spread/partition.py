"""The happened-before graph cut into parts, one per process, for a replay in rounds (Becker et al. 2009, section 5).

A part has the vertices of some locations, sorted by the round in which they can be reached, and copies of what it needs of others: of a
sending call its time stamp, of a collective the summary of its hub. A hub has a home; the entries at another process are summed up there
first. What crosses does so between two rounds: forward from the original to the copy, backward from the copy to the original.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.clock_graph import ClockGraph
from perwiz.kernels import clock_rounds, order
from perwiz.kernels.names import HUB, UNBOUND
from perwiz.trace.arrays import I4, I8, U1, Ints
from perwiz.trace.table import column, dtypes
from perwiz.trace.trace import Timeline, Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """What one process holds. Vertex 0 is nobody's; copies come next, then the vertices of each round."""

    start: I4 = column("first edge into each vertex, and the end")
    source: I4 = column("vertex each edge comes from; 0 for edges that do not bind")
    binding: U1 = column("how each edge binds")
    owner: I4 = column("row of all locations; -1 - row of tops for hubs, -1 for copies of sending calls")
    round: I8 = column("first vertex of each round, and the end of the last")
    recorded: I8 = column("time per vertex", "ns")
    nodes: I4 = column("of all locations")
    metahosts: I4 = column("of all locations")
    first: I8 = column("first call of each of its locations, and the end")
    entered: I4 = column("vertex per call")
    returned: I4 = column("vertex per call")
    begun: I8 = column("first instant of each of its locations", "ns")
    run: I8 = column("how long they run", "ns")
    here: I8 = column("its locations, as rows of all")
    stamps_out: I4 = column("vertices of sending calls that others have copies of, bundle by bundle")
    hubs_out: I4 = column("rows of tops that others have copies of, likewise")
    bundles_out: I8 = column("six numbers each: after which round, which process, range of stamps, range of hubs")
    stamps_in: I4 = column("copies of sending calls of others, likewise")
    hubs_in: I4 = column("rows of tops that are copies")
    bundles_in: I8 = column("as those that go out: after which round, from which process, ranges")


TYPES: list[np.dtype[np.generic]] = list(dtypes(Part).values())


@dataclasses.dataclass(frozen=True, eq=False)
class _Crossing:
    """Original and copy of what crosses, one row each: vertices, processes, and the round after which."""

    original: Ints
    copy: Ints
    giver: Ints
    taker: Ints
    round: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A graph with a copy of every vertex that another process needs, its vertices sorted by part and round."""

    place: Ints
    """Row of each vertex of the original graph among the sorted ones."""
    bound: Ints
    """Where each round of each part begins, its copies before the first: `rounds + 1` numbers per part, and the end."""
    rounds: int
    start: Ints
    source: Ints
    binding: Ints
    owner: Ints
    stamps: _Crossing
    hubs: _Crossing
    share: Ints
    """Part per location."""
    size: int

    def span(self, rank: int) -> tuple[int, int]:
        """Return the first of the sorted vertices of a part and the end."""
        width = self.rounds + 1
        return int(self.bound[rank * width]), int(self.bound[(rank + 1) * width])


def shares(trace: Trace, size: int) -> Ints:
    """Return which process gets each location: neighbours together, each about as many vertices."""
    weight = 2 * np.diff(trace.first_calls) + 2
    middle = np.cumsum(weight) - weight / 2
    return np.minimum(middle * size // max(int(weight.sum()), 1), size - 1).astype("i4")


def cut(trace: Trace, clock_graph: ClockGraph, size: int) -> Cut:
    """Return the graph cut for so many processes."""
    graph, share = clock_graph.graph, shares(trace, size)
    target = np.repeat(np.arange(graph.vertices, dtype="i4"), np.diff(graph.start))
    part = _parts(clock_graph, share, target)
    reached = np.zeros(graph.vertices, "i4")
    clock_rounds.rounds(graph.start, graph.source, clock_graph.binding, part, reached)
    edges = _Edges(clock_graph, target, part, reached, size)
    stamps, partial, whole = edges.stamps(), edges.partial(), edges.whole()
    rounds = int(reached.max()) + 1
    key = edges.keys(rounds, (stamps, partial, whole))
    bound, out = _grouped(key, size * (rounds + 1) + 1)
    place = np.empty(len(out), "i4")
    place[out] = np.arange(len(out), dtype="i4")
    start, row = _grouped(place[edges.target()], len(out))
    binding = edges.binding()[row]
    source = place[edges.source()[row]]
    source[binding == UNBOUND] = -1
    owner = edges.owner()[out]
    hubs = _Crossing(*(np.concatenate([getattr(c, f.name) for c in (partial, whole)]) for f in dataclasses.fields(_Crossing)))
    stamps, hubs = (dataclasses.replace(c, original=place[c.original], copy=place[c.copy]) for c in (stamps, hubs))
    return Cut(place[: graph.vertices], bound, rounds, start, source, binding, owner, stamps, hubs, share, size)


def _grouped(key: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return where each group of rows begins when they are sorted by key, the end of the last, and the rows in that order."""
    counts, first, out = np.zeros(groups, "i4"), np.zeros(groups + 1, "i4"), np.empty(len(key), "i4")
    order.count(key, counts)
    np.cumsum(counts, out=first[1:])
    order.group(key, first[:-1].copy(), out)
    return first, out


def _parts(clock_graph: ClockGraph, share: Ints, target: Ints) -> Ints:
    """Return the process of each vertex, -1 for the origin. A hub is at home where its only receiver is, else where its first sender is."""
    owner, source = clock_graph.owner, clock_graph.graph.source
    part = np.where(owner >= 0, share[np.maximum(owner, 0)], 0).astype("i4") if len(share) else np.zeros(len(owner), "i4")
    part[0] = -1
    bound = clock_graph.binding == HUB
    into = np.flatnonzero(bound & (owner[source] >= 0))[::-1]
    part[target[into]] = part[source[into]]
    out = np.flatnonzero(bound & (owner[source] < 0))
    alone = np.bincount(source[out], minlength=len(owner))[source[out]] == 1
    out = out[alone & (owner[target[out]] >= 0)]
    part[source[out]] = part[target[out]]
    return part


class _Edges:
    """The edges of a graph while they are led over copies where they cross; new vertices get numbers behind the old ones."""

    def __init__(self, clock_graph: ClockGraph, target: Ints, part: Ints, reached: Ints, size: int) -> None:
        source, owner, binding = clock_graph.graph.source, clock_graph.owner, clock_graph.binding
        self.clock_graph, self.part, self.reached, self.size = clock_graph, part, reached, size
        self._sources, self._targets, self._bindings, self._owners = [source.copy()], [target], [binding], [owner]
        self._vertices = len(owner)
        self._over = np.flatnonzero((binding != UNBOUND) & (part[source] != part[target]))

    def _new(self, count: int, owner: int) -> Ints:
        out = np.arange(self._vertices, self._vertices + count, dtype="i4")
        self._vertices += count
        self._owners.append(np.full(count, owner, "i4"))
        return out

    def _lead(self, source: Ints, target: Ints) -> None:
        """Add edges that bind as those of hubs do."""
        self._sources.append(source)
        self._targets.append(target)
        self._bindings.append(np.full(len(source), HUB, "u1"))

    def _pairs(self, vertex: Ints, process: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the distinct pairs of a vertex and a process, and which of them each row is."""
        key, back = np.unique(vertex.astype("i8") * self.size + process, return_inverse=True)
        return (key // self.size).astype("i4"), (key % self.size).astype("i4"), back

    def stamps(self) -> _Crossing:
        """Return the sending calls that other processes need, their edges led over copies."""
        edge = self._over[self._bindings[0][self._over] != HUB]
        original, taker, back = self._pairs(self._sources[0][edge], self.part[self._targets[0][edge]])
        copy = self._new(len(original), -1)
        self._sources[0][edge] = copy[back]
        return _Crossing(original, copy, self.part[original], taker, self.reached[original])

    def partial(self) -> _Crossing:
        """Return the hubs whose entries are summed up at another process first: that sum, and its copy at the hub's home."""
        owner, bindings = self._owners[0], self._bindings[0]
        edge = self._over[(bindings[self._over] == HUB) & (owner[self.clock_graph.graph.source[self._over]] >= 0)]
        source = self._sources[0][edge]
        hub, giver, back = self._pairs(self._targets[0][edge], self.part[source])
        original, copy = self._new(len(hub), -2), self._new(len(hub), -2)
        reached = np.zeros(len(hub), "i4")
        np.maximum.at(reached, back, self.reached[source])
        self._targets[0][edge] = original[back]
        self._lead(copy, hub)
        return _Crossing(original, copy, giver, self.part[hub], reached)

    def whole(self) -> _Crossing:
        """Return the hubs that other processes need: what goes out, and its copy there."""
        owner, bindings = self._owners[0], self._bindings[0]
        edge = self._over[(bindings[self._over] == HUB) & (owner[self.clock_graph.graph.source[self._over]] < 0)]
        hub, taker, back = self._pairs(self._sources[0][edge], self.part[self._targets[0][edge]])
        original, copy = self._new(len(hub), -2), self._new(len(hub), -2)
        self._sources[0][edge] = copy[back]
        self._lead(hub, original)
        return _Crossing(original, copy, self.part[hub], taker, self.reached[hub])

    def keys(self, rounds: int, crossings: tuple[_Crossing, ...]) -> Ints:
        """Return by what vertices are sorted: process and round, copies first; the origin comes last."""
        out = np.empty(self._vertices, "i4")
        out[: len(self.part)] = self.part * (rounds + 1) + self.reached + 1
        out[0] = self.size * (rounds + 1)
        for crossing in crossings:
            if crossing is not crossings[0]:
                out[crossing.original] = crossing.giver * (rounds + 1) + crossing.round + 1
            out[crossing.copy] = crossing.taker * (rounds + 1)
        return out

    def source(self) -> Ints:
        """Return where each edge comes from."""
        return np.concatenate(self._sources)

    def target(self) -> Ints:
        """Return where each edge leads."""
        return np.concatenate(self._targets)

    def binding(self) -> Ints:
        """Return how each edge binds."""
        return np.concatenate(self._bindings)

    def owner(self) -> Ints:
        """Return the location of each vertex; -1 for copies of sending calls, less for hubs."""
        return np.concatenate(self._owners)


def parts(found: Cut, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, recorded: Ints) -> Iterator[Part]:
    """Yield the part of each process."""
    times = np.zeros(len(found.owner), "i8")
    times[found.place] = recorded
    for rank in range(found.size):
        yield _part(found, rank, trace, timeline, clock_graph, times)


def _part(found: Cut, rank: int, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, times: Ints) -> Part:
    a, b = found.span(rank)
    first, last = int(found.start[a]), int(found.start[b])
    width, graph = found.rounds + 1, clock_graph.graph
    owner = np.concatenate((np.full(1, -1, "i4"), found.owner[a:b]))
    hub = np.flatnonzero(owner < -1)
    owner[hub] = -2 - np.arange(len(hub))
    here = np.flatnonzero(found.share == rank)
    calls = trace.first_calls
    mine = calls[here[0] : here[-1] + 2] if len(here) else np.zeros(1, "i8")
    rows = slice(int(mine[0]), int(mine[-1]))
    begun, ended = timeline.locations.enter[here], timeline.locations.leave[here]
    local = [(found.place[vertex[rows]] - (a - 1)).astype("i4") for vertex in (graph.entered, graph.returned)]
    out = _bundled(found, owner, a - 1, found.stamps.giver == rank, found.hubs.giver == rank, "original", "taker")
    into = _bundled(found, owner, a - 1, found.stamps.taker == rank, found.hubs.taker == rank, "copy", "giver")
    columns = [
        np.concatenate((np.zeros(1, "i4"), found.start[a : b + 1] - first)),
        np.maximum(found.source[first:last] - (a - 1), 0),
        *(found.binding[first:last], owner, found.bound[rank * width + 1 : (rank + 1) * width + 1] - (a - 1)),
        np.concatenate((np.zeros(1, "i8"), times[a:b])),
        *(clock_graph.nodes, clock_graph.metahosts, mine - mine[0], *local, begun, ended - begun, here, *out, *into),
    ]
    return Part(*(np.ascontiguousarray(values, kind) for values, kind in zip(columns, TYPES, strict=True)))


def _bundled(
    found: Cut, owner: Ints, less: int, stamp: NDArray[np.bool_], hub: NDArray[np.bool_], side: str, peer: str
) -> tuple[Ints, Ints, Ints]:
    """Return (vertices of stamps, rows of hubs, bundles) of one process, which has this side of what crosses."""
    keys, vertices = [], []
    for crossing, mask in ((found.stamps, stamp), (found.hubs, hub)):
        rows = np.flatnonzero(mask)
        key = crossing.round[rows].astype("i8") * found.size + getattr(crossing, peer)[rows]
        sort = np.argsort(key, kind="stable")
        keys.append(key[sort])
        vertices.append(getattr(crossing, side)[rows[sort]] - less)
    every = np.union1d(*keys)
    ranges = [np.searchsorted(key, every, end) for key in keys for end in ("left", "right")]
    bundles = np.stack([every // found.size, every % found.size, *ranges], 1)
    return vertices[0].astype("i4"), (-1 - owner[vertices[1]]).astype("i4"), bundles.astype("i8").ravel()
