"""One list of everything that could be changed: by hand, and its laws. Times in ns; messages take 12, those above 100 bytes are held."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import numpy as np
import pytest
from hypothesis import given, settings

import build
from build import Builder, hand_model, shared
from falling import falling
from kinetos import devices_in_stages, put
from perwiz.errors import UsageError
from perwiz.formats.files import read
from perwiz.formats.kineto.names import GRADIENT_READY, UNUSED
from perwiz.loggps.links.shapes import fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.machine import Machine, Unknown
from perwiz.report.domino.document import document
from perwiz.report.domino.limits import uneven
from perwiz.trace.trace import Counts
from perwiz.whatif import ranking
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking import order, steps
from perwiz.whatif.ranking import ranking as lines
from perwiz.whatif.ranking.change import Asker
from perwiz.whatif.ranking.computation import _class
from perwiz.whatif.ranking.plan import plan
from perwiz.whatif.ranking.ranking import ANEW, BY, rank
from perwiz.whatif.ranking.serving import HALF
from perwiz.whatif.ranking.situations import situation
from perwiz.whatif.run import replayed
from perwiz.whatif.sure import span as sure
from perwiz.whatif.sure.answers import answered
from perwiz.whatif.worth.domino import domino_of
from questions import Questions

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def ranked(trace, model=None, **settings):
    return rank(replayed(trace, model or hand_model(), clock="none"), **settings)


def first_come(steps=8):
    """Return rank 0 hearing ranks 3, 2 and 1 from anybody, step after step: they compute 1000, 6000 and 12000, it 1000 behind each.

    as fast as the mean, rank 1 sends before rank 2    kept, 0 hears rank 2 first all the same, and computes twice behind that
                                                       anew, it hears rank 1 first, and computes while rank 2 does
    """
    b = Builder(4, latency=12, per_byte=0, work=1000)
    for _ in range(steps):
        for process, length in enumerate((12000, 6000, 1000), 1):
            b.compute(process, length)
            b.send(process, 0, 50)
        for process in (3, 2, 1):
            b.recv(0, process, wildcard=True)
            b.compute(0, 1000)
        b.everyone("Barrier")
    return b.trace()


@pytest.mark.parametrize("asked", [99, 0])
def test_changes_under_which_receives_take_other_messages(monkeypatch, asked):
    """The first lines, of bounds the first, are worth what `predict` answers; where that is not asked, they say that it is not."""
    trace = first_come()
    monkeypatch.setattr("perwiz.whatif.ranking.ranking.most", lambda run: asked)
    found = ranked(trace)
    turned = [line.change for line in (*found.lines[:ANEW], *found.bounds[:1]) if line.change.turned]
    for change in turned:
        anew, kept = (predict(trace, [change.question], hand_model(), clock="none", keep_matches=keep) for keep in (False, True))
        assert change.makespan == (kept if change.kept is None else anew).predicted.makespan
        assert change.kept in (None, kept.predicted.makespan)
    assert "speed rank:1=2.182" in [change.question for change in turned]
    assert any(change.kept not in (None, change.makespan) for change in turned) == (asked > 0)
    assert [line.change.makespan for line in found.lines] == sorted(line.change.makespan for line in found.lines)


def halo(steps=4, slow=600):
    """Return a ring of four in which rank 2 computes longer in every step: 300 for the others."""
    b = Builder(4, latency=12, per_byte=0, work=0)
    for _ in range(steps):
        for process in range(4):
            b.compute(process, slow if process == 2 else 300)
            b.send(process, (process + 1) % 4)
            b.recv(process, (process - 1) % 4)
    return b.trace()


def test_imbalance_comes_first_and_what_it_makes_wait_is_said():
    """The waits of the others gain nothing, as rank 2 never waits: all compute 375 a step and wait 12, or rank 2 alone computes 375."""
    found = ranked(halo())
    assert found.run.makespan == 4 * 600 + 12
    assert [(change.question, change.makespan) for change in found.changes][:2] == [("speed rank:2=1.6", 1512), ("balance-time all", 1548)]
    line = found.lines[0]
    assert (line.change.question, [change.question for change in line.more]) == ("balance-time all", ["speed rank:2=1.6"])
    fall = found.fall(line.change)
    assert (fall.site, fall.before) == (("MPI_Recv", "", ""), found.run.waits.time.sum())
    assert fall.after < fall.before / 10


def test_the_cause_goes_before_what_says_the_same():
    """In the second of two barriers rank 1 comes 100 late, which waits of the others say, too, and so does an order."""
    b = Builder(3, work=0)
    b.compute(1, 300)
    b.barrier()
    b.compute(0, 200)
    b.barrier()
    found = ranked(b.trace())
    assert found.run.makespan == 500
    assert {change.question: change.makespan for change in found.changes}["balance-time between-collectives"] == 100 + 67
    assert found.lines[0].change.question == "balance-time between-collectives"


def test_an_order_is_not_tried_where_its_graphs_are_too_large(monkeypatch):
    trace, calm = falling(), Builder(1)
    calm.compute(0, 100)
    monkeypatch.setattr(order, "ROOM", 19)
    assert ranked(trace).not_tried == {}
    monkeypatch.setattr(order, "ROOM", 18)
    why = f"{len(trace.calls)} calls are too many for it in this list; perwiz domino --question advance lists single calls (without -q)"
    assert ranked(trace).not_tried == {"order": why}
    assert ranked(trace, kinds=["wait"]).not_tried == {}
    assert ranked(halo(steps=1), kinds=["order"]).not_tried != {}
    assert ranked(calm.trace()).not_tried == {}


def test_an_order_is_not_tried_where_the_trace_tells_what_needs_what():
    """Rank 1 could send before what it receives, which would gain; a schedule says that it cannot."""
    b = Builder(3, work=0)
    b.compute(0, 1000)
    b.send(0, 1)
    b.recv(1, 0)
    b.send(1, 2)
    b.recv(2, 1)
    free = b.trace()
    assert "order" in {change.kind for change in ranked(free).changes}
    needs = "a schedule in GOAL tells which operations need which"
    fixed = ranked(dataclasses.replace(free, properties={"dependences": needs}))
    assert fixed.not_tried["order"] == f"{needs}: no call is moved ahead of another"
    assert "order" not in {change.kind for change in fixed.changes}


def test_held_senders():
    """Rank 0 sends 200 bytes to who comes 1000 late: eager, it computes its 1000 meanwhile."""
    b = Builder(2, latency=12, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 1000)
    b.recv(1, 0)
    found = ranked(b.trace(), kinds=["protocol"])
    assert found.run.makespan == 2000
    told = {change.question: change.makespan for change in found.changes}
    assert told == {"eager 256": 1001, "eager site:MPI_Send": 1012, "eager all": 1012}
    assert [change.question for change in found.lines[0].includes] == ["eager site:MPI_Send", "eager all"]


@pytest.mark.parametrize("edges", [1000, 0])
def test_held_senders__that_gain_less_than_an_eager_limit(edges, monkeypatch):
    """Held, rank 0 goes on at 1000 and computes 2000. Not held it ends first: rank 1 has the message 600 later, and computes 1200. Only
    eager it is there before rank 1 is; but the library may have that limit already. All messages are those of its call site, as long as
    they gain the same, whether or not pairs of changes may be swept.
    """
    monkeypatch.setattr(lines, "_EDGES", edges)
    b = Builder(2, latency=600, per_byte=0, eager=100, work=0)
    b.compute(1, 1000)
    b.send(0, 1, 200)
    b.compute(0, 2000)
    b.recv(1, 0)
    b.compute(1, 1200)
    found = ranked(b.trace(), hand_model(L=598), kinds=["protocol"])
    told = [(line.change.question, line.change.makespan) for line in found.lines]
    assert (found.run.makespan, told) == (3000, [("eager 256", 2201), ("eager site:MPI_Send", 2800)])
    assert [change.question for change in found.lines[1].includes] == ["eager all"]


def test_slow_neighbours():
    """Of 300, 700, 600, 200 and 200 the second and third take 650 in the mean, all 400: 1.625 times as fast the second takes 430.77."""
    b = Builder(5)
    for process, ns in enumerate([300, 700, 600, 200, 200]):
        b.compute(process, ns)
    told = {change.by: (change.question, change.makespan) for change in ranked(b.trace(), kinds=["slowest"]).changes}
    assert told["class"] == ("speed rank:1-2=1.625", 431)
    assert _class(np.array([2.0, 2, 2])) == (0, 0)


def test_who_only_deals_out_is_in_no_mean():
    """Rank 0 deals out once and collects; 300, 300 and 600 make a mean of 400: as fast as that the third takes 200 less. If one process
    alone computes, the mean is that of all.
    """
    run = replayed(dealt([300, 300, 600]).trace(), hand_model(), "none")
    ranking = rank(run, kinds=["slowest"])
    head = ranking.lines[0].change
    assert (head.question, run.makespan - head.makespan) == ("speed rank:3=1.5", 200)
    found = uneven(ranking.asker, head)
    assert (found.rank, found.excess_ns) == (3, 200)
    assert [line.change.question for line in ranked(dealt([0, 0, 600]).trace(), kinds=["slowest"]).lines] == ["speed rank:3=4"]


def dealt(work):
    """Rank 0 sends each of the others a piece, they compute so long, ns, and send back what came out."""
    b, workers = Builder(len(work) + 1, latency=12, per_byte=0, work=0), range(1, len(work) + 1)
    for worker, ns in zip(workers, work, strict=True):
        b.send(0, worker)
        b.recv(worker, 0)
        b.compute(worker, ns)
        b.send(worker, 0)
    for worker in workers:
        b.recv(0, worker)
    return b


def test_most_are_no_class():
    """Five of six compute 500 and one 100: that most should be as fast as the mean is balance; four of six are a class."""
    for slow, told in (([500, 500, 500, 500, 500, 100], False), ([500, 500, 500, 500, 100, 100], True)):
        b = Builder(len(slow))
        for process, ns in enumerate(slow):
            b.compute(process, ns)
        changes = ranked(b.trace(), kinds=["slowest"]).changes
        assert ("class" in {change.by for change in changes}) == told


def test_network_and_nodes():
    """Node n0 computes 400 and 200, n1 100 and 100; then a message of 12, of which L is 10, from the slower node to the other."""
    b = Builder(4, latency=12, per_byte=0, work=0)
    for process, ns in enumerate([400, 200, 100, 100]):
        b.compute(process, ns)
    b.send(0, 3)
    b.recv(3, 0)
    found = ranked(build.placed(b.trace(), [0, 0, 1, 1]), kinds=["network", "slowest"])
    told = {change.question: change.makespan for change in found.changes}
    assert told == {
        "speed rank:0=2": 212,
        "speed node:n0=1.5": 267 + 12,
        "network L_ns=5.0": 407,
        "network L_ns=0": 402,
    }


def sent(**costs):
    """A message of 100 bytes from rank 0, which computes 1000; 12 and what `costs` say for a byte."""
    b = Builder(2, latency=12, per_byte=costs.get("G", 0), work=0)
    b.compute(0, 1000)
    b.send(0, 1, 100)
    b.recv(1, 0)
    return b.trace()


def test_network__what_costs_nothing_is_not_halved():
    """Of L alone, of both, and of G alone what can be made faster is named, and no key is set that says nothing."""
    told = {}
    for name, model in {"L": hand_model(), "G": hand_model(L=0, G=1), "both": hand_model(G=1)}.items():
        found = ranked(sent(G=float("G" in name or name == "both")), model, kinds=["network"])
        told[name] = [(change.question.removeprefix("network "), change.what) for change in found.changes]
        assert not found.not_tried
    assert told["L"] == [("L_ns=0", "no latency"), ("L_ns=5.0", "half the latency")]
    assert told["G"] == [("G_ns_per_byte=0", "infinite bandwidth"), ("G_ns_per_byte=0.5", "twice the bandwidth")]
    assert told["both"] == [
        ("L_ns=0,G_ns_per_byte=0", "no latency, infinite bandwidth"),
        ("L_ns=5.0,G_ns_per_byte=0.5", "half the latency, twice the bandwidth"),
    ]
    assert not ranked(sent(), hand_model(L=0), kinds=["network"]).changes


@pytest.mark.parametrize(
    ("keys", "halved", "why"),
    [
        (["L_ns"], ["network G_ns_per_byte=0.5"], None),
        (["L_ns", "G_ns_per_byte"], [], "half of L_ns and G_ns_per_byte, which the trace does not tell: measure with perwiz calibrate"),
    ],
)
def test_network__half_of_what_nothing_tells_is_no_change(keys, halved, why):
    unknown = tuple(Unknown(key, "", (f"{key}=0", f"{key}=20"), "nothing tells") for key in keys)
    run = replayed(sent(G=1.0), Machine(hand_model(G=1), (), unknown), clock="none")
    found = rank(run, kinds=["network"])
    assert [change.question for change in found.changes if not change.bound] == halved
    assert [change.what for change in found.changes if change.bound] == [
        f"no latency, infinite bandwidth (how much {' and '.join(keys)} is the trace does not tell)"
    ]
    assert found.not_tried.get("network") == why


def test_messages_that_cost_more_than_they_wait():
    """Rank 0 works 50 in each of 20 sends, rank 1 receives them: without that work nothing is left but a message."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(20):
        b.send(0, 1, work=50)
        b.recv(1, 0)
    found = ranked(b.trace(), kinds=["messages", "wait"])
    told = {change.question: change.makespan for change in found.changes}
    assert (found.run.makespan, told["zero-time site:MPI_Send"]) == (1000, 12)
    assert (found.lines, found.bounds[0].change.kind) == ((), "messages")


