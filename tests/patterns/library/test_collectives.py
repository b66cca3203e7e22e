"""Patterns of collectives, worked by hand: the oracles 5 to 7 of the definitions, in units of 1000 ns."""

import pytest

from build import Builder
from perwiz.patterns.library import collectives as patterns
from perwiz.patterns.pattern import NOTHING, View


def severities(pattern, routine, begins, ends, root=None, silent=()):
    """Return the severity per rank of one collective of these entries and returns; silent ranks move no bytes."""
    b = Builder(len(begins))
    times = [(round(1000 * begin), round(1000 * end)) for begin, end in zip(begins, ends, strict=True)]
    for rank, at in enumerate(times):
        b.join(rank, routine, root=root, bytes=0 if rank in silent else 8, at=at)
    some = pattern().instances(View(b.trace()), NOTHING)
    assert (some.cause != some.call).all()
    by_call = dict(zip(some.call.tolist(), some.severity.tolist(), strict=True))
    return tuple(by_call.get(rank, 0) / 1000 for rank in range(len(begins)))


def test_barrier():
    """Entered at 1, 4, 2, left at 6, 5, 5.5: rank 1 is the last to come and the first to leave."""
    assert severities(patterns.BarrierWait, "Barrier", (1, 4, 2), (6, 5, 5.5)) == (3, 0, 2)
    assert severities(patterns.BarrierCompletion, "Barrier", (1, 4, 2), (6, 5, 5.5)) == (1, 0, 0.5)
    assert severities(patterns.FinalizeWait, "Finalize", (1, 4, 2), (6, 5, 5.5)) == (3, 0, 2)


def test_barrier__clipped():
    """Rank 0 left at 3, before rank 1 came: its wait ends there."""
    assert severities(patterns.BarrierWait, "Barrier", (1, 4, 2), (3, 5, 5.5)) == (2, 0, 2)


@pytest.mark.parametrize("routine", ["Allreduce", "Allgather", "Alltoall", "Reduce_scatter", "Alltoallv"])
def test_exchange(routine):
    """All left after the last came."""
    assert severities(patterns.ExchangeWait, routine, (1, 4, 2), (6, 5, 5.5)) == (3, 0, 2)
    assert severities(patterns.ExchangeCompletion, routine, (1, 4, 2), (6, 5, 5.5)) == (1, 0, 0.5)


def test_exchange__no_overlap():
    """Rank 0 left at 3: only who receives waits, for the last that sends, until it leaves. Rank 1 sends nothing: rank 2 is the last."""
    assert severities(patterns.ExchangeWait, "Allreduce", (1, 4, 2), (3, 5, 5.5)) == (2, 0, 2)
    assert severities(patterns.ExchangeWait, "Allreduce", (1, 4, 2), (3, 5, 5.5), silent=(1,)) == (1, 0, 0)
    assert severities(patterns.ExchangeWait, "Allreduce", (1, 4, 2), (3, 5, 5.5), silent=(0, 1, 2)) == (0, 0, 0)


@pytest.mark.parametrize("routine", ["Bcast", "Scatter"])
def test_late_broadcast(routine):
    """Root 1 comes at 4: rank 0 waits 3, rank 2 comes later. Without bytes nobody waits."""
    assert severities(patterns.LateBroadcast, routine, (1, 4, 6), (9, 9, 9), root=1) == (3, 0, 0)
    assert severities(patterns.LateBroadcast, routine, (1, 4, 6), (9, 9, 9), root=1, silent=(0,)) == (0, 0, 0)
    assert severities(patterns.LateBroadcast, routine, (1, 4, 6), (9, 9, 9), root=1, silent=(1,)) == (0, 0, 0)


@pytest.mark.parametrize("routine", ["Reduce", "Gather"])
def test_early_reduce(routine):
    """Root 0 comes at 1, the last that sends at 6: 5. If rank 2 sends nothing, 3."""
    assert severities(patterns.EarlyReduce, routine, (1, 4, 6), (7, 7, 7), root=0) == (5, 0, 0)
    assert severities(patterns.EarlyReduce, routine, (1, 4, 6), (7, 7, 7), root=0, silent=(2,)) == (3, 0, 0)


def test_early_scan():
    """Entered at 5, 1, 3: ranks 1 and 2 wait for rank 0. Without bytes of rank 0, rank 2 waits for nobody."""
    for routine in ("Scan", "Exscan"):
        assert severities(patterns.EarlyScan, routine, (5, 1, 3), (6, 7, 7)) == (0, 4, 2)
        assert severities(patterns.EarlyScan, routine, (5, 1, 3), (6, 7, 7), silent=(0,)) == (0, 0, 0)
    assert severities(patterns.EarlyScan, "Scan", (0, 5, 1), (1, 7, 7), silent=(0,)) == (0, 0, 4)


def test_init_completion():
    """Left at 4, 6 and 5: the processes stay 0, 2 and 1 longer than the first, but no longer than since they came."""
    b = Builder(3)
    for rank, at in enumerate([(0, 4000), (0, 6000), (4500, 5000)]):
        b.call(rank, "Init", at=at)
    some = patterns.InitCompletion().instances(View(b.trace()), NOTHING)
    assert dict(zip(some.call.tolist(), some.severity.tolist(), strict=True)) == {1: 1500, 2: 500}


def test_nonblocking__waits_in_the_completing_call():
    """Rank 0 starts a broadcast at 1, waits for it from 3, and the root starts it at 5: 2."""
    b = Builder(2)
    request = b.join(0, "Ibcast", root=1, bytes=8, at=(1000, 1100))
    b.wait(0, request, at=(3000, 6000))
    late = b.join(1, "Ibcast", root=1, bytes=8, at=(5000, 5100))
    b.wait(1, late, at=(5100, 6000))
    some = patterns.LateBroadcast().instances(View(b.trace()), NOTHING)
    assert (some.call.tolist(), some.severity.tolist(), some.cause.tolist()) == ([1], [2000], [2])


def test_one_member_is_no_collective():
    assert severities(patterns.BarrierWait, "Barrier", (1,), (6,)) == (0,)
