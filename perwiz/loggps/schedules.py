"""The schedule of a run, as GOAL has it: what a call's partners and the model explain becomes messages, all else computation.

A call becomes its messages, each needing what came before it, and behind them a computation: what the model does not explain of the call,
and the time until the next one. What only posts is needed by its start, and by its completion where that is awaited. A collective is the
messages of its likely algorithm (`algorithms.routines`), where the last of its members is known. Locations of a process are processors.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from perwiz.errors import UsageError
from perwiz.formats import losses
from perwiz.formats.goal.schedule import CALC, MOST_UNIT, RECV, SEND, Schedule, in_order
from perwiz.kernels.semantics_events import COLLECTIVE
from perwiz.loggps import instances, rounds
from perwiz.loggps.algorithms.routines import ALGORITHMS
from perwiz.loggps.algorithms.shape import EXCHANGE, RECEIVE, Shape
from perwiz.loggps.configuration import Configuration
from perwiz.loggps.weigh import Weighted, lags, work
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import BUFFERED, EVENT, LAUNCH, NONE
from perwiz.trace.trace import listed_ranks

_FIRST_ROUND = 8
"""Slot of the first round of a collective among the operations of a call; its own messages come before."""
_BEHIND = 1 << 30
_REDUCE = operations.OP["MPI_Reduce"]
_NAMES = """Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce Allreduce
    Reduce_scatter Reduce_scatter_block Scan"""
_POSTS = np.isin(operations.OPS, [f"MPI_I{name.lower()}" for name in _NAMES.split()])
_MEETS = _POSTS | np.isin(operations.OPS, [f"MPI_{name}" for name in _NAMES.split()])
"""Per op: Dimemas has it as a collective that does not block, or as any. Others, such as MPI_Comm_dup, hold nobody there."""
_OF_GROUPS = ("all_reduce", "all_to_all", "all_gather", "reduce_scatter", "broadcast")
_OF_MPI = ("Allreduce", "Alltoall", "Alltoallv", "Allgather", "Allgatherv", "Reduce_scatter", "Reduce_scatter_block", "Bcast")
IN_ASTRA_SIM = np.isin(operations.OPS, [f"dist_{name}" for name in _OF_GROUPS] + [f"MPI_{name}" for name in _OF_MPI])
"""Per op: ASTRA-sim has it as a collective."""
_WIDE = 1 << 31
_KINDS = (
    *(losses.WILDCARDS, losses.LABELS, losses.COUNTERS, losses.SAMPLED, losses.PARAMETERS, losses.RECORDS, losses.TOPOLOGIES),
    *(losses.SOURCES, losses.SITES, losses.METAHOSTS, losses.UNFINISHED, losses.CANCELLED, losses.RECORD_TIMES, losses.OFFSETS),
    losses.DEFECTS,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Scheduled:
    """A schedule, and what it does not hold of the run, with how many of each."""

    schedule: Schedule
    missing: list[tuple[str, int]]
    meetings: Meetings
    """Of all collectives of the trace."""
    node: I4
    """Per rank the node, from 0, of each a node of its own if the trace does not tell."""


@dataclasses.dataclass(frozen=True, eq=False)
class Meetings:
    """Collectives that are kept: the `tag` of an operation of kind COLLECTIVE is a row of these."""

    processes: I8
    posts: Mask
    """Whether they are nonblocking."""
    behind: I8
    """How many MPI_Reduce of the same communicator come right before each."""

    @classmethod
    def none(cls) -> Meetings:
        """Return no collectives."""
        return cls(np.zeros(0, "i8"), np.zeros(0, bool), np.zeros(0, "i8"))


def behind(comm: Ints, to_root: Mask) -> I8:
    """Return how many that go to a root come right before each collective of the same communicator.

    Of one communicator, r those to a root: r r a a r b gives 0 1 2 0 0 1.
    """
    order, rows = np.argsort(comm, kind="stable"), np.arange(len(comm))
    reduces, first = to_root[order], np.diff(comm[order], prepend=-2) != 0
    before: I8 = np.cumsum(reduces) - reduces
    since = np.maximum.accumulate(np.where(first, rows, np.where(np.append(False, ~reduces[:-1]), rows - 1, 0)))
    out = np.zeros(len(comm), "i8")
    out[order] = before - before[since]
    return out


class _Listed(Shape):
    """A shape that lists its messages round by round."""

    def __init__(self, processes: int) -> None:
        super().__init__(processes)
        self.rounds: list[tuple[I8, I8, I8]] = []
        """Senders, receivers, bytes."""

    def send(self, sender: Ints | list[int], receiver: Ints | list[int], size: Ints | int, take: int = RECEIVE) -> None:
        """Add a round."""
        of = np.asarray(sender, "i8")
        self.rounds.append((of, np.asarray(receiver, "i8"), np.broadcast_to(np.asarray(size, "i8"), of.shape)))

    def ring(self, size: int) -> None:
        """Add rounds around a ring."""
        place = np.arange(self.processes)
        for _ in range(self.processes - 1):
            self.send(place, (place + 1) % self.processes, size)

    def all_wait(self, rounds: list[tuple[int, int, int]], size: int, own: int, cost: int = EXCHANGE) -> None:
        """Add rounds in which each sends to the one as many places behind it as there were rounds."""
        place, apart = np.arange(self.processes), 0
        for _, times, bytes_ in rounds:
            for _ in range(times):
                apart += 1
                self.send(place, (place + apart) % self.processes, bytes_)


class _Rows:
    """Operations by columns, in any order."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self.count = 0

    def add(self, kind: int, call: I8, slot: Any, blocks: Any, **columns: Any) -> I8:
        """Add some, at the `call`; return their numbers. `blocks`: what comes next needs their completion, not their start."""
        values = {
            "key": 2 * np.asarray(call, "i8") + 1,
            "slot": slot,
            "blocks": blocks,
            "kind": kind,
            "size": 0,
            "peer": NONE,
            "tag": 0,
            "twin": 0,
        }
        shape = (len(call),)
        self._parts.append({name: np.broadcast_to(np.asarray(v, "i8"), shape) for name, v in (values | columns).items()})
        self.count += len(call)
        return np.arange(self.count - len(call), self.count)

    def whole(self) -> dict[str, I8]:
        """Return the columns."""
        return {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}


