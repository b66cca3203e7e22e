"""Runs that several processes have together, here threads: every answer is that of one alone."""

import dataclasses
import itertools
import json
import pathlib
import re
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
import threaded
from build import Builder
from perwiz.clock.condition import violations
from perwiz.clock.figures import figures
from perwiz.clock.logical import correct
from perwiz.clock.treatment import Treated
from perwiz.engines import sweep as running
from perwiz.engines.sweep import critical_path, swept_makespan, swept_makespans
from perwiz.errors import TraceError, UsageError
from perwiz.formats import files
from perwiz.graph import circles
from perwiz.graph.build import build as build_graph
from perwiz.loggps.instances import sizes
from perwiz.loggps.model_file import load
from perwiz.loggps.progress import movers
from perwiz.patterns.analysis.worth import worth
from perwiz.patterns.search import causes_elsewhere, search
from perwiz.report.correct import document as report
from perwiz.report.info import document as info
from perwiz.report.patterns import document as patterns
from perwiz.report.predict.document import document as predict_document
from perwiz.report.records import to_json
from perwiz.report.together import document as report_together
from perwiz.trace.parts.iterations import find
from perwiz.trace.spread.cut import bounds_of, cut
from perwiz.trace.spread.share import ALONE
from perwiz.trace.tied import tied_part
from perwiz.whatif.health import health
from perwiz.whatif.hypotheses.base import apply, parse
from perwiz.whatif.matching import matching
from perwiz.whatif.of_parts import predict as predict_together
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed, under, with_moved
from perwiz.whatif.sure import answers
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.sure.noise import noise_of
from perwiz.whatif.worth import sets

TRACES = pathlib.Path(__file__).parents[2] / "traces"
CIRCLE = (
    "calls wait for each other in a circle of messages or collectives, which is told apart by one process alone;"
    " must be asked of one \\(without mpiexec\\)"
)


def corrected(trace, options):
    """Return what `perwiz correct` says as JSON, and when its own calls and regions are."""
    found = correct(trace, **options)
    fixed = dataclasses.replace(trace, offsets=found.trace.offsets, timeline=found.timeline, offsets_applied=True)
    state = health(fixed, found.graph.contradictions, Treated(fixed, violations(trace, found.before), found if found.jumps else None))
    line, calls = found.timeline, found.trace.share.calls
    times = line.calls.enter[calls], line.calls.leave[calls], line.regions.enter, line.regions.leave
    return to_json(report.document(trace, found, figures(found), "clc", state)), times


def check_correct(trace, size, **options):
    """Correct a trace alone and by so many threads: nothing may differ."""
    trace = tied_part(trace)
    said, times = corrected(trace, options)
    found = threaded.parts(size, trace, lambda part: corrected(part, options))
    assert {each for each, _ in found} == {said}
    for alone, *together in zip(times, *(own for _, own in found), strict=True):
        assert np.array_equal(np.concatenate(together), alone)


IN_TURN = [(name, 1 + turn % 4) for turn, name in enumerate(sorted(set(build.CATALOGUE) - {"cycle_of_messages"}))]
"""Traces whose messages and collectives do not wait for each other in a circle, for 1, 2, 3 or 4 processes."""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), IN_TURN)
def test_correct__catalogue(name, size):
    """One variant of each, in turn."""
    variants = [*threaded.variants(build.CATALOGUE[name]())]
    changed, options = variants[IN_TURN.index((name, size)) % len(variants)]
    check_correct(changed, size, **options)


@pytest.mark.slow
@settings(max_examples=20)
@given(naive_clock.traces(), st.integers(2, 5), st.data())
def test_correct__random(trace, size, data):
    count = len(trace.locations)
    numbers = {"off": 80_000, "drift": 100_000, "node": 1, "metahost": 1}
    drawn = {name: data.draw(st.lists(st.integers(0, most), min_size=count, max_size=count)) for name, most in numbers.items()}
    trace = threaded.placed(threaded.shifted(trace, drawn["off"], drawn["drift"]), drawn["node"], drawn["metahost"])
    options = {"mu": data.draw(st.sampled_from([None, 0, (5, 100, 3000)])), "gamma": data.draw(st.sampled_from([None, 1, 0.5]))}
    check_correct(trace, size, **options)