def test_stages_of_a_pipeline_stand_by_themselves(tmp_path):
    """What one stage computes longer is listed first, and that layers move from it to the other has a line of its own: 20 of 160 us."""
    lines = ranked(read(put(tmp_path / "job", *devices_in_stages()))).lines
    told = {line.change.question: 160_000 - line.change.makespan for line in lines}
    assert (next(iter(told)), told["balance-time stages"]) == ("typical rank:1", 20_000)
    held = {change.question for line in lines for change in (*line.includes, *line.more)}
    assert "balance-time stages" not in held


def test_collectives_without_transfer_wait_as_before():
    """In each of four steps another computes 600, the others 300, and all are in MPI_Allreduce for 60: 375 each is what can be had.

    Without the 60, all waiting for the last as before, it is 600 each.
    """
    b = Builder(4, work=60)
    for turn in range(4):
        for process in range(4):
            with b.region(process, "step"):
                b.compute(process, 600 if process == turn else 300)
        b.everyone("Allreduce")
    found = ranked(b.trace())
    told = {change.question: change.makespan for change in found.changes}
    assert (found.run.makespan, told["balance-time step"], told["zero-transfer site:MPI_Allreduce"]) == (2640, 1740, 2400)
    assert (found.lines[0].change.question, found.bounds[0].change.question) == ("balance-time step", "zero-transfer site:MPI_Allreduce")
    assert not any(change.bound for change in found.lines[0].more)


