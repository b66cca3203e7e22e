"""A schedule to tables. Times are those of computation alone: every call returns when it is entered.

The operations of a rank are a graph, not a sequence: its streams (perwiz.kernels.goal_streams) are threads of the process on the
processor of the operations. A send or a receive whose completion nobody awaits at once is posted, and completed where it is awaited; what
one stream needs of another it awaits on a condition that the other signals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.goal.schedule import CALC, RECV, SEND, Schedule
from perwiz.kernels import goal_streams
from perwiz.trace import matching, operations
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.origin import UNTIMED
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
_BEFORE, _AWAITS, _STARTED, _OWN, _DONE, _LAST = range(6)
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


class _Builder:
    """Builds the tables step by step; each step uses what the ones before it made."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._place()
        self._list()

    def _place(self) -> None:
        """Put the operations into segments of streams, and number the streams as locations: by rank, processor, and as they came."""
        told, count = self.schedule, len(self.schedule)
        unit = np.concatenate([told.rank.astype("i8") * 256 + told.cpu, np.setdiff1d(np.arange(told.ranks), told.rank) * 256])
        self.units, home = np.unique(unit, return_inverse=True)
        most = len(self.units) + count + len(told.op)
        first = np.searchsorted(told.op, np.arange(count + 1)).astype("i4")
        per_op, per_segment = np.full((2, count), NONE, "i4"), np.full((6, most), NONE, "i4")
        self.segment, self.done = per_op
        following, self.need, self.opener, self.stream, self.index, owner = per_segment
        mark = np.full(2 * count, NONE, "i4")
        homes = home.ravel()[:count].astype("i4")
        ends = (mark, self.segment, self.done, following, self.need, self.opener, self.stream, self.index, owner)
        segments = goal_streams.place(len(self.units), told.kind, homes, first, told.on, told.starts, *ends)
        self.need, self.opener, self.stream, self.index = (c[:segments] for c in (self.need, self.opener, self.stream, self.index))
        streams = int(self.stream.max()) + 1
        order = np.argsort(owner[:streams], kind="stable")
        self.unit = self.units[owner[:streams][order]]
        number = np.empty(streams, "i4")
        number[order] = np.arange(streams, dtype="i4")
        self.stream = number[self.stream]

    def _list(self) -> None:
        """List the calls: posts and blocking calls, waits, and the ends of links; each at (location, index of its segment, operation)."""
        told, seg = self.schedule, self.segment
        waits = np.flatnonzero(self.need >= 0)
        needed, started = self.need[waits] >> 1, (self.need[waits] & 1).astype(bool)
        moves = told.kind[needed] != CALC
        completes = moves & ~started & (self.done[needed] == waits)
        linked: I8 = waits[~completes]
        cause_op, cause_starts = needed[~completes], started[~completes]
        of_wait = (told.kind[cause_op] != CALC) & ~cause_starts
        at = np.where(of_wait, self.done[cause_op], seg[cause_op])
        row = np.where(of_wait, self.opener[at], cause_op)
        slot = np.where(of_wait, _STARTED, np.where(cause_starts, _BEFORE, _DONE))
        key = np.stack([at.astype("i8"), row.astype("i8") * 8 + slot], 1)
        signals, cause = np.unique(key, axis=0, return_inverse=True) if len(key) else (key.reshape(0, 2), np.zeros(0, "i8"))
        self.cause: I8 = np.asarray(cause, "i8").ravel()
        self._late = int((of_wait & (self.index[at] > self.index[seg[cause_op]] + 1)).sum())

        own = np.flatnonzero(told.kind != CALC)
        pending = np.flatnonzero((self.done == NONE) & (told.kind != CALC))
        streams = len(self.unit)
        ending = np.unique(self.stream[seg[pending]])
        op, merged = self._merged(own, waits[completes], needed[completes])
        alone = waits[completes][~merged[needed[completes]]]
        own_waits, group = self._together(alone, signals[:, 0])
        several = np.bincount(group, minlength=len(own_waits)) > 1
        waiting = np.where(several, operations.OP["MPI_Waitall"], operations.OP["MPI_Wait"])
        parts: list[tuple[Any, Any, Any, Any, Any]] = [  # location, index of the segment, operation and slot, op, row it is of
            (self.stream[seg[own]], self.index[seg[own]], own * 8 + _OWN, op, own),
            (self.stream[own_waits], self.index[own_waits], np.full(len(own_waits), -1), waiting, own_waits),
            (self.stream[linked], self.index[linked], np.full(len(linked), -1), "pthread_cond_wait", linked),
            (self.stream[signals[:, 0]], self.index[signals[:, 0]], signals[:, 1], "pthread_cond_signal", np.arange(len(signals))),
            (ending, np.full(len(ending), 1 << 30), np.zeros(len(ending), "i8"), "MPI_Waitall", ending),
        ]
        sizes = [len(part[0]) for part in parts]
        location, index, place = (np.concatenate([np.asarray(part[k], "i8") for part in parts]) for k in range(3))
        names = [np.broadcast_to(operations.OP[part[3]] if isinstance(part[3], str) else part[3], len(part[0])) for part in parts]
        order = np.lexsort((place, index, location))
        new = np.empty(len(order), "i4")
        new[order] = np.arange(len(order), dtype="i4")
        self.location, self.ops = location[order].astype("i4"), np.concatenate(names)[order].astype("u2")
        self.of = np.full(len(order), NONE, "i4")
        posted, waited, conds, signalled, ended = np.split(new, np.cumsum(sizes)[:-1])
        self.of[posted] = own
        self.call = np.full(len(told), NONE, "i4")
        self.call[own] = posted
        completion = np.full(len(told), NONE, "i4")
        completion[own] = posted
        completion[self.need[alone] >> 1] = waited[group]
        last = np.full(streams, NONE, "i4")
        last[ending] = ended
        completion[pending] = last[self.stream[seg[pending]]]
        self.completion, self.merged = completion, merged
        self.links = Links.in_order(np.full(len(conds), SIGNAL, "u1"), signalled[self.cause], conds)
        self._times(location[order], index[order], place[order])

    def _together(self, alone: I8, signalling: I8) -> tuple[I8, I8]:
        """Return the segments that begin with a wait, and which of these waits each of some segments shares: one operation awaits all,
        and nothing happens between.
        """
        empty = np.ones(len(self.stream), bool)
        empty[self.segment] = empty[signalling] = False
        order = alone[np.lexsort((self.index[alone], self.stream[alone]))]
        before, after = order[:-1], order[1:]
        joined = (self.stream[before] == self.stream[after]) & (self.index[before] + 1 == self.index[after])
        joined &= empty[before] & (self.opener[before] == self.opener[after])
        begins = np.concatenate([np.ones(min(len(order), 1), bool), ~joined])
        group = np.empty(len(self.stream), "i8")
        group[order] = np.cumsum(begins) - 1
        return order[begins], group[alone]

    def _merged(self, own: I8, waits: I8, needed: I8) -> tuple[I8, Mask]:
        """Return the routine of each send and receive, and which operations are awaited right behind their post, bool per operation.

        These block: nothing of their segment comes behind them, and the next one awaits them.
        """
        told = self.schedule
        last = np.full(len(self.stream), NONE, "i8")
        np.maximum.at(last, self.segment, np.arange(len(told)))
        right = (last[self.segment[needed]] == needed) & (self.index[waits] == self.index[self.segment[needed]] + 1)
        right &= self.stream[waits] == self.stream[self.segment[needed]]
        merged = np.zeros(len(told), bool)
        merged[needed[right]] = True
        sends, blocks = told.kind[own] == SEND, merged[own]
        name = {text: operations.OP[f"MPI_{text}"] for text in ("Send", "Isend", "Recv", "Irecv")}
        blocking, posting = np.where(sends, name["Send"], name["Recv"]), np.where(sends, name["Isend"], name["Irecv"])
        return np.where(blocks, blocking, posting), merged

    def _times(self, location: I8, index: I8, place: I8) -> None:
        """Find when each call would be entered if calls took no time, ns, and how long each stream computes."""
        told = self.schedule
        calc = np.flatnonzero(told.kind == CALC)
        seg = self.segment[calc]
        columns = (location, self.stream[seg]), (index, self.index[seg]), (place, calc * 8 + _OWN)
        where = np.lexsort(tuple(np.concatenate(pair) for pair in reversed(columns)))
        took = np.concatenate([np.zeros(len(location), "i8"), told.size[calc]])[where]
        of = np.concatenate([location, self.stream[seg]])[where]
        total = np.concatenate([[0], np.cumsum(took)])
        first = np.searchsorted(of, np.arange(len(self.unit) + 1))
        self.ended = total[first[1:]] - total[first[:-1]]
        is_call = where < len(location)
        self.enter = np.empty(len(location), "i8")
        self.enter[where[is_call]] = (total[:-1] - total[first[:-1]][of])[is_call]

    def trace(self) -> Trace:
        """Return the trace."""
        told, streams = self.schedule, len(self.unit)
        calls, requests = self._calls(), self._requests()
        messages, counts = self._messages()
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
