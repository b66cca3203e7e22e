# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""A schedule as Dimemas has calls: all keep their processor, then messages move over links.

The message of a held sender moves when both ends are ready, and then lets it go. Members of a collective wait for the last one, and then
for its time; those of MPI_Reduce, whose root is the peer, send it a message each, which holds them until it is there. Of operation k, the
event n + k is that it was busy, and 2 n + k that its message is there, or its collective over.
"""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import goal_lines, semantics_events

if cython.compiled:
    from cython.cimports.perwiz.kernels.semantics_events import Events, Queue
else:
    from perwiz.kernels.semantics_events import Events, Queue
from perwiz.kernels.semantics_events import queues

_SEND = cython.declare(cython.int, goal_lines.SEND)
_CALC = cython.declare(cython.int, goal_lines.CALC)
_COLLECTIVE = cython.declare(cython.int, semantics_events.COLLECTIVE)
_NONE = cython.declare(cython.int, -1)
_ANY = cython.declare(cython.int, -2)
_MOVING = cython.declare(cython.int, 2)


@cython.cclass
class Dimemas(Events):
    """Operations as Dimemas simulates them. Messages move on one of `links` out of their node, which they keep while they wait, and one
    into the other, and then on one of `buses`, 0 any number of them; those within a node on none. `end` is when the last operation of a
    rank is done, ns.
    """

    links: cython.int
    buses: cython.int
    moving: cython.int
    nodes: cython.int
    node: cython.const[cython.int][::1]
    end = cython.declare(cython.longlong[::1], visibility="readonly")
    held: Queue[::1]
    stage: cython.int[::1]
    used: cython.int[::1]
    waiting: Queue[::1]
    met: Queue[::1]
    missing: cython.int[::1]

    def prepare(self, links: cython.int, buses: cython.int, node: cython.const[cython.int][::1], missing: cython.int[::1]) -> None:
        """Put each rank on its `node`, from 0, of so many links, and give collectives how many of their members are `missing`.

        To be called before `run`.
        """
        self.links, self.node, self.nodes = links, node, np.asarray(node).max(initial=0) + 1
        self.buses, self.moving = buses, 0
        self.missing, self.met = missing, queues(len(missing))
        self.end = np.zeros(self.ranks, "i8")
        self.held, self.waiting = queues(len(self.posted)), queues(2 * self.nodes + 1)
        self.stage, self.used = np.zeros(self.count, "i4"), np.zeros(2 * self.nodes, "i4")

    @cython.cfunc
    @cython.exceptval(check=False)
    def happen(self, time: cython.longlong, turn: cython.longlong, number: cython.Py_ssize_t) -> cython.void:
        """Let an operation begin if its processor is free, else later; or be at its end, or its message come."""
        n = self.count
        k: cython.int = cython.cast(cython.int, number % n)
        if number < n:
            p = self.ops[k].rank * self.processors + self.ops[k].cpu
            if self.free[p] > time:
                self.push(self.free[p], turn, number)
                return
            self.free[p] = time + self.ops[k].busy
            self.start(k)
            self.add(self.free[p], n + k)
        elif number >= 2 * n:
            self.arrive(k, time)
        elif self.ops[k].kind == _COLLECTIVE:
            self.meet(k, time)
        elif self.ops[k].kind == _CALC:
            self.stop(k, time)
        elif self.ops[k].kind == _SEND:
            self.send(k, time)
        else:
            self.post(k, time)
        for i in range(self.readied):
            self.add(max(time, self.ops[self.ready[i]].since), self.ready[i])

    @cython.cfunc
    @cython.exceptval(check=False)
    def stop(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let an operation be done."""
        rank = self.ops[k].rank
        self.end[rank] = max(self.end[rank], time)
        self.finish(k, time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def send(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a message move, if it is not held until its receive is posted."""
        found = self.posted[self.ops[k].queue].first if self.ops[k].waits else k
        while found != _NONE and found != k and not self.fits(found, self.ops[k].rank, self.ops[k].tag):
            found = self.following[found]
        if found == _NONE:
            self.wait(self.held, self.ops[k].queue, k)
        else:
            self.stop(k, time)
            self.transfer(k, time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def post(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a receive take a message that is there, or let one move that is held for it."""
        found = self.take(self.unexpected, self.ops[k].queue, self.ops[k].peer, self.ops[k].tag)
        if found != _NONE:
            self.unreceived -= 1
            self.stop(k, time)
            return
        self.wait(self.posted, self.ops[k].queue, k)
        found = self.take(self.held, self.ops[k].queue, self.ops[k].peer, self.ops[k].tag)
        if found != _NONE:
            self.stop(found, time)
            self.transfer(found, time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def transfer(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a message move if it has a link out of its sender and then one into its receiver, which it keeps, and a bus, else wait."""
        within = self.node[self.ops[k].rank] == self.node[self.ops[k].peer]
        while not within and self.stage[k] < _MOVING:
            place = self.node[self.ops[k].rank] if self.stage[k] == 0 else self.nodes + self.node[self.ops[k].peer]
            if self.links > 0 and self.used[place] >= self.links:
                self.wait(self.waiting, place, k)
                return
            self.used[place] += 1
            self.stage[k] += 1
        if not within and self.buses > 0:
            if self.moving >= self.buses:
                self.wait(self.waiting, 2 * self.nodes, k)
                return
            self.moving += 1
        self.add(time + self.ops[k].flight, 2 * self.count + k)

    @cython.cfunc
    @cython.exceptval(check=False)
    def arrive(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a message that is there give its links to those that wait for them, and meet its receive, or its collective be over."""
        at = self.ops[k].queue
        if self.ops[k].kind == _COLLECTIVE and self.ops[k].peer == _NONE:
            self.over(at, time)
            return
        for place in (self.node[self.ops[k].rank], self.nodes + self.node[self.ops[k].peer]):
            if self.stage[k] < _MOVING:
                break
            self.used[place] -= 1
            following = self.take(self.waiting, place, _ANY, _ANY)
            if following != _NONE:
                self.transfer(following, time)
        if self.buses > 0 and self.stage[k] == _MOVING:
            self.moving -= 1
            following = self.take(self.waiting, 2 * self.nodes, _ANY, _ANY)
            if following != _NONE:
                self.transfer(following, time)
        if self.ops[k].kind == _COLLECTIVE:
            self.stop(k, time)
            self.missing[at] -= 1
            if self.missing[at] == 0:
                self.over(at, time)
            return
        found = self.take(self.posted, at, self.ops[k].rank, self.ops[k].tag)
        if found == _NONE:
            self.wait(self.unexpected, at, k)
            self.unreceived += 1
        else:
            self.stop(found, time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def meet(self, k: cython.int, time: cython.longlong) -> cython.void:
        """Let a member of a collective wait for the others, or send what it has to the root of MPI_Reduce."""
        at = self.ops[k].queue
        if self.ops[k].peer not in (_NONE, self.ops[k].rank):
            self.transfer(k, time)
            return
        self.wait(self.met, at, k)
        self.missing[at] -= 1
        if self.missing[at] == 0:
            if self.ops[k].peer == _NONE:
                self.add(time + self.ops[k].flight, 2 * self.count + k)
            else:
                self.over(at, time)

    @cython.cfunc
    @cython.exceptval(check=False)
    def over(self, at: cython.int, time: cython.longlong) -> cython.void:
        """Let all be done that wait in a collective."""
        k = self.take(self.met, at, _ANY, _ANY)
        while k != _NONE:
            self.stop(k, time)
            k = self.take(self.met, at, _ANY, _ANY)
