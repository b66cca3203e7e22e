"""Cycles of causes and effects, by name."""

import pytest

import build
from build import Builder
from perwiz.clock.cycles import cycle, lost, named
from perwiz.graph.build import build as build_graph


def found(trace):
    graph = build_graph(trace)
    return [rows.tolist() for rows in lost(trace, graph)], cycle(trace, graph)


def test_messages():
    trace = build.cycle_of_messages()
    rows, steps = found(trace)
    assert rows == [[0, 1], [], [], []]
    assert steps == [(1, 2), (3, 0)]
    first, second = "e1 (rank 0) must be entered before e2 (rank 1) returns", "e3 (rank 1) must be entered before e0 (rank 0) returns"
    assert named(trace, steps) == f"{first}, then {second}"


def test_collectives():
    """Two barriers that two ranks call in opposite order, on communicators of the same ranks: who comes second first is on the cycle."""
    b = Builder(2)
    one, other = b.comm("one", [0, 1]), b.comm("other", [0, 1])
    b.compute(0, 5)
    for rank, order in enumerate([(one, other), (other, one)]):
        for place, comm in enumerate(order):
            b.join(rank, "Barrier", comm=comm, at=(100 * place, 100 * place + 50))
            b.call(rank, "Wtime", at=(100 * place + 60, 100 * place + 60))
    trace = b.trace()
    rows, steps = found(trace)
    assert rows[0] == []
    assert rows[1:] == [[1, 2], [0, 3], []]
    assert len(steps) == 2
    for (_, effect), (cause, _) in zip(steps, [*steps[1:], steps[0]], strict=True):
        assert trace.calls.location[effect] == trace.calls.location[cause]
        assert cause > effect


@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - {"cycle_of_messages"}))
def test_none(name):
    assert found(build.CATALOGUE[name]()) == ([[], [], [], []], [])


def test_links():
    """Each of two threads waits for the other to let it go."""
    b = Builder(1)
    other = b.thread(0)
    mine, its = b.call(0, "omp_lock", at=(0, 10)), b.call(other, "omp_lock", at=(0, 10))
    release, its_release = b.call(0, "omp_release", at=(10, 10)), b.call(other, "omp_release", at=(10, 10))
    b.link("lock", release, its)
    b.link("lock", its_release, mine)
    assert found(b.trace()) == ([[], [], [], [0, 1]], [(1, 2), (3, 0)])


def test_beside_a_cycle():
    """A message between ranks of a cycle that is not on it stays."""
    b = Builder(2)
    b.send(0, 1, tag=7, at=(0, 1))
    b.recv(1, 0, tag=7, at=(2, 3))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(10, 20))
        b.send(rank, 1 - rank, 8, at=(30, 40))
    rows, steps = found(b.trace())
    assert len(rows[0]) == 2
    assert steps == [(2, 4), (5, 1)]