def test_zero_wait_is_a_bound_beside_what_makes_the_sender_earlier():
    """Rank 0 computes 500 nobody waits for and 100 for a message, then rank 1 computes 100: sent first, all end at 600 instead of 712.

    Without its wait rank 1 ends at 100, and rank 0 still at 600. Balanced, both compute 350.
    """
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 500)
    b.call(0, "Comm_rank", work=0)
    b.compute(0, 100)
    b.send(0, 1)
    b.recv(1, 0)
    b.compute(1, 100)
    found = ranked(b.trace(), kinds=["order", "wait"])
    told = {change.question: (change.makespan, change.bound) for change in found.changes}
    assert found.run.makespan == 712
    assert told == {"advance e2": (600, False), "zero-wait e2": (600, True), "zero-wait pair:0>1": (600, True)} | {
        "advance site:MPI_Recv before computation": (612, True)
    }
    assert (found.lines[0].change.question, found.bounds) == ("advance e2", ())
    assert {change.question for change in found.lines[0].includes} == told.keys() - {"advance e2"}


def test_of_two_orders_that_of_more_calls_is_asked_first(monkeypatch):
    """The other is then asked on top of one that was found already, however many there are of those."""
    asked, together = list[list[str]](), Asker.together

    def noted(asker, *several):
        asked.append([str(one) for one in several])
        return together(asker, *several)

    monkeypatch.setattr(Asker, "together", noted)
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(3):
        b.compute(0, 500)
        b.call(0, "Comm_rank", work=0)
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 300)
    assert [line.change.question for line in ranked(b.trace(), kinds=["order"]).lines] == ["advance e8"]
    assert asked == [["advance site:MPI_Recv before computation", "advance e8"]]