def told(trace, model="default"):
    """Return what `perwiz info --model` says as JSON, and when its own calls are entered and how long they wait."""
    run = replayed(trace, model)
    own, line = run.trace.share.calls, run.trace.timeline
    assert run.makespan == line.makespan
    assert run.replay_error == 0
    said = to_json(info.document(run.trace, run.health(), run.waits, 0, run.machine)), run.machine
    return said, (line.calls.enter[own], run.waits.time[own])


def check_info(trace, size, model="default"):
    """Ask what a trace is alone and by so many threads: nothing may differ."""
    trace = tied_part(trace)
    said, times = told(trace, model)
    found = threaded.parts(size, trace, lambda part: told(part, model))
    assert [each for each, _ in found] == [said] * size
    for alone, *together in zip(times, *(own for _, own in found), strict=True):
        assert np.array_equal(np.concatenate(together), alone)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), IN_TURN)
def test_info__catalogue(name, size):
    """Under a model that is given, and those that are fitted to what the processes have."""
    rows = [*zip(threaded.variants(build.CATALOGUE[name]()), ("default", None, None), strict=True)]
    (changed, _), model = rows[IN_TURN.index((name, size)) % len(rows)]
    check_info(changed, size, model)


MODELS = [None, "", "S_bytes=0", "L_ns=3000,S_bytes=100", "gap=none,o_s_ns=700", "progress=in calls,S_bytes=0"]


@pytest.mark.slow
@settings(max_examples=20)
@given(naive_clock.traces(), st.integers(2, 5), st.sampled_from(MODELS))
def test_info__random(trace, size, changes):
    model = changes and load("default").with_changes(changes) if changes != "" else load("default")
    if build_graph(tied_part(trace)).contradictions:
        with pytest.raises(TraceError, match=f"^built: {CIRCLE}$"):
            check_info(trace, size, model)
    else:
        check_info(trace, size, model)


@pytest.mark.slow
def test_info__real():
    check_info(files.read(str(TRACES / "p_m3.alog.gz")), 3, None)


def test_info__waits_inside_collectives():
    """Ranks 0, 1 and 5 of a reduction to 3 stay until 2 or 4 has come; in a broadcast from 0 rank 1 waits for 5."""
    b = Builder(6)
    ends = [(0, 50_000), (100, 40_000), (39_000, 40_100), (0, 90_000), (45_000, 46_000), (200, 80_200)]
    b.everyone("Reduce", root=3, bytes=8, at=dict(enumerate(ends)))
    ends = [(100_000, 100_500), (100_100, 180_000), (181_000, 182_000), (100_000, 100_900), (181_000, 182_000), (170_000, 171_000)]
    b.everyone("Bcast", root=0, bytes=8, at=dict(enumerate(ends)))
    trace = b.trace()
    assert replayed(trace, "default").graph.inner == 4
    check_info(trace, 3)
    check_info(trace, 6)


def waits_found(trace):
    """Return what `perwiz patterns --no-causes` says as JSON, without how sure it is."""
    run = replayed(trace, "default", also=lambda trace, _: causes_elsewhere(trace))
    findings = search(run.trace)
    found = patterns.document(run, findings, worth(run, findings), None, 5)
    found.bound_span = found.best_span = None
    return to_json(found)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [(name, size) for name, size in IN_TURN if name != "windows"])
def test_patterns__catalogue(name, size):
    """By clocks that are off, on several metahosts."""
    check_patterns(threaded.variants(build.CATALOGUE[name]())[2][0], size)


@pytest.mark.parametrize("lanes", [1, 2])
def test_patterns__sets_in_several_passes(lanes, monkeypatch):
    """A halo has waits at several call sites: as few of them are swept together."""
    monkeypatch.setattr(sets, "_BITS", lanes)
    trace = files.read(str(TRACES / "halo-before"))
    run = replayed(tied_part(trace), "default", also=lambda trace, _: causes_elsewhere(trace))
    assert len(worth(run, search(run.trace)).by_node) > 2
    check_patterns(trace, 2)


def check_patterns(trace, size):
    trace = tied_part(trace)
    assert threaded.parts(size, trace, waits_found) == [waits_found(trace)] * size


