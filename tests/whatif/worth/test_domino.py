"""What to change first, worked by hand; the search against a recursive twin; and what every single call is worth."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import CATALOGUE, Builder, hand_model, traces
from falling import falling
from naive_domino import domino_paths
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import COUNTED, LISTED, Paths, Step, domino, domino_of, paths, ranked
from questions import Questions


def test_path__by_hand():
    """From rank 2: e5 (824) waits for e3, before which e2 gives 772; e2 waits for e0, before which nothing gains. From rank 1: e2."""
    found = domino(falling(), hand_model())
    assert found.value.tolist() == [834, 834, 772, 834, 834, 824]
    assert found.paths == Paths(trigger=2, makespan=772, count=2, listed=((2, 5), (2,)))
    assert (found.run.makespan, found.bound, found.path) == (834, 750, (2, 5))
    assert repr(found) == "<Domino of falling.alog: zero-wait e2: 834 ns becomes 772 ns>"


def test_steps__by_hand():
    """Without the wait of e2, e1 waits 62 less (252) and so does e5 (162)."""
    assert domino(falling(), hand_model()).steps() == [
        Step(number=1, call=2, partner=0, wait=62, wait_then=0, makespan=772, fewer=2, less=124, more=0),
        Step(number=2, call=5, partner=3, wait=224, wait_then=162, makespan=824, fewer=0, less=0, more=0),
    ]


def test_steps__as_many_as_asked_for():
    assert [step.call for step in domino(falling(), hand_model()).steps(1)] == [2]


def test_zero_time__by_hand():
    """The calls do nothing but wait."""
    found = domino(falling(), hand_model(), question="zero-time")
    assert (found.value.tolist(), found.path) == ([834, 834, 772, 834, 834, 824], (2, 5))


def test_ranked__what_gains_most_first():
    found = domino(falling(), hand_model())
    assert found.ranked(10).tolist() == [2, 5]
    assert found.ranked(1).tolist() == [2]
    assert found.ranked(0).tolist() == []


def test_ranked__of_equal_gains_the_shortest_wait_first():
    """e1 waits 314, e5 224, e2 62."""
    run = replayed(falling(), hand_model())
    value = np.array([834, 800, 800, 834, 834, 800])
    assert ranked(run, value, 3).tolist() == [2, 5, 1]
    assert ranked(run, value, 2).tolist() == [2, 5]


def test_ranked__what_does_not_wait_before_what_does():
    """A send that gives as much as e2 comes first, though it is behind it in the graph."""
    run = replayed(falling(), hand_model())
    assert ranked(run, np.array([834, 834, 800, 834, 800, 834]), 2).tolist() == [4, 2]


def test_path__ends_at_a_partner_that_is_best_itself():
    """Ring of sendrecv: e1 waits for e0 and e0 for e1, and both return at once. The search from one finds the other (Fig. 3, 18)."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for rank in (0, 1):
        b.compute(rank, 100)
        b.sendrecv(rank, 1 - rank, 1 - rank)
    run = replayed(b.trace(), hand_model())
    assert run.waits.partner.tolist() == [1, 0]
    assert paths(run, np.array([90, 90])).listed == ((0,), (1,))


