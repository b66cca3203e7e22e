"""The slow, obvious twins of the kernels that make calls of OTF2 records and put in completions: objects, lists and dictionaries."""

from __future__ import annotations

import dataclasses

ENTER, LEAVE, SEND, ISEND, ISEND_COMPLETE, IRECV_REQUEST, RECV, IRECV, TEST, CANCELLED, BEGIN, END, POST, COMPLETE, METRIC = range(15)
OTHER = 32
PUT, GET, BLOCKING, NONBLOCKING = 51, 52, 54, 55
FORK, JOIN, TEAM_BEGIN, TEAM_END, ACQUIRE, RELEASE, TASK_CREATE, SWITCH, TASK_END, CREATE, THREAD_BEGIN, WAIT_THREAD, THREAD_END = range(
    58, 71
)
WHOLE, NAMED, TAKES, GIVES_WAY, WAITS = range(5)
FORKS, BEGINS = 1, 2
FROM_START = 4
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


class Over:
    """A region whose call is over."""


class Interrupted:
    """A region that stands for a wait in which something else is done."""


class Team:
    """A team that the thread is in."""

    def __init__(self, call, own):
        self.call, self.own = call, own


class Location:
    """What happened on one location. An open entry is (name, Call, Region, Inside, Over or Interrupted)."""

    def __init__(self, op_of, bare_op, part_of=None, manner=None):
        """`bare_op` is per kind of record of MPI and behind these per operation; for threads a pair: that, and one per kind of theirs."""
        self.op_of, self.bare_op = op_of, bare_op
        self.part_of, self.manner = part_of or [0] * len(op_of), manner or {}
        self.teams, self.forked, self.ended, self.idle, self.quiet = [], None, None, None, None
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
        """Take one record; return what records of other models get: calls so far, whether one is open, the innermost region, else None.

        Those of METRIC get the number of regions so far, too.
        """
        if self.clock is not None and time < self.clock:
            self.backwards += 1
        self.clock = time if self.clock is None else max(time, self.clock)
        if kind == ENTER:
            self.begin(a)
        elif kind == LEAVE:
            self.finish(a)
        elif kind == BEGIN:
            self.begun = self.clock
        elif kind in (END, POST, COMPLETE) or kind < BEGIN:
            self.of_mpi(kind, a, b, c, d, f, request)
        else:
            own = self.of_thread(kind, c) if kind in self.ops else None
            innermost = number_of(self.innermost()) if kind < OTHER else number_of(own)
            said = len(self.calls), int(self.current() is not None), innermost
            return (*said, len(self.regions)) if kind == METRIC else said
        return None

    @property
    def ops(self):
        """Ops per kind of record of threads and devices."""
        return self.bare_op[1] if isinstance(self.bare_op, tuple) else {}

    def begin(self, name):
        if PUT in self.ops and not self.open:
            self.make_idle(self.ops[PUT])
        if self.part_of[name] == BEGINS and self.free():
            self.begin_team()
        if self.part_of[name] == FORKS and self.free():
            self.forked = self.make(self.ops[FORK], self.clock)
        self.enter(name)

    def finish(self, name):
        if self.part_of[name] == FORKS and self.free():
            self.join()
        self.leave(name)
        if self.part_of[name] == BEGINS:
            self.end_team()

    def enter(self, name):
        op, call = self.op_of[name], self.current()
        both_wait = call and op >= 0 and self.how(call.op) == self.how(op) == WAITS
        gives_way = call is not None and self.how(call.op) >= GIVES_WAY
        if gives_way and op != call.op and not both_wait:
            self.interrupt()
        self.quiet = self.clock
        if op < 0:
            self.regions.append(Region(len(self.regions), name, self.clock, self.innermost(), len(self.calls)))
            self.open.append((name, self.regions[-1]))
        elif self.current():
            self.open.append((name, Over() if gives_way else Inside()))
        else:
            self.open.append((name, self.call(op, self.clock, 0)))
            if self.how(op) == NAMED:
                self.calls[-1].root = name

    def how(self, op):
        """Return what a call of an op does when something comes into it."""
        return self.manner.get(op, WHOLE)

    def call(self, op, enter, bare):
        self.calls.append(Call(len(self.calls), op, enter, self.innermost(), bare))
        return self.calls[-1]

    def make(self, op, since, bits=0):
        """Make a call that ends now."""
        call = self.call(op, max(since, self.calls[-1].leave) if self.calls else since, bits)
        call.leave = self.clock
        return call

    def make_idle(self, op):
        self.idle = op
        if self.quiet is None and not self.calls:
            return self.make(op, self.clock, FROM_START)
        return self.make(op, self.since())

    def since(self):
        """Return since when nothing was entered or left; always, if nothing ever was."""
        return -(10**18) if self.quiet is None else self.quiet

    def interrupt(self):
        at = next(k for k, (_, what) in enumerate(self.open) if isinstance(what, Call))
        name, call = self.open[at]
        self.open[at] = (name, Interrupted() if self.how(call.op) == WAITS else Over())
        if self.how(call.op) == WAITS:
            call.op = self.ops[SWITCH]
        call.leave = self.clock
        return call

    def resume(self):
        if self.current() is None and self.open and isinstance(self.open[-1][1], Interrupted):
            name = self.open[-1][0]
            self.open[-1] = (name, self.call(self.op_of[name], self.clock, 0))

    def free(self):
        if self.current() and self.how(self.current().op) >= GIVES_WAY:
            self.interrupt()
        return self.current() is None

    def leave(self, name):
        among = [k for k, (other, _) in enumerate(self.open) if other == name and k >= len(self.open) - DEEPEST]
        if not among:
            self.not_open += 1
            return
        self.end(among[-1])
        self.pairs += 1

    def end(self, at):
        busy = self.current() is not None
        name, what = self.open.pop(at)
        self.quiet = self.clock
        if isinstance(what, Interrupted) and not busy:
            what = self.call(self.op_of[name], self.clock, 0)
        if isinstance(what, Inside):
            self.internal += 1
        if isinstance(what, Call):
            what.leave = self.clock
            if self.how(what.op) >= GIVES_WAY and self.teams:
                what.partner = (*what.partner[:2], self.teams[-1].call.number)
        if isinstance(what, Region):
            what.leave, what.end_call = self.clock, len(self.calls)
        self.resume()

    def close(self):
        """End everything; return how much that was."""
        count = len(self.open) + len(self.teams)
        while self.open:
            self.end(len(self.open) - 1)
        if self.idle is not None and not self.teams:
            self.make_idle(self.idle)
        return count

    def begin_team(self):
        call, own = self.forked, self.forked is not None
        if not own:
            call = self.make_idle(self.ops[TEAM_BEGIN])
            call.partner = (-1, -1, call.number)
        self.teams.append(Team(call, own))
        self.forked, self.quiet = None, self.clock
        return call

    def end_team(self):
        if not self.teams:
            self.not_open += 1
            return
        team = self.teams.pop()
        if team.own:
            self.ended = team.call
        self.quiet = self.clock

    def join(self):
        since = self.since()
        if self.ended is None:
            since = self.clock
            if self.teams and self.teams[-1].own:
                self.end_team()
        call = self.make(self.ops[JOIN], since)
        call.partner = (-1, -1, number_of(self.ended))
        self.ended, self.quiet = None, self.clock
        return call

    def of_thread(self, kind, generation):
        """Take a record of threads or devices; return the call it makes or belongs to, if any."""
        call = self.current()
        if kind in (PUT, GET):
            made = None if self.open else self.make_idle(self.ops[PUT])
            self.enter(len(self.op_of) - (1 if kind == GET else 2))
            return made
        if kind in (BLOCKING, NONBLOCKING):
            copies = [k for k, (name, _) in enumerate(self.open) if name >= len(self.op_of) - 2]
            if copies:
                self.end(copies[-1])
            return None
        if kind == TEAM_END:
            self.end_team()
            return None
        if (kind == SWITCH and generation == 0) or kind == TASK_END:
            self.resume()
            call = self.current()
            if kind == SWITCH:
                return None
        if kind in (SWITCH, TASK_END) and call and self.how(call.op) == WAITS:
            return self.interrupt() if kind == SWITCH else call
        if kind in (ACQUIRE, RELEASE, TASK_CREATE, CREATE, WAIT_THREAD, THREAD_END) and call:
            if self.how(call.op) == TAKES:
                return call
            if kind == ACQUIRE and self.how(call.op) == GIVES_WAY:
                return self.interrupt()
            if call.op == self.ops[kind]:
                return call
        if not self.free():
            return None
        if kind == TEAM_BEGIN:
            return self.begin_team()
        if kind == JOIN:
            return self.join()
        if kind == THREAD_BEGIN:
            call = self.make_idle(self.ops[kind])
            self.idle = None
            return call
        call = self.make(self.ops[kind], self.clock)
        if kind == FORK:
            self.forked = call
        return call

    def of_mpi(self, kind, a, b, c, d, f, request):
        bare = self.free()
        call = self.current()
        bare_op = self.bare_op[0] if isinstance(self.bare_op, tuple) else self.bare_op
        if bare and kind == END:
            begun = self.clock if self.begun is None else self.begun
            self.begun = None
            before = self.calls[-1].leave if self.calls else begun
            call = self.call(bare_op[14 + a], max(begun, before), 1)
        elif bare:
            call = self.call(bare_op[kind], self.clock, 1)
        if kind == END:
            collective(call, b, c, d, f)
        else:
            self.message(kind, call, (a, c, b), d, f, request)
        if bare:
            call.leave = self.clock
            self.resume()

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
