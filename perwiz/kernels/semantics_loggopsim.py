# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""A schedule as LogGOPSim has it. An event n + k is that the message of operation k is there, and takes its receiver's processor."""

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


@cython.cclass
class LogGOPSim(Events):
    """Operations by rank, as LogGOPSim simulates them: their turn is the order in which they came to be, also where they have to wait."""

    @cython.cfunc
    @cython.exceptval(check=False)
    def begin(self) -> cython.void:
        """Make events of the operations that need nothing, rank by rank."""
        k: cython.int = 0
        for rank in range(self.ranks):
            self.readied = 0
            while k < self.count and self.ops[k].rank == rank:
                if self.ops[k].needs == 0:
                    self.ready[self.readied] = k
                    self.readied += 1
                k += 1
            self.follow(rank)

    @cython.cfunc
    @cython.exceptval(check=False)
    def follow(self, rank: cython.int) -> cython.void:
        """Make events of the ready operations of a rank: sends first, then receives, then computation."""
        for kind in range(_SEND, _CALC + 1):
            for i in range(self.readied):
                k = self.ready[i]
                if self.ops[k].rank == rank and self.ops[k].kind == kind:
                    time = self.free[rank * self.processors + self.ops[k].cpu]
                    if kind == _SEND:
                        time = max(time, self.sending[rank * self.interfaces + self.ops[k].nic])
                    self.add(time, k)

    @cython.cfunc
    @cython.exceptval(check=False)
    def happen(self, time: cython.longlong, turn: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an operation begin, or its message come, if all it takes is free; else later."""
        n = self.count
        k: cython.int = cython.cast(cython.int, number - n if number >= n else number)
        host: cython.int = self.ops[k].peer if number >= n else self.ops[k].rank
        p = host * self.processors + self.ops[k].cpu
        q = host * self.interfaces + self.ops[k].nic
        other: cython.int = _NONE
        free = self.free[p]
        if number >= n:
            free = max(free, self.taking[q])
        elif self.ops[k].kind == _SEND:
            free = max(free, self.sending[q])
        elif self.ops[k].kind != _CALC:
            free = time
        if free > time:
            self.push(free, turn, number)
            return
        if number >= n:
            self.free[p] = time + self.ops[k].takes
            self.taking[q] = time + self.ops[k].taken_gap
            other = self.arrive(k, time)
        else:
            self.start(k)
            if self.ops[k].kind == _CALC:
                self.free[p] = time + self.ops[k].busy
                self.finish(k, time)
            elif self.ops[k].kind == _SEND:
                self.free[p] = time + self.ops[k].busy
                self.sending[q] = time + self.ops[k].gap
                self.add(time + self.ops[k].flight, n + k)
                if not self.ops[k].waits:
                    self.finish(k, time)
            else:
                other = self.post(k, time)
        if other != _NONE and other < host:
            self.follow(other)
        self.follow(host)
        if other > host:
            self.follow(other)

    @cython.cfunc
    @cython.exceptval(check=False)
    def arrive(self, k: cython.int, time: cython.longlong) -> cython.int:
        """Let a message meet the receive that is posted for it; return the rank whose sender that lets go, -1 if it does none."""
        found = self.take(self.posted, self.ops[k].queue, self.ops[k].rank, self.ops[k].tag)
        if found == _NONE:
            self.wait(self.unexpected, self.ops[k].queue, k)
            self.unreceived += 1
            return _NONE
        if self.ops[k].waits:
            self.let_go(k, k, time, time)
        self.following[k], self.following[found] = found, k
        self.finish(found, time)
        return self.ops[k].rank if self.ops[k].waits else _NONE

    @cython.cfunc
    @cython.exceptval(check=False)
    def post(self, k: cython.int, time: cython.longlong) -> cython.int:
        """Let a receive take a message that is there; return the rank whose sender that lets go, -1 if it does none."""
        found = self.take(self.unexpected, self.ops[k].queue, self.ops[k].peer, self.ops[k].tag)
        if found == _NONE:
            self.wait(self.posted, self.ops[k].queue, k)
            return _NONE
        self.unreceived -= 1
        if self.ops[k].waits:
            self.let_go(found, k, time, time)
        self.following[k], self.following[found] = found, k
        self.finish(k, time)
        return self.ops[found].rank if self.ops[k].waits else _NONE
