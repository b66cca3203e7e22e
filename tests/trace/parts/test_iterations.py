"""The iterations of a program: worked by hand, in bad cases, and laws over programs that repeat."""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build import Builder, renamed
from perwiz.trace import operations
from perwiz.trace.parts import iterations
from perwiz.trace.parts.iterations import find, iteration_of
from perwiz.trace.tables import THREAD, Times
from perwiz.trace.trace import Timeline


def columns(found):
    """Return (calls, times) of each iteration: per location (first, end) and (begin, stop)."""
    calls, times = np.stack([found.first, found.end], 2), np.stack([found.begin, found.stop], 2)
    return [[*map(tuple, row)] for row in calls.tolist()], [[*map(tuple, row)] for row in times.tolist()]


def ring(b, times, ranks=(0, 1)):
    """Let two ranks send each other a message so often, each call 10 ns long, 100 ns of computation behind it."""
    for _ in range(times):
        for rank, other in (ranks, ranks[::-1]):
            b.send(rank, other, work=10)
            b.compute(rank, 40)
        for rank, other in (ranks, ranks[::-1]):
            b.recv(rank, other, work=10)
            b.compute(rank, 50)


def test_calls__by_hand():
    """Of each rank e0 is MPI_Bcast, then come three times MPI_Send and MPI_Recv, 110 ns from one to the next, then MPI_Barrier.

    The last ends with its last call: whether the 50 ns behind that are its own nobody knows.

           0  10     60     110    170  220  ...
        e0 | e1 send | e2 recv |  e3 send ...
    """
    b = Builder(2, latency=0, per_byte=0)
    b.bcast(0, at=[(0, 10)] * 2)
    ring(b, 3)
    b.barrier()
    found = find(b.trace())
    assert (found.kind, found.body, found.others, found.incomplete, found.why) == ("calls", ("MPI_Send", "MPI_Recv"), (), 0, "")
    assert found.processes.tolist() == [0, 1]
    assert found.counts.tolist() == [3, 3]
    assert columns(found) == (
        [[(1, 3), (9, 11)], [(3, 5), (11, 13)], [(5, 7), (13, 15)]],
        [[(10, 120), (10, 120)], [(120, 230), (120, 230)], [(230, 290), (230, 290)]],
    )


def test_regions__by_hand():
    """Three instances of step, each left before the next begins; what is computed between them belongs to the one before."""
    b = Builder(1)
    with b.region(0, "main"):
        for ns in (500, 300, 400):
            with b.region(0, "step"):
                b.compute(0, ns)
                b.call(0, "Comm_rank", work=7)
            b.compute(0, 10)
    found = find(b.trace())
    assert (found.kind, found.body) == ("regions", ("step",))
    assert columns(found) == ([[(0, 1)], [(1, 2)], [(2, 3)]], [[(0, 517)], [(517, 834)], [(834, 1241)]])


def test_regions__several_make_an_iteration():
    """The top of the call path that repeats: init and solve come once, what is in solve repeats, and what is in that repeats too."""
    b = Builder(1)
    b.enter(0, "solve")
    for _ in range(4):
        for name, times in (("exchange", 2), ("smooth", 3)):
            with b.region(0, name):
                for _ in range(times):
                    with b.region(0, "inner"):
                        b.compute(0, 100)
    found = find(b.trace())
    assert (len(found), found.kind, found.body) == (4, "regions", ("exchange", "smooth"))
    assert found.begin[:, 0].tolist() == [0, 500, 1000, 1500]


def test_convergence__loops_inside_run_as_often_as_they_need():
    b = Builder(2)
    for inner in (3, 1, 2, 5, 2):
        b.bcast(0)
        for _ in range(inner):
            ring(b, 1)
            b.everyone("Allreduce")
    found = find(b.trace())
    assert (len(found), found.body[:4]) == (5, ("MPI_Bcast", "MPI_Send", "MPI_Recv", "MPI_Allreduce"))
    assert (found.end - found.first)[:, 0].tolist() == [10, 4, 7, 16, 7]
    assert found.others == ()


