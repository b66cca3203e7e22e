"""The fewest changes that reach a target: by hand, and its laws. Times in ns; messages take 12, those above 100 bytes are held."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings

import build
from build import Builder, hand_model
from falling import falling
from perwiz.errors import UsageError
from perwiz.trace.trace import Counts
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import plan as plans
from perwiz.whatif.ranking.plan import plan, target
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.run import replayed
from questions import Questions


def planned(trace, wanted, model=None, **asked):
    return plan(rank(replayed(trace, model or hand_model(), clock="none"), **asked), wanted)


def told(found):
    return [(change.question, change.makespan) for change in found.changes]


def test_single_waits():
    """e2 first: 772. In the run without it e5, which gained 10 alone, gives 762; then e1, which gained nothing, 750."""
    found = planned(falling(), 765, kinds=["wait"], by="call")
    assert (found.reached, told(found)) == (True, [("zero-wait e2", 772), ("zero-wait e5", 762)])
    found = planned(falling(), 750, kinds=["wait"], by="call")
    assert (found.reached, told(found)[2:]) == (True, [("zero-wait e1", 750)])


def test_out_of_reach():
    found = planned(falling(), 700, kinds=["wait"], by="call")
    assert (found.reached, found.ended, found.changes[-1].makespan) == (False, True, 750)


def test_as_many_as_anybody_makes(monkeypatch):
    monkeypatch.setattr(plans, "MOST", 1)
    found = planned(falling(), 765, kinds=["wait"], by="call")
    assert (found.reached, found.ended, told(found)) == (False, False, [("zero-wait e2", 772)])


def test_a_large_trace_ends_the_search(monkeypatch):
    """Of a graph of so many edges one change is searched for, however few sweeps it would be; not if one is enough."""
    run = replayed(falling(), hand_model(), clock="none")
    monkeypatch.setattr(plans, "_EDGES", 2 * plans._SWEEPS * run.graph.edges)
    found = planned(falling(), 750, kinds=["wait"], by="call")
    assert (found.reached, found.ended, found.stopped, len(found.changes)) == (False, False, True, 2)
    monkeypatch.setattr(plans, "_EDGES", 1)
    found = planned(falling(), 765, kinds=["wait"], by="call")
    assert (found.stopped, told(found)) == (True, [("zero-wait e2", 772)])
    assert not planned(falling(), 772, kinds=["wait"], by="call").stopped
    assert not planned(falling(), 700, kinds=["protocol"]).stopped


def test_nothing_to_do():
    found = planned(falling(), 834)
    assert (found.reached, found.changes) == (True, ())


def test_waits_that_were_not_recorded():
    b = Builder(2, work=0)
    b.compute(0, 100)
    b.send(0, 1)
    found = planned(dataclasses.replace(b.trace(), counts=Counts(bare=2)), 50)
    assert (found.reached, found.changes) == (False, ())


def uneven_and_held():
    """Return a run whose rank 0 computes 1000 where rank 1 computes 200; then 0 sends 200 bytes, received 800 later, and computes 500."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(0, 1000)
    b.compute(1, 200)
    b.barrier()
    b.send(0, 1, 200)
    b.compute(0, 500)
    b.compute(1, 800)
    b.recv(1, 0)
    return b.trace()


def test_several_kinds():
    """Of 2300 balance takes 400, a higher limit 499; both together all compute 600 before the barrier, 650 behind it, and 1 is work."""
    found = planned(uneven_and_held(), 1500, kinds=["balance", "protocol"])
    assert found.reached
    assert sorted(change.kind for change in found.changes) == ["balance", "protocol"]
    assert predict(uneven_and_held(), [change.question for change in found.changes], hand_model()).predicted.makespan == 1251


def test_a_cause_that_reaches_the_target_goes_before_what_gains_more():
    """Balanced 1900; without messages that hold their sender 1812. Both reach 1950."""
    assert [change.kind for change in planned(uneven_and_held(), 1950, kinds=["balance", "protocol"]).changes] == ["balance"]
    assert [change.kind for change in planned(uneven_and_held(), 1850, kinds=["balance", "protocol"]).changes] == ["protocol"]


