"""Receives that may have been wildcards, where the format does not tell: farms, gathers and exchanges read back from files of others."""

from __future__ import annotations

import dataclasses
import heapq

import numpy as np
import pytest

import build
from build import Builder, hand_model, untold
from perwiz.formats import files
from perwiz.trace import operations
from perwiz.whatif.predict import predict
from perwiz.whatif.wildcards import possible

LATENCY, WORK = 4000, 500
FORMS = [("x.alog", build.plain_alog), ("x.otf2", build.plain_otf2)]


def farm(tasks, workers=3, spread=0, early=()):
    """Return a task farm: rank 0 takes results as they come, each of a task of 30000 to 30000 + spread ns, and gives the next task back.

    Of the results numbered in `early` it takes the next one first.
    """
    random, b = np.random.default_rng(1), Builder(workers + 1)
    coming, free, now, left = [], [0] * (workers + 1), 0, tasks - workers

    def give(worker):
        nonlocal now
        b.send(0, worker, tag=1, at=(now, now + WORK))
        begin = max(free[worker], now + LATENCY) + WORK
        b.recv(worker, 0, tag=1, at=(free[worker], begin))
        end = begin + 30_000 + int(random.integers(0, spread + 1))
        b.send(worker, 0, tag=2, at=(end, end + WORK))
        free[worker], now = end + WORK, now + WORK
        heapq.heappush(coming, (end + LATENCY, worker))

    for worker in range(1, workers + 1):
        give(worker)
    for number in range(tasks):
        first = heapq.heappop(coming)
        arrived, worker = heapq.heapreplace(coming, first) if number in early else first
        b.recv(0, worker, tag=2, wildcard=True, at=(now, max(now, arrived) + WORK))
        now = max(now, arrived) + WORK
        if left:
            left -= 1
            give(worker)
    return b.trace()


def matching(trace, *texts):
    return predict(trace, list(texts), hand_model(), clock="none").matching


@pytest.mark.parametrize(("form", "write"), FORMS)
@pytest.mark.parametrize("spread", [0, 30_000])
def test_farm(tmp_path, form, write, spread):
    """What is said of the files of others is what is said of the trace that knows its wildcards; nothing of equal changes."""
    trace = farm(24, spread=spread)
    write(trace, tmp_path / form)
    read = files.read(str(tmp_path / form))
    assert not read.wildcards_told
    known, found = (matching(t, "speed rank:1=3") for t in (trace, read))
    assert (found.wildcards, found.possible, len(found.receives)) == (0, 24, 0)
    assert found.possible_receives.tolist() == known.receives.tolist() != []
    assert found.changed
    assert not matching(read).changed
    assert not matching(read, "speed rank:0=2").changed
    assert not matching(read, "zero-wait all").changed


@pytest.mark.parametrize(("form", "write"), FORMS)
def test_what_is_not_told_stays_untold(tmp_path, form, write):
    """Written by perwiz and read back, the trace still does not know."""
    write(farm(6), tmp_path / form)
    read = files.read(str(tmp_path / form))
    for again in ("again.alog", "again.otf2"):
        files.write(read, str(tmp_path / again))
        assert not files.read(str(tmp_path / again)).wildcards_told
        files.write(farm(6), str(tmp_path / again))
        assert files.read(str(tmp_path / again)).wildcards_told


def test_who_tells_is_not_asked():
    assert len(possible(farm(24)).receive) == 0


def test_few_receives_tell_nothing():
    """Four of six results come from another worker than the one before."""
    b = Builder(3)
    for turn, rank in enumerate((1, 2, 1, 1, 2, 1)):
        b.send(rank, 0, at=(1000 * turn, 1000 * turn + 10))
        b.recv(0, rank, at=(1000 * turn, 1000 * turn + 100))
    assert len(possible(untold(b.trace())).receive) == 0


