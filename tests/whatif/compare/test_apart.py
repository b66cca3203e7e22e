"""How far two runs of one program lie apart by chance: against the ranges of both, and where nothing tells it."""

from __future__ import annotations

import dataclasses

import pytest

from build import Builder, hand_model
from perwiz.trace.origin import Origin
from perwiz.whatif.compare.apart import apart
from perwiz.whatif.compare.compare import compare
from perwiz.whatif.compare.reasons import reasons
from perwiz.whatif.predict import predict

TIMES = (100, 130, 80, 110, 70, 120) * 2
"""What both ranks compute before each barrier, ns."""


def run(times):
    b, now = Builder(2), 50
    for rank in (0, 1):
        b.call(rank, "Init", at=(0, now))
    for time in times:
        b.barrier(at=[(now + time, now + time + 10)] * 2)
        now += time + 10
    return b.trace()


def found_apart(first, second, **settings):
    comparison = compare(first, second, clock="none", **settings)
    return apart(comparison, reasons(comparison, hand_model()).runs)


def around(trace):
    """Return how far another run may lie from the recorded one, before and behind it, as `predict` tells it."""
    return predict(trace, ["speed rank:0=1"], hand_model(), clock="none").span.around


def test_apart__of_runs_that_vary_alike():
    """Twelve barriers of 1330 ns in all, and the same with 20 ns more before the last: what one run tells is what both do, nearly."""
    first, second = run(TIMES), run((*TIMES[:-1], 140))
    found, one, other = found_apart(first, second), around(first), around(second)
    assert found.difference == 20
    assert found.most == round(((one.most**2 + other.least**2) / 2) ** 0.5)
    assert found.most > 20
    assert found.within
    back = found_apart(second, first)
    assert (back.difference, back.most) == (-20, found.most)


def test_apart__recordings_differ_by_more_than_repeats():
    """Of 600 barriers, all after 1000 or 1001 ns, half a nanosecond each is chance, some 50 in all: 1 % is what recordings differ by, 3 %
    not.
    """
    times = [1000, 1001] * 300
    assert found_apart(run(times), run([time + 10 for time in times])).within
    assert not found_apart(run(times), run([time + 30 for time in times])).within


def test_apart__beyond():
    found = found_apart(run(TIMES), run([4 * time for time in TIMES]))
    assert found.difference == 3 * sum(TIMES)
    assert not found.within


def test_apart__even_runs_are_alike():
    found = found_apart(run([100] * 12), run([100] * 12))
    assert (found.difference, found.most, found.within) == (0, 0, True)


@pytest.mark.parametrize("settings", [{"start": "e3"}, {"stop": "e3"}])
def test_apart__of_a_part_is_not_told(settings):
    assert found_apart(run(TIMES), run(TIMES), **settings) is None


def test_apart__is_not_told_by_few_or_by_predictions():
    """Three barriers repeat too little. Of predictions, and of an error, nothing is chance."""
    assert found_apart(run(TIMES[:3]), run(TIMES)) is None
    assert found_apart(run(TIMES), run(TIMES[:3])) is None
    one = run(TIMES)
    made = dataclasses.replace(one, timeline=dataclasses.replace(one.timeline, origin=Origin("predicted", hypotheses=("zero-wait e9",))))
    assert found_apart(made, made) is None
    assert found_apart(made, one) is None
