"""The report of lower bounds: one worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses

import pytest

from build import CATALOGUE, Builder, hand_model
from documents import valid
from perwiz.report.bound import document as report
from perwiz.trace.trace import Counts
from perwiz.whatif.limits.bound import bound


def late_sender():
    """Rank 1 waits 92 for rank 0, see tests/whatif/limits/test_bound.py."""
    b = Builder(2)
    b.compute(0, 100)
    b.send(0, 1, 1, at=(100, 110))
    b.compute(0, 40)
    b.compute(1, 20)
    with b.region(1, "reader"):
        b.recv(1, 0, at=(20, 120))
    b.compute(1, 10)
    return b.trace("late.alog")


def document(trace, *regions, **more):
    block = report.document(bound(trace, regions, more.pop("model", hand_model()), clock="none"))
    valid(block, "bound")
    return block


def test_document__by_hand():
    block = valid(document(late_sender()), "bound")
    assert block.pop("health")["incomplete"] is False
    assert block.pop("model")["name"] == "by hand"
    assert block.pop("misfit")["messages_lowered"] == 0
    regions = block.pop("regions")
    assert block == {
        "version": 1,
        "command": "bound",
        "trace": "late.alog",
        "format": "built",
        "made_by": "measured",
        "machine": {"given": True, "estimates": [], "unknown": []},
        "recorded_ns": 150,
        "shares_of_ns": 150,
        "replay_error_ns": 0,
        "user_regions": 1,
    }
    assert [(row["region"], row["parallel"], row["steps"], row["longest_ns"]) for row in regions] == [
        (None, False, 1, 150),
        ("reader", False, 1, 100),
    ]
    assert regions[0]["bounds"][3] == {"questions": ["zero-wait", "balance-time"], "time_ns": 95}
    assert regions[1]["processes"] == [
        {
            "rank": 1,
            "thread": 0,
            "computation_ns": 0,
            "other_ns": 0,
            "sending_ns": 0,
            "receiving_ns": 8,
            "collective_ns": 0,
            "waiting_ns": 92,
        }
    ]


def test_text__by_hand():
    lines = report.text(document(late_sender())).splitlines()
    assert lines[:12] == [
        "late.alog: lower bounds",
        "",
        "recorded      150 ns",
        "at least      150 ns, 0 ns (0.0 %) less, if nobody waited",
        "at least      94 ns, 56 ns (37.3 %) less, if computation and messages were balanced, too",
        "              bounds, no predictions: they sum recorded times and know no order of calls; see perwiz predict",
        "",
        "at least       steps  longest      Q1      Q2      Q3  Q1+Q2   Q1+Q3   Q2+Q3  Q1+Q2+Q3",
        "whole program          150 ns  150 ns  185 ns  149 ns  95 ns  149 ns  186 ns     94 ns",
        "reader             1   100 ns    8 ns  100 ns  100 ns   8 ns    8 ns  100 ns      8 ns",
        "",
        "longest       the largest sum of a process, from its first instant to its last, as recorded",
    ]
    assert "processes, reader" in lines
    assert "1     100 ns         0 ns   0 ns     0 ns       8 ns        0 ns    92 ns" in lines


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_awkward_trace(name):
    trace = CATALOGUE[name]()
    assert all(len(line) <= 140 for line in report.text(document(trace, *trace.names)).splitlines())


def test_no_regions__is_told():
    assert "\nregions       none: mark some with PRGN_BEGIN and PRGN_END" in report.text(document(CATALOGUE["ring"]()))
    assert "PRGN" not in report.text(document(late_sender()))


def test_incomplete__is_marked():
    trace = dataclasses.replace(late_sender(), counts=Counts(unmatched_sends=1))
    assert report.text(document(trace)).startswith("late.alog: lower bounds  (INCOMPLETE trace)\n")


def test_misfit__is_told():
    """At L = 200 the message that is sent at 100 would come at 302, not before 120."""
    text = report.text(document(late_sender(), model=hand_model(L=200)))
    assert "\nmisfit        messages that came faster than the model says: 1 of 1\n" in text
    assert "\nmisfit        messages that came faster than the model says: 0 of 1\n" in report.text(document(late_sender()))
    b = Builder(2)
    b.send(0, 1, 200, at=(0, 5))
    b.recv(1, 0, at=(100, 120))
    text = report.text(document(b.trace()))
    assert "\n              messages that hold their sender by the model, and did not: 1\n" in text


def test_many_processes__those_of_the_longest_sums():
    b = Builder(20)
    for rank in range(20):
        b.compute(rank, 1000 + rank)
    text = report.text(document(b.trace()))
    assert "\n4     1.004 us" in text
    assert "\n3     1.003 us" not in text
    assert "\nand 4 more, which take less (--json lists all)\n" in text


def test_waits_that_were_not_recorded():
    """They are in the computation: it may take less without them."""
    lines = report.text(document(dataclasses.replace(late_sender(), counts=Counts(bare=1)))).splitlines()
    assert lines[3:6] == [
        "at least      150 ns, 0 ns (0.0 %) less, if nobody waited as far as recorded",
        "at least      94 ns, 56 ns (37.3 %) less, if computation and messages were balanced, too",
        "              the waits of 1 call were not recorded: they count as computation",
    ]
