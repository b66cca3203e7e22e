# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Operations of ranks, simulated event by event: what the simulators of schedules share. What happens in an event is theirs.

Processors and network interfaces take operations as they are free. Operation k has the event k, when it can be begun, and others from the
number of operations on, such as when its message is there.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import goal_lines

_SEND = cython.declare(cython.int, goal_lines.SEND)
_NONE = cython.declare(cython.int, -1)
_ANY = cython.declare(cython.int, -2)
if not cython.compiled:
    Operation = Queue = None

COLLECTIVE = 4
"""Kind of an operation, beside those of GOAL: the part of a rank in a collective, which only Dimemas has as such."""
OPERATION = np.dtype(
    [
        *((name, "i4") for name in ("kind", "rank", "peer", "tag", "cpu", "nic", "queue", "waits", "needs")),
        *((name, "i4") for name in ("first_done", "end_done", "first_started", "end_started")),
        *((name, "i8") for name in ("busy", "gap", "flight", "takes", "taken_gap", "since")),
    ],
    align=True,
)
"""`queue` is where a message and its receive look for each other, the same for all that may match. `waits`: the sender is held until its
message is received, of a receive, that it lets go whom it took. `needs` operations come before; first .. end are the rows of the lists
of those that need its completion and its start. ns: a send keeps its processor `busy` and its interface for `gap`, its message is there
after `flight`, keeps the receiver's processor for `takes` and its interface for `taken_gap`. What it needs is done `since`, first 0."""
EVENT = np.dtype([("time", "i8"), ("turn", "i8"), ("number", "i4")], align=True)
"""An event, and its turn among those of the same time."""
QUEUE = np.dtype([("first", "i4"), ("last", "i4")])
"""A list of operations, -1 none."""


def queues(rows: int) -> np.recarray:
    """Return so many empty queues."""
    out = np.zeros(rows, QUEUE).view(np.recarray)
    out.first = out.last = _NONE
    return out