@pytest.mark.slow
@settings(max_examples=8)
@given(naive_clock.traces(), st.integers(2, 4))
def test_patterns__random(trace, size):
    if not build_graph(tied_part(trace)).contradictions:
        check_patterns(trace, size)


def test_patterns__a_cause_that_no_message_tells_of():
    """Rank 0 waits 900 ns at a barrier for rank 3, which is on another process: it is known there then, and named."""
    b = Builder(4)
    b.everyone("Barrier", at={0: (100, 1010), 1: (200, 1010), 2: (300, 1010), 3: (1000, 1010)})
    check_patterns(b.trace(), 2)
    first = json.loads(threaded.parts(2, b.trace(), waits_found)[1])["instances"][0]
    assert (first["pattern"], first["call"], first["severity_ns"], first["cause"]["call"]) == ("mpi_barrier_wait", "e0", 900, "e3")


def test_refused__patterns_of_windows():
    why = "its one-sided communication is not searched for waits by several processes together, must be by one \\(without mpiexec\\)"
    with pytest.raises(UsageError, match=f"^built: {why}$"):
        threaded.parts(2, tied_part(build.CATALOGUE["windows"]()), waits_found)


@pytest.mark.slow
@settings(max_examples=15)
@given(build.programs(), st.integers(2, 4))
def test_critical_path__random(trace, size):
    """As long together as that of one, and it leads into as many vertices."""
    trace = tied_part(trace)
    if build_graph(trace).contradictions:
        return

    def path(part):
        run = replayed(part, "default")
        edges = critical_path(run.graph, run.weighted.weight, run.time)
        edges = edges[run.graph.returning[run.graph.targets(edges)] >= 0]
        return len(edges), int(run.weighted.weight[edges].sum())

    found = threaded.parts(size, trace, path)
    assert tuple(map(sum, zip(*found, strict=True))) == path(trace)


def steps(ranks, lengths):
    """Return a run whose ranks compute so long by turns, add up, and pass what they have around a ring; at first two broadcasts each."""
    b = Builder(ranks)
    for _ in range(3):
        b.everyone("Bcast", root=0, bytes=8)
    for number, length in enumerate(lengths):
        for rank in range(ranks):
            b.compute(rank, length + 100 * (rank == number % ranks))
        for rank in range(ranks):
            b.sendrecv(rank, (rank + 1) % ranks, (rank - 1) % ranks)
        b.everyone("Allreduce", bytes=8)
    return b.trace()


@pytest.mark.slow
def test_predict__how_sure():
    """Iterations that drift, calls that each process has too seldom alone, and a run that is fitted: drawn alike by all."""
    trace = steps(5, [1000, 1400, 1300, 900, 1100, 1200, 800, 2400, 1000, 1700])
    found = predict(tied_part(trace), ["zero-wait rank:1"], draws=40).span
    assert (found.varies.iterations, found.varies.what, found.gain.draws) == (10, "computation", 40)
    check_predict(trace, 3, ["zero-wait rank:1"], draws=40, model=None)


def test_answered__of_parts_of_several_sizes(monkeypatch):
    """Four answers, of which one process has room for three at once, the other for two: both find two, then two."""
    trace = steps(3, [1000, 1400, 1300, 900, 1100])

    def told(part):
        questions = [partial(apply, hypotheses=[parse(f"speed rank:{rank % 3}={rank + 2}")]) for rank in range(4)]
        return [(one.makespan, one.drawn.tolist()) for one in answered(replayed(part, "default"), questions, 20).of]

    few, many = sorted(threaded.parts(2, trace, lambda part: replayed(part, "default").graph.edges))
    assert 3 * few // many == 2
    alone = told(trace)
    monkeypatch.setattr(answers, "_ROOM", answers._BYTES * 3 * few)
    assert threaded.parts(2, trace, told) == [alone, alone]


@pytest.fixture
def sends(monkeypatch):
    """Return sends(team, work): what work returns, and how many messages this process sends meanwhile."""
    sent, send = Counter(), threaded.Thread.send
    monkeypatch.setattr(threaded.Thread, "send", lambda team, to, data: (sent.update([team]), send(team, to, data))[1])

    def sends(team, work):
        before = sent[team]
        return work(), sent[team] - before

    return sends


