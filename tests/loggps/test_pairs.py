"""Messages and collectives by class of pair: by hand on placed processes, and laws of models with classes."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
from build import Builder, hand_model, placed
from perwiz.errors import UsageError
from perwiz.graph.graph import GAP, MESSAGE, RENDEZVOUS
from perwiz.kernels.names import ACROSS, METAHOST, NODE, SAME
from perwiz.loggps.keys import ALL_PAIRS, PAIRS
from perwiz.loggps.model import Limit
from perwiz.loggps.pairs import check_classes, classes, sent
from perwiz.loggps.weigh import CUT, lags, synchronous, work
from perwiz.trace.operations import OP
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.predict import predict
from perwiz.whatif.run import replayed


def row(pairs="", from_bytes=0, **changes):
    """Return a row of costs like those of the model by hand, but for some."""
    return dataclasses.replace(hand_model().costs[0], pairs=pairs, from_bytes=from_bytes, **changes)


FAR = hand_model(costs=[row("between-nodes", L=1000.0, o_s=30.0, o_r=50.0), row("between-metahosts", L=9000.0)])


def star(size=10):
    """Return a run in which rank 0 on node 0 sends to rank 1 there, 2 on node 1, and 3 on node 2 of another metahost, and barriers."""
    b = Builder(4)
    half = b.comm("near", [0, 1])
    for other in (1, 2, 3):
        b.send(0, other, size)
        b.recv(other, 0)
    b.waitall(0, b.isend(0, 0, size), b.irecv(0, 0))
    b.barrier()
    b.everyone("Allreduce", comm=half, bytes=8)
    return placed(b.trace(), [0, 0, 1, 2], [0, 0, 0, 1])


def test_messages_by_class_and_kind():
    """Only what the model tells apart is looked up."""
    trace = star()
    found = sent(trace, dataclasses.replace(FAR, limits=(Limit(100), Limit(5, sends="blocking"))), slice(None))
    assert found.pairs.tolist() == [NODE, METAHOST, ACROSS, SAME]
    assert found.sends.tolist() == [0, 0, 0, 1]
    assert found.bytes.tolist() == [10] * 4
    assert (found[2:].pairs.tolist(), found[1:].mode.tolist()) == ([ACROSS, SAME], [0] * 3)
    plain = sent(trace, hand_model(), slice(1, 3), np.array([7, 8, 9, 10]))
    assert (plain.bytes.tolist(), plain.sends, plain.pairs) == ([8, 9], 0, ALL_PAIRS)


def test_classes_of_a_trace():
    """Messages and collectives count; where nodes are not recorded, all are within one."""
    trace = star()
    assert classes(trace) == [*PAIRS]
    assert classes(dataclasses.replace(trace, locations=placed(trace, [0, 0, 1, 1]).locations)) == ["within-node", "between-nodes"]
    assert classes(build.CATALOGUE["late_sender"]()) == ["within-node"]
    assert classes(build.empty()) == []
    b = Builder(2)
    b.barrier()
    assert classes(placed(b.trace(), [0, 1])) == ["between-nodes"]


def test_costs_by_class__by_hand():
    """o_s + L: 2 + 10 in the node, 30 + 1000 between nodes, 2 + 9000 between metahosts; to itself as in the node."""
    trace = star()
    graph = replayed(trace, FAR, "none").graph
    lag = lags(trace, graph, FAR)
    edge = np.flatnonzero(graph.kind == MESSAGE)
    assert dict(zip(graph.cause[edge].tolist(), lag[edge].tolist(), strict=True)) == {0: 12, 1: 1030, 2: 9002, 3: 12}
    # Sends 2, 30, 2, 2; receives 2, 50, 2; the barrier of four a round between nodes, 80 + 1000, and one between metahosts, 4 + 9000;
    # the allreduce of two in a node 2 + 2 + 10.
    found = work(trace, FAR)
    at = {name: found[trace.calls.op == OP[f"MPI_{name}"]].tolist() for name in ("Send", "Recv", "Barrier", "Allreduce")}
    assert at == {"Send": [2, 30, 2], "Recv": [2, 50, 2], "Barrier": [1080 + 9004] * 4, "Allreduce": [14] * 2}


def test_eager_limits_by_class__by_hand():
    model = hand_model(limits=[Limit(9, "between-nodes"), Limit(9, "between-metahosts", "nonblocking")])
    assert synchronous(star(), model).tolist() == [False, True, False, False]
    assert synchronous(star(), model, np.array([9, 9, 101, 101])).tolist() == [False, False, True, True]


def test_network_of_a_class__by_hand():
    """Sent at 100 and received 14 later, 12 of them the lag: between nodes it is 2 + 1000 instead."""
    b = Builder(3)
    b.compute(0, 100)
    for other in (1, 2):
        b.send(0, other, 10, at=(100, 102) if other == 1 else (102, 104))
        b.recv(other, 0, at=(0, 114) if other == 1 else (0, 116))
    trace = placed(b.trace(), [0, 0, 1])

    def returned(text):
        return predict(trace, [parse(f"network {text}")], hand_model()).predicted.calls.leave.tolist()[2:]

    assert returned("between-nodes:L_ns=1000") == [114, 102 + 1002 + 2]
    assert returned("within-node:L_ns=1000") == [100 + 1002 + 2, 116]
    assert returned("within-node:L_ns=20,o_r_ns=5") == [100 + 22 + 5, 119]


def test_a_class_that_is_not_there():
    trace = placed(star(), [0, 0, 0, 0])
    with pytest.raises(UsageError) as caught:
        predict(trace, [parse("network L_ns=5,between-nodes:L_ns=1000")], hand_model())
    what = "network L_ns=5,between-nodes:L_ns=1000: no message or collective of built is between-nodes, all are within-node"
    assert str(caught.value) == what
    with pytest.raises(UsageError) as caught:
        check_classes(build.empty(), ["within-node"], "this")
    assert str(caught.value) == "this: no message or collective of built is within-node, it has none"
    check_classes(trace, ["within-node"], "this")


def test_gap_by_the_largest_message__by_hand():
    """The row of the message, g 7 for short ones and 500 from 64 bytes on; of a call that starts several the largest one's."""
    b = Builder(2)
    for size in (8, 80, 8):
        b.send(0, 1, size)
    for _ in range(3):
        b.recv(1, 0)
    trace, model = b.trace(), hand_model(g=7, gap="sending call", costs=[row(from_bytes=64, g=500.0)])
    graph = replayed(trace, model, "none").graph

    def gaps(size=None):
        edge = np.flatnonzero(graph.kind == GAP)
        return dict(zip(graph.cause[edge].tolist(), lags(trace, graph, model, size)[edge].tolist(), strict=True))

    assert gaps() == {0: 7, 1: 500}
    assert gaps(np.array([100, 8, 8])) == {0: 500, 1: 7}
    several = dataclasses.replace(trace.messages, send=np.array([0, 0, 1], "i4"))
    trace = dataclasses.replace(trace, messages=several)
    assert gaps(np.array([8, 80, 8]))[0] == 500
    assert gaps(np.array([80, 8, 8]))[0] == 500


