# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Receives matched anew: vertices in the order of time, messages taken by the first receive that fits.

Instants come from a heap by (time, what happens, rank): first vertices, by position, then messages that can be taken, then receives that
can complete, then fetches that are served, each in the order that they had in the recorded run.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

NONE = cython.declare(cython.int, names.NONE)
ANY = cython.declare(cython.int, names.NOBODY)
VERTEX = cython.declare(cython.int, names.VERTEX)
COMES = cython.declare(cython.int, names.COMES)
READY = cython.declare(cython.int, names.READY)
SERVED = cython.declare(cython.int, names.SERVED)

Message = cython.struct(
    send=cython.int,
    source=cython.int,
    target=cython.int,
    answers=cython.int,
    block=cython.int,
    begins=cython.int,
    goes_on=cython.int,
    ends=cython.int,
    tag=cython.int,
    comm=cython.int,
    held=cython.int,
    rank=cython.longlong,
    later=cython.longlong,
    arrives=cython.longlong,
    found=cython.longlong,
    holds=cython.longlong,
    own=cython.longlong,
)
MESSAGE = np.dtype(
    [(name, "i4") for name in ["send", "source", "target", "answers", "block", "begins", "goes_on", "ends", "tag", "comm", "held"]]
    + [(name, "i8") for name in ["rank", "later", "arrives", "found", "holds", "own"]],
    align=True,
)
"""A message that is matched anew, sorted by `send`; perwiz.engines.rematch tells what its columns are."""

Receive = cython.struct(
    posted=cython.int,
    location=cython.int,
    block=cython.int,
    source=cython.int,
    tag=cython.int,
    comm=cython.int,
    returned=cython.int,
    probed=cython.int,
    follows=cython.int,
    counter=cython.int,
    chosen=cython.int,
    rank=cython.longlong,
    later=cython.longlong,
)
RECEIVE = np.dtype(
    [(name, "i4") for name in ["posted", "location", "block", "source", "tag", "comm", "returned", "probed", "follows"]]
    + [("counter", "i4"), ("chosen", "i4"), ("rank", "i8"), ("later", "i8")],
    align=True,
)
"""A receive that is matched anew, sorted by `posted`."""

Choice = cython.struct(entered=cython.int, returned=cython.int, location=cython.int, needs=cython.int, turn=cython.int)
CHOICE = np.dtype([(name, "i4") for name in ["entered", "returned", "location", "needs", "turn"]])
"""A call that completes some of several requests, sorted by `entered`."""

Place = cython.struct(end=cython.int, own=cython.longlong, slowness=cython.double)
PLACE = np.dtype([("end", "i4"), ("own", "i8"), ("slowness", "f8")], align=True)
"""Per farm and location: where it goes on when there is no more to do."""

Piece = cython.struct(
    first=cython.int,
    behind=cython.int,
    ready=cython.int,
    made=cython.int,
    heard=cython.int,
    own=cython.longlong,
)
PIECE = np.dtype([(name, "i4") for name in ["first", "behind", "ready", "made", "heard"]] + [("own", "i8")], align=True)
"""A piece of the work of a master that keeps a queue, desk by desk those that hear, those that answer, and what comes behind all."""

Desk = cython.struct(
    ask=cython.int,
    asks=cython.int,
    answer=cython.int,
    rest=cython.int,
    slot=cython.int,
    ready=cython.int,
    made=cython.int,
    heard=cython.int,
)
DESK = np.dtype([(name, "i4") for name in ["ask", "asks", "answer", "rest", "slot", "ready", "made", "heard"]])
"""A master that keeps a queue: its next pieces, and what it knows."""

Stop = cython.struct(vertex=cython.int, desk=cython.int, message=cython.int, makes=cython.int, asks=cython.int)
STOP = np.dtype([(name, "i4") for name in ["vertex", "desk", "message", "makes", "asks"]])
"""Where a piece ends, sorted by `vertex`."""

Instant = cython.struct(time=cython.longlong, rank=cython.longlong, row=cython.int)
INSTANT = np.dtype([("time", "i8"), ("rank", "i8"), ("row", "i4")], align=True)
"""What happens, and when."""


