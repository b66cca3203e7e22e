"""Waits at windows, worked by hand, in units of 1000 ns (definitions of Scalasca 2.6)."""

from build import Builder
from perwiz.patterns.library import rma
from perwiz.patterns.pattern import NOTHING, View
from perwiz.patterns.search import search


def found(trace, *kinds):
    """Return {call: (severity, cause)} of the last of some patterns, each a special case of the one before."""
    some = NOTHING
    for kind in kinds:
        some = kind().instances(View(trace), some)
    return dict(zip(some.call.tolist(), zip(some.severity.tolist(), some.cause.tolist(), strict=True), strict=True))


def at(*times):
    return [(enter * 1000, leave * 1000) for enter, leave in times]


def test_create_and_free():
    """Rank 1 is the last to come, both times: rank 0 waits 3 and 2. That one left before it came is no wait."""
    b = Builder(2)
    b.everyone("Win_create", at=at((1, 5), (4, 5)))
    b.everyone("Win_free", at=at((6, 9), (8, 9)))
    b.everyone("Win_create", at=at((10, 11), (12, 13)))
    assert found(b.trace(), rma.WaitAtCreate) == {0: (3000, 3)}
    assert found(b.trace(), rma.WaitAtFree) == {1: (2000, 4)}


def fences(put, second=((10, 20), (16, 20), (18, 20))):
    """Three ranks and two fences; rank 1 puts into rank 0's memory within `put`, rank 2 into rank 1's early on."""
    b = Builder(3)
    b.everyone("Win_fence", at=at((0, 1), (0, 1), (0, 1)))
    b.call(1, "Put", at=at(put)[0], peer=0, comm=0)
    b.call(2, "Put", at=at((2, 3))[0], peer=1, comm=0)
    b.everyone("Win_fence", at=at(*second))
    return b.trace()


def test_fence():
    """Calls: rank 0 has 0 and 1, rank 1 has 2, 3 (put) and 4, rank 2 has 5, 6 (put) and 7. Rank 2 comes last, at 18."""
    trace = fences((12, 15))
    assert found(trace, rma.WaitAtFence) == {1: (8000, 7), 4: (2000, 7)}
    assert found(fences((12, 15), ((10, 17), (16, 20), (18, 20))), rma.WaitAtFence) == {}


def test_early_fence():
    """Rank 1's put returns at 15: 5 of the 8 that rank 0 waits. Nothing of rank 1's wait: the put on it returned at 3."""
    assert found(fences((12, 15)), rma.WaitAtFence, rma.EarlyFence) == {1: (5000, 3)}
    assert found(fences((5, 9)), rma.WaitAtFence, rma.EarlyFence) == {}


def test_early_fence__last_access_counts():
    """Of two puts into rank 0's memory the one that returns last, at 15; a put behind the fences belongs to none of them."""
    b = Builder(2)
    b.call(1, "Put", at=at((11, 12))[0], peer=0, comm=0)
    b.call(1, "Put", at=at((12, 15))[0], peer=0, comm=0)
    b.everyone("Win_fence", at=at((10, 20), (16, 20)))
    assert found(b.trace(), rma.WaitAtFence, rma.EarlyFence) == {0: (5000, 2)}
    b = Builder(2)
    b.everyone("Win_fence", at=at((16, 20), (10, 20)))
    b.call(0, "Put", at=at((21, 30))[0], peer=1, comm=0)
    assert found(b.trace(), rma.WaitAtFence) == {2: (6000, 0)}
    assert found(b.trace(), rma.WaitAtFence, rma.EarlyFence) == {}


def test_early_fence__of_another_communicator():
    """The put through a window of `own` returned at 15, long before the fence of that; the fence at 16 is of another window."""
    b = Builder(2)
    own = b.comm("own", [0, 1])
    b.call(1, "Put", at=at((12, 15))[0], peer=0, comm=own)
    b.everyone("Win_fence", at=at((10, 20), (16, 20)))
    b.everyone("Win_fence", comm=own, at=at((21, 25), (23, 25)))
    assert found(b.trace(), rma.WaitAtFence) == {0: (6000, 3), 1: (2000, 4)}
    assert found(b.trace(), rma.WaitAtFence, rma.EarlyFence) == {}


def test_in_the_tree():
    cube = search(fences((12, 15))).severity
    assert (cube.total("mpi_rma_wait_at_fence"), cube.total("mpi_rma_early_fence")) == (10_000, 5000)
    parents = {metric.name: metric.parent for metric in cube.metrics}
    assert parents["mpi_rma_early_fence"] == "mpi_rma_wait_at_fence"
    assert parents["mpi_rma_wait_at_fence"] == "mpi_rma_sync_active"
