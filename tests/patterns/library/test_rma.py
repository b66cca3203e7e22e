"""Waits at windows, worked by hand, in units of 1000 ns (definitions of Scalasca 2.6)."""

import dataclasses

import numpy as np

from build import Builder
from perwiz.patterns.analysis.causes import explain
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


def test_early_fence__of_another_window():
    """The put through window 1 returned at 15, within the wait for the fence of window 0, whose epoch it is not in."""
    for window, expected in ((1, {}), (0, {0: (5000, 2)})):
        b = Builder(2)
        fences = [b.join(0, "Win_fence", at=at((10, 20))[0])]
        b.call(1, "Put", at=at((12, 15))[0], peer=0, comm=0, tag=window)
        fences.append(b.join(1, "Win_fence", at=at((16, 20))[0]))
        for fence in fences:
            fence.columns["tag"] = 0
        assert found(b.trace(), rma.WaitAtFence, rma.EarlyFence) == ({0: (5000, 1)} if expected else {})


def on(b, rank, name, times, to=-1, window=0):
    """A call on a window of the world."""
    return b.call(rank, name, at=at(times)[0], peer=to, tag=window, comm=0)


def exposed(start, put, complete, post, wait):
    """Rank 0, calls 0 to 2, puts into the memory of rank 1, calls 3 and 4; the post is tied to the call that it lets return."""
    b = Builder(2)
    calls = on(b, 0, "Win_start", start), on(b, 0, "Put", put, to=1), on(b, 0, "Win_complete", complete)
    posted, waits = on(b, 1, "Win_post", post), on(b, 1, "Win_wait", wait)
    b.link("post", posted, next(call for call in calls if call.at[1] >= posted.at[0]))
    b.link("complete", calls[2], waits)
    return b.trace()


def test_late_post():
    """Posted at 15: the start waits 14 from 1 on, or the complete 10 from 5 on; an early post is none."""
    assert found(exposed((1, 16), (17, 18), (19, 20), (15, 16), (17, 21)), rma.LatePost) == {0: (14_000, 3)}
    assert found(exposed((1, 2), (3, 4), (5, 16), (15, 16), (17, 18)), rma.LatePost) == {2: (10_000, 3)}
    assert found(exposed((5, 6), (7, 8), (9, 10), (1, 2), (3, 11)), rma.LatePost) == {}


def test_early_transfer():
    """Posted at 15, while the put waits since 3: a late post in communication, none in synchronisation."""
    trace = exposed((1, 2), (3, 16), (17, 18), (15, 16), (17, 19))
    assert found(trace, rma.EarlyTransfer) == {1: (12_000, 3)}
    assert found(trace, rma.LatePost) == {}


def test_late_post__of_several_the_last():
    """Of the posts at 5 and 8 of two targets the start waits for that at 8."""
    b = Builder(3)
    start = on(b, 0, "Win_start", (1, 9))
    for rank, time in ((1, 5), (2, 8)):
        b.link("post", on(b, rank, "Win_post", (time, time + 1)), start)
    assert found(b.trace(), rma.LatePost) == {0: (7000, 2)}


def test_early_wait_and_late_complete():
    """The target waits from 6 to 30, the put returned at 18: 24, of which the last 12 were not needed. A put since is no part of it."""
    trace = exposed((1, 2), (3, 18), (30, 31), (0, 1), (6, 32))
    assert found(trace, rma.EarlyWait) == {4: (24_000, 2)}
    assert found(trace, rma.EarlyWait, rma.LateComplete) == {4: (12_000, 2)}
    before = exposed((1, 2), (3, 4), (30, 31), (0, 1), (6, 32))
    assert found(before, rma.EarlyWait, rma.LateComplete) == {4: (24_000, 2)}
    until = exposed((1, 2), (3, 30), (30, 31), (0, 1), (6, 32))
    assert found(until, rma.EarlyWait, rma.LateComplete) == {}


def test_late_complete__accesses_of_all_origins():
    """Ranks 1 and 2 complete at 20 and 30; rank 1 accessed rank 0 until 15, rank 2 until 12, through another window until 28."""
    b = Builder(3)
    wait = on(b, 0, "Win_wait", (5, 31))
    for rank, put, complete in ((1, 15, 20), (2, 12, 30)):
        on(b, rank, "Put", (put - 1, put), to=0)
        if rank == 2:
            on(b, rank, "Put", (27, 28), to=0, window=1), on(b, rank, "Put", (28, 29), to=1)
        b.link("complete", on(b, rank, "Win_complete", (complete, complete + 1)), wait)
    assert found(b.trace(), rma.EarlyWait, rma.LateComplete) == {0: (15_000, 6)}


