"""Teams of threads: balanced, of another size, scheduled dynamically; what runs in one thread alone. Every number by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder
from perwiz.errors import UsageError
from perwiz.loggps import model_file
from perwiz.whatif.hypotheses import threads
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.hypotheses.teams import members, phases, spread
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def team(b, master, workers, work, routine="omp_implicit_barrier", idle=None):
    """A team that computes `work` per thread, list of pieces each; no call takes time. Returns the waits for the next team."""
    fork = b.call(master, "omp_fork", work=0)
    for worker in workers:
        b.link("fork", fork, (idle or {}).get(worker) or b.call(worker, "omp_idle", work=0))
    for thread, pieces in zip((master, *workers), work, strict=True):
        for number, ns in enumerate(pieces):
            if len(pieces) > 1:
                with b.region(thread, f"piece {number}"):
                    b.compute(thread, ns)
            else:
                b.compute(thread, ns)
    for call in b.team(routine, (master, *workers)).values():
        call.work = 0
    join = b.call(master, "omp_join", work=0)
    idle = {worker: b.call(worker, "omp_idle", work=0) for worker in workers}
    for ended in idle.values():
        b.link("join", ended, join)
    return idle


def one_team(*work, before=1000, behind=500):
    """A process computes 1000, its team one part, it 500."""
    b = Builder(1)
    workers = [b.thread(0) for _ in work[1:]]
    with b.region(0, "main"):
        b.compute(0, before)
        with b.region(0, "loop"):
            team(b, 0, workers, [[ns] if isinstance(ns, int) else ns for ns in work])
        b.compute(0, behind)
    return b.trace()


def makespan(trace, *texts):
    return predict(trace, texts, "default", clock="none").predicted.makespan


def test_recorded():
    assert one_team(4000, 2000, 0).timeline.makespan == 1000 + 4000 + 500


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Mean of 4000, 2000 and 0.
        ("balance-threads loop", 2000),
        ("balance-threads loop#1", 2000),
        ("balance-threads main", 2000),
        ("balance-threads all", 2000),
        ("threads loop=1", 6000),
        # 4000 and half of the 2000; the rest.
        ("threads all=2", 5000),
        ("threads loop=3", 4000),
        # Two threads each for 4000, 2000 and 0.
        ("threads loop=6", 2000),
        # The first of four does three quarters of 4000.
        ("threads loop=4", 3000),
        # In pieces of 1000, 500 and nothing: 1000 a, 1000 b, 1000 c, 1000 a, then 500 b, c, b and c: 2000 each.
        ("schedule loop=dynamic,4", 2000),
        # One piece each: as recorded.
        ("schedule loop=dynamic,1", 4000),
    ],
)
def test_team(text, expected):
    assert makespan(one_team(4000, 2000, 0), text) == 1000 + expected + 500


@pytest.mark.parametrize("text", ["parallel all", "parallel main", "parallel main#1"])
def test_parallel(text):
    """Three threads: 1000 and 500 before and behind the team become 333 and 167."""
    assert makespan(one_team(4000, 2000, 0), text) == 4000 + 500


def test_parallel__nothing_alone():
    assert makespan(one_team(4000, 2000, before=0, behind=0), "parallel all") == 4000


def test_schedule__pieces_as_recorded():
    """Pieces 100 700 | 300 100 | 200: a takes 100, b 700, c 300, then a at 100 the 100, a at 200 the 200: b is the last, at 700."""
    trace = one_team([100, 700], [300, 100], [200])
    assert trace.timeline.makespan == 1000 + 800 + 500
    assert makespan(trace, "schedule loop=dynamic") == 1000 + 700 + 500


def test_schedule__span():
    """Of pieces of 1000, 500 and nothing, four each, the last of 1000 may be taken when the other 5000 are done by all three: 2667."""
    span = predict(one_team(4000, 2000, 0), ["schedule loop=dynamic,4"], "default", clock="none").span
    assert (span.least, span.most) == (1000 + 2000 + 500, 1000 + 2667 + 500)


def test_region_of_the_construct():
    """Its threads enter it behind the fork; of two teams it is the second one that begins with it."""
    b = Builder(1)
    other, idle = b.thread(0), None
    for name, one, two in (("first", 300, 100), ("second", 1000, 400)):
        fork = b.call(0, "omp_fork", work=0)
        b.link("fork", fork, idle or b.call(other, "omp_idle", work=0))
        for thread, ns in ((0, one), (other, two)):
            with b.region(thread, name):
                b.compute(thread, ns)
        for call in b.team("omp_implicit_barrier", (0, other)).values():
            call.work = 0
        join, idle = b.call(0, "omp_join", work=0), b.call(other, "omp_idle", work=0)
        b.link("join", idle, join)
    trace = b.trace()
    assert makespan(trace, "threads second=1") == 300 + 1400
    assert makespan(trace, "balance-threads first#1") == 200 + 1000


def test_several_barriers():
    """Each stretch up to a barrier by itself: means 200 and 300, not those of the sums."""
    b = Builder(1)
    other = b.thread(0)
    b.link("fork", b.call(0, "omp_fork", work=0), b.call(other, "omp_idle", work=0))
    for one, two in ((400, 0), (100, 500)):
        b.compute(0, one)
        b.compute(other, two)
        for call in b.team("omp_barrier", (0, other)).values():
            call.work = 0
    join, ended = b.call(0, "omp_join", work=0), b.call(other, "omp_idle", work=0)
    b.link("join", ended, join)
    trace = b.trace()
    assert trace.timeline.makespan == 900
    assert makespan(trace, "balance-threads all") == 500
    assert makespan(trace, "threads all=1") == 1000


def test_team_in_a_team():
    """The inner team of the second thread is one by itself; its master's own 600 outside of that stay in the outer one."""
    b = Builder(1)
    second, third = b.thread(0), b.thread(0)
    b.link("fork", b.call(0, "omp_fork", work=0), b.call(second, "omp_idle", work=0))
    b.compute(0, 1000)
    b.compute(second, 600)
    team(b, second, [third], [[800], [400]])
    b.team("omp_implicit_barrier", (0, second))
    join, ended = b.call(0, "omp_join", work=0), b.call(second, "omp_idle", work=0)
    b.link("join", ended, join)
    trace = b.trace()
    of = members(trace)
    assert (of.team.tolist(), of.location.tolist(), of.size.tolist()) == ([0, 0, 1, 1], [0, 1, 1, 2], [2, 2])
    chosen = phases(segments(trace), "all")
    length = segments(trace).length[chosen.segment]
    sums = np.bincount(chosen.group, length).astype(int).tolist()
    assert (sums, chosen.part.tolist()) == ([1000, 600, 800, 400], [0, 0, 1, 1])