@pytest.mark.parametrize(("room", "passes"), [(1 << 26, 3), (2, 4), (0, 6)])
def test_swept_makespans__of_parts(monkeypatch, sends, room, passes):
    """Six questions, the third of a graph of its own, and one that is none: with room for all, two or one at once. None is not swept."""
    trace, asked = steps(3, [1000, 1400, 1300, 900, 1100]), [f"speed rank:{rank % 3}={rank + 2}" for rank in range(5)]

    def told(part):
        run, share = replayed(part, "default"), part.share
        made = [partial(apply, run.weighted, [parse(text)]) for text in asked]
        made[2:2] = [lambda: None, lambda: dataclasses.replace(run.weighted, graph=dataclasses.replace(run.graph))]
        single, each = sends(share.team, lambda: swept_makespan(run.weighted))
        found, sent = sends(share.team, lambda: [*swept_makespans(share, made)])
        assert found[3] == single
        return found, sent - passes * each, 8 * (run.graph.edges + run.graph.vertices)

    alone, *_ = told(trace)
    assert [row for row, known in enumerate(alone) if known is None] == [2]
    assert len(set(alone)) > 3
    most = max(size for *_, size in threaded.parts(3, trace, told)) if room == 2 else 1
    monkeypatch.setattr(running, "_ROOM", room * most)
    assert [(found, more) for found, more, _ in threaded.parts(3, trace, told)] == [(alone, 0)] * 3


def test_drawn__all_runs_in_one_pass(sends):
    """Forty runs of three weights of one graph, and of one of another graph, send what crosses in each round twice."""
    trace = steps(5, [1000, 1400, 1300, 900, 1100, 1200, 800, 2400, 1000, 1700])

    def told(part):
        run, share = replayed(part, "default"), part.share
        noise = noise_of(run, 40)
        several = [run.weighted, *(apply(run.weighted, [parse(f"speed rank:{rank}=2")]) for rank in range(2))]
        several.insert(1, dataclasses.replace(run.weighted, graph=dataclasses.replace(run.graph)))
        _, each = sends(share.team, lambda: swept_makespan(run.weighted))
        drawn, sent = sends(share.team, lambda: noise.drawn_of(several))
        return [column.tolist() for column in drawn], sent - 2 * each

    drawn, _ = told(trace)
    assert drawn[0] == drawn[1] != drawn[2]
    assert threaded.parts(3, trace, told) == [(drawn, 0)] * 3


@pytest.mark.slow
@settings(max_examples=8)
@given(naive_clock.traces(), st.integers(2, 4), st.sampled_from([["zero-wait all"], ["speed rank:0=2"]]))
def test_predict__random(trace, size, asked):
    check_predict(trace, size, asked if len(trace.calls) else [])


@pytest.mark.slow
@settings(max_examples=12)
@given(build.programs(), st.integers(2, 4))
def test_iterations_and_choices__random(trace, size):
    """What repeats, its arrays by location, and the choices among messages under a faster rank."""
    trace = tied_part(trace)

    def told(part):
        found, share = find(part), part.share
        low, end, _ = share.locations.indices(len(part.locations))
        base = replayed(part, "default")
        again = replayed(part, "default")
        choices = matching(base, under(again, [parse("speed rank:0=4")]))
        calls = [share.named(each).tolist() for each in (choices.receives, choices.completions, choices.possible_receives)]
        rows = [share.named(column[:, low:end].T.ravel()).tolist() for column in (found.first, found.end - 1)]
        return (found.kind, found.counts.tolist(), found.incomplete, found.interrupted, found.why), rows, calls

    head, rows, calls = told(trace)
    found = threaded.parts(size, trace, told)
    assert {str(each) for each, *_ in found} == {str(head)}
    for place, alone in enumerate((rows, calls)):
        several = [[row for one in found for row in one[place + 1][column]] for column in range(len(alone))]
        assert several == alone


def test_weighted():
    """Worked in the docstring, of two processes."""
    values, weight, wanted = np.array([5.0, 1, 3]), np.array([2, 4, 1]), np.array([1, 4, 5, 7])

    def work(team):
        mine = slice(0, 1) if team.rank else slice(1, 3)
        return share_of(team).weighted(values[mine], weight[mine], wanted).tolist()

    assert [ALONE.weighted(values, weight, wanted).tolist(), *threaded.together(2, work)] == [[1, 1, 3, 5]] * 3


