"""Large traces for benchmarks, made of one step that all ranks repeat: its calls, who is whose partner, and when they are made."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from perwiz.trace import operations
from perwiz.trace.tables import Calls, Collectives, Defects, Labels, Locations, Members, Messages, Offsets, Paths, Regions, Requests, Times
from perwiz.trace.trace import Communicators, Counts, Timeline, Trace

Ints = NDArray[np.int64]
NAMES = ("step", "compute", "exchange")
"""User regions: a step holds a computation and the calls."""
_NEARBY = 50
"""Time from the boundary of a region to the next of another or to a call, ns."""
ROOM = 5 * _NEARBY
"""Least computation before a step for its regions to have room, ns."""


@dataclasses.dataclass(frozen=True)
class Step:
    """What every rank calls in one step. Calls that return requests are completed by the last call of the step."""

    names: tuple[str, ...]
    """Routine of each call."""
    peer: Ints
    """Partner of each call (rank, call of the step), int64; -1 in collectives and waits."""
    absent: NDArray[np.bool_]
    """Which calls a rank leaves out (rank, call of the step)."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Call that sends and call of the partner that receives, of every message."""
    size: int = 0
    """Bytes of a message, and of a collective for each rank."""

    @cached_property
    def width(self) -> Ints:
        """Calls of each rank in a step."""
        return (~self.absent).sum(1)

    @cached_property
    def op(self) -> NDArray[np.uint16]:
        """Op of each call of the step."""
        return np.array([operations.OP[name] for name in self.names], "u2")

    @property
    def collective(self) -> list[int]:
        """Which calls are collectives."""
        return np.flatnonzero(operations.COLLECTIVE[self.op]).tolist()

    @property
    def posts(self) -> list[int]:
        """Which calls return a request."""
        return np.flatnonzero(operations.NONBLOCKING[self.op]).tolist()

    def records(self, regions: bool = False) -> int:
        """Return how many event records all ranks make in a step."""
        ends = sum(int((~self.absent[:, [send, receive]]).sum()) for send, receive in self.pairs)
        collectives = 2 * len(self.collective) * len(self.width)
        requests = len(self.posts) * len(self.width)
        return int(2 * self.width.sum()) + ends + requests + collectives + 2 * len(NAMES) * len(self.width) * regions


def everywhere(ranks: int, calls: int) -> NDArray[np.bool_]:
    """Return what says that no rank leaves any call out."""
    return np.zeros((ranks, calls), bool)


def trace_of(step: Step, enter: Ints, leave: Ints, regions: bool = False) -> Trace:
    """Return the trace of a run in which the calls were made at these times, ns, each (step, rank, call of the step).

    With `regions` every step is a user region, in it one around the computation before the first call and one around the calls.
    """
    return _Run(step, enter, leave).trace(regions)