def passive(late, kind, other=None):
    """Rank 1 locks, gets and unlocks at rank 2: the call `late` waits from 5 to 20; rank 0 releases at 19, rank 2 calls at `other`."""
    b = Builder(3)
    release = on(b, 0, "Win_unlock", (19, 20), to=2)
    times = [(k, k + 1) if k < late else (5, 20) if k == late else (20 + k, 21 + k) for k in range(3)]
    calls = [on(b, 1, name, when, to=2) for name, when in zip(("Win_lock", "Get", "Win_unlock"), times, strict=True)]
    helps = b.call(2, "Barrier", at=at((other or 18, 40))[0])
    b.link(kind, release if kind == "lock" else helps, calls[late])
    if other:
        b.link("progress", helps, calls[late])
    return b.trace()


def test_lock_contention():
    """Released at 19, waited for since 5, in the lock or in the get."""
    assert found(passive(0, "lock"), rma.LockContention) == {1: (14_000, 0)}
    assert found(passive(1, "lock"), rma.AccessContention) == {2: (14_000, 0)}
    assert found(passive(1, "lock"), rma.LockContention) == {}


def test_wait_for_progress():
    """The target comes at 18 to a call in which MPI makes progress."""
    assert found(passive(2, "progress"), rma.WaitForProgress) == {3: (13_000, 4)}
    assert found(passive(1, "progress"), rma.AccessForProgress) == {2: (13_000, 4)}
    assert found(passive(1, "progress"), rma.WaitForProgress) == {}


def test_lock_or_progress__the_last_of_both():
    """Of the release at 19 and the target's call at 10, a call waits for the release; the wait counts once."""
    trace = passive(0, "lock", other=10)
    assert found(trace, rma.LockContention) == {1: (14_000, 0)}
    assert found(trace, rma.WaitForProgress) == {}


def test_links_of_threads_are_none_of_these():
    """A lock handed over between threads is of OpenMP."""
    b = Builder(1)
    release, critical = b.call(0, "omp_release", at=(9, 10)), b.call(b.thread(0), "omp_critical", at=(1, 10))
    b.link("lock", release, critical)
    assert found(b.trace(), rma.LockContention) == {}


def test_causes():
    """Rank 1 computes 14 longer before it posts: that is what the wait of rank 0 costs. All of it is booked there."""
    b = Builder(2)
    b.call(0, "Init", at=(0, 1000)), b.call(1, "Init", at=(0, 1000))
    start = on(b, 0, "Win_start", (1, 16))
    with b.region(1, "solve", at=(1000, 15_000)):
        pass
    b.link("post", on(b, 1, "Win_post", (15, 16)), start)
    cube = explain(search(b.trace())).findings.severity
    assert cube.total("mpi_rma_sync_late_post") == 14_000
    assert (cube.total("delay_rma"), cube.total("delay_rma_longterm"), cube.total("delay_onesided")) == (14_000, 0, 14_000)
    node = [cube.tree.full_name(node) for node in cube.cells["delay_rma"].node.tolist()]
    assert [name for name, value in zip(node, cube.cells["delay_rma"].value.sum(1).tolist(), strict=True) if value] == ["solve"]


def test_between_metahosts():
    """Rank 1, on another metahost, posts late: the twins of the pattern tell."""
    trace = exposed((1, 16), (17, 18), (19, 20), (15, 16), (17, 21))
    for metahosts, between in (([0, 1], 14_000), ([1, 1], None)):
        locations = dataclasses.replace(trace.locations, metahost=np.array(metahosts, "i4"))
        cube = search(dataclasses.replace(trace, locations=locations)).severity
        names = {metric.name for metric in cube.metrics}
        assert (cube.total("grid_mpi_rma_sync_late_post") if "grid_mpi_rma_sync_late_post" in names else None) == between


def test_in_the_tree():
    cube = search(fences((12, 15))).severity
    assert (cube.total("mpi_rma_wait_at_fence"), cube.total("mpi_rma_early_fence")) == (10_000, 5000)
    parents = {metric.name: metric.parent for metric in cube.metrics}
    assert parents["mpi_rma_early_fence"] == "mpi_rma_wait_at_fence"
    assert parents["mpi_rma_wait_at_fence"] == "mpi_rma_sync_active"
