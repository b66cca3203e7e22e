"""Collectives by another algorithm: fixed point, exits worked by hand, engines alike, what is asked in vain."""

import dataclasses
import re

import networkx
import numpy as np
import pytest
from hypothesis import given, settings

import build
from build import Builder, hand_model
from perwiz.engines.replay import replay
from perwiz.engines.sweep import sweep
from perwiz.errors import UsageError
from perwiz.graph.graph import hubs, to_networkx
from perwiz.loggps.algorithms.play import ROUTINES, Instances
from perwiz.loggps.algorithms.recorded import GIVEN, recorded_ways
from perwiz.report import spans
from perwiz.report.records import Possible
from perwiz.trace import operations
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.collectives import GUESSED, Collective
from perwiz.whatif.predict import predict
from perwiz.whatif.ranking.ranking import rank
from perwiz.whatif.run import replayed

MODEL = hand_model(G=1, S=10**6)
"""A message of k bytes takes 13 + k: o = 2 at both ends, L = 10, a byte behind the first 1. An exchange takes 10 less."""


def allreduce(ends=(42, 42, 42, 42), entry=(0, 0, 0, 0), size=8):
    """Four ranks come and go like this; recursive doubling of 8 bytes takes two rounds of 21."""
    b = Builder(4)
    b.everyone("Allreduce", bytes=size, at=list(zip(entry, ends, strict=True)))
    return b.trace()


def bcast(ends, entry=(0, 0, 0, 0), size=8, root=0):
    b = Builder(4)
    b.everyone("Bcast", root=root, bytes=size, at=list(zip(entry, ends, strict=True)))
    return b.trace()


def leaves(trace, *texts, model=MODEL):
    found = predict(trace, [parse(text) for text in texts], model, clock="none", draws=0)
    return found.predicted.calls.leave.tolist()


def test_another_algorithm():
    """Recorded is what recursive doubling takes; to one and from it, of 8 bytes: 2 sends at 0 and is there at 21, as are 1 and 3.

    reduce   3 > 2 and 1 > 0 at 21, 2 > 0 at 42      bcast   0 > 2 at 63, 0 > 1 begun at 51, 72; 2 > 3 begun at 63, 84; each send 9
    """
    assert leaves(allreduce(), "collective allreduce=reduce-bcast") == [60, 72, 72, 84]


def test_the_recorded_one_gives_back_the_recording():
    """Whatever it took: 42 and the 0, 7, -3 and 100 that each was off by; and so it is kept under another one."""
    trace = allreduce((42, 49, 39, 142))
    assert leaves(trace, "collective allreduce=recursive-doubling was recursive-doubling") == [42, 49, 39, 142]


def test_what_the_rounds_do_not_explain_stays():
    """A binomial broadcast that leaves rank 1 5 ns later than its rounds say: 0 sends at 0 and 9, 2 has it at 21, 1 and 3 at 30 and 42.

    linear   0 sends at 0, 9 and 18: 1 at 21 and 5 more, 2 at 30, 3 at 39
    """
    trace = bcast((18, 35, 30, 42))
    assert leaves(trace, "collective bcast=binomial was binomial") == [18, 35, 30, 42]
    assert leaves(trace, "collective bcast=linear was binomial") == [27, 26, 30, 39]


def test_all_costs_are_multiplied():
    """Eight times as long as the model says: a factor of 8, no rest. A ring of 32 bytes takes six rounds of 21 instead of 2 of 45."""
    trace = allreduce((8 * 90,) * 4, size=32)
    assert leaves(trace, "collective allreduce=ring was recursive-doubling") == [8 * 126] * 4


def test_whoever_comes_late():
    """Rank 3 comes at 100 into a binomial broadcast, recorded as such: nobody waits for it. In a ring behind a scatter all do."""
    trace = bcast((18, 30, 30, 109), entry=(0, 0, 0, 100))
    assert leaves(trace, "collective bcast=binomial") == [18, 30, 30, 109]
    assert leaves(trace, "collective bcast=linear was binomial") == [27, 21, 30, 109]
    assert min(leaves(trace, "collective bcast=scatter-ring was binomial")) >= 100


def test_the_root_is_where_the_trace_says():
    """Root 2: what ranks 0 to 3 did before, ranks 2, 3, 0 and 1 do."""
    assert leaves(bcast((30, 42, 18, 30), root=2), "collective bcast=linear was binomial") == [30, 39, 27, 21]