@pytest.mark.parametrize("spread", [0.0, 1e-12, 0.02, 1e6], ids=str)
@pytest.mark.parametrize("draw", ["normal", "standard_cauchy"])
def test_weighted__many(spread, draw):
    """Each is the first value, in their order, up to which the weights reach it: of many and few values, far apart, near and equal."""
    random = np.random.default_rng(3)
    for many in (1, 2, 7, 300, 9000):
        values, weight = 0.5 + spread * getattr(random, draw)(size=many), random.integers(1, 1000, many)
        values[random.random(many) < 0.4] = 0.5
        wanted = np.arange(1, weight.sum() + 1, max(int(weight.sum()) // 50, 1))
        order = np.argsort(values)
        slowly = [values[order][np.flatnonzero(weight[order].cumsum() >= each)[0]] for each in wanted]
        assert ALONE.weighted(values, weight, wanted).tolist() == slowly


QUESTIONS = [
    [],
    ["zero-wait all"],
    ["zero-wait e3,e7", "speed rank:1=3"],
    ["zero-time op:MPI_Sendrecv"],
    ["zero-transfer all"],
    ["speed rank:0-2=0.5", "zero-wait rank:1"],
    ["balance-time all"],
    ["balance-time between-collectives#2..3"],
    ["network L_ns=5", "zero-wait e3"],
    ["eager 1"],
    ["eager all"],
    ["progress in calls"],
]


def predicted(trace, asked, draws=20, model="default"):
    """Return what `mpiexec perwiz predict` says as JSON, and when its own calls are."""
    found = predict_together(trace, asked, model, draws=draws, keep_matches=True)
    own = found.trace.share.calls
    return to_json(report_together.document(found, 1)), (found.predicted.calls.enter[own], found.predicted.calls.leave[own])


def check_predict(trace, size, asked, **more):
    """Ask alone and by so many threads: nothing may differ, nor from what one process tells that keeps matches."""
    trace = tied_part(trace)
    said, times = predicted(trace, asked, **more)
    found = threaded.parts(size, trace, lambda part: predicted(part, asked, **more))
    assert {each for each, _ in found} == {said}
    for alone, *others in zip(times, *(own for _, own in found), strict=True):
        assert np.array_equal(np.concatenate(others), alone)
    alone = predict(trace, asked, more.get("model", "default"), draws=more.get("draws", 20), keep_matches=True)
    one, several = json.loads(to_json(predict_document(alone, 0))), json.loads(said)
    names = several.keys() & one.keys()
    assert {"predicted_span", "misfit", "zeroed", "processes", "waiting_predicted_ns", "calls_moved", "health"} <= names
    assert {name: several[name] for name in names} == {name: one[name] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), IN_TURN)
def test_predict__catalogue(name, size):
    trace = build.CATALOGUE[name]()
    questions = ([], ["zero-wait all"], ["speed rank:0=2"]) if len(trace.calls) else ([],)
    check_predict(trace, size, questions[IN_TURN.index((name, size)) % len(questions)])


@pytest.mark.parametrize("asked", QUESTIONS)
def test_predict__messages_and_collectives(asked):
    check_predict(busy(), 2 + 2 * (QUESTIONS.index(asked) % 2), asked)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("nested_regions", "scale solve=0.5"), ("halo", "scale step=3"), ("halo", "zero-wait step:step#1"), ("halo", "balance-time step#2")],
)
def test_predict__regions(name, asked):
    check_predict(build.CATALOGUE[name](), 2, [asked])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("alone all", "--alone: is not asked by several processes together, must be asked by one (without mpiexec)"),
        (
            "balance-time solve",
            "region 'solve': the trace has no user regions, must be marked in the program: PRGN_BEGIN (perwiz record"
            " --print-include), or functions that other tools record",
        ),
        ("distribute rank:2", "distribute rank:2: no process sends these to several others in turn"),
        ("zero-wait e999", "e999: no such call, the trace has calls e0 to e47"),
        ("zero-wait tag:9", "tag:9: no message has that tag, the trace has tags 0"),
        ("zero-poll all", "zero-poll all: these calls do not test or probe in vain"),
        ("speed rank:9=2", "rank:9: no such rank, the trace has ranks 0 to 5"),
    ],
)
def test_refused__question(asked, why):
    with pytest.raises(UsageError, match=f"^{re.escape(why)}$"):
        threaded.parts(3, busy(), lambda part: predict_together(part, asked, "default"))


