"""The correction by several processes, here threads: equal to that of one alone in every column and figure."""

import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
import perwiz
import threaded
from build import Builder
from perwiz.clock.clock_graph import bind
from perwiz.clock.logical import correct
from perwiz.clock.spread.partition import cut, shares
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.graph.build import build as build_graph

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def check(trace, size, **options):
    """Correct a trace alone and by so many threads: nothing may differ. Return the latter."""
    found = threaded.together(size, lambda processes: correct(trace, **options, processes=processes))
    assert threaded.differences(correct(trace, **options), found) == []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("name", sorted(build.CATALOGUE))
def test_equal__catalogue(name, size):
    trace = build.CATALOGUE[name]()
    for changed, options in threaded.variants(trace):
        check(changed, size, **options)


@pytest.mark.slow
@settings(max_examples=60)
@given(naive_clock.traces(), st.integers(2, 5), st.data())
def test_equal__random(trace, size, data):
    count = len(trace.locations)
    numbers = {"off": 80_000, "drift": 100_000, "node": 1, "metahost": 1}
    drawn = {name: data.draw(st.lists(st.integers(0, most), min_size=count, max_size=count)) for name, most in numbers.items()}
    trace = threaded.placed(threaded.shifted(trace, drawn["off"], drawn["drift"]), drawn["node"], drawn["metahost"])
    options = {"mu": data.draw(st.sampled_from([None, 0, (5, 100, 3000)])), "gamma": data.draw(st.sampled_from([None, 1, 0.5]))}
    check(trace, size, **options)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_equal__real(size):
    """Of 16 processes: 1780 of 9052 messages are received before they were sent, and gamma is found in several passes."""
    found = check(files.read(str(TRACES / "p_m3.alog.gz")), size)
    assert (found.by_message > 1000, found.passes) == (True, 4)


def busy():
    """Six ranks, an allreduce, a broadcast, a reduction, a scan, and a ring of messages behind each."""
    b = Builder(6)
    for number, routine in enumerate(["Allreduce", "Bcast", "Reduce", "Scan"]):
        for rank in range(6):
            b.compute(rank, 700 * ((rank + number) % 3))
        b.everyone(routine, root=3 if routine in ("Bcast", "Reduce") else None, bytes=100)
        for rank in range(6):
            b.sendrecv(rank, (rank + 1) % 6, (rank - 1) % 6)
    return b.trace()


def crossing(trace, size):
    """Return (time stamps, summaries of hubs) that cross when so many processes replay a trace once."""
    found = cut(trace, bind(trace, trace.timeline, build_graph(trace)), size)
    return len(found.stamps.original), len(found.hubs.original)


def test_what_crosses():
    """Of the ring one message per process and turn. Collectives: there and back; only down from a root; only up; along the ranks."""
    assert crossing(busy(), 1) == (0, 0)
    assert crossing(busy(), 2) == (4 * 2, 2 + 1 + 1 + 1)
    assert crossing(busy(), 3) == (4 * 3, 4 + 2 + 2 + 2)


def test_shares__neighbours_together_and_even():
    b = Builder(5)
    for rank, calls in enumerate([1, 1, 1, 30, 30]):
        for _ in range(calls):
            b.call(rank, "Wtime")
    assert shares(b.trace(), 2).tolist() == [0, 0, 0, 0, 1]
    assert shares(b.trace(), 9).tolist() == sorted(shares(b.trace(), 9))


def test_more_processes_than_locations():
    check(threaded.shifted(busy()), 9)


def test_one_call_sends_to_several():
    """MPI_Startall: one stamp per process that receives, and the earliest of their limits holds."""
    for first, second in ((150, 130), (130, 150)):
        b = Builder(4)
        call = b.send(0, 1, at=(100, 110))
        b._send(call, 2, 8, 0, 0, "", call)
        b.recv(0, 3, at=(900, 1000))
        b.send(3, 0, at=(2000, 2010))
        b.recv(1, 0, at=(0, first))
        b.recv(2, 0, at=(0, second))
        assert check(b.trace(), 4, mu=1).timeline.calls.enter[0] == 129


def test_refused__before_the_others_are_told():
    with pytest.raises(UsageError, match="gamma"):
        threaded.together(3, lambda processes: correct(busy(), gamma=2, processes=processes))
    with pytest.raises(UsageError, match="minimum latencies"):
        threaded.together(3, lambda processes: correct(busy(), mu=(3, 2, 1), processes=processes))


def test_api__alone_by_default():
    assert perwiz.correct(threaded.shifted(busy())).by_collective > 0
