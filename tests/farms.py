"""Task farms made in memory, and runs matched anew, for the tests of what becomes of them."""

from __future__ import annotations

import dataclasses
import heapq
import itertools

import numpy as np

from build import ANY, Builder, hand_model
from perwiz.trace import operations
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.rematch.rematched import rematched
from perwiz.whatif.run import replayed, under

LATENCY, WORK, POLL = 12, 500, 400


def farm(lengths, workers=3, unasked=True, hears="recv", factor=(), regions=(), takes="recv"):
    """Return a farm: rank 0 gives task k, `lengths[k]` ns, to whoever brings a result, or asks, first, and at last an end to each worker.

    Every call takes 500 ns beyond waiting, a message 12, a test or probe in vain 380, and 20 to the next. `unasked` workers get a first
    task without asking; worker w computes `factor[w - 1]` times as long. The master hears by a receive from anybody, perhaps behind a
    "probe", or one that it posts and waits for, before it answers the one before ("ahead", or of "three ahead" the first) or behind
    ("wait"), or that it tests for in a loop ("test"); or it probes in a loop ("iprobe"). Workers get their tasks by a receive, or one that
    they post and "wait" for, or "test" for in a loop, or that they post before they do the last task and wait for behind another call
    ("early"), or that they also ask for before they do the last task ("prefetch"). Regions of these names, in turn, are around what a
    worker does from that on.
    """
    b, given = Builder(workers + 1), iter([*lengths, *[None] * workers])
    factor, names = factor or [1] * workers, itertools.cycle(regions)
    coming, free, master, posted = [], [0] * (workers + 1), _Master(b, hears), {}

    def ask(worker, at):
        b.send(worker, 0, tag=2, at=(at, at + WORK))
        free[worker] = at + WORK
        heapq.heappush(coming, (at + LATENCY, worker))

    def post(worker, at):
        posted[worker] = b.irecv(worker, 0, tag=ANY, at=(at, at + WORK))
        return at + WORK

    def give(worker):
        length = next(given)
        name = next(names, None)
        tag = 3 if length is None else 1
        begin = max(free[worker], master.now + LATENCY) + WORK
        master.answers(worker, tag)
        if name:
            b.enter(worker, name, free[worker])
        if takes in ("wait", "test"):
            request = b.irecv(worker, 0, tag=tag, at=(free[worker], free[worker] + WORK))
            at, begin = free[worker] + WORK, max(begin, free[worker] + 2 * WORK)
            if takes == "test":
                at = poll(b, worker, "Test", at, begin - WORK)
                begin = at + WORK
            completes = b.wait(worker, request, at=(at, begin))
            completes.routine = "MPI_Test" if takes == "test" else "MPI_Wait"
        elif takes in ("early", "prefetch"):
            at = free[worker] if worker in posted else post(worker, free[worker])
            b.call(worker, "Comm_rank", at=(at, at + WORK))
            begin = max(begin, at + 2 * WORK)
            posted[worker].what.tag = tag
            b.wait(worker, posted[worker], at=(at + WORK, begin))
        else:
            b.recv(worker, 0, tag=tag, at=(free[worker], begin))
        free[worker] = begin
        if length is not None:
            at = post(worker, begin) if takes in ("early", "prefetch") else begin
            takes_ns = round(length * factor[worker - 1])
            ask(worker, at if takes == "prefetch" else at + takes_ns)
            free[worker] += takes_ns * (takes == "prefetch")
        if name:
            b.leave(worker, name, free[worker])

    for worker in range(1, workers + 1):
        if unasked:
            give(worker)
        else:
            ask(worker, 0)
    left = len(lengths) + workers * (not unasked)
    while coming:
        left -= 1
        master.hear(*heapq.heappop(coming), left)
        give(worker=master.heard)
    return master.trace()


def poll(b, rank, routine, now, until, **columns):
    """Test or probe in vain from a time on until another is past; return when."""
    while now < until:
        b.call(rank, routine, at=(now, now + POLL - 20), **columns)
        now += POLL
    return now


AHEAD = {"ahead": 1, "three ahead": 3}
"""How many receives a master has posted when it answers, by how it hears."""


