"""What a run does over time: changes and who is to blame, by hand; what parts are worth, against sweeps of the whole; laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.errors import UsageError
from perwiz.patterns.overtime.gains import Asked
from perwiz.patterns.overtime.overtime import differences, over_time, slowest, together
from perwiz.patterns.overtime.split import pieces, split
from perwiz.patterns.search import search
from perwiz.trace.parts.course import course
from perwiz.trace.parts.iterations import find
from perwiz.whatif.hypotheses.base import apply
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.run import replayed


def program(works, regions=None):
    """Three ranks compute so often, all in an MPI_Allreduce behind each, which takes 1.5 us; some iterations in a region."""
    b = Builder(3, latency=0)
    [b.call(rank, "Init") for rank in range(3)]
    for k, each in enumerate(works):
        for rank, work in enumerate(each):
            if regions:
                b.enter(rank, regions[k])
            b.compute(rank, int(work))
            if regions:
                b.leave(rank, regions[k])
        b.everyone("Allreduce", bytes=8)
    [b.call(rank, "Finalize") for rank in range(3)]
    return b.trace()


def over(trace, windows=None):
    run = replayed(trace, hand_model())
    return over_time(run, search(run.trace), windows)


def phases(found):
    return [phase.efficiency.name for phase in found.phases if phase.kind == "phase"]


def noisy(count, seed=0, size=0.01):
    random = np.random.default_rng(seed)
    return np.rint(1e6 * (1 + size * random.normal(0, 1, (count, 3))))


def test_step():
    """From the 40th of 100 on rank 2 computes twice as long: 40 is computed behind the call that the 39th begins with.

    Load balance of the second phase is (1 + 1 + 2) / 3 / 2, and balancing it takes a third of 2 ms off each iteration.
    """
    works = noisy(100, size=0.002)
    works[39:, 2] *= 2
    found = over(program(works))
    assert phases(found) == ["1..38", "39..100"]
    first, second = (phase for phase in found.phases if phase.kind == "phase")
    assert slowest(second.efficiency) == 2
    assert second.efficiency.load_balance == pytest.approx(2 / 3, abs=0.005)
    assert differences(first.efficiency, second.efficiency, 38, 62) == ["load_balance", "time"]
    assert (found.run.makespan - second.balanced) / 61 == pytest.approx(2e6 / 3, rel=0.01)
    assert found.run.makespan - first.balanced < 0.01 * 38e6
    assert not any(phase.drifts or phase.exceptions for phase in found.phases)


@pytest.mark.parametrize(("first", "rank", "seed"), [(12, 0, 11), (40, 2, 12), (77, 1, 13)])
def test_step__is_found_at_its_iteration_and_rank(first, rank, seed):
    """From there on the rank computes a quarter longer, in noise of 2 %; iterations are regions."""
    works = noisy(100, seed, 0.02)
    works[first - 1 :, rank] *= 1.25
    b = Builder(3, latency=0)
    for each in works:
        for process, work in enumerate(each):
            b.enter(process, "step")
            b.compute(process, int(work))
        b.everyone("Allreduce", bytes=8)
        for process in range(3):
            b.leave(process, "step")
    found = over(b.trace())
    assert phases(found) == [f"1..{first - 1}", f"{first}..100"]
    second = found.phases[-1 - found.split.after]
    assert slowest(second.efficiency) == rank
    assert second.efficiency.load_balance == pytest.approx(3.25 / 3.75, abs=0.02)


def test_disturbed__is_one_phase():
    """Rank 1 is delayed now and then for some iterations, most by a half, and each of them by something else."""
    works, random = noisy(100), np.random.default_rng(0)
    for first in (20, 45, 70):
        works[first : first + 6, 1] += 1e6 * random.exponential(0.5, 6)
    assert len(phases(over(program(works)))) == 1


def test_warm_up__is_that_of_info():
    """A step behind ten iterations is none; of two that take longer before it these are the warm-up, as of the times alone."""
    works = noisy(100, size=0.002)
    works[11:] *= 1.5
    assert [phase.kind for phase in over(program(works)).phases] == ["before", "phase", "phase"]
    works[1:3] *= 2
    trace = program(works)
    found = over(trace)
    assert [(phase.kind, phase.efficiency.name) for phase in found.phases][1:] == [
        ("warm-up", "1..2"),
        ("phase", "3..10"),
        ("phase", "11..100"),
    ]
    assert course(find(trace)).warm_up == 2


def test_drift():
    """Rank 1 takes half a percent more each time: load balance falls all the while, in one phase."""
    works = noisy(80, size=0.002)
    works[:, 1] *= 1 + 0.005 * np.arange(80)
    (phase,) = (phase for phase in over(program(works)).phases if phase.kind == "phase")
    ways = {drift.of: drift.trend.slope for drift in phase.drifts}
    assert set(ways) == {"time", "load_balance"}
    assert ways["time"] == pytest.approx(5000, rel=0.1)
    assert ways["load_balance"] < 0
    assert slowest(phase.efficiency) == 1


def test_three_phases():
    works = noisy(90)
    works[30:60, 0] *= 1.5
    works[60:] *= 0.7
    assert phases(over(program(works))) == ["1..29", "30..59", "60..90"]


def test_another_process():
    """As uneven as before, but on another process."""
    works = noisy(60, size=0.002)
    works[:30, 0] *= 1.4
    works[30:, 2] *= 1.4
    found = over(program(works))
    assert phases(found) == ["1..29", "30..60"]
    first, second = (phase.efficiency for phase in found.phases if phase.kind == "phase")
    assert differences(first, second, 29, 31)[-1] == "who"


@pytest.mark.slow
def test_nothing():
    """Of 40 runs in which nothing changes at most two have phases."""
    assert sum(len(phases(over(program(noisy(60, seed, 0.05))))) > 1 for seed in range(40)) <= 2


def test_exceptions_and_warm_up():
    """The first takes three times as long as the others, and the 20th; computation of an iteration lies behind its call."""
    works = noisy(50, size=0.002)
    works[[1, 20]] *= 3
    found = over(program(works))
    assert [(phase.kind, phase.efficiency.name) for phase in found.phases][1:3] == [("warm-up", "1"), ("phase", "2..50")]
    assert [found.efficiency[part].name for part in found.phases[2].exceptions] == ["20"]


def test_a_short_disturbance_is_no_phase():
    """Five of 100 are disturbed: before and behind them all is alike."""
    works = noisy(100, size=0.002)
    works[50:55, 0] *= 1.8
    assert phases(over(program(works))) == ["1..100"]


def test_windows__and_regions():
    works = noisy(60)
    works[30:, 1] *= 2
    found = over(program(works, ["f"] * 30 + ["g"] * 30), 40)
    assert found.split.by == "windows"
    first, second = found.phases
    assert (first.region, second.region) == ("f", "g")
    assert abs(first.end - 40 / 3) <= 2
    assert slowest(second.efficiency) == 1


def test_few_windows():
    assert [len(over(program(noisy(5)), windows).phases) for windows in (1, 2, 3)] == [1, 1, 1]


def test_no_processes():
    with pytest.raises(UsageError, match=r"^built: no processes, so nothing happens over time$"):
        over(build.empty())


@pytest.mark.parametrize("windows", [5, None])
@given(trace=build.traces())
def test_laws(windows, trace):
    """The product is exact, no factor above 1, nor load balance below that of one process alone; what parts have adds up."""
    found = over(trace, windows)
    kept = found.split.counted
    spans = [together(found, first, end) for first in range(kept.start, kept.stop) for end in (first + 1, kept.stop)]
    for one in [*found.efficiency, *spans, *(phase.efficiency for phase in found.phases)]:
        assert 1 / len(found.hosts) - 1e-9 <= one.load_balance <= 1 + 1e-9
        assert one.serialisation <= 1 + 1e-6
        assert one.transfer <= 1 + 1e-6
        if one.ideal and one.time and one.useful.max():
            assert one.load_balance * one.serialisation * one.transfer == pytest.approx(one.parallel, rel=1e-12)
    if windows:
        assert (found.spent.time.sum(axis=0) == found.split.cuts[-1, 0] - found.split.cuts[0, 0]).all()
    assert sum(phase.waiting for phase in found.phases) == found.waiting.sum()


@given(build.traces())
def test_worth__is_that_of_the_whole_sweep(trace):
    """Balanced: computation of each process in the part becomes the mean of those that compute there; no waits: as zero-wait."""
    run = replayed(trace, hand_model())
    parts, segments = split(run.trace, 4), Segments(run.weighted)
    cut = pieces(segments, parts.cuts)
    asked, each = Asked(run, segments, cut, parts.cuts), np.arange(4)
    waits, balanced = asked.unwaiting(each[: len(parts)], len(parts)), asked.balanced(each[: len(parts)], len(parts))
    for part in range(len(parts)):
        zeroed = apply(run.weighted, [])
        zeroed = ZeroWait.of(zeroed, asked.part_of_call == part)
        assert waits[part] == makespan(run.graph, sweep(run.graph, zeroed.weight))
        level = makespan(run.graph, sweep(run.graph, levelled(run, segments, asked.shared, part)))
        assert abs(balanced[part] - level) <= 2 * len(trace.calls) + 8


def levelled(run, segments, cut, part):
    """Return the weights with the computation of one part levelled, piece by piece, each rounded by itself."""
    rows = np.flatnonzero(cut.part == part)
    total = np.bincount(cut.location[rows], cut.length[rows])
    mean = total.sum() / max(1, (total > 0).sum())
    weight = run.weighted.weight.copy()
    for row in rows.tolist():
        more = cut.length[row] * (mean / total[cut.location[row]] - 1)
        weight[segments.edge[segments.gap[cut.segment[row]]]] += round(more)
    return weight
