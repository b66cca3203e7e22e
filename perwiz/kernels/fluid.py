# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""Calls and messages that flow through links, in one run in the order of time: when each message is done."""

from __future__ import annotations

import cython
import numpy as np

from perwiz.kernels import names

if cython.compiled:
    from cython.cimports.perwiz.kernels.routes import Routes
else:
    from perwiz.kernels.routes import Routes

GAP = cython.declare(cython.int, names.GAP)

_ALMOST = cython.declare(cython.double, 1e-9)
"""Part of a message that rounding may have left."""
_SOON = cython.declare(cython.double, 1e-4)
"""ns that are no time."""
_NEVER = cython.declare(cython.double, 1e300)
_LONGEST = cython.declare(cython.double, 2.0**53)
_NONE = cython.declare(cython.int, -1)

Vertex = cython.struct(time=cython.longlong, open=cython.int, out=cython.int, flow=cython.int, behind=cython.int)
VERTEX = np.dtype([("time", "i8"), *((name, "i4") for name in ("open", "out", "flow", "behind"))], align=True)
"""A vertex of a graph in which messages flow: when it happens; how many edges and flows it waits for; where those that lead out of it end
in their list; the first of the causes of flows that it is, and its row of works, -1 none.
"""
Journey = cython.struct(
    start=cython.double,
    volume=cython.double,
    due=cython.double,
    farther=cython.longlong,
    delay=cython.longlong,
    route=cython.int,
    open=cython.int,
    tie=cython.int,
    call=cython.int,
    child=cython.int,
    next=cython.int,
)
JOURNEY = np.dtype(
    [
        *((name, "f8") for name in ("start", "volume", "due")),
        *((name, "i8") for name in ("farther", "delay")),
        *((name, "i4") for name in ("route", "open", "tie", "call", "child", "next")),
    ],
    align=True,
)
"""A message on its way: when it can flow, at first 0 or, if it waits for nothing, then; its volume; what a flow that was on its route all
the time has passed when it is done; the latency of links that are more than two, and the delay that comes out; its route; how many causes
it waits for; its first tie, those of the next row are behind its last; the row of works that has it, -1 none. Those of a route are a tree
(a pairing heap), none below one that is due later: the last child of each, and the child before it.
"""
Cause = cython.struct(after=cython.longlong, flow=cython.int, next=cython.int)
CAUSE = np.dtype([("after", "i8"), ("flow", "i4"), ("next", "i4")], align=True)
"""ns behind a vertex until a flow can begin, and the next one of the vertex, -1 none."""
Tie = cython.struct(weight=cython.longlong, edge=cython.int, vertex=cython.int)
TIE = np.dtype([("weight", "i8"), ("edge", "i4"), ("vertex", "i4")], align=True)
"""An edge that weighs more by the delay of a message, what it weighs without any, and the vertex that it leads into."""
Work = cython.struct(was=cython.longlong, now=cython.longlong, vertex=cython.int)
WORK = np.dtype([("was", "i8"), ("now", "i8"), ("vertex", "i4")], align=True)
"""The longest delay of the messages that a call's work has, as the weights have it and now, and the vertex where it returns."""