def test_a_call_posts_once__by_hand():
    """Rank 0 posts two synchronous sends in one call, between nodes and within: it takes the larger o_s, once; rank 1 an o_r to post."""
    b = Builder(3)
    requests = [b.isend(0, 1, 10, mode="S"), b.isend(0, 2, 10, mode="S")]
    b.waitall(0, *requests)
    for other in (1, 2):
        b.wait(other, b.irecv(other, 0))
    trace = placed(b.trace(), [0, 0, 1])
    together = dataclasses.replace(trace.messages, send=np.array([0, 0], "i4"))
    assert work(trace, FAR)[:2].tolist() == [2, 30]
    assert work(dataclasses.replace(trace, messages=together), FAR)[:2].tolist() == [30, 0]
    assert work(trace, FAR)[[3, 5]].tolist() == [2, 50]


def test_balanced_messages_find_their_rows_anew():
    """Rank 0 sends 100 bytes, above the break at 80, rank 1 sends 20; balanced, both send 60 and meet the row below."""
    b = Builder(2)
    for rank in (0, 1):
        b.enter(rank, "step")
    for rank, size in ((0, 100), (1, 20)):
        b.send(rank, 1 - rank, size, at=(10, 12))
    for rank in (0, 1):
        b.recv(rank, 1 - rank, at=(12, 2000))
        b.leave(rank, "step")
    model = hand_model(costs=[row(from_bytes=80, L=1000.0)])
    found = predict(b.trace(), [parse("balance-messages step")], model)
    # Rank 1 got its message by o + L = 1002 after 10 and has worked 988 since; now it gets it by 12. Rank 0 stays as it was.
    assert found.predicted.calls.leave.tolist() == [12, 2000, 12, 10 + 12 + 988]


