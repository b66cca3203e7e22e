"""The controlled logical clock: by hand (Becker et al. 2009, Figs. 1 and 2; PATTERNS 8.10), and its laws on wrong clocks."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
from build import Builder
from perwiz.clock import passes
from perwiz.clock.condition import Violations, violations
from perwiz.clock.figures import figures
from perwiz.clock.latency import Latencies, safe
from perwiz.clock.logical import correct
from perwiz.clock.pairs import Pairs, links, messages
from perwiz.clock.pairs import logical as logical_messages
from perwiz.errors import UsageError
from perwiz.graph.build import build as build_graph
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline


def shifted(trace, off, drift=()):
    """Return the timeline as clocks show it that are off by `off` ns (one per location) and fast by `drift` parts per million."""
    off = np.array(off, "i8")
    rate = np.array(list(drift) or [0] * len(off), "i8")

    def moved(times, location):
        return Times(*(t + off[location] + t * rate[location] // 1_000_000 for t in (times.enter, times.leave)))

    line = trace.timeline
    return Timeline(
        moved(line.calls, trace.calls.location),
        moved(line.regions, trace.regions.location),
        moved(line.locations, np.arange(len(off))),
    )


def columns(timeline):
    """Return the six columns of a timeline."""
    return [getattr(part, side) for part in (timeline.calls, timeline.regions, timeline.locations) for side in ("enter", "leave")]


def same(one, other):
    """Return whether two timelines have the same times."""
    return all(np.array_equal(a, b) for a, b in zip(columns(one), columns(other), strict=True))


def worked():
    """PATTERNS 8.10 in steps of 100 ns: the sender sends at 10; the receiver has events at 0, 8, 9 (the receive), 12 and 30; mu is 1."""
    b = Builder(2)
    b.begin, b.end = {0: 0, 1: 0}, {0: 2000, 1: 3000}
    b.send(0, 1, at=(1000, 1000))
    b.recv(1, 0, at=(800, 900))
    with b.region(1, "after", at=(900, 1050)):
        pass
    b.call(1, "Wtime", at=(1200, 1200))
    return b.trace()


@pytest.mark.parametrize(
    ("gamma", "behind", "last"),
    [
        # max(11 + 3, 12) = 14, max(14 + 18, 30) = 32
        (1, 1400, 3200),
        # max(11 + 1.5, 12) = 12.5, max(12.5 + 9, 30) = 30
        (0.5, 1250, 3000),
    ],
)
def test_forward__worked_by_hand(gamma, behind, last):
    found = correct(worked(), mu=100, gamma=gamma)
    assert found.timeline.calls.leave.tolist() == [1000, 1100, behind]
    assert found.timeline.locations.leave.tolist() == [2000, last]
    assert (found.by_message, found.by_collective, found.passes) == (1, 0, 1)
    assert found.before is found.trace.timeline


def test_backward__worked_by_hand():
    """The jump of 2 at 9 is worked off over 200, but the location begins 9 before it: the event at 8 moves by 8 * 2/9 = 1.77."""
    found = correct(worked(), mu=100, gamma=1)
    assert found.timeline.calls.enter.tolist() == [1000, 977, 1400]
    assert found.slope == pytest.approx(2 / 9)


def test_regions__keep_their_place_between_calls():
    """Between the receive and the next call, 900 to 1200, which become 1100 to 1250: half of it is left of each interval."""
    found = correct(worked(), mu=100, gamma=0.5)
    assert found.timeline.regions.enter.tolist() == [1100]
    assert found.timeline.regions.leave.tolist() == [1175]


def test_records__keep_their_distance_from_entry_and_return():
    """Recorded 60 behind its entry and 60 before its return: the receive returns 60 + 100 + 60 behind the entry of the send at 1000."""
    b = Builder(2, record=60)
    b.begin, b.end = {0: 0, 1: 0}, {0: 2000, 1: 3000}
    b.send(0, 1, at=(1000, 1500))
    b.recv(1, 0, at=(800, 1210))
    found = correct(b.trace(), mu=100, gamma=1)
    assert found.timeline.calls.leave.tolist() == [1500, 1220]
    # Its jump of 10 at 1210 is worked off over 1000: the entry at 800 moves by 10 * (800 - 210) / 1000 = 5.9.
    assert found.timeline.calls.enter.tolist() == [1000, 805]


def test_records__limit_what_comes_before_a_jump():
    """Rank 1 sends at 4000 what rank 2 receives at 4100, each record 20 inside its call: it may move up by 100 - 40 - 2 * 20."""
    b = Builder(3, record=20)
    b.send(0, 1, at=(6_000, 7_000))
    b.send(1, 2, at=(4_000, 4_030))
    b.recv(1, 0, at=(4_500, 5_000))
    b.recv(2, 1, at=(4_050, 4_100))
    found = correct(b.trace(), mu=40)
    assert found.timeline.calls.enter[1] == 4_020
    assert found.timeline.calls.leave[[2, 3]].tolist() == [6_080, 4_100]


def test_records__least_time_is_between_them():
    """500 from entry to return, 300 of it between the records."""
    b = Builder(2, record=100)
    b.send(0, 1, at=(1000, 1500))
    b.recv(1, 0, at=(900, 1500))
    assert correct(b.trace()).latencies.node == 300


def test_threads_follow_their_process():
    """Rank 1 is 2000 behind when it receives at 8000 what was sent at 10000; then its team begins, of two that have one clock.

    Its first thread is put forward by 2000, the other by the 1900 that it began later than the fork. Both meet in a barrier, 100 apart.
    """
    b = Builder(2)
    other = b.thread(1)
    b.send(0, 1, at=(10_000, 10_000))
    b.recv(1, 0, at=(7_000, 8_000))
    fork, idle = b.call(1, "omp_fork", at=(8_000, 8_050)), b.call(other, "omp_idle", at=(0, 8_100))
    b.link("fork", fork, idle)
    b.team("omp_implicit_barrier", (1, other), at={1: (8_500, 9_000), other: (8_900, 9_000)})
    join, ended = b.call(1, "omp_join", at=(9_000, 9_050)), b.call(other, "omp_idle", at=(9_000, 9_060))
    b.link("join", ended, join)
    trace = b.trace()
    found = correct(trace, mu=700, gamma=1)
    assert (found.by_message, found.by_collective, found.by_link) == (1, 0, 1)
    times = found.timeline.calls
    assert times.leave[1:5].tolist() == [10_700, 10_750, 11_700, 11_750]
    assert times.leave[5:].tolist() == [10_700, 11_600, 11_660]
    assert times.enter[5:].tolist() == [0, 11_500, 11_600]
    assert links(trace, found.before, Latencies(0, 0, 0)) == links(trace, found.timeline, Latencies(0, 0, 0)) == Pairs(2, 0, 0, 0, 0)
    assert figures(found).corrected_by_link == 1


def test_fig_1():
    """Figure 1 of the paper: E4 behind the receive keeps its distance, E2 before it is moved up, the first event stays."""
    b = Builder(2)
    b.begin, b.end = {0: 0, 1: 0}, {0: 9_000, 1: 1_000_000}
    b.send(0, 1, at=(6_000, 7_000))
    b.call(1, "Wtime", at=(1_000, 1_000))
    b.recv(1, 0, at=(4_000, 5_000))
    b.call(1, "Wtime", at=(8_000, 8_000))
    found = correct(b.trace(), mu=0)
    assert found.timeline.calls.enter.tolist() == [6_000, 1_200, 4_800, 9_000]
    assert found.timeline.calls.leave.tolist() == [7_000, 1_200, 6_000, 9_000]
    assert found.timeline.locations.enter.tolist() == [0, 0]
    assert found.timeline.locations.leave.tolist() == [9_000, 1_000_991]
    assert str(found.timeline.origin) == "corrected by the controlled logical clock"


def test_send_before_the_jump_stays_below_its_receive():
    """As Fig. 2: rank 1 sends at 4000 what rank 2 receives at 4100, so it may move up by 100 less the latency of 40."""
    b = Builder(3)
    b.send(0, 1, at=(6_000, 7_000))
    b.send(1, 2, at=(4_000, 4_000))
    b.recv(1, 0, at=(4_500, 5_000))
    b.recv(2, 1, at=(4_050, 4_100))
    found = correct(b.trace(), mu=40)
    assert found.timeline.calls.enter[1] == 4_060
    assert found.timeline.calls.leave[[2, 3]].tolist() == [6_040, 4_100]
    assert found.slope == pytest.approx(980 / 1000)


@pytest.mark.parametrize(
    ("routine", "root", "expected"),
    [
        # Entered at 100, 400, 250; left at 110, 410, 260; latency 7. The own entry and latency do not count.
        ("Barrier", None, [407, 410, 407]),
        ("Allreduce", None, [407, 410, 407]),
        ("Bcast", 1, [407, 410, 407]),
        ("Bcast", 0, [110, 410, 260]),
        ("Reduce", 0, [407, 410, 260]),
        ("Reduce", 1, [110, 410, 260]),
        ("Scan", None, [110, 410, 407]),
        ("Exscan", None, [110, 410, 407]),
        # Who exchanges with whom is not known.
        ("Alltoallv", None, [110, 410, 260]),
    ],
)
def test_collectives(routine, root, expected):
    b = Builder(3)
    b.everyone(routine, root=root, bytes=8, at=[(100, 110), (400, 410), (250, 260)])
    assert correct(b.trace(), mu=7).timeline.calls.leave.tolist() == expected


def test_collectives__shorter_than_the_latency():
    """A barrier that took less than the latency on the last rank to enter is no violation: nobody waits for itself."""
    b = Builder(2)
    b.barrier(at=[(100, 2000), (1000, 1200)])
    assert correct(b.trace(), mu=900).timeline is not None
    assert correct(b.trace(), mu=900).by_collective == 0


def test_collectives__of_no_bytes():
    """Rank 1 sends nothing and rank 2 receives nothing: nobody waits for 1, and 2 for nobody."""
    b = Builder(3)
    for rank, (sent, received) in enumerate([(8, 8), (0, 8), (8, 0)]):
        call = b.join(rank, "Allreduce", bytes=8, at=[(100, 110), (400, 410), (250, 260)][rank])
        call.columns.update(sent=sent, received=received)
    assert correct(b.trace(), mu=7).timeline.calls.leave.tolist() == [257, 410, 260]


def test_collectives__several_completed_by_one_call():
    """Rank 0 completes two by one call; of the second it receives nothing, so only the first binds it."""
    b = Builder(2)
    requests = [b.join(0, "Iallreduce", bytes=8, at=at) for at in ((10, 11), (20, 21))]
    requests[1].posted.columns.update(received=0)
    b.wait(0, *requests, at=(40, 50))
    other = [b.join(1, "Iallreduce", bytes=8, at=(enter, enter)) for enter in (300, 900)]
    b.wait(1, *other, at=(1000, 1001))
    found = correct(b.trace(), mu=0)
    assert found.timeline.calls.leave[2] == 300
    assert found.by_collective == 1


def test_world__init_and_finalize_are_barriers():
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(100 * rank, 50 + 100 * rank))
        b.call(rank, "Finalize", at=(90_000 + 500 * rank, 90_400 + 500 * rank))
    trace = b.trace()
    found = correct(trace, mu=0)
    assert found.timeline.calls.leave.tolist() == [100, 90_500, 150, 90_900]
    assert found.by_collective == 2
    assert len(found.trace.collectives) == 2
    assert same(correct(trace, graph=build_graph(trace), mu=0).timeline, trace.timeline)


def test_world__only_where_all_take_part():
    b = Builder(2)
    b.call(0, "Init", at=(100, 150))
    b.call(1, "Init_thread", at=(500, 600))
    b.call(1, "Finalize", at=(700, 800))
    b.call(0, "Wtime", at=(900, 900))
    found = correct(b.trace(), mu=0)
    assert found.timeline.calls.leave.tolist() == [500, 1250, 600, 800]
    assert len(found.trace.collectives) == 1


def avalanche():
    """Two ranks whose messages each return 1000 ns before they are sent, all the time: each correction pushes the next."""
    b = Builder(2)
    for step in range(1, 200):
        at = 10_000 * step
        b.send(0, 1, at=(at, at))
        b.recv(1, 0, at=(at - 2000, at - 1000))
        b.send(1, 0, at=(at + 5000, at + 5000))
        b.recv(0, 1, at=(at + 3000, at + 4000))
    return b.trace()


def test_gamma__passes_stop_an_avalanche():
    """Each round trip of 10 us adds up to 4 us to the lead; the smaller gamma, the more of it is given back."""
    trace = avalanche()
    steep, chosen = correct(trace, gamma=0.99999), correct(trace)
    assert (chosen.gamma, chosen.passes) == (0.80919, 5)
    assert not chosen.left
    assert not steep.left
    later = [found.timeline.makespan - trace.timeline.makespan for found in (chosen, steep)]
    assert later == [340_832, 795_000]


def test_gamma__large_if_smaller_ones_are_no_better():
    """A clock that is behind by half of the run is put forward by that, whatever gamma is."""
    b = Builder(2)
    b.send(0, 1, at=(500_000, 500_000))
    b.recv(1, 0, at=(0, 1000))
    b.call(1, "Wtime", at=(900_000, 1_000_000))
    found = correct(b.trace(), mu=0)
    assert (found.gamma, found.passes) == (0.99999, 5)
    assert found.timeline.calls.leave.tolist() == [500_000, 500_000, 1_498_991]


def test_gamma__large_if_smaller_ones_are_hardly_better():
    """As before, and rank 1 sends 10 000 behind the jump: with gamma 0.8 rank 2 is put forward by 1 % less."""
    b = Builder(3)
    b.send(0, 1, at=(500_000, 500_000))
    b.recv(1, 0, at=(0, 1000))
    b.send(1, 2, at=(11_000, 11_000))
    b.recv(2, 1, at=(0, 10))
    b.end[1], b.end[2] = 10**9, 1_000_000
    found = correct(b.trace(), mu=0)
    assert (found.gamma, found.passes) == (0.99999, 5)
    assert found.timeline.calls.leave[3] == 510_000


@pytest.mark.parametrize("gamma", [0, -1, 1.5])
def test_gamma__refused(gamma):
    with pytest.raises(UsageError) as error:
        correct(worked(), gamma=gamma)
    assert str(error.value) == f"a control variable gamma of {gamma}; must be above 0, at most 1"


@pytest.mark.parametrize("mu", [(-1, 0, 0), (5, 4, 9), (5, 9, 4)])
def test_mu__refused(mu):
    with pytest.raises(UsageError) as error:
        correct(worked(), mu=mu)
    text = f"{mu[0]} ns in a node, {mu[1]} ns in a metahost, {mu[2]} ns across"
    assert str(error.value) == f"minimum latencies of {text}; must not be negative, nor fall with the distance"


def test_mu__safe():
    """At most a microsecond, at most what was seen, and not falling with the distance."""
    assert safe(np.array([0, 1 << 62, 1 << 62, 1 << 62, 1 << 62])) == Latencies(1000, 1000, 1000)
    assert safe(np.array([0, 1 << 62, 700, 20, 5000])) == Latencies(20, 20, 1000)
    assert safe(np.array([0, 1 << 62, 10, 300, 200])) == Latencies(10, 200, 200)


def test_mu__by_pair_class():
    """From rank 0: to its node 5, to its metahost 50, across 500."""
    b = Builder(4)
    for rank in (1, 2, 3):
        b.send(0, rank, at=(1000 * rank, 1000 * rank))
        b.recv(rank, 0, at=(0, 0))
    trace = b.trace()
    at = {"node": np.array([0, 0, 1, 0], "i4"), "metahost": np.array([0, 0, 0, 1], "i4")}
    trace = dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **at))
    assert correct(trace, mu=(5, 50, 500)).timeline.calls.leave[3:].tolist() == [1005, 2050, 3500]


def test_cycle__stays_and_is_counted():
    trace = build.cycle_of_messages()
    found = correct(trace)
    assert found.graph.contradictions > 0
    assert found.left == Violations(2, 10, 0, 0, 2, 10)
    assert same(found.timeline, trace.timeline)


@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - build.VIOLATING))
def test_consistent_traces_stay__catalogue(name):
    trace = build.CATALOGUE[name]()
    found = correct(trace)
    assert found.timeline is trace.timeline
    assert (found.by_message, found.by_collective, found.slope, found.left) == (0, 0, 0.0, Violations(0, 0, 0, 0, 0, 0))


def check(trace, timeline, **options):
    """Correct a timeline and hold the result against every law; return it."""
    found = correct(trace, timeline, **options)
    assert not violations(found.trace, found.timeline)
    result = found.trace, found.timeline, found.latencies
    assert not any(pairs.violating for pairs in (*messages(*result), logical_messages(*result), links(*result)))
    assert all((new >= old).all() for new, old in zip(columns(found.timeline), columns(timeline), strict=True))
    dataclasses.replace(trace, timeline=found.timeline)
    between = found.timeline.regions
    assert (between.enter <= between.leave).all()
    assert correct(trace, found.timeline, **options).timeline is found.timeline
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(build.CATALOGUE) - {"cycle_of_messages"}))
@pytest.mark.parametrize("mu", [None, 0, 1000, (10, 700, 9000)])
def test_laws__catalogue(name, mu):
    trace = build.CATALOGUE[name]()
    count = len(trace.locations)
    check(trace, trace.timeline, mu=mu)
    for off in ([0, 60_000, 5_000, 90_000], [900_000, 0, 1, 20]):
        check(trace, shifted(trace, off[:count], [50, 0, 900, 3][:count]), mu=mu)


@pytest.mark.slow
@settings(max_examples=40)
@given(naive_clock.traces(), st.data())
def test_laws__random(trace, data):
    count = len(trace.locations)
    off = data.draw(st.lists(st.integers(0, 80_000), min_size=count, max_size=count))
    drift = data.draw(st.lists(st.integers(0, 100_000), min_size=count, max_size=count))
    mu = data.draw(st.sampled_from([None, None, 0, 2000]))
    gamma = data.draw(st.sampled_from([None, None, 1, 0.5]))
    check(trace, shifted(trace, off, drift), mu=mu, gamma=gamma)


@pytest.mark.slow
@settings(max_examples=20)
@given(naive_clock.traces())
def test_consistent_traces_stay__random(trace):
    assert correct(trace).timeline is trace.timeline


@pytest.mark.slow
@settings(max_examples=20)
@given(naive_clock.traces(), st.data())
def test_names_of_ranks_do_not_matter(trace, data):
    count = len(trace.locations)
    off = data.draw(st.lists(st.integers(0, 80_000), min_size=count, max_size=count))
    trace = dataclasses.replace(trace, timeline=shifted(trace, off))
    new = data.draw(st.permutations(range(len(np.unique(trace.locations.process)))))
    renamed, call, region, location = build.renamed(trace, new)
    one, other = correct(trace), correct(renamed)
    assert (one.latencies, one.gamma, one.by_message, one.by_collective, one.by_link) == (
        other.latencies,
        other.gamma,
        other.by_message,
        other.by_collective,
        other.by_link,
    )
    for kind, place in (("calls", call), ("regions", region), ("locations", location)):
        for side in ("enter", "leave"):
            mine, its = (getattr(getattr(found.timeline, kind), side) for found in (one, other))
            assert np.array_equal(its[place], mine)


def test_stretch():
    """1 % off, as Scalasca."""
    assert passes.STRETCH == 100
