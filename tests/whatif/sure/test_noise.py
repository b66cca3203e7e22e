"""How much a makespan varies: what repeats, by hand; what is drawn, and what must hold of it whatever is."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model
from perwiz.graph.slots import slots
from perwiz.trace import resources, tables
from perwiz.whatif import predict as predicting
from perwiz.whatif.hypotheses.base import apply, parse
from perwiz.whatif.hypotheses.computation import Speed
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, under
from perwiz.whatif.sure import span, swept
from perwiz.whatif.sure.noise import Around, noise_of
from perwiz.whatif.sure.pieces import Varies, vertices


def steps(*lengths, end=0):
    """Return a process that computes so long before each of its calls of no time, and `end` behind the last."""
    b = Builder(1, work=0)
    for length in lengths:
        b.compute(0, length)
        b.call(0, "Wtime")
    b.compute(0, end)
    return b.trace()


def waiting(*programs):
    """Return processes that compute so long before each of their barriers."""
    b = Builder(len(programs), work=0)
    for step in zip(*programs, strict=True):
        for process, length in enumerate(step):
            b.compute(process, length)
        b.barrier()
    return b.trace()


def told(trace, asked=()):
    run = replayed(trace, hand_model())
    now = under(run, asked)
    noise = noise_of(run)
    return noise.around(noise.drawn(now.weighted), now.makespan, now.makespan)


def test_by_hand():
    """Behind the first call 10 14 12 10 14, a stretch each: 12 usual. Before the first 6, alike: so much if that is usual."""
    run = replayed(steps(6, 10, 14, 12, 10, 14), hand_model())
    noise, pieces = noise_of(run), vertices(run)
    assert noise.whole[pieces].tolist() == [6, 10, 14, 12, 10, 14, 0, 0, 0, 0, 0, 0, 0]
    assert noise.stretch[pieces].tolist() == [5, 0, 1, 2, 3, 4, 6, *[-1] * 6]
    assert noise.share[pieces[:7]].tolist() == pytest.approx([6, *[12] * 5, 0])
    assert noise.more[pieces[:7]].tolist() == pytest.approx([0, 2, -2, 0, 2, -2, 0])
    assert noise.stretches.deviation.tolist() == pytest.approx([part * 1.25**0.5 / 6 for part in (-1, 1, 0, -1, 1)])
    assert noise.varies == Varies("computation", pytest.approx(1 / 6), 5, 6)


def test_around__recordings_differ():
    """An answer of 5100 ns, 100 of them before MPI_Init is left: 2 % of the other 5000 come on top of what repeats, in squares."""
    run = replayed(steps(6, 10, 14, 12, 10, 14), hand_model())
    noise = noise_of(run)
    alike, around = (noise.around(noise.drawn(run.weighted), 5100, before) for before in (5100, 100))
    assert (alike.least, alike.most, alike.runs) == (alike.sooner, alike.later, 0)
    assert around == Around(alike.sooner, alike.later, 100)
    assert (around.least, around.most) == (round(math.hypot(alike.sooner, 100)), round(math.hypot(alike.later, 100)))


@pytest.mark.parametrize(("kind", "runs"), [(tables.THREAD, 250), (tables.STREAM, 100)])
def test_around__collectives_on_processors_differ_more(kind, runs):
    """Sums of gradients that processors make, as those of Gloo, and those of a device."""
    b = Builder(1, work=0)
    other = b.thread(0, kind)
    for length in (6, 10, 14, 12, 10, 14):
        b.compute(0, length)
        b.link("fork", b.barrier()[0], b.call(other, "dist_all_reduce", comm=0))
    run = replayed(b.trace(), hand_model())
    noise = noise_of(run)
    assert noise.around(noise.drawn(run.weighted), 5100, 100).runs == runs


def test_around__what_repeats_exactly_does_not_differ():
    """As of a simulated run, of which another one is the same."""
    run = replayed(steps(6, 10, 10, 10, 10, 10), hand_model())
    noise = noise_of(run)
    assert noise.around(noise.drawn(run.weighted), 5100, 100) == Around(0, 0)


def test_vertices():
    """One vertex each: what is not of a piece is the origin, and where locations begin."""
    run = replayed(waiting([3, 4], [5, 6]), hand_model())
    pieces, graph = vertices(run), run.graph
    assert pieces[[0, 1, 2, 3, 5]].tolist() == [*graph.entered[:2], graph.ended[0], graph.entered[2], graph.ended[1]]
    assert (pieces[6:].tolist(), len(set(pieces.tolist()))) == (graph.returned.tolist(), len(pieces))
    for begin, end in itertools.combinations_with_replacement(range(len(pieces) + 1), 2):
        assert vertices(run, slice(begin, end)).tolist() == pieces[begin:end].tolist()


@pytest.mark.parametrize("times", [1, 2])
def test_drawn__graph_of_its_own(times):
    """Whether a graph is that of the recorded run, or another one like it, is the same."""
    run = replayed(waiting([10, 14, 12, 15], [11, 13, 12, 10]), hand_model())
    noise, asked = noise_of(run), [parse(f"speed rank:0-1={times}")]
    same = apply(run.weighted, asked)
    other = dataclasses.replace(same, graph=dataclasses.replace(run.graph))
    assert noise.drawn(same).tolist() == noise.drawn(other).tolist()


def test_drawn__in_one_step(monkeypatch):
    """Runs that nobody else is told of are swept in one step; only the times of three vertices are kept."""
    run, sizes, sweep = replayed(steps(*[10, 14, 12] * 500), hand_model()), [], swept.kernel.sweep
    monkeypatch.setattr(swept.kernel, "sweep", lambda *args: sizes.append(args[9] - args[8]) or sweep(*args))
    noise_of(run).drawn(run.weighted)
    assert (set(sizes), slots(run.graph).rows) == ({run.graph.vertices - 1}, 3)


def test_longer_than_what_repeats():
    """1200 is as 100 times 12: what it varies by is ten times as much, not 100 times."""
    run = replayed(steps(6, 10, 14, 12, 10, 14, end=1200), hand_model())
    assert noise_of(run).share[vertices(run)[:7]].tolist() == pytest.approx([6, *[12] * 5, 120])


def test_multiples_are_other_work():
    """Every fourth time there is ten times as much to do: that is no noise."""
    assert told(steps(6, *[10, 10, 10, 100] * 5)) == Around(0, 0)


def test_nothing_repeats():
    trace = steps(6, 10, 14, 12, 10)
    assert (noise_of(replayed(trace, hand_model())).varies, told(trace)) == (None, Around(0, 0))


def test_along_one_process():
    """300 times 1000 or 1400: 200 * 300**0.5 = 3464; times 2.756 * (2 + 1 / 200)**0.5, as 30 stretches tell. Half as fast: twice."""
    trace = steps(*np.random.default_rng(5).choice([1000, 1400], 300).tolist())
    once, slow = told(trace), told(trace, [Speed("rank:0=0.5")])
    assert 0.7 < (once.sooner + once.later) / 2 / 13518 < 1.3
    assert slow.sooner + slow.later == pytest.approx(2 * (once.sooner + once.later), rel=0.01)


def test_along_one_process__one_after_the_other():
    """Always 1000, then 1400: blocks of that are nearly as long as each other, which in any order they are not."""
    assert told(steps(0, *[1000, 1400] * 150)).later < 13518 / 5


def test_slow_drift():
    """The first half takes 1000, the second 1400: another run may be as its slow half all along, or as its fast one."""
    mixed = np.random.default_rng(5).permutation([1000, 1400] * 150).tolist()
    assert told(steps(*sorted(mixed))).later > 2.5 * told(steps(*mixed)).later


def test_few_stretches_tell_less():
    """Of five repetitions a variance is not as sure as of thirty: Student's quantile is 4.604, not 2.756."""
    lengths = np.random.default_rng(5).choice([1000, 1400, 1200], 60).tolist()
    few, many = (noise_of(replayed(steps(*lengths[:times]), hand_model())).varies for times in (6, 60))
    assert (few.stretches, few.iterations, few.enough) == (5, 6, False)
    assert (many.stretches, many.iterations, many.enough) == (30, 60, True)


