# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""What calls of DUMPI do to requests and messages. Nothing here holds Python's global lock."""

from __future__ import annotations

import cython

from perwiz.kernels import dumpi_rows, records

if cython.compiled:
    from cython.cimports.perwiz.kernels.dumpi_records import Records, i32
else:
    from perwiz.kernels.dumpi_records import Records, i32

STRANGER = cython.declare(cython.int, records.STRANGER)
ANYBODY = cython.declare(cython.int, records.ANYBODY)
SENDS = cython.declare(cython.int, records.SENDS)
RECEIVES = cython.declare(cython.int, records.RECEIVES)
POSTS = cython.declare(cython.int, records.POSTS)
DONE = cython.declare(cython.int, records.DONE)
CANCELLED = cython.declare(cython.int, records.CANCELLED)
MODE_SHIFT = cython.declare(cython.int, records.MODE_SHIFT)
UNSUCCESSFUL_TEST = cython.declare(cython.int, records.UNSUCCESSFUL_TEST)
SEND = cython.declare(cython.int, dumpi_rows.SEND)
RECV = cython.declare(cython.int, dumpi_rows.RECV)
EXCHANGE = cython.declare(cython.int, dumpi_rows.EXCHANGE)
ISEND = cython.declare(cython.int, dumpi_rows.ISEND)
IRECV = cython.declare(cython.int, dumpi_rows.IRECV)
SEND_INIT = cython.declare(cython.int, dumpi_rows.SEND_INIT)
RECV_INIT = cython.declare(cython.int, dumpi_rows.RECV_INIT)
START = cython.declare(cython.int, dumpi_rows.START)
STARTALL = cython.declare(cython.int, dumpi_rows.STARTALL)
WAIT = cython.declare(cython.int, dumpi_rows.WAIT)
TEST = cython.declare(cython.int, dumpi_rows.TEST)
ALL = cython.declare(cython.int, dumpi_rows.ALL)
ANY = cython.declare(cython.int, dumpi_rows.ANY)
SOME = cython.declare(cython.int, dumpi_rows.SOME)
CANCEL = cython.declare(cython.int, dumpi_rows.CANCEL)
FREE = cython.declare(cython.int, dumpi_rows.FREE)
COUNT = cython.declare(cython.int, dumpi_rows.COUNT)
TYPE = cython.declare(cython.int, dumpi_rows.TYPE)
PEER = cython.declare(cython.int, dumpi_rows.PEER)
TAG = cython.declare(cython.int, dumpi_rows.TAG)
COUNT2 = cython.declare(cython.int, dumpi_rows.COUNT2)
TYPE2 = cython.declare(cython.int, dumpi_rows.TYPE2)
PEER2 = cython.declare(cython.int, dumpi_rows.PEER2)
TAG2 = cython.declare(cython.int, dumpi_rows.TAG2)
REQUEST = cython.declare(cython.int, dumpi_rows.REQUEST)
FLAG = cython.declare(cython.int, dumpi_rows.FLAG)
INDEX = cython.declare(cython.int, dumpi_rows.INDEX)
SUM = cython.declare(cython.int, dumpi_rows.SUM)
SUM2 = cython.declare(cython.int, dumpi_rows.SUM2)
LIST = cython.declare(cython.int, dumpi_rows.LIST)
LISTED = cython.declare(cython.int, dumpi_rows.LISTED)
INDICES = cython.declare(cython.int, dumpi_rows.INDICES)
INDEXED = cython.declare(cython.int, dumpi_rows.INDEXED)
STATUS = cython.declare(cython.int, dumpi_rows.STATUS)
STATUSED = cython.declare(cython.int, dumpi_rows.STATUSED)
MADE = cython.declare(cython.int, dumpi_rows.MADE)
TOLD = cython.declare(cython.int, dumpi_rows.TOLD)
NULL_REQUEST = cython.declare(cython.int, dumpi_rows.NULL_REQUEST)
MOST = cython.declare(cython.longlong, 1 << 60)
if not cython.compiled:
    Communicator = Meaning = Handle = Post = Action = None