class _Master:
    """Rank 0, which hears whoever comes first; `now` is when it is done with what it did last."""

    def __init__(self, b, hears):
        self.b, self.hears, self.now, self.heard = b, hears, 0, None
        self.posted = []
        """Receives that wait for a message, in order."""

    def hear(self, arrived, worker, left=1, tag=2):
        """Hear a worker, whose message comes at a time; so many are `left` behind it."""
        self.heard = worker
        if self.hears == "probe":
            self._call(arrived, self.b.call, 0, "Probe", peer=-2, tag=-2, comm=0)
        if self.hears == "iprobe":
            self.now = poll(self.b, 0, "Iprobe", self.now, arrived, peer=-2, tag=-2, comm=0)
            self._call(arrived, self.b.call, 0, "Iprobe", peer=-2, tag=-2, comm=0)
        if self.hears in ("recv", "probe", "iprobe"):
            self._call(arrived, self.b.recv, 0, worker, tag=tag, wildcard=self.hears == "recv")
            return
        ahead = AHEAD.get(self.hears, 0)
        while len(self.posted) < max(min(ahead, left + 1), 1):
            self._post()
        heard = self.posted.pop(0)
        heard.what.peer = worker
        if self.hears == "test":
            self.now = poll(self.b, 0, "Test", self.now, arrived)
        self._call(arrived, self.b.wait, 0, heard).routine = "MPI_Test" if self.hears == "test" else "MPI_Wait"
        while len(self.posted) < min(ahead, left):
            self._post()

    def answers(self, worker, tag):
        """Answer a worker."""
        self._call(0, self.b.send, 0, worker, tag=tag)

    def _post(self):
        self.posted.append(self._call(0, self.b.irecv, 0, 0, tag=2))

    def _call(self, until, make, *of, **how):
        begin, self.now = self.now, max(self.now, until) + WORK
        return make(*of, **how, at=(begin, self.now))

    def trace(self):
        """Return the trace: what is posted and waited for is for anybody."""
        trace = self.b.trace()
        if self.hears not in ("wait", "test", *AHEAD):
            return trace
        peer = np.where(trace.calls.op == operations.OP["MPI_Irecv"], ANY, trace.calls.peer).astype("i4")
        return dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, peer=peer))


def lengths(count, spread=30_000, seed=1):
    """Return the lengths of so many tasks, ns."""
    return (30_000 + np.random.default_rng(seed).integers(0, spread + 1, count)).tolist()


def anew(trace, *texts, engine="sweep"):
    """Return a run under hypotheses with its messages kept, one with them matched anew, and how these differ."""
    asked = parse_all(list(texts), trace)
    base = replayed(trace, hand_model(), "none", asked)
    changed = under(base, asked)
    return changed, *rematched(base, changed, asked, engine)


def farm_of_requests(lengths, workers=3, factor=(), polls=False):
    """Return a farm whose master has a receive for each worker, and waits for any of them, or `polls`; every worker asks first."""
    given = iter([*lengths, *[None] * workers])
    return _of_requests(workers, lambda _: next(given), factor, polls=polls)


def _of_requests(workers, following, factor, works=0, answers_first=False, polls=False):
    """Return such a farm: `following` gives the next task of a worker, ns, or None; the master works `works` ns times its number first."""
    b, factor = Builder(workers + 1), factor or [1] * workers
    coming, free, now, requests = [], [WORK] * (workers + 1), 0, {}

    def post(worker):
        nonlocal now
        requests[worker] = b.irecv(0, worker, tag=2, at=(now, now + WORK))
        now += WORK

    def answer(worker):
        nonlocal now
        begin = max(free[worker], now + LATENCY) + WORK
        b.send(0, worker, tag=1, at=(now, now + WORK))
        b.recv(worker, 0, tag=1, at=(free[worker], begin))
        now += WORK
        return begin

    for worker in range(1, workers + 1):
        b.send(worker, 0, tag=2, at=(0, WORK))
        heapq.heappush(coming, (LATENCY, worker))
        post(worker)
    while coming:
        arrived, worker = heapq.heappop(coming)
        now = poll(b, 0, "Testsome", now, arrived) if polls else now
        b.wait(0, requests[worker], at=(now, max(now, arrived) + WORK)).routine = "MPI_Testsome" if polls else "MPI_Waitany"
        now = max(now, arrived) + WORK + works * worker
        length = following(worker)
        begin = answer(worker) if answers_first or length is None else None
        if length is None:
            continue
        post(worker)
        begin = begin or answer(worker)
        end = begin + round(length * factor[worker - 1])
        b.send(worker, 0, tag=2, at=(end, end + WORK))
        free[worker] = end + WORK
        heapq.heappush(coming, (end + LATENCY, worker))
    return b.trace()


