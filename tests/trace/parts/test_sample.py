"""Iterations that stand for all of a run: worked by hand."""

from __future__ import annotations

import pytest

import build
from kinetos import Rank, put
from perwiz.formats import files
from perwiz.trace.parts import sample as module
from perwiz.trace.parts.cut import Chosen, undisturbed
from perwiz.trace.parts.sample import sample, sampled

LONG = "all 40 (4.000 us), whose 80 calls take long to ask about"
ALIKE = "the mean of each process is that of all, in calls and between them, within 0.0 %"
TOLD = f"{LONG}: {ALIKE}; calls (e12) are numbered in these alone; --iterations all asks of all"


@pytest.fixture(autouse=True)
def any_run(monkeypatch):
    """Let no run be too short for a part of it, which is 16 iterations then."""
    monkeypatch.setattr(module, "MANY", 0)
    monkeypatch.setattr(module, "_ENOUGH", 0)
    monkeypatch.setattr(module, "_LEAST", 16)


def steps(computes, begins=0):
    """Return steps of two ranks, which meet in a barrier when the longer one has computed; 10 ns later the next begins.

    rank 0  computes 60 | barrier 40 ns |      100 ns each, if `computes` is (60, 90)
    rank 1  computes 90    | 10 ns |
    """
    b, now = build.Builder(2), begins
    if begins:
        for rank in range(2):
            b.call(rank, "Comm_rank", at=(0, begins))
    for both in computes:
        stop = now + max(both) + 10
        for rank in range(2):
            b.enter(rank, "step", at=now)
        b.barrier(at=[(now + ns, stop) for ns in both])
        for rank in range(2):
            b.leave(rank, "step", at=stop)
        now = stop
    return b.trace("run.alog")


def test_even():
    """Any 16 are like all 40: the first are taken. What is made of them says so."""
    trace = steps([(60, 90)] * 40)
    found = sample(trace)
    assert (found.chosen, found.count, found.lasts, found.differs) == (Chosen(1, 16), 40, 4000, 0.0)
    part = sampled(trace, found)
    assert (part.path, part.part, len(part.calls), part.timeline.makespan) == ("run.alog iterations 1..16", "iterations 1..16", 32, 1600)
    assert part.properties == {"stands for": TOLD}


def test_nearest():
    """The last 16 take 101 ns each, all others 99: all 40 take 99.8 each, and 16 with six of the last do, so those from the 15th on."""
    found = sample(steps([(60, 89)] * 24 + [(60, 91)] * 16))
    assert found.chosen == Chosen(15, 30)
    assert found.differs == pytest.approx(abs(99.75 - 99.8) / 99.8)


NOT = {
    "pauses": [(60, 90)] * 30 + [(60, 590)] + [(60, 90)] * 9,  # of 112.5 ns each: 12 % longer than others, and one of 16 shorter
    "slow for a while": [(60, 90)] * 20 + [(90, 60)] * 20,  # each as long, but with others in the barrier: 16 with eight of both are alike
    "few": [(60, 90)] * 31,
}


@pytest.mark.parametrize("computes", [NOT["pauses"], NOT["few"]], ids=["pauses", "few"])
def test_none(computes):
    assert sample(steps(computes)) is None


def test_slow_for_a_while():
    """Rank 0 computes less in twenty iterations, rank 1 in the others: only those around the change are like all."""
    found = sample(steps(NOT["slow for a while"]))
    assert (found.chosen, found.differs) == (Chosen(13, 28), 0.0)


def test_slow_in_turn():
    """Each is slow in a third, and a third is even: no 16 in a row have as much of each."""
    assert sample(steps([(60, 90)] * 14 + [(90, 90)] * 14 + [(90, 60)] * 14)) is None


@pytest.mark.parametrize(("begins", "stands"), [(200, True), (250, False)])
def test_beginning(begins, stands):
    """Iterations of 4000 ns are 95 % of a run whose beginning takes 210 ns."""
    assert (sample(steps([(60, 90)] * 40, begins)) is not None) == stands


def test_short_run(monkeypatch):
    monkeypatch.setattr(module, "MANY", 81)
    assert sample(steps([(60, 90)] * 40)) is None
    monkeypatch.setattr(module, "MANY", 80)
    assert sample(steps([(60, 90)] * 40)) is not None


def test_enough_calls(monkeypatch):
    """Two calls an iteration: 33 calls are those of 17."""
    monkeypatch.setattr(module, "_ENOUGH", 33)
    assert sample(steps([(60, 90)] * 40)).chosen == Chosen(1, 17)
    monkeypatch.setattr(module, "_ENOUGH", 41)
    assert sample(steps([(60, 90)] * 40)) is None


def test_disturbed_last_step(tmp_path):
    """Of 40 steps the last takes 400 us, the others 90: 16 stand for the 39, and both is told."""
    ranks = [Rank(rank) for rank in range(2)]
    for rank in ranks:
        for k in range(40):
            rank.note(f"ProfilerStep#{k}", 100 * k, 400 if k == 39 else 90).op("aten::mm", 100 * k + 10, 80)
            rank.nccl("AllReduce", 100 * k + 20, 100 * k + 30, 20, k)
    trace = files.read(put(tmp_path / "job", *ranks))
    end = undisturbed(trace)
    found = sample(trace, end)
    assert (end, found.count, found.lasts) == (39, 39, 3_890_000)
    told = sampled(trace, found, end).properties
    assert told["stands for"].startswith("all 39 (3.890 ms), ")
    assert told["left out"].startswith("iteration 40 (400.0 us); ")
