"""The change that a question asks for: what is said of it is what the list of changes says. Times in ns; messages take 12."""

from __future__ import annotations

import pytest

from build import CATALOGUE, Builder, hand_model
from falling import falling
from farms import farm, lengths
from perwiz.formats.files import read
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.asked import change_of
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import slowest
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.ranking.situations import cured, situation
from perwiz.whatif.run import replayed
from samples import TRACES

MADE = {
    "falling": falling,
    "farm": lambda: farm(lengths(12)),
    **{name: CATALOGUE[name] for name in ("threads", "windows", "all_collectives", "late_receiver", "nested_regions")},
}
RECORDED = {name: lambda name=name: read(str(TRACES / name)) for name in ("srtest.alog", "team-static.alog.gz", "training-balanced")}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MADE, *RECORDED])
def test_law__the_list_and_the_question_say_the_same(name):
    run = replayed((MADE | RECORDED)[name](), hand_model() if name in MADE else None, "none")
    changes = [change for change in rank(run).changes if change.kind != "placement"]
    assert changes
    for change in changes:
        asked = change_of(run, parse(change.question))
        assert asked is not None, change.question
        assert (asked.kind, situation(run, asked)) == (change.kind, situation(run, change)), change.question


@pytest.mark.parametrize("text", ["scale all=0.5", "speed rank:1=2", "speed rank:0-2=2", "balance-messages all", "zero-time all"])
def test_no_change_of_the_list(text):
    """Rank 1 computes no longer than the others; calls of several kinds are no site; of costs no list tells."""
    b = Builder(3)
    b.compute(0, 3000)
    b.send(0, 1)
    b.recv(1, 0)
    b.reduce(0)
    assert change_of(replayed(b.trace(), hand_model(), "none"), parse(text)) is None


def test_who_is_slow():
    """Of 300, 600, 600 and 100: rank 1, ranks 1 and 2, and ranks 0 and 1 compute longer than the mean of 400; rank 0 does not."""
    b = Builder(4, work=0)
    for process, ns in enumerate((300, 600, 600, 100)):
        b.compute(process, ns)
    b.barrier()
    run = replayed(b.trace(), hand_model(), "none")
    asked = {text: change_of(run, parse(f"speed {text}=2")) for text in ("rank:1", "rank:1-2", "rank:0-1", "rank:0")}
    assert {text: change and situation(run, change) for text, change in asked.items()} == {
        "rank:1": "slow process",
        "rank:1-2": "slow processes",
        "rank:0-1": "slow processes",
        "rank:0": None,
    }


def loading(*loads):
    """Of each process how long it loads in each step, ns, before all meet."""
    b = Builder(len(loads), work=0)
    for step in zip(*loads, strict=True):
        for process, ns in enumerate(step):
            with b.region(process, "load"):
                b.compute(process, ns)
        b.barrier()
    return replayed(b.trace(), hand_model(), "none")


def test_who_is_slow_in_a_region():
    """Rank 1 takes 70 in each of three steps, the others 10: 60 are gained in each. Ranks 0 and 1 together are not one rank alone; nor is
    rank 1 in one of three steps, or a rank that takes just twice as long; one that takes 60 times as long does what no other does.
    """
    run = loading((10, 10, 10), (70, 70, 70), (10, 10, 10))
    found = {change.question: change for change in slowest(Asker(run))}
    one = found["scale load@rank:1=0.1429"]
    assert (one.what, one.by) == ("rank 1 as long as others, not 7.0 times, in load", "rank")
    assert run.makespan - one.makespan == 180
    assert situation(run, one) == "process slow in a region"
    asked = change_of(run, parse(one.question))
    assert asked is not None
    assert (asked.kind, asked.by, situation(run, asked)) == (one.kind, one.by, "process slow in a region")
    assert change_of(run, parse("scale load@rank:1=2")) is change_of(run, parse("scale load=0.5")) is None
    assert one.makespan == min(change.makespan for change in found.values())
    others = [((70,) * 3, (70,) * 3, (10,) * 3), ((10,) * 3, (10, 10, 900), (10,) * 3), ((10,) * 3, (20,) * 3, (10,) * 3)]
    for other in (*others, ((10,) * 3, (600,) * 3, (10,) * 3)):
        assert not [change for change in slowest(Asker(loading(*other))) if change.word == "scale"]


def test_one_process_has_no_others_to_be_slower_than():
    """Its thread loads 10 where it loads 70, in each of three steps: no rank is alone in that."""
    b = Builder(1, work=0)
    thread = b.thread(0)
    for _ in range(3):
        for location, ns in ((0, 70), (thread, 10)):
            with b.region(location, "load"):
                b.compute(location, ns)
        b.team("omp_implicit_barrier", (0, thread))
    assert slowest(Asker(replayed(b.trace(), hand_model(), "none"))) == []


def test_a_late_receiver_that_an_eager_limit_cures_holds_its_sender():
    """As in the list, where `eager` is in the line of the wait: 1000 each, one after the other."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.recv(1, 0)
    trace = b.trace()
    assert predict(trace, "zero-wait e0", hand_model(), clock="none").situation == "held sender"
    run = replayed(trace, hand_model(), "none")
    line = rank(run).bounds[0] if rank(run).bounds else rank(run).lines[0]
    others = [change for change in (*line.includes, *line.part, line.change) if change.kind == "protocol"]
    assert others
    assert cured("late receiver", others) == "held sender" != cured("late receiver", [])
    assert predict(trace, ["zero-wait e0", "speed rank:1=2"], hand_model(), clock="none").situation is None