def segments(trace):
    return Segments(replayed(trace, model_file.load("default"), "none").weighted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threads loop", "threads loop: must be like threads REGION=8"),
        ("threads loop=0", "threads loop=0: must be like threads REGION=8 with 1 to 4096 threads"),
        ("threads loop=5000", "threads loop=5000: must be like threads REGION=8 with 1 to 4096 threads"),
        (
            "schedule loop=static",
            "schedule loop=static: must be like schedule REGION=dynamic,100 with 1 to 10000 pieces of each thread's work",
        ),
        (
            "schedule loop=dynamic",
            "schedule loop=dynamic: no region or call tells pieces of work apart, must say how many each thread has, as in"
            " REGION=dynamic,100",
        ),
        ("parallel loop", "parallel loop: no process that has teams of threads computes there outside of them"),
        ("balance-threads behind", "'behind': no team of threads is opened there"),
        ("balance-threads nowhere", "region 'nowhere': no such region, the trace has main, loop, behind"),
    ],
)
def test_refusals(text, message):
    b = Builder(1)
    other = b.thread(0)
    with b.region(0, "main"):
        with b.region(0, "loop"):
            team(b, 0, [other], [[10], [20]])
        with b.region(0, "behind"):
            b.compute(0, 5)
    with pytest.raises(UsageError) as error:
        makespan(b.trace(), text)
    assert str(error.value) == message


def test_refusal__too_many_pieces(monkeypatch):
    """Two threads of a team in a hundred pieces each: 200."""
    monkeypatch.setattr(threads, "_MOST_IN_ALL", 199)
    with pytest.raises(UsageError, match=r"^schedule all=dynamic,100: 200 pieces in all teams, must be at most 199$"):
        makespan(one_team([100], [300]), "schedule all=dynamic,100")


def test_refusal__no_threads():
    with pytest.raises(UsageError, match=r"^built shows no team of threads$"):
        makespan(build.late_sender(), "balance-threads all")


def test_spread():
    total, part = np.array([40, 20, 0, 7]), np.array([0, 0, 0, 1])
    assert spread(total, part, 2).tolist() == [50, 10, 0, 4]
    assert spread(total, part, 6).tolist() == [20, 10, 0, 2]
    assert spread(total, part, 1).tolist() == [60, 0, 0, 7]
    assert spread(total, part, 3)[:3].tolist() == [40, 20, 0]


