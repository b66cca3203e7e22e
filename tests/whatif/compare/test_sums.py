"""Sums of times in two runs, worked by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from build import CATALOGUE, Builder
from perwiz.trace import operations
from perwiz.whatif.compare import sums
from perwiz.whatif.compare.compare import compare


def steps(works, path="steps.alog"):
    """Return a trace of two ranks and a parallel region per pair of `works`, then a barrier of 10 ns.

    rank 0  ====      |   the first process enters a step at once, the last leaves it after the larger of its works
    rank 1  ========= |
    """
    b = Builder(2)
    now = 0
    for work in works:
        for rank in (0, 1):
            b.enter(rank, "step", at=now)
            b.leave(rank, "step", at=now + work[rank])
        now += max(work)
        b.barrier(at=[(now, now + 10)] * 2)
        now += 10
    trace = b.trace(path)
    return dataclasses.replace(trace, parallel=np.ones(len(trace.names), bool))


def rows(found):
    return list(zip(found.key.tolist(), found.time.first.tolist(), found.time.second.tolist(), strict=True))


def test_by_hand():
    """Steps of 100 and 300, 600 and 100 against one step of 200 and 200."""
    found = compare(steps([(100, 300), (600, 100)]), steps([(200, 200)]))
    barrier = operations.OP["MPI_Barrier"]
    assert rows(sums.routines(found)) == [(barrier, 40, 20)]
    assert sums.routines(found).count.first.tolist() == [4]
    assert sums.places(found) == 2
    assert rows(sums.regions(found)) == [(0, 700, 200), (1, 400, 200)]
    names, by_step = sums.steps(found)
    assert (names, rows(by_step)) == (["step"], [(1, 300, 200), (2, 600, 0)])
    assert (by_step.count.first.tolist(), by_step.count.second.tolist()) == ([2, 2], [2, 0])


def test_from_a_call():
    """From the return of the first barrier of rank 0, 310 and 210, on: the first step is over."""
    found = compare(steps([(100, 300), (600, 100)]), steps([(200, 200), (50, 90)]), "e0")
    assert rows(sums.regions(found)) == [(0, 600, 50), (1, 100, 90)]
    assert rows(sums.steps(found)[1]) == [(1, 0, 0), (2, 600, 90)]


def test_more_processes():
    b = Builder(3)
    b.barrier()
    for rank in range(3):
        with b.region(rank, "more"):
            b.compute(rank, 7)
    found = compare(steps([(100, 300)]), b.trace())
    assert sums.places(found) == 5
    assert rows(sums.regions(found)) == [(0, 100, 0), (1, 300, 0), (5, 0, 7), (6, 0, 7), (9, 0, 7)]


@pytest.mark.parametrize("name", CATALOGUE)
def test_law__nothing_is_lost(name):
    """All routines together take the time of all calls."""
    trace = CATALOGUE[name]()
    found = compare(trace, trace, clock="none")
    times = trace.timeline.calls
    assert sums.routines(found).time.first.sum() == (times.leave - times.enter).sum()
    assert sums.regions(found).count.second.sum() == len(trace.regions)
    assert not any((one.time.first - one.time.second).any() for one in (sums.routines(found), sums.regions(found), sums.steps(found)[1]))
