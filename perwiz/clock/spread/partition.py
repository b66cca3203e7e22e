"""The happened-before graph cut into parts, one per process, for a replay in rounds (Becker et al. 2009, section 5).

A part has the vertices of some locations, sorted by the round in which they can be reached, and copies of what it needs of others: of a
sending call its time stamp, of a collective the summary of its hub. A hub has a home; the entries at another process are summed up there
first. What crosses does so between two rounds: forward from the original to the copy, backward from the copy to the original.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from perwiz.clock.clock_graph import ClockGraph
from perwiz.kernels import order
from perwiz.kernels.names import HUB, UNBOUND
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.table import column, dtypes
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Timeline, Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """What one process holds. Vertex 0 is nobody's; copies come next, then the vertices of each round."""

    start: I4 = column("first edge into each vertex, and the end")
    source: I4 = column("vertex each edge comes from; 0 for edges that do not bind")
    binding: U1 = column("how each edge binds")
    cause: I4 = column("row of `inside` of each edge that binds as a message")
    inside: I8 = column("how long records are inside the calls of each message", "ns")
    owner: I4 = column("row of all locations; -1 - row of the summaries for hubs, -1 for copies of sending calls")
    round: I8 = column("first vertex of each round, and the end of the last")
    recorded: I8 = column("time per vertex", "ns")
    processes: I4 = column("of all locations")
    nodes: I4 = column("of all locations")
    metahosts: I4 = column("of all locations")
    first: I8 = column("first call of each of its locations, and the end")
    entered: I4 = column("vertex per call")
    returned: I4 = column("vertex per call")
    begun: I8 = column("first instant of each of its locations", "ns")
    run: I8 = column("how long they run", "ns")
    locations: I8 = column("its locations, as rows of all")
    stamps_out: I4 = column("vertices of sending calls that others have copies of, bundle by bundle")
    hubs_out: I4 = column("rows of the summaries that others have copies of, likewise")
    bundles_out: I8 = column("six numbers each: after which round, which process, range of stamps, range of hubs")
    stamps_in: I4 = column("copies of sending calls of others, likewise")
    hubs_in: I4 = column("rows of the summaries that are copies")
    bundles_in: I8 = column("as those that go out: after which round, from which process, ranges")


TYPES = dtypes(Part)
"""Dtype of each column."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Crossing:
    """Original and copy of what crosses, one row each: vertices, processes, and the round after which."""

    original: I4
    copy: I4
    giver: I4
    taker: I4
    round: I4

    def placed(self, place: I4) -> _Crossing:
        """Return the same with vertices by their places."""
        return dataclasses.replace(self, original=place[self.original], copy=place[self.copy])


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A graph with a copy of every vertex that another process needs, its vertices sorted by part and round."""

    place: I4
    """Row of each vertex of the original graph among the sorted ones."""
    bound: I4
    """Where each round of each part begins, its copies before the first: `rounds + 1` numbers per part, and the end."""
    rounds: int
    start: I4
    source: I4
    binding: U1
    cause: I4
    """Row of messages of each edge that binds as one."""
    owner: I4
    stamps: _Crossing
    hubs: _Crossing
    share: I4
    """Part per location."""
    size: int

    def span(self, rank: int) -> tuple[int, int]:
        """Return the first of the sorted vertices of a part and the end."""
        width = self.rounds + 1
        return int(self.bound[rank * width]), int(self.bound[(rank + 1) * width])