@cython.cclass
class Events:
    """What is to come. Operations are sorted by rank; `listed` names those that need others, see OPERATION. Each rank has so many
    processors and interfaces, which are `free` at last at some time, ns. A message that was received and its receive name each other in
    `following`. `done` counts the operations that are, `unreceived` the messages that nobody received.
    """

    def __init__(
        self,
        ops: Operation[::1],
        listed: cython.const[cython.int][::1],
        ranks: cython.int,
        processors: cython.int,
        interfaces: cython.int,
        events: cython.int,
    ) -> None:
        """Prepare a simulation; an operation has so many `events` to come at once at most."""
        self.ops, self.listed, self.count = ops, listed, len(ops)
        self.ranks, self.processors, self.interfaces = ranks, processors, interfaces
        self.free = np.zeros(ranks * processors, "i8")
        self.sending, self.taking = np.zeros(ranks * interfaces, "i8"), np.zeros(ranks * interfaces, "i8")
        last: cython.int = 0
        for k in range(len(ops)):
            last = max(last, ops[k].queue)
        self.posted, self.unexpected = queues(last + 1), queues(last + 1)
        self.following, self.ready = np.full(len(ops), _NONE, "i4"), np.zeros(len(ops), "i4")
        self.heap = np.zeros(events * len(ops) + 1, EVENT).view(np.recarray)
        self.readied = self.events = 0
        self.turn = self.done = self.unreceived = 0

    def run(self) -> None:
        """Simulate until nothing is to come."""
        self.begin()
        while self.events > 0:
            time = self.heap[0].time
            turn = self.heap[0].turn
            number: cython.Py_ssize_t = self.heap[0].number
            self.drop_first()
            self.readied = 0
            self.happen(time, turn, number)

    @cython.cfunc
    @cython.exceptval(check=False)
    def begin(self) -> cython.void:
        """Make events of the operations that need nothing."""
        for k in range(self.count):
            if self.ops[k].needs == 0:
                self.add(0, k)

    @cython.cfunc
    @cython.exceptval(check=False)
    def happen(self, time: cython.longlong, turn: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an event happen: each simulator has its own."""

    @cython.cfunc
    @cython.exceptval(check=False)
    def less(self, i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.bint:
        """Return whether an event of the heap comes before another."""
        a, b = self.heap[i].time, self.heap[k].time
        return a < b or (a == b and self.heap[i].turn < self.heap[k].turn)

    @cython.cfunc
    @cython.exceptval(check=False)
    def swap(self, i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.void:
        """Let two events of the heap change places."""
        time, turn, number = self.heap[i].time, self.heap[i].turn, self.heap[i].number
        self.heap[i].time, self.heap[i].turn, self.heap[i].number = self.heap[k].time, self.heap[k].turn, self.heap[k].number
        self.heap[k].time, self.heap[k].turn, self.heap[k].number = time, turn, number

    @cython.cfunc
    @cython.exceptval(check=False)
    def push(self, time: cython.longlong, turn: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an event come, at its turn among those of the same time."""
        k: cython.Py_ssize_t = self.events
        self.events += 1
        self.heap[k].time, self.heap[k].turn, self.heap[k].number = time, turn, cython.cast(cython.int, number)
        while k > 0 and self.less(k, (k - 1) // 2):
            self.swap(k, (k - 1) // 2)
            k = (k - 1) // 2

    @cython.cfunc
    @cython.exceptval(check=False)
    def add(self, time: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an event come, behind all others of the same time."""
        self.push(time, self.turn, number)
        self.turn += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def drop_first(self) -> cython.void:
        """Take the first event out: the lesser of two follows it down to the end, and the last event goes up from there.

        Of the same time and turn the next one is as from a std::priority_queue of libstdc++.
        """
        self.events -= 1
        end: cython.Py_ssize_t = self.events
        k: cython.Py_ssize_t = 0
        self.swap(0, end)
        while 2 * k + 1 < end:
            least = 2 * k + 2
            if least >= end or self.less(least - 1, least):
                least -= 1
            self.swap(k, least)
            k = least
        while k > 0 and self.less(k, (k - 1) // 2):
            self.swap(k, (k - 1) // 2)
            k = (k - 1) // 2

    @cython.cfunc
    @cython.exceptval(check=False)
    def let(self, first: cython.int, end: cython.int) -> cython.void:
        """Take one need of each of some operations; those without any more are ready."""
        for i in range(first, end):
            k = self.listed[i]
            self.ops[k].needs -= 1
            if self.ops[k].needs == 0:
                self.ready[self.readied] = k
                self.readied += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def start(self, k: cython.Py_ssize_t) -> cython.void:
        """Let an operation be started: what needed that last may begin at any time."""
        for i in range(self.ops[k].first_started, self.ops[k].end_started):
            if self.ops[self.listed[i]].needs == 1:
                self.ops[self.listed[i]].since = 0
        self.let(self.ops[k].first_started, self.ops[k].end_started)

    @cython.cfunc
    @cython.exceptval(check=False)
    def finish(self, k: cython.Py_ssize_t, time: cython.longlong) -> cython.void:
        """Let an operation be done at `time`: what needs it is not begun before."""
        for i in range(self.ops[k].first_done, self.ops[k].end_done):
            self.ops[self.listed[i]].since = max(self.ops[self.listed[i]].since, time)
        self.let(self.ops[k].first_done, self.ops[k].end_done)
        self.done += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def let_go(self, send: cython.Py_ssize_t, by: cython.Py_ssize_t, time: cython.longlong, interface_time: cython.longlong) -> cython.void:
        """Let a held sender go on at these times, on the processor and interface of the operation it is let go `by`."""
        self.finish(send, time)
        p = self.ops[send].rank * self.processors + self.ops[by].cpu
        q = self.ops[send].rank * self.interfaces + self.ops[by].nic
        self.free[p] = max(self.free[p], time)
        self.sending[q] = max(self.sending[q], interface_time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def fits(self, k: cython.int, peer: cython.int, tag: cython.int) -> cython.bint:
        """Return whether a message or receive of a queue may match a partner and tag."""
        other = self.ops[k].rank if self.ops[k].kind == _SEND else self.ops[k].peer
        return (peer == _ANY or other in (_ANY, peer)) and (tag == _ANY or self.ops[k].tag in (_ANY, tag))

    @cython.cfunc
    @cython.exceptval(check=False)
    def take(self, queue: Queue[::1], at: cython.int, peer: cython.int, tag: cython.int) -> cython.int:
        """Return the first operation of a queue that may match a partner and tag, taken out, -1 if there is none."""
        before: cython.int = _NONE
        k = queue[at].first
        while k != _NONE:
            if self.fits(k, peer, tag):
                if before == _NONE:
                    queue[at].first = self.following[k]
                else:
                    self.following[before] = self.following[k]
                if queue[at].last == k:
                    queue[at].last = before
                return k
            before = k
            k = self.following[k]
        return _NONE

    @cython.cfunc
    @cython.exceptval(check=False)
    def wait(self, queue: Queue[::1], at: cython.int, k: cython.Py_ssize_t) -> cython.void:
        """Put an operation to the end of a queue."""
        self.following[k] = _NONE
        if queue[at].first == _NONE:
            queue[at].first = cython.cast(cython.int, k)
        else:
            self.following[queue[at].last] = cython.cast(cython.int, k)
        queue[at].last = cython.cast(cython.int, k)
