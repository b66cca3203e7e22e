"""Patterns between metahosts and within one, worked by hand, in units of 1000 ns (definitions: Becker, Wolf et al. 2007)."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from build import Builder
from perwiz.patterns.library import OF_MPI, grid
from perwiz.patterns.search import search


def on_metahosts(trace, *numbers, names=()):
    """Return a trace whose locations are on these metahosts."""
    locations = dataclasses.replace(trace.locations, metahost=np.array(numbers, "i4"))
    return dataclasses.replace(trace, locations=locations, metahosts=names)


def run():
    """Ranks 0 and 1 are on one metahost, 2 and 3 on another.

    0  recv(2..7)          barrier(10..15)      pair barrier(20..28)
    1         send(5..6)   barrier(14..15)      pair barrier(27..28)
    2  recv(1..7)          barrier(12..15)
    3         send(4..6)   barrier(13..15)

    Rank 1's message goes to rank 2, rank 3's to rank 0: both waits are between metahosts. The barrier is of all; rank 1 is late. The
    second one is of ranks 0 and 1.
    """
    b = Builder(4)
    pair = b.comm("pair", [0, 1])
    b.recv(0, 3, at=(2000, 7000))
    b.recv(2, 1, at=(1000, 7000))
    b.send(1, 2, at=(5000, 6000))
    b.send(3, 0, at=(4000, 6000))
    b.barrier(at=[(10_000, 15_000), (14_000, 15_000), (12_000, 15_000), (13_000, 15_000)])
    b.everyone("Barrier", comm=pair, at=[(20_000, 28_000), (27_000, 28_000)])
    return on_metahosts(b.trace(), 0, 0, 1, 1, names=("here", "there"))


def test_twins():
    cube = search(run()).severity
    assert cube.total("mpi_latesender") == cube.total("grid_mpi_latesender") == 2000 + 4000
    assert cube.total("grid_mpi_barrier_wait") == 4000 + 2000 + 1000
    assert cube.total("ngrid_mpi_barrier_wait") == 7000
    assert cube.total("ngrid_mpi_latesender") == 0
    assert cube.total("grid") == 6000 + 7000 + cube.total("grid_mpi_barrier_completion")
    assert {metric.parent for metric in cube.metrics if metric.name == "grid_mpi_latesender_wo"} == {"grid_mpi_latesender"}


def test_matrix():
    """Rank 1, on metahost 0, is late for all: the waits of its own metahost are told from those of the other."""
    trace = run()
    found = search(trace).instances
    late, barrier = grid.matrix(trace, found["mpi_latesender"]), grid.matrix(trace, found["mpi_barrier_wait"])
    assert late.severity.tolist() == [[0, 2000], [4000, 0]]
    assert late.instances.tolist() == [[0, 1], [1, 0]]
    assert barrier.severity.tolist() == [[4000 + 7000, 0], [3000, 0]]
    assert barrier.instances.tolist() == [[2, 0], [2, 0]]
    assert not grid.matrix(trace, found["mpi_barrier_completion"]).instances.any()


def test_matrix__wrong_order_waits_for_its_own_message():
    """Rank 0 waits for rank 1's message while rank 2's was there: the cause is rank 2's send, but rank 1 is who was late."""
    b = Builder(3)
    b.recv(0, 1, tag=1, at=(4000, 11_000))
    b.recv(0, 2, tag=2, at=(11_000, 12_000))
    b.send(1, 0, tag=1, at=(10_000, 10_100))
    b.send(2, 0, tag=2, at=(5000, 5100))
    trace = on_metahosts(b.trace(), 0, 1, 2)
    found = search(trace)
    assert grid.matrix(trace, found.instances["mpi_latesender_wo"]).severity.tolist() == [[0, 6000, 0], [0, 0, 0], [0, 0, 0]]
    assert (found.severity.total("grid"), found.severity.total("grid_mpi_latesender_wo")) == (6000, 6000)


def test_late_receivers():
    """Rank 0 waits 5 for rank 1, of its own metahost, and rank 2, of another, waits 3 for rank 3, who is here."""
    b = Builder(4)
    b.send(0, 1, at=(1000, 9000))
    b.recv(1, 0, at=(6000, 9000))
    b.send(2, 3, at=(1000, 9000))
    b.recv(3, 2, at=(4000, 9000))
    trace = on_metahosts(b.trace(), 0, 0, 1, 0)
    found = search(trace)
    assert grid.matrix(trace, found.instances["mpi_latereceiver"]).severity.tolist() == [[5000, 0], [3000, 0]]
    assert found.severity.total("ngrid_mpi_latereceiver") == 5000
    assert found.severity.total("grid_mpi_latereceiver") == 3000


def test_names():
    assert [grid.name(run(), number) for number in (0, 1, 2)] == ["here", "there", "2"]


def test_one_metahost_has_no_twins():
    found = search(on_metahosts(run(), 7, 7, 7, 7))
    assert not any(name.startswith(("grid", "ngrid")) for name in (*found.instances, *(metric.name for metric in found.severity.metrics)))


def summed(cube, *names):
    """Return the sum of some metrics per call path and location."""
    out = np.zeros((len(cube.tree), len(cube.trace.locations)), "i8")
    for name in names:
        out[cube.cells[name].node] += cube.cells[name].value
    return out.tolist()


def check(trace):
    found = search(trace)
    for name in {pattern.name for pattern in OF_MPI if pattern.of != "mpi_init_exit"}:
        assert summed(found.severity, f"grid_{name}", f"ngrid_{name}") == summed(found.severity, name)
        matrix, some = grid.matrix(trace, found.instances[name]), found.instances[name]
        known = some.where((some.message >= 0) | (some.cause >= 0))
        assert (matrix.severity.sum(), matrix.instances.sum()) == (known.severity.sum(), len(known))


@given(build.traces(), st.data())
def test_law__twins_add_up(trace, data):
    """On every call path and location, whatever the metahosts."""
    count = len(trace.locations)
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    if len(set(numbers)) > 1:
        check(on_metahosts(trace, *numbers))


def test_ranks_of_any_size():
    """What is found between metahosts does not depend on ranks, nor does the memory it takes."""
    trace = on_metahosts(build.CATALOGUE["all_collectives"](), 0, 0, 1)
    tracemalloc.start()
    try:
        one, other = (search(each).instances for each in (trace, build.far(trace)))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert {name: found.call.tolist() for name, found in one.items()} == {name: found.call.tolist() for name, found in other.items()}


@pytest.mark.parametrize("name", [name for name in build.CATALOGUE if name != "empty"])
def test_catalogue(name):
    trace = build.CATALOGUE[name]()
    if len(trace.locations) > 1:
        check(on_metahosts(trace, *(np.arange(len(trace.locations)) % 2)))
