"""Which OTF2 records the messages, requests and collectives of a trace become, and in which call each lies."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats import message_ends
from perwiz.kernels import records
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, U1, Ints, Mask, chunks
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Ranks, Timeline, Trace

UNKNOWN = 0
"""Stands for the kind of a request that no OTF2 record posts."""


@dataclasses.dataclass
class Side:
    """The records of one side of all messages, matched or not, in the order they are written: one row a record.

    Sends stand in the order of their requests, receives in that of their times.
    """

    call: I4
    """Call that sends, or that posts the receive."""
    done: I4
    """Call that completes it, -1 unknown; the record of a receive lies in it."""
    message: I4
    """Row of messages, -1 none."""
    request: I4
    """Row of requests, -1 for a blocking record."""
    peer: I4
    """Process of the partner."""
    tag: I4
    comm: I4
    """Communicator of the record, one that knows both processes."""
    rank: I4
    """Rank of the partner in it."""
    bytes: I8
    time: I8
    """When it is written, ns."""


@dataclasses.dataclass
class Items:
    """Records inside calls, in the order they are written: the call, the kind, and the row of the side or table it is made of."""

    call: I4
    kind: U1
    row: I4


class Partners:
    """All records of message ends, requests and collectives of one trace."""

    def __init__(self, trace: Trace, timeline: Timeline) -> None:
        self.trace, self._timeline, self._times = trace, timeline, timeline.calls
        self.ranks = Ranks(trace.communicators)
        self.process = trace.processes_of_calls
        self.kind = np.full(len(trace.requests), UNKNOWN, "u1")
        """Kind of the record that posts each request."""
        self.collective = self._collective()
        """Per call: it has a blocking collective record."""
        sent, received = message_ends.requests_of_messages(trace)
        self.receives = self._receives(received)
        self.sends = self._sends(sent)
        self._other_posts()
        self.completed = self._completed()
        """Per request the call where a record completes it, -1 none does."""
        self._late_receives()
        self.posts, self.dones = self._posts(), self._dones()
        self.tests = self._tests()

    def _collective(self) -> Mask:
        calls, requests = self.trace.calls, self.trace.requests
        does = operations.COLLECTIVE[calls.op] & (calls.comm >= 0)
        later = does[requests.posted_by] & operations.NONBLOCKING[calls.op[requests.posted_by]]
        first = np.flatnonzero(later & _first(requests.posted_by))
        self.kind[first] = records.NONBLOCKING_REQUEST
        does[requests.posted_by[first]] = False
        return does

    def _receives(self, request: Ints) -> Side:
        calls, messages, requests = self.trace.calls, self.trace.messages, self.trace.requests
        self.kind[request[request >= 0]] = records.IRECV_REQUEST
        unused = operations.KIND[calls.op[requests.posted_by]] == operations.IRECV
        self.kind[unused] = records.IRECV_REQUEST
        unused[request[request >= 0]] = False
        lost = message_ends.lost_receives(self.trace).astype("i4")
        open_ = _rows(unused & (requests.completed_by >= 0) & (requests.cancelled == 0) & (calls.peer[requests.posted_by] >= 0))
        call = np.concatenate([messages.receive, lost, requests.posted_by[open_]])
        done = np.concatenate([messages.receive_done, lost, requests.completed_by[open_]])
        source = self.process[messages.send]
        return self._side(call, done, np.concatenate([request, _none(len(lost)), open_]), source, sends=False)

    def _sends(self, request: Ints) -> Side:
        calls, messages, requests = self.trace.calls, self.trace.messages, self.trace.requests
        self.kind[request[request >= 0]] = records.ISEND
        lost = message_ends.lost_sends(self.trace).astype("i4")
        nearest = np.minimum(np.searchsorted(requests.posted_by, lost), max(len(requests) - 1, 0))
        own = _none(len(lost))
        if len(requests):
            free = (requests.posted_by[nearest] == lost) & (self.kind[nearest] == UNKNOWN)
            free &= operations.KIND[calls.op[lost]] == operations.ISEND
            own[free] = nearest[free]
        self.kind[own[own >= 0]] = records.ISEND
        call = np.concatenate([messages.send, lost])
        done = np.concatenate([messages.send_done, np.where(own >= 0, requests.completed_by[own] if len(requests) else own, lost)])
        return self._side(call, done, np.concatenate([request, own]), self.process[messages.receive], sends=True)

    def _side(self, call: I4, done: I4, request: I4, partner: I4, sends: bool) -> Side:
        """Return a side: first a row per message, then the lost ends, sorted by the call that holds the record."""
        calls, messages = self.trace.calls, self.trace.messages
        count = len(messages)
        lost = call[count:]
        peer = np.concatenate([partner, calls.peer[lost]])
        comm, rank = self._known(np.concatenate([messages.comm, calls.comm[lost]]), self.process[call], peer)
        time = self._recorded(lost, done[count:], sends)
        order = np.lexsort((request, call) if sends else (request, time, done))
        order = order[rank[order] >= 0]
        size = calls.bytes_sent[lost] if sends else _lost_bytes(self.trace, done[count:])
        return Side(
            call=call[order],
            done=done[order],
            message=np.append(np.arange(count, dtype="i4"), _none(len(lost)))[order],
            request=request[order],
            peer=peer[order],
            tag=np.concatenate([messages.tag, calls.tag[lost]])[order],
            comm=comm[order],
            rank=rank[order],
            bytes=np.concatenate([messages.bytes, size])[order],
            time=time[order],
        )

    def _recorded(self, lost: I4, done: I4, sends: bool) -> I8:
        """Return when the ends of messages are written, and behind them lost ones, ns."""
        sent, received = message_ends.record_times(self.trace, self._timeline)
        return np.concatenate([sent, self._times.enter[lost]] if sends else [received, self._times.leave[done]])

    def _known(self, comm: I4, own: I4, peer: I4) -> tuple[I4, I4]:
        """Return a communicator that both processes belong to, the world if not this one, and the rank of the peer in it."""
        out, rank = np.empty(len(comm), "i4"), np.empty(len(comm), "i4")
        for some in chunks(len(comm)):
            this, mine, its = comm[some], own[some], peer[some]
            out[some] = np.where((this >= 0) & (self.ranks.of(this, mine) >= 0) & (self.ranks.of(this, its) >= 0), this, 0)
            rank[some] = self.ranks.of(out[some], its)
        return out, rank

    def _other_posts(self) -> None:
        """Requests of receives that are left out, because nobody knows the partner, have no record."""
        dropped = np.ones(len(self.kind), bool)
        for side in (self.sends, self.receives):
            dropped[side.request[side.request >= 0]] = False
        self.kind[dropped & (self.kind == records.ISEND)] = UNKNOWN

    def _completed(self) -> I4:
        requests, calls = self.trace.requests, self.trace.calls
        done = requests.completed_by.copy()
        received = np.zeros(len(requests), bool)
        received[self.receives.request[self.receives.request >= 0]] = True
        quiet = (self.kind == UNKNOWN) | ((self.kind == records.IRECV_REQUEST) & ~received & (requests.cancelled == 0))
        done[quiet | (done < requests.posted_by)] = NONE
        if len(calls):
            done[calls.location[done] != calls.location[requests.posted_by]] = NONE
        return done

    def _late_receives(self) -> None:
        """A receive whose request another location completes is written as a blocking one."""
        side = self.receives
        rows = np.flatnonzero(side.request >= 0)
        side.request[rows[self.completed[side.request[rows]] != side.done[rows]]] = NONE

    def _posts(self) -> Items:
        requests, sends = self.trace.requests, self.sends
        blocking = _either(sends.request >= 0, records.ISEND, records.SEND)
        others = _rows((self.kind != records.ISEND) & (self.kind != UNKNOWN))
        call = np.concatenate([sends.call, requests.posted_by[others]])
        kind = np.concatenate([blocking, self.kind[others]])
        rows = np.concatenate([np.arange(len(sends.call), dtype="i4"), others])
        return _items(call, kind, rows, np.concatenate([sends.request, others]))

    def _dones(self) -> Items:
        requests, receives = self.trace.requests, self.receives
        blocking = _either(receives.request >= 0, records.IRECV, records.RECV)
        left = self.completed >= 0
        left[receives.request[receives.request >= 0]] = False
        others = _rows(left)
        kind = _either(self.kind[others] == records.ISEND, records.ISEND_COMPLETE, records.NONBLOCKING_COMPLETE)
        kind[requests.cancelled[others] > 0] = records.REQUEST_CANCELLED
        call = np.concatenate([receives.done, self.completed[others]])
        rows = np.concatenate([np.arange(len(receives.call), dtype="i4"), others])
        time = np.concatenate([receives.time, self._times.leave[self.completed[others]]])
        return _items(call, np.concatenate([blocking, kind]), rows, time, np.concatenate([receives.request, others]))

    def _tests(self) -> Items:
        """Return the records of unfinished tests; a request whose records are elsewhere has none."""
        table, requests, calls = self.trace.unfinished, self.trace.requests, self.trace.calls
        posted, done = requests.posted_by[table.request], self.completed[table.request]
        fits = (self.kind[table.request] != UNKNOWN) & (posted <= table.call) & ((done < 0) | (done >= table.call))
        fits &= calls.location[posted] == calls.location[table.call]
        good = _rows(fits)
        return _items(table.call[good], np.full(len(good), records.REQUEST_TEST, "u1"), table.request[good], good)


def _first(ordered: Ints) -> Mask:
    """Return which values of an ordered array are the first of their kind."""
    return np.diff(ordered, prepend=-1) != 0


def _items(call: I4, kind: U1, rows: I4, *keys: Ints) -> Items:
    """Return items sorted by call and keys."""
    order = np.lexsort((*keys[::-1], call))
    return Items(call[order], kind[order], rows[order])


def _rows(which: Mask) -> I4:
    return np.flatnonzero(which).astype("i4")


def _none(rows: int) -> I4:
    return np.full(rows, NONE, "i4")


def _either(which: Mask, one: int, other: int) -> U1:
    """Return one kind of records where a mask is set, another elsewhere."""
    return np.where(which, np.uint8(one), np.uint8(other))


def _lost_bytes(trace: Trace, done: Ints) -> Ints:
    """Return the bytes of receives that no message tells: the first completed by a call gets what the messages leave over."""
    left = trace.calls.bytes_received.copy()
    np.subtract.at(left, trace.messages.receive_done, trace.messages.bytes)
    out = np.zeros(len(done), "i8")
    calls, first = np.unique(done, return_index=True)
    out[first] = np.maximum(left[calls], 0)
    return out
