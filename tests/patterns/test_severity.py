"""The severity cube: what is in it adds up, on the catalogue of awkward traces."""

import numpy as np
import pytest

import build
from build import Builder
from perwiz.patterns.pattern import NOTHING, Pattern, instances
from perwiz.patterns.search import search
from perwiz.trace import operations


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_parts_add_up(name):
    """Time is that of the timeline; computation, calls and idleness are all of it; a metric contains those below it, on all locations."""
    trace = build.CATALOGUE[name]()
    cube = search(trace).severity
    locations = trace.timeline.locations
    assert cube.by_location("time").tolist() == (locations.leave - locations.enter).tolist()
    inside = [cube.total(name) for name in ("mpi", "shmem_time", "omp_time", "pthread_time", "device_time")]
    idle = cube.total("omp_idle_threads") + cube.total("device_idle")
    assert cube.total("comp") + sum(inside) == cube.total("execution") == cube.total("time") - idle
    length = trace.timeline.calls.leave - trace.timeline.calls.enter
    assert sum(inside) + idle == length.sum()
    assert inside[0] == length[operations.MPI[trace.calls.op]].sum()
    for end in ("send", "recv"):
        assert cube.total(f"comms_{end}") + cube.total(f"syncs_{end}") == len(trace.messages)
    for metric in cube.metrics:
        if metric.parent and metric.name in cube.cells:
            inner, outer = (cube.by_location(key) for key in (metric.name, metric.parent))
            assert (inner <= outer).all(), metric.name
    assert cube.by_node("time", inclusive=True)[0] == cube.total("time")


def test_call_tree():
    """main calls MPI_Send, solve and MPI_Recv; MPI routines stand behind regions, those outside of all regions under the root."""
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 10))
        with b.region(rank, "main", at=(20, 100)), b.region(rank, "solve", at=(30, 60)):
            (b.send(0, 1, at=(35, 40)) if rank == 0 else b.recv(1, 0, at=(40, 55)))
    cube = search(b.trace()).severity
    names = [cube.tree.full_name(node) for node in range(len(cube.tree))]
    assert names == ["program", "main", "main/solve", "main/solve/MPI_Send", "main/solve/MPI_Recv", "MPI_Init"]
    assert cube.tree.parent.tolist() == [-1, 0, 1, 2, 2, 0]
    assert cube.by_node("time").tolist() == [20, 2 * 50, 25 + 15, 5, 15, 20]
    assert cube.by_node("visits", inclusive=True).tolist() == [8, 6, 4, 1, 1, 2]


class Slow(Pattern):
    """Receives that take more than 3000 ns."""

    name, title, of = "slow_receive", "Slow receive", "mpi_latesender"

    def instances(self, view, parent):
        """Return late senders whose call is long."""
        return parent.where(view.leave[parent.call] - view.enter[parent.call] > 3000)


class Broken(Pattern):
    """Raises."""

    name, title, of = "broken", "Broken", "time"

    def instances(self, view, parent):
        """Raise."""
        raise ZeroDivisionError("nothing to divide by")


def test_own_patterns():
    """A user's pattern refines one that is built in; one that raises is named, and does not stop the others."""
    b = Builder(2)
    b.send(0, 1, at=(5000, 6000))
    b.send(0, 1, at=(7000, 8000))
    b.recv(1, 0, at=(2000, 6000))
    b.recv(1, 0, at=(6500, 7500))
    found = search(b.trace(), [Broken, Slow])
    assert found.severity.total("mpi_latesender") == 3500
    assert found.severity.total("slow_receive") == 3000
    assert "broken" not in found.instances
    assert len(found.failures) == 1
    assert found.failures[0].endswith("pattern broken: ZeroDivisionError: nothing to divide by")
    names = [metric.name for metric in found.severity.metrics]
    assert names.index("slow_receive") > names.index("mpi_latesender")


def test_instances__sorted_by_call():
    some = instances(np.array([5, 2, 9]), np.array([10, 20, 0]), cause=np.array([1, 2, 3]))
    assert (some.call.tolist(), some.severity.tolist(), some.cause.tolist()) == ([2, 5], [20, 10], [2, 1])
    assert len(NOTHING) == 0
