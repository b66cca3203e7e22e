"""How changes stand where processes shared processors in the recorded run, by hand."""

from __future__ import annotations

import pytest

from build import Builder, hand_model, held_by_chance, shared
from perwiz.report.domino import document as report
from perwiz.report.domino.first import first_line, pays
from perwiz.report.domino.text import text
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.worth.domino import domino


def told(trace, most=9, **settings):
    found = domino(trace, hand_model(), "none")
    return report.document(found, rank(found.run, **settings), most)


@pytest.fixture(scope="module")
def block():
    return told(shared(held_by_chance()))


def test_the_first_change_is_not_what_waiting_for_a_processor_makes(block):
    """Eager messages gain 9 * 500 + 10 * (28 - 12) - 8, most of it only as rank 1 is late; twice as fast rank 0 gains 5000 alone, and 2750
    as rank 1 is late.
    """
    gains = {"--eager 256": (4652, 260), "--speed rank:0=2": (2750, 5000)}
    for trace, first in ((held_by_chance(), "--eager 256"), (shared(held_by_chance()), "--speed rank:0=2")):
        found = told(trace) if trace.properties == {} else block
        assert first_line(found).head.change == first
        of = {line.head.change: (line.head.gain_ns, line.span.alone_ns) for line in found.ranked}
        assert {change: of[change][0] for change in gains} == {change: gain for change, (gain, _) in gains.items()}
    assert {change: of[change] for change in gains} == gains


def test_text(block):
    said = " ".join(text(block).split())
    assert "(rank 0, 2 times as fast): gain 2.750 us (16.2 %), 5.000 us if each process had a processor of its own, between" in said
    assert (
        "260 ns 260 ns 4.652 us protocol --eager 256 messages of up to 256 bytes are eager gains more than line 1, but most of that" in said
    )
    assert "--eager 256 gains most in 100.0 % of 200 resampled runs, this in 0.0 %, but most of that is waiting for a processor" in said
    assert "order: the largest unshared gain; where each of two" in said


def test_what_only_waiting_for_a_processor_makes_does_not_pay():
    """260 of 17000 are more than a hundredth, 169 are not."""
    found = told(shared(held_by_chance()), kinds=["protocol"])
    assert pays(found)
    found.ranked[0].span.alone_ns = 169
    assert not pays(found)
    said = "--eager 256 gains 4.652 us (27.4 %) as recorded, but most of that is waiting for a processor: 169 ns if each process had"
    assert f"none that pays: {said}" in " ".join(text(found).split())


def test_one_line_is_the_first_of_all():
    assert [line.head.change for line in told(shared(held_by_chance()), most=1).ranked] == ["--speed rank:0=2"]


def test_who_is_slow_in_a_region_stands_once():
    """Rank 1 loads 7000 in each of ten steps, rank 0 1000, and once 5000 by chance: a mean of 1400 as recorded, and of 1000 else."""
    b = Builder(2, work=0)
    for step in range(10):
        for process, ns in enumerate((5000 if step == 4 else 1000, 7000)):
            with b.region(process, "load"):
                b.compute(process, ns)
        b.barrier()
    lines = told(shared(b.trace())).ranked
    assert [line.head.change for line in lines if "load@" in line.head.change] == ["--scale load@rank:1=0.2"]
