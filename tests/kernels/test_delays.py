"""The pass over wait states: against its slow twin, what it conserves, and sums over long times."""

import itertools

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import build
import naive_delays as naive
from build import Builder
from naive_delays import causes_of
from perwiz.kernels import delays as kernel
from perwiz.kernels import names


def compare(trace):
    """Hold the pass against its twin, and the laws: costs are the waiting where all of it can be booked, and no split is above its wait."""
    view, tree, waits, _, found = causes_of(trace)
    cost, indirect, propagating, whole = naive.delays(view, tree, waits)
    for kind, term in itertools.product(range(len(waits.kinds)), (0, 1)):
        expected = np.zeros(found.cost.shape[2:])
        for place, value in cost[kind][term].items():
            expected[place] = value
        assert np.allclose(found.cost[kind, term], expected, rtol=1e-9, atol=1e-6)
    assert np.allclose(found.indirect, indirect)
    assert np.allclose(found.propagating, propagating)
    length = waits.instances.severity
    assert (np.maximum(found.indirect, found.propagating) <= length + 1e-6).all()
    if all(whole):
        booked = found.cost.sum(axis=(1, 2, 3))
        assert np.allclose(booked, np.bincount(waits.kind, length, len(waits.kinds)))
    return all(whole)


def rows(dtype, count, **columns):
    """Return so many rows with these columns, zeros elsewhere."""
    out = np.zeros(count, dtype).view(np.recarray)
    for field, column in columns.items():
        out[field] = column
    return out


def booked(waits, first_wait, first, start, node, width):
    """Return the costs, of waits of one type, and the splits of the waits; no location has a check but its first."""
    firsts = (np.array(column, "i8") for column in (first_wait, first, start))
    size, splits = len(first) - 1, rows(kernel.SPLIT, len(waits))
    checks, cost = np.arange(0, 2 * size + 1, 2), np.zeros((1, 2, size, width))
    sums, nodes = np.zeros((2 * size, width + 1), "i8"), rows(kernel.NODE, width + 1)
    kernel.book_delays(waits, *firsts, np.array(node, "i4"), checks, sums, nodes, np.zeros((len(waits), 1)), splits, np.zeros(1), cost)
    return cost, splits


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_twin__catalogue(name):
    compare(build.CATALOGUE[name]())


@hypothesis.given(build.traces())
def test_twin__random(trace):
    compare(trace)


def test_long_intervals_go_from_check_to_check():
    """1000 pieces of 10 ns for rank 0 and 100 for rank 1 between two messages: the sums over checks are the sums over pieces."""
    b = Builder(2)
    for rank, count in enumerate((1000, 100)):
        for step in range(count):
            with b.region(rank, "fgh"[step % 3]):
                b.compute(rank, 10)
    b.send(0, 1, at=(10_000, 10_000))
    b.recv(1, 0, at=(1000, 10_000))
    _, tree, _, _, found = causes_of(b.trace())
    costs = {tree.name[node]: found.cost[0, 0, 0, node] for node in np.flatnonzero(found.cost[0, 0, 0])}
    assert costs == {"f": 3340 - 340, "g": 3330 - 330, "h": 3330 - 330}


def test_instants_within_pieces():
    """Location 0 is in node 0 until 10, then in 1; location 1 always in 0. It waits from 5 for what comes at 14: 5 more in 0, 4 in 1."""
    waits = rows(kernel.WAIT, 1, waiter=1, cause=0, entered=5, length=9, came=14)
    cost, _ = booked(waits, [0, 0, 1], [0, 2, 3], [0, 10, 0], [0, 1, 0], 2)
    assert cost.tolist() == [[[[5, 4], [0, 0]], [[0, 0], [0, 0]]]]


def test_interval_that_begins_within_a_wait():
    """Location 0 waits from 4 to 8, location 1 waits from 7 for what comes at 10; apart since 6. The whole wait of 4 counts: 3 of 4."""
    waits = rows(kernel.WAIT, 2, waiter=[0, 1], cause=[1, 0], entered=[4, 7], length=[4, 3], came=[8, 10], since=[0, 6])
    waits.call = waits.by_end = [0, 1]
    waits.spreads = 1
    _, splits = booked(waits, [0, 1, 2], [0, 3, 4], [0, 4, 8, 0], [0, names.WAITING, 0, 0], 1)
    assert splits.indirect.tolist() == [0, 3]
    assert splits.propagating.tolist() == [3, 0]


def test_meet_in_collectives():
    """Locations 0 and 1 share communicators 0 and 2, location 2 only 2; a wait sees the collectives before its call."""
    waits = rows(kernel.WAIT, 3, waiter=[0, 0, 1], cause=[1, 2, 2], call=[5, 7, 15], since=-1)
    joins = rows(kernel.JOIN, 3, call=[3, 6, 14], slot=[0, 1, 4], left=[100, 200, 300])
    first, group = np.array([0, 2, 5, 6], "i8"), np.array([0, 2, 0, 1, 2, 2], "i4")
    kernel.meet_in_collectives(waits, joins, first, group, np.full(6, -1, "i8"))
    assert waits.since.tolist() == [100, 200, 300]


@st.composite
def partial(draw):
    """Draw a trace of N x N operations that some may leave before all have come, and messages in between."""
    b, clock, span = Builder(3), [0, 0, 0], st.integers(0, 9)
    for kind in draw(st.lists(st.sampled_from(["Alltoall", "Allgather", "Barrier", "message"]), min_size=1, max_size=6)):
        if kind == "message":
            sender, receiver = draw(st.permutations(range(3)))[:2]
            sent = clock[sender] + 100 * draw(span)
            got = max(clock[receiver], sent) + 100 * draw(span)
            b.send(sender, receiver, at=(sent, sent))
            b.recv(receiver, sender, at=(clock[receiver], got))
            clock[sender], clock[receiver] = sent, got
        else:
            enter = [time + 100 * draw(span) for time in clock]
            clock = [time + 100 * draw(span) for time in enter]
            b.everyone(kind, bytes=draw(st.integers(0, 1)), at=list(zip(enter, clock, strict=True)))
    return b.trace()


@pytest.mark.slow
@hypothesis.given(partial())
def test_twin__collectives_that_keep_a_part(trace):
    compare(trace)