def queueing(lengths, brings, start=1, workers=3, hears="recv", factor=()):
    """Return a farm whose master lets tasks and workers wait for each other: `start` tasks are there from the start.

    Task k takes `lengths[k]` ns; half of that after it has begun it brings `brings[k]` more in a message of 20 bytes each, if it does.
    Both wait in the order in which they come. With as many there from the start as there are, such messages bring none. When all is done
    each worker is told to end.
    """
    b, factor = Builder(workers + 1), factor or [1] * workers
    coming, free, master = [], [WORK] * (workers + 1), _Master(b, hears)
    given, there, idle = 0, start, []

    def send(worker, at, tag, bytes=8):
        b.send(worker, 0, bytes, tag=tag, at=(at, at + WORK))
        heapq.heappush(coming, (at + LATENCY, worker, tag, bytes // 20))
        return at + WORK

    def answer(worker, tag):
        begin = max(free[worker], master.now + LATENCY) + WORK
        master.answers(worker, tag)
        b.recv(worker, 0, tag=tag, at=(free[worker], begin))
        return begin

    for worker in range(1, workers + 1):
        send(worker, 0, 2)
    while coming or len(idle) < workers:
        if idle and given < there:
            worker = idle.pop(0)
            at, half = answer(worker, 1), round(lengths[given] * factor[worker - 1]) // 2
            if brings[given]:
                at = send(worker, at + half, 4, 20 * brings[given]) - half
            free[worker] = send(worker, at + 2 * half, 2)
            given += 1
            continue
        arrived, worker, tag, more = heapq.heappop(coming)
        master.hear(arrived, worker, tag=tag)
        there = min(there + more, len(lengths))
        if tag == 2:
            idle.append(worker)
    for worker in range(1, workers + 1):
        answer(worker, 3)
    return master.trace()


def growth(count, of=3, start=2, seed=1):
    """Return how many tasks each of so many brings, `of` or none, so that there are so many in all, and never too few."""
    rng, there, out = np.random.default_rng(seed), start, []
    while len(out) < count:
        left = count - there
        needed = there == len(out) + 1 or rng.random() < 0.5
        out.append(min(of, left) if left > 0 and needed else 0)
        there += out[-1]
    return out


def fixed_farm(of, hears="recv", factor=()):
    """Return a master that answers each worker with its own next task: `of[w - 1]` are those of worker w, ns, then it is told to end.

    It hears them by a receive from anybody, perhaps behind a "probe", or one that it posts and waits for, before it answers the last one
    ("ahead") or behind ("wait"), or by a receive for each, "waitany"; and works 100 ns times the number of the worker before it answers.
    """
    workers, lefts = len(of), [iter([*tasks, None]) for tasks in of]
    if hears == "waitany":
        return _of_requests(workers, lambda worker: next(lefts[worker - 1]), factor, works=100, answers_first=True)
    b, factor = Builder(workers + 1), factor or [1] * workers
    coming, free, master = [], [WORK] * (workers + 1), _Master(b, hears)
    left = sum(map(len, of)) + workers
    for worker in range(1, workers + 1):
        b.send(worker, 0, tag=2, at=(0, WORK))
        heapq.heappush(coming, (LATENCY, worker))
    while coming:
        left -= 1
        master.hear(*heapq.heappop(coming), left)
        worker = master.heard
        master.now += 100 * worker
        length = next(lefts[worker - 1])
        begin = max(free[worker], master.now + LATENCY) + WORK
        master.answers(worker, 1)
        b.recv(worker, 0, tag=1, at=(free[worker], begin))
        if length is not None:
            end = begin + round(length * factor[worker - 1])
            b.send(worker, 0, tag=2, at=(end, end + WORK))
            free[worker] = end + WORK
            heapq.heappush(coming, (end + LATENCY, worker))
    return master.trace()


def counter(lengths, processes=3, factor=(), rounds=1, locks=False):
    """Return processes that take tasks of these lengths from a counter of rank 0, then meet in a barrier; `rounds` times.

    With `locks` they lock, read, write and unlock instead of MPI_Fetch_and_op and MPI_Win_flush. All calls take 500 ns.
    """
    b, factor, now = Builder(processes), factor or [1] * processes, [0] * processes

    def call(rank, routine):
        b.call(rank, routine, peer=0, tag=7, comm=0, at=(now[rank], now[rank] + WORK))
        now[rank] += WORK

    for _ in range(rounds):
        given, open_ = iter(lengths), list(range(processes))
        while open_:
            rank = min(open_, key=lambda rank: (now[rank], rank))
            for routine in ("Win_lock", "Get", "Put", "Win_unlock") if locks else ("Fetch_and_op", "Win_flush"):
                call(rank, routine)
            length = next(given, None)
            if length is None:
                open_.remove(rank)
            else:
                now[rank] += round(length * factor[rank])
        enter, end = now[:], max(now) + 1000
        b.everyone("Barrier", at=[(at, end) for at in enter])
        now[:] = [end] * processes
    return b.trace()