def test_words_are_told_apart():
    assert sorted(BY) == sorted(set(BY))
    assert {word for row in ranking.KINDS for word in row.by} == set(BY)


def test_only_some_kinds_or_about_something():
    assert {change.kind for change in ranked(falling(), kinds=["wait"]).changes} == {"wait"}
    assert {change.by for change in ranked(falling(), by="rank").changes} == {"rank"}
    words = (
        "serving, pauses, accumulation, threads, balance, slowest, launches, pipeline, order, wait, protocol, algorithm, placement, overlap"
        ", collective, messages, network"
    )
    with pytest.raises(UsageError, match=f"^kind 'waits': must be one of {words}$"):
        ranked(falling(), kinds=["waits"])


@pytest.mark.parametrize(
    ("kinds", "by", "said"),
    [
        (["balance"], "rank", "program, stretch, region, step, site (--kind balance)"),
        (["network", "placement"], "call", "node (--kind placement); pairs (--kind network)"),
    ],
)
def test_what_no_kind_is_about__refused(kinds, by, said):
    message = f"--by {by}: no change of the kinds asked for is about that, must be one of {said}"
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        ranked(falling(), kinds=kinds, by=by)
    with pytest.raises(UsageError, match=r"^by 'cal': must be one of call, site, "):
        ranked(falling(), by="cal")


def test_a_kind_that_has_nothing_to_change():
    """Of one node nothing is placed elsewhere: that is told where it was asked for, and else is no news."""
    why = "all ranks are on one node; perwiz predict --placement cyclic:4x8 puts them on others"
    assert ranked(falling(), kinds=["placement"]).not_tried == {"placement": why}
    assert "placement" not in ranked(falling()).not_tried


def test_says_how_far_it_is():
    heard = []
    ranked(falling(), tell=lambda *pair: heard.append(pair))
    assert heard == [(done, len(ranking.KINDS)) for done in range(len(ranking.KINDS))]


def test_what_is_before_mpi_init_gains_nothing():
    """Rank 0 computes 1000 before MPI_Init and 50 behind it, rank 1 500 and 10: 1.667 times as fast, rank 0 computes 30 there."""
    b = Builder(2, work=0)
    for process, before, behind in ((0, 1000, 50), (1, 500, 10)):
        b.compute(process, before)
        b.call(process, "Init")
        b.compute(process, behind)
    found = ranked(b.trace())
    assert {change.question: change.makespan for change in found.changes} == {"speed rank:0=1.667": 1030, "balance-time all": 1030}


@pytest.mark.parametrize("name", ["halo", "late_receiver", "master_worker"])
def test_spans_are_those_of_predict(name):
    """Under a model of which the eager limit and the latency are open: the questions are asked of many weights in turn."""
    open_ = (Unknown("S_bytes", "", ("S_bytes=0", "S_bytes=1000000"), ""), Unknown("L_ns", "", ("L_ns=0", "L_ns=5000"), ""))
    machine, trace = Machine(hand_model(), unknown=open_), build.CATALOGUE[name]()
    run = replayed(trace, machine)
    asked = [f"{question} e{call}" for question in ("zero-wait", "zero-time") for call in range(min(len(trace.calls), 12))]
    hypotheses = [parse(text) for text in (*asked, "balance-time all", "speed rank:0=2", "speed rank:1=3", "network L_ns=7", "eager all")]
    spans = sure.spans(run, answered(run, Asker(run).questions(hypotheses)), hypotheses)
    assert spans == [predict(trace, str(hypothesis), machine).span for hypothesis in hypotheses]


def polling(tests=10):
    """Return a run whose rank 1 tests for a message of rank 0 that is there at 312: ten times in vain, 90 each, and 10 between them."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 300)
    b.send(0, 1)
    request = b.irecv(1, 0)
    for _ in range(tests):
        b.call(1, "Test", work=90)
        b.compute(1, 10)
    request.done = request.what.done = b.call(1, "Test")
    b.compute(1, 500)
    return b.trace()


def test_what_is_polled_for_is_waited_for():
    """Rank 1 goes on at 312, not at 100 as it would if the test that succeeds took no time either; there is no wait to take away."""
    found = ranked(polling())
    told = {change.question: change.makespan for change in found.changes}
    assert (found.run.makespan, told.pop("zero-poll site:MPI_Test")) == (1500, 812)
    assert sorted(told) == ["balance-time all", "speed rank:1=1.333"]
    assert found.lines[0].change.question == "zero-poll site:MPI_Test"
    assert found.lines[0].change.calls.tolist() == list(range(2, 12))
    assert predict(polling(), "zero-time op:MPI_Test", hand_model()).predicted.makespan == 600


def test_what_is_polled_for_is_waited_for__at_several_sites():
    """Two routines that poll in turn: each alone leaves the other's time."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 300)
    b.send(0, 1)
    for _ in range(5):
        b.call(1, "Test", work=50)
        b.call(1, "Iprobe", work=60)
    b.recv(1, 0)
    found = ranked(b.trace(), kinds=["wait"])
    told = {change.question: change.makespan for change in found.changes}
    assert (found.run.makespan, told) == (550, {"zero-poll all": 312, "zero-poll site:MPI_Iprobe": 312, "zero-poll site:MPI_Test": 312})