class _Run:
    """One run of many steps; calls are numbered rank by rank."""

    def __init__(self, step: Step, enter: Ints, leave: Ints) -> None:
        self.step, self.enter, self.leave = step, enter, leave
        self.steps, self.ranks = enter.shape[:2]
        self._first = np.cumsum(self.steps * step.width) - self.steps * step.width
        self._before = np.cumsum(~step.absent, 1) - 1
        self.count = int(self.steps * step.width.sum())

    def trace(self, regions: bool) -> Trace:
        """Return the whole trace."""
        bare = _bare(self.ranks)
        table, times = self._regions() if regions else (Regions.empty(), Times.empty())
        messages, requests = self._messages(), self._requests()
        calls = Times(*(self._rows(values) for values in (self.enter, self.leave)))
        collectives, members = self._collectives()
        ends = Times(np.zeros(self.ranks, "i8"), (self.leave[-1].max(1) + 3 * _NEARBY))
        none = np.full(2, -1, "i4")
        return dataclasses.replace(
            bare,
            names=NAMES if regions else (),
            parallel=np.zeros(len(NAMES) * regions, bool),
            paths=Paths(np.array([-1, 0, 0], "i4"), np.arange(3, dtype="i4")) if regions else Paths.empty(),
            calls=self._calls(messages, 2 if regions else int(none[0])),
            requests=requests,
            regions=table,
            messages=messages,
            collectives=collectives,
            members=members,
            timeline=Timeline(calls, times, ends),
            counts=Counts(records=self.steps * self.step.records(regions)),
        )

    def _rows(self, values: Ints) -> Ints:
        """Return values per (step, rank, call of the step) as a column of calls."""
        return np.ascontiguousarray(values.transpose(1, 0, 2)[np.broadcast_to(~self.step.absent[:, None], self._shape())])

    def _shape(self) -> tuple[int, int, int]:
        return self.ranks, self.steps, len(self.step.names)

    def _repeated(self, values: Ints, dtype: str) -> NDArray[np.generic]:
        """Return values per (rank, call of the step) as a column of calls."""
        return self._rows(np.broadcast_to(np.asarray(values, dtype), (self.steps, *values.shape)))

    def _numbers(self, rank: Ints, call: int) -> NDArray[np.int32]:
        """Return the rows of one call of the step on each of some ranks, int32 (rank, step)."""
        first = self._first[rank] + self._before[rank, call]
        return (first[:, None] + np.arange(self.steps) * self.step.width[rank][:, None]).astype("i4")

    def _done(self, rank: Ints, call: int) -> NDArray[np.int32]:
        """Return the rows of the calls that complete what a call of the step starts."""
        return self._numbers(rank, len(self.step.names) - 1 if call in self.step.posts else call)

    def _messages(self) -> Messages:
        """Return all messages, sorted by sending call; the pairs of a step have tags 0, 1, 2 ..."""
        parts = []
        for tag, (send, receive) in enumerate(self.step.pairs):
            sender = np.flatnonzero(~self.step.absent[:, send])
            receiver = self.step.peer[sender, send]
            ends = self._numbers(sender, send), self._done(sender, send), self._numbers(receiver, receive), self._done(receiver, receive)
            parts.append([*(column.ravel() for column in ends), np.full(ends[0].size, tag, "i4")])
        if not parts:
            return Messages.empty()
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        count = len(order)
        rest = np.zeros(count, "i4"), np.zeros(count, "u1"), np.full(count, self.step.size, "i8"), *np.zeros((2, count), "i8")
        return Messages(*(column[order] for column in columns), *rest)

    def _requests(self) -> Requests:
        every = np.arange(self.ranks)
        posted = [self._numbers(every, call).ravel() for call in self.step.posts]
        if not posted:
            return Requests.empty()
        completed = np.tile(self._numbers(every, len(self.step.names) - 1).ravel(), len(posted))
        order = np.argsort(np.concatenate(posted), kind="stable")
        return Requests(np.concatenate(posted)[order], completed[order], np.zeros(len(order), "u1"))

    def _collectives(self) -> tuple[Collectives, Members]:
        """Return the instances in the order of the run, rank 0 the root of all that have one."""
        which = self.step.collective
        if not which:
            return Collectives.empty(), Members.empty()
        calls = np.stack([self._numbers(np.arange(self.ranks), call).T for call in which], 1).reshape(-1, self.ranks)
        op = np.tile(self.step.op[which], self.steps)
        number = np.arange(len(op), dtype="i4")
        members = Members(np.repeat(number, self.ranks), calls.ravel(), calls.ravel().copy())
        return Collectives(op, np.zeros(len(op), "i4"), _root(op), number * np.int32(self.ranks)), members

    def _calls(self, messages: Messages, path: int) -> Calls:
        step, shape = self.step, (self.ranks, len(self.step.names))
        tag = np.full(shape, -1)
        for number, pair in enumerate(step.pairs):
            tag[:, pair] = number
        talks = np.isin(np.arange(shape[1]), [*step.collective, *(call for pair in step.pairs for call in pair)])
        sent, received = (np.broadcast_to(size, shape) for size in _sizes(step, self.ranks))
        columns = [self._repeated(values, "i8") for values in (sent, received)]
        for column, call in zip(columns, (messages.send, messages.receive_done), strict=True):
            np.add.at(column, call, messages.bytes)
        return Calls(
            location=np.repeat(np.arange(self.ranks, dtype="i4"), self.steps * step.width),
            op=self._repeated(np.broadcast_to(step.op, shape), "u2"),
            path=np.full(self.count, path, "i4"),
            peer=self._repeated(step.peer, "i4"),
            tag=self._repeated(tag, "i4"),
            comm=self._repeated(np.broadcast_to(np.where(talks, 0, -1), shape), "i4"),
            root=self._repeated(np.broadcast_to(_root(step.op), shape), "i4"),
            bytes_sent=columns[0],
            bytes_received=columns[1],
        )

    def _regions(self) -> tuple[Regions, Times]:
        """Return the regions and their times: step, compute and exchange of each step of each rank."""
        begin, end = self._boundaries()
        ready = np.concatenate([np.zeros((1, self.ranks), "i8"), end[:-1] + 2 * _NEARBY])
        enter = np.stack([ready + _NEARBY, ready + 2 * _NEARBY, begin - _NEARBY], 2)
        leave = np.stack([end + 2 * _NEARBY, begin - 2 * _NEARBY, end + _NEARBY], 2)
        location, step, kind = (column.ravel() for column in np.indices((self.ranks, self.steps, 3), "i4"))
        row = np.arange(len(kind), dtype="i4")
        first = (self._first[location] + step * self.step.width[location]).astype("i4")
        behind = first + self.step.width[location].astype("i4")
        parent = np.where(kind == 0, -1, row - kind).astype("i4")
        table = Regions(location, kind, parent, step + 1, first, np.where(kind == 1, first, behind))
        return table, Times(*(np.ascontiguousarray(values.transpose(1, 0, 2)).ravel() for values in (enter, leave)))

    def _boundaries(self) -> tuple[Ints, Ints]:
        """Return when the first call of each step was entered and the last returned, ns (step, rank)."""
        first, last = np.argmin(self.step.absent, 1), len(self.step.names) - 1 - np.argmin(self.step.absent[:, ::-1], 1)
        rank = np.arange(self.ranks)
        return self.enter[:, rank, first], self.leave[:, rank, last]