def test_polls__do_not_count():
    """Tests are made until something has come: 1, 3 and 2 of them."""
    b = Builder(1)
    for polls in (1, 3, 2):
        b.barrier()
        b.compute(0, 1000)
        for _ in range(polls):
            b.call(0, "Test")
    found = find(b.trace())
    assert (len(found), found.body, (found.end - found.first)[:, 0].tolist()) == (3, ("MPI_Barrier",), [2, 4, 1])


def test_partners__tell_iterations_apart_where_routines_do_not():
    """Three exchanges with others of other sizes are one iteration, not three."""
    b = Builder(2)
    for _ in range(4):
        for size in (8, 800, 80):
            b.sendrecv(0, 1, 1, size)
            b.sendrecv(1, 0, 0, size)
    assert len(find(b.trace())) == 4


def steps(b, times, query, query_lasts=1):
    """Let rank 0 make so many steps of 100 ns, behind some of which (from 1) it makes a query."""
    for number in range(1, times + 1):
        with b.region(0, "step"):
            b.compute(0, 100)
        if number in query:
            with b.region(0, "query"):
                b.compute(0, query_lasts)


@pytest.mark.parametrize("query", [(10, 20, 30), (7, 29), (3, 6, 30), (15,)], ids=["regularly", "never twice", "irregularly", "once"])
def test_interrupted__is_one_loop(query):
    """What comes seldom belongs to the iteration before: that lasts 1 ns more. Behind the last it belongs to none.

    What comes less than three times is nothing that repeats: nobody looks at it.
    """
    b = Builder(1)
    steps(b, 30, query)
    found = find(b.trace())
    inside = [number for number in query if number < 30]
    seen = len(query) >= 3
    assert (len(found), found.body) == (30, ("step",))
    assert (found.interrupted, found.between) == ((len(inside), ("query",)) if seen else (0, ()))
    assert (found.stop - found.begin)[:, 0].tolist() == [101 if number in inside else 100 for number in range(1, 31)]
    assert found.others == ()


def test_interrupted__by_several_things():
    """A query behind every tenth of 120 steps, and an output behind every fortieth: eleven iterations have more in them."""
    b = Builder(1)
    for number in range(1, 121):
        with b.region(0, "step"):
            b.compute(0, 100)
        for name, every in (("query", 10), ("output", 40)):
            if number % every == 0 and number < 120:
                with b.region(0, name):
                    b.compute(0, 1)
    b.compute(0, 10)
    with b.region(0, "output"):
        b.compute(0, 1)
    found = find(b.trace())
    assert (len(found), found.interrupted, found.between) == (120, 11, ("query", "output"))


def test_interrupted__for_long_makes_a_loop_of_its_own():
    """What interrupts takes 400 ns of 3400: an iteration is ten steps and that."""
    b = Builder(1)
    steps(b, 30, (10, 20, 30), 200)
    assert (len(find(b.trace())), find(b.trace()).interrupted) == (3, 0)


def test_interrupted__often_is_a_loop_of_its_own():
    b = Builder(1)
    steps(b, 30, range(3, 31, 3))
    assert len(find(b.trace())) == 10


def test_interrupted__in_the_middle():
    """A barrier between message and answer of every tenth of 40 rounds."""
    b = Builder(2, latency=0, per_byte=0, work=10)
    for number in range(40):
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 500)
        if number % 10 == 9:
            b.barrier()
        b.send(1, 0)
        b.recv(0, 1)
        b.compute(0, 500)
    found = find(b.trace())
    assert (len(found), found.body, found.interrupted, found.between) == (40, ("MPI_Send", "MPI_Recv"), 4, ("MPI_Barrier",))
    assert np.diff([found.first[:, 0], found.end[:, 0]], axis=0)[0].tolist() == ([2] * 9 + [3]) * 4


