"""The slow, obvious twins of the kernels that make calls of OTF2 records and put in completions: objects, lists and dictionaries."""

from __future__ import annotations

import dataclasses

ENTER, LEAVE, SEND, ISEND, ISEND_COMPLETE, IRECV_REQUEST, RECV, IRECV, TEST, CANCELLED, BEGIN, END, POST, COMPLETE = range(14)
OTHER = 32
SENT, RECEIVED, INCOMPLETE = range(3)
DEEPEST = 1000


@dataclasses.dataclass(eq=False)
class Call:
    """One MPI call; the partner is (peer, tag, communicator)."""

    number: int
    op: int
    enter: int
    region: Region | None
    bare: int
    leave: int = 0
    partner: tuple[int, int, int] = (-1, -1, -1)
    root: int = -1
    sent: int = 0
    received: int = 0
    collective: int = 0


@dataclasses.dataclass(eq=False)
class Region:
    """One instance of a user region."""

    number: int
    name: int
    enter: int
    parent: Region | None
    first_call: int
    leave: int = 0
    end_call: int = 0


@dataclasses.dataclass(eq=False)
class Request:
    """One posted request."""

    number: int
    posted: Call
    done: Call | None = None
    cancelled: int = 0


class Inside:
    """An MPI region inside a call."""


class Location:
    """What happened on one location. An open entry is (name, Call, Region or Inside)."""

    def __init__(self, op_of, bare_op):
        self.op_of, self.bare_op = op_of, bare_op
        self.calls, self.regions, self.requests, self.messages, self.open = [], [], [], [], []
        self.by_id = {}
        self.clock = self.begun = None
        self.pairs = self.internal = self.backwards = self.not_open = self.not_posted = 0

    def current(self):
        """Return the call that is open, if any."""
        return next((what for _, what in self.open if isinstance(what, Call)), None)

    def innermost(self):
        """Return the user region opened last of those open."""
        return next((what for _, what in reversed(self.open) if isinstance(what, Region)), None)

    def record(self, kind, time, a, b, c, d, f, request):
        """Take one record; return what other models' records get: calls so far, whether one is open, the innermost region, else None."""
        if self.clock is not None and time < self.clock:
            self.backwards += 1
        self.clock = time if self.clock is None else max(time, self.clock)
        if kind == ENTER:
            self.enter(a)
        elif kind == LEAVE:
            self.leave(a)
        elif kind == BEGIN:
            self.begun = self.clock
        elif kind in (END, POST, COMPLETE) or kind < BEGIN:
            self.of_mpi(kind, a, b, c, d, f, request)
        else:
            return len(self.calls), int(self.current() is not None), number_of(self.innermost()) if kind < OTHER else f
        return None

    def enter(self, name):
        if self.op_of[name] < 0:
            self.regions.append(Region(len(self.regions), name, self.clock, self.innermost(), len(self.calls)))
            self.open.append((name, self.regions[-1]))
        elif self.current():
            self.open.append((name, Inside()))
        else:
            self.open.append((name, self.call(self.op_of[name], self.clock, 0)))

    def call(self, op, enter, bare):
        self.calls.append(Call(len(self.calls), op, enter, self.innermost(), bare))
        return self.calls[-1]

    def leave(self, name):
        among = [k for k, (other, _) in enumerate(self.open) if other == name and k >= len(self.open) - DEEPEST]
        if not among:
            self.not_open += 1
            return
        self.end(among[-1])
        self.pairs += 1

    def end(self, at):
        _, what = self.open.pop(at)
        if isinstance(what, Inside):
            self.internal += 1
            return
        what.leave = self.clock
        if isinstance(what, Region):
            what.end_call = len(self.calls)

    def close(self):
        """End everything; return how much that was."""
        count = len(self.open)
        while self.open:
            self.end(len(self.open) - 1)
        return count

    def of_mpi(self, kind, a, b, c, d, f, request):
        call, bare = self.current(), self.current() is None
        if bare and kind == END:
            begun = self.clock if self.begun is None else self.begun
            self.begun = None
            before = self.calls[-1].leave if self.calls else begun
            call = self.call(self.bare_op[14 + a], max(begun, before), 1)
        elif bare:
            call = self.call(self.bare_op[kind], self.clock, 1)
        if kind == END:
            collective(call, b, c, d, f)
        else:
            self.message(kind, call, (a, c, b), d, f, request)
        if bare:
            call.leave = self.clock

    def message(self, kind, call, partner, d, f, request):
        """Take a record of a message or a request."""
        if kind in (ISEND, IRECV_REQUEST, POST):
            self.requests.append(Request(len(self.requests), call))
            self.by_id[request] = self.requests[-1]
        if kind == TEST:
            if request in self.by_id:
                self.messages.append((call.number, INCOMPLETE, *partner, d, self.by_id[request].number, self.clock))
            return
        found = self.completed(kind, call, request) if kind in (ISEND_COMPLETE, IRECV, CANCELLED, COMPLETE) else None
        if kind == COMPLETE and found:
            collective(found.posted, partner[2], partner[1], d, f)
        if kind in (SEND, ISEND):
            call.sent += d
            self.transfer(SENT, call, call, partner, d, self.requests[-1] if kind == ISEND else None)
        if kind in (RECV, IRECV):
            call.received += d
            self.transfer(RECEIVED, call, call if kind == RECV else found and found.posted, partner, d, found)

    def transfer(self, kind, call, named, partner, size, request):
        """Note a message; the call `named` after it gets its partner if it has none."""
        if named and (named.partner[0], named.partner[2]) == (-1, -1):
            named.partner = partner
        self.messages.append((call.number, kind, *partner, size, number_of(request), self.clock))

    def completed(self, kind, call, request):
        found = self.by_id.pop(request, None)
        if found is None:
            self.not_posted += 1
            return None
        found.done, found.cancelled = call, int(kind == CANCELLED)
        return found

    def rows(self):
        """Return calls, regions, messages and requests as rows of integers."""
        calls = [
            (call.enter, call.leave, call.op, number_of(call.region), *call.partner, call.root, call.sent, call.received, call.bare)
            for call in self.calls
        ]
        calls = [(*row[:-1], row[-1] + call.collective) for row, call in zip(calls, self.calls, strict=True)]
        regions = [(r.enter, r.leave, r.name, number_of(r.parent), r.first_call, r.end_call) for r in self.regions]
        requests = [(r.posted.number, number_of(r.done), r.cancelled) for r in self.requests]
        return calls, regions, self.messages, requests

    def counts(self):
        """Return pairs, MPI regions inside calls, steps back, ends without begin, completions without post."""
        return [self.pairs, self.internal, self.backwards, self.not_open, self.not_posted]


