"""Sets of calls that pay, with their calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import hand_model, traces
from falling import falling
from perwiz.whatif import selectors
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.families import FAMILIES
from perwiz.whatif.worth.groups import gaining


def test_by_hand():
    """Rank 1 waits 62, which is worth 772; rank 2 224, worth 824; rank 0 waits 314, worth nothing."""
    run = replayed(falling(), hand_model())
    found = gaining(run, "rank", "zero-wait", 9)
    assert [(group.choice.name, group.wait, group.makespan) for group in found] == [("rank 1", 62, 772), ("rank 2", 224, 824)]
    assert [group.choice.calls.tolist() for group in found] == [[2, 3, 4], [5]]
    assert [group.choice.hypothesis for group in found] == ["zero-wait rank:1", "zero-wait rank:2"]
    assert [group.choice.name for group in gaining(run, "rank", "zero-wait", 1)] == ["rank 1"]


def test_says_how_far_it_is():
    heard = []
    gaining(replayed(falling(), hand_model()), "rank", "zero-wait", 9, lambda *pair: heard.append(pair))
    assert heard[-1][0] == heard[-1][1] > 0


@pytest.mark.slow
@given(traces(), st.sampled_from(sorted(FAMILIES)))
@settings(max_examples=25)
def test_law__calls_are_those_of_the_set(trace, family):
    run = replayed(trace)
    for question in worth.QUESTIONS:
        for group in gaining(run, family, question, 99):
            assert worth.makespan_after(run, question, group.choice.calls) == group.makespan < run.makespan
            assert run.waits.time[group.choice.calls].sum() == group.wait
            if group.choice.hypothesis:
                chosen = selectors.calls(run.trace, group.choice.hypothesis.partition(" ")[2])
                assert np.flatnonzero(chosen).tolist() == group.choice.calls.tolist()