def test_between_nodes_each_message_costs_its_own():
    """Two nodes of two: 0 > 2 goes between them for 1000 more, 0 > 1 and 2 > 3 do not."""
    model = hand_model(G=1, S=10**6, costs=(dataclasses.replace(MODEL.costs[0], pairs="between-nodes", L=1010),))
    trace = build.placed(bcast((18, 30, 1030, 1042)), [0, 0, 1, 1])
    assert leaves(trace, "collective bcast=binomial was binomial", model=model) == [18, 30, 1030, 1042]
    assert leaves(trace, "collective bcast=linear was binomial", model=model) == [27, 21, 1030, 1039]


def test_another_network_too():
    """Recursive doubling twice as far: two rounds of 31; whether it changes or not."""
    assert leaves(allreduce(), "network L_ns=20", "collective allreduce=recursive-doubling") == [62] * 4
    assert leaves(allreduce(), "network L_ns=20", "collective allreduce=linear was recursive-doubling")[0] > 62


def test_what_a_process_does_itself_is_no_wait():
    """Two exchanges of 11 of the 42, the rest are latencies: it waits for its partners' messages, also in the recorded run, of which
    another algorithm is told the same: a ring of so few. Without waits it leaves at 22.
    """
    for asked in ("recursive-doubling", "ring was recursive-doubling"):
        found = predict(allreduce(), f"collective allreduce={asked}", MODEL, clock="none", draws=0)
        assert found.waits_before.time.tolist() == found.waits_after.time.tolist() == [20] * 4
    assert leaves(allreduce(), "collective allreduce=recursive-doubling", "zero-wait all") == [22] * 4


def test_best_is_the_soonest():
    """Of 8 bytes recursive doubling, 42, and the ring, which is the same of so few; of 4000 rabenseifner, 2 (2013 + 1013)."""
    small, large = allreduce(), allreduce((2 * 4013,) * 4, size=4000)
    assert leaves(small, "collective allreduce=best") == [42] * 4
    assert leaves(large, "collective allreduce=best was recursive-doubling") == [6052] * 4


def test_each_size_by_its_own():
    """One clause, two sizes: the small ones stay as they are, the large one is made by rabenseifner, its exits 8026 - 6052 sooner."""
    b = Builder(4)
    b.everyone("Allreduce", bytes=8, at=[(0, 42)] * 4)
    b.everyone("Allreduce", bytes=4000, at=[(100, 100 + 2 * 4013)] * 4)
    found = leaves(b.trace(), "collective allreduce=best was recursive-doubling")
    assert found == [42, 100 + 6052] * 4


def test_joined():
    """Two routines, asked apart or together."""
    b = Builder(4)
    b.everyone("Allreduce", bytes=8, at=[(0, 42)] * 4)
    b.everyone("Bcast", root=0, bytes=8, at=[(100, 118), (100, 130), (100, 130), (100, 142)])
    trace = b.trace()
    both = leaves(trace, "collective allreduce=reduce-bcast", "collective bcast=linear was binomial")
    assert both == leaves(trace, "collective allreduce=reduce-bcast, bcast=linear was binomial")
    assert both[::2] == [60, 72, 72, 84]


def test_at_a_place():
    """The second of two, in region b: the first stays."""
    trace = Builder(4)
    for name, at in (("a", (0, 42)), ("b", (100, 142))):
        for each in range(4):
            with trace.region(each, name):
                trace.join(each, "Allreduce", bytes=8, at=at)
    trace = trace.trace()
    for place in ("b", "region:b", "site:MPI_Allreduce@b"):
        found = leaves(trace, f"collective allreduce@{place}=reduce-bcast")
        assert found == [42, 160, 42, 172, 42, 172, 42, 184]
    with pytest.raises(UsageError, match=re.escape("collective allreduce@c=ring: no MPI_Allreduce at 'c', the trace has a, b")):
        leaves(trace, "collective allreduce@c=ring")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("ring", "'ring' is no collective and its algorithm, must be like allreduce=ring, bcast@solve.c:112=chain:64KiB or allreduce=best"),
        (
            "exscan=ring",
            "no algorithms of 'exscan' are known, must be one of allreduce, bcast, reduce, allgather, alltoall, barrier, "
            "reduce_scatter, scan, gather, scatter",
        ),
        (
            "allreduce=chain",
            "allreduce has no algorithm 'chain', must be one of linear, reduce-bcast, recursive-doubling, ring, rabenseifner, best",
        ),
        ("allreduce=ring:0", "ring of allreduce sends no segments, must be without"),
        ("bcast=binomial:64", "binomial of bcast sends no segments, must be chain, binary, split-binary"),
        ("bcast=chain:64KB", "segments of '64KB', must be a size such as 65536, 64K or 64KiB (65536) or 64kB (64000)"),
        ("bcast=chain", "the trace has no MPI_Bcast, must be one of allreduce"),
    ],
)
def test_asked_in_vain(argument, said):
    with pytest.raises(UsageError) as error:
        leaves(allreduce(), f"collective {argument}")
    assert str(error.value).startswith(f"collective {argument}: {said}")