NUMBERS = st.integers(-9, 9) | st.integers(0, 10**12)
"""Near each other, and far apart."""


@settings(max_examples=20)
@given(st.lists(st.lists(NUMBERS, max_size=6), min_size=1, max_size=4), st.sampled_from([0, 0.1, 0.25, 0.5, 1]))
def test_quantile(values, part):
    """Of all processes together as numpy has it of one."""
    values = [[0], *values]
    found = threaded.together(len(values), lambda team: share_of(team).quantile(np.array(values[team.rank], "i8"), part))
    assert set(found) == {float(np.quantile(np.concatenate(values), part))}


def share_of(team):
    """Return the share of a process in a trace of nothing but its team."""
    return cut(Builder(1).trace(), team).share


def moving(trace, model):
    """Return the number of the call that lets each message move, by number of the message."""
    trace = with_moved(trace, model, [])
    rows = trace.share.named(movers(trace, trace.timeline, model)).tolist()
    return dict(zip(getattr(trace.share, "message_rows", np.arange(len(rows))).tolist(), rows, strict=True))


def check_movers(trace, size, model):
    whole = moving(trace, model)
    for part in threaded.parts(size, trace, lambda part: moving(part, model)):
        assert part == {message: whole[message] for message in part}


@pytest.mark.slow
@settings(max_examples=15)
@given(build.programs(), st.integers(2, 4), st.sampled_from([{}, {"S": 5000, "inline_bytes": 100}]))
def test_movers__random(trace, size, limits):
    check_movers(trace, size, build.hand_model(progress="in calls", **limits))


def test_movers__a_call_that_only_the_receiver_has():
    """Sent at 100, let go at 5030 by a probe of the receiver, which is on another process; that is known there then."""
    b = Builder(2)
    b.wait(0, b.isend(0, 1, 200, at=(100, 110)), at=(120, 5030))
    got = b.irecv(1, 0, at=(0, 10))
    b.call(1, "Iprobe", at=(5000, 5010))
    b.wait(1, got, at=(10_000, 10_040))
    trace, model = b.trace(), build.hand_model(progress="in calls")
    assert moving(trace, model) == {0: 3}
    check_movers(trace, 2, model)
    check_info(trace, 2, model)


def test_fit__collectives_of_which_the_root_alone_says_the_bytes():
    """A broadcast of 800 bytes that only rank 3 counts costs the same under a model, whoever asks."""
    b = Builder(4)
    for number in range(6):
        b.everyone("Bcast", root=3, bytes=0, at=dict.fromkeys(range(4), (1000 * number, 1000 * number + 500)))
    trace = b.trace()
    sent = np.where(trace.calls.location == 3, 800, 0)
    trace = dataclasses.replace(trace, calls=dataclasses.replace(trace.calls, bytes_sent=sent))
    whole = sizes(trace).tolist()
    assert whole == [800] * 6
    assert threaded.parts(2, trace, lambda part: sizes(part).tolist()) == [whole] * 2
    check_info(trace, 2, None)


@pytest.mark.parametrize(("changes", "what"), [("progress=once posted", "progress=once posted"), ("interfaces=1", "interfaces")])
def test_refused__model(changes, what):
    why = f"{what} is not asked about by several processes together, must be by one \\(without mpiexec\\)"
    with pytest.raises(UsageError, match=f"^model default with {changes}: {why}$"):
        threaded.parts(2, busy(), lambda part: replayed(part, load("default").with_changes(changes)))


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
def test_correct__real(size):
    """Of 16 processes: 1780 of 9052 messages are received before they were sent, and gamma is found in several passes."""
    check_correct(files.read(str(TRACES / "p_m3.alog.gz")), size)


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
    """Return (calls, hubs) whose times cross when so many processes go through a graph once."""
    borders = threaded.parts(size, trace, lambda part: build_graph(part).border)
    bundles = [bundle for border in borders for step in border.steps for bundle in step.out]
    return sum(len(bundle.calls) for bundle in bundles), sum(len(bundle.hubs) for bundle in bundles)


