# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True, infer_types=True
"""A schedule as LogGOPSim, that of ATLAHS, Dimemas and LLAMP have it.

All but LLAMP simulate events: processors and network interfaces take operations as they are free. Operation k has the events k, when it
can be begun, and of a send n + k, when its message is there. LLAMP has the longest path through the messages and dependences.
"""

import cython
import numpy as np

from perwiz.kernels import goal_lines

_SEND = cython.declare(cython.int, goal_lines.SEND)
_CALC = cython.declare(cython.int, goal_lines.CALC)
_NONE = cython.declare(cython.int, -1)
_ANY = cython.declare(cython.int, -2)

I8 = cython.typedef(cython.longlong)
Operation = cython.struct(
    kind=cython.int,
    rank=cython.int,
    peer=cython.int,
    tag=cython.int,
    cpu=cython.int,
    nic=cython.int,
    queue=cython.int,
    waits=cython.int,
    needs=cython.int,
    first_done=cython.int,
    end_done=cython.int,
    first_started=cython.int,
    end_started=cython.int,
    busy=I8,
    gap=I8,
    flight=I8,
    takes=I8,
    taken_gap=I8,
    since=I8,
)
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

Event = cython.struct(time=I8, turn=I8, number=cython.int)
EVENT = np.dtype([("time", "i8"), ("turn", "i8"), ("number", "i4")], align=True)
"""An event, and its turn among those of the same time: the order in which they came to be."""
Queue = cython.struct(first=cython.int, last=cython.int)
QUEUE = np.dtype([("first", "i4"), ("last", "i4")])
"""A list of operations, -1 none."""
Counts = cython.struct(events=I8, turn=I8, ready=I8, done=I8, unreceived=I8)
COUNTS = np.dtype([(name, "i8") for name in ("events", "turn", "ready", "done", "unreceived")])
"""Of the events to come, of those that came to be, of the ready operations, of those that are done, and of messages nobody receives."""