@cython.cclass
class Matcher:
    """A run in the order of time; all arrays are the caller's, who reads what became of them."""

    first: cython.const[cython.int][::1]
    edge: cython.const[cython.int][::1]
    target: cython.const[cython.int][::1]
    weight: cython.const[cython.longlong][::1]
    block: cython.const[cython.int][::1]
    home: cython.const[cython.int][::1]
    computes: cython.const[cython.longlong][::1]
    messages: cython.const[Message][::1]
    receives: cython.const[Receive][::1]
    choices: cython.const[Choice][::1]
    places: cython.const[Place][::1]
    pieces: Piece[::1]
    desks: Desk[::1]
    stops: cython.const[Stop][::1]
    seat: cython.int[::1]
    waiting: cython.int[::1]
    time: cython.longlong[::1]
    heap: Instant[::1]
    taken: cython.int[::1]
    completed: cython.int[::1]
    order: cython.int[::1]
    came: cython.int[::1]
    posted: cython.int[::1]
    ready: cython.int[::1]
    first_came: cython.int[::1]
    last_came: cython.int[::1]
    first_posted: cython.int[::1]
    last_posted: cython.int[::1]
    first_ready: cython.int[::1]
    last_ready: cython.int[::1]
    choosing: cython.int[::1]
    lacking: cython.int[::1]
    turns: cython.const[cython.int][::1]
    got: cython.int[::1]
    size: cython.Py_ssize_t
    now: cython.longlong

    def __init__(
        self,
        graph: tuple[cython.const[cython.int][::1], ...],
        weight: cython.const[cython.longlong][::1],
        computes: cython.const[cython.longlong][::1],
        messages: cython.const[Message][::1],
        receives: cython.const[Receive][::1],
        choices: cython.const[Choice][::1],
        places: cython.const[Place][::1],
        pieces: Piece[::1],
        desks: Desk[::1],
        stops: cython.const[Stop][::1],
        turns: cython.const[cython.int][::1],
        seat: cython.int[::1],
        waiting: cython.int[::1],
        time: cython.longlong[::1],
        heap: Instant[::1],
        results: tuple[cython.int[::1], ...],
        links: tuple[cython.int[::1], ...],
        queues: tuple[cython.int[::1], ...],
    ) -> None:
        self.first, self.edge, self.target, self.block, self.home = graph
        self.weight = weight
        self.computes = computes
        self.messages = messages
        self.receives = receives
        self.choices = choices
        self.places = places
        self.pieces = pieces
        self.desks = desks
        self.stops = stops
        self.turns = turns
        self.seat = seat
        self.waiting = waiting
        self.time = time
        self.heap = heap
        self.taken, self.completed, self.order = results
        self.came, self.posted, self.ready, self.lacking, self.got = links
        self.first_came, self.last_came, self.first_posted, self.last_posted = queues[:4]
        self.first_ready, self.last_ready, self.choosing = queues[4:]
        self.size = 0
        self.now = 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def push(self, time: cython.longlong, what: cython.longlong, rank: cython.longlong, row: cython.int) -> cython.void:
        """Let something happen at a time, or now if that is past."""
        key: cython.longlong = (what << 40) + rank
        if time < self.now:
            time = self.now
        k: cython.Py_ssize_t = self.size
        self.size += 1
        while k > 0:
            above: cython.Py_ssize_t = (k - 1) >> 1
            if self.heap[above].time < time or (self.heap[above].time == time and self.heap[above].rank <= key):
                break
            self.heap[k].time = self.heap[above].time
            self.heap[k].rank = self.heap[above].rank
            self.heap[k].row = self.heap[above].row
            k = above
        self.heap[k].time = time
        self.heap[k].rank = key
        self.heap[k].row = row

    @cython.cfunc
    @cython.exceptval(check=False)
    def pop(self) -> cython.void:
        """Take what happens next off the heap."""
        self.size -= 1
        time: cython.longlong = self.heap[self.size].time
        key: cython.longlong = self.heap[self.size].rank
        row: cython.int = self.heap[self.size].row
        k: cython.Py_ssize_t = 0
        while 2 * k + 1 < self.size:
            below: cython.Py_ssize_t = 2 * k + 1
            if below + 1 < self.size and (
                self.heap[below + 1].time < self.heap[below].time
                or (self.heap[below + 1].time == self.heap[below].time and self.heap[below + 1].rank < self.heap[below].rank)
            ):
                below += 1
            if time < self.heap[below].time or (time == self.heap[below].time and key <= self.heap[below].rank):
                break
            self.heap[k].time = self.heap[below].time
            self.heap[k].rank = self.heap[below].rank
            self.heap[k].row = self.heap[below].row
            k = below
        self.heap[k].time = time
        self.heap[k].rank = key
        self.heap[k].row = row

    @cython.cfunc
    @cython.exceptval(check=False)
    def reach(self, vertex: cython.int, time: cython.longlong) -> cython.void:
        """One of the things that a vertex waits for is there; with the last one it happens."""
        if time > self.time[vertex]:
            self.time[vertex] = time
        self.waiting[vertex] -= 1
        if self.waiting[vertex] == 0:
            self.push(self.time[vertex], VERTEX, vertex, vertex)

    @cython.cfunc
    @cython.exceptval(check=False)
    def sender(self, m: cython.int) -> cython.int:
        """Return the location that sends a message."""
        block: cython.int = self.messages[m].block
        return self.messages[m].source if block == NONE else self.seat[block]

    @cython.cfunc
    @cython.exceptval(check=False)
    def fits(self, r: cython.int, m: cython.int) -> cython.bint:
        """Return whether a receive takes a message of its location."""
        if self.receives[r].comm != self.messages[m].comm:
            return False
        if self.receives[r].tag != ANY and self.receives[r].tag != self.messages[m].tag:
            return False
        asked: cython.int = self.receives[r].source
        if self.receives[r].follows != NONE:
            asked = self.sender(self.got[self.receives[r].follows])
        return asked == ANY or asked == self.sender(m)

    @cython.cfunc
    @cython.exceptval(check=False)
    def receiver(self, r: cython.int) -> cython.int:
        """Return the location that posts a receive."""
        block: cython.int = self.receives[r].block
        return self.receives[r].location if block == NONE else self.seat[block]

    @cython.cfunc
    @cython.exceptval(check=False)
    def queue(self, r: cython.int) -> cython.int:
        """Return where a receive waits: at its location, or at a counter."""
        return self.receiver(r) if self.receives[r].counter == NONE else self.receives[r].counter

    @cython.cfunc
    @cython.exceptval(check=False)
    def take(self, r: cython.int, m: cython.int) -> cython.void:
        """A receive takes a message."""
        send: cython.longlong = 0 if self.messages[m].send == NONE else self.time[self.messages[m].send]
        posted: cython.longlong = self.time[self.receives[r].posted]
        arrives: cython.longlong = send + self.messages[m].arrives
        location: cython.int = self.receiver(r)
        self.taken[r] = m
        if self.messages[m].held != NONE:
            self.reach(self.messages[m].held, posted + self.messages[m].holds)
        if self.receives[r].probed != NONE:
            self.reach(self.receives[r].probed, send + self.messages[m].found)
        if self.receives[r].chosen > 0:
            self.push(arrives + self.receives[r].later, READY, self.receives[r].rank, r)
        elif self.messages[m].ends != NONE:
            place: cython.int = self.messages[m].ends + location
            self.got[r] = m
            self.reach(self.places[place].end, max(arrives, posted + self.places[place].own))
        elif self.messages[m].goes_on != NONE:
            if self.messages[m].begins != NONE:
                self.seat[self.messages[m].begins] = location
            self.got[r] = m
            self.reach(self.messages[m].goes_on, max(arrives, posted + self.messages[m].own))
        else:
            self.got[r] = m
            self.reach(self.receives[r].returned, arrives)

    @cython.cfunc
    @cython.exceptval(check=False)
    def come(self, m: cython.int) -> cython.void:
        """A message can be taken: the first posted receive that fits takes it, or it waits for one."""
        location: cython.int = self.messages[m].target
        if self.messages[m].answers != NONE:
            location = self.sender(self.got[self.messages[m].answers])
        before: cython.int = NONE
        r: cython.int = self.first_posted[location]
        while r != NONE:
            if self.fits(r, m):
                if before == NONE:
                    self.first_posted[location] = self.posted[r]
                else:
                    self.posted[before] = self.posted[r]
                if self.last_posted[location] == r:
                    self.last_posted[location] = before
                self.take(r, m)
                return
            before = r
            r = self.posted[r]
        if self.last_came[location] == NONE:
            self.first_came[location] = m
        else:
            self.came[self.last_came[location]] = m
        self.last_came[location] = m

    @cython.cfunc
    @cython.exceptval(check=False)
    def post(self, r: cython.int) -> cython.void:
        """A receive is posted: it takes the first message that fits, or waits for one."""
        location: cython.int = self.queue(r)
        before: cython.int = NONE
        m: cython.int = self.first_came[location]
        while m != NONE:
            if self.fits(r, m):
                if before == NONE:
                    self.first_came[location] = self.came[m]
                else:
                    self.came[before] = self.came[m]
                if self.last_came[location] == m:
                    self.last_came[location] = before
                self.take(r, m)
                return
            before = m
            m = self.came[m]
        if self.last_posted[location] == NONE:
            self.first_posted[location] = r
        else:
            self.posted[self.last_posted[location]] = r
        self.last_posted[location] = r

    @cython.cfunc
    @cython.exceptval(check=False)
    def complete(self, c: cython.int, r: cython.int) -> cython.void:
        """A call that chooses completes a receive."""
        m: cython.int = self.taken[r]
        self.completed[r] = c
        self.got[self.turns[self.choices[c].turn + self.choices[c].needs - self.lacking[c]]] = m
        self.lacking[c] -= 1
        arrives: cython.longlong = self.time[self.messages[m].send] + self.messages[m].arrives
        if self.messages[m].goes_on == NONE:
            self.reach(self.choices[c].returned, arrives)
        else:
            self.reach(self.messages[m].goes_on, max(arrives, self.time[self.choices[c].entered] + self.messages[m].own))

    @cython.cfunc
    @cython.exceptval(check=False)
    def choose(self, c: cython.int) -> cython.void:
        """A call chooses among the requests that can complete, those first that could first, and waits for what it lacks."""
        location: cython.int = self.choices[c].location
        while self.lacking[c] > 0 and self.first_ready[location] != NONE:
            r: cython.int = self.first_ready[location]
            self.first_ready[location] = self.ready[r]
            self.complete(c, r)
        if self.lacking[c] > 0:
            self.choosing[location] = c

    @cython.cfunc
    @cython.exceptval(check=False)
    def can_complete(self, r: cython.int) -> cython.void:
        """A receive can complete: the call that chooses completes it, if there is one, or the next one."""
        location: cython.int = self.receives[r].location
        c: cython.int = self.choosing[location]
        if c != NONE:
            self.complete(c, r)
            if self.lacking[c] == 0:
                self.choosing[location] = NONE
            return
        if self.first_ready[location] == NONE:
            self.first_ready[location] = r
        else:
            self.ready[self.last_ready[location]] = r
        self.last_ready[location] = r

    @cython.cfunc
    @cython.exceptval(check=False)
    def go_on(self, s: cython.int) -> cython.void:
        """A piece of a master's work is done: next it answers, if it has a task and somebody for it, else it hears whoever comes."""
        d: cython.int = self.stops[s].desk
        if self.stops[s].message != NONE:
            self.desks[d].heard += 1
            self.desks[d].made += self.stops[s].makes
            if self.stops[s].asks > 0:
                self.got[self.desks[d].slot + self.desks[d].ready] = self.stops[s].message
                self.desks[d].ready += 1
        p: cython.int = self.desks[d].answer
        if p < self.desks[d].rest and (
            self.desks[d].ready >= self.pieces[p].ready
            and self.desks[d].made >= self.pieces[p].made
            and self.desks[d].heard >= self.pieces[p].heard
        ):
            self.desks[d].answer += 1
        elif self.desks[d].ask < self.desks[d].asks:
            p = self.desks[d].ask
            self.desks[d].ask += 1
        elif p < self.desks[d].rest:
            return
        self.pieces[p].behind = self.stops[s].vertex
        self.reach(self.pieces[p].first, self.time[self.stops[s].vertex] + self.pieces[p].own)

    @cython.cfunc
    @cython.exceptval(check=False)
    def leave(self, u: cython.int) -> cython.void:
        """A vertex has happened: what waits for it goes on."""
        for k in range(self.first[u], self.first[u + 1]):
            e: cython.int = self.edge[k]
            v: cython.int = self.target[e]
            takes: cython.longlong = self.weight[e]
            b: cython.int = self.block[v]
            if b != NONE and self.computes[v] >= 0 and self.seat[b] != self.home[b]:
                takes = cython.cast(cython.longlong, self.computes[v] * self.places[self.seat[b]].slowness + 0.5)
            self.reach(v, self.time[u] + takes)

    def run(
        self,
        sends: cython.const[cython.int][::1],
        posts: cython.const[cython.int][::1],
        chooses: cython.const[cython.int][::1],
        ends: cython.const[cython.int][::1],
    ) -> int:
        """Let everything happen, and return how many vertices did: all, unless some wait for each other.

        `sends`, `posts`, `chooses` and `ends` are, per vertex, the first message sent there, the first receive posted there, the call that
        chooses there and the piece of work that ends there, or NONE.
        """
        count: cython.Py_ssize_t = 0
        for v in range(len(self.waiting)):
            if self.waiting[v] == 0:
                self.push(self.time[v], VERTEX, v, v)
        k: cython.int = 0
        while k < len(self.messages) and self.messages[k].send == NONE:
            self.come(k)
            k += 1
        while self.size > 0:
            self.now = self.heap[0].time
            what: cython.longlong = self.heap[0].rank >> 40
            row: cython.int = self.heap[0].row
            self.pop()
            if what == COMES:
                self.come(row)
                continue
            if what == READY:
                self.can_complete(row)
                continue
            if what == SERVED:
                self.post(row)
                continue
            self.order[count] = row
            count += 1
            k = sends[row]
            while k != NONE and k < len(self.messages) and self.messages[k].send == row:
                self.push(self.time[row] + self.messages[k].later, COMES, self.messages[k].rank, k)
                k += 1
            k = posts[row]
            while k != NONE and k < len(self.receives) and self.receives[k].posted == row:
                if self.receives[k].counter == NONE:
                    self.post(k)
                else:
                    self.push(self.time[row] + self.receives[k].later, SERVED, self.receives[k].rank, k)
                k += 1
            if chooses[row] != NONE:
                self.choose(chooses[row])
            if ends[row] != NONE:
                self.go_on(ends[row])
            self.leave(row)
        return count