def test_paths__very_many_are_counted_and_some_listed():
    """Two ranks exchange 40 rounds of messages; every wait gives the same, so each path may take each round or not."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for turn in range(40):
        for rank in (0, 1):
            b.compute(rank, 10 + 5 * (turn + rank) % 15)
            b.send(rank, 1 - rank)
            b.recv(rank, 1 - rank)
    run = replayed(b.trace(), hand_model())
    waits = run.waits.time > 0
    found = paths(run, np.where(waits, run.makespan - 1, run.makespan))
    assert (found.count, len(found.listed)) == (COUNTED, LISTED)
    assert len(set(found.listed)) == LISTED
    assert found.trigger in found.listed[0]


@pytest.mark.parametrize("name", ["empty", "one_process", "no_messages"])
def test_nothing_waits(name):
    found = domino(CATALOGUE[name]())
    assert (found.path, found.steps(), found.ranked(9).tolist()) == ((), [], [])
    assert found.paths == Paths(-1, found.run.makespan, 0, ())
    assert "no call" in repr(found)


def test_unknown_question():
    with pytest.raises(UsageError, match=r"^question 'no-wait': must be one of zero-wait, zero-time, advance$"):
        domino(falling(), question="no-wait")


@st.composite
def valued(draw):
    """Draw a random run and a value per call: few different ones, so that many are equal."""
    trace = draw(traces(regions=False))
    run = replayed(trace)
    few = st.integers(run.makespan - 2, run.makespan)
    return run, np.array(draw(st.lists(few, min_size=len(trace.calls), max_size=len(trace.calls))), "i8")


def naive(run, value):
    return domino_paths(run.trace.calls.location.tolist(), run.waits.partner.tolist(), value.tolist(), run.makespan)


@pytest.mark.slow
@given(valued())
def test_law__paths_are_those_of_the_recursion(pair):
    run, value = pair
    found, (least, expected) = paths(run, value), naive(run, value)
    assert (found.makespan, found.count) == (least, len(expected))
    if len(expected) <= LISTED:
        assert {path[::-1] for path in found.listed} == expected
        with_trigger = [path for path in expected if found.trigger in path]
        assert len(found.listed[0] if found.listed else ()) == max(map(len, with_trigger), default=0)
    assert not found.listed or found.trigger in found.listed[0]


@pytest.mark.slow
@given(traces())
@settings(max_examples=25)
def test_law__the_domino_paths_of_a_run(trace):
    """T is the least that any call alone gives; calls on a path follow one another in the happened-before order."""
    for question in worth.QUESTIONS:
        found = domino(trace, question=question)
        least, expected = naive(found.run, found.value)
        assert found.paths.makespan == least == min([found.run.makespan, *found.value.tolist()])
        assert found.bound <= least
        assert found.paths.count == len(expected)
        for path in found.paths.listed:
            order = found.run.graph.returned[list(path)].tolist()
            assert order == sorted(order)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - {"empty"}))
def test_law__every_value_is_what_predict_says(name):
    trace = CATALOGUE[name]()
    questions = Questions(trace)
    for question in worth.QUESTIONS:
        found = domino(trace, question=question)
        for call in range(min(len(trace.calls), 12)):
            assert questions.makespan(f"{question} e{call}") == found.value[call]
        if len(trace.calls):
            assert questions.makespan(f"{question} all") == found.bound


def test_changed__is_what_the_hypotheses_do():
    run = replayed(CATALOGUE["halo"]())
    for question, calls in itertools.product(worth.QUESTIONS, ([3], [1, 4, 7])):
        prediction = predict(run.trace, f"{question} {','.join(f'e{call}' for call in calls)}")
        after = worth.after(run, question, calls)
        assert after.makespan == worth.makespan_after(run, question, calls) == prediction.predicted.makespan
        assert np.array_equal(after.waits.time, prediction.waits_after.time)


def test_changed__leaves_the_run_alone():
    run = replayed(falling(), hand_model())
    before = dataclasses.replace(run.weighted, weight=run.weighted.weight.copy())
    worth.after(run, "zero-time", [2])
    domino_of(run)
    assert np.array_equal(run.weighted.weight, before.weight)


@pytest.mark.parametrize("name", ["master_worker", "waitall_of_three", "halo"])
def test_advance__every_value_is_what_predict_says(name):
    trace = CATALOGUE[name]()
    found = domino(trace, question="advance")
    for call in found.ranked(3).tolist():
        assert predict(trace, [f"advance e{call}"]).predicted.makespan == found.value[call]
    assert found.promise.tolist() == domino(trace).value.tolist()


def test_advance__only_the_most_promising_are_tried(monkeypatch):
    trace = CATALOGUE["master_worker"]()
    monkeypatch.setattr(worth, "TRIED", 1)
    found = domino(trace, question="advance")
    assert set(found.ranked(9).tolist()) <= set(domino(trace).ranked(1).tolist())


def test_advance__waits_are_those_of_the_recorded_calls():
    """The master of six tasks sends earlier what e18 waits for; predict knows the same waits, in the order of recorded calls."""
    trace = CATALOGUE["master_worker"]()
    run = replayed(trace)
    call = int(domino_of(run, "advance").ranked(1)[0])
    waits, predicted = worth.after(run, "advance", [call]).waits, predict(trace, [f"advance e{call}"]).waits_after
    assert (waits.time.tolist(), waits.partner.tolist()) == (predicted.time.tolist(), predicted.partner.tolist())


def points():
    """Return a run in which rank 0 takes two points in the wrong order.

    Rank 0: point a computes 1000 and sends to 2, point b computes 100 and sends to 1. Rank 1 waits for b until 1112 and computes 2000.
    If b runs before a, rank 1 has its message at 112 and ends at 2112 instead of 3112.
    """
    b = Builder(3, latency=12, per_byte=0, work=0)
    for other, time in ((2, 1000), (1, 100)):
        with b.region(0, "point"):
            b.compute(0, time)
            b.call(0, "Comm_rank", work=0)
            b.send(0, other)
    b.recv(1, 0)
    b.compute(1, 2000)
    b.recv(2, 0)
    return b.trace()


def test_advance__by_region():
    """Point b moves ahead of point a as a whole."""
    run = replayed(points(), hand_model())
    found = domino_of(run, "advance by point")
    call = int(found.ranked(1)[0])
    assert (run.makespan, call, found.paths.makespan) == (3112, 4, 2112)
    assert worth.hypothesis("advance by point", "e4") == "advance e4 by point"
    assert predict(points(), "advance e4 by point", hand_model()).predicted.makespan == 2112


@pytest.mark.parametrize("question", ["zero-wait by point", "by point"])
def test_advance__only_it_has_a_region(question):
    with pytest.raises(UsageError, match=f"^question '{question}': must be one of zero-wait, zero-time, advance$"):
        domino(points(), question=question)


def test_advance__unknown_region():
    with pytest.raises(UsageError, match=r"^region 'pint': no such region, the trace has point; did you mean point\?$"):
        domino(points(), question="advance by pint")


def test_advance__what_lies_outside_the_region_stays():
    """Rank 0 sends outside of any point."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    with b.region(0, "point"):
        b.compute(0, 100)
        b.call(0, "Comm_rank", work=0)
    b.send(0, 1)
    b.recv(1, 0)
    assert domino(b.trace(), hand_model(), question="advance by point").path == ()


