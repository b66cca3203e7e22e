"""Why the makespans of two runs differ: worked by hand, and the law that the reasons add up."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import CATALOGUE, Builder, hand_model, traces
from perwiz.errors import TraceError, UsageError
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import Mostly, Place, Reason, Step, reasons


def halo(works, first="step", path="halo.alog"):
    """Return a run of a parallel region per row of `works`, the work of each process, that ends in a barrier of 10 ns."""
    b, now = Builder(len(works[0])), 0
    for row in works:
        for rank, work in enumerate(row):
            b.enter(rank, first, at=now)
            b.compute(rank, work)
        b.barrier(at=[(now + work, now + max(row) + 10) for work in row])
        now += max(row) + 10
        for rank in range(len(row)):
            b.leave(rank, first, at=now)
    trace = b.trace(path)
    return dataclasses.replace(trace, parallel=np.ones(len(trace.names), bool))


def differing(rows):
    return [(row.what, row.first, row.second) for row in rows if row.first != row.second]


def test_slow_process():
    """Rank 1 computed 600 in the second step where 300 are the others' share: now it does, too."""
    found = reasons(compare(halo([(300, 290), (300, 600)]), halo([(300, 290), (300, 299)])), hand_model())
    assert differing(found.places) == [(Place("computation", region="step"), 900, 600)]
    assert found.mostly[0] == Mostly(1, 890, 589, 301)
    assert differing(found.locations) == [(1, 610, 0), (0, 310, 620)]
    assert differing(found.steps) == [(Step("step", 2), 610, 310)]


def test_other_work_beside_it():
    """Rank 0 computes 500 and sends, and rank 1 computes 400 behind the receive; then it does so before: both last as long as they did."""
    runs = []
    for before in (False, True):
        b = Builder(2)
        with b.region(0, "make"):
            b.compute(0, 500)
        b.send(0, 1, 1, at=(500, 500))
        if before:
            with b.region(1, "use"):
                b.compute(1, 400)
            b.recv(1, 0, at=(400, 512))
        else:
            b.recv(1, 0, at=(0, 512))
            with b.region(1, "use"):
                b.compute(1, 400)
        runs.append(b.trace())
    found = reasons(compare(*runs), hand_model())
    assert found.places[0] == Reason(Place("computation", region="use"), 400, 0)
    assert found.mostly[0] == Mostly(1, 400, 400, 0)
    assert len(differing(found.places)) == 1


def test_call_sites_whose_lines_have_shifted():
    """A site is what most of its calls are in the first run, whatever its line is."""
    one, other = halo([(300, 290)] * 3), halo([(300, 290)] * 2 + [(200, 190)])
    named = [
        dataclasses.replace(trace, site=np.zeros(len(trace.calls), "i4"), sites=(name,))
        for trace, name in ((one, "a.c:7 main"), (other, "a.c:9 main"))
    ]
    found = reasons(compare(*named), hand_model())
    assert [row.what for row in found.places] == [Place("computation", region="step"), Place("calls", "MPI_Barrier", "step", "a.c:7 main")]


def test_between_regions():
    """The second step alone, from when the first process enters it to when the last leaves it: the path leads to its end."""
    runs = halo([(300, 100), (300, 600), (50, 10)]), halo([(300, 100), (400, 100), (50, 90)])
    found = reasons(compare(*runs, "step#2", stop="step#2"), hand_model())
    assert differing(found.places) == [(Place("computation", region="step"), 600, 400)]
    assert differing(found.locations) == [(1, 600, 0), (0, 10, 410)]


def test_what_replaying_misses():
    """Pieces that are 7 short of what is compared of the second run: the lists add up all the same, and say so."""
    found = compare(halo([(300, 290)]), halo([(300, 290)]))
    longer = dataclasses.replace(found, second=dataclasses.replace(found.second, stop=found.second.stop + 7))
    rows = reasons(longer, hand_model())
    check(longer, rows)
    assert differing(rows.places) == [(Place("replay"), 0, 7)]
    assert differing(rows.locations) == [(-1, 0, 7)]


def check(found, rows):
    """The reasons add up to both makespans, however they are put together."""
    for each in (rows.places, rows.locations, rows.steps):
        assert sum(row.first for row in each) == found.first.makespan
        assert sum(row.second for row in each) == found.second.makespan
        off = [abs(row.second - row.first) for row in each]
        assert off == sorted(off, reverse=True)


@pytest.mark.parametrize("name", CATALOGUE)
def test_law__a_run_is_itself(name):
    trace = CATALOGUE[name]()
    found = compare(trace, trace)
    rows = reasons(found, hand_model())
    check(found, rows)
    assert not differing(rows.places)


@pytest.mark.slow
@given(traces(), traces(), st.sampled_from(["start", "common", "MPI_Send", "MPI_Recv"]), st.sampled_from(["end", "common", "MPI_Recv"]))
def test_law__reasons_add_up(one, other, start, stop):
    """Of any two traces, of any part of them."""
    try:
        found = compare(one, other, start, clock="none", stop=stop)
    except (TraceError, UsageError):
        return
    check(found, reasons(found, hand_model()))
