"""Sets of calls: which calls each holds, and its makespan against the hypothesis applied and swept."""

import dataclasses
import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import hand_model
from perwiz.engines.sweep import makespan, sweep
from perwiz.errors import UsageError
from perwiz.formats.files import read
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.waits import ZeroTime, ZeroWait
from perwiz.whatif.run import replayed
from perwiz.whatif.worth import sets as sets_module
from perwiz.whatif.worth.families import FAMILIES, family
from perwiz.whatif.worth.sets import makespans, rank_sets
from samples import SAMPLES, name_of

QUESTIONS = "zero-wait", "zero-time"


def masks(found, calls):
    """Return which calls each set of a family holds."""
    classes = [set(found.member[found.row == k].tolist()) for k in range(len(found.names))]
    return [np.array([int(c) in own for c in found.class_of], bool).reshape(calls) for own in classes]


def swept(weighted, mask, question):
    """Return the makespan with some calls changed, the slow way."""
    weighted = dataclasses.replace(weighted, weight=weighted.weight.copy())
    (ZeroWait if question == "zero-wait" else ZeroTime).of(weighted, mask)
    return makespan(weighted.graph, sweep(weighted.graph, weighted.weight))


def check(trace, model):
    run = replayed(trace, model, "none")
    for word in FAMILIES:
        sets = family(run, word)
        assert sorted(zip(sets.row.tolist(), sets.member.tolist(), strict=True)) == list(zip(sets.row, sets.member, strict=True))
        own = [mask for mask in masks(sets, len(trace.calls)) if mask.any()]
        for question in QUESTIONS:
            found = rank_sets(run, word, question)
            assert found.makespan.tolist() == [swept(run.weighted, mask, question) for mask in own]
            assert found.makespan.tolist() == rank_sets(run, word, question, prune=False).makespan.tolist()
            with mock.patch.object(sets_module, "LANES", 1):
                assert found.makespan.tolist() == rank_sets(run, word, question, prune=False).makespan.tolist()
            assert found.calls.tolist() == [mask.sum() for mask in own]
            assert found.waiting.tolist() == [run.waits.time[mask].sum() for mask in own]
            for text, mask, end in zip(found.hypotheses(), own, found.makespan, strict=True):
                assert text is not None or mask.sum() > 8
                if text is not None:
                    assert (selectors.calls(trace, text.removeprefix(f"{question} ")) == mask).all()
                    weighted = parse(text).apply(run.weighted)
                    assert end == makespan(weighted.graph, sweep(weighted.graph, weighted.weight))


@pytest.mark.slow
@pytest.mark.parametrize("name", build.one_of(3, 1))
def test_sets__catalogue(name):
    for model in ("default", build.ODD):
        check(build.CATALOGUE[name](), model)


def placed(trace):
    """Return the trace with places in the source for most of its calls, and every second region marked parallel."""
    site = np.arange(len(trace.calls), dtype="i4") % 4 - 1
    parallel = np.arange(len(trace.names)) % 2 == 0
    return dataclasses.replace(trace, site=site, sites=("a.c:1 f", "a.c:2 f", "app+0x12"), parallel=parallel)


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), st.sampled_from(["default", build.ODD]), st.booleans())
def test_sets__random_traces(trace, model, places):
    check(placed(trace) if places else trace, model)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in SAMPLES if path.is_dir() or path.stat().st_size < 100_000], ids=name_of)
def test_sets__samples(path):
    """What pays most, and what the prune leaves out."""
    run = replayed(read(str(path)), build.ODD)
    for word in FAMILIES:
        for question in QUESTIONS:
            found, whole = (rank_sets(run, word, question, prune) for prune in (True, False))
            assert found.makespan.tolist() == whole.makespan.tolist()
            for k in found.order()[:3].tolist():
                text = found.hypotheses()[k]
                if text is not None:
                    weighted = parse(text).apply(run.weighted)
                    assert found.makespan[k] == makespan(weighted.graph, sweep(weighted.graph, weighted.weight))


def two_steps():
    """Return a run whose rank 1 waits for rank 0 in two steps: e0 e1 send, e2 e3 receive, from 10 to 40 and 60 to 100.

           0 |-- main/solve#1 -- 30 Send 31 ---- solve#2 ---- 90 Send 91
           1 |-- solve#1 -- 10 Recv 43 ---- solve#2 ---- 60 Recv 103 - 113

    With o + L = 12 the first message is there at 42, the second at 102; work of 1 follows. The first receive without its wait returns
    at 11, and the second still at 103; without the second wait it returns at 61.
    """
    b = build.Builder(2, work=1)
    for rank, made in ((0, [(30, 31), (90, 91)]), (1, [(10, 43), (60, 103)])):
        for at in made:
            with b.region(rank, "main"), b.region(rank, "solve"):
                b.send(0, 1, 8, at=at) if rank == 0 else b.recv(1, 0, at=at)
    b.compute(1, 10)
    return b.trace()