@cython.cclass
class Fluid(Routes):
    """Vertices that happen and messages that flow, one by the other; all arrays of `prepare` are the caller's, who reads what became of
    them. Who waits for its start is on the last route.
    """

    start: cython.const[cython.int][::1]
    source: cython.const[cython.int][::1]
    kind: cython.const[cython.uchar][::1]
    weight: cython.const[cython.longlong][::1]
    cut: cython.longlong
    changed: cython.longlong[::1]
    vertices: Vertex[::1]
    out: cython.int[::1]
    ready: cython.int[::1]
    readied: cython.Py_ssize_t
    causes: Cause[::1]
    journeys: Journey[::1]
    ties: Tie[::1]
    works: Work[::1]
    front: cython.int[::1]
    there: cython.Py_ssize_t
    last: cython.Py_ssize_t
    now: cython.double

    def run(
        self,
        start: cython.const[cython.int][::1],
        source: cython.const[cython.int][::1],
        kind: cython.const[cython.uchar][::1],
        weight: cython.const[cython.longlong][::1],
        cut: cython.longlong,
        changed: cython.longlong[::1],
        vertices: Vertex[::1],
        causes: Cause[::1],
        journeys: Journey[::1],
        ties: Tie[::1],
        works: Work[::1],
    ) -> int:
        """Run until all that can has happened, and return how many vertices happened: all, unless they wait in a cycle.

        Writes `time` of vertices, which is a floor before, and `delay` of journeys. `start`, `source`, `kind` and `weight` are those of a
        graph; `changed` begins as `weight`, below any weight on edges with ties; edges of weight `cut` bind nobody. `vertices` have the
        flows and ties that they wait for in `open`; `journeys` are one more than there are. What a message has behind its cause in the
        past it has had alone: it is recorded sooner than its links allow. A graph of no vertices has journeys that begin when they say.
        """
        self.start, self.source, self.kind, self.weight, self.cut, self.changed = start, source, kind, weight, cut, changed
        self.vertices, self.causes, self.journeys, self.ties, self.works = vertices, causes, journeys, ties, works
        self.out, self.ready = np.empty(len(source), "i4"), np.empty(len(vertices), "i4")
        self.last, self.there, self.now = len(self.routes) - 1, 0, 0.0
        self.front = np.full(len(self.routes), _NONE, "i4")
        for f in range(len(journeys) - 1):
            if journeys[f].open == 0:
                self.enter(f)
        self.lead_out()
        return self.happen()

    @cython.cfunc
    @cython.exceptval(check=False)
    def happen(self) -> cython.Py_ssize_t:
        """Let vertices happen as long as any is ready, then the next flow begin or be done, and so on; return how many happened."""
        happened: cython.Py_ssize_t = 0
        while True:
            while self.readied > 0:
                self.readied -= 1
                v: cython.Py_ssize_t = self.ready[self.readied]
                happened += 1
                self.vertices[v].time = self.time(v)
                for k in range(self.vertices[v - 1].out if v > 0 else 0, self.vertices[v].out):
                    self.close(self.out[k])
                self.let_flow(v)
            if self.there == 0:
                return happened
            self.now = max(self.now, self.routes[self.heap[0]].end)
            while self.is_due(self.heap[0]):
                r: cython.Py_ssize_t = self.heap[0]
                f: cython.Py_ssize_t = self.take(r)
                if r == self.last:
                    self.begin(f)
                else:
                    longer: cython.double = self.now - self.journeys[f].start - self.journeys[f].volume / self.most
                    self.pass_by(f, max(min(longer, _LONGEST), 0.0))
            self.share(self.now)

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_due(self, r: cython.Py_ssize_t) -> cython.bint:
        """Return whether the first flow of a route has passed, but for what rounding left, or is to begin."""
        if self.front[r] == _NONE:
            return False
        more: cython.double = self.routes[r].end - self.now
        if more <= 0 or r == self.last:
            return more <= 0
        return more <= _SOON or more * self.routes[r].rate <= self.journeys[self.front[r]].volume * _ALMOST

    @cython.cfunc
    @cython.exceptval(check=False)
    def let_flow(self, v: cython.Py_ssize_t) -> cython.void:
        """Let the messages wait for their start that a vertex was the last cause of."""
        cause: cython.Py_ssize_t = self.vertices[v].flow
        while cause != _NONE:
            f: cython.Py_ssize_t = self.causes[cause].flow
            self.journeys[f].start = max(self.journeys[f].start, self.vertices[v].time + self.causes[cause].after)
            self.journeys[f].open -= 1
            if self.journeys[f].open == 0:
                self.enter(f)
            cause = self.causes[cause].next

    @cython.cfunc
    @cython.exceptval(check=False)
    def enter(self, f: cython.Py_ssize_t) -> cython.void:
        """Let a message wait for its start."""
        self.there += 1
        self.put(self.last, f, max(self.journeys[f].start, self.now))

    @cython.cfunc
    @cython.exceptval(check=False)
    def begin(self, f: cython.Py_ssize_t) -> cython.void:
        """Let a message flow on its route."""
        r: cython.Py_ssize_t = self.journeys[f].route
        left: cython.double = self.journeys[f].volume - (self.now - self.journeys[f].start) * self.most
        if left > 0:
            self.come(r, self.now)
            self.put(r, f, self.routes[r].served + left)
        else:
            self.pass_by(f, 0.0)

    @cython.cfunc
    @cython.exceptval(check=False)
    def pass_by(self, f: cython.Py_ssize_t, longer: cython.double) -> cython.void:
        """Let a message be done, so much later than alone: change the edges that wait for it.

        Half a ns is rounded up, whatever rounding took of it: where many are done together delays are halves often, and a ns matters.
        """
        self.there -= 1
        self.journeys[f].delay = cython.cast(cython.longlong, longer + 0.5 + _SOON) + self.journeys[f].farther
        for k in range(self.journeys[f].tie, self.journeys[f + 1].tie):
            edge = self.ties[k].edge
            ns: cython.longlong = self.ties[k].weight + self.journeys[f].delay
            self.changed[edge] = max(self.changed[edge], ns, min(self.weight[edge], 0))
            self.close(self.ties[k].vertex)
        call: cython.Py_ssize_t = self.journeys[f].call
        if call != _NONE:
            self.works[call].now = max(self.works[call].now, self.journeys[f].delay)
            self.close(self.works[call].vertex)

    @cython.cfunc
    @cython.exceptval(check=False)
    def put(self, r: cython.Py_ssize_t, f: cython.Py_ssize_t, due: cython.double) -> cython.void:
        """Put a message among those of a route."""
        self.journeys[f].due = due
        self.journeys[f].child = self.journeys[f].next = _NONE
        self.front[r] = f if self.front[r] == _NONE else self.meld(self.front[r], f)
        self.expect(r, self.journeys[self.front[r]].due)

    @cython.cfunc
    @cython.exceptval(check=False)
    def take(self, r: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Take the first message of a route and return it: its children are put below one another, by twos, then all."""
        f: cython.Py_ssize_t = self.front[r]
        following: cython.Py_ssize_t
        pairs: cython.Py_ssize_t = _NONE
        one: cython.Py_ssize_t = self.journeys[f].child
        while one != _NONE:
            other: cython.Py_ssize_t = self.journeys[one].next
            following = _NONE
            if other != _NONE:
                following = self.journeys[other].next
                one = self.meld(one, other)
            self.journeys[one].next = pairs
            pairs = one
            one = following
        while pairs != _NONE:
            following = self.journeys[pairs].next
            one = pairs if one == _NONE else self.meld(one, pairs)
            pairs = following
        self.front[r] = one
        if r != self.last:
            self.leave(r, self.now)
        self.expect(r, _NEVER if one == _NONE else self.journeys[one].due)
        return f

    @cython.cfunc
    @cython.exceptval(check=False)
    def meld(self, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Put of two messages that which is due later below the other one, and return that."""
        if self.journeys[other].due < self.journeys[one].due:
            one, other = other, one
        self.journeys[other].next = self.journeys[one].child
        self.journeys[one].child = other
        return one

    @cython.cfunc
    @cython.exceptval(check=False)
    def lead_out(self) -> cython.void:
        """Write where the edges that bind lead to, by source, count those into each vertex, and find the vertices that are ready."""
        count: cython.Py_ssize_t = len(self.vertices)
        for v in range(count):
            for k in range(self.start[v], self.start[v + 1]):
                if self.weight[k] != self.cut:
                    self.vertices[v].open += 1
                    if self.source[k] + 1 < count:
                        self.vertices[self.source[k] + 1].out += 1
        for v in range(1, count):
            self.vertices[v].out += self.vertices[v - 1].out
        # each count is where the edges of a vertex begin, and comes to be where they end
        self.readied = 0
        for v in range(count):
            if self.vertices[v].open == 0:
                self.ready[self.readied] = v
                self.readied += 1
            for k in range(self.start[v], self.start[v + 1]):
                if self.weight[k] != self.cut:
                    self.out[self.vertices[self.source[k]].out] = v
                    self.vertices[self.source[k]].out += 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def time(self, v: cython.Py_ssize_t) -> cython.longlong:
        """Return when a vertex happens of which nothing is open: not before the time that it has."""
        time: cython.longlong = self.vertices[v].time
        more: cython.longlong = 0
        if self.vertices[v].behind != _NONE:
            more = self.works[self.vertices[v].behind].now - self.works[self.vertices[v].behind].was
        for k in range(self.start[v], self.start[v + 1]):
            if self.weight[k] != self.cut:
                ns: cython.longlong = self.changed[k]
                if more != 0 and self.kind[k] != GAP:
                    ns = max(ns + more, min(self.weight[k], 0))
                time = max(time, self.vertices[self.source[k]].time + ns)
        return time

    @cython.cfunc
    @cython.exceptval(check=False)
    def close(self, v: cython.Py_ssize_t) -> cython.void:
        """Note that a vertex waits for one thing less."""
        self.vertices[v].open -= 1
        if self.vertices[v].open == 0:
            self.ready[self.readied] = v
            self.readied += 1