def in_turn(steps=3):
    """Return a run of two that work in turn, 100 each, in steps that take 224: without their waits 100."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(steps):
        with b.region(0, "item"):
            b.compute(0, 100)
            b.send(0, 1)
            b.wait(0, b.irecv(0, 1))
        with b.region(1, "item"):
            b.recv(1, 0)
            b.compute(1, 100)
            b.send(1, 0)
    return b.trace()


def test_steps_of_a_region_are_one_line():
    """The region as a whole is about every wait, and not listed; its steps together are, and hold the single ones."""
    found = ranked(in_turn(), kinds=["wait"])
    assert found.run.makespan == 3 * 224
    told = [(change.question, change.makespan) for change in found.changes if change.by == "step"]
    assert told[0] == ("zero-wait step:item#1..3", 300)
    assert sorted(told[1:]) == [(f"zero-wait step:item#{k}", 672 - 124) for k in (1, 2, 3)]
    line = found.bounds[0]
    assert {question for question, _ in told} <= {change.question for change in (line.change, *line.more, *line.includes)}


def test_steps_of_a_region_are_one_line__but_by_step():
    lines = sorted((line.change.question, line.change.makespan) for line in ranked(in_turn(), by="step").bounds)
    assert lines == [(f"zero-wait step:item#{k}", 672 - 124) for k in (1, 2, 3)]


def test_steps_of_a_region_are_one_line__balanced():
    """Balanced, each of two steps takes 200 instead of 300."""
    b = Builder(2, work=0)
    for slow in (0, 1):
        for process in range(2):
            with b.region(process, "step"):
                b.compute(process, 300 if process == slow else 100)
        b.barrier()
    found = ranked(b.trace(), kinds=["balance"])
    told = {change.question: change.makespan for change in found.changes}
    assert (told["balance-time step#1"], told["balance-time step#1..2"], told["balance-time step"]) == (500, 400, 400)
    assert [line.change.by for line in found.lines] == ["region"]


def chain(processes=3):
    """Return a chain in which each process computes 300 when its message comes, and sends the next one: 12 each."""
    b = Builder(processes, latency=12, per_byte=0, work=0)
    for process in range(processes):
        if process:
            b.recv(process, process - 1)
        b.compute(process, 300)
        if process < processes - 1:
            b.send(process, process + 1)
    return b.trace()


def test_calls_of_a_routine_are_one_line():
    """Either receive is worth 312 of 924, both are 624: neither says what the other does, and the list has them once."""
    found = ranked(chain(), kinds=["wait"], by="call")
    assert [(change.question, change.makespan) for change in found.changes] == [("zero-wait e1", 612), ("zero-wait e3", 612)]
    (line,) = found.bounds
    assert (line.change.question, line.change.makespan, line.change.what) == ("zero-wait e1,e3", 300, "the 2 calls of MPI_Recv")
    assert (line.includes, line.more) == (found.changes, ())


@pytest.mark.parametrize("steps", [8, 9])
def test_calls_that_are_moved_together_can_be_read(steps):
    """In each step rank 1 waits for what rank 0 could send 500 earlier; nine calls are too many to name, so each is a line of its own."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(steps):
        b.compute(0, 500)
        b.call(0, "Comm_rank", work=0)
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
        b.compute(1, 100)
        b.barrier()
    found = ranked(b.trace(), kinds=["order"], by="call")
    receives = [f"e{3 * steps + 2 * step}" for step in range(steps)]
    told = {line.change.question for line in found.lines}
    assert (f"advance {','.join(receives)}" in told, {f"advance {call}" for call in receives} <= told) == (steps == 8, steps == 9)


def loader(slow):
    """Return two ranks whose first computes 300 longer in `loader`, inside of `data` and `step`, but for 300 - `slow` right in `step`."""
    b = Builder(2, work=0)
    for process, more in enumerate((300, 0)):
        with b.region(process, "step"):
            b.compute(process, 100 + (300 - slow) * (process == 0))
            with b.region(process, "data"), b.region(process, "loader"):
                b.compute(process, 100 + more - (300 - slow) * (process == 0))
    b.barrier()
    return b.trace()


def test_steps_are_in_the_line_of_their_region():
    """Loading as the other rank does, a rank gains most; even loading is in its line, and so are steps, those in which the other one loads
    longer among them.
    """
    trace = read(str(pathlib.Path(__file__).parents[3] / "traces" / "training-slow"))
    found = rank(replayed(trace), kinds=["balance", "slowest"])
    loading, first = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", found.lines[0]
    even = {f"balance-time {loading}", "balance-time ProfilerStep"}
    assert first.change.question == f"scale {loading}@rank:1=0.1767"
    assert even <= {change.question for change in first.includes}
    assert not even & {steps.region(line.change) for line in found.lines[1:]}


