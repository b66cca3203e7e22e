"""Task farms made in memory, and runs matched anew, for the tests of what becomes of them."""

from __future__ import annotations

import heapq

import numpy as np

from build import Builder, hand_model
from perwiz.whatif.hypotheses.base import parse_all
from perwiz.whatif.rematch.rematched import rematched
from perwiz.whatif.run import replayed, under

LATENCY, WORK = 12, 500


def farm(lengths, workers=3, unasked=True, probes=False, factor=()):
    """Return a farm: rank 0 gives task k, `lengths[k]` ns, to whoever brings a result, or asks, first, and at last an end to each worker.

    Every call takes 500 ns beyond waiting, a message 12. `unasked` workers get a first task without asking; with `probes` the master
    looks for a message before it receives; worker w computes `factor[w - 1]` times as long.
    """
    b, given = Builder(workers + 1), iter([*lengths, *[None] * workers])
    factor = factor or [1] * workers
    coming, free, now = [], [0] * (workers + 1), 0

    def ask(worker, at):
        b.send(worker, 0, tag=2, at=(at, at + WORK))
        free[worker] = at + WORK
        heapq.heappush(coming, (at + LATENCY, worker))

    def give(worker):
        nonlocal now
        length = next(given)
        tag = 3 if length is None else 1
        b.send(0, worker, tag=tag, at=(now, now + WORK))
        begin = max(free[worker], now + LATENCY) + WORK
        b.recv(worker, 0, tag=tag, at=(free[worker], begin))
        now += WORK
        free[worker] = begin
        if length is not None:
            ask(worker, begin + round(length * factor[worker - 1]))

    for worker in range(1, workers + 1):
        if unasked:
            give(worker)
        else:
            ask(worker, 0)
    while coming:
        arrived, worker = heapq.heappop(coming)
        if probes:
            b.call(0, "Probe", peer=-2, tag=-2, comm=0, at=(now, max(now, arrived) + WORK))
            now = max(now, arrived) + WORK
        b.recv(0, worker, tag=2, wildcard=not probes, at=(now, max(now, arrived) + WORK))
        now = max(now, arrived) + WORK
        give(worker)
    return b.trace()


def lengths(count, spread=30_000, seed=1):
    """Return the lengths of so many tasks, ns."""
    return (30_000 + np.random.default_rng(seed).integers(0, spread + 1, count)).tolist()


def anew(trace, *texts, engine="sweep"):
    """Return a run under hypotheses with its messages kept, one with them matched anew, and how these differ."""
    asked = parse_all(list(texts), trace)
    base = replayed(trace, hand_model(), "none", asked)
    changed = under(base, asked)
    return changed, *rematched(base, changed, asked, engine)