def test_not_for_so_many_processes():
    b = Builder(3)
    b.everyone("Allgather", bytes=24, at=[(0, 60)] * 3)
    with pytest.raises(UsageError) as error:
        leaves(b.trace(), "collective allgather=recursive-doubling")
    assert str(error.value) == (
        "collective allgather=recursive-doubling: recursive-doubling of 3 processes cannot be, must be one of linear, bruck, ring"
    )


def test_scan_and_reduce_scatter():
    """Two rounds of 21 for all become a chain: who has passed on what it has is done 9 later; and halves of 16 and 8 bytes three of 8."""
    for routine, size, took, way, found in (("Scan", 8, 42, "linear", [9, 30, 51, 63]), ("Reduce_scatter", 32, 50, "pairwise", [63] * 4)):
        b = Builder(4)
        b.everyone(routine, bytes=size, at=[(0, took)] * 4)
        assert leaves(b.trace(), f"collective {routine.lower()}={way}") == found


def test_those_that_nobody_can_play_are_left():
    """A non-blocking one, and one that rank 3 did not come to."""
    b = Builder(4)
    b.everyone("Bcast", root=0, bytes=8, missing=(3,), at=[(0, 40)] * 4)
    with pytest.raises(UsageError, match="no MPI_Bcast there is blocking and whole, with its root known"):
        leaves(b.trace(), "collective bcast=linear")


def test_how_it_was_made():
    """A broadcast whose exits are those of a chain is told as one, though MPICH and Open MPI take others; what is given stays."""
    trace = bcast((9, 30, 51, 63))
    for given_ways, way, says in (({}, "chain", "nearest"), ({0: "linear"}, "linear", GIVEN)):
        instances = Instances(trace)
        ways = {kind: parse(f"collective bcast={name}").clauses()[0].way for kind, name in given_ways.items()}
        found = recorded_ways(instances, MODEL, np.array([0]), ways)[0]
        assert (str(found.way), found.says) == (way, says)
    assert recorded_ways(Instances(bcast((18, 30, 30, 42))), MODEL, np.array([0]), {})[0].says == "MPICH"


def _asked(trace):
    """Return the questions, one per routine of a trace that can be played, and the ways of its kinds."""
    instances = Instances(trace)
    return sorted({ROUTINES[int(op)] for op in trace.collectives.op[instances.chosen]})


@settings(max_examples=10)
@given(build.traces(threads=True), build.models())
def test_whatever_it_was_taken_for_the_same_gives_back_the_recording(trace, model):
    """The fixed point: played as it was told to have been, every exit is the recorded one; sweep, replay and networkx agree on others."""
    run = replayed(trace, model, clock="none")
    for routine in _asked(trace):
        hypothesis = Collective(f"{routine}=best")
        plan = hypothesis.plan(run.trace, run.weighted.model, run.weighted.network)
        for one in plan.changed:
            same = Collective(f"{routine}={one.was.way} was {one.was.way}")
            if len({str(other.was.way) for other in plan.changed}) == 1:
                weighted = same.apply(run.weighted)
                assert sweep(weighted.graph, weighted.weight)[weighted.graph.returned].tolist() == run.trace.timeline.calls.leave.tolist()
        weighted = hypothesis.apply(run.weighted)
        graph, weight = weighted.graph, weighted.weight
        time = sweep(graph, weight)
        assert (graph.source < graph.target).all()
        assert replay(graph, weight).tolist() == time.tolist()
        view = to_networkx(graph, weight)
        assert networkx.is_directed_acyclic_graph(view)
        longest = [0] * graph.vertices
        for vertex in networkx.topological_sort(view):
            for _, target, edge in view.out_edges(vertex, data=True):
                longest[target] = max(longest[target], longest[vertex] + edge["weight"])
        assert longest == time.tolist()
        assert len(hubs(graph)) < graph.vertices