def _root(op: NDArray[np.uint16]) -> NDArray[np.int32]:
    """Return the root of each routine: rank 0, or -1 for none."""
    return np.where(np.isin(operations.KIND[op], (operations.ONE_TO_N, operations.N_TO_ONE)), 0, -1).astype("i4")


def _sizes(step: Step, ranks: int) -> tuple[Ints, Ints]:
    """Return the bytes each rank sends and receives in the collectives of a step, (rank, call of the step)."""
    collective = np.isin(np.arange(len(step.names)), step.collective) & (step.op != operations.OP["MPI_Barrier"])
    both = np.tile(np.where(collective, step.size, 0), (ranks, 1))
    sent = both.copy()
    sent[1:, operations.KIND[step.op] == operations.ONE_TO_N] = 0
    return sent, both


def _bare(ranks: int) -> Trace:
    """Return a trace of so many processes in which nothing happens."""
    zero, none = np.zeros(ranks, "i4"), np.full(ranks, -1, "i4")
    number = np.arange(ranks, dtype="i4")
    still = Times(np.zeros(ranks, "i8"), np.zeros(ranks, "i8"))
    return Trace(
        path=f"synthetic-{ranks}",
        format="synthetic",
        locations=Locations(zero, none, number, zero, none, zero.astype("u1")),
        communicators=Communicators(("world",), np.array([0, ranks]), number),
        names=(),
        parallel=np.zeros(0, bool),
        paths=Paths.empty(),
        calls=Calls.empty(),
        requests=Requests.empty(),
        regions=Regions.empty(),
        messages=Messages.empty(),
        collectives=Collectives.empty(),
        members=Members.empty(),
        timeline=Timeline(Times.empty(), Times.empty(), still),
        labels=Labels.empty(),
        texts=(),
        nodes=(),
        offsets=Offsets.empty(),
        defects=Defects.empty(),
        counts=Counts(),
        properties={},
    )