def test_who_has_the_processor():
    """Each step one of two processes takes 140 and the other 100: so it does in another run. It matters if one is slower for good."""
    late = np.random.default_rng(4).permutation([0, 40] * 15)
    trace = waiting([0, *(100 + late).tolist()], [0, *(140 - late).tolist()])
    assert told(trace) == Around(0, 0)
    assert told(trace, [Speed("rank:0=0.5")]).later > 100


def test_calls_that_ask():
    """What a test takes that is made until something has come is no work; the same of another call is."""
    around = {}
    for routine in ("Test", "Wtime"):
        b = Builder(1, work=0)
        for k in range(40):
            b.compute(0, 100)
            b.call(0, routine, work=10 + 90 * (k % 3 == 0))
        around[routine] = told(b.trace())
    assert around["Test"] == Around(0, 0) != around["Wtime"]


def test_hidden_disturbance():
    """Once process 1 takes 180 instead of 140, which nobody sees beside 200; if process 0 is twice as fast, all do."""
    trace = waiting([200] * 20, [140] * 19 + [180])
    assert told(trace, [Speed("rank:0=2")]).later > 40 > told(trace).later
    assert told(waiting([200] * 20, [140] * 20)) == Around(0, 0)


def test_work_in_calls():
    """Computation is the same every time, but calls take 10 or 30."""
    b = Builder(1, work=0)
    for late in np.random.default_rng(4).permutation([0, 1] * 10).tolist():
        b.compute(0, 100)
        b.call(0, "Wtime", work=10 + 20 * late)
    trace = b.trace()
    assert noise_of(replayed(trace, hand_model())).varies == Varies("calls", pytest.approx(0.5, rel=0.01), 10, 20)
    assert 10 * 20**0.5 < told(trace).later < 8 * 10 * 20**0.5


