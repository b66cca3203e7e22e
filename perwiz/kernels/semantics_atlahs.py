# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""A schedule as the LogGOPSim of ATLAHS has it. A message takes its receiver's processor only once it is matched, that of the receive.

An event n + k is that the message of operation k is there. All of a queue match. Of a receive, `takes` and `taken_gap` are what a message
costs that was there before.
"""

from __future__ import annotations

import cython

from perwiz.kernels import goal_lines

if cython.compiled:
    from cython.cimports.perwiz.kernels.semantics_events import Events
else:
    from perwiz.kernels.semantics_events import Events

_SEND = cython.declare(cython.int, goal_lines.SEND)
_CALC = cython.declare(cython.int, goal_lines.CALC)
_NONE = cython.declare(cython.int, -1)
_ANY = cython.declare(cython.int, -2)


@cython.cclass
class Atlahs(Events):
    """Operations by rank, as ATLAHS simulates them: what comes at one time has no turns."""

    @cython.cfunc
    @cython.exceptval(check=False)
    def add(self, time: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an event come."""
        self.push(time, 0, number)

    @cython.cfunc
    @cython.exceptval(check=False)
    def follow(self, rank: cython.int) -> cython.void:
        """Make events of the ready operations of a rank, in the order in which they became so."""
        for i in range(self.readied):
            k = self.ready[i]
            if self.ops[k].rank == rank:
                time = self.ops[k].since
                if self.ops[k].kind == _CALC:
                    time = max(time, self.free[rank * self.processors + self.ops[k].cpu])
                elif self.ops[k].kind == _SEND:
                    time = max(time, self.sending[rank * self.interfaces + self.ops[k].nic])
                self.add(time, k)

    @cython.cfunc
    @cython.exceptval(check=False)
    def happen(self, time: cython.longlong, turn: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an operation begin if all it takes is free, else later, or its message come."""
        n = self.count
        k: cython.int = cython.cast(cython.int, number - n if number >= n else number)
        p = self.ops[k].rank * self.processors + self.ops[k].cpu
        q = self.ops[k].rank * self.interfaces + self.ops[k].nic
        free = self.free[p]
        if number >= n:
            self.deliver(k, time)
            return
        if self.ops[k].kind == _SEND:
            free = max(free, self.sending[q])
        elif self.ops[k].kind != _CALC:
            free = time
        if free > time:
            self.add(free, number)
            return
        self.start(k)
        if self.ops[k].kind == _CALC:
            self.free[p] = time + self.ops[k].busy
            self.finish(k, self.free[p])
        elif self.ops[k].kind == _SEND:
            self.free[p] = time + self.ops[k].busy
            self.sending[q] = time + self.ops[k].gap
            self.add(time + self.ops[k].flight, n + k)
            if not self.ops[k].waits:
                self.finish(k, self.free[p])
        else:
            self.post(k, time)
        self.follow(self.ops[k].rank)

    @cython.cfunc
    @cython.exceptval(check=False)
    def deliver(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a message be received where its receive is posted and all is free; a held sender goes on with it."""
        host = self.ops[k].peer
        found = self.take(self.posted, self.ops[k].queue, _ANY, _ANY)
        if found == _NONE:
            self.wait(self.unexpected, self.ops[k].queue, k)
            self.unreceived += 1
            return
        p = host * self.processors + self.ops[found].cpu
        q = host * self.interfaces + self.ops[k].nic
        free = max(self.free[p], self.taking[q])
        if free > time:
            self.add(free, self.count + k)
            self.wait(self.posted, self.ops[found].queue, found)
            return
        self.taking[q] = time + self.ops[k].taken_gap
        self.free[p] = self.taking[q] + self.ops[k].takes
        if self.ops[k].waits:
            self.let_go(k, k, self.free[p], self.taking[q])
        self.finish(found, self.free[p])
        self.follow(host)
        if self.ops[k].waits and self.ops[k].rank != host:
            self.follow(self.ops[k].rank)

    @cython.cfunc
    @cython.exceptval(check=False)
    def post(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a receive take a message that is there; a held sender goes on with it, before what follows the receive."""
        found = self.take(self.unexpected, self.ops[k].queue, _ANY, _ANY)
        if found == _NONE:
            self.wait(self.posted, self.ops[k].queue, k)
            return
        p = self.ops[k].rank * self.processors + self.ops[k].cpu
        q = self.ops[k].rank * self.interfaces + self.ops[k].nic
        self.unreceived -= 1
        self.taking[q] = max(self.sending[q], time) + self.ops[k].taken_gap
        self.free[p] = self.taking[q] + self.ops[k].takes
        lets_go: cython.bint = self.ops[k].waits and self.ops[found].waits
        if lets_go:
            self.let_go(found, k, self.free[p], self.taking[q])
        self.finish(k, self.free[p])
        if lets_go and self.ops[found].rank != self.ops[k].rank:
            self.follow(self.ops[found].rank)