def shares(trace: Trace, size: int) -> I4:
    """Return which process gets each location: neighbours together, each about as many vertices.

    Worked example, locations of 1, 1, 1, 30 and 30 calls for two processes:
        weight  4 4 4 62 62    middle  2 6 10 43 105    share  0 0 0 0 1
    """
    weight = 2 * np.diff(trace.first_calls) + 2
    middle = np.cumsum(weight) - weight / 2
    return np.minimum(middle * size // max(int(weight.sum()), 1), size - 1).astype("i4")


def cut(trace: Trace, clock_graph: ClockGraph, size: int) -> Cut:
    """Return the graph cut for so many processes."""
    graph, share = clock_graph.graph, shares(trace, size)
    target = np.repeat(np.arange(graph.vertices, dtype="i4"), np.diff(graph.start))
    part = _parts(clock_graph, share, target)
    reached = np.zeros(graph.vertices, "i4")
    order.rounds(graph.start, graph.source, clock_graph.binding, part, reached)
    edges = _Edges(clock_graph, target, part, reached, size)
    stamps, partial, whole = edges.stamps(), edges.partial(), edges.whole()
    hubs = _Crossing(*(np.concatenate([getattr(c, f.name) for c in (partial, whole)]) for f in dataclasses.fields(_Crossing)))
    rounds = int(reached.max()) + 1
    bound, vertices = _grouped(edges.keys(rounds, stamps, hubs), size * (rounds + 1) + 1)
    place = np.empty(len(vertices), "i4")
    place[vertices] = np.arange(len(vertices), dtype="i4")
    start, rows = _grouped(place[edges.target], len(vertices))
    binding = edges.binding[rows]
    source = place[edges.source[rows]]
    source[binding == UNBOUND] = -1
    return Cut(
        place=place[: graph.vertices],
        bound=bound,
        rounds=rounds,
        start=start,
        source=source,
        binding=binding,
        cause=np.append(clock_graph.cause, np.full(len(edges.binding) - graph.edges, NONE, "i4"))[rows],
        owner=edges.owner[vertices],
        stamps=stamps.placed(place),
        hubs=hubs.placed(place),
        share=share,
        size=size,
    )


def _grouped(key: I4, groups: int) -> tuple[I4, I4]:
    """Return where each group of rows begins when they are sorted by key, the end of the last, and the rows in that order.

    Worked example:
        key  2 0 2 1, three groups    begins  0 1 2 4    rows  1 3 0 2
    """
    counts, first, out = np.zeros(groups, "i4"), np.zeros(groups + 1, "i4"), np.empty(len(key), "i4")
    order.count(key, counts)
    np.cumsum(counts, out=first[1:])
    order.group(key, first[:-1].copy(), out)
    return first, out


def _parts(clock_graph: ClockGraph, share: I4, target: I4) -> I4:
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

    def __init__(self, clock_graph: ClockGraph, target: I4, part: I4, reached: I4, size: int) -> None:
        self.source, self.target = clock_graph.graph.source.copy(), target
        self.binding, self.owner = clock_graph.binding, clock_graph.owner
        self.part, self.reached, self.size = part, reached, size
        crosses = (self.binding != UNBOUND) & (part[self.source] != part[target])
        hub, out_of_hub = self.binding == HUB, self.owner[self.source] < 0
        self._messages = np.flatnonzero(crosses & ~hub)
        self._entries, self._returns = np.flatnonzero(crosses & hub & ~out_of_hub), np.flatnonzero(crosses & hub & out_of_hub)

    def _new(self, count: int, owner: int) -> I4:
        """Return so many new vertices; `owner` -1: copies of sending calls, -2: hubs."""
        first = len(self.owner)
        self.owner = np.concatenate((self.owner, np.full(count, owner, "i4")))
        return np.arange(first, first + count, dtype="i4")

    def _lead(self, source: I4, target: I4) -> None:
        """Add edges that bind as those of hubs do."""
        self.source, self.target = np.concatenate((self.source, source)), np.concatenate((self.target, target))
        self.binding = np.concatenate((self.binding, np.full(len(source), HUB, "u1")))

    def _pairs(self, vertex: I4, process: I4) -> tuple[I4, I4, I8]:
        """Return the distinct pairs of a vertex and a process, and which of them each row is."""
        key, pair = np.unique(vertex.astype("i8") * self.size + process, return_inverse=True)
        return (key // self.size).astype("i4"), (key % self.size).astype("i4"), pair

    def stamps(self) -> _Crossing:
        """Return the sending calls that other processes need, their edges led over copies."""
        edge = self._messages
        original, taker, pair = self._pairs(self.source[edge], self.part[self.target[edge]])
        copy = self._new(len(original), -1)
        self.source[edge] = copy[pair]
        return _Crossing(original, copy, giver=self.part[original], taker=taker, round=self.reached[original])

    def partial(self) -> _Crossing:
        """Return the hubs whose entries are summed up at another process first: that sum, and its copy at the hub's home."""
        edge = self._entries
        source = self.source[edge]
        hub, giver, pair = self._pairs(self.target[edge], self.part[source])
        original, copy = self._new(len(hub), -2), self._new(len(hub), -2)
        reached = np.zeros(len(hub), "i4")
        np.maximum.at(reached, pair, self.reached[source])
        self.target[edge] = original[pair]
        self._lead(copy, hub)
        return _Crossing(original, copy, giver=giver, taker=self.part[hub], round=reached)

    def whole(self) -> _Crossing:
        """Return the hubs that other processes need: what goes out, and its copy there."""
        edge = self._returns
        hub, taker, pair = self._pairs(self.source[edge], self.part[self.target[edge]])
        original, copy = self._new(len(hub), -2), self._new(len(hub), -2)
        self.source[edge] = copy[pair]
        self._lead(hub, original)
        return _Crossing(original, copy, giver=self.part[hub], taker=taker, round=self.reached[hub])

    def keys(self, rounds: int, stamps: _Crossing, hubs: _Crossing) -> I4:
        """Return by what vertices are sorted: process and round, copies first; the origin comes last."""
        out = np.empty(len(self.owner), "i4")
        out[: len(self.part)] = self.part * (rounds + 1) + self.reached + 1
        out[0] = self.size * (rounds + 1)
        out[hubs.original] = hubs.giver * (rounds + 1) + hubs.round + 1
        for crossing in (stamps, hubs):
            out[crossing.copy] = crossing.taker * (rounds + 1)
        return out


def parts(whole: Cut, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, recorded: I8) -> Iterator[Part]:
    """Yield the part of each process."""
    times = np.zeros(len(whole.owner), "i8")
    times[whole.place] = recorded
    for rank in range(whole.size):
        yield _part(whole, rank, trace, timeline, clock_graph, times)


def _part(whole: Cut, rank: int, trace: Trace, timeline: Timeline, clock_graph: ClockGraph, times: I8) -> Part:
    begin, end = whole.span(rank)
    first_edge, last_edge = int(whole.start[begin]), int(whole.start[end])
    width, graph, shift = whole.rounds + 1, clock_graph.graph, begin - 1
    owner = np.concatenate((np.full(1, -1, "i4"), whole.owner[begin:end]))
    hub = np.flatnonzero(owner < -1)
    owner[hub] = -2 - np.arange(len(hub))
    locations = np.flatnonzero(whole.share == rank)
    first_calls = trace.first_calls[locations[0] : locations[-1] + 2] if len(locations) else np.zeros(1, "i8")
    calls = slice(int(first_calls[0]), int(first_calls[-1]))
    begun = timeline.locations.enter[locations]
    stamps_out, hubs_out, bundles_out = _bundled(whole, owner, shift, rank, goes_out=True)
    stamps_in, hubs_in, bundles_in = _bundled(whole, owner, shift, rank, goes_out=False)
    binding = whole.binding[first_edge:last_edge]
    messages = np.flatnonzero((binding != UNBOUND) & (binding != HUB))
    cause = np.zeros(len(binding), "i4")
    cause[messages] = np.arange(len(messages))
    columns = {
        "start": np.concatenate((np.zeros(1, "i4"), whole.start[begin : end + 1] - first_edge)),
        "source": np.maximum(whole.source[first_edge:last_edge] - shift, 0),
        "binding": binding,
        "cause": cause,
        "inside": clock_graph.inside[whole.cause[first_edge:last_edge][messages]],
        "owner": owner,
        "round": whole.bound[rank * width + 1 : (rank + 1) * width + 1] - shift,
        "recorded": np.concatenate((np.zeros(1, "i8"), times[begin:end])),
        "processes": clock_graph.processes,
        "nodes": clock_graph.nodes,
        "metahosts": clock_graph.metahosts,
        "first": first_calls - first_calls[0],
        "entered": whole.place[graph.entered[calls]] - shift,
        "returned": whole.place[graph.returned[calls]] - shift,
        "begun": begun,
        "run": timeline.locations.leave[locations] - begun,
        "locations": locations,
        "stamps_out": stamps_out,
        "hubs_out": hubs_out,
        "bundles_out": bundles_out,
        "stamps_in": stamps_in,
        "hubs_in": hubs_in,
        "bundles_in": bundles_in,
    }
    return Part(**{name: np.ascontiguousarray(columns[name], kind) for name, kind in TYPES.items()})


def _bundled(whole: Cut, owner: I4, shift: int, rank: int, goes_out: bool) -> tuple[I4, I4, I8]:
    """Return (vertices of stamps, rows of hubs, bundles) of what goes out of a process, or comes in.

    Worked example, stamps that go out after rounds 1 0 1 to processes 2 1 2, a hub that goes out after round 0 to process 1:
        bundles  round 0, process 1, stamps 0 to 1, hubs 0 to 1;  round 1, process 2, stamps 1 to 3, hubs 1 to 1
    """
    keys, vertices = [], []
    for crossing in (whole.stamps, whole.hubs):
        own, peer, vertex = (
            (crossing.giver, crossing.taker, crossing.original) if goes_out else (crossing.taker, crossing.giver, crossing.copy)
        )
        rows = np.flatnonzero(own == rank)
        key = crossing.round[rows].astype("i8") * whole.size + peer[rows]
        order = np.argsort(key, kind="stable")
        keys.append(key[order])
        vertices.append(vertex[rows[order]] - shift)
    every = np.union1d(*keys)
    ranges = [np.searchsorted(key, every, end) for key in keys for end in ("left", "right")]
    bundles = np.stack([every // whole.size, every % whole.size, *ranges], 1)
    return vertices[0], -1 - owner[vertices[1]], bundles.ravel()
