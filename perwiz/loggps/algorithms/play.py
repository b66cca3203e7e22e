"""Recorded instances of collectives played by an algorithm: a vertex per round of each member, and what each message costs there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from perwiz.clock.latency import distance
from perwiz.graph.graph import COLLECTIVE, Graph
from perwiz.kernels import sweep as kernel
from perwiz.kernels.names import ACROSS, METAHOST, NODE
from perwiz.loggps import instances
from perwiz.loggps.algorithms.edges import costs
from perwiz.loggps.algorithms.routines import ALGORITHMS, KIN, each_message, shape_of
from perwiz.loggps.algorithms.shape import FARTHEST, HELD, EachMessage, Edges, Messages
from perwiz.loggps.links import flows
from perwiz.loggps.links.inside import Depending, Inside, joined
from perwiz.loggps.links.simulated import Spread, simulated
from perwiz.loggps.model import Model, Sent
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Ints, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

ROUTINES = {operations.OP[f"MPI_{name.capitalize()}"]: name for name in (*ALGORITHMS, *KIN)}
"""Per op the name of its routine, one of ALGORITHMS or their KIN."""


UNEVEN = ("alltoallv", "alltoallw")
"""Routines of which each process sends others so many bytes each."""


class Way(NamedTuple):
    """How a collective is made."""

    algorithm: str
    segment: int = 0
    """Bytes of a segment, 0: what is sent is not cut."""

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.segment}" if self.segment else self.algorithm


@dataclasses.dataclass(frozen=True, eq=False)
class Played:
    """Instances played: vertices 0 .. members - 1 are the entries of all members of the trace, the others those behind rounds."""

    start: I8
    """First edge into each vertex behind the members, and one more."""
    source: I8
    cost: F8
    """ns per edge, of the model."""
    end: I8
    """Per member the vertex that it is done with, -1 if it is not played."""
    doer: I8
    """Per edge the member that itself has this to do, -1 between members."""
    collective: I8
    """Per vertex behind the members, row of collectives."""
    inside: Inside | None
    """The messages, where they share links."""

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.end) + len(self.collective)

    @property
    def target(self) -> I8:
        """Return the vertex that each edge leads into."""
        return np.repeat(np.arange(len(self.collective)), np.diff(self.start)) + len(self.end)

    @property
    def starts(self) -> I4:
        """Return the first edge into each vertex, and one more: members have none."""
        return np.concatenate([np.zeros(len(self.end), "i4"), self.start.astype("i4")])

    def targets(self, edges: Ints) -> I8:
        """Return the vertex that each of some edges leads into."""
        return np.searchsorted(self.start, edges, "right") - 1 + len(self.end)

    def weights(self, factor: F8) -> I8:
        """Return the ns of each edge, int64, where all costs of a collective are multiplied by its factor, one per row of collectives."""
        return np.rint(self.cost * np.repeat(factor[self.collective], np.diff(self.start))).astype("i8")

    def own(self, factor: F8) -> I8:
        """Return per member what it has to do if it waits for nobody, int64 ns; factors as in `weights`."""
        out, mine = np.zeros(len(self.end), "i8"), self.doer != NONE
        np.add.at(out, self.doer[mine], self.weights(factor)[mine])
        return out

    def times(self, entry: I8, factor: F8) -> I8:
        """Return when each member is done that enters at these times, int64 ns; of those that are not played, when they enter."""
        return self.ends(self._swept(entry, self.weights(factor)))

    def ends(self, time: I8) -> I8:
        """Return when each member is done if vertices have these times; of those that are not played, when they enter."""
        return np.where(self.end == NONE, time[: len(self.end)], time[self.end])

    def flowing(self, trace: Trace, model: Model, factor: F8, graph: Graph | None = None) -> Flowing:
        """Return what happens from the recorded entries on if its messages share links: also with those of a graph, as recorded."""
        entry = trace.timeline.calls.enter[trace.members.call]
        inside = self.messages(factor)
        found, begun = flows.inside(trace, self, model, inside, graph)
        count = int((found.begins != NONE).sum())
        row = np.full(len(inside), NONE)
        row[found.message[:count]] = np.arange(count)
        floor = np.full(self.vertices, -(2**61), "i8")
        floor[: len(entry)] = entry
        waiting = inside.depending(trace, model, row != NONE)
        of_flows, none = Depending(waiting.edge, row[waiting.message]), np.zeros(len(waiting.edge), "i8")
        kind, weight = np.full(len(self.source), COLLECTIVE, "u1"), self.weights(factor)
        run = simulated(Spread(self.starts, self.source.astype("i4"), kind, weight, floor, of_flows, none), found, begun)
        if run is None:
            raise AssertionError("rounds that wait for themselves")
        delay, beside = np.zeros(len(inside), "i8"), np.zeros(len(trace.messages), "i8")
        delay[found.message[:count]] = run.delay[:count]
        beside[found.message[count:]] = run.delay[count:]
        return Flowing(inside, delay, beside, self.ends(run.time))

    def messages(self, factor: F8) -> Inside:
        """Return its messages, as edges of it; factors as in `weights`. Raises ValueError if it was played without."""
        if self.inside is None:
            raise ValueError("played without its messages, must be played for a model that has links")
        return dataclasses.replace(self.inside, factor=factor[self.inside.collective])

    def _swept(self, entry: I8, weight: I8) -> I8:
        time = np.full(self.vertices, -(2**61), "i8")
        time[: len(entry)] = entry
        kernel.sweep(self.starts, self.source.astype("i4"), weight, len(entry), self.vertices, time)
        return time


class Flowing(NamedTuple):
    """What becomes of instances whose messages share links."""

    inside: Inside
    """Their messages, as edges of what was played."""
    delay: I8
    """By how much longer each takes than alone, ns."""
    beside: I8
    """The same of the messages of the trace that flowed with them."""
    end: I8
    """When each member is done, ns; of those that are not played, when they enter."""


class Group(NamedTuple):
    """Instances of a kind that are made one way."""

    rows: I8
    """Of collectives."""
    kind: int
    way: Way


class Instances:
    """The collectives of a trace that can be played: blocking ones of routines in ALGORITHMS, whose members are all known."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        table, members = trace.collectives, trace.members
        self.first = table.first_member.astype("i8")
        self.count = np.diff(np.append(self.first, len(members)))
        self.processes = instances.processes(trace)
        self.kind, self.kinds = instances.alike(trace)
        blocking = np.ones(len(table), bool)
        np.logical_and.at(blocking, members.collective, members.call == members.done)
        rooted = operations.ROOTED[table.op]
        known = np.isin(table.op, list(ROUTINES)) & (self.count == self.processes) & (self.count > 1)
        self.root = self._roots()
        self.playable: Mask = known & blocking & (~rooted | (self.root >= 0))
        """Per row of collectives, whether it can be played, also by the algorithms of its kin."""
        own = [op for op, name in ROUTINES.items() if name in ALGORITHMS]
        self.chosen: Mask = self.playable & np.isin(table.op, own)
        """Those whose routine has algorithms of its own."""

    def _roots(self) -> I8:
        """Return per instance the place of its root among its members, -1 if it is none of them."""
        trace, table = self.trace, self.trace.collectives
        of = trace.members.collective
        is_root = trace.processes_of_calls[trace.members.call] == table.root[of]
        out = np.full(len(table), NONE, "i8")
        row = np.flatnonzero(is_root)
        out[of[row]] = row - self.first[of[row]]
        return out

    @cached_property
    def location(self) -> I4:
        """The location of each member."""
        return self.trace.calls.location[self.trace.members.call]

    @property
    def entry(self) -> I8:
        """When each member enters, ns."""
        return self.trace.timeline.calls.enter[self.trace.members.call]

    @property
    def leave(self) -> I8:
        """When each member of an instance that can be played is done, ns; of others, when they enter."""
        done = self.trace.members.done
        return np.where(done == NONE, self.entry, self.trace.timeline.calls.leave[done])

    def routine(self, kind: int) -> str:
        """Return the name of a kind's routine among ALGORITHMS, empty for others."""
        return name if (name := self.named(kind)) in ALGORITHMS else ""

    def named(self, kind: int) -> str:
        """Return the name of a kind's routine, also of KIN, empty for others."""
        return ROUTINES.get(int(self.kinds.op[kind]), "")

    def kin(self, kind: int) -> str:
        """Return the routine of ALGORITHMS whose algorithms make a kind, empty for others."""
        return KIN.get(name := self.named(kind), name)

    def behind_last(self, end: I8) -> I8:
        """Return per row of collectives the ns from the last entry to the last exit, where members are done at these times."""
        return np.maximum.reduceat(end, self.first) - np.maximum.reduceat(self.entry, self.first)

    def play(self, groups: Iterable[Group], model: Model) -> Played:
        """Return groups of instances, each played its way, at the costs of a model; with messages if it has links. Raises NotSuited."""
        pieces, vertices, edges = [], 0, 0
        end = np.full(len(self.location), NONE, "i8")
        for rows, kind, way in groups:
            processes, asked = int(self.kinds.processes[kind]), (self.kin(kind), way.algorithm)
            shaped = shape_of if model.topology is None else each_message
            shape = shaped(*asked, processes, int(self.kinds.size[kind]), way.segment)
            made = shape.vertices - processes
            member = self._members(rows, processes)
            base = len(self.location) + vertices + made * np.arange(len(rows), dtype="i8")
            place = np.concatenate([member, base[:, None] + np.arange(made)], axis=1)
            end[member] = place[:, shape.now]
            messages = shape.messages() if isinstance(shape, EachMessage) else None
            pieces.append(self._piece(rows, shape.edges(), messages, place, member, model, edges))
            vertices += made * len(rows)
            edges += len(pieces[-1].source)
        source, target, cost, doer, collective = (np.concatenate(column) for column in zip(*(piece[:5] for piece in pieces), strict=True))
        order = np.argsort(target, kind="stable")
        start = np.searchsorted(target[order] - len(self.location), np.arange(vertices + 1))
        inside = None
        if model.topology is not None:
            number = np.empty(len(order), "i8")
            number[order] = np.arange(len(order))
            inside = joined([piece.inside for piece in pieces]).at(number)
        return Played(start, source[order], cost[order], end, doer[order], collective[order][start[:-1]], inside)

    def ends(self, groups: Iterable[Group], model: Model, factor: F8) -> I8:
        """Return when each member is done, ns, if groups of instances are played from their recorded entries; factors as in `weights`."""
        played = self.play(groups, model)
        if model.topology is None:
            return played.times(self.entry, factor)
        return played.flowing(self.trace, model, factor).end

    def groups(self, rows: I8, ways: Mapping[int, Way]) -> list[Group]:
        """Return instances (rows of collectives), each to be played the way of its kind."""
        return [Group(rows[self.kind[rows] == kind], kind, ways[kind]) for kind in np.unique(self.kind[rows]).tolist()]

    def _members(self, rows: I8, processes: int) -> I8:
        """Return the members of instances from the root on, one instance per line."""
        begin = np.maximum(self.root[rows], 0)[:, None]
        return self.first[rows][:, None] + (begin + np.arange(processes)) % processes

    def _piece(self, rows: I8, edges: Edges, messages: Messages | None, place: I8, member: I8, model: Model, first: int) -> _Piece:
        """Return the edges of some instances of a kind, numbered from `first` on; synchronous messages alone hold their senders."""
        far = self.kinds.take(self.kind[rows])
        lines = len(rows)
        widest = np.where(far.metahosts > 1, ACROSS, np.where(far.nodes > 1, METAHOST, NODE)).astype("u1")
        pairs = np.repeat(widest[:, None], len(edges.source), axis=1)
        known = np.flatnonzero(edges.sender != FARTHEST)
        sender, receiver = (self.location[member[:, of[known]]].ravel() for of in (edges.sender, edges.receiver))
        pairs[:, known] = np.maximum(distance(self.trace.locations, sender, receiver), NODE).reshape(lines, -1)
        cost, keep = np.empty(pairs.shape), np.empty(pairs.shape, bool)
        sizes = self._sizes(rows, edges.bytes, edges.sender, edges.receiver, member) if messages is not None else None
        for pair in np.unique(pairs).tolist():
            of = pairs == pair
            what, times, size = edges.cost, edges.times, edges.bytes
            if sizes is not None:
                what, times, size = (np.broadcast_to(column, pairs.shape)[of] for column in (what, times, sizes))
            alike = np.full(len(what), pair, np.uint8)
            ns = times * costs(model, what, size, alike, messages is not None)
            stays = (what != HELD) | model.is_synchronous(Sent(size, pairs=alike))
            cost[of], keep[of] = (ns, stays) if sizes is not None else (np.broadcast_to(each, pairs.shape)[of] for each in (ns, stays))
        doer = np.where(edges.own == NONE, NONE, member[:, np.maximum(edges.own, 0)]).ravel()
        some = keep.ravel()
        number = np.where(some, np.cumsum(some) - 1 + first, NONE).reshape(lines, -1)
        inside = None if messages is None else self._inside(rows, messages, member, number)
        return _Piece(
            place[:, edges.source].ravel()[some],
            place[:, edges.target].ravel()[some],
            cost.ravel()[some],
            doer[some],
            np.repeat(rows, len(edges.source))[some],
            inside,
        )

    def _inside(self, rows: I8, messages: Messages, member: I8, number: I8) -> Inside:
        """Return the messages of instances whose edges have these numbers, one instance per line."""
        edge, own, held, sends, posts = (number[:, edge].ravel() for edge in messages[:5])
        sender, receiver = (self.location[member[:, end].ravel()] for end in (messages.sender, messages.receiver))
        lines, each = len(member), len(messages.bytes)
        sizes = self._sizes(rows, messages.bytes, messages.sender, messages.receiver, member)
        size = np.tile(messages.bytes, lines) if sizes is None else sizes.ravel()
        return Inside(edge, own, held, sends, posts, sender, receiver, size, np.ones(lines * each), np.repeat(rows, each))

    def _sizes(self, rows: I8, size: I8, sender: I8, receiver: I8, member: I8) -> I8 | None:
        """Return the bytes of messages of instances, one per line, where they differ from `size`: in an alltoallv of messages to all.

        Of what a process sends in all each other one gets the part that it has of what all receive.

        sent by all 60 30 0, received by all 30 30 30      so 0 sends 20 to each, 1 sends 10, and 2 nothing
        """
        kind = int(self.kind[rows[0]])
        between, part = sender != FARTHEST, int(self.kinds.size[kind]) // int(self.kinds.processes[kind])
        if self.named(kind) not in UNEVEN or (size[between] != part).any():
            return None
        calls, call = self.trace.calls, self.trace.members.call[member]
        sent, received = calls.bytes_sent[call].astype("f8"), calls.bytes_received[call].astype("f8")
        all_received = np.maximum(received.sum(1, keepdims=True), 1.0)
        out = np.tile(size, (len(rows), 1))
        out[:, between] = np.rint(sent[:, sender[between]] * (received[:, receiver[between]] / all_received))
        return out


class _Piece(NamedTuple):
    source: I8
    target: I8
    cost: F8
    doer: I8
    """Member that itself has this to do, -1 none."""
    collective: I8
    inside: Inside | None
    """The messages."""