def test_interrupted__by_messages_that_it_sends_itself_it_is_not():
    """A solver: 25 inner iterations of a message each way and an Allreduce, then a message each way and a barrier."""
    b = Builder(2, latency=0, per_byte=0)
    for _ in range(4):
        for inner in range(26):
            ring(b, 1)
            if inner < 25:
                b.everyone("Allreduce")
        b.barrier()
    found = find(b.trace())
    assert (len(found), found.interrupted, found.between) == (4, 0, ())


def by_chance(b, orders):
    """Let two ranks exchange messages in steps of 1000 ns that end with MPI_Allreduce: rank 0 receives (R) and sends (S) in this order."""
    for number, order in enumerate(orders, 1):
        for one in order:
            for rank in (1, 0) if one == "R" else (0, 1):
                (b.send if (rank == 0) == (one == "S") else b.recv)(rank, 1 - rank, work=1)
        b.everyone("Allreduce", at=[(1000 * number, 1000 * number + 10)] * 2)
    return b.trace()


def test_steps__of_all_where_each_does_as_it_likes():
    """A step begins where the barrier or the step before it has ended."""
    b = Builder(2, latency=0, per_byte=0)
    b.barrier(at=[(0, 10)] * 2)
    found = find(by_chance(b, ("RS", "SR", "RSR", "SRS", "R")))
    assert (found.kind, found.body, found.told) == ("steps", ("MPI_Allreduce",), 5)
    calls, times = columns(found)
    assert calls == [[(low, high), (low + 17, high + 17)] for low, high in ((1, 4), (4, 7), (7, 11), (11, 15), (15, 17))]
    assert times == [[(1000 * k + 10, 1000 * k + 1010)] * 2 for k in range(5)]


def test_steps__four_are_none():
    b = Builder(2, latency=0, per_byte=0)
    assert find(by_chance(b, ("RS", "SR", "RSR", "SRS"))).why == "nothing that lasts repeats 3 times or more"


def test_teams__belong_to_their_region():
    """The region of a team is entered behind its fork and left before its join: the iteration begins and ends with these."""
    b = Builder(1)
    for begin in range(0, 4000, 1000):
        b.call(0, "omp_fork", at=(begin, begin + 10))
        with b.region(0, "team", at=(begin + 20, begin + 500)):
            b.call(0, "omp_implicit_barrier", at=(begin + 400, begin + 490))
        b.call(0, "omp_join", at=(begin + 510, begin + 520))
    found = find(b.trace())
    assert columns(found) == ([[(0, 3)], [(3, 6)], [(6, 9)], [(9, 12)]], [[(0, 1000)], [(1000, 2000)], [(2000, 3000)], [(3000, 3520)]])


def test_tags_that_count__are_not_looked_at():
    b = Builder(2)
    for tag in range(5):
        b.send(0, 1, 8, tag=tag)
        b.recv(1, 0, tag=tag)
        b.everyone("Allreduce")
    assert len(find(b.trace())) == 5


def test_two_loops__the_longest_lasting_is_taken():
    b = Builder(2)
    for _ in range(6):
        b.everyone("Allreduce", at=None)
        b.compute(0, 100)
    b.bcast(0)
    for _ in range(4):
        b.barrier()
        b.compute(1, 90_000)
    found = find(b.trace())
    assert (len(found), found.body) == (4, ("MPI_Barrier",))
    assert [(other.body, other.iterations) for other in found.others] == []
    b.bcast(0)
    for _ in range(5):
        b.scan()
        b.compute(0, 30_000)
    found = find(b.trace())
    assert (len(found), [(other.body, other.iterations) for other in found.others]) == (4, [(("MPI_Scan",), 5)])


def test_none__nothing_repeats():
    b = Builder(2)
    b.bcast(0)
    b.barrier()
    b.compute(0, 10_000)
    found = find(b.trace())
    assert (len(found), found.kind, found.why) == (0, None, "nothing that lasts repeats 3 times or more")


def test_none__without_calls():
    assert find(Builder(2).trace()).why == "nothing that lasts repeats 3 times or more"


def test_none__only_some_repeat():
    b = Builder(3)
    b.barrier()
    ring(b, 9)
    assert find(b.trace()).why == "1 process of 3 repeat nothing"


