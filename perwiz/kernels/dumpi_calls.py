# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Calls of DUMPI to columns: when and with whom, and how many bytes they move. Nothing here holds Python's global lock."""

from __future__ import annotations

import cython

from perwiz.kernels import dumpi_rows, records

if cython.compiled:
    from cython.cimports.perwiz.kernels.dumpi_records import Threads, i32, u16
    from cython.cimports.perwiz.kernels.dumpi_requests import Requests
else:
    from perwiz.kernels.dumpi_records import Threads, i32, u16
    from perwiz.kernels.dumpi_requests import Requests

STRANGER = cython.declare(cython.int, records.STRANGER)
ANYBODY = cython.declare(cython.int, records.ANYBODY)
SEND = cython.declare(cython.int, dumpi_rows.SEND)
RECV = cython.declare(cython.int, dumpi_rows.RECV)
IRECV = cython.declare(cython.int, dumpi_rows.IRECV)
RECV_INIT = cython.declare(cython.int, dumpi_rows.RECV_INIT)
START = cython.declare(cython.int, dumpi_rows.START)
FREE = cython.declare(cython.int, dumpi_rows.FREE)
PROBE = cython.declare(cython.int, dumpi_rows.PROBE)
ROOTED = cython.declare(cython.int, dumpi_rows.ROOTED)
ON_WINDOW = cython.declare(cython.int, dumpi_rows.ON_WINDOW)
REGION_ENTER = cython.declare(cython.int, dumpi_rows.REGION_ENTER)
BOTH = cython.declare(cython.int, dumpi_rows.BOTH)
FROM_ROOT = cython.declare(cython.int, dumpi_rows.FROM_ROOT)
TO_ROOT = cython.declare(cython.int, dumpi_rows.TO_ROOT)
GATHERS = cython.declare(cython.int, dumpi_rows.GATHERS)
GATHERS_V = cython.declare(cython.int, dumpi_rows.GATHERS_V)
SCATTERS = cython.declare(cython.int, dumpi_rows.SCATTERS)
SCATTERS_V = cython.declare(cython.int, dumpi_rows.SCATTERS_V)
TO_ALL = cython.declare(cython.int, dumpi_rows.TO_ALL)
TO_ALL_V = cython.declare(cython.int, dumpi_rows.TO_ALL_V)
ALL_TO_ALL = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL)
ALL_TO_ALL_V = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL_V)
ALL_TO_ALL_W = cython.declare(cython.int, dumpi_rows.ALL_TO_ALL_W)
REDUCES_PARTS = cython.declare(cython.int, dumpi_rows.REDUCES_PARTS)
GETS = cython.declare(cython.int, dumpi_rows.GETS)
COUNT = cython.declare(cython.int, dumpi_rows.COUNT)
TYPE = cython.declare(cython.int, dumpi_rows.TYPE)
PEER = cython.declare(cython.int, dumpi_rows.PEER)
TAG = cython.declare(cython.int, dumpi_rows.TAG)
COMM = cython.declare(cython.int, dumpi_rows.COMM)
ROOT = cython.declare(cython.int, dumpi_rows.ROOT)
COUNT2 = cython.declare(cython.int, dumpi_rows.COUNT2)
TYPE2 = cython.declare(cython.int, dumpi_rows.TYPE2)
SUM = cython.declare(cython.int, dumpi_rows.SUM)
SUM2 = cython.declare(cython.int, dumpi_rows.SUM2)
WINDOW = cython.declare(cython.int, dumpi_rows.WINDOW)
LISTED = cython.declare(cython.int, dumpi_rows.LISTED)
COUNTS = cython.declare(cython.int, dumpi_rows.COUNTS)
COUNTED = cython.declare(cython.int, dumpi_rows.COUNTED)
TYPES = cython.declare(cython.int, dumpi_rows.TYPES)
COUNTS2 = cython.declare(cython.int, dumpi_rows.COUNTS2)
COUNTED2 = cython.declare(cython.int, dumpi_rows.COUNTED2)
TYPES2 = cython.declare(cython.int, dumpi_rows.TYPES2)
THREAD = cython.declare(cython.int, dumpi_rows.THREAD)
ENTER = cython.declare(cython.int, dumpi_rows.ENTER)
LEAVE = cython.declare(cython.int, dumpi_rows.LEAVE)
FUNCTION_OF = cython.declare(cython.int, dumpi_rows.FUNCTION_OF)
TIMED = cython.declare(cython.int, dumpi_rows.TIMED)
SIZE_OF = cython.declare(cython.int, dumpi_rows.SIZE_OF)
COMM_OF = cython.declare(cython.int, dumpi_rows.COMM_OF)
WINDOW_OF = cython.declare(cython.int, dumpi_rows.WINDOW_OF)
WORLD = cython.declare(cython.int, dumpi_rows.WORLD)
MEETS = cython.declare(cython.int, dumpi_rows.MEETS)
MOST = cython.declare(cython.longlong, 1 << 60)
Change = cython.struct(at=cython.longlong, value=cython.longlong, what=cython.int, handle=cython.int, number=cython.int, call=cython.int)


