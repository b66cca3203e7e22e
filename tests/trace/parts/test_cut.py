"""The trace of some iterations alone: worked by hand, refusals, and laws over random programs cut anywhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import threaded
from build import Builder, hand_model, table
from perwiz.errors import UsageError
from perwiz.patterns.analysis import efficiency
from perwiz.trace import operations, tables
from perwiz.trace.parts.cut import Chosen, before_records_end, cut, end_early, ends_early, restricted, undisturbed
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.tables import FORK, JOIN, NONE, THREAD
from perwiz.trace.windows.large import large
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.computation import Speed
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def rows(table):
    return [*zip(*(getattr(table, field.name).tolist() for field in dataclasses.fields(table)), strict=True)]


def spans(trace, begin, stop):
    """Return one iteration of a trace, from one instant of each location to another."""
    enter, first = trace.timeline.calls.enter, trace.first_calls
    sides = [
        [low + np.searchsorted(enter[low:high], t) for low, high, t in zip(first[:-1], first[1:], when, strict=True)]
        for when in (begin, stop)
    ]
    one = [np.array([column], "i8") for column in (*sides, begin, stop)]
    return Iterations("calls", (), *one, np.arange(len(begin)), np.ones(len(begin), "i8"), 0, ())


def pipeline():
    """Return a trace of four iterations; rank 1 receives in each what rank 0 has sent in the one before.

        0  10     100  110    200  210    300  310        420
    e0  bcast  e1 isend    e3 isend    e5 isend    e7 isend     behind each, e2 e4 e6 e8 wait
    e9  bcast  e10 recv    e11 recv    e12 recv    e13 recv
               nobody's, that of e1, of e3, of e5
    """
    b = Builder(2)
    b.bcast(0, at=[(0, 10)] * 2)
    b.recv(1, None, at=(100, 130))
    for k in range(1, 5):
        request = b.isend(0, 1, 50 if k < 4 else 40, at=(100 * k, 100 * k + 10))
        b.wait(0, request, at=(100 * k + 20, 100 * k + 30))
        if k < 4:
            b.recv(1, 0, at=(100 * k + 100, 100 * k + 130))
    b.compute(0, 90)
    return b.trace("run.alog")


def test_cut__by_hand():
    """Iterations 2 and 3, e3 to e6 and e11 to e12, are e0 to e3 and e4 to e5. The message e3 - e12 stays, those of e1 and e5 are lost."""
    trace = pipeline()
    assert (trace.messages.send.tolist(), trace.messages.receive.tolist()) == ([1, 3, 5], [11, 12, 13])
    part = cut(trace, spans(trace, [200, 200], [400, 400]), 0, 1)
    assert rows(part.timeline.locations) == [(0, 200), (0, 200)]
    assert rows(part.timeline.calls) == [(0, 10), (20, 30), (100, 110), (120, 130), (0, 30), (100, 130)]
    assert [row[:4] for row in rows(part.messages)] == [(0, 1, 5, 5)]
    assert rows(part.requests) == [(0, 1, 0), (2, 3, 0)]
    assert (part.counts.cut_messages, part.counts.cut_collectives, part.counts.cut_links) == (2, 0, 0)
    assert part.calls.peer.tolist() == [1, NONE, NONE, NONE, NONE, 0]
    assert (len(part.collectives), len(part.members)) == (0, 0)
    run = replayed(part, hand_model(), "none")
    assert (run.makespan, run.replay_error) == (200, 0)
    assert run.health().holes == {}


def test_cut__a_request_that_completes_outside():
    """The isend at 200 stays without its request, and the wait at 220 is outside: nothing says that somebody must wait for it."""
    trace = pipeline()
    part = cut(trace, spans(trace, [100, 100], [215, 215]), 0, 1)
    assert (rows(part.requests), part.calls.comm.tolist()[2], len(part.messages)) == ([(0, 1, 0)], NONE, 0)
    assert part.counts.cut_messages == 2
    assert replayed(part, hand_model(), "none").health().endless == 0


def test_cut__collectives_whole_or_not_at_all():
    """The first barrier has a member outside; the second is inside."""
    b = Builder(2)
    b.barrier(at=[(0, 10), (5, 10)])
    b.barrier(at=[(20, 30), (25, 30)])
    trace = b.trace()
    part = cut(trace, spans(trace, [20, 0], [40, 40]), 0, 1)
    assert (rows(part.members), part.collectives.first_member.tolist()) == ([(0, 0, 0), (0, 2, 2)], [0])
    assert part.counts.cut_collectives == 1
    assert rows(part.timeline.calls) == [(20, 30), (5, 10), (25, 30)]


def test_cut__regions_and_calls_that_last_longer():
    """main begins before and ends behind, step 1 ends at the begin, step 2 is inside; a call of the thread is cut at both ends."""
    b = Builder(1)
    thread = b.thread(0, THREAD)
    with b.region(0, "main", at=(0, 100)):
        for begin in (10, 40, 70):
            with b.region(0, "step", at=(begin, begin + 30)):
                b.barrier(at=[(begin + 5, begin + 10)])
    b.call(thread, "omp_idle", at=(20, 90))
    trace = b.trace()
    part = cut(trace, spans(trace, [40, 40], [70, 70]), 0, 1)
    assert [row[3:] for row in rows(part.regions)] == [(1, 0, 1), (2, 0, 1)]
    assert [part.names[name] for name in part.region_names] == ["main", "step"]
    assert part.regions.parent.tolist() == [NONE, 0]
    assert rows(part.timeline.regions) == [(0, 30), (0, 30)]
    assert rows(part.timeline.calls) == [(5, 10), (0, 30)]


def test_cut__what_is_let_go_inside_is_still_waited_for():
    """A worker is idle from 5 to 62: the fork at 60 lets it go, and it is idle again from 90, beyond the end. Of 40 to 95 both links stay.

    From 61 on nothing inside lets it go: how long it is idle is work.
    """
    b = Builder(1)
    worker = b.thread(0, THREAD)
    fork, join = b.call(0, "omp_fork", at=(60, 61)), b.call(0, "omp_join", at=(91, 92))
    idle, more = b.call(worker, "omp_idle", at=(5, 62)), b.call(worker, "omp_idle", at=(90, 120))
    b.link("fork", fork, idle)
    b.link("join", more, join)
    trace = b.trace()
    part = cut(trace, spans(trace, [40, 40], [95, 95]), 0, 1)
    assert rows(part.timeline.calls) == [(20, 21), (51, 52), (0, 22), (50, 55)]
    assert (rows(part.links), part.counts.cut_links) == ([(JOIN, 3, 1), (FORK, 0, 2)], 0)
    assert replayed(part, hand_model(), "none").replay_error == 0
    part = cut(trace, spans(trace, [61, 61], [95, 95]), 0, 1)
    assert (rows(part.links), part.counts.cut_links) == ([(JOIN, 2, 0)], 1)


def test_cut__idleness_that_lasts_longer_ends_where_it_begins():
    """A thread works from 20 to 50, and waits for the next work, which comes at 120: of a part up to 100 it is done at 50, not at 100."""
    b = Builder(1)
    worker = b.thread(0, THREAD)
    start, wait = b.call(0, "thread_start", at=(20, 20)), b.call(0, "thread_wait", at=(30, 52))
    idle, more = b.call(worker, "thread_idle", at=(0, 20)), b.call(worker, "thread_idle", at=(50, 120))
    b.link("fork", start, idle)
    b.link("join", more, wait)
    trace = b.trace()
    part = cut(trace, spans(trace, [0, 0], [100, 100]), 0, 1)
    assert rows(part.timeline.calls) == [(20, 20), (30, 52), (0, 20), (50, 50)]
    assert part.timeline.locations.leave.tolist() == [52, 50]
    assert len(part.links) == 2


def test_part__begins_where_its_processes_are():
    """Rank 1 begins its second iteration 400 ns after rank 0, and each takes 1000: the part lasts 1400, of which nobody starts late.

         0          1000
    e0   barrier    e1 barrier ...
          400          1400
    """
    b = Builder(2)
    for k in range(5):
        for rank in (0, 1):
            b.call(rank, "Comm_rank", at=(1000 * k + 400 * rank, 1000 * k + 400 * rank + 10))
    part = restricted(b.trace("run.alog"), Chosen(2, 2))
    run = replayed(part, hand_model(), "none")
    assert (part.part, run.makespan, selectors.after_init(part)) == ("iterations 2..2", 1400, 1000)
    whole = efficiency.whole(run)
    assert (whole.time, whole.ideal, whole.useful.tolist()) == (1000, 990, [990, 990])


def test_cut__what_else_was_recorded():
    """Records inside; parameters in front of a call inside."""
    trace = pipeline()
    more = {
        "texts": ("a",),
        "records": table(tables.Records, location=[0] * 3, kind=[0] * 3, call=[1, 4, 8], time=[90, 215, 420], first_value=[0, 1, 1]),
        "values": np.array([7, 8, 9], "i8"),
        "parameters": table(tables.Parameters, location=[0, 1], region=[NONE] * 2, call=[2, 12], name=[0] * 2, value=[0] * 2),
        "labels": table(tables.Labels, call=[0, 3], text=[0, 0]),
        "site": np.arange(14, dtype="i4"),
        "sites": tuple("abcdefghijklmn"),
    }
    trace = dataclasses.replace(trace, **more)
    part = cut(trace, spans(trace, [200, 200], [400, 400]), 0, 1)
    assert (rows(part.records), part.values.tolist()) == ([(0, 0, 1, 15, 0)], [])
    assert [row[:3] for row in rows(part.parameters)] == [(1, NONE, 5)]
    assert (rows(part.labels), part.site.tolist()) == ([(0, 0)], [3, 4, 5, 6, 11, 12])


@pytest.mark.parametrize(
    ("times", "name", "end"),
    [
        ([100] * 8 + [300], "ProfilerStep", 8),
        ([100] * 9 + [300, 200], "ProfilerStep", 9),
        ([100] * 9, "ProfilerStep", None),
        ([100] * 9 + [111], "ProfilerStep", 9),
        ([100] * 9 + [109], "ProfilerStep", None),
        ([100] * 9 + [111, 111], "ProfilerStep", None),
        ([100] * 7 + [300], "ProfilerStep", None),
        ([100] * 6 + [300], "ProfilerStep", 6),
        ([100] * 4 + [300], "ProfilerStep", 4),
        ([100] * 3 + [300], "ProfilerStep", None),
        ([100, 100, 300, 100, 300], "ProfilerStep", None),
        ([100] * 3 + [300] + [100] * 8, "ProfilerStep", None),
        ([100] * 3 + [300] + [100] * 8 + [300], "ProfilerStep", None),
        ([100] * 8 + [300], "step", None),
    ],
)
def test_undisturbed(times, name, end):
    """The last steps are left out if they alone stand out, of those that the profiler of PyTorch names, and eight are left, or four
    of a job of fewer than eight."""
    b = Builder(2, work=0)
    for ns in times:
        for process in range(2):
            with b.region(process, name):
                b.compute(process, ns)
                b.call(process, "Comm_rank")
        b.everyone("Barrier")
    assert undisturbed(b.trace()) == end


def test_restricted__names_itself():
    b = Builder(2)
    for _ in range(5):
        b.barrier()
        b.compute(0, 100)
    trace = b.trace("run.alog")
    assert [len(restricted(trace, chosen).calls) for chosen in (Chosen(2, 4), Chosen(4, None), Chosen(3, 3))] == [6, 4, 2]
    assert restricted(trace, Chosen(4, None)).path == "run.alog iterations 4..5"
    assert [*map(str, (Chosen(2, 4), Chosen(4, None), Chosen(3, 3)))] == ["2..4", "4..", "3"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (Chosen(2, 6), "--iterations 2..6: run.alog has 5, must be within 1..5"),
        (Chosen(6, None), "--iterations 6..: run.alog has 5, must be within 1..5"),
    ],
)
def test_restricted__beyond(chosen, message):
    b = Builder(2)
    for _ in range(5):
        b.barrier()
    with pytest.raises(UsageError) as error:
        restricted(b.trace("run.alog"), chosen)
    assert str(error.value) == message


def test_restricted__none():
    b = Builder(2)
    b.barrier()
    with pytest.raises(UsageError) as error:
        restricted(b.trace("run.alog"), Chosen(1, None))
    assert str(error.value) == "--iterations 1..: run.alog has no iterations: nothing that lasts repeats 3 times or more"


@pytest.mark.slow
@given(build.programs(), st.data())
def test_law__wherever_it_is_cut_the_unchanged_run_is_the_recorded_one(trace, data):
    whole = trace.timeline.makespan
    sides = [data.draw(st.integers(0, whole)) for _ in range(2)]
    places = len(trace.locations)
    skew = [data.draw(st.sampled_from([0, 0, 700, 5000])) for _ in range(places)]
    begin, stop = ([side + more for more in skew] for side in sorted(sides))
    part = cut(trace, spans(trace, begin, stop), 0, 1)
    run = replayed(part, hand_model(), "none")
    assert run.replay_error == 0
    assert part.timeline.makespan <= stop[0] - begin[0] + max(skew) - min(skew)


@pytest.mark.slow
@given(build.programs())
def test_law__all_of_it_is_the_whole(trace):
    ends = trace.timeline.locations
    whole = spans(trace, ends.enter.tolist(), (ends.leave + 1).tolist())
    part = cut(trace, whole, 0, 1)
    for name in ("calls", "requests", "regions", "messages", "collectives", "members", "links", "timeline"):
        assert build.equal(getattr(part, name), getattr(trace, name)), name


@pytest.mark.slow
@given(st.integers(2, 6), st.data())
def test_law__parts_next_to_each_other_have_all_calls(times, data):
    """Of two parts, calls and messages add up to those of both; what crosses from one to the other is in neither, and counted in each.

    Rank 0 waits in each iteration for what it posted in the one before.
    """
    b = Builder(3)
    posted = []
    for _ in range(times):
        b.barrier()
        for rank in range(3):
            b.compute(rank, data.draw(st.integers(0, 3000)))
            posted.append(b.isend(rank, (rank + 1) % 3, data.draw(st.sampled_from([8, 8000]))))
            b.recv((rank + 1) % 3, rank)
            if len(posted) > 1:
                b.wait(rank, posted.pop(0 if rank == 0 else -1))
    trace = b.trace()
    enter, ends = trace.timeline.calls.enter, trace.timeline.locations.leave
    barrier = np.flatnonzero(trace.calls.op == operations.OP["MPI_Barrier"]).reshape(3, times).T
    end = np.append(barrier[1:], [trace.first_calls[1:]], axis=0)
    many = np.arange(3)
    found = Iterations("calls", (), barrier, end, enter[barrier], np.append(enter[barrier[1:]], [ends], axis=0), many, many, 0, ())
    middle = data.draw(st.integers(1, times - 1))
    both, one, other = (cut(trace, found, *part) for part in ((0, times), (0, middle), (middle, times)))
    assert len(one.calls) + len(other.calls) == len(both.calls) == len(trace.calls)
    crossing = len(both.messages) - len(one.messages) - len(other.messages)
    assert (crossing, one.counts.cut_messages, other.counts.cut_messages) == (1, 1, 1)
    assert (both.counts.cut_messages, len(one.collectives) + len(other.collectives)) == (0, times)
    assert [replayed(part, hand_model(), "none").replay_error for part in (both, one, other)] == [0, 0, 0]


def killed(last, finalize=False):
    """Return a run whose rank 0 has records up to 400 and rank 1 up to `last`; the message of 350 is the last that both have."""
    b = Builder(2)
    for rank in range(2):
        b.call(rank, "MPI_Init", at=(0, 50))
    b.send(0, 1, at=(350, 360))
    b.compute(0, 40)
    b.recv(1, 0, at=(300, 370))
    b.compute(1, 30)
    if last > 400:
        b.call(1, "MPI_Send", at=(last - 20, last))
    if finalize:
        b.call(0, "MPI_Finalize", at=(400, 400))
    return b.trace("run.alog")


def test_before_records_end__by_hand():
    """Behind 400 nothing counts: a rank that has longer records is no slower one, and what makes it faster gains nothing there."""
    whole = killed(9_000)
    assert rows(whole.timeline.locations) == [(0, 400), (0, 9_000)]
    part = before_records_end(whole)
    assert rows(part.timeline.locations) == [(0, 400), (0, 400)]
    assert rows(part.timeline.calls) == [(0, 50), (350, 360), (0, 50), (300, 370)]
    assert len(part.messages) == 1
    run = replayed(part, hand_model(), "none")
    assert (run.makespan, run.replay_error) == (400, 0)
    told = "records of rank 0 end at 400 ns without MPI_Finalize: nothing behind that counts, though others have records up to 9.000 us"
    state = run.health()
    assert (state.ends_early, state.incomplete) == (told, True)
    gains = [predict(trace, [Speed("rank:1=2")], hand_model(), clock="none", draws=0).gain for trace in (whole, part)]
    assert gains[0] > 4_000
    assert gains[1] == 0


def test_before_records_end__a_call_that_lasts_longer_is_cut_there():
    """Rank 1 waits until 900 for a message that is sent behind 500, where the records of rank 2 end."""
    b = Builder(3)
    for rank in range(3):
        b.call(rank, "MPI_Init", at=(0, 50))
    b.send(0, 1, at=(850, 860))
    b.recv(1, 0, at=(300, 900))
    b.compute(2, 450)
    part = before_records_end(b.trace("run.alog"))
    assert rows(part.timeline.calls) == [(0, 50), (0, 50), (300, 500), (0, 50)]
    assert (len(part.messages), part.counts.cut_messages, part.calls.peer.tolist()) == (0, 1, [NONE] * 4)


@pytest.mark.parametrize(("last", "finalize"), [(9_000, True), (400, False)])
def test_before_records_end__nothing_is_missing(last, finalize):
    """Who has called MPI_Finalize ends there; where all end together, nothing is behind."""
    trace = killed(last, finalize)
    if finalize:
        assert end_early(trace).tolist() == [False, True]
    assert before_records_end(trace) is trace


@pytest.mark.parametrize(("last", "expected"), [(9_000, True), (400, False)])
def test_ends_early__read_piece_by_piece(last, expected):
    assert ends_early(large(killed(last))) is expected


def beheaded():
    """Return a run of four ranks. Rank 1 has no records behind the third step, where others go on."""
    b = Builder(4)
    others = b.comm("others", (0, 2, 3))
    for rank in range(4):
        b.call(rank, "MPI_Init", at=(0, 50))
    for step in range(3):
        for rank in range(4):
            b.enter(rank, "step")
            b.compute(rank, 1000 + 100 * rank * step)
            b.send(rank, (rank + 1) % 4)
            b.recv((rank + 1) % 4, rank)
            b.leave(rank, "step")
        b.barrier()
    b.compute(1, 500)
    for rank in (0, 2, 3):
        b.enter(rank, "behind")
    b.compute(0, 9000)
    b.send(0, 2)
    b.recv(2, 0)
    b.barrier(comm=others)
    for rank in (0, 2, 3):
        b.leave(rank, "behind")
        b.enter(rank, "end")
        b.call(rank, "MPI_Finalize")
        b.leave(rank, "end")
    return b.trace("run.alog")


def test_before_records_end__of_parts():
    """What each of several processes has of a run that is cut is what it has if its part is cut; rank 1 alone tells the others."""
    run = beheaded()
    whole = before_records_end(run)
    assert (len(whole.messages), whole.counts.cut_messages, whole.counts.cut_collectives) == (12, 1, 1)
    assert (run.names, whole.names, len(run.calls) - len(whole.calls)) == (("step", "behind", "end"), ("step", "behind"), 6)
    for size in (2, 4):
        parts = threaded.parts(size, run, before_records_end)
        cut_first = threaded.parts(size, whole, lambda part: part)
        assert [part.share.bounds.tolist() for part in parts] == [part.share.bounds.tolist() for part in cut_first]
        assert [threaded.differing(*pair) for pair in zip(parts, cut_first, strict=True)] == [[]] * size
    assert threaded.parts(2, whole, lambda part: before_records_end(part) is part) == [True, True]