def test_what_crosses():
    """Of the ring one message per process and turn. Of collectives: there and back; down; up home, down to the root; along the ranks.

    The k-th instance is at home on process k modulo their number: the broadcast on that of its root, the reduction not.
    """
    assert crossing(busy(), 1) == (0, 0)
    assert crossing(busy(), 2) == (4 * 2, 2 + 1 + (1 + 1) + 1)
    assert crossing(busy(), 3) == (4 * 3, 4 + 2 + (2 + 1) + 2)


def test_bounds__neighbours_together_and_even():
    b = Builder(5)
    for rank, calls in enumerate([1, 1, 1, 30, 30]):
        for _ in range(calls):
            b.call(rank, "Wtime")
    places, weight = b.trace().locations.process, np.array([4, 4, 4, 62, 62])
    assert bounds_of(places, weight, 2).tolist() == [0, 4, 5]
    many = bounds_of(places, weight, 9)
    assert (len(many), many[0], many[-1], (np.diff(many) >= 0).all()) == (10, 0, 5, True)


def test_refused__another_trace():
    """Two that differ in when rank 1 ends alone."""
    traces = [Builder(2), Builder(2)]
    for turn, b in enumerate(traces):
        b.call(0, "Wtime", at=(0, 10))
        b.call(1, "Wtime", at=(0, 10 + turn))
    one, other = (b.trace() for b in traces)
    why = "process 2 sees other files of it than process 0; all must see the same"
    with pytest.raises(TraceError, match=f"^built: {why}$"):
        threaded.together(3, lambda team: cut(other if team.rank == 2 else one, team))


def test_bounds__threads_stay_with_their_process():
    trace = build.CATALOGUE["threads"]()
    bounds = bounds_of(trace.locations.process, np.ones(len(trace.locations)), 2).tolist()
    own = [set(trace.locations.process[low:high].tolist()) for low, high in itertools.pairwise(bounds)]
    assert not own[0] & own[1]


def test_correct__more_processes_than_locations():
    check_correct(threaded.shifted(busy()), 9)


def test_correct__one_call_sends_to_several():
    """MPI_Startall: the earliest of the limits of what it sends holds."""
    for first, second in ((150, 130), (130, 150)):
        b = Builder(4)
        call = b.send(0, 1, at=(100, 110))
        b._send(call, 2, 8, 0, 0, "", call)
        b.recv(0, 3, at=(900, 1000))
        b.send(3, 0, at=(2000, 2010))
        b.recv(1, 0, at=(0, first))
        b.recv(2, 0, at=(0, second))
        check_correct(b.trace(), 4, mu=1)


@pytest.mark.parametrize("name", ["cycle_by_equal_stamps", "crossing"])
def test_circles_of_held_senders(name):
    """Several leave out the edges that one does."""
    trace, model = tied_part(build.CATALOGUE[name]()), load("default").with_changes("S_bytes=0")
    graphs = [replayed(trace, model).graph, *threaded.parts(2, trace, lambda part: replayed(part, model).graph)]
    counts = {(graph.contradictions, graph.let_go) for graph in graphs}
    assert len(counts) == 1
    assert counts != {(0, 0)}
    check_info(trace, 2, model)


def test_refused__circle(monkeypatch):
    with pytest.raises(TraceError, match=f"^built: {CIRCLE}$"):
        threaded.parts(2, build.CATALOGUE["cycle_of_messages"](), correct)
    monkeypatch.setattr(circles, "MOST", 1)
    many = "with [0-9]+ edges behind it, of which several processes tell 1 apart at most; must be asked of one \\(without mpiexec\\)"
    with pytest.raises(TraceError, match=f"^built: calls wait for each other in a circle, {many}$"):
        threaded.parts(2, build.CATALOGUE["cycle_of_messages"](), correct)


def test_refused__by_all():
    with pytest.raises(UsageError, match="gamma"):
        threaded.parts(3, busy(), lambda part: correct(part, gamma=2))
    with pytest.raises(UsageError, match="minimum latencies"):
        threaded.parts(3, busy(), lambda part: correct(part, mu=(3, 2, 1)))
