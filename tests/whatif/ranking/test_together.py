"""What to change first, found by several processes, here threads: the list is that of one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import naive_clock
import threaded
from build import Builder
from perwiz.graph.build import build as build_graph
from perwiz.report.domino import document as alone
from perwiz.report.domino_together import document as together
from perwiz.report.records import to_json
from perwiz.trace.tied import tied_part
from perwiz.whatif.ranking import OF_PARTS
from perwiz.whatif.ranking.messages import let_move
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.run import replayed
from perwiz.whatif.worth.domino import domino

ROWS = ("head", "span", "place", "includes", "more", "part", "turned", "kept_ns", "waits_less", "waiting_ns", "waiting_then_ns")


def found(trace, model="default", kinds=OF_PARTS):
    """Return what several processes say, as JSON."""
    return to_json(together.document(rank(replayed(trace, model, also=let_move), kinds), 99, 1, 8))


def check(trace, size, model="default", kinds=OF_PARTS):
    """Ask alone and by so many threads: nothing may differ, nor from what one process tells of these kinds."""
    trace = tied_part(trace)
    said = found(trace, model, kinds)
    assert threaded.parts(size, trace, lambda part: found(part, model, kinds)) == [said] * size
    run = replayed(trace, model)
    one = json.loads(to_json(alone.document(domino(trace, model), rank(run, kinds), 99, 8)))
    several = json.loads(said)
    for name in ("ranked", "at_best"):
        rows = [_as_told(row) for row in one.pop(name)]
        assert several[name] == rows
    names = several.keys() & one.keys()
    assert {"lines", "at_best_lines", "bound_ns", "bound_span", "replayed_ns", "waiting_calls", "misfit", "kinds", "not_tried"} <= names
    assert {name: several[name] for name in names} == {name: one[name] for name in names}
    return several


def _as_told(line):
    """Return a line of one process as several tell it."""
    names = together.Worth.__struct_fields__

    def worth(row):
        return {name: row[name] for name in names}

    return {
        name: worth(line[name]) if name == "head" else [worth(row) for row in line[name]] if isinstance(line[name], list) else line[name]
        for name in ROWS
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("halo", 3), ("threads", 2)])
def test_catalogue(name, size):
    check(build.CATALOGUE[name](), size)


def served():
    """Rank 0 prepares a piece for each of the others and sends it in turn, in steps."""
    b = Builder(5)
    for _ in range(3):
        for process in range(5):
            b.enter(process, "step")
        for other in range(1, 5):
            b.compute(0, 1000)
            b.send(0, other)
            b.recv(other, 0)
            b.compute(other, 2000)
        for process in range(5):
            b.leave(process, "step")
        b.everyone("Allreduce", bytes=8)
    return b.trace()


@pytest.mark.slow
def test_a_process_that_serves():
    told = kinds(check(served(), 3))
    assert {("serving", "site"), ("balance", "program"), ("balance", "stretch"), ("balance", "region")} <= told


def kinds(several):
    """Return what is told of what somebody can do, by kind and what it is about."""
    return {(row["kind"], row["by"]) for line in several["ranked"] for row in (line["head"], *line["includes"], *line["more"])}


@pytest.mark.slow
def test_a_slow_process():
    """Ranks 1 and 2 compute longer than the two others of four, which rank 0 alone does not know of."""
    b = Builder(4)
    for _ in range(2):
        for process, length in enumerate((1000, 3000, 2500, 1000)):
            b.compute(process, length)
        b.everyone("Allreduce", bytes=8)
    assert {("slowest", "rank"), ("slowest", "class"), ("balance", "program")} <= kinds(check(b.trace(), 2))


def held():
    """Rank 0 sends to the others, on two nodes, what holds it until they receive; sizes and lengths differ."""
    b = Builder(4)
    for step in range(3):
        for other in range(1, 4):
            b.send(0, other, 200 * other)
            b.compute(other, 4000 + 100 * step)
            b.recv(other, 0)
        b.everyone("Allreduce", bytes=8)
    return build.placed(b.trace(), [0, 0, 1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_messages(size):
    """Eager limits of classes of pairs of which not each process has messages, senders that are held, and a faster network."""
    told = check(held(), size, build.hand_model(), ["protocol", "network"])
    assert {("protocol", "setting"), ("network", "pairs")} <= kinds(told)
    assert "network within-node:L_ns=0" in json.dumps(told["at_best"])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["progress=in calls", build.hand_model(progress="in calls", S=300, inline_bytes=100)])
def test_messages__that_move_in_calls(model):
    """Calls of receivers let messages move, others on other networks: whoever holds a sender of such a message knows them."""
    b = Builder(5)
    for turn, other in enumerate([1, 2, 3, 1]):
        asked = b.isend(other, 0, 70_000)
        got = b.irecv(0, other)
        b.compute(0, 90_000)
        b.call(0, "Iprobe")
        b.compute(other, 20_000 * turn)
        b.wait(0, got)
        b.wait(other, asked)
        b.send(0, other, 300)
        b.recv(other, 0)
    b.everyone("Barrier")
    told = check(b.trace(), 3, model)
    assert {("protocol", "setting"), ("wait", "site"), ("balance", "stretch")} <= kinds(told)


@pytest.mark.slow
def test_a_process_that_says_nothing():
    """Rank 2 of three has no call, and is the only one of its process: what it computes nobody knows there, too."""
    b = Builder(3)
    b.compute(0, 5000)
    b.send(0, 1)
    b.recv(1, 0)
    assert ("balance", "program") in kinds(check(b.trace(), 3, kinds=["balance"]))


@pytest.mark.slow
def test_what_one_process_does_alone():
    """Rank 2, of the last process, works behind each gathering."""
    b = Builder(3, work=0)
    for _ in range(2):
        for process in range(3):
            b.compute(process, 1000)
        b.everyone("Gather", root=2)
        b.compute(2, 900)
        b.everyone("Barrier")
    assert ("balance", "site") in kinds(check(b.trace(), 3, kinds=["balance"]))


def test_refused__tasks_that_processes_may_hand_out():
    """Receives that would take another message: what else they say is equal."""
    several = json.loads(threaded.parts(2, tied_part(build.CATALOGUE["master_worker"]()), found)[0])
    why = "which processes hand out tasks is told by one process alone"
    assert several["not_tried"] == [{"kind": "balance", "why": why}, {"kind": "slowest", "why": why}]


@pytest.mark.slow
@settings(max_examples=4)
@given(naive_clock.traces(), st.integers(2, 4))
def test_random(trace, size):
    if not build_graph(tied_part(trace)).contradictions:
        check(trace, size)