def test_ranked():
    """A ring of 4 numbers takes six rounds of 21; two of 45 of recursive doubling would take 36 less, rabenseifner's four, 100, 26."""
    b = Builder(4)
    for k in range(4):
        b.everyone("Allreduce", bytes=32, at=[(1000 * k, 1000 * k + 6 * 21)] * 4)
    found = rank(replayed(b.trace(), MODEL, clock="none"), kinds=["algorithm"])
    change = found.changes[0]
    assert (change.question, change.what) == ("collective allreduce=recursive-doubling", "MPI_Allreduce made by recursive-doubling")
    assert found.run.makespan - change.makespan == 4 * 36 == found.run.makespan - found.asker.makespan(parse(change.question))


def test_ranked__what_nothing_tells_is_not_tried():
    """No algorithm leaves one rank at 10 and the others at 300 to 9000; the barriers beside them are told, and stay."""
    b = Builder(4)
    for k in range(4):
        at = 20_000 * k
        b.everyone("Allreduce", bytes=32, at=[(at, at + ns) for ns in (10, 300, 9000, 4000)])
        b.everyone("Bcast", root=0, bytes=8, at=[(at + 10_000, at + 10_000 + ns) for ns in (27, 21, 30, 39)])
    found = rank(replayed(b.trace(), MODEL, clock="none"), kinds=["algorithm"])
    assert found.not_tried == {
        "algorithm": "the times of MPI_Allreduce fit no known algorithm, so what another gains is a guess: --collective allreduce=best,"
        " or say how they were made, 'allreduce=best was NAME'"
    }
    assert [change.question for change in found.changes] == []


def test_span__other_algorithms_that_come_as_near():
    """Exits at 80 lie between two rounds of 21 and the longer ones of others: what else they may have been made by is in the span."""
    trace = allreduce((80,) * 4)
    told = predict(trace, "collective allreduce=reduce-bcast", MODEL, clock="none", draws=0)
    assert {other.changes for other in told.span.others} == {(GUESSED,)}
    assert spans.other(Possible(changes=[GUESSED], makespan_ns=80)) == (
        "80 ns if the collectives were made by another algorithm, or the new one has other costs"
    )


def test_span__what_else_they_may_have_been():
    """Exits at 80 fit no times of the model, so with other costs all may be. Recursive doubling would then be as recorded, 80. Had it been
    rabenseifner, of 82, the new two rounds of 21 would take the same 2 less: 40.

    Those at 63 are those of rabenseifner, as the model has them: nothing else comes near. Who says how they were made is believed, but not
    that costs are 2^(7/8) those of the model: two rounds of 39, and 2 that stay. By the model the new one takes 42, and of the 2 42/78.
    """
    told = predict(allreduce((80,) * 4), "collective allreduce=recursive-doubling", MODEL, clock="none", draws=0)
    assert sorted(other.makespan for other in told.span.others) == [40, 80]
    told = predict(allreduce((63,) * 4), "collective allreduce=recursive-doubling", MODEL, clock="none", draws=0)
    assert (told.predicted.makespan, told.span.others) == (41, ())
    told = predict(allreduce((80,) * 4), "collective allreduce=ring was recursive-doubling", MODEL, clock="none", draws=0)
    assert (told.predicted.makespan, [other.makespan for other in told.span.others]) == (80, [43])


def test_ranked__what_is_told_is_tried_beside_what_is_not():
    """Recursive doubling told by its times, and a broadcast at any time: the former is listed."""
    b = Builder(4)
    for k in range(4):
        at = 20_000 * k
        b.everyone("Allreduce", bytes=32, at=[(at, at + 6 * 21)] * 4)
        b.everyone("Bcast", root=0, bytes=8, at=[(at + 5000, at + 5000 + ns) for ns in (10, 300, 9000, 4000)])
    found = rank(replayed(b.trace(), MODEL, clock="none"), kinds=["algorithm"])
    assert [change.question for change in found.changes] == ["collective allreduce=recursive-doubling"]
    assert found.not_tried["algorithm"].startswith("the times of MPI_Bcast fit no known algorithm")


def test_every_routine_is_known():
    assert {operations.OPS[op] for op in ROUTINES} >= {"MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Alltoall"}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("allreduce=ring,allreduce=best", "allreduce is to be ring and best"),
        ("allreduce@a=ring, allreduce=best, allreduce@a=ring", "allreduce@a is to be ring and ring"),
    ],
)
def test_one_routine_twice(argument, said):
    with pytest.raises(UsageError, match=f"^{re.escape(f'collective {argument}: {said}, must be asked once')}$"):
        Collective(argument).clauses()
