"""One fix after the other, worked by hand; and laws of both orders."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from build import CATALOGUE, hand_model, traces
from falling import falling
from perwiz.errors import UsageError
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.greedy import by_gain, by_wait, greedy


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


def test_advance__each_fix_reorders_the_program_before():
    trace = CATALOGUE["master_worker"]()
    run = replayed(trace)
    fixes = greedy(run, 3, "advance")
    spans = [fix.makespan for fix in fixes]
    assert fixes
    assert spans == sorted(spans, reverse=True)
    for k, fix in enumerate(fixes, 1):
        assert predict(trace, [one.hypothesis for one in fixes[:k]]).predicted.makespan == fix.makespan


@pytest.mark.slow
@given(traces())
@settings(max_examples=20)
def test_law__each_fix_gains_and_the_last_leaves_none_that_does(trace):
    run = replayed(trace)
    fixes = greedy(run, 100)
    spans = [run.makespan, *(fix.makespan for fix in fixes)]
    assert all(one > other for one, other in itertools.pairwise(spans))
    assert spans[-1] >= worth.bound(run, "zero-wait")