PLACES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=4, max_size=4)


def somewhere(trace, places):
    """Return a trace with its processes on drawn nodes, each in one metahost."""
    chosen = places[: len(np.unique(trace.locations.process))]
    return placed(trace, [2 * node + metahost for node, metahost in chosen], [metahost for _, metahost in chosen])


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), PLACES, build.models(), st.sets(st.tuples(st.sampled_from(["", *PAIRS]), st.integers(1, 30_000)), max_size=4))
def test_law_a_table_equal_to_the_parameters_changes_nothing(trace, places, model, breaks):
    """Weights, work, and which messages wait for their receivers."""
    trace = somewhere(trace, places)
    one = dataclasses.replace(model, costs=model.costs[:1], limits=model.limits[:1])
    rows = [dataclasses.replace(model.costs[0], pairs=pairs, from_bytes=size) for pairs, size in breaks]
    several = dataclasses.replace(one, costs=(*one.costs, *rows), limits=(*one.limits, *(Limit(one.S, pairs) for pairs in PAIRS)))
    first, second = (replayed(trace, each, "none").weighted for each in (one, several))
    assert build.equal(first.weight, second.weight)
    assert build.equal(lags(trace, first.graph, one), lags(trace, first.graph, several))
    assert build.equal(work(trace, one), work(trace, several))


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), PLACES, build.models(), st.permutations(range(8)))
def test_law_names_of_nodes_mean_nothing(trace, places, model, numbers):
    trace = somewhere(trace, places)
    renamed = placed(trace, [numbers[node] for node in trace.locations.node], 1 - trace.locations.metahost)
    first, second = (replayed(each, model, "none").weighted for each in (trace, renamed))
    assert build.equal(first.weight, second.weight)
    assert (work(trace, model) == work(renamed, model)).all()


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), build.models(), st.integers(1, 30_000))
def test_law_a_break_is_two_models(trace, model, size):
    """Messages below it cost what they do under the one row, the others what they do under the other."""
    low, high = (dataclasses.replace(row, pairs="", from_bytes=0) for row in (model.costs[0], model.costs[-1]))
    below, above = (dataclasses.replace(model, costs=(row,)) for row in (low, high))
    pieces = dataclasses.replace(model, costs=(low, dataclasses.replace(high, from_bytes=size)))
    graph = replayed(trace, model, "none").graph
    edge = np.flatnonzero(graph.kind == MESSAGE)
    long = trace.messages.bytes[graph.cause[edge]] >= size
    found, first, second = (lags(trace, graph, each)[edge] for each in (pieces, below, above))
    assert (found == np.where(long, second, first)).all()
    messages = sent(trace, pieces, slice(None))
    for name in ("ready", "request", "send_work", "receive_work"):
        found, first, second = (getattr(each, name)(messages) for each in (pieces, below, above))
        assert (found == np.where(messages.bytes >= size, second, first)).all(), name


@pytest.mark.slow
@settings(max_examples=20)
@given(build.programs(), PLACES, build.models(), st.sampled_from(["L_ns", "o_ns", "O_r_ns_per_byte", "S_bytes", "S_blocking_bytes"]))
def test_law_all_classes_are_all_pairs(trace, places, model, key):
    trace = somewhere(trace, places)
    one = model.with_changes(f"{key}=70")
    each = model.with_changes(",".join(f"{pairs}:{key}=70" for pairs in PAIRS))
    graph = replayed(trace, model, "none").graph
    assert (synchronous(trace, one) == synchronous(trace, each)).all()
    assert (lags(trace, graph, one) == lags(trace, graph, each)).all()
    assert (work(trace, one) == work(trace, each)).all()


def test_rendezvous_edges_of_eager_messages_bind_nobody():
    """Of the four messages only that between nodes is above its limit; those that only a hypothesis holds are there, and cut."""
    trace = star()
    model = hand_model(limits=[Limit(5, "between-nodes")])
    weighted = replayed(trace, model, "none", [parse("network S_bytes=5")]).weighted
    edge = np.flatnonzero(weighted.graph.kind == RENDEZVOUS)
    cut = dict(zip(weighted.graph.cause[edge].tolist(), (lags(trace, weighted.graph, model)[edge] == CUT).tolist(), strict=True))
    assert (cut[0], cut[1], cut[2]) == (True, False, True)