@pytest.mark.parametrize(("slow", "named"), [(300, "loader"), (270, "loader"), (268, "step")])
def test_of_nested_regions_the_innermost_is_named(slow, named):
    """Of the 150 that balancing `step` gains, `loader` gains half of what is slow there: 150, 135 (nine tenths), 134."""
    found = ranked(loader(slow), kinds=["balance"], by="region")
    gains = {change.question: found.run.makespan - change.makespan for change in found.changes}
    assert gains == {"balance-time step": 150, "balance-time data": slow // 2, "balance-time loader": slow // 2}
    assert [line.change.question for line in found.lines][:1] == [f"balance-time {named}"]
    listed = [change.question for line in found.lines for change in (line.change, *line.more, *line.includes)]
    assert sorted(listed) == sorted(gains)


def test_of_nested_regions_the_innermost_is_named__once_inside_of_itself():
    """`solve` that is entered outside of `outer`, too, lies in it no more than `outer` does in itself."""
    b = Builder(2, work=0)
    for process, ns in enumerate((300, 100)):
        with b.region(process, "solve"), b.region(process, "outer"), b.region(process, "solve"):
            b.compute(process, ns)
    b.barrier()
    assert ranked(b.trace(), kinds=["balance"]).lines[0].change.question == "balance-time outer"


def check(trace, model=None):
    questions = Questions(trace, model)
    found = rank(questions.run(()))
    lines = (*found.lines, *found.bounds)
    listed = [change for line in lines for change in (line.change, *line.more, *line.includes)]
    together = [line.change for line in lines if not any(line.change is change for change in found.changes)]
    assert sorted(map(id, listed)) == sorted(map(id, (*found.changes, *together))), "each once"
    for change in together:
        assert (change.by, len(change.calls)) == ("call", change.question.count(",") + 1)
        assert questions.makespan(change.question) == change.makespan < found.run.makespan, change.question
    for several, bound in ((found.lines, False), (found.bounds, True)):
        gains = [line.change.makespan for line in several]
        assert gains == sorted(gains)
        assert {change.bound for line in several for change in (line.change, *line.more)} <= {bound}
    balanced = [line.change for line in found.lines if line.change.kind == "balance"]
    for row, change in enumerate(balanced):
        assert steps.region(change) not in [above.question for above in balanced[:row]], "no steps of a region below the region"
    for line in lines:
        assert all(change.makespan >= line.change.makespan for change in line.includes), "includes nothing larger"
        most = found.run.makespan - min((change.makespan for change in line.more), default=found.run.makespan)
        close = HALF if line.change.kind == "serving" else 0.9
        assert found.run.makespan - line.change.makespan >= close * most, "gains nearly what the largest of its line does"
        assert all(not change.bound and change.makespan > line.change.makespan for change in line.part)
    assert [change.makespan for change in found.changes] == sorted(change.makespan for change in found.changes)
    assert {change.kind for change in found.best()} == {change.kind for change in found.changes}
    for change in found.changes:
        assert change.makespan < found.run.makespan
        assert change.by in {row.word: row.by for row in ranking.KINDS}[change.kind]
        assert questions.makespan(change.question) == change.makespan, change.question
    for line in (*found.lines[:3], *found.bounds[:3]):
        fall = found.fall(line.change)
        assert fall is None or 0 <= fall.after < fall.before
    return found.changes


def sharing():
    """Return a run on three nodes in which most kinds of changes gain, and messages, those of collectives, too, share what they pass.

    The first collective is one of known times: three messages of 1000 into rank 0, then three out, each time at once, and 10 for the way.
    """
    b = Builder(4, latency=10, per_byte=1, eager=4000, work=0)
    b.everyone("Allreduce", bytes=1001, at=[(0, 3010), *[(0, 6020)] * 3])
    for process in range(4):
        with b.region(process, "step"):
            b.compute(process, 9000 if process == 3 else 3000)
    b.everyone("Alltoall", bytes=8000)
    for other in (1, 2, 3):
        with b.region(0, "prepare"):
            b.compute(0, 500)
        b.send(0, other, 90)
        b.recv(other, 0)
    b.send(1, 2, 5000)
    b.compute(2, 1000)
    b.recv(2, 1)
    b.recv(2, 1)
    b.compute(1, 5000)
    b.recv(1, 3)
    b.compute(3, 4000)
    b.send(3, 1, 50)
    b.send(1, 2, 50)
    b.barrier()
    return build.placed(b.trace(), [0, 1, 2, 1])


NOT_THERE = {"accumulation", "threads", "launches", "pipeline", "overlap", "pauses"}
"""Kinds of changes that only threads and devices have, or what repeats."""
NO_SHARING = hand_model(o=0, G=1, S=4000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [dataclasses.replace(NO_SHARING, interfaces=1), NO_SHARING.on(Topology("t", fat_tree([2, 2], 1.0, [2]), 1.0, 0.0, 0.0, ()))],
    ids=["interfaces", "links"],
)
def test_law__each_line_is_what_predict_says__where_messages_share(model):
    """Of every kind of change: the messages inside of collectives, which a hub does not have, are among those that share."""
    assert {change.kind for change in check(sharing(), model)} == set(ranking.WORDS) - NOT_THERE


@pytest.mark.slow
def test_what_is_said_of_the_list_puts_rounds_in_once():
    """Another algorithm is the first line: how sure that is, and what a plan asks on top of it, begins without the rounds of the list."""
    model = dataclasses.replace(NO_SHARING, interfaces=1)
    found = domino_of(replayed(sharing(), model, clock="none"))
    listed = rank(found.run, ["algorithm", "order"])
    assert listed.lines[0].change.kind == "algorithm"
    assert document(found, listed, 10, 20).lines == len(listed.lines)
    goal = plan(listed, 1)
    questions = Questions(sharing(), model, "none")
    for number, change in enumerate(goal.changes, 1):
        assert questions.makespan(*(before.question for before in goal.changes[:number])) == change.makespan
    assert {change.kind for change in goal.changes} == {"algorithm", "order"}


MODELS = (
    None,
    hand_model(S=0, G=0.5, gap="sending call", g=30),
    hand_model(S=100, progress="in calls", inline_bytes=20),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(2, 1))
def test_law__each_line_is_what_predict_says__catalogue(name):
    """Under one of the models; the next trace is asked under the next."""
    check(build.CATALOGUE[name](), MODELS[[*build.CATALOGUE].index(name) // 2 % len(MODELS)])


@pytest.mark.slow
def test_what_needs_no_receives_is_in_no_line_of_an_order_that_may():
    """In this program the order gains most and passes 22 receives; as fast as the others, rank 0 needs none of that."""
    run = replayed(read(str(TRACES / "monte.log")))
    lines = {line.change.kind: line for line in rank(run, kinds=("slowest", "order")).lines}
    assert (lines["order"].change.receives_passed, lines["slowest"].change.question) == (22, "speed rank:0=1.522")
    assert lines["order"].change.makespan < lines["slowest"].change.makespan


@pytest.mark.slow
@pytest.mark.parametrize("name", ["srtest.alog", "monte.log", "gmm.log", "fpilog.log", "halo-before"])
def test_law__each_line_is_what_predict_says__recorded(name):
    check(read(str(TRACES / name)))


@pytest.mark.slow
@settings(max_examples=12)
@given(build.programs())
def test_law__each_line_is_what_predict_says(trace):
    check(trace)


def test_teams_of_threads():
    """Balanced 1304 less, by hand in test_threads_and_devices.py; what rank 0 computes alone by both of its threads: 250 less.

    While rank 1 receives, its thread does the 700 and 900 of the team behind.
    """
    found = ranked(build.threads(), kinds=["threads"])
    gains = {change.question: 14808 - change.makespan for change in found.changes}
    assert gains == {"balance-threads all": 1304, "overlap site:MPI_Recv": 900, "parallel all": 250}


def test_copies_of_devices():
    """A copy of 700 before a kernel of 1000, of which the process waits for the kernel: at most 700 less; a host has nothing to gain."""
    b = Builder(1, work=0)
    stream = b.stream(0)
    for name, ns in (("copy to device", 700), ("kernel", 1000)):
        b.link("launch", b.call(0, "device_launch"), b.call(stream, "device_idle"))
        with b.region(stream, name):
            b.compute(stream, ns)
    b.link("done", b.call(stream, "device_idle"), b.call(0, "device_synchronize"))
    found = ranked(b.trace(), kinds=["threads"])
    assert [(change.question, change.makespan) for change in found.changes] == [("scale copy to device=0", 1000)]


@pytest.mark.parametrize("region", ["enumerate(DataLoader)#next", GRADIENT_READY, UNUSED])
@pytest.mark.parametrize(("slow", "left"), [(30, [120]), (60, [])])
def test_regions_of_jobs(region, slow, left):
    """Two ranks load, call hooks, or look for unused parameters, for 20 and 30, or 60, compute 30 and meet, four times: without that 120;
    not where one takes twice as long or more.
    """
    b = Builder(2, work=0)
    for _ in range(4):
        for process, ns in enumerate((20, slow)):
            with b.region(process, region):
                b.compute(process, ns)
                b.call(process, "Comm_rank")
            b.compute(process, 30)
        b.barrier()
    found = ranked(b.trace(), kinds=["threads"])
    assert [(change.question, change.makespan) for change in found.changes] == [(f"scale {region}=0", makespan) for makespan in left]
    of = {GRADIENT_READY: "gradient hooks", UNUSED: "unused parameters"}.get(region, "data loader")
    assert {situation(found.run, change) for change in found.changes} == ({of} if left else set())


def test_slowest__kernels_are_not_of_their_process():
    """Both hosts compute alike; 6500 of kernels make neither slow, for no processor takes them over."""
    b = Builder(2, work=100)
    stream = b.stream(0)
    b.link("launch", b.call(0, "device_launch"), b.call(stream, "device_idle"))
    b.compute(stream, 6500)
    b.link("done", b.call(stream, "device_idle"), b.call(0, "device_synchronize"))
    b.compute(0, 1000)
    b.compute(1, 1000)
    b.barrier()
    assert not ranked(b.trace(), kinds=["slowest"]).changes


def test_barriers_of_threads_are_no_collectives_of_mpi():
    assert not ranked(build.threads(), kinds=["collective"]).changes


def test_regions_that_one_thread_computes_alone():
    """Of 500 in `solve` and 100 in `start` half of each; a team has two. All of it lies in `main`, and none in `team`."""
    b = Builder(1, work=0)
    other = b.thread(0)
    with b.region(0, "main"):
        for name, ns in (("start", 100), ("solve", 500)):
            with b.region(0, name):
                b.compute(0, ns)
    with b.region(0, "team"):
        fork = b.call(0, "omp_fork")
        b.link("fork", fork, b.call(other, "omp_idle"))
        b.compute(0, 300)
        b.compute(other, 300)
        b.team("omp_implicit_barrier", (0, other))
        b.link("join", b.call(other, "omp_idle"), b.call(0, "omp_join"))
    found = ranked(b.trace(), kinds=["threads"])
    told = {change.question: 900 - change.makespan for change in found.changes}
    assert told == {"parallel all": 300, "parallel solve": 250, "parallel start": 50}


def in_teams(*works, threads=1, before=0):
    """Return processes that each compute `before` alone, then a team of them and their threads, as long as `works` say."""
    b = Builder(len(works), work=0)
    for process, work in enumerate(works):
        workers = [b.thread(process) for _ in range(threads)]
        with b.region(process, "main"):
            with b.region(process, "alone"):
                b.compute(process, before)
            with b.region(process, "team"):
                fork = b.call(process, "omp_fork")
                for worker in workers:
                    b.link("fork", fork, b.call(worker, "omp_idle"))
                for thread, ns in zip((process, *workers), work, strict=True):
                    with b.region(thread, "loop"):
                        b.compute(thread, ns)
                b.team("omp_implicit_barrier", (process, *workers))
                join = b.call(process, "omp_join")
                for worker in workers:
                    b.link("join", b.call(worker, "omp_idle"), join)
    b.barrier()
    return b.trace()


def test_threads_go_before_processes_where_only_they_differ():
    """Balanced over both processes it is 1 less than over the threads of each."""
    found = ranked(in_teams((1000, 500), (1002, 502)), kinds=["balance", "threads"])
    told = {change.question: change.makespan for change in found.changes}
    assert (told["balance-time loop"], told["balance-threads team"]) == (751, 752)
    assert found.lines[0].change.question == "balance-threads team"


def test_one_process_with_teams_is_balanced_over_its_threads():
    assert {change.kind for change in ranked(in_teams((1000, 500)), kinds=["balance", "threads"]).changes} == {"threads"}


def test_what_one_region_makes_is_said_of_it():
    """All that is serial is in `alone`, and in `main` around it; then 96 of 100, 4 in `main` itself."""
    found = ranked(in_teams((300, 300), before=96), kinds=["threads"])
    assert {change.question: change.makespan for change in found.changes} == {"parallel all": 348, "parallel alone": 348}
    assert [line.change.question for line in found.lines] == ["parallel alone"]
    b = Builder(1, work=0)
    other = b.thread(0)
    for name, ns in (("alone", 950), ("rest", 50)):
        with b.region(0, name):
            b.compute(0, ns)
    b.link("fork", b.call(0, "omp_fork"), b.call(other, "omp_idle"))
    b.team("omp_implicit_barrier", (0, other))
    b.link("join", b.call(other, "omp_idle"), b.call(0, "omp_join"))
    line = ranked(b.trace(), kinds=["threads"]).lines[0]
    told = [[change.question for change in part] for part in ((line.change,), line.more, line.includes)]
    assert told == [["parallel alone"], ["parallel all"], ["parallel rest"]]


def test_threads_that_nothing_ties_are_not_balanced():
    """Of several processes these can be, of threads in teams nothing."""
    why = "the trace does not tell in which teams 2 threads took part (teams inside of teams, or missing events)"
    counts = Counts(untied_threads=2, untied_waits=7)
    one, two = (dataclasses.replace(in_teams(*works), counts=counts) for works in ([(1000, 500)], [(1000, 500), (100, 50)]))
    assert ranked(one).not_tried == {"threads": why, "balance": why}
    assert ranked(two).not_tried == {"threads": why}
    assert ranked(dataclasses.replace(one, counts=Counts(untied_threads=2))).not_tried == {}


def starting(processes=1, start=900):
    """Return processes that start a device for 900 of 1000 they compute in `init`, then launch in `solve` and open a team of two."""
    b = Builder(processes, work=0)
    for process in range(processes):
        stream, other = b.stream(process), b.thread(process)
        with b.region(process, "main"):
            with b.region(process, "init"):
                b.compute(process, start * (process + 1))
                first = b.call(process, "device_launch")
                b.compute(process, 100)
            with b.region(process, "solve"):
                fork = b.call(process, "omp_fork")
                b.link("fork", fork, b.call(other, "omp_idle"))
                b.compute(process, 50)
                b.compute(other, 50)
                b.team("omp_implicit_barrier", (process, other))
                b.link("join", b.call(other, "omp_idle"), b.call(process, "omp_join"))
                second = b.call(process, "device_launch")
        for launch in (first, second):
            b.link("launch", launch, b.call(stream, "device_idle"))
            b.compute(stream, 10)
    b.barrier()
    return b.trace()


def test_the_start_of_a_device_is_no_work_to_share():
    """Half of the other 100 is saved; 900 and 1800 of two processes are not balanced either."""
    found = ranked(starting(), kinds=["threads", "balance"])
    assert {change.question: found.run.makespan - change.makespan for change in found.changes} == {"parallel all": 50, "parallel init": 50}
    assert [line.change.question for line in found.lines] == ["parallel init"]
    assert not ranked(starting(2), kinds=["balance"]).changes


def even_by_chance(longest=1300):
    """Twelve times rank 0 computes 100 and rank 1 200 without meeting; once rank 0 takes as long as makes both compute 2400."""
    b = Builder(2)
    for process, length in ((0, 100), (1, 200)):
        for step in range(12):
            with b.region(process, "step"):
                b.compute(process, longest if (process, step) == (0, 5) else length)
                b.call(process, "Comm_rank")
    b.barrier()
    return b.trace()


def test_what_gains_with_a_processor_each():
    """As recorded nothing is uneven; with a processor each rank 0 computes 1200, rank 1 2400, and 1800 if that is balanced."""
    kinds = ("balance", "slowest")
    assert rank(replayed(even_by_chance(), hand_model(), "none"), kinds).lines == ()
    ranking = rank(replayed(shared(even_by_chance()), hand_model(), "none"), kinds)
    assert [line.change.question for line in ranking.lines] == ["balance-time step"]
    assert ranking.lines[0].change.makespan == ranking.run.makespan


def test_what_gains_more_with_a_processor_each():
    """As recorded, 2450 instead of 2500, the list has it: it is there once."""
    ranking = rank(replayed(shared(even_by_chance(1400)), hand_model(), "none"), ("balance", "slowest"))
    assert [line.change.question for line in ranking.lines] == ["balance-time step"]