@cython.cclass
class Requests(Records):
    """The requests of one process by their handles, and what its calls do to them: `actions`, each of a request in `posts`."""

    def know(self, meanings: Meaning[::1], communicators: cython.const[Communicator][::1], members: cython.const[cython.int][::1]) -> None:
        """Take what handles of the process mean: once, before `give`."""
        self.meanings, self.communicators, self.members = meanings, communicators, members

    def give(self, handles: Handle[::1], posts: Post[::1], actions: Action[::1]) -> None:
        """Take room for requests and for what is done to them: all that went before is in it, but `actions` begin anew."""
        self.handles, self.posts, self.actions = handles, posts, actions

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def product(self, a: cython.longlong, b: cython.longlong) -> cython.longlong:
        """Return the product of two numbers, at least 0 and at most 2^60."""
        if a <= 0 or b <= 0:
            return 0
        return MOST if a > MOST // b else a * b

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def sender(self, peer: cython.longlong) -> cython.int:
        """Return whom a receive names: a rank, -2 anybody, -1 nobody. DUMPI has -1 for anybody, what MPI has for MPI_PROC_NULL."""
        return ANYBODY if peer == -1 else -1 if peer < 0 else cython.cast(cython.int, peer)

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def bytes_of(self, slot: cython.int) -> cython.longlong:
        """Return the bytes of a datatype; one that nobody gave a size counts as unsized, and has none."""
        size = self.meanings[self.value[slot]].bytes
        self.walk[0].unsized += size < 0
        return max(0, size)

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def world_rank(self, comm: cython.int, peer: cython.longlong) -> cython.int:
        """Return the world rank of a partner, STRANGER for one outside of its communicator; what is below 0 stays."""
        if peer < 0:
            return cython.cast(cython.int, max(peer, -2))
        if comm < 0 or peer >= self.communicators[comm].ranks:
            return STRANGER
        return self.members[self.communicators[comm].first + cython.cast(cython.Py_ssize_t, peer)]

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def act(self, call: cython.longlong, request: cython.longlong, row: cython.longlong, bits: cython.int) -> cython.void:
        """Add an action of a call on what a row of `posts` says."""
        k = self.walk[0].actions
        self.actions[k].call = cython.cast(cython.int, call)
        self.actions[k].request = request
        self.actions[k].bytes = self.posts[row].bytes
        self.actions[k].peer = self.world_rank(self.posts[row].comm, self.posts[row].peer)
        self.actions[k].tag = self.posts[row].tag
        self.actions[k].comm = self.communicators[self.posts[row].comm].row if self.posts[row].comm >= 0 else -1
        self.actions[k].bits = bits
        self.walk[0].actions = k + 1

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def copy_post(self, row: cython.longlong, to: cython.longlong) -> cython.void:
        """Write a row of `posts` into another, which follows nothing."""
        self.posts[to].bytes = self.posts[row].bytes
        self.posts[to].following = 0
        self.posts[to].bits = self.posts[row].bits
        self.posts[to].peer = self.posts[row].peer
        self.posts[to].tag = self.posts[row].tag
        self.posts[to].comm = self.posts[row].comm
        self.posts[to].cancelled = self.posts[row].cancelled

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def tell(self, which: cython.longlong, row: cython.longlong) -> cython.void:
        """Write what a receive that is complete received into the row TOLD: by the status so far down the list, else by its row.

        Old tags are unsaid.
        """
        self.copy_post(row, TOLD)
        self.posts[TOLD].bytes = -1
        self.posts[TOLD].cancelled = 0
        if 0 <= which < self.value[STATUSED]:
            at = self.value[STATUS] + self.status * which
            if i32(self.data, at + 4) < 0:
                self.posts[TOLD].peer = -1
            else:
                self.posts[TOLD].bytes = max(0, i32(self.data, at))
                self.posts[TOLD].peer = cython.cast(cython.int, i32(self.data, at + 4))
                if self.status == 14:
                    self.posts[TOLD].tag = cython.cast(cython.int, i32(self.data, at + 10))
            self.posts[TOLD].cancelled = 1 if self.posts[row].cancelled and self.data[at + 8] else 0

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def describe(self, bits: cython.int, comm: cython.int) -> cython.void:
        """Write the message that the arguments of a call stand for into the row MADE: with the flag RECEIVES the one it receives."""
        self.posts[MADE].bytes = self.product(self.value[COUNT], self.bytes_of(TYPE))
        self.posts[MADE].bits = bits
        self.posts[MADE].tag = cython.cast(cython.int, self.value[TAG])
        self.posts[MADE].comm = comm
        self.posts[MADE].cancelled = 0
        if bits & RECEIVES:
            self.posts[MADE].peer = self.sender(self.value[PEER])
            self.posts[MADE].tag = ANYBODY if self.value[TAG] == -1 else self.posts[MADE].tag
        else:
            self.posts[MADE].peer = cython.cast(cython.int, max(-1, self.value[PEER]))
        if self.posts[MADE].peer == -1:
            self.posts[MADE].bits = 0

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def post(self, handle: cython.longlong, row: cython.longlong) -> cython.longlong:
        """Let a handle stand for one more request, as a row says; return its number."""
        number = self.walk[0].posts
        self.copy_post(row, number)
        if self.handles[handle].first == 0:
            self.handles[handle].first = cython.cast(cython.int, number + 1)
        else:
            self.posts[self.handles[handle].last - 1].following = cython.cast(cython.int, number + 1)
        self.handles[handle].last = cython.cast(cython.int, number + 1)
        self.walk[0].posts = number + 1
        return number

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def oldest(self, handle: cython.longlong) -> cython.longlong:
        """Return the oldest open request that a handle stands for, which it does no longer; -1 none: that counts, if somebody posted it."""
        if handle <= NULL_REQUEST:
            return -1
        if handle >= self.handles.shape[0] or self.handles[handle].first == 0:
            self.walk[0].not_posted += handle >= self.handles.shape[0] or self.handles[handle].made == 0
            return -1
        number = self.handles[handle].first - 1
        self.handles[handle].first = self.posts[number].following
        return number

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def complete(self, handle: cython.longlong, which: cython.longlong, call: cython.longlong) -> cython.void:
        """Add what completing a request does; its status is so far down the list."""
        number = self.oldest(handle)
        if number < 0 or self.posts[number].bits == 0:
            return
        row: cython.longlong = number
        bits: cython.int = (self.posts[number].bits & ~POSTS) | DONE
        if bits & RECEIVES:
            self.tell(which, number)
            row = TOLD
            if self.posts[TOLD].peer == -1:
                bits = DONE
            if self.posts[TOLD].cancelled:
                bits |= CANCELLED
        elif self.posts[number].cancelled and 0 <= which < self.value[STATUSED] and self.data[self.value[STATUS] + self.status * which + 8]:
            bits |= CANCELLED
        self.act(call, number, row, bits)

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def start(self, handle: cython.longlong, call: cython.longlong) -> cython.longlong:
        """Add what starting a persistent request does; return the bytes it sends."""
        if handle <= NULL_REQUEST or handle >= self.handles.shape[0] or self.handles[handle].made == 0:
            self.walk[0].not_posted += handle > NULL_REQUEST
            return 0
        number = self.post(handle, self.handles[handle].made - 1)
        if self.posts[number].bits:
            self.act(call, number, number, self.posts[number].bits)
        return self.posts[number].bytes if self.posts[number].bits & SENDS else 0

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def act_on_requests(self, does: cython.int, call: cython.longlong) -> cython.longlong:
        """Add what a call that starts, completes or drops requests does; return the bytes it sends."""
        sent: cython.longlong = 0
        k: cython.longlong
        handle = self.value[REQUEST]
        if does == START:
            sent = self.start(handle, call)
        elif does == STARTALL:
            for k in range(self.value[LISTED]):
                listed = i32(self.data, self.value[LIST] + 4 * k)
                sent = min(MOST, sent + self.start(listed, call))
        elif does == WAIT or (does == TEST and self.value[FLAG]):
            self.complete(handle, 0, call)
        elif does == TEST:
            if (
                NULL_REQUEST < handle < self.handles.shape[0]
                and self.handles[handle].first
                and self.posts[self.handles[handle].first - 1].bits
            ):
                k = self.handles[handle].first - 1
                self.act(call, k, k, UNSUCCESSFUL_TEST)
        elif does == ALL and self.value[FLAG]:
            for k in range(self.value[LISTED]):
                handle = i32(self.data, self.value[LIST] + 4 * k)
                self.complete(handle, k, call)
        elif does == ANY and self.value[FLAG] and 0 <= self.value[INDEX] < self.value[LISTED]:
            handle = i32(self.data, self.value[LIST] + 4 * self.value[INDEX])
            self.complete(handle, 0, call)
        elif does == SOME:
            for k in range(self.value[INDEXED]):
                index = i32(self.data, self.value[INDICES] + 4 * k)
                if 0 <= index < self.value[LISTED]:
                    handle = i32(self.data, self.value[LIST] + 4 * index)
                    self.complete(handle, k, call)
        elif NULL_REQUEST < handle < self.handles.shape[0]:
            if does == CANCEL and self.handles[handle].first:
                self.posts[self.handles[handle].first - 1].cancelled = 1
            elif does == FREE:
                if self.handles[handle].first:
                    self.handles[handle].first = self.posts[self.handles[handle].first - 1].following
                self.handles[handle].made = 0
        return sent

    @cython.cfunc
    @cython.final
    @cython.nogil
    @cython.exceptval(check=False)
    def act_on_message(self, does: cython.int, mode: cython.int, call: cython.longlong, comm: cython.int) -> cython.void:
        """Add what a call that sends, receives, or makes a request that does, adds; put the bytes it moves into SUM and SUM2."""
        receives: cython.bint = does in (RECV, IRECV, RECV_INIT)
        bits: cython.int = RECEIVES if receives else SENDS | (mode << MODE_SHIFT)
        if does in (ISEND, IRECV, SEND_INIT, RECV_INIT):
            bits |= POSTS
        self.describe(bits, comm)
        handle = self.value[REQUEST]
        self.walk[0].to_nobody += self.posts[MADE].bits == 0
        if does in (SEND_INIT, RECV_INIT):
            if NULL_REQUEST < handle < self.handles.shape[0]:
                number = self.walk[0].posts
                self.copy_post(MADE, number)
                self.handles[handle].made = cython.cast(cython.int, number + 1)
                self.walk[0].posts = number + 1
        elif does in (ISEND, IRECV):
            self.value[SUM] = self.posts[MADE].bytes if self.posts[MADE].bits & SENDS else 0
            if NULL_REQUEST < handle < self.handles.shape[0]:
                self.handles[handle].made = 0
                number = self.post(handle, MADE)
                if self.posts[MADE].bits:
                    self.act(call, number, MADE, bits)
            elif self.posts[MADE].bits:
                self.act(call, -1, MADE, bits)
        else:
            if does != RECV and self.posts[MADE].bits:
                self.value[SUM] = self.posts[MADE].bytes
                self.act(call, -1, MADE, bits)
            if does == EXCHANGE:
                self.value[PEER] = self.value[PEER2]
                self.value[TAG] = self.value[TAG2]
                if self.value[TYPE2]:
                    self.value[COUNT] = self.value[COUNT2]
                    self.value[TYPE] = self.value[TYPE2]
                self.describe(RECEIVES, comm)
            if does != SEND and self.posts[MADE].bits:
                self.tell(0, MADE)
                self.value[SUM2] = self.posts[MADE].bytes if self.posts[TOLD].bytes < 0 else self.posts[TOLD].bytes
                if self.posts[TOLD].peer != -1:
                    self.act(call, -1, TOLD, RECEIVES)