@cython.cfunc
@cython.inline
def _less(heap: Event[::1], i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.bint:
    return heap[i].time < heap[k].time or (heap[i].time == heap[k].time and heap[i].turn < heap[k].turn)


@cython.cfunc
@cython.exceptval(check=False)
def _swap(heap: Event[::1], i: cython.Py_ssize_t, k: cython.Py_ssize_t) -> cython.void:
    time, turn, number = heap[i].time, heap[i].turn, heap[i].number
    heap[i].time, heap[i].turn, heap[i].number = heap[k].time, heap[k].turn, heap[k].number
    heap[k].time, heap[k].turn, heap[k].number = time, turn, number


@cython.cfunc
@cython.exceptval(check=False)
def _push(heap: Event[::1], counts: Counts[::1], time: I8, turn: I8, number: cython.Py_ssize_t) -> cython.void:
    k: cython.Py_ssize_t = counts[0].events
    counts[0].events += 1
    heap[k].time, heap[k].turn, heap[k].number = time, turn, cython.cast(cython.int, number)
    while k > 0 and _less(heap, k, (k - 1) // 2):
        _swap(heap, k, (k - 1) // 2)
        k = (k - 1) // 2


@cython.cfunc
@cython.exceptval(check=False)
def _drop_first(heap: Event[::1], counts: Counts[::1]) -> cython.void:
    """Take the first event out: the lesser of two follows it down to the end, and the last event goes up from there.

    Of the same time and turn the next one is as from a std::priority_queue of libstdc++.
    """
    counts[0].events -= 1
    end: cython.Py_ssize_t = counts[0].events
    k: cython.Py_ssize_t = 0
    _swap(heap, 0, end)
    time, turn, number = heap[0].time, heap[0].turn, heap[0].number
    while 2 * k + 1 < end:
        least = 2 * k + 2
        if least >= end or _less(heap, least - 1, least):
            least -= 1
        heap[k].time, heap[k].turn, heap[k].number = heap[least].time, heap[least].turn, heap[least].number
        k = least
    heap[k].time, heap[k].turn, heap[k].number = time, turn, number
    while k > 0 and _less(heap, k, (k - 1) // 2):
        _swap(heap, k, (k - 1) // 2)
        k = (k - 1) // 2


@cython.cfunc
@cython.exceptval(check=False)
def _let(
    ops: Operation[::1],
    listed: cython.const[cython.int][::1],
    first: cython.int,
    end: cython.int,
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.void:
    """Take one need of each of some operations; those without any more are ready."""
    for i in range(first, end):
        k = listed[i]
        ops[k].needs -= 1
        if ops[k].needs == 0:
            ready[counts[0].ready] = k
            counts[0].ready += 1


@cython.cfunc
@cython.exceptval(check=False)
def _begin(
    rank: cython.int,
    processors: cython.int,
    interfaces: cython.int,
    ops: Operation[::1],
    ready: cython.int[::1],
    counts: Counts[::1],
    free: cython.const[I8][::1],
    sending: cython.const[I8][::1],
    heap: Event[::1],
) -> cython.void:
    """Make events of the ready operations of a rank: sends first, then receives, then computation."""
    for kind in range(_SEND, _CALC + 1):
        for i in range(counts[0].ready):
            k = ready[i]
            if ops[k].rank == rank and ops[k].kind == kind:
                time = free[rank * processors + ops[k].cpu]
                if kind == _SEND:
                    time = max(time, sending[rank * interfaces + ops[k].nic])
                _push(heap, counts, time, counts[0].turn, k)
                counts[0].turn += 1


@cython.cfunc
@cython.exceptval(check=False)
def _let_go(
    ops: Operation[::1],
    send: cython.Py_ssize_t,
    by: cython.Py_ssize_t,
    time: I8,
    processors: cython.int,
    interfaces: cython.int,
    free: I8[::1],
    sending: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.void:
    """Let a held sender go on at `time`, on the processor and interface of the operation it is let go `by`."""
    p = ops[send].rank * processors + ops[by].cpu
    q = ops[send].rank * interfaces + ops[by].nic
    free[p] = max(free[p], time)
    sending[q] = max(sending[q], time)
    _let(ops, listed, ops[send].first_done, ops[send].end_done, ready, counts)
    counts[0].done += 1


@cython.cfunc
@cython.inline
def _fits(ops: Operation[::1], k: cython.int, peer: cython.int, tag: cython.int) -> cython.bint:
    """Return whether a message or receive of a queue may match a partner and tag."""
    other = ops[k].rank if ops[k].kind == _SEND else ops[k].peer
    return (peer == _ANY or other in (_ANY, peer)) and (tag == _ANY or ops[k].tag in (_ANY, tag))


@cython.cfunc
@cython.exceptval(check=False)
def _take(
    ops: Operation[::1], queue: Queue[::1], at: cython.int, following: cython.int[::1], peer: cython.int, tag: cython.int
) -> cython.int:
    """Return the first operation of a queue that may match a partner and tag, taken out, -1 if there is none."""
    before: cython.int = _NONE
    k = queue[at].first
    while k != _NONE:
        if _fits(ops, k, peer, tag):
            if before == _NONE:
                queue[at].first = following[k]
            else:
                following[before] = following[k]
            if queue[at].last == k:
                queue[at].last = before
            return k
        before = k
        k = following[k]
    return _NONE


@cython.cfunc
@cython.exceptval(check=False)
def _wait(queue: Queue[::1], at: cython.int, following: cython.int[::1], k: cython.Py_ssize_t) -> cython.void:
    """Put an operation to the end of a queue."""
    following[k] = _NONE
    if queue[at].first == _NONE:
        queue[at].first = cython.cast(cython.int, k)
    else:
        following[queue[at].last] = cython.cast(cython.int, k)
    queue[at].last = cython.cast(cython.int, k)


@cython.cfunc
@cython.exceptval(check=False)
def _arrive(
    ops: Operation[::1],
    k: cython.Py_ssize_t,
    time: I8,
    processors: cython.int,
    interfaces: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    sending: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.int:
    """Let a message meet the receive that is posted for it; return the rank whose sender that lets go, -1 if it does none."""
    found = _take(ops, posted, ops[k].queue, following, ops[k].rank, ops[k].tag)
    if found == _NONE:
        _wait(unexpected, ops[k].queue, following, k)
        counts[0].unreceived += 1
        return _NONE
    other: cython.int = _NONE
    if ops[k].waits:
        other = ops[k].rank
        _let_go(ops, k, k, time, processors, interfaces, free, sending, listed, ready, counts)
    following[k], following[found] = found, cython.cast(cython.int, k)
    _let(ops, listed, ops[found].first_done, ops[found].end_done, ready, counts)
    counts[0].done += 1
    return other


@cython.cfunc
@cython.exceptval(check=False)
def _post(
    ops: Operation[::1],
    k: cython.Py_ssize_t,
    time: I8,
    processors: cython.int,
    interfaces: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    sending: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.int:
    """Let a receive take a message that is there; return the rank whose sender that lets go, -1 if it does none."""
    _let(ops, listed, ops[k].first_started, ops[k].end_started, ready, counts)
    found = _take(ops, unexpected, ops[k].queue, following, ops[k].peer, ops[k].tag)
    if found == _NONE:
        _wait(posted, ops[k].queue, following, k)
        return _NONE
    other: cython.int = _NONE
    counts[0].unreceived -= 1
    if ops[k].waits:
        other = ops[found].rank
        _let_go(ops, found, k, time, processors, interfaces, free, sending, listed, ready, counts)
    following[k], following[found] = found, cython.cast(cython.int, k)
    _let(ops, listed, ops[k].first_done, ops[k].end_done, ready, counts)
    counts[0].done += 1
    return other


def simulate(
    ops: Operation[::1],
    listed: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    processors: cython.int,
    interfaces: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    sending: I8[::1],
    taking: I8[::1],
    ready: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> None:
    """Simulate operations by rank, `first` of each rank and one more; leave in `free` when each processor is free at last, ns.

    `listed` names operations that need others, see OPERATION. Each rank has so many processors and interfaces: `free`, and `sending` and
    `taking`, come with 0. The queues come with -1; `following` and `ready` have a row per operation, `heap` two. `counts` comes with 0,
    and has at last how many operations were done, and how many messages were not received. A message that was received and its receive
    name each other in `following`.
    """
    n: cython.Py_ssize_t = len(ops)
    for rank in range(len(first) - 1):
        counts[0].ready = 0
        for op in range(first[rank], first[rank + 1]):
            if ops[op].needs == 0:
                ready[counts[0].ready] = op
                counts[0].ready += 1
        _begin(rank, processors, interfaces, ops, ready, counts, free, sending, heap)
    while counts[0].events > 0:
        time = heap[0].time
        turn = heap[0].turn
        e: cython.Py_ssize_t = heap[0].number
        _drop_first(heap, counts)
        counts[0].ready = 0
        k = e - n if e >= n else e
        own: cython.int = ops[k].rank
        other: cython.int = _NONE
        host: cython.int = ops[k].peer if e >= n else own
        p = host * processors + ops[k].cpu
        q = host * interfaces + ops[k].nic
        if e >= n:
            if free[p] > time or taking[q] > time:
                _push(heap, counts, max(free[p], taking[q]), turn, e)
                continue
            free[p] = time + ops[k].takes
            taking[q] = time + ops[k].taken_gap
            own = host
            other = _arrive(ops, k, time, processors, interfaces, posted, unexpected, following, free, sending, listed, ready, counts)
        elif ops[k].kind == _CALC:
            if free[p] > time:
                _push(heap, counts, free[p], turn, e)
                continue
            free[p] = time + ops[k].busy
            _let(ops, listed, ops[k].first_started, ops[k].end_started, ready, counts)
            _let(ops, listed, ops[k].first_done, ops[k].end_done, ready, counts)
            counts[0].done += 1
        elif ops[k].kind == _SEND:
            if free[p] > time or sending[q] > time:
                _push(heap, counts, max(free[p], sending[q]), turn, e)
                continue
            _let(ops, listed, ops[k].first_started, ops[k].end_started, ready, counts)
            free[p] = time + ops[k].busy
            sending[q] = time + ops[k].gap
            _push(heap, counts, time + ops[k].flight, counts[0].turn, n + k)
            counts[0].turn += 1
            if not ops[k].waits:
                _let(ops, listed, ops[k].first_done, ops[k].end_done, ready, counts)
                counts[0].done += 1
        else:
            other = _post(ops, k, time, processors, interfaces, posted, unexpected, following, free, sending, listed, ready, counts)
        if other != _NONE and other < own:
            _begin(other, processors, interfaces, ops, ready, counts, free, sending, heap)
        _begin(own, processors, interfaces, ops, ready, counts, free, sending, heap)
        if other > own:
            _begin(other, processors, interfaces, ops, ready, counts, free, sending, heap)


@cython.cfunc
@cython.exceptval(check=False)
def _done(
    ops: Operation[::1], k: cython.Py_ssize_t, time: I8, listed: cython.const[cython.int][::1], ready: cython.int[::1], counts: Counts[::1]
) -> cython.void:
    """Let an operation be done at `time`: what needs it is not begun before."""
    for i in range(ops[k].first_done, ops[k].end_done):
        ops[listed[i]].since = max(ops[listed[i]].since, time)
    _let(ops, listed, ops[k].first_done, ops[k].end_done, ready, counts)
    counts[0].done += 1


@cython.cfunc
@cython.exceptval(check=False)
def _started(
    ops: Operation[::1], k: cython.Py_ssize_t, listed: cython.const[cython.int][::1], ready: cython.int[::1], counts: Counts[::1]
) -> cython.void:
    """Let an operation be started: what needed that last may begin at any time."""
    for i in range(ops[k].first_started, ops[k].end_started):
        if ops[listed[i]].needs == 1:
            ops[listed[i]].since = 0
    _let(ops, listed, ops[k].first_started, ops[k].end_started, ready, counts)


@cython.cfunc
@cython.exceptval(check=False)
def _follow(
    rank: cython.int,
    processors: cython.int,
    interfaces: cython.int,
    ops: Operation[::1],
    ready: cython.int[::1],
    counts: Counts[::1],
    free: cython.const[I8][::1],
    sending: cython.const[I8][::1],
    heap: Event[::1],
) -> cython.void:
    """Make events of the ready operations of a rank, in the order in which they became so."""
    for i in range(counts[0].ready):
        k = ready[i]
        if ops[k].rank == rank:
            time = ops[k].since
            if ops[k].kind == _CALC:
                time = max(time, free[rank * processors + ops[k].cpu])
            elif ops[k].kind == _SEND:
                time = max(time, sending[rank * interfaces + ops[k].nic])
            _push(heap, counts, time, 0, k)


@cython.cfunc
@cython.exceptval(check=False)
def _free_sender(
    ops: Operation[::1],
    send: cython.Py_ssize_t,
    by: cython.Py_ssize_t,
    time: I8,
    interface_time: I8,
    processors: cython.int,
    interfaces: cython.int,
    free: I8[::1],
    sending: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.void:
    """Let a held sender go on at `time`, on the processor and interface of the operation it is let go `by`."""
    _done(ops, send, time, listed, ready, counts)
    p = ops[send].rank * processors + ops[by].cpu
    q = ops[send].rank * interfaces + ops[by].nic
    free[p] = max(free[p], time)
    sending[q] = max(sending[q], interface_time)


@cython.cfunc
@cython.exceptval(check=False)
def _deliver(
    ops: Operation[::1],
    k: cython.Py_ssize_t,
    time: I8,
    processors: cython.int,
    interfaces: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    sending: I8[::1],
    taking: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> cython.int:
    """Let a message be received where its receive is posted and all is free; return the rank whose sender that lets go, -1 if none."""
    host = ops[k].peer
    found = _take(ops, posted, ops[k].queue, following, _ANY, _ANY)
    if found == _NONE:
        _wait(unexpected, ops[k].queue, following, k)
        counts[0].unreceived += 1
        return _NONE
    p = host * processors + ops[found].cpu
    q = host * interfaces + ops[k].nic
    if max(free[p], taking[q]) > time:
        _push(heap, counts, max(free[p], taking[q]), 0, len(ops) + k)
        _wait(posted, ops[found].queue, following, found)
        return _NONE
    taking[q] = time + ops[k].taken_gap
    free[p] = taking[q] + ops[k].takes
    if ops[k].waits:
        _free_sender(ops, k, k, free[p], taking[q], processors, interfaces, free, sending, listed, ready, counts)
    _done(ops, found, free[p], listed, ready, counts)
    _follow(host, processors, interfaces, ops, ready, counts, free, sending, heap)
    return ops[k].rank if ops[k].waits and ops[k].rank != host else _NONE


def simulate_atlahs(
    ops: Operation[::1],
    listed: cython.const[cython.int][::1],
    first: cython.const[cython.int][::1],
    processors: cython.int,
    interfaces: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    sending: I8[::1],
    taking: I8[::1],
    ready: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> None:
    """Simulate operations by rank as the LogGOPSim of ATLAHS does; arguments and results are those of `simulate`.

    A message takes the processor of its receiver only once it is matched, and that of the receive; all of a queue match. Of a receive,
    `takes` and `taken_gap` are what a message costs that was there before.
    """
    n: cython.Py_ssize_t = len(ops)
    for rank in range(len(first) - 1):
        for op in range(first[rank], first[rank + 1]):
            if ops[op].needs == 0:
                _push(heap, counts, 0, 0, op)
    while counts[0].events > 0:
        time = heap[0].time
        e: cython.Py_ssize_t = heap[0].number
        _drop_first(heap, counts)
        counts[0].ready = 0
        k = e - n if e >= n else e
        own: cython.int = ops[k].rank
        other: cython.int = _NONE
        q = own * interfaces + ops[k].nic
        p = own * processors + ops[k].cpu
        if e >= n:
            own = _deliver(
                ops, k, time, processors, interfaces, posted, unexpected, following, free, sending, taking, listed, ready, heap, counts
            )
        elif ops[k].kind == _CALC:
            if free[p] > time:
                _push(heap, counts, free[p], 0, e)
                continue
            free[p] = time + ops[k].busy
            _started(ops, k, listed, ready, counts)
            _done(ops, k, free[p], listed, ready, counts)
        elif ops[k].kind == _SEND:
            if max(free[p], sending[q]) > time:
                _push(heap, counts, max(free[p], sending[q]), 0, e)
                continue
            _started(ops, k, listed, ready, counts)
            free[p] = time + ops[k].busy
            sending[q] = time + ops[k].gap
            _push(heap, counts, time + ops[k].flight, 0, n + k)
            if not ops[k].waits:
                _done(ops, k, free[p], listed, ready, counts)
        else:
            _started(ops, k, listed, ready, counts)
            found = _take(ops, unexpected, ops[k].queue, following, _ANY, _ANY)
            if found == _NONE:
                _wait(posted, ops[k].queue, following, k)
            else:
                counts[0].unreceived -= 1
                taking[q] = max(sending[q], time) + ops[k].taken_gap
                free[p] = taking[q] + ops[k].takes
                if ops[k].waits and ops[found].waits:
                    _free_sender(ops, found, k, free[p], taking[q], processors, interfaces, free, sending, listed, ready, counts)
                    other = ops[found].rank
                _done(ops, k, free[p], listed, ready, counts)
                if other != _NONE and other != own:
                    _follow(other, processors, interfaces, ops, ready, counts, free, sending, heap)
        if own != _NONE:
            _follow(own, processors, interfaces, ops, ready, counts, free, sending, heap)


def longest(
    ops: Operation[::1],
    listed: cython.const[cython.int][::1],
    partner: cython.const[cython.int][::1],
    end: I8[::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> None:
    """Leave in `end` of each rank, which comes with 0, when the last computation that nothing needs is done, ns: nothing shares anything.

    `partner` names the receive of a message and the message of a receive, -1 if there is none; a receive needs its message, beside what
    `listed` names. Of a receive, `busy` is what it takes behind both. `ready` has a row per operation, `counts` comes with 0, and has at
    last how many are done.
    """
    for op in range(len(ops)):
        if ops[op].needs == 0:
            ready[counts[0].ready] = op
            counts[0].ready += 1
    at: cython.Py_ssize_t = 0
    while at < counts[0].ready:
        k: cython.Py_ssize_t = ready[at]
        at += 1
        time = ops[k].since + ops[k].busy
        other: cython.int = _NONE
        if ops[k].kind != _CALC:
            other = partner[k]
        if ops[k].kind == _CALC and ops[k].first_done == ops[k].end_done:
            end[ops[k].rank] = max(end[ops[k].rank], time)
        if ops[k].kind == _SEND and other != _NONE:
            ops[other].since = max(ops[other].since, ops[k].since + ops[k].flight)
            ops[other].needs -= 1
            if ops[other].needs == 0:
                ready[counts[0].ready] = other
                counts[0].ready += 1
            if ops[k].waits and ops[other].waits:
                continue
        elif ops[k].kind != _SEND and other != _NONE and ops[k].waits and ops[other].waits:
            _done(ops, other, time, listed, ready, counts)
        _done(ops, k, time, listed, ready, counts)


_MOVING = cython.declare(cython.int, 2)


@cython.cfunc
@cython.exceptval(check=False)
def _transfer(
    ops: Operation[::1],
    k: cython.int,
    time: I8,
    links: cython.int,
    stage: cython.int[::1],
    used: cython.int[::1],
    waiting: Queue[::1],
    behind: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> cython.void:
    """Let a message move if it has a link out of its sender, which it keeps, and then one into its receiver, else wait for that."""
    ranks: cython.int = cython.cast(cython.int, len(used) // 2)
    n: cython.Py_ssize_t = len(ops)
    while stage[k] < _MOVING:
        place = ops[k].rank if stage[k] == 0 else ranks + ops[k].peer
        if links > 0 and used[place] >= links:
            _wait(waiting, place, behind, k)
            return
        used[place] += 1
        stage[k] += 1
    _push(heap, counts, time + ops[k].flight, counts[0].turn, 2 * n + k)
    counts[0].turn += 1


@cython.cfunc
@cython.exceptval(check=False)
def _leave(
    ops: Operation[::1],
    k: cython.int,
    time: I8,
    links: cython.int,
    stage: cython.int[::1],
    used: cython.int[::1],
    waiting: Queue[::1],
    behind: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> cython.void:
    """Let a message that is there give back its links to those that wait for them."""
    ranks: cython.int = cython.cast(cython.int, len(used) // 2)
    for place in (ops[k].rank, ranks + ops[k].peer):
        used[place] -= 1
        following = _take(ops, waiting, place, behind, _ANY, _ANY)
        if following != _NONE:
            _transfer(ops, following, time, links, stage, used, waiting, behind, heap, counts)


@cython.cfunc
@cython.exceptval(check=False)
def _end(
    ops: Operation[::1],
    k: cython.int,
    time: I8,
    end: I8[::1],
    listed: cython.const[cython.int][::1],
    ready: cython.int[::1],
    counts: Counts[::1],
) -> cython.void:
    end[ops[k].rank] = max(end[ops[k].rank], time)
    _done(ops, k, time, listed, ready, counts)


def simulate_dimemas(
    ops: Operation[::1],
    listed: cython.const[cython.int][::1],
    processors: cython.int,
    links: cython.int,
    posted: Queue[::1],
    unexpected: Queue[::1],
    following: cython.int[::1],
    free: I8[::1],
    end: I8[::1],
    held: Queue[::1],
    stage: cython.int[::1],
    used: cython.int[::1],
    waiting: Queue[::1],
    behind: cython.int[::1],
    ready: cython.int[::1],
    heap: Event[::1],
    counts: Counts[::1],
) -> None:
    """Simulate operations as Dimemas does calls; leave in `end` of each rank, which comes with 0, when its last is done, ns.

    Every operation keeps its processor `busy`; then its message moves for `flight`, on one of `links` out of its rank and one into the
    other, 0 any number of them; that of a held sender when both ends are ready, which lets it go. Operation k has the events k, n + k
    when it was busy, and of a send 2 n + k, when its message is there. `stage` and `behind` have a row per operation, `used` and `waiting`
    two per rank; `stage` and `used` come with 0, `held`, which is as `posted`, `behind` and `waiting` with -1, the others as for
    `simulate`.
    """
    n: cython.Py_ssize_t = len(ops)
    for op in range(n):
        if ops[op].needs == 0:
            _push(heap, counts, 0, counts[0].turn, op)
            counts[0].turn += 1
    while counts[0].events > 0:
        time = heap[0].time
        turn = heap[0].turn
        e: cython.Py_ssize_t = heap[0].number
        _drop_first(heap, counts)
        counts[0].ready = 0
        k: cython.int = cython.cast(cython.int, e % n)
        if e < n:
            p = ops[k].rank * processors + ops[k].cpu
            if free[p] > time:
                _push(heap, counts, free[p], turn, e)
                continue
            free[p] = time + ops[k].busy
            _started(ops, k, listed, ready, counts)
            _push(heap, counts, free[p], counts[0].turn, n + k)
            counts[0].turn += 1
        elif e >= 2 * n:
            _leave(ops, k, time, links, stage, used, waiting, behind, heap, counts)
            found = _take(ops, posted, ops[k].queue, following, ops[k].rank, ops[k].tag)
            if found == _NONE:
                _wait(unexpected, ops[k].queue, following, k)
                counts[0].unreceived += 1
            else:
                _end(ops, found, time, end, listed, ready, counts)
        elif ops[k].kind == _CALC:
            _end(ops, k, time, end, listed, ready, counts)
        elif ops[k].kind == _SEND:
            found = posted[ops[k].queue].first if ops[k].waits else k
            while found != _NONE and found != k and not _fits(ops, found, ops[k].rank, ops[k].tag):
                found = following[found]
            if found == _NONE:
                _wait(held, ops[k].queue, following, k)
            else:
                _end(ops, k, time, end, listed, ready, counts)
                _transfer(ops, k, time, links, stage, used, waiting, behind, heap, counts)
        else:
            found = _take(ops, unexpected, ops[k].queue, following, ops[k].peer, ops[k].tag)
            if found != _NONE:
                counts[0].unreceived -= 1
                _end(ops, k, time, end, listed, ready, counts)
            else:
                _wait(posted, ops[k].queue, following, k)
                found = _take(ops, held, ops[k].queue, following, ops[k].peer, ops[k].tag)
                if found != _NONE:
                    _end(ops, found, time, end, listed, ready, counts)
                    _transfer(ops, found, time, links, stage, used, waiting, behind, heap, counts)
        for i in range(counts[0].ready):
            _push(heap, counts, max(time, ops[ready[i]].since), counts[0].turn, ready[i])
            counts[0].turn += 1