def test_rank_sets__by_hand():
    run = replayed(two_steps(), hand_model(), "none")
    found = rank_sets(run, "step")
    assert (found.family, found.question, found.now) == ("step", "zero-wait", 113)
    assert found.names() == ("main#1", "main#2", "solve#1", "solve#2")
    assert (found.calls.tolist(), found.waiting.tolist()) == ([2, 2, 2, 2], [32, 42, 32, 42])
    assert found.makespan.tolist() == [113, 91, 113, 91]
    assert found.hypotheses() == tuple(f"zero-wait step:{name}" for name in found.names())
    assert found.order().tolist() == [1, 3, 0, 2]
    found = rank_sets(run, "site")
    assert found.names() == ("MPI_Recv in main/solve", "MPI_Send in main/solve")
    assert found.hypotheses() == ("zero-wait site:MPI_Recv@main/solve", "zero-wait site:MPI_Send@main/solve")
    assert (found.waiting.tolist(), found.makespan.tolist()) == ([74, 0], [91, 113])
    found = rank_sets(run, "pair", "zero-time")
    assert (found.names(), found.hypotheses()) == (("messages from rank 0 to rank 1",), ("zero-time pair:0>1",))
    assert found.calls.tolist() == [4]
    assert rank_sets(run, "rank").names() == ("rank 0", "rank 1")
    assert rank_sets(run, "routine").names() == ("MPI_Send", "MPI_Recv")
    assert rank_sets(run, "region").names() == ("main", "solve")


def test_family__texts_that_would_be_read_as_something_else():
    """A name with a selector behind a comma, one of two regions of the same name, one that looks like a step: calls one by one."""
    b = build.Builder(1)
    for name in ("a,e0", "twice", "again", "loop", "loop#1"):
        with b.region(0, name):
            b.call(0, "Comm_rank")
    trace = dataclasses.replace(b.trace(), names=("a,e0", "twice", "twice", "loop", "loop#1"))
    run = replayed(trace, "default", "none")
    expected = {"region": ["e0", "region:twice", "e2", "region:loop", "region:loop#1"]}
    expected["step"] = ["step:a,e0#1", "step:twice#1", "e2", "e3", "step:loop#1#1"]
    for word, texts in expected.items():
        assert list(rank_sets(run, word).hypotheses()) == [f"zero-wait {text}" for text in texts]


def test_rank_sets__more_than_a_few_calls_without_a_text():
    b = build.Builder(2)
    with b.region(1, "main,e0"):
        for _ in range(9):
            b.compute(0, 10_000)
            b.send(0, 1)
            b.recv(1, 0)
    assert rank_sets(replayed(b.trace(), "default"), "site").hypotheses() == (None, "zero-wait site:MPI_Send")


def test_rank_sets__a_call_of_several_pairs():
    """Rank 0 sends to 1 and 2, and completes both sends in one call; rank 1 sends to 0. Each set is what its selector selects."""
    b = build.Builder(3)
    b.waitall(0, b.isend(0, 1), b.isend(0, 2))
    b.sendrecv(1, 0, 0)
    b.recv(2, 0)
    b.recv(0, 1)
    run = replayed(b.trace(), hand_model(), "none")
    pairs = family(run, "pair")
    assert pairs.selectors == ("pair:0>1", "pair:0>2", "pair:1>0")
    assert pairs.sums(np.ones(len(run.trace.calls), "i8")).tolist() == [3, 3, 2]
    for row, text in enumerate(pairs.selectors):
        inside = np.isin(pairs.class_of, pairs.member[pairs.row == row])
        assert inside.tolist() == selectors.calls(run.trace, text).tolist()


def test_makespans__tells_how_far_it_is():
    b = build.Builder(1)
    for number in range(20):
        with b.region(0, f"r{number}"):
            b.call(0, "Comm_rank")
    run = replayed(b.trace(), "default")
    told = []
    makespans(run.weighted, run.time, family(run, "region"), "zero-time", tell=lambda done, total: told.append((done, total)))
    assert told == [(16, 20), (20, 20)]


def test_rank_sets__unknown():
    run = replayed(two_steps(), hand_model(), "none")
    message = "family 'loop': must be one of site, routine, region, step, rank, pair, lock"
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        rank_sets(run, "loop")
    with pytest.raises(UsageError, match=r"^question 'zero': must be one of zero-wait, zero-time$"):
        rank_sets(run, "rank", "zero")
