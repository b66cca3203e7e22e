"""The report and the picture of balanced steps: worked by hand, and every awkward trace against the schema."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from build import CATALOGUE, Builder, hand_model
from documents import valid
from perwiz.report.balance import document as report
from perwiz.report.balance import plot as picture
from perwiz.trace.trace import Counts
from perwiz.whatif.limits.balance import balance


def sigma_misleads():
    """In a, ranks 1 and 2 compute 100 and 0; in b, ranks 0 and 3 compute 110 and 30: sigma 50 and 40, but rank 0 ends last."""
    b = Builder(4)
    b.barrier(at=[(0, 0)] * 4)
    for rank, name, ns in ((0, "b", 110), (1, "a", 100), (2, "a", 0), (3, "b", 30)):
        with b.region(rank, name):
            b.compute(rank, ns)
    return b.trace("misleading.alog")


def document(trace, *regions, steps=10):
    block = report.document(balance(trace, regions, hand_model(), clock="none"), steps)
    valid(block, "balance")
    return block


def test_document__by_hand():
    block = valid(document(sigma_misleads(), "a", "b"), "balance")
    assert block.pop("health")["incomplete"] is False
    assert block.pop("model")["name"] == "by hand"
    assert block.pop("misfit")["messages_lowered"] == 0
    none = {"least": 0, "mean": 0, "largest": 0, "sigma": 0, "imbalance": None}
    common = {"step": 1, "processes": 2, "sent_bytes": none, "balance_messages": None}
    assert block == {
        "version": 1,
        "command": "balance",
        "threads": False,
        "trace": "misleading.alog",
        "format": "built",
        "made_by": "measured",
        "recorded_ns": 110,
        "shares_of_ns": 110,
        "replay_error_ns": 0,
        "predicted_ns": 70,
        "predicted_span": {
            "least_ns": 70,
            "most_ns": 70,
            "sooner_ns": 0,
            "later_ns": 0,
            "varies": None,
            "others": [],
            "stops": [],
            "gain": None,
            "costs_ns": 0,
            "drawn": True,
            "alone_ns": None,
            "runs_ns": 0,
        },
        "best_span": {
            "least_ns": 100,
            "most_ns": 100,
            "sooner_ns": 0,
            "later_ns": 0,
            "varies": None,
            "others": [],
            "stops": [],
            "gain": None,
            "costs_ns": 0,
            "drawn": True,
            "alone_ns": None,
            "runs_ns": 0,
        },
        "machine": {"given": True, "estimates": [], "unknown": []},
        "gain_ns": 40,
        "regions": [
            {
                "region": name,
                "steps": 1,
                "balance_time": {"predicted_ns": ns, "gain_ns": 110 - ns},
                "balance_messages": None,
                "both": {"predicted_ns": ns, "gain_ns": 110 - ns},
            }
            for name, ns in (("a", 110), ("b", 100))
        ],
        "steps": [
            common
            | {
                "region": "b",
                "computation_ns": {"least": 30, "mean": 70, "largest": 110, "sigma": 40, "imbalance": 1.571429},
                "balance_time": {"predicted_ns": 100, "gain_ns": 10},
                "sigma_rank": 2,
            },
            common
            | {
                "region": "a",
                "computation_ns": {"least": 0, "mean": 50, "largest": 100, "sigma": 50, "imbalance": 2},
                "balance_time": {"predicted_ns": 110, "gain_ns": 0},
                "sigma_rank": 1,
            },
        ],
        "losing": None,
        "whole_program": [],
        "deadlocks": 0,
    }


def test_text__by_hand():
    lines = report.text(document(sigma_misleads(), "a", "b")).splitlines()
    assert lines[:19] == [
        "misleading.alog: balance a, b",
        "",
        "recorded      110 ns",
        "balanced      70 ns, gain 40 ns (36.4 %) if computation and messages of all 2 steps were balanced",
        "best step     computation of b#1: 100 ns, gain 10 ns (9.1 %)",
        "",
        "all steps of a region at once",
        "region  steps  computation   gain         messages  gain       both   gain",
        "a           1       110 ns   0 ns  0.0 %         -     -  -  110 ns   0 ns  0.0 %",
        "b           1       100 ns  10 ns  9.1 %         -     -  -  100 ns  10 ns  9.1 %",
        "",
        "steps by predicted gain (sigma: by how much computation differs, # its place by that)",
        "step  sigma  #  max/mean  computation   gain         messages  gain",
        "b#1   40 ns  2      1.57       100 ns  10 ns  9.1 %         -     -  -",
        "a#1   50 ns  1      2.00       110 ns   0 ns  0.0 %         -     -  -",
        "",
        "what a process computes and sends in these steps",
        "step  ranks  least   mean  largest  sent: least  mean  largest  sigma  max/mean",
        "b#1       2  30 ns  70 ns   110 ns          0 B   0 B      0 B    0 B         -",
    ]


def test_losing__who_is_late_gets_more():
    """Rank 0 computes 100 and nothing in c, rank 1 20 and 40 in c: half of that each, rank 0 ends at 120, and the run is 20 longer.

    In d, rank 2 computes 30 and rank 3 nothing: nobody waits for either, so that it loses nothing.
    """
    b = Builder(4)
    b.barrier(at=[(0, 0)] * 4)
    b.compute(0, 100)
    b.compute(1, 20)
    for rank, name, ns in ((0, "c", 0), (1, "c", 40), (2, "d", 30), (3, "d", 0)):
        with b.region(rank, name):
            b.compute(rank, ns)
    block = document(b.trace("late.alog"), "c", "d")
    assert block.losing == report.Losing(steps=1, region="c", step=1, loss_ns=20)
    told = "not to do     computation of c#1: loss 20 ns (20.0 %): a process that is late already would get more to do there"
    assert told in report.text(block).splitlines()


def in_main():
    """Return the same inside of main, in which each rank computes 5 more: of 260 in all it holds 260, b 140, a 100."""
    b = Builder(4)
    b.barrier(at=[(0, 0)] * 4)
    for rank, name, ns in ((0, "b", 110), (1, "a", 100), (2, "a", 0), (3, "b", 30)):
        with b.region(rank, "main"):
            b.compute(rank, 5)
            with b.region(rank, name):
                b.compute(rank, ns)
    return b.trace("main.alog")


def test_whole_program__is_no_step():
    """Balanced, main takes 65 and gains 50 of 115; b, the best of its steps, gains 10."""
    block = document(in_main(), "main", "a", "b")
    assert [(row.region, row.balance_time.gain_ns) for row in block.whole_program] == [("main", 50)]
    assert [(row.region, row.step, row.balance_time.gain_ns) for row in block.steps] == [("b", 1, 10), ("a", 1, 0)]
    shown = report.text(block)
    assert "\nwhole program computation of main#1: 65 ns, gain 50 ns (43.5 %) if balanced: all at once, no step to work at\n" in shown
    assert "\nbest step     computation of b#1: 105 ns, gain 10 ns (8.7 %)\n" in shown
    assert "\nmain#1 " not in shown


def test_whole_program__is_a_step_where_it_is_the_only_one():
    block = document(in_main(), "main")
    assert (block.whole_program, [row.region for row in block.steps]) == ([], ["main"])
    assert "\nbest step     computation of main#1: 65 ns, gain 50 ns (43.5 %)\n" in report.text(block)


def test_text__nothing_gains_and_no_steps():
    text = report.text(document(sigma_misleads(), "a"))
    assert "\nbest step     none: balancing any single step gains nothing\n" in text
    assert "\nsteps by" not in report.text(document(sigma_misleads(), "a", steps=0))


def test_text__messages_pay_more():
    """Rank 0 sends 41 bytes, rank 1 sends 9; see test_messages in tests/whatif/limits/test_balance.py: 70 becomes 66."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "step", at=(0, None)):
            b.send(rank, 1 - rank, (41, 9)[rank], at=((10, 13), (15, 18))[rank])
            b.recv(rank, 1 - rank, at=((30, 50), (20, 70))[rank])
    block = report.document(balance(b.trace(), ["step"], hand_model(G=1)), 1)
    assert "\nbest step     messages of step#1: 66 ns, gain 4 ns (5.7 %)\n" in report.text(block)


