"""Recorded instances of collectives played by an algorithm: a vertex per round of each member, and what each message costs there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from perwiz.clock.latency import distance
from perwiz.kernels import sweep as kernel
from perwiz.kernels.names import ACROSS, METAHOST, NODE
from perwiz.loggps import instances
from perwiz.loggps.algorithms.edges import costs
from perwiz.loggps.algorithms.routines import ALGORITHMS, shape_of
from perwiz.loggps.algorithms.shape import FARTHEST, HELD, Edges
from perwiz.loggps.model import Model, Sent
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

ROUTINES = {operations.OP[f"MPI_{name.capitalize()}"]: name for name in ALGORITHMS}
"""Per op the name of its routine among ALGORITHMS."""


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

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return len(self.end) + len(self.collective)

    @property
    def target(self) -> I8:
        """Return the vertex that each edge leads into."""
        return np.repeat(np.arange(len(self.collective)), np.diff(self.start)) + len(self.end)

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
        time = np.full(self.vertices, -(2**61), "i8")
        time[: len(entry)] = entry
        start = np.concatenate([np.zeros(len(entry), "i4"), self.start.astype("i4")])
        kernel.sweep(start, self.source.astype("i4"), self.weights(factor), len(entry), self.vertices, time)
        return np.where(self.end == NONE, entry, time[self.end])


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
        self.chosen: Mask = known & blocking & (~rooted | (self.root >= 0))
        """Per row of collectives, whether it can be played."""

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
        return ROUTINES.get(int(self.kinds.op[kind]), "")

    def behind_last(self, end: I8) -> I8:
        """Return per row of collectives the ns from the last entry to the last exit, where members are done at these times."""
        return np.maximum.reduceat(end, self.first) - np.maximum.reduceat(self.entry, self.first)

    def play(self, groups: Iterable[Group], model: Model) -> Played:
        """Return groups of instances, each played its way, at the costs of a model. Raises NotSuited."""
        pieces, vertices = [], 0
        end = np.full(len(self.location), NONE, "i8")
        for rows, kind, way in groups:
            processes, size = int(self.kinds.processes[kind]), int(self.kinds.size[kind])
            shape = shape_of(self.routine(kind), way.algorithm, processes, size, way.segment)
            made = shape.vertices - processes
            member = self._members(rows, processes)
            base = len(self.location) + vertices + made * np.arange(len(rows), dtype="i8")
            place = np.concatenate([member, base[:, None] + np.arange(made)], axis=1)
            end[member] = place[:, shape.now]
            pieces.append(self._piece(rows, shape.edges(), place, member, model))
            vertices += made * len(rows)
        source, target, cost, doer, collective = (np.concatenate(column) for column in zip(*pieces, strict=True))
        order = np.argsort(target, kind="stable")
        start = np.searchsorted(target[order] - len(self.location), np.arange(vertices + 1))
        return Played(start, source[order], cost[order], end, doer[order], collective[order][start[:-1]])

    def groups(self, rows: I8, ways: Mapping[int, Way]) -> list[Group]:
        """Return instances (rows of collectives), each to be played the way of its kind."""
        return [Group(rows[self.kind[rows] == kind], kind, ways[kind]) for kind in np.unique(self.kind[rows]).tolist()]

    def _members(self, rows: I8, processes: int) -> I8:
        """Return the members of instances from the root on, one instance per line."""
        begin = np.maximum(self.root[rows], 0)[:, None]
        return self.first[rows][:, None] + (begin + np.arange(processes)) % processes

    def _piece(self, rows: I8, edges: Edges, place: I8, member: I8, model: Model) -> _Piece:
        """Return the edges of some instances of a kind; synchronous messages alone hold their senders."""
        far = self.kinds.take(self.kind[rows])
        lines = len(rows)
        widest = np.where(far.metahosts > 1, ACROSS, np.where(far.nodes > 1, METAHOST, NODE)).astype("u1")
        pairs = np.repeat(widest[:, None], len(edges.source), axis=1)
        known = np.flatnonzero(edges.sender != FARTHEST)
        sender, receiver = (self.location[member[:, of[known]]].ravel() for of in (edges.sender, edges.receiver))
        pairs[:, known] = np.maximum(distance(self.trace.locations, sender, receiver), NODE).reshape(lines, -1)
        cost, keep = np.empty(pairs.shape), np.empty(pairs.shape, bool)
        for pair in np.unique(pairs).tolist():
            of, alike = pairs == pair, np.full(len(edges.cost), pair, np.uint8)
            synchronous = model.is_synchronous(Sent(edges.bytes, pairs=alike))
            cost[of] = np.broadcast_to(edges.times * costs(model, edges.cost, edges.bytes, alike), pairs.shape)[of]
            keep[of] = np.broadcast_to((edges.cost != HELD) | synchronous, pairs.shape)[of]
        doer = np.where(edges.own == NONE, NONE, member[:, np.maximum(edges.own, 0)]).ravel()
        some = keep.ravel()
        return _Piece(
            place[:, edges.source].ravel()[some],
            place[:, edges.target].ravel()[some],
            cost.ravel()[some],
            doer[some],
            np.repeat(rows, len(edges.source))[some],
        )


class _Piece(NamedTuple):
    source: I8
    target: I8
    cost: F8
    doer: I8
    """Member that itself has this to do, -1 none."""
    collective: I8