def schedule(weighted: Weighted, kept: Configuration | None = None, as_such: Mask | None = None) -> Scheduled:
    """Return the schedule of a run. Raises UsageError for a process of more than 256 locations, and for a rank far beyond the others.

    `kept`: collectives stay such, operations of kind COLLECTIVE, with those bytes that it counts of what the first member sends and
    receives; the root of an MPI_Reduce is their peer, of others there is none. And calls take no time beside what is simulated: as a trace
    for Dimemas has it. `as_such`, per op, are collectives that also stay such where it is not for Dimemas; the others are messages.
    """
    return _Builder(weighted, kept, as_such).scheduled()


class _Builder:
    def __init__(self, weighted: Weighted, kept: Configuration | None, as_such: Mask | None) -> None:
        self.weighted, self.trace, self.kept = weighted, weighted.trace, kept
        self.as_such = np.zeros(len(operations.OPS), bool) if as_such is None else as_such
        self.rows = _Rows()
        self.process = self.trace.locations.process.astype("i8")
        self.ranks = listed_ranks(self.trace, "a schedule", largest=0)
        self.forced = np.zeros(len(self.trace.calls), bool)
        """Calls that await something: what is behind them needs it."""
        self.needs: list[tuple[I8, I8]] = []
        """(calls that await, operations by number)"""
        self.elsewhere: list[tuple[I4, I4]] = []
        """(calls that post, calls of other locations that await it)"""

    def scheduled(self) -> Scheduled:
        """Return the schedule and its losses."""
        self._messages()
        if self.kept is None:
            such, played = self._meetings(Configuration(), self.as_such), self._collectives()
        else:
            such, played = self._meetings(self.kept, _MEETS), 0
        between = self._links_between()
        self._computation()
        table = self.trace.messages
        counts = self.trace.counts
        misfit = self.weighted.misfit
        lowered = misfit.messages_lowered + misfit.requests_lowered + misfit.collectives_lowered
        others = [
            ("synchronous and buffered sends: they are standard ones", int((table.mode >= BUFFERED).sum())),
            ("user regions", len(self.trace.regions)),
            ("names of nodes", len(self.trace.nodes)),
            ("communicators beside that of all processes", len(np.unique(table.comm[table.comm > 0]))),
            ("collectives as such: they are the messages of their likely algorithm", played),
            ("collectives of unknown members, and barriers of threads", len(self.trace.collectives) - such - played),
            ("sends and receives without partner", counts.unmatched_sends + counts.unmatched_receives),
            ("links between processes", between),
            ("waits that were shorter than the model says", lowered),
        ]
        operations_of = self.trace.collectives.op
        meetings = Meetings(instances.processes(self.trace), _POSTS[operations_of], self._behind())
        whole = self._whole()
        return Scheduled(whole, losses.counted(self.trace, _KINDS, others), meetings, self._nodes())

    def _nodes(self) -> I4:
        """Return the node of each rank."""
        places = self.trace.locations
        node = np.arange(self.ranks) + len(self.trace.nodes)
        told = np.flatnonzero(places.node >= 0)
        node[places.process[told]] = places.node[told]
        return np.unique(node, return_inverse=True)[1].astype("i4")

    def _messages(self) -> None:
        table, calls = self.trace.messages, self.trace.calls
        tag = self._tags()
        rank = self.process[calls.location]
        takes = np.zeros(len(calls), bool)
        takes[table.receive[table.receive == table.receive_done]] = True
        for kind, post, done, partner in (
            (SEND, table.send, table.send_done, table.receive),
            (RECV, table.receive, table.receive_done, table.send),
        ):
            blocks = post == done
            twin = blocks & takes[post] if kind == SEND else np.zeros(len(post), bool)
            at = post.astype("i8")
            number = self.rows.add(kind, at, kind == RECV, blocks & ~twin, size=table.bytes, peer=rank[partner], tag=tag, twin=twin)
            awaited = np.flatnonzero(~blocks & (done != NONE))
            self.needs.append((done[awaited].astype("i8"), number[awaited]))
            apart = awaited[calls.location[post[awaited]] != calls.location[done[awaited]]]
            self.elsewhere.append((post[apart], done[apart]))

    def _tags(self) -> I8:
        """Return the tag of each message: its own, or where several communicators have some, a number of both.

        Of messages between processes of several locations each is a number of its own: those of a pair and tag are matched first in,
        first out in the order of the operations, which is no order of what several locations do.
        """
        table, calls = self.trace.messages, self.trace.calls
        tag, comm = table.tag.astype("i8"), table.comm.astype("i8")
        process = self.trace.locations.processes()[1]
        several = (np.bincount(process)[process] > 1)[calls.location]
        own = np.where(several[table.send] | several[table.receive], np.arange(len(table)), NONE)
        if (len(table) and (comm != comm[0]).any()) or (tag < 0).any() or (own >= 0).any():
            return Numbers().number(own, comm << 32 | tag & 0xFFFFFFFF).astype("i8")
        return tag

    def _collectives(self) -> int:
        """Add the messages of collectives whose members are all known; return how many they are."""
        trace, members = self.trace, self.trace.members
        if not len(trace.collectives):
            return 0
        kind, kinds = instances.alike(trace)
        number = instances.chosen(self.weighted.model, kinds)
        first = np.append(trace.collectives.first_member, len(members)).astype("i8")
        complete = np.diff(first) == instances.processes(trace)
        complete &= (np.minimum.reduceat(members.done, first[:-1]) != NONE) & ~self.as_such[trace.collectives.op]
        base = int(self._tags().max(initial=-1)) + 1
        made = 0
        for k in range(len(kinds.op)):
            of = np.flatnonzero((kind == k) & complete)
            p = int(kinds.processes[k])
            if p > 1 and len(of):
                self._play(*rounds.way(int(number[k])), p, int(kinds.size[k]), of, first, base)
            made += len(of)
        return made

    def _meetings(self, configuration: Configuration, ops: Mask) -> int:
        """Add collectives of some ops whose members are all known, as such; return how many they are."""
        table, members, calls = self.trace.collectives, self.trace.members, self.trace.calls
        if not ops[table.op].any():
            return 0
        first = np.append(table.first_member, len(members)).astype("i8")
        complete = (np.diff(first) == instances.processes(self.trace)) & ops[table.op]
        complete &= np.minimum.reduceat(members.done, first[:-1]) != NONE
        begins = members.call[first[:-1]]
        sent, received = calls.bytes_sent[begins], calls.bytes_received[begins]
        to_root = (table.op == _REDUCE) & (table.root >= 0)
        size = np.where(to_root, instances.sizes(self.trace), configuration.bytes(table.op, sent, received))
        of = members.collective[complete[members.collective]]
        mine = np.flatnonzero(complete[members.collective])
        call, done = members.call[mine].astype("i8"), members.done[mine].astype("i8")
        root = np.where(to_root, table.root, NONE)[of]
        number = self.rows.add(COLLECTIVE, call, 0, call == done, size=size[of], peer=root, tag=of)
        awaited = np.flatnonzero(call != done)
        self.needs.append((done[awaited], number[awaited]))
        return int(complete.sum())

    def _behind(self) -> I8:
        """Return, per collective, how many MPI_Reduce of its communicator come right before it."""
        table = self.trace.collectives
        known, out = np.flatnonzero(_MEETS[table.op]), np.zeros(len(table), "i8")
        out[known] = behind(table.comm[known], (table.op[known] == _REDUCE) & (table.root[known] >= 0))
        return out

    def _play(self, routine: str, algorithm: str, p: int, size: int, of: I8, first: I8, base: int) -> None:
        """Add the messages of instances alike, `of` rows of collectives."""
        table, members = self.trace.collectives, self.trace.members
        listed = _Listed(p)
        ALGORITHMS[routine][algorithm].play(listed, size, 0)
        call = members.done[first[of][:, None] + np.arange(p)].astype("i8")
        rank = self.process[self.trace.calls.location[call]]
        root = table.root[of].astype("i8")
        at = np.where(root >= 0, (rank == root[:, None]).argmax(1), 0)
        turn = (at[:, None] + np.arange(p)) % p
        call, rank = np.take_along_axis(call, turn, 1), np.take_along_axis(rank, turn, 1)
        tag = base + table.comm[of].astype("i8")
        for k, (sender, receiver, bytes_) in enumerate(listed.rounds):
            slot = _FIRST_ROUND + 2 * k
            both = np.isin(sender, receiver)
            columns = {"size": np.tile(bytes_, len(of)), "tag": np.repeat(tag, len(sender))}
            twin = np.tile(both, len(of))
            self.rows.add(SEND, call[:, sender].ravel(), slot, ~twin, peer=rank[:, receiver].ravel(), twin=twin, **columns)
            self.rows.add(RECV, call[:, receiver].ravel(), slot + 1, True, peer=rank[:, sender].ravel(), **columns)

    def _links_between(self) -> int:
        """Let calls that links hold await them; return how many links are between processes."""
        links, calls = self.trace.links, self.trace.calls
        process = self.process[calls.location]
        own = process[links.cause] == process[links.effect]
        self.links = np.flatnonzero(own)
        self.forced[links.effect[self.links]] = True
        return int((~own).sum())

    def _computation(self) -> None:
        """Add what comes before the first call of each location and behind each call."""
        trace, weighted = self.trace, self.weighted
        graph, times, places = weighted.graph, weighted.timeline.calls, weighted.timeline.locations
        local = graph.start[graph.returned]
        own = np.minimum(lags(trace, graph, weighted.model, inside=weighted.rounds)[local], times.leave - times.enter)
        rest = weighted.weight[local] - own
        begun = trace.links.kind == LAUNCH  # no lag is between a launch and what it begins: all behind both is computation
        known = begun | (trace.links.kind == EVENT)
        ready = times.enter.copy()
        np.maximum.at(ready, trace.links.effect[known], times.enter[trace.links.cause[known]])
        begins = np.unique(trace.links.effect[begun])
        rest[begins] = (times.leave - ready)[begins]
        behind = np.maximum(rest - np.minimum(np.maximum(rest, 0), work(trace, weighted.model)), 0)
        for post, done in self.elsewhere:  # what was posted on another location was not there before
            np.minimum.at(behind, done, np.maximum(times.leave[done] - times.leave[post], 0))
        if self.kept is not None:
            behind = np.zeros_like(behind)
        first = trace.first_calls.astype("i8")
        following = np.append(times.enter[1:], 0)
        filled = np.flatnonzero(np.diff(first))
        following[first[filled + 1] - 1] = places.leave[filled]
        behind = behind + np.maximum(following - times.leave, 0)
        for awaiting, _ in self.needs:
            self.forced[awaiting] = True
        call = np.flatnonzero((behind > 0) | self.forced)
        self.rows.add(CALC, call, _BEHIND, True, size=behind[call])
        entered = places.leave.copy()
        entered[filled] = times.enter[first[filled]]
        before = entered - int(places.enter.min(initial=0))
        some = np.flatnonzero(before > 0)
        numbers = self.rows.add(CALC, first[some], 0, True, size=before[some])
        self.alone = dict(zip(numbers.tolist(), some.tolist(), strict=True))
        """Locations of what comes before their first call."""

    def _whole(self) -> Schedule:
        """Return the rows in order, each needing the one before it on its location."""
        rows, trace = self.rows.whole(), self.trace
        begins = np.array(list(self.alone), "i8")
        rows["key"][begins] -= 1
        calls = trace.calls.location.astype("i8")
        location = np.append(calls, 0)[np.minimum(rows["key"] >> 1, len(calls))]
        location[begins] = list(self.alone.values())
        rank = self.process[location]
        order = np.lexsort((np.arange(len(rank)), rows["slot"], rows["key"], location, rank))
        new = np.empty(len(order), "i8")
        new[order] = np.arange(len(order))
        column = {name: values[order] for name, values in rows.items()}
        location = location[order]
        chained = np.flatnonzero(location[1:] == location[:-1])
        blocks = column["blocks"][chained] == 1
        parts = [(chained + 1, chained, ~blocks)]
        twin = np.flatnonzero(column["twin"])
        twin = twin[twin + 2 < len(location)]
        twin = twin[location[twin + 2] == location[twin]]
        parts.append((twin + 2, twin, np.zeros(len(twin), bool)))
        behind = np.full(len(calls), NONE, "i8")
        last = np.flatnonzero(column["slot"] == _BEHIND)
        behind[column["key"][last] >> 1] = last
        for awaiting, number in self.needs:
            parts.append((behind[awaiting], new[number], np.zeros(len(number), bool)))
        parts.append(self._linked(behind, location, column["key"]))
        op, on, starts = (np.concatenate(values) for values in zip(*parts, strict=True))
        made = Schedule(
            path=trace.path,
            ranks=self.ranks,
            kind=column["kind"].astype("u1"),
            rank=rank[order].astype("i4"),
            size=column["size"],
            peer=column["peer"].astype("i4"),
            tag=column["tag"].astype("i4"),
            cpu=self._units()[location],
            nic=np.zeros(len(location), "i4"),
            op=op.astype("i4"),
            on=on.astype("i4"),
            starts=_flags(starts),
        )
        return in_order(made)

    def _linked(self, behind: I8, location: I8, key: I8) -> tuple[I8, I8, Mask]:
        """Return the dependences that links are: what is behind the effect needs what is before the cause."""
        links, calls = self.trace.links, self.trace.calls
        cause, effect = links.cause[self.links].astype("i8"), links.effect[self.links].astype("i8")
        place = np.lexsort((key, location))
        wide = location[place] * _WIDE * 4 + key[place]
        found = np.searchsorted(wide, calls.location[cause].astype("i8") * _WIDE * 4 + 2 * cause + 1) - 1
        there = (found >= 0) & (location[place[np.maximum(found, 0)]] == calls.location[cause])
        return behind[effect[there]], place[found[there]], np.zeros(int(there.sum()), bool)

    def _units(self) -> Any:
        """Return the processor of each location: its number among those of its process."""
        order = np.argsort(self.process, kind="stable")
        of = self.process[order]
        out = np.empty(len(order), "i4")
        out[order] = np.arange(len(order)) - np.searchsorted(of, of)
        if out.max(initial=0) > MOST_UNIT:
            raise UsageError(f"{self.trace.path}: a process of {out.max() + 1} locations, must have at most {MOST_UNIT + 1} for GOAL")
        return out


def _flags(values: Mask) -> U1:
    return values.astype("u1")
