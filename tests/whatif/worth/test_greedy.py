"""One fix after the other, worked by hand; and laws of both orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from build import CATALOGUE, hand_model, traces
from falling import falling
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.greedy import MOST, by_gain, by_wait, greedy, plan, target
from perwiz.whatif.worth.groups import Choice


@pytest.fixture
def run():
    return replayed(falling(), hand_model())


def told(fixes):
    return [(fix.name, fix.waited, fix.makespan, fix.waiting) for fix in fixes]


def test_by_gain__by_hand(run):
    """e2 first: e1 waits 252, e5 162, rank 2 ends last at 772. Then only e5 shortens rank 2 (610), rank 0 ends at 762. Then e1: 750."""
    assert told(greedy(run, 9)) == [("e2", 62, 772, 414), ("e5", 162, 762, 252), ("e1", 252, 750, 0)]
    assert told(greedy(run, 2)) == [("e2", 62, 772, 414), ("e5", 162, 762, 252)]


def test_by_wait__by_hand(run):
    """The longest waits: e1 gains nothing, as rank 2 still ends at 834; e5 then leaves rank 1, which ends at 812; e2 only comes last."""
    assert told(greedy(run, 9, choose=by_wait)) == [("e1", 314, 834, 286), ("e5", 224, 812, 62), ("e2", 62, 750, 0)]


def test_by_gain__hypotheses_are_those_of_predict(run):
    fixes = greedy(run, 9)
    assert [fix.hypothesis for fix in fixes] == ["zero-wait e2", "zero-wait e5", "zero-wait e1"]
    for k in range(1, 4):
        asked = [fix.hypothesis for fix in fixes[:k]]
        assert predict(falling(), asked, hand_model()).predicted.makespan == fixes[k - 1].makespan


def test_by_gain__with_sets(run):
    """All receives at once gain most: 750, as none waits then."""
    assert told(greedy(run, 9, choose=by_gain("zero-wait", "routine"))) == [("MPI_Recv", 600, 750, 0)]
    assert told(greedy(run, 1, choose=by_gain("zero-wait", "rank"))) == [("e2", 62, 772, 414)]


def test_by_gain__a_call_before_a_set_that_gives_no_more(run):
    """Rank 1 has only one wait, that of e2."""
    assert greedy(run, 1, choose=by_gain("zero-wait", "rank"))[0].calls.tolist() == [2]


def test_by_gain__unknown_family(run):
    with pytest.raises(UsageError, match=r"^family 'guess': must be one of site, routine, "):
        greedy(run, 1, choose=by_gain("zero-wait", "guess"))


def test_plan__by_hand(run):
    """765 needs two fixes."""
    found = plan(run, 765)
    assert (found.target, found.reached, found.calls.tolist()) == (765, True, [2, 5])
    assert told(found.fixes) == [("e2", 62, 772, 414), ("e5", 162, 762, 252)]


def test_plan__leaves_out_what_is_spare(run):
    """e0 does not wait, so 765 is reached without it."""
    choices = iter([Choice(f"e{call}", f"zero-wait e{call}", np.array([call])) for call in (0, 2, 1, 5)])
    found = plan(run, 765, choose=lambda _: next(choices))
    assert told(found.fixes) == [("e2", 62, 772, 414), ("e5", 162, 762, 252)]


def test_plan__nothing_to_do(run):
    found = plan(run, 834)
    assert (found.reached, found.fixes, found.calls.tolist()) == (True, (), [])


def test_plan__out_of_reach(run):
    found = plan(run, 700)
    assert (found.reached, found.fixes[-1].makespan, len(found.fixes)) == (False, 750, 3)


def test_plan__as_many_as_allowed(run):
    found = plan(run, 765, most=1)
    assert (found.reached, told(found.fixes)) == (False, [("e2", 62, 772, 414)])


def test_plan__tells_how_many_there_are(run):
    heard = []
    plan(run, 750, tell=lambda *pair: heard.append(pair))
    assert heard == [(1, 0), (2, 0), (3, 0)]


def test_advance__each_fix_reorders_the_program_before():
    trace = CATALOGUE["master_worker"]()
    run = replayed(trace)
    fixes = greedy(run, 3, "advance")
    spans = [fix.makespan for fix in fixes]
    assert fixes
    assert spans == sorted(spans, reverse=True)
    for k, fix in enumerate(fixes, 1):
        assert predict(trace, [one.hypothesis for one in fixes[:k]]).predicted.makespan == fix.makespan


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
def test_target(text, makespan):
    assert target(text, 1000) == makespan


@pytest.mark.parametrize("text", ["", "fast", "1.3", "x", "0x", "-2x", "1e3s", "0%", "99999999999999999999s"])
def test_target__no_such(text):
    said = rf"^target '{text}': must be like 1.3x \(times as fast\), 80% \(of the recorded time\) or 2.5s \(s, ms, us, ns\)$"
    with pytest.raises(UsageError, match=said):
        target(text, 1000)


@pytest.mark.slow
@given(traces())
@settings(max_examples=20)
def test_law__each_fix_gains_and_the_last_leaves_none_that_does(trace):
    run = replayed(trace)
    fixes = greedy(run, MOST)
    spans = [run.makespan, *(fix.makespan for fix in fixes)]
    assert all(one > other for one, other in itertools.pairwise(spans))
    assert spans[-1] >= worth.bound(run, "zero-wait")


@pytest.mark.slow
@given(traces())
@settings(max_examples=20)
def test_law__no_fix_of_a_plan_is_spare(trace):
    run = replayed(trace)
    wanted = (run.makespan + worth.bound(run, "zero-wait")) // 2
    found = plan(run, wanted)
    if found.reached:
        assert worth.makespan_after(run, "zero-wait", found.calls) <= wanted
        for fix in found.fixes[:-1]:
            assert worth.makespan_after(run, "zero-wait", [e for e in found.calls if e not in fix.calls]) > wanted