def gather(order, turns=12, post=False):
    """Rank 0 receives from ranks 1, 2 and 3 by name, turn by turn; they send in this order, 1000 ns apart."""
    b = Builder(4)
    for turn in range(turns):
        begin = turn * 100_000
        for place, rank in enumerate(order(turn)):
            b.send(rank, 0, at=(begin + 1000 * place, begin + 1000 * place + 10))
        if post:
            requests = [b.irecv(0, rank, at=(begin + rank, begin + rank)) for rank in (1, 2, 3)]
            b.waitall(0, *requests, at=(begin + 10, begin + 9000))
        else:
            for rank in (1, 2, 3):
                b.recv(0, rank, at=(begin + 5000 + rank, begin + 5001 + rank))
    return untold(b.trace())


@pytest.mark.parametrize(
    ("order", "post", "receives"),
    [
        (lambda turn: (3, 1, 2), False, 0),  # named: the message of 3, sent first, is taken last
        (lambda turn: (1, 2, 3), False, 36),  # perhaps: in turn, and always first come, first served
        (lambda turn: (1, 2, 3), True, 0),  # receives that are posted in turn wait for nobody
        (lambda turn: (1, 2, 3) if turn else (2, 1, 3), False, 0),  # one contradiction: in turn, so named
    ],
)
def test_gather_by_name(order, post, receives):
    assert len(possible(gather(order, post=post)).receive) == receives


@pytest.mark.parametrize(("early", "receives"), [((), 60), ((20, 40), 60), ((10, 20, 30, 40), 0)])
def test_results_without_order(early, receives):
    """Results that come without order may contradict a little what came first, for an entered send is not always a sent one."""
    assert len(possible(untold(farm(60, spread=30_000, early=early))).receive) == receives


def waits(*turns, routine="MPI_Waitany"):
    """Ranks 0 and 3 post and wait for any, turn by turn: receives from these ranks, completed in these orders."""
    b = Builder(4)
    for posted, completed in turns:
        for receiver in (0, 3):
            requests = {rank: b.irecv(receiver, rank) for rank in posted}
            for rank in posted:
                b.compute(rank, 9000 // rank)
                b.send(rank, receiver, 50)
            for rank in completed:
                b.wait(receiver, requests[rank])
        b.barrier()
    trace = b.trace()
    op = trace.calls.op.copy()
    op[op == operations.OP["MPI_Wait"]] = operations.OP[routine]
    return dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, op=op))


TURNS = ((1, 2), (2, 1)), ((1,), (1,)), ((2,), (2,)), ((1, 2), (2, 1))


def test_waits_for_any_of_unknown_requests(tmp_path):
    """Twice both are posted, twice one alone: a wait for any chooses only among what is posted and not yet complete."""
    trace = waits(*TURNS)
    build.plain_alog(trace, tmp_path / "x.alog")
    read = files.read(str(tmp_path / "x.alog"))
    assert np.unique(possible(read).place, return_counts=True)[1].tolist() == [2, 2, 2, 2]
    known, found = (matching(t, "speed rank:1=3") for t in (trace, read))
    assert (found.waits, found.possible) == (0, 8)
    assert found.possible_receives.tolist() == known.completions.tolist()
    assert found.possible_receives.tolist()[:2] == [2, 13]


def test_waits_that_leave_no_choice(tmp_path):
    build.plain_alog(waits(*TURNS, routine="MPI_Wait"), tmp_path / "x.alog")
    assert len(possible(files.read(str(tmp_path / "x.alog"))).receive) == 0


def test_waits_for_any_of_known_requests(tmp_path):
    """OTF2 tells when each request was posted: such a wait is no riddle."""
    trace = waits(*TURNS)
    build.plain_otf2(trace, tmp_path / "x.otf2")
    known, found = (matching(t, "speed rank:1=3") for t in (trace, files.read(str(tmp_path / "x.otf2"))))
    assert (found.waits, found.possible) == (12, 0)
    assert found.completions.tolist() == known.completions.tolist() != []