def uneven_and_late():
    """Return a run whose rank 0 computes 1000 where rank 1 computes 200; then 500 before its message, and rank 1 300 behind that.

    rank 0  ========== | ===== e1(send)          0 .. 1000 .. 1500
    rank 1  ==         | ~~~~~ e3(recv) ===      0 .. 1000 .. 1512 .. 1812
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1000)
    b.compute(1, 200)
    b.barrier()
    b.compute(0, 500)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 300)
    return b.trace()


@pytest.mark.parametrize(
    ("wanted", "reached", "feasible", "makespans"),
    [
        (1412, True, 1, [1412]),  # Balanced to 600 each, then 400 each: 600 + 400 + 12 + 400.
        (1500, True, 1, [1412]),  # A bound reaches it, too: without its wait rank 1 ends with rank 0, at 1500.
        (1100, True, 1, [1412, 1000]),
        (900, False, 1, [1412, 1000]),
    ],
)
def test_bounds_stand_behind_what_can_be_done(wanted, reached, feasible, makespans):
    found = planned(uneven_and_late(), wanted, kinds=["balance", "wait"])
    assert [change.makespan for change in found.changes] == makespans
    assert (found.reached, found.ended, len(found.feasible)) == (reached, not reached, feasible)
    assert [change.bound for change in found.changes] == [False, True][: len(makespans)]
    assert predict(uneven_and_late(), [change.question for change in found.changes], hand_model()).predicted.makespan == makespans[-1]


def test_no_bound_is_spare():
    """Only bounds: those of a site, of a rank and of one call say the same, and one of them is enough."""
    found = planned(uneven_and_late(), 1500, kinds=["wait"])
    assert (found.reached, len(found.changes), found.feasible) == (True, 1, ())


def test_two_that_can_be_done_go_before_a_bound(monkeypatch):
    """Where the search takes a bound, or finds nothing, and two of the first changes that somebody can do reach the target."""
    monkeypatch.setattr(plans, "_next", lambda *_: None)
    found = planned(uneven_and_held(), 1500, kinds=["balance", "protocol", "wait"])
    assert (found.reached, sorted(change.kind for change in found.changes)) == (True, ["balance", "protocol"])


def test_a_bound_that_alone_reaches_the_target(monkeypatch):
    monkeypatch.setattr(plans, "_next", lambda *_: None)
    assert told(planned(falling(), 772, kinds=["wait"], by="call")) == [("zero-wait e2", 772)]


def test_what_gains_less_than_a_thousandth_is_in_no_plan(monkeypatch):
    """e5, 10 of 834, is no more than a little then; but it reaches what is 10 less."""
    monkeypatch.setattr(plans, "_LITTLE", 50)
    assert told(planned(falling(), 750, kinds=["wait"], by="call")) == [("zero-wait e2", 772)]
    assert told(planned(falling(), 765, kinds=["wait"], by="call")) == [("zero-wait e2", 772), ("zero-wait e5", 762)]


def test_nothing_is_done_twice():
    """Two processes that compute longer, faster once: behind an order only the recorded run says how much."""
    b = Builder(4, latency=12, per_byte=0, work=0)
    for process, ns in enumerate([900, 800, 100, 200]):
        b.compute(process, ns)
    ranking = rank(replayed(b.trace(), hand_model()), kinds=["slowest"])
    assert {change.question.partition("=")[0] for change in ranking.changes} == {"speed rank:0", "speed rank:0-1"}
    assert plans._once(ranking.changes, ranking.changes[:1]) == []
    assert plans._behind(ranking.asker, ranking.changes[:1], ranking.changes[:1]) == []
    assert len(plans._pair(ranking.asker, [], ranking.changes, 900, 9)) == 0


def test_what_is_spare_is_left_out(monkeypatch):
    """Whatever comes first by the ranking is not needed if what comes behind reaches the target alone, or with fewer."""
    ranking = rank(replayed(falling(), hand_model()), kinds=["wait"], by="call")
    singles = {change.question: change for change in ranking.changes}
    turns = iter(["zero-wait e5", "zero-wait e2"])
    monkeypatch.setattr(
        plans, "_next", lambda asker, chosen, *_: dataclasses.replace(singles[next(turns)], makespan=770 if chosen else 824)
    )
    assert told(plan(ranking, 773)) == [("zero-wait e2", 772)]


def test_a_pair_instead_of_three(monkeypatch):
    ranking = rank(replayed(falling(), hand_model()), kinds=["wait"])
    monkeypatch.setattr(plans, "_needed", lambda asker, before, chosen, wanted: list(chosen) * 3)
    monkeypatch.setattr(plans, "_pair", lambda asker, before, changes, *_: tuple(changes[:2]))
    assert [change.question for change in plan(ranking, 760).changes] == [change.question for change in ranking.changes[:2]]


def test_says_how_many_there_are():
    heard = []
    plan(rank(replayed(falling(), hand_model()), kinds=["wait"], by="call"), 750, lambda *pair: heard.append(pair))
    assert heard == [(1, 20), (2, 20), (3, 20)]


@pytest.mark.parametrize(
    ("text", "makespan"),
    [
        ("1.25x", 800),
        ("2x", 500),
        ("80%", 800),
        ("80 %", 800),
        ("33.3%", 333),
        ("2.5s", 2_500_000_000),
        (".5us", 500),
        ("7ns", 7),
        ("1ms", 1_000_000),
    ],
)
def test_target__is_a_makespan(text, makespan):
    assert target(text, 1000) == makespan


@pytest.mark.parametrize("text", ["", "fast", "1.3", "x", "0x", "-2x", "1e3s", "0%", "99999999999999999999s"])
def test_target__no_such(text):
    said = rf"^target '{text}': must be like 1.3x \(times as fast\), 80% \(of the recorded time\) or 2.5s \(s, ms, us, ns\)$"
    with pytest.raises(UsageError, match=said):
        target(text, 1000)


def check(trace, model=None):
    questions = Questions(trace, model)
    ranking = rank(questions.run(()))
    now, best = ranking.run.makespan, min((change.makespan for change in ranking.changes), default=ranking.run.makespan)
    for wanted in (best, (now + best) // 2, best // 2):
        found = plan(ranking, wanted)
        asked = [change.question for change in found.changes]
        makespans = [questions.makespan(*asked[:number]) for number in range(1, len(asked) + 1)]
        assert makespans == [change.makespan for change in found.changes], asked
        assert found.reached == ((makespans[-1] if makespans else now) <= wanted)
        assert found.reached or wanted < best
        assert len(set(asked)) == len(asked)
        kept = len(found.feasible) % len(asked) if asked else 0
        if found.reached and len(asked) > 1:
            for number in range(kept, len(asked) - 1):
                others = [text for place, text in enumerate(asked) if place != number]
                assert questions.makespan(*others) > wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(5, 0))
def test_law__a_plan_is_what_predict_says__catalogue(name):
    check(build.CATALOGUE[name]())


@pytest.mark.slow
@settings(max_examples=15)
@given(build.traces())
def test_law__a_plan_is_what_predict_says(trace):
    check(trace)
