"""Two runs beside each other: worked by hand, the common start, laws, refusals."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perwiz
from build import CATALOGUE, Builder, hand_model, traces
from perwiz.errors import TraceError, UsageError
from perwiz.trace.origin import MEASURED
from perwiz.trace.tables import Times
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.predict import predict


def late_sender(work=1000, init=(0, 0), extra=False, path="late.alog"):
    """Rank 1 waits for rank 0, which computes; then it computes itself for 58 ns.

    rank 0  init ========= send                                 init .. init + work .. + 10
    rank 1  init recv ~~~~~~~~~ ===  (and a barrier if `extra`)   init .. init + work + 42 .. + 58
    """
    b = Builder(2)
    if any(init):
        for rank in (0, 1):
            b.call(rank, "Init", at=(0, init[rank]))
    begin = max(init)
    b.send(0, 1, 1, at=(begin + work, begin + work + 10))
    with b.region(1, "solve", at=(begin, begin + work + 100)):
        b.recv(1, 0, at=(begin, begin + work + 42))
    if extra:
        b.barrier(at=[(begin + work + 100, begin + work + 110)] * 2)
    return b.trace(path)


def columns(spans):
    return list(zip(spans.first.tolist(), spans.second.tolist(), strict=True))


def test_by_hand():
    """The work shrinks from 1000 to 400: the send comes 600 earlier, the receive is 600 shorter, and a barrier of 10 ns is new."""
    found = compare(late_sender(), late_sender(400, extra=True))
    assert (found.first.makespan, found.second.makespan, found.difference) == (1100, 510, -590)
    assert (found.kind, found.reference is found.first, found.share) == ("change", True, -590 / 1100)
    assert (found.alignment.first.tolist(), found.alignment.second.tolist()) == ([0, 1], [0, 2])
    enter, leave, duration = found.calls()
    assert columns(enter) == [(1000, 400), (0, 0)]
    assert columns(leave) == [(1010, 410), (1042, 442)]
    assert columns(duration) == [(10, 10), (1042, 442)]
    end, span = found.ends()
    assert columns(end) == columns(span) == [(1010, 510), (1100, 510)]


def steps(times, init=50, end=10, names=("Init", "Finalize")):
    """Both ranks compute so long before each of their barriers, 10 ns each; MPI_Init returns after `init`, MPI_Finalize takes `end`."""
    b, now = Builder(2), init
    for rank in (0, 1) if names[0] else ():
        b.call(rank, names[0], at=(0, init))
    for time in times:
        b.barrier(at=[(now + time, now + time + 10)] * 2)
        now += time + 10
    if names[1]:
        b.everyone(names[1], at=[(now + 5, now + 5 + end)] * 2)
    return b.trace()


def verdict(first, second, *asked, start=None, stop=None):
    return compare(first, second, start, asked or ("speed rank:0=1",), hand_model(), "none", stop).verdict


STEPS = (100, 100, 100, 100, 100, 100)
"""With their barriers 660 ns, and 5 up to MPI_Finalize."""


@pytest.mark.parametrize(("times", "outside"), [(STEPS, 0), ((107, *STEPS[1:]), 7), ((96, 99, *STEPS[2:]), -5)])
def test_verdict__without_start_and_end(times, outside):
    """Steps that take equally long leave no span: what MPI_Init and MPI_Finalize take in the other run says nothing about it."""
    found = verdict(steps(STEPS), steps(times, init=7000, end=300))
    assert (found.predicted, found.span.least, found.span.most) == (665, 665, 665)
    assert (found.measured, found.outside) == (665 + outside, outside)


def test_verdict__of_the_span_that_predict_tells():
    """It reaches as far to both sides as that of the whole run."""
    trace = steps((100, 130, 90, 100, 120, 80))
    whole = perwiz.predict(trace, ["speed rank:0=2", "speed rank:1=2"], hand_model(), clock="none")
    found = verdict(trace, steps((50, 65, 45, 50, 60, 40)), "speed rank:0=2", "speed rank:1=2")
    rest = whole.predicted.makespan - found.predicted
    assert whole.span.least < whole.predicted.makespan < whole.span.most
    assert (found.span.least + rest, found.span.most + rest) == (whole.span.least, whole.span.most)


@pytest.mark.parametrize(("names", "predicted"), [((None, None), 710), (("Init", None), 660), ((None, "Finalize"), 715)])
def test_verdict__of_what_both_runs_show(names, predicted):
    assert verdict(steps(STEPS, names=names), steps(STEPS, names=names)).predicted == predicted


def test_verdict__of_the_calls_of_both():
    """Only one run shows MPI_Init and MPI_Finalize: from the entry of the first barrier to the return of the last."""
    assert verdict(steps(STEPS), steps(STEPS, names=(None, None))).predicted == 560
    assert verdict(steps(STEPS), steps(STEPS), start="start").predicted == 665


def test_verdict__none():
    """Without hypotheses, from another instant, and where nothing repeats."""
    trace = steps(STEPS)
    assert compare(trace, trace).verdict is None
    assert verdict(trace, trace, start="e1") is None
    assert verdict(trace, trace, stop="e3") is None
    assert verdict(steps(STEPS[:2]), steps(STEPS[:2])) is None


def test_start__where_the_last_process_left_init():
    """MPI_Init returns after 50 and 70 in the one run, 500 and 300 in the other: it is not compared, and what follows is the same."""
    one, other = late_sender(init=(50, 70)), late_sender(init=(500, 300))
    found = compare(one, other)
    assert (found.begin.word, found.first.start, found.second.start, found.difference) == ("init", 70, 500, 0)
    assert found.compared.tolist() == [1, 3]
    assert all(not (spans.first - spans.second).any() for spans in (*found.calls(), *found.ends()))
    assert compare(one, other, "start").difference == 430
    assert len(compare(one, other, "start").compared) == 4


def test_start__a_call():
    """From the return of e0, the send: 90 ns are left in both runs; the receive is entered before, in both."""
    found = compare(late_sender(), late_sender(400), "e0")
    assert (found.first.start, found.second.start, found.difference) == (1010, 410, 0)
    assert found.compared.tolist() == [1]
    assert [columns(spans) for spans in found.calls()] == [[(0, 0)], [(32, 32)], [(32, 32)]]


def test_start__over_before_it_in_one_run():
    """Rank 0 returns at 100 in both; rank 1 at 50 in the one, at 150 in the other: it counts, as 0 and 50."""
    runs = []
    for end in (50, 150):
        b = Builder(2)
        b.call(0, "Comm_rank", at=(0, 100))
        b.call(1, "Comm_rank", at=(0, end))
        runs.append(b.trace())
    found = compare(*runs, "e0")
    assert found.compared.tolist() == [1]
    assert columns(found.calls()[2]) == [(0, 50)]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("init", "--from init: late.alog shows no MPI_Init, must be start, a call, a region or a routine"),
        ("begin", "--from begin: not in late.alog, must be start, begun, init, a call, a region or a routine of both"),
        ("e7", "--from e7: no such call, late.alog has calls e0 to e3"),
        ("e1", "--from e1: other.alog does not have this call, must be one of both runs"),
    ],
)
def test_start__that_is_none(start, message):
    with pytest.raises(UsageError) as refused:
        compare(late_sender(extra=True), late_sender(path="other.alog"), start)
    assert str(refused.value) == message


def test_bounds__only_one_run_shows_init_and_finalize():
    """The same run, recorded with MPI_Init, its skew and MPI_Finalize, and without: from the first to the last call of both."""
    bare = late_sender()
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 50 + rank))
    b.send(0, 1, 1, at=(1500, 1510))
    with b.region(1, "solve", at=(500, 1600)):
        b.recv(1, 0, at=(500, 1542))
    for rank in (0, 1):
        b.call(rank, "Finalize", at=(1700, 1800))
    for runs in ((bare, b.trace()), (b.trace(), bare)):
        found = compare(*runs)
        assert (found.begin.word, found.end.word) == ("common", "common")
        assert (found.difference, found.first.makespan, len(found.compared)) == (0, 1042, 2)
        assert all(not (spans.first - spans.second).any() for spans in found.calls())


def test_bounds__a_run_that_hung_behind_init():
    """Whichever of the two it is, it is named."""
    b = Builder(2)
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, 50))
    whole, hung = late_sender(init=(50, 70)), b.trace("hung.alog")
    for runs in ((whole, hung), (hung, whole)):
        with pytest.raises(UsageError) as refused:
            compare(*runs)
        assert str(refused.value) == "hung.alog: no call behind MPI_Init, must have some to be compared (did its run hang?)"


@pytest.mark.parametrize(
    ("start", "stop", "spans"),
    [
        ("solve", "solve", [(0, 1100), (0, 500)]),
        ("solve#1", "MPI_Recv#1", [(0, 1042), (0, 442)]),
        ("MPI_Send", "end", [(1000, 1100), (400, 500)]),
        ("start", "e0", [(0, 1010), (0, 410)]),
        ("common", "common", [(0, 1042), (0, 442)]),
    ],
)
def test_bounds__by_name(start, stop, spans):
    """The first process enters, the last leaves: a region or a routine."""
    found = compare(late_sender(), late_sender(400), start, stop=stop)
    assert [(side.start, side.stop) for side in found.sides] == spans
    assert found.difference == spans[1][1] - spans[1][0] - (spans[0][1] - spans[0][0])


@pytest.mark.parametrize(
    ("start", "stop", "message"),
    [
        (
            "solv",
            None,
            "--from solv: not in late.alog, must be start, begun, init, a call, a region or a routine of both; did you mean solve?",
        ),
        (None, "start", "--to start: not in late.alog, must be end, a call, a region or a routine of both"),
        ("solve#2", None, "--from solve#2: late.alog has solve#1 to solve#1, must be one of them"),
        ("e0", "e0", "--from e0 --to e0: nothing lies between them in late.alog, must be in the order of time"),
        ("e0", "xyz", "--to xyz: not in late.alog, must be end, a call, a region or a routine of both"),
    ],
)
def test_bounds__that_are_none(start, stop, message):
    with pytest.raises(UsageError) as refused:
        compare(late_sender(extra=True), late_sender(path="other.alog"), start, stop=stop)
    assert str(refused.value) == message


def test_hypotheses():
    """Without waits the receive keeps its 30 ns of work, and 58 ns follow: 88, but rank 0 computes until 1010. So it comes out."""
    b = Builder(2)
    b.send(0, 1, 1, at=(1000, 1010))
    with b.region(1, "solve"):
        b.recv(1, 0, at=(0, 30))
        b.compute(1, 58)
    found = compare(late_sender(), b.trace("after.alog"), None, ["zero-wait e1"], hand_model(), "none")
    assert (found.first.makespan, found.second.makespan) == (1010, 1010)
    assert columns(found.calls()[2]) == [(10, 10), (30, 30)]
    assert (found.hypotheses, found.machine.model.name) == ((ZeroWait("e1"),), "by hand")
    assert str(found.first.timeline.origin) == "predicted under zero-wait e1"
    assert compare(late_sender(), late_sender()).machine is None


def test_clocks_are_corrected():
    """A receive recorded before its send is put forward in either run, unless the clocks are to be left alone."""
    trace = CATALOGUE["clock_violation_message"]()
    found = compare(trace, trace)
    assert found.first.health.correction is not None
    assert found.calls()[1].first.max() > trace.timeline.makespan - trace.timeline.calls.enter.min()
    assert compare(trace, trace, clock="none").first.timeline is trace.timeline


def test_other_programs():
    b = Builder(2)
    b.barrier()
    with pytest.raises(TraceError) as refused:
        compare(late_sender(), b.trace("other.alog"))
    assert str(refused.value) == "late.alog, other.alog: none of 2 and 2 calls is the same, must be runs of one program"


def test_more_processes():
    b = Builder(3)
    b.barrier()
    other = b.trace()
    b = Builder(2)
    b.barrier()
    found = compare(b.trace(), other)
    assert [len(spans.first) for spans in found.ends()] == [2, 2]


def test_repr():
    assert repr(compare(late_sender(), late_sender(400))) == "<Comparison of late.alog (1100 ns) with late.alog (500 ns)>"


def test_public_name():
    assert perwiz.compare is compare


def test_share__of_nothing():
    """One run takes no time."""
    still = Builder(1, work=0)
    still.call(0, "Barrier")
    trace = still.trace()
    moving = Builder(1, work=5)
    moving.call(0, "Barrier")
    assert compare(trace, moving.trace()).share == float("inf")
    assert compare(moving.trace(), trace).share == -1
    assert compare(trace, trace).share == 0


@pytest.mark.parametrize("name", CATALOGUE)
def test_law__a_run_is_itself(name):
    trace = CATALOGUE[name]()
    found = compare(trace, trace)
    assert (found.difference, found.share, len(found.compared)) == (0, 0, len(trace.calls))
    assert all(not (spans.first - spans.second).any() for spans in (*found.calls(), *found.ends()))


def shifted(trace, ns):
    """Return the trace with all times later by some ns."""
    tables = {name: getattr(trace.timeline, name) for name in ("calls", "regions", "locations")}
    later = {name: Times(times.enter + ns, times.leave + ns) for name, times in tables.items()}
    return dataclasses.replace(trace, timeline=dataclasses.replace(trace.timeline, **later))


@pytest.mark.slow
@given(traces(), st.integers(0, 10**12))
def test_law__when_a_run_began_is_nothing(trace, ns):
    found = compare(shifted(trace, ns), trace, clock="none")
    assert found.difference == 0
    assert all(not (spans.first - spans.second).any() for spans in (*found.calls(), *found.ends()))


@pytest.mark.slow
@given(traces())
def test_law__errors_and_changes(trace):
    """An error is predicted minus measured either way round, a change the other way round has the other sign."""
    other = perwiz.predicted_trace(perwiz.predict(trace, ["network L_ns=90000"], clock="none"))
    one, back = compare(trace, other, clock="none"), compare(other, trace, clock="none")
    more = back.first.makespan - back.second.makespan
    assert [(found.kind, found.difference, found.share) for found in (one, back)] == [("error", more, back.share)] * 2
    other = dataclasses.replace(other, timeline=dataclasses.replace(other.timeline, origin=MEASURED))
    one, back = compare(trace, other, clock="none"), compare(other, trace, clock="none")
    assert [(found.kind, found.difference) for found in (one, back)] == [("change", more), ("change", -more)]


def test_the_model_is_that_of_the_prediction():
    """Sends follow one another each 1600 where the model keeps 100000 between them: the gap is applied in neither."""
    b = Builder(2)
    for _ in range(10):
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
    trace, model = b.trace(), hand_model(g=100_000, gap="sending call")
    told = compare(trace, trace, hypotheses="zero-wait all", model=model).machine.model
    assert told.gap == predict(trace, "zero-wait all", model).machine.model.gap == "none"