def test_master__serves_each_worker_in_turn():
    """It receives six times from each of two workers. If its receives name them, an iteration serves both; else each is one of its own."""
    b = Builder(3)
    for _ in range(6):
        for worker in (1, 2):
            b.compute(worker, 500)
            b.send(worker, 0, 8)
            b.recv(0, worker)
            b.compute(0, 100)
    trace = b.trace()
    assert find(trace).counts.tolist() == [6, 6, 6]
    calls = dataclasses.replace(trace.calls, peer=np.where(trace.calls.op == operations.OP["MPI_Recv"], -2, trace.calls.peer).astype("i4"))
    assert find(dataclasses.replace(trace, calls=calls)).why == "processes repeat what they do unequally often, from 6 to 12 times"


def test_none__not_together():
    """Rank 0 receives in its first iterations what rank 1 sent in its last: they repeat as often, but not the same."""
    b = Builder(2, eager=10**9)
    for tag in range(8):
        b.send(1, 0, 8, tag=tag)
        b.compute(1, 100)
    for tag in reversed(range(8)):
        b.recv(0, 1, tag=tag)
        b.compute(0, 100)
    assert find(b.trace()).why == "processes repeat what they do, but not together: 75% of messages and collectives join different ones"


def test_one_more_on_some__those_that_all_have():
    """Rank 1 sends one message more, which nobody receives."""
    b = Builder(2)
    ring(b, 5)
    b.compute(1, 10_000)
    b.send(1, 0, work=10)
    b.recv(1, None, work=10)
    found = find(b.trace())
    assert (len(found), found.counts.tolist()) == (5, [5, 5])
    assert found.begin[0].tolist() == [0, 0]


def test_cut__in_the_middle_of_an_iteration():
    """Of calls, the last word is not whole; of regions, the last instance has fewer calls and ends with the process."""
    b = Builder(2)
    ring(b, 4)
    b.send(0, 1, work=10)
    found = find(b.trace())
    assert (len(found), found.counts.tolist(), found.incomplete) == (4, [4, 4], 1)
    b = Builder(1)
    for calls in (2, 2, 2, 2, 1):
        with b.region(0, "step"):
            for _ in range(calls):
                b.compute(0, 100)
                b.call(0, "Comm_rank")
    found = find(b.trace())
    assert (len(found), found.counts.tolist(), found.incomplete) == (4, [4], 1)


def test_threads_and_silent_processes__follow():
    """The thread of rank 0 has the calls that it enters in each iteration of its process; rank 2 does nothing."""
    b = Builder(3)
    thread = b.thread(0, THREAD)
    ring(b, 3)
    for enter in (0, 150, 160, 300):
        b.call(thread, "omp_idle", at=(enter, enter + 5))
    trace = b.trace()
    found = find(trace)
    assert found.processes.tolist() == [0, 1]
    first = trace.first_calls[3]
    spans = [*zip(found.begin[:, 0].tolist(), found.stop[:, 0].tolist(), strict=True)]
    expected = [[k for k, enter in enumerate((0, 150, 160, 300)) if low <= enter < high] for low, high in spans]
    assert [[*range(low - first, high - first)] for low, high in zip(found.first[:, 3], found.end[:, 3], strict=True)] == expected
    assert found.begin[:, 2].tolist() == found.begin[:, :2].min(axis=1).tolist()


def test_iteration_of__each_call():
    b = Builder(1)
    b.bcast(0)
    for _ in range(3):
        b.barrier()
        b.compute(0, 1000)
        b.scan()
    b.bcast(0)
    trace = b.trace()
    assert iteration_of(find(trace), trace).tolist() == [-1, 0, 0, 1, 1, 2, 2, -1]