def passing_so_far():
    """Return a builder of a run in which the wait that is worth something asks rank 0 to send ahead of a receive.

    A message takes o + L = 12 ns; calls do no work.

        rank 0  e0 receives from 1: 0 to 212; computes 300, e1 sends to 1 at 512, ends there
        rank 1  computes 200, e2 sends to 0 at 200, e3 receives from 0: 200 to 524, waits 324; computes 100, ends at 624

    e1 ahead of e0, with the 300 before it: it sends at 300, the message is there at 312 and rank 1 ends at 412.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.recv(0, 1)
    b.compute(0, 300)
    b.send(0, 1)
    b.compute(1, 200)
    b.send(1, 0)
    b.recv(1, 0)
    b.compute(1, 100)
    return b


def passing():
    return passing_so_far().trace("passing.alog")


def test_advance__what_passes_a_receive_is_told():
    run = replayed(passing(), hand_model())
    value, passed = worth.values(run, "advance")
    assert (run.makespan, value.tolist(), passed.tolist()) == (624, [624, 624, 624, 412], [0, 0, 0, 1])
    assert domino_of(run, "advance").path == (3,)


def test_ranked__by_gain_whatever_is_passed():
    """Behind `passing` rank 1 sends e7 at 624, computes 130 and receives e8; rank 0 receives e2 until 636, computes 60, asks for its rank
    (e3), computes 90 and sends e4 at 786, which is there at 798, 44 after 754; rank 1 then computes 100: 898.

    e4 ahead of e3 is in time: 854, and passes no receive. e1 ahead of the receive e0 gains 212, as before: 686; e7 ahead of e6 (for e2)
    gains 124: 774.
    """
    b = passing_so_far()
    b.recv(0, 1)
    b.compute(0, 60)
    b.call(0, "Comm_rank", work=0)
    b.compute(0, 90)
    b.send(0, 1)
    b.send(1, 0)
    b.compute(1, 130)
    b.recv(1, 0)
    b.compute(1, 100)
    found = domino_of(replayed(b.trace(), hand_model()), "advance")
    assert (found.run.makespan, found.value[[6, 2, 8]].tolist(), found.passed[[6, 2, 8]].tolist()) == (898, [686, 774, 854], [1, 1, 0])
    assert found.ranked(9).tolist() == [6, 2, 8]
    assert (found.paths.trigger, found.paths.makespan) == (6, 686)


def test_values__tell_how_many_are_tried():
    told = []
    worth.values(replayed(passing(), hand_model()), "advance", lambda done, total: told.append((done, total)))
    assert told
    assert told == [(number, told[0][1]) for number in range(1, told[0][1] + 1)]


def test_advance__counts_what_this_change_passes_and_no_earlier_one():
    """Behind the change there is nothing left to move, so no receive is passed by a second one."""
    run = replayed(passing(), hand_model())
    after = worth.after(run, "advance", [3])
    value, passed = worth.values(after, "advance")
    assert (after.makespan, value.min(), passed.tolist()) == (412, 412, [0, 0, 0, 0])
