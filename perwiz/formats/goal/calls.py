"""A schedule to tables. Times are those of computation alone: every call returns when it is entered.

The operations of a rank are a graph, not a sequence: its streams (perwiz.kernels.goal_streams) are threads of the process on the
processor of the operations. A send or a receive whose completion nobody awaits at once is posted, and completed where it is awaited; what
one stream needs of another it awaits on a condition that the other signals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.goal.schedule import CALC, RECV, SEND, Schedule
from perwiz.kernels import goal_streams
from perwiz.kernels import order as grouping
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.origin import UNTIMED
from perwiz.trace.resources import at_once
from perwiz.trace.tables import (
    ANY,
    NONE,
    PROCESS,
    SIGNAL,
    STANDARD,
    THREAD,
    Calls,
    Collectives,
    Defects,
    Labels,
    Links,
    Locations,
    Members,
    Messages,
    Offsets,
    Paths,
    Regions,
    Requests,
    Times,
)
from perwiz.trace.trace import NEEDS, Communicators, Counts, Timeline, Trace

_LONGEST = 2**60
_BEFORE, _STARTED, _OWN, _DONE = range(4)
"""Where a call stands among those of one operation."""
FREE = "operations put behind waits that they do not need"
"""Key of Trace.properties."""


def trace(schedule: Schedule) -> Trace:
    """Return the trace of a schedule. Raises TraceError for several network interfaces, and where all takes longer than 2^60 ns."""
    several = np.flatnonzero(schedule.nic)
    if len(several):
        k = int(several[0])
        what = f"an operation of rank {schedule.rank[k]} on network interface {schedule.nic[k]}"
        raise TraceError(f"{schedule.path}: {what}, must be on 0: a process has one")
    if float(schedule.size[schedule.kind == CALC].sum(dtype="f8")) >= _LONGEST:
        raise TraceError(f"{schedule.path}: operations take 2^60 ns and more together, must take less")
    return _Builder(schedule).trace()


class _Signals(NamedTuple):
    """Signals, by key: an operation and where it stands among the calls of one."""

    segment: I4
    key: I8
    of_wait: I8
    """Which of them each wait on a condition waits for."""


class _Streams:
    """Where operations stand: in segments of streams, of which each awaits something, in the order of these. Streams are locations."""

    def __init__(self, told: Schedule) -> None:
        """Put the operations into segments of streams, and number the streams as locations: by rank, processor, and as they came."""
        count = len(told)
        idle = np.flatnonzero(np.diff(np.searchsorted(told.rank, np.arange(told.ranks + 1))) == 0)
        unit = np.concatenate([told.rank.astype("i8") * 256 + told.cpu, idle * 256])
        runs = np.flatnonzero(np.diff(unit, prepend=NONE))
        units, of_run = np.unique(unit[runs], return_inverse=True)
        home = np.repeat(of_run.astype("i4"), np.diff(runs, append=len(unit)))
        most = len(units) + count + len(told.op)
        first = _begins(np.bincount(told.op, minlength=count)).astype("i4")
        self.segment, self.done = np.full((2, count), NONE, "i4")
        following, need, opener, stream, index, owner = np.empty((6, most), "i4")
        mark = np.full(2 * count, NONE, "i4")
        ends = (mark, self.segment, self.done, following, need, opener, stream, index, owner)
        segments = goal_streams.place(len(units), told.kind, home[:count], first, told.on, told.starts, *ends)
        self.need, self.opener, self.stream, self.index = (column[:segments].copy() for column in (need, opener, stream, index))
        streams = int(self.stream.max()) + 1
        order = np.argsort(owner[:streams], kind="stable")
        self.unit = units[owner[:streams][order]]
        number = np.empty(streams, "i4")
        number[order] = np.arange(streams, dtype="i4")
        self.stream = number[self.stream]
        begins = _begins(np.bincount(self.stream, minlength=streams))
        self.place = (begins[self.stream] + self.index).astype("i4")
        self.last: I8 = begins[1:] - 1


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        streams = _Streams(schedule)
        self.unit = streams.unit
        self._list(streams)

    def _list(self, at: _Streams) -> None:
        """List the calls: posts and blocking calls, waits, and the ends of links; each in its segment, waits before operations."""
        told, seg = self.schedule, at.segment
        waits = np.flatnonzero(at.need >= 0)
        needed, started = at.need[waits] >> 1, (at.need[waits] & 1).astype(bool)
        moves = told.kind[needed] != CALC
        completes = moves & ~started & (at.done[needed] == waits)
        linked: I8 = waits[~completes]
        signals = self._signals(at, needed[~completes], started[~completes])
        own = np.flatnonzero(told.kind != CALC)
        pending = np.flatnonzero((at.done == NONE) & (told.kind != CALC))
        ending = np.flatnonzero(np.bincount(at.stream[seg[pending]], minlength=len(at.unit)))
        op, merged = self._merged(at, own, waits[completes], needed[completes])
        alone = waits[completes][~merged[needed[completes]]]
        own_waits, group = self._together(at, alone, signals.segment)

        posted, waited, conds, signalled, ended = self._rows(at, own, own_waits, linked, signals, ending)
        self.ops, self.of = np.empty(len(self.enter), "u2"), np.full(len(self.enter), NONE, "i4")
        several = np.bincount(group, minlength=len(own_waits)) > 1
        self.ops[posted] = op
        self.ops[waited] = np.where(several, operations.OP["MPI_Waitall"], operations.OP["MPI_Wait"])
        self.ops[conds], self.ops[signalled] = operations.OP["pthread_cond_wait"], operations.OP["pthread_cond_signal"]
        self.ops[ended] = operations.OP["MPI_Waitall"]
        self.of[posted] = own
        self.call = np.full(len(told), NONE, "i4")
        self.call[own] = posted
        completion = np.full(len(told), NONE, "i4")
        completion[own] = posted
        completion[at.need[alone] >> 1] = waited[group]
        last = np.full(len(at.unit), NONE, "i4")
        last[ending] = ended
        completion[pending] = last[at.stream[seg[pending]]]
        self.completion, self.merged = completion, merged
        self.links = Links.in_order(np.full(len(conds), SIGNAL, "u1"), signalled[signals.of_wait], conds)

    def _signals(self, at: _Streams, op: I4, started: Mask) -> _Signals:
        """Return what signals the conditions of waits for the start of operations, or for their completion."""
        at_wait = (self.schedule.kind[op] != CALC) & ~started
        segment = np.where(at_wait, at.done[op], at.segment[op])
        key = np.where(at_wait, at.opener[segment], op).astype("i8") * 8 + np.where(at_wait, _STARTED, np.where(started, _BEFORE, _DONE))
        self._late = int((at_wait & (at.index[segment] > at.index[at.segment[op]] + 1)).sum())
        order = np.lexsort((segment, key))
        segment, key = segment[order], key[order]
        first = np.ones(len(order), bool)
        first[1:] = (segment[1:] != segment[:-1]) | (key[1:] != key[:-1])
        of_wait = np.empty(len(order), "i8")
        of_wait[order] = np.cumsum(first) - 1
        return _Signals(segment[first], key[first], of_wait)

    def _rows(self, at: _Streams, own: I8, own_waits: I8, linked: I8, signals: _Signals, ending: I8) -> tuple[I4, I4, I4, I4, I4]:
        """Return the rows of posts, waits for completions and on conditions, signals, and waits at the end of streams.

        All, computation with them, are put into their segments in this order, operations and signals by their key.
        """
        told, waits = self.schedule, len(own_waits) + len(linked)
        signal = waits + (signals.key - _OWN + 7) // 8 + np.arange(len(signals.key))
        is_op = np.ones(waits + len(told) + len(signals.key) + len(ending), bool)
        is_op[:waits] = is_op[signal] = is_op[len(is_op) - len(ending) :] = False
        item = np.flatnonzero(is_op).astype("i4")
        place = np.empty(len(is_op), "i4")
        place[: len(own_waits)], place[len(own_waits) : waits] = at.place[own_waits], at.place[linked]
        place[item], place[signal] = at.place[at.segment], at.place[signals.segment]
        place[len(place) - len(ending) :] = at.last[ending]
        position, begins = _grouped(place, len(at.place))
        del place
        row = self._times(item[told.kind == CALC], position, begins[np.append(0, at.last + 1)])
        parts = (item[told.kind != CALC], slice(len(own_waits)), slice(len(own_waits), waits), signal, slice(len(row) - len(ending), None))
        posted, waited, conds, signalled, ended = (row[part] for part in parts)
        return posted, waited, conds, signalled, ended

    def _times(self, computes: I4, position: I4, first: I8) -> I4:
        """Return the row of each item, if it is a call; find when it would be entered if calls took no time, ns, and what streams compute.

        `computes` are the items that are computation, `position` is where each item is put, `first` where the first of each stream is.
        """
        total, calls = np.zeros(len(position) + 1, "i8"), np.ones(len(position), bool)
        total[position[computes] + 1] = self.schedule.size[self.schedule.kind == CALC]
        np.cumsum(total, out=total)
        calls[position[computes]] = False
        before, entered = total[first[:-1]], np.flatnonzero(calls)
        self.ended = total[first[1:]] - before
        number = np.diff(np.searchsorted(entered, first))
        self.location = np.repeat(np.arange(len(number), dtype="i4"), number)
        self.enter = total[entered] - before[self.location]
        del total, entered
        return (np.cumsum(calls, dtype="i4") - 1)[position]

    def _together(self, at: _Streams, alone: I8, signalling: I4) -> tuple[I8, I8]:
        """Return the segments that begin with a wait, and which of these waits each of some segments shares: one operation awaits all,
        and nothing happens between.
        """
        empty = np.ones(len(at.stream), bool)
        empty[at.segment] = empty[signalling] = False
        order = alone[np.argsort(at.place[alone], kind="stable")]
        before, after = order[:-1], order[1:]
        joined = (at.stream[before] == at.stream[after]) & (at.place[before] + 1 == at.place[after])
        joined &= empty[before] & (at.opener[before] == at.opener[after])
        begins = np.concatenate([np.ones(min(len(order), 1), bool), ~joined])
        group = np.empty(len(at.stream), "i8")
        group[order] = np.cumsum(begins) - 1
        return order[begins], group[alone]

    def _merged(self, at: _Streams, own: I8, waits: I8, needed: I4) -> tuple[I8, Mask]:
        """Return the routine of each send and receive, and which operations are awaited right behind their post, bool per operation.

        These block: nothing of their segment comes behind them, and the next one awaits them.
        """
        told = self.schedule
        last = np.full(len(at.stream), NONE, "i4")
        last[at.segment] = np.arange(len(told), dtype="i4")
        right = (last[at.segment[needed]] == needed) & (at.place[waits] == at.place[at.segment[needed]] + 1)
        right &= at.stream[waits] == at.stream[at.segment[needed]]
        merged = np.zeros(len(told), bool)
        merged[needed[right]] = True
        sends, blocks = told.kind[own] == SEND, merged[own]
        name = {text: operations.OP[f"MPI_{text}"] for text in ("Send", "Isend", "Recv", "Irecv")}
        blocking, posting = np.where(sends, name["Send"], name["Recv"]), np.where(sends, name["Isend"], name["Irecv"])
        return np.where(blocks, blocking, posting), merged

    def trace(self) -> Trace:
        """Return the trace."""
        told, streams = self.schedule, len(self.unit)
        calls, requests, (messages, counts) = at_once((self._calls, self._requests, self._messages), len(told))
        process = (self.unit >> 8).astype("i4")
        begins = np.concatenate([[0], np.cumsum(np.bincount(process, minlength=told.ranks))[:-1]])
        thread = (np.arange(streams) - begins[process]).astype("i4")
        zero, world = np.zeros(streams, "i4"), np.arange(told.ranks, dtype="i4")
        kind = np.where(thread == 0, PROCESS, THREAD).astype("u1")
        cpu = (self.unit & 255).astype("i4")
        untimed = Timeline(Times(self.enter, self.enter), Times.empty(), Times(np.zeros(streams, "i8"), self.ended), UNTIMED)
        return Trace(
            path=told.path,
            format="GOAL",
            locations=Locations(zero, np.full(streams, NONE, "i4"), process, thread, cpu, kind),
            communicators=Communicators(("MPI_COMM_WORLD",), np.array([0, told.ranks], "i8"), world),
            names=(),
            parallel=np.zeros(0, bool),
            paths=Paths.empty(),
            calls=calls,
            requests=requests,
            regions=Regions.empty(),
            messages=messages,
            collectives=Collectives.empty(),
            members=Members.empty(),
            timeline=untimed,
            labels=Labels.empty(),
            texts=(),
            nodes=(),
            offsets=Offsets.empty(),
            defects=Defects.empty(),
            counts=counts,
            properties={NEEDS: "a schedule in GOAL tells which operations need which"} | ({FREE: str(self._late)} if self._late else {}),
            links=self.links,
        )

    def _calls(self) -> Calls:
        told, of = self.schedule, self.of
        moves = of >= 0
        row = np.where(moves, of, 0)
        if not len(told):
            return Calls.empty()
        none = np.full(len(of), NONE, "i4")

        def column(values: Any, other: int) -> Any:
            return np.where(moves, values[row], other).astype(values.dtype)

        sends = moves & (told.kind[row] == SEND)
        size = column(told.size, 0)
        return Calls(
            location=self.location,
            op=self.ops,
            path=none,
            peer=column(told.peer, NONE),
            tag=column(told.tag, NONE),
            comm=np.where(moves, 0, NONE).astype("i4"),
            root=none,
            bytes_sent=np.where(sends, size, 0),
            bytes_received=np.where(sends, 0, size),
        )

    def _requests(self) -> Requests:
        posted = np.flatnonzero((self.call >= 0) & ~self.merged)
        rows = posted[np.argsort(self.call[posted], kind="stable")]
        return Requests(self.call[rows], self.completion[rows], np.zeros(len(rows), "u1"))

    def _messages(self) -> tuple[Messages, Counts]:
        """Return the messages, in the order of the operations first in, first out; a receive of any takes what named ones leave."""
        told = self.schedule
        sends, receives = np.flatnonzero(told.kind == SEND), np.flatnonzero(told.kind == RECV)
        taken = np.full(len(receives), NONE, "i4")
        free = np.ones(len(sends), bool)
        any_peer, any_tag = told.peer[receives] == ANY, told.tag[receives] == ANY
        for peer, tag in ((False, False), (True, False), (False, True), (True, True)):
            rows, left = np.flatnonzero((any_peer == peer) & (any_tag == tag)), np.flatnonzero(free)
            if not len(rows) or not len(left):
                continue
            of, to = sends[left], receives[rows]
            sent = [told.peer[of], *([] if peer else [told.rank[of]]), *([] if tag else [told.tag[of]])]
            got = [told.rank[to], *([] if peer else [told.peer[to]]), *([] if tag else [told.tag[to]])]
            zeros = [np.zeros(len(of), "i4")] * (4 - len(sent)), [np.zeros(len(to), "i4")] * (4 - len(sent))
            found = matching.fifo([*sent, *zeros[0]], [*got, *zeros[1]])
            taken[rows] = np.where(found >= 0, left[np.maximum(found, 0)], NONE)
            free[left[found[found >= 0]]] = False
        rows = np.flatnonzero(taken >= 0)
        rows = rows[np.argsort(self.call[sends[taken[rows]]], kind="stable")]
        of, to = sends[taken[rows]], receives[rows]
        none = np.zeros(len(rows), "i8")
        table = Messages(
            send=self.call[of],
            send_done=self.completion[of],
            receive=self.call[to],
            receive_done=self.completion[to],
            tag=told.tag[of],
            comm=np.zeros(len(rows), "i4"),
            mode=np.full(len(rows), STANDARD, "u1"),
            bytes=told.size[of],
            sent_after=none,
            received_before=none,
        )
        counts = Counts(
            records=len(told),
            states=len(self.ops),
            sends=len(sends),
            receives=len(receives),
            unmatched_sends=len(sends) - len(rows),
            unmatched_receives=len(receives) - len(rows),
            size_differs=int((told.size[of] != told.size[to]).sum()),
        )
        return table, counts


def _begins(sizes: I8) -> I8:
    """Return where each of some parts, one behind the other, begins, and where the last one ends."""
    out = np.zeros(len(sizes) + 1, "i8")
    np.cumsum(sizes, out=out[1:])
    return out


def _grouped(key: I4, keys: int) -> tuple[I4, I8]:
    """Return where each row is put by its key, among those of one in their order, and where those of each of so many keys begin."""
    order, begins = np.empty(len(key), "i4"), _begins(np.bincount(key, minlength=keys))
    grouping.group(key, begins[:-1].astype("i4"), order)
    position = np.empty(len(key), "i4")
    position[order] = np.arange(len(key), dtype="i4")
    return position, begins