@pytest.mark.slow
@settings(max_examples=20)
@given(build.traces(threads=True), st.integers(1, 5))
def test_laws(trace, count):
    """Work is conserved; as many threads change nothing; dynamic is at most a piece beyond the mean; balance is the mean."""
    weighted = replayed(trace, model_file.load("default"), "none").weighted
    before = Segments(weighted)
    if not len(members(trace).fork):
        return
    chosen = phases(before, "all")

    def sums(text):
        after = Segments(parse(text).apply(weighted)).length
        outside = np.ones(len(after), bool)
        outside[chosen.segment] = False
        assert (after[outside] == before.length[outside]).all()
        return np.bincount(chosen.group, after[chosen.segment])

    old, part, size = sums("scale kernel=1") if "kernel" in trace.names else sums("speed rank:0=1"), chosen.part, np.bincount(chosen.part)
    mean = np.bincount(part, old) / size
    assert (np.abs(sums("balance-threads all") - mean[part]) < 1).all()
    one = sums("threads all=1")
    assert (np.bincount(part, one) == np.bincount(part, old)).all()
    assert np.maximum.reduceat(one, np.cumsum(size) - size).tolist() == np.bincount(part, old).tolist()
    assert (sums("threads all=9") <= np.maximum.reduceat(old, np.cumsum(size) - size)[part]).all()
    dynamic, longest = sums(f"schedule all=dynamic,{count}"), np.maximum.reduceat(old, np.cumsum(size) - size) / count + 1
    assert (np.bincount(part, dynamic) == np.bincount(part, old)).all()
    assert (dynamic <= (mean + longest)[part]).all()


def starting():
    """A process starts its device for 900 in `init` and computes 100 there behind the first call; a team of two in `solve`, last call."""
    b = Builder(1)
    other, stream = b.thread(0), b.stream(0)
    with b.region(0, "main"):
        b.compute(0, 30)
        with b.region(0, "init"):
            b.compute(0, 900)
            first = b.call(0, "device_launch", work=0)
            b.compute(0, 100)
        with b.region(0, "!$omp target data"):
            b.compute(0, 200)
            with b.region(0, "solve"):
                team(b, 0, [other], [[60], [20]])
                second = b.call(0, "device_launch", work=0)
    for launch in (first, second):
        b.link("launch", launch, b.call(stream, "device_idle", work=0))
        with b.region(stream, "!$omp target kernel"):
            b.compute(stream, 10)
    return b.trace()


def test_what_is_for_devices():
    """The start, and data moved in a construct of OpenMP, but not what lies in another region inside of it; nor what a stream does."""
    of = segments(starting())
    chosen = for_devices(of)
    assert of.length[chosen & (of.length > 0)].tolist() == [900, 200]
    assert (of.location[chosen] == 0).all()


def test_what_is_for_devices_is_not_shared():
    """Of 30, 900 | 100, 200: half of 130 is saved, and of 60 and 20 in the team 20; of two processes' 0 and 900 + 100, half of the 100."""
    trace = starting()
    whole = trace.timeline.makespan
    assert whole == 30 + 900 + 100 + 200 + 60 + 10
    assert [whole - makespan(trace, text) for text in ("parallel all", "parallel init", "balance-threads all")] == [65, 50, 20]
    b = Builder(2)
    streams = b.stream(0), b.stream(1)
    for process in range(2):
        with b.region(process, "init"):
            b.compute(process, 900 * process)
            first = b.call(process, "device_launch", work=0)
        b.compute(process, 100 * process)
        for launch in (first, b.call(process, "device_launch", work=0)):
            b.link("launch", launch, b.call(streams[process], "device_idle", work=0))
    b.barrier()
    trace = b.trace()
    assert trace.timeline.makespan - makespan(trace, "balance-time all") == 50
    assert trace.timeline.makespan - makespan(trace, "balance-time between-collectives") == 50


def test_what_is_for_devices__a_region_that_comes_again_starts_none():
    b = Builder(1)
    stream = b.stream(0)
    for _ in range(2):
        with b.region(0, "step"):
            b.compute(0, 100)
            launch = b.call(0, "device_launch", work=0)
        b.link("launch", launch, b.call(stream, "device_idle", work=0))
    assert not for_devices(segments(b.trace())).any()
    assert not for_devices(segments(build.empty())).any()


def test_threads_taken_away_wait_no_longer():
    """Teams of three and of two; with two threads the third is gone, with all its calls, and with four nobody is."""
    trace = build.small_team()
    location = trace.calls.location
    two, four = (parse(f"threads all={number}") for number in (2, 4))
    gone = threads.taken_away(trace, two)
    assert np.array_equal(gone, location == 2)
    assert not threads.taken_away(trace, four).any()
    assert (threads.added(trace, two), threads.added(trace, four), threads.added(trace, parse("threads all=1"))) == (False, True, False)
    assert set(np.flatnonzero(threads.taken_away(trace, parse("threads all=1")))) == set(np.flatnonzero(location > 0))


def test_threads_taken_away_wait_no_longer__in_the_prediction():
    """4000 by one thread alone: the second waited 3000 for it, and as long for its team; alone, nobody is left who waits."""
    trace = one_team(4000, 1000)
    predicted = predict(trace, "threads all=1", "default", clock="none")
    assert predicted.predicted.makespan == 1000 + 5000 + 500
    assert predicted.waits_before.time.sum() > 0
    assert predicted.waits_after.time[trace.calls.location == 1].sum() == 0