def number_of(thing):
    return -1 if thing is None else thing.number


def collective(call, comm, root, sent, received):
    """What a collective record says of a call."""
    call.partner = (*call.partner[:2], comm)
    call.root, call.sent, call.received, call.collective = root, sent, received, 2


ONE, ALL = 1, 2


def later_waits(location, kind, posts):
    """Return per call how many waits for one follow it on its location before a call that waits for all or posts."""
    out = []
    for e, where in enumerate(location):
        count = 0
        for later in range(e + 1, len(location)):
            if location[later] != where or (kind[later] != ONE and (kind[later] == ALL or posts[later])):
                break
            count += kind[later] == ONE
        out.append(count)
    return out


def infer(location, kind, first, left, sends):
    """Return per request the call that completes it, or -1."""
    by = {}
    for where in dict.fromkeys(location):
        waiting = []
        for e in (e for e, other in enumerate(location) if other == where):
            for request in completed(kind[e], left[e], waiting, sends):
                by[request] = e
                waiting.remove(request)
            waiting += range(first[e], first[e + 1])
    return [by.get(request, -1) for request in range(first[-1])]


def completed(kind, left, waiting, sends):
    """Return which of the waiting requests a call completes."""
    if kind == ONE:
        return waiting[:1]
    if kind != ALL or len(waiting) <= left:
        return []
    number = len(waiting) - left
    for group in ([r for r in waiting if sends[r]], [r for r in waiting if not sends[r]]):
        if len(group) == number:
            return group
    return waiting[:number]