@pytest.mark.parametrize("name", [name for name, make in CATALOGUE.items() if make().names])
def test_every_awkward_trace(name):
    trace = CATALOGUE[name]()
    assert all(len(line) <= 140 for line in report.text(document(trace, *trace.names)).splitlines())


def test_incomplete__is_marked():
    trace = dataclasses.replace(sigma_misleads(), counts=Counts(unmatched_sends=1))
    assert report.text(document(trace, "a")).startswith("misleading.alog: balance a  (INCOMPLETE trace)\n")


def test_waits_that_were_not_recorded():
    trace = dataclasses.replace(sigma_misleads(), counts=Counts(bare=1))
    assert report.text(document(trace, "a", "b")).splitlines()[4] == (
        "              the waits of 1 call were not recorded: they count as computation"
    )


def test_deadlock__is_told():
    """Both send before they receive, 190 and 20 bytes; balanced both are synchronous."""
    b = Builder(2, eager=100)
    for rank in (0, 1):
        with b.region(rank, "step"):
            b.send(rank, 1 - rank, (190, 20)[rank])
            b.recv(rank, 1 - rank)
    assert "\ndeadlock      messages that balancing makes synchronous so that the program would stop: 1\n" in report.text(
        document(b.trace(), "step")
    )


@pytest.mark.slow
def test_plot__more_steps_than_columns(tmp_path, monkeypatch):
    """The same picture each time; regions beyond the first are left out."""
    monkeypatch.setattr(picture, "MOST_STEPS", 2)
    monkeypatch.setattr(picture, "MOST_REGIONS", 1)
    trace = CATALOGUE["nested_regions"]()
    found, paths = balance(trace, trace.names), [tmp_path / f"{k}.svg" for k in (1, 2)]
    for path in paths:
        picture.plot(found, str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size > 10_000


def test_cells():
    """Three rows and four steps in two by two cells: means of what is there, NaN where nothing is."""
    row, step = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 0, 2, 3])
    mean, tall, wide = picture.cells(np.array([1.0, 2, 6, 10, 20]), row, step, (2, 2))
    assert (tall, wide, mean[0, 0], mean[1, 1]) == (2, 2, 3, 15)
    assert math.isnan(mean[0, 1])
    assert math.isnan(mean[1, 0])


def test_text__threads_are_no_ranks():
    """Both threads of a process compute in a region."""
    b = Builder(1, work=0)
    other = b.thread(0)
    for thread, ns in ((0, 100), (other, 300)):
        with b.region(thread, "loop"):
            b.compute(thread, ns)
    b.team("omp_barrier", (0, other))
    told = report.text(document(b.trace(), "loop"))
    assert "what a thread computes and sends in these steps" in told
    assert "\nstep    threads " in told