@cython.cclass
class Calls(Requests):
    """The calls of one process, which go to columns of all calls. `threads` says which is the next of each, and when its last returned."""

    threads: Threads[::1]
    changes: Change[::1]
    op: cython.ushort[::1]
    peer: cython.int[::1]
    tag: cython.int[::1]
    comm: cython.int[::1]
    root: cython.int[::1]
    enter: cython.longlong[::1]
    leave: cython.longlong[::1]
    sent: cython.longlong[::1]
    received: cython.longlong[::1]

    def into(
        self,
        threads: Threads[::1],
        changes: Change[::1],
        op: cython.ushort[::1],
        peer: cython.int[::1],
        tag: cython.int[::1],
        comm: cython.int[::1],
        root: cython.int[::1],
        enter: cython.longlong[::1],
        leave: cython.longlong[::1],
        sent: cython.longlong[::1],
        received: cython.longlong[::1],
    ) -> None:
        """Take the columns, and what changes the meaning of handles: once, before `fill`."""
        self.threads, self.changes, self.op = threads, changes, op
        self.peer, self.tag, self.comm, self.root = peer, tag, comm, root
        self.enter, self.leave, self.sent, self.received = enter, leave, sent, received

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def sum_of(self, counts: cython.longlong, counted: cython.longlong, types: cython.longlong, typed: cython.longlong) -> cython.longlong:
        """Return the bytes of a list of counts, each of its own datatype."""
        total: cython.longlong = 0
        k: cython.longlong
        for k in range(min(counted, typed)):
            size = self.meanings[u16(self.data, types + 2 * k)].bytes
            total = min(MOST, total + self.product(i32(self.data, counts + 4 * k), size))
        return total

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def moved(self, moves: cython.int) -> cython.void:
        """Put the bytes that a call sends and receives into the slots SUM and SUM2; MPI_PROC_NULL as root moves none."""
        known: cython.bint = self.value[COMM] >= 0 and self.meanings[self.value[COMM]].comm >= 0
        others: cython.longlong = (
            cython.cast(cython.longlong, self.communicators[self.meanings[self.value[COMM]].comm].others) if known else 0
        )
        own: cython.longlong = self.communicators[self.meanings[self.value[COMM]].comm].rank if known else -1
        at_root: cython.bint = self.value[ROOT] == -2 or (own >= 0 and self.value[ROOT] == own)
        sent: cython.longlong = self.product(self.value[COUNT], self.bytes_of(TYPE))
        received: cython.longlong = self.product(self.value[COUNT2], self.bytes_of(TYPE2)) if self.value[TYPE2] else 0
        if moves == BOTH:
            received = sent
        elif moves == FROM_ROOT:
            received = 0 if at_root else sent
            sent = sent if at_root else 0
        elif moves == TO_ROOT:
            received = sent if at_root else 0
        elif moves == GATHERS:
            received = self.product(received, others) if at_root else 0
        elif moves in (GATHERS_V, TO_ALL_V):
            received = self.product(self.value[SUM2], self.bytes_of(TYPE2))
        elif moves == SCATTERS:
            sent = self.product(sent, others) if at_root else 0
        elif moves == SCATTERS_V:
            sent = self.product(self.value[SUM], self.bytes_of(TYPE))
        elif moves == TO_ALL:
            received = self.product(received, others)
        elif moves == ALL_TO_ALL:
            sent = self.product(sent, others)
            received = self.product(received, others)
        elif moves == ALL_TO_ALL_V:
            sent = self.product(self.value[SUM], self.bytes_of(TYPE))
            received = self.product(self.value[SUM2], self.bytes_of(TYPE2))
        elif moves == ALL_TO_ALL_W:
            sent = self.sum_of(self.value[COUNTS], self.value[COUNTED], self.value[TYPES], self.value[TYPES + 1])
            received = self.sum_of(self.value[COUNTS2], self.value[COUNTED2], self.value[TYPES2], self.value[TYPES2 + 1])
        elif moves == REDUCES_PARTS:
            size = self.bytes_of(TYPE)
            total: cython.longlong = 0
            k: cython.longlong
            for k in range(self.value[COUNTED]):
                total += max(0, i32(self.data, self.value[COUNTS] + 4 * k))
            sent = self.product(total, size)
            received = self.product(i32(self.data, self.value[COUNTS] + 4 * own), size) if 0 <= own < self.value[COUNTED] else 0
        elif moves == GETS:
            received = sent
            sent = 0
        self.value[SUM] = sent
        self.value[SUM2] = received

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def change_meanings(self, at: cython.longlong, call: cython.longlong) -> cython.void:
        """Let handles mean what the record at a byte, or those before it, made them."""
        while self.walk[0].change < self.changes.shape[0] and self.changes[self.walk[0].change].at <= at:
            change = self.changes[self.walk[0].change]
            self.changes[self.walk[0].change].call = cython.cast(cython.int, call)
            if change.what == SIZE_OF:
                self.meanings[change.handle].bytes = change.value
            elif change.what == COMM_OF:
                self.meanings[change.handle].comm = cython.cast(cython.int, change.value)
            elif change.what == WINDOW_OF:
                self.meanings[change.handle].window_comm = cython.cast(cython.int, change.value)
                self.meanings[change.handle].window = change.number
            self.walk[0].change += 1

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def place(self, start: cython.longlong) -> cython.void:
        """Take `start` off the times of a call; one that runs backwards is moved behind the call before, and counts."""
        thread = self.value[THREAD]
        begin: cython.longlong = self.value[ENTER] - start
        finish: cython.longlong = self.value[LEAVE] - start
        if begin < self.threads[thread].last or finish < begin:
            self.walk[0].backwards += 1
            begin = max(begin, self.threads[thread].last)
            finish = max(finish, begin)
        self.threads[thread].last = self.value[LEAVE] = finish
        self.value[ENTER] = begin

    def fill(self, start: cython.longlong) -> cython.longlong:
        """Write the calls of a process to the columns, and what they do to `actions`, in the order of the records; return the room in
        `actions` that the next record needs when it is full, and `posts` as much, or 0 at the end.

        `start` is the time that is 0 in the columns, less the second that the times of the process count from, ns. `threads` says which is
        the next call of each, and when its last returned. Calls whose times run backwards are moved, and counted.
        """
        needed: cython.longlong = 0
        with cython.nogil:
            while self.walk[0].at < self.end:
                behind = self.head()
                if behind >= 0:
                    behind = self.body(behind)
                needed = 2 + self.value[LISTED] if behind >= 0 else 0
                if behind < 0 or self.walk[0].actions + needed > self.actions.shape[0] or self.walk[0].posts + needed > self.posts.shape[0]:
                    break
                needed = 0
                function = self.functions[self.value[FUNCTION_OF]]
                at = self.walk[0].at
                self.walk[0].at = behind
                if self.value[TIMED] == 0 or function.does == REGION_ENTER or function.does == REGION_ENTER + 1:
                    self.change_meanings(at, -1)
                    continue
                thread = self.value[THREAD]
                call = self.threads[thread].calls
                self.threads[thread].calls = call + 1
                self.place(start)
                self.op[call] = cython.cast(cython.ushort, function.op)
                self.enter[call] = self.value[ENTER]
                self.leave[call] = self.value[LEAVE]
                known: cython.int = self.meanings[self.value[COMM]].comm if self.value[COMM] >= 0 else -1
                self.peer[call] = self.tag[call] = self.root[call] = self.comm[call] = -1
                does: cython.int = function.does
                if does == ON_WINDOW and self.value[WINDOW] >= 0:
                    known = self.meanings[self.value[WINDOW]].window_comm
                    self.tag[call] = self.meanings[self.value[WINDOW]].window
                    self.peer[call] = self.world_rank(known, max(-1, self.value[PEER]))
                if does == MEETS:
                    known = self.meanings[WORLD].comm
                if known >= 0:
                    self.comm[call] = self.communicators[known].row
                if does == ROOTED:
                    self.root[call] = max(-1, self.world_rank(known, self.value[ROOT]))
                elif SEND <= does <= RECV_INIT or does == PROBE:
                    receives: cython.bint = does in (RECV, IRECV, RECV_INIT, PROBE)
                    partner: cython.longlong = self.sender(self.value[PEER]) if receives else max(-1, self.value[PEER])
                    self.peer[call] = self.world_rank(known, partner)
                    self.tag[call] = ANYBODY if receives and self.value[TAG] == -1 else cython.cast(cython.int, self.value[TAG])
                if self.peer[call] == STRANGER:
                    self.walk[0].strangers += 1
                    self.peer[call] = ANYBODY
                if function.moves:
                    self.moved(function.moves)
                elif SEND <= does <= RECV_INIT:
                    self.value[SUM] = self.value[SUM2] = 0
                    self.act_on_message(does, cython.cast(cython.int, function.mode), call, known)
                elif START <= does <= FREE:
                    self.value[SUM] = self.act_on_requests(does, call)
                    self.value[SUM2] = 0
                self.sent[call] = self.value[SUM]
                self.received[call] = self.value[SUM2]
                self.change_meanings(at, call)
        return needed