def test_idle_to_the_end():
    """Behind each launch a stream does nothing for 10, and for 1000 behind its last kernel: nothing that is recorded ends that, so it tells
    of no other how long it takes. It does if the stream goes on.
    """
    around = []
    for more in (0, 90):
        b = Builder(1, work=0)
        stream = b.stream(0)
        for _ in range(20):
            b.compute(0, 100)
            b.link("launch", b.call(0, "device_launch"), b.call(stream, "device_idle", work=10))
            b.compute(stream, 50)
        b.call(stream, "device_idle", work=1000)
        b.compute(stream, more)
        around.append(told(b.trace()))
    assert around[0] == Around(0, 0) != around[1]


def test_span__is_the_noise_where_nothing_is_unknown():
    trace = steps(*np.random.default_rng(4).permutation([100, 140] * 10).tolist())
    found = predict(trace, "speed rank:0=0.5", hand_model())
    around = told(trace, [Speed("rank:0=0.5")])
    around = Around(around.sooner, around.later, 96)
    assert (found.span.least, found.predicted.makespan, found.span.most) == (4800 - around.least, 4800, 4800 + around.most)
    assert (found.span.around, found.span.others) == (around, ())
    assert found.span.varies == Varies("computation", pytest.approx(0.5 * (20 / 19) ** 0.5 / 3, rel=0.05), 10, 20)


def test_names_of_processes():
    """Chance does not hang on the number of a process."""
    rng = np.random.default_rng(3)
    programs = rng.integers(90, 110, (4, 30)).tolist()
    assert told(waiting(*programs)) == told(waiting(*programs[::-1])) != Around(0, 0)


@pytest.mark.slow
@given(build.programs(), build.models())
def test_the_answer_lies_in_its_span(trace, model):
    found = predict(trace, "speed rank:0=2", model, clock="none")
    assert found.span.least <= found.predicted.makespan <= found.span.most
    assert found.span == predict(trace, "speed rank:0=2", model, clock="none").span
    plain = predict(trace, (), model, clock="none")
    assert plain.span.least == plain.span.most == plain.recorded.makespan


def test_drawn__the_same_in_any_number_of_threads(monkeypatch):
    run = replayed(waiting(*np.random.default_rng(3).integers(90, 110, (4, 30)).tolist()), hand_model())
    drawn = noise_of(run).drawn(run.weighted)
    monkeypatch.setattr("perwiz.trace.resources.LEAST", 1)
    for threads in ("2", "5"):
        monkeypatch.setenv("PERWIZ_THREADS", threads)
        assert noise_of(run).drawn(run.weighted).tolist() == drawn.tolist()
    assert len(set(drawn.tolist())) > 100


def test_draw_before__changes_nothing(monkeypatch):
    """Runs of a large change are drawn before it is swept, those of a small one later: they are the same."""
    trace, asked = waiting([10, 14, 12, 15, 11, 13], [11, 13, 12, 10, 14, 12]), "speed rank:0=2"
    small, drawn = predict(trace, asked, hand_model()), []
    monkeypatch.setattr(resources, "_LARGE", 0)
    monkeypatch.setattr(predicting, "draw_before", lambda *args, **more: drawn.append(args) or span.draw_before(*args, **more))
    large = predict(trace, asked, hand_model())
    assert len(drawn) == 1
    assert (large.span, large.predicted.makespan) == (small.span, small.predicted.makespan)
    assert small.span.varies is not None
    assert small.span.around.later > 0