@pytest.mark.parametrize(("steps", "told"), [(1, 0), (2, 2)])
@pytest.mark.parametrize(("step", "routine"), [("step", "dist_all_reduce"), ("ProfilerStep", "device_launch")])
def test_training_job__layers_are_no_iterations(step, routine, steps, told):
    """Of eight layers a step: the steps are told, and of one nothing is that repeats. A job of one rank has no collectives."""
    b = Builder(1)
    for _ in range(steps):
        with b.region(0, step):
            for _ in range(8):
                with b.region(0, "layer"):
                    b.compute(0, 1000)
                    b.call(0, routine)
    found = find(b.trace())
    assert (len(found), found.why) == (told, "" if told else "one step is recorded, several would tell how much they vary")


@st.composite
def repeating(draw):
    """Draw (trace, iterations, processes): a body that begins with MPI_Bcast, so often, between MPI_Scan and MPI_Scatter; or marked."""
    marked = draw(st.booleans())
    processes, times = draw(st.integers(1, 4)), draw(st.integers(3, 7))
    rank = st.integers(0, processes - 1)
    kinds = st.sampled_from(["send", "compute", "reduce", "region"])
    body = draw(st.lists(st.tuples(kinds, rank, rank, st.integers(1, 500)), max_size=6))
    b = Builder(processes)
    b.scan()
    for _ in range(times):
        for rank in range(processes) if marked else ():
            b.enter(rank, "step")
        b.bcast(0)
        for rank in range(processes):
            b.compute(rank, 2000)
        for kind, one, other, ns in body:
            if kind == "send" and one != other:
                b.send(one, other, ns)
                b.recv(other, one)
            elif kind == "compute":
                b.compute(one, ns)
            elif kind == "reduce":
                b.everyone("Allreduce")
            elif kind == "region" and marked:
                with b.region(one, "part"):
                    b.compute(one, ns)
                    b.call(one, "Comm_rank")
        for rank in range(processes) if marked else ():
            b.leave(rank, "step")
    b.everyone("Scatter", root=0)
    return b.trace(), times, processes


@pytest.mark.slow
@given(repeating())
def test_law__equal_iterations_are_found_as_often_as_they_are(program):
    trace, times, _ = program
    found = find(trace)
    assert len(found) == times
    per_rank = np.diff(trace.first_calls)
    assert ((found.end - found.first) * times == per_rank - 2).all()
    assert (found.first[0] == trace.first_calls[:-1] + 1).all()


@pytest.mark.slow
@given(repeating())
def test_law__kinds_that_come_later_are_looked_at_only_where_they_may_count(program):
    trace, *_ = program
    found = find(trace)
    with mock.patch.object(iterations, "comes_first", return_value=False):
        all_ = find(trace)
    for field in dataclasses.fields(found):
        assert np.array_equal(getattr(found, field.name), getattr(all_, field.name)), field.name


def testcomes_first__nothing_before_it_that_a_longer_one_behind_would_bring_back():
    """Of a run of 100 ns: 85 count before all; not behind 70, which count before 85 but not before 90; nor 75 alone."""
    first = iterations.comes_first
    assert (first([85], 100), first([70, 85], 100), first([60, 85], 100), first([80, 85], 100)) == (True, False, True, True)
    assert (first([75], 100), first([0], 0)) == (False, False)


@pytest.mark.slow
@given(repeating(), st.randoms(use_true_random=False))
def test_law__what_ranks_are_called_does_not_matter(program, chance):
    trace, _, processes = program
    new = [*range(processes)]
    chance.shuffle(new)
    one, other = find(trace), find(renamed(trace, new)[0])
    assert (one.kind, sorted(one.body)) == (other.kind, sorted(other.body)) or one.kind == "calls"
    assert (one.begin == other.begin[:, new]).all()
    assert (one.stop == other.stop[:, new]).all()


@pytest.mark.slow
@given(repeating(), st.integers(1, 10**9))
def test_law__when_it_was_recorded_does_not_matter(program, later):
    trace, _, _ = program
    times = trace.timeline
    moved = Timeline(*(Times(each.enter + later, each.leave + later) for each in (times.calls, times.regions, times.locations)))
    one, other = find(trace), find(dataclasses.replace(trace, timeline=moved))
    assert (one.first == other.first).all()
    assert (one.begin + later == other.begin).all()
