"""Calls of the first thread beside its team. Every number by hand; a message takes o + L = 12 ns to its receiver, who returns 2 later."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.loggps import model_file
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.overlap import together
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.hypotheses.teams import members
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def team(b, master, workers, work, idle):
    """A team whose threads compute `work` in turn; no call takes time. Returns the waits for the next team."""
    fork = b.call(master, "omp_fork", work=0)
    for worker in workers:
        b.link("fork", fork, idle.get(worker) or b.call(worker, "omp_idle", work=0))
    for thread, ns in zip((master, *workers), work, strict=True):
        b.compute(thread, ns)
    for call in b.team("omp_implicit_barrier", (master, *workers)).values():
        call.work = 0
    join, idle = b.call(master, "omp_join", work=0), {worker: b.call(worker, "omp_idle", work=0) for worker in workers}
    for ended in idle.values():
        b.link("join", ended, join)
    return idle


def asked_and_told(*work, answer=1000, behind=0, steps=1, workers=1):
    """Rank 0 asks rank 1, which answers after some time: 100 until asked, then 20 and what is `behind`, then its team."""
    b = Builder(2, latency=0, per_byte=0, work=0)
    threads = [b.thread(0) for _ in range(workers)]
    idle = {}
    for _ in range(steps):
        b.compute(0, 100)
        with b.region(0, "ask"):
            b.send(0, 1)
            b.compute(0, 20)
            b.recv(0, 1)
        b.compute(0, behind)
        with b.region(0, "loop"):
            idle = team(b, 0, threads, work, idle)
        b.recv(1, 0)
        b.compute(1, answer)
        b.send(1, 0)
    return b.trace()


FREE = hand_model(L=0, o=0, S=10**6)


def makespan(trace, *texts, engine="sweep"):
    return predict(trace, texts, FREE, engine, clock="none").predicted.makespan


@pytest.mark.parametrize("engine", ["sweep", "replay"])
@pytest.mark.parametrize(
    ("work", "more", "expected"),
    [
        # Beside the 1000 of the calls 3000 are left of 4000 + 1000: both end at 100 + 2500.
        ((2000, 2000), {}, (3100, 2600)),
        # Of two that do not compute the same that begins earlier that ends last: the first one has nothing too much.
        ((1000, 3000), {}, (4100, 3100)),
        # 3000 and 1000 beside 2000: both do 3000 - 1500.
        ((3000, 1000), {}, (4100, 100 + 1000 + 1500)),
        # Three threads: (3000 + 1000) / 3, the first rounded up.
        ((1000, 1000, 1000), {"workers": 2}, (2100, 100 + 1334)),
        # Nothing is left for the first thread, which comes at 1100.
        ((300, 300), {}, (1400, 1100)),
        # What is computed between the calls and the fork is done beside the team: it comes after 1200.
        ((2000, 2000), {"behind": 200}, (3300, 2700)),
        # Every step, each of which is 500 shorter.
        ((2000, 2000), {"steps": 3}, (9300, 7800)),
    ],
)
def test_beside_the_team(work, more, expected, engine):
    trace = asked_and_told(*work, **more)
    assert (trace.timeline.makespan, makespan(trace, "overlap region:ask", engine=engine)) == expected
    assert makespan(trace, "overlap all", engine=engine) == expected[1]


def test_only_from_the_first_of_these_calls_on():
    """The message is sent before the team begins; the other 980 run beside: (4000 + 980) / 2 from 120 on."""
    trace = asked_and_told(2000, 2000)
    assert makespan(trace, "overlap op:MPI_Recv") == 120 + 2490


def test_only_up_to_the_next_barrier():
    """The second part of the team stays as it is."""
    b = Builder(2, latency=0, per_byte=0, work=0)
    other = b.thread(0)
    b.recv(0, 1)
    b.link("fork", b.call(0, "omp_fork"), b.call(other, "omp_idle"))
    for one, two in ((500, 500), (700, 100)):
        b.compute(0, one)
        b.compute(other, two)
        b.team("omp_barrier", (0, other))
    join, ended = b.call(0, "omp_join"), b.call(other, "omp_idle")
    b.link("join", ended, join)
    b.compute(1, 400)
    b.send(1, 0)
    trace = b.trace()
    assert trace.timeline.makespan == 1600
    assert makespan(trace, "overlap all") == 700 + 700


def test_a_partner_that_comes_later_is_waited_for():
    """The share is that of the recording; what the calls wait for is not: rank 1, twice as slow, answers at 2100; 1500 are left to do."""
    trace = asked_and_told(2000, 2000)
    assert makespan(trace, "speed rank:1=0.5", "overlap all") == 2100 + 1500


def test_what_others_wait_for():
    """Rank 1 hears of rank 0 behind the team: all of it is gained there too."""
    b = Builder(2, latency=0, per_byte=0, work=0)
    other = b.thread(0)
    b.recv(0, 1)
    team(b, 0, [other], (1000, 1000), {})
    b.send(0, 1)
    b.compute(1, 600)
    b.send(1, 0)
    b.recv(1, 0)
    b.compute(1, 50)
    trace = b.trace()
    assert trace.timeline.makespan == 1650
    assert makespan(trace, "overlap all") == 1350


def test_with_others():
    """Balanced before: (4000 + 1000) / 2; the first thread half as long: the other one ends 3000 behind 100, whichever is named first."""
    trace = asked_and_told(1000, 3000)
    assert makespan(trace, "balance-threads all", "overlap all") == 2600
    assert makespan(trace, "scale loop=0.5", "overlap all") == 100 + 3000
    assert makespan(trace, "overlap all", "scale loop=0.5") == 100 + 3000


def test_a_call_behind_which_another_team_ends_first():
    """A team of one thread has no links; what is before it cannot run beside the next."""
    b = Builder(2, latency=0, per_byte=0, work=0)
    other = b.thread(0)
    b.recv(0, 1)
    b.call(0, "omp_fork")
    b.compute(0, 100)
    b.call(0, "omp_join")
    team(b, 0, [other], (500, 500), {})
    b.compute(1, 400)
    b.send(1, 0)
    with pytest.raises(
        UsageError, match=r"^overlap all: no team of threads is opened behind these calls, before the process ends or joins"
    ):
        makespan(b.trace(), "overlap all")


def of_a_worker():
    b = Builder(2, latency=0, per_byte=0, work=0)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork"), b.call(other, "omp_idle"))
    b.recv(other, 1)
    b.team("omp_implicit_barrier", (0, other))
    join, ended = b.call(0, "omp_join"), b.call(other, "omp_idle")
    b.link("join", ended, join)
    b.recv(0, 1)
    b.send(1, 0)
    b.send(1, 0)
    return b.trace()


@pytest.mark.parametrize(
    ("trace", "text", "message"),
    [
        (
            of_a_worker,
            "overlap rank:0.1",
            "overlap rank:0.1: must be calls that the first thread of a process makes outside of its teams, these are made inside",
        ),
        (
            of_a_worker,
            "overlap rank:0",
            "overlap rank:0: no team of threads is opened behind these calls, before the process ends or joins another",
        ),
        (of_a_worker, "overlap op:omp_fork", "overlap op:omp_fork: must be MPI calls behind MPI_Init, these are none"),
        (build.late_sender, "overlap all", "built shows no team of threads"),
    ],
)
def test_refusals(trace, text, message):
    with pytest.raises(UsageError) as error:
        makespan(trace(), text)
    assert str(error.value) == message


def test_together():
    total, late = np.array([60, 60, 90, 90, 10, 90, 7, 7, 7]), np.array([20, 0, 300, 0, 50, 0, 0, 0, 10])
    first = np.array([1, 0, 1, 0, 1, 0, 0, 0, 1], bool)
    assert together(total, late, first, np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])).tolist() == [50, 70, 0, 180, 10, 90, 10, 10, 1]
    # 3 + 9 - 5 too much, of which three quarters, 5, go to the three others.
    assert together(np.array([9, 5, 5, 5]), np.array([3, 0, 0, 0]), np.arange(4) == 0, np.zeros(4, "i8")).tolist() == [4, 7, 7, 6]
    assert together(total[:0], late[:0], first[:0], np.array([], "i8")).tolist() == []
    assert together(total[:1], late[:1], first[:1], np.array([0])).tolist() == [60]


@given(st.lists(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 90)), min_size=2, max_size=5), max_size=4))
def test_together__work_is_kept_and_none_ends_later(teams):
    """Who has given something away, but not all, ends with the last of the others, give or take the ns that remain."""
    total = np.array([ns for of in teams for ns, _ in of], "i8")
    late = np.array([0 if k else ns for of in teams for k, (_, ns) in enumerate(of)], "i8")
    first = np.array([k == 0 for of in teams for k, _ in enumerate(of)], bool)
    part = np.array([k for k, of in enumerate(teams) for _ in of], "i8")
    out = together(total, late, first, part)
    assert (out >= 0).all()
    for k in range(len(teams)):
        own = part == k
        assert out[own].sum() == total[own].sum()
        end = (late + out)[own]
        assert end.max() <= (late + total)[own].max()
        if 0 < out[own][0] < total[own][0]:
            assert abs(end[0] - end[1:].max()) <= 2


@pytest.mark.slow
@settings(max_examples=20)
@given(build.traces(threads=True))
def test_laws(trace):
    """Engines agree; work is conserved; the run that was recorded stays as it is."""
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    before = weighted.weight.copy(), weighted.graph.source.copy()
    if not len(members(trace).fork):
        return
    try:
        after = parse("overlap all").apply(weighted)
    except UsageError:
        return
    assert (weighted.weight.tolist(), weighted.graph.source.tolist()) == (before[0].tolist(), before[1].tolist())
    assert sweep(after.graph, after.weight).tolist() == replay(after.graph, after.weight).tolist()
    assert Segments(after).length.sum() == Segments(weighted).length.sum()
    assert (after.graph.source < after.graph.target).all()
