"""Who waits for whom in a collective (Becker et al. 2009, section 4.1), and the barriers of the world."""

import dataclasses

import numpy as np
import pytest

import build
from build import Builder
from perwiz.clock.condition import Violations, violations
from perwiz.clock.roles import roles, with_world_barriers
from perwiz.trace import operations
from perwiz.trace.trace import Communicators


def who(trace):
    """Return (ranks that send, ranks that receive)."""
    rank = trace.calls.location[trace.members.call]
    return tuple(rank[some].tolist() for some in roles(trace))


@pytest.mark.parametrize(
    ("routine", "root", "expected"),
    [
        ("Barrier", None, ([0, 1, 2], [0, 1, 2])),
        ("Alltoall", None, ([0, 1, 2], [0, 1, 2])),
        ("Bcast", 1, ([1], [0, 2])),
        ("Reduce", 1, ([0, 2], [1])),
        ("Bcast", None, ([], [])),
        ("Reduce", None, ([], [])),
        ("Scan", None, ([0, 1, 2], [1, 2])),
        ("Alltoallv", None, ([], [])),
        ("Alltoallw", None, ([], [])),
    ],
)
def test_roles(routine, root, expected):
    b = Builder(3)
    b.everyone(routine, root=root, bytes=8)
    assert who(b.trace()) == expected


@pytest.mark.parametrize(
    ("routine", "sizes", "expected"),
    [
        ("Allgatherv", [(8, 8), (0, 8), (8, 0)], ([0, 2], [0, 1])),
        # Nobody's sizes are recorded: all count.
        ("Allgatherv", [(0, 0), (0, 0), (0, 0)], ([0, 1, 2], [0, 1, 2])),
        # A barrier has no data, whatever was recorded.
        ("Barrier", [(8, 8), (0, 8), (8, 0)], ([0, 1, 2], [0, 1, 2])),
        ("Exscan", [(8, 0), (8, 8), (0, 8)], ([0, 1], [1, 2])),
    ],
)
def test_roles__no_bytes(routine, sizes, expected):
    b = Builder(3)
    for rank, (sent, received) in enumerate(sizes):
        b.join(rank, routine).columns.update(sent=sent, received=received)
    assert who(b.trace()) == expected


def test_roles__return_unknown():
    b = Builder(2)
    b.join(0, "Iallreduce", bytes=8)
    b.wait(1, b.join(1, "Iallreduce", bytes=8))
    assert who(b.trace()) == ([0, 1], [1])


def test_condition__knows_roles():
    """Rank 1 enters late, but sends nothing; in an Alltoallv nobody is known to wait."""
    b = Builder(2)
    for routine in ("Allgatherv", "Alltoallv"):
        for rank, (sent, at) in enumerate([(8, (0, 10)), (0, (500, 600))]):
            b.join(rank, routine, at=tuple(t + 1000 * (routine == "Alltoallv") for t in at)).columns.update(sent=sent, received=8)
    trace = b.trace()
    assert violations(trace, trace.timeline) == Violations(0, 0, 0, 0, 0, 0)


def test_world():
    b = Builder(2)
    for rank in (1, 0):
        b.call(rank, "Init_thread")
        b.call(rank, "Finalize")
    trace = with_world_barriers(b.trace())
    assert [operations.OPS[op] for op in trace.collectives.op] == ["MPI_Barrier"] * 2
    assert trace.members.call.tolist() == [0, 2, 1, 3]
    assert trace.members.done.tolist() == [0, 2, 1, 3]
    assert trace.collectives.first_member.tolist() == [0, 2]
    assert with_world_barriers(trace).members == trace.members


def test_world__spawned_processes_have_their_own():
    """Rank 1 was spawned by rank 0, the world: it enters MPI_Init when rank 0 has long left it."""
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init")
        b.call(rank, "Finalize")
    trace = b.trace()
    trace = dataclasses.replace(trace, communicators=Communicators(("MPI_COMM_WORLD",), np.array([0, 1]), np.array([0], "i4")))
    assert with_world_barriers(trace) is trace


def test_world__known_already():
    """A trace whose MPI_Finalize are matched keeps them; one without calls has none."""
    b = Builder(2)
    b.everyone("Finalize")
    trace = b.trace()
    assert with_world_barriers(trace) is trace
    assert len(with_world_barriers(build.empty()).collectives) == 0


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_roles__catalogue(name):
    trace = build.CATALOGUE[name]()
    sends, receives = roles(trace)
    assert len(sends) == len(receives) == len(trace.members)
    assert not receives[trace.members.done < 0].any()
