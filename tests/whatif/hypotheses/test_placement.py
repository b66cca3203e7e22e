"""Ranks on other nodes: where they are then, what that costs, and what is refused."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given

import build
from build import Builder, hand_model, placed
from perwiz.errors import UsageError
from perwiz.graph.graph import COLLECTIVE
from perwiz.loggps.links.shapes import fat_tree
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.model import Costs
from perwiz.report.predict.document import document
from perwiz.report.predict.text import text
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.placement import nodes_of, of_ranks
from perwiz.whatif.predict import predict, predicted_trace
from perwiz.whatif.ranking.change import Asker, NoneThereError, NotTriedError
from perwiz.whatif.ranking.placement import changes, exchanges
from perwiz.whatif.run import replayed, under
from perwiz.whatif.sharing import told_apart

_FAR = Costs(L=100, o_s=2, o_r=2, g=0, G=1, O_s=0, O_r=0, s=0, pairs="between-nodes")
MODEL = hand_model(S=10**6, costs=(_FAR,))
"""Within a node a message is 12 ns on its way, between nodes 102 and 1 for each byte behind the first."""


def trace_of(ranks, node, partner=lambda rank: rank ^ 1):
    """Return a run in which each even rank sends 101 bytes to its partner at 1000; it is there at 1202 or 1012, and received 2 ns later."""
    b = Builder(ranks)
    for rank in range(0, ranks, 2):
        far = node[rank] != node[partner(rank)]
        b.send(rank, partner(rank), 101, at=(1000, 1002))
        b.recv(partner(rank), rank, at=(0, 1204 if far else 1014))
    return placed(b.trace("placed.alog"), node)


def nodes(argument, node):
    """Return the node of each rank under a placement, of a run of ranks on these."""
    return of_ranks(parse(f"placement {argument}").placed(trace_of(len(node), node)))


def test_nodes_of__are_those_of_ranks_in_turn():
    """Ranks 0, 1, 2 and 4 are there, 3 is not; 1 has no node."""
    trace = trace_of(4, [1, 0, 0, 2])
    places = dataclasses.replace(
        trace.locations, process=np.array([0, 1, 2, 4], "i4"), node=np.where([0, 1, 0, 0], -1, trace.locations.node)
    )
    there = dataclasses.replace(trace, locations=places)
    assert of_ranks(there) == ["n1", "", "n0", "", "n2"]
    assert nodes_of(there) == list(dict.fromkeys(of_ranks(there))) == ["n1", "", "n0", "n2"]
    assert nodes_of(trace) == ["n1", "n0", "n2"]


def test_far_rank__no_list_is_made():
    """As a damaged trace may name it: its list would take 16 GiB."""
    trace = trace_of(2, [0, 1])
    places = dataclasses.replace(trace.locations, process=np.array([0, 2**31 - 1], "i4"))
    far = dataclasses.replace(trace, locations=places)
    assert nodes_of(far) == ["n0", "", "n1"]
    with pytest.raises(NotTriedError, match=r"^more than 1024 ranks"):
        changes(Asker(replayed(far, hand_model(), "none")))
    said = r"^placed.alog: rank 2147483647 though 2 processes recorded, must be below 1152 in a placement, which lists every rank$"
    with pytest.raises(UsageError, match=said):
        parse("placement block").placed(far)


def test_block_and_cyclic():
    """As many slots as now, or as given; nodes that the trace does not have are named."""
    assert nodes("block", [1, 0, 1, 0]) == ["n1", "n1", "n0", "n0"]
    assert nodes("cyclic", [0, 0, 1, 1]) == ["n0", "n1", "n0", "n1"]
    assert nodes("cyclic", [0, 0, 0, 0, 1, 1]) == ["n0", "n1", "n0", "n1", "n0", "n1"]
    assert nodes("block:2x3", [0, 0, 0, 0]) == ["n0", "n0", "n0", "node0"]
    assert nodes("cyclic:3x2", [0, 0, 0, 0]) == ["n0", "node0", "node1", "n0"]
    named = dataclasses.replace(trace_of(4, [0, 0, 1, 1]), nodes=("node1", "node0"))
    assert of_ranks(parse("placement cyclic:4x1").placed(named)) == ["node1", "node0", "node2", "node3"]
    assert nodes("swap:0-3", [0, 0, 1, 1]) == ["n1", "n0", "n1", "n0"]


def test_file(tmp_path):
    """A node for each rank in turn, or by number as in a rankfile."""
    path = tmp_path / "nodes"
    path.write_text("n1  # the first\n\nn1 3\nn7 3\nn7 4\n", encoding="utf-8")
    assert nodes(str(path), [0, 0, 1, 1]) == ["n1", "n1", "n7", "n7"]
    path.write_text("rank 1=n7 slot=0\nrank 0=n1 slot=1\nrank 3 = n1 slots=0\nrank 2=n7\n", encoding="utf-8")
    assert nodes(str(path), [0, 0, 1, 1]) == ["n1", "n7", "n7", "n1"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("block:2x1", "placement block:2x1: 2 nodes of 1 slot hold 2 ranks, must hold 4"),
        ("swap:0", "placement swap:0: '0', must be two ranks such as 3-17"),
        ("swap:0-4", "placement swap:0-4: rank 4 is not there, must be one of 0 to 3"),
        ("swap:0-2,2-3", "placement swap:0-2,2-3: rank 2 is in 0-2 and 2-3, must be in one"),
    ],
)
def test_refused(argument, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        nodes(argument, [0, 0, 1, 1])


def test_one_node__refused():
    message = "placement cyclic: the trace tells of one node, must say on how many nodes of how many slots, such as cyclic:4x8"
    with pytest.raises(UsageError, match=f"^{message}$"):
        nodes("cyclic", [0, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\nc\n", ": no node for 1 rank (3), must have one for each of 4"),
        ("a\nb\nc\nd\ne\n", ":5: rank 4 is not there, must be one of 0 to 3"),
        ("rank 0=a\nrank 0=b\n", ":2: rank 0 has a node already, must have one"),
        ("a 0\na 1\nb 0\nb 0\n", ":4: rank 3 is on core 0 of b as rank 2, must be on one of its own"),
        ("a b c\n", ":1: 'a b c', must be a node, perhaps with a core, or rank R=NODE slot=CORE"),
        ("", ": no node for 4 ranks (0, 1, 2, ...), must have one for each of 4"),
    ],
)
def test_file_refused(tmp_path, text, message):
    path = tmp_path / "nodes"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=f"^{re.escape(str(path) + message)}$"):
        nodes(str(path), [0, 0, 1, 1])


def test_no_file__refused(tmp_path):
    path, must = str(tmp_path / "blok"), "must be block, cyclic, swap:3-17, or a file with the node of each rank"
    with pytest.raises(UsageError, match=f"^{re.escape(path)}: no such file or directory, {must}$"):
        nodes(path, [0, 0, 1, 1])


def test_pairs_change_class():
    """Both pairs are between nodes; one by one would leave them there, and with ranks 1 and 2 exchanged they share a node."""
    base = replayed(trace_of(4, [0, 1, 0, 1]), MODEL, clock="none")
    assert base.makespan == 1204
    assert under(base, [parse("placement block")]).makespan == 1014
    base = replayed(trace_of(4, [0, 0, 1, 1]), MODEL, clock="none")
    assert under(base, [parse("placement cyclic")]).makespan == 1204


@pytest.mark.parametrize(
    ("model", "where", "told"),
    [
        (MODEL, "block", "placement block: so all ranks were on their nodes in the recorded run, and nothing is asked"),
        (
            hand_model(S=10**6),
            "cyclic",
            "messages cost the same within a node and between nodes by this model, so no placement gains or loses:"
            " perwiz calibrate measures both, or give a model that has both (--model)",
        ),
        (
            MODEL,
            "swap:0-2,1-3",
            "no call moves: on these nodes all messages and collectives cost what they did, by this model;"
            " interfaces = 1 in it, or --topology FILE, says what they share there",
        ),
        (MODEL, "cyclic", None),
    ],
)
def test_no_answer__is_said_first(model, where, told):
    found = predict(trace_of(4, [0, 0, 1, 1]), f"placement {where}", model, clock="none", draws=0)
    lines = text(document(found, 1)).split("\n\n")[1].splitlines()
    assert lines[0].startswith("recorded " if told is None else "no answer ")
    assert told is None or " ".join(" ".join(lines).split()).startswith(f"no answer {told} recorded")


def test_predicted_trace__has_the_nodes():
    found = predict(trace_of(4, [0, 1, 0, 1]), "placement block", MODEL, clock="none")
    assert of_ranks(predicted_trace(found)) == ["n0", "n0", "n1", "n1"]
    assert (found.sharing.between, found.sharing.between_now, found.sharing.bytes) == (2, 0, 202)


def test_on_another_network_too():
    """With half the latency between nodes: 1000 + 2 + 50 + 100 + 2."""
    base = replayed(trace_of(4, [0, 0, 1, 1]), MODEL, clock="none")
    both = [parse("placement cyclic"), parse("network L_ns=50")]
    assert under(base, both).makespan == 1154


def allreduced(home):
    """Return a run of an allreduce of four ranks on these nodes."""
    b = Builder(4)
    b.everyone("Allreduce", bytes=8)
    return replayed(placed(b.trace(), home), MODEL, clock="none")


def test_where_they_are__is_the_same_graph():
    """On shared interfaces, too: their order is not found anew."""
    base = replayed(trace_of(4, [0, 0, 1, 1]), dataclasses.replace(MODEL, interfaces=1), clock="none").weighted
    assert [parse(f"placement {where}").change(base) is base for where in ("block", "swap:0-1", "cyclic")] == [True, True, False]


def test_another_algorithm_too():
    """Rounds cost what they cost between the nodes where the ranks are then: with all on one node what they cost there."""
    there, ring = parse("placement cyclic"), parse("collective allreduce=ring was ring")
    apart, near = allreduced([0, 0, 1, 1]), allreduced([0, 1, 0, 1])
    assert under(apart, [ring]).makespan == apart.makespan
    both = under(apart, [there, ring])
    costs = [one.weighted.weight[one.graph.kind == COLLECTIVE] for one in (both, under(near, [ring]), under(apart, [ring]))]
    assert costs[0].tolist() == costs[1].tolist() != costs[2].tolist()


def test_exchanges():
    """0 and 2, and 1 and 3, exchange most: one pair changes places, and then nothing is between nodes."""
    cost = np.zeros((4, 4))
    cost[0, 2] = cost[2, 0] = cost[1, 3] = cost[3, 1] = 5
    apart = 1 - np.eye(2)
    assert exchanges(cost, np.array([0, 0, 1, 1]), apart) == [(0, 3)]
    assert exchanges(cost, np.array([0, 1, 0, 1]), apart) == []


def test_exchanges__of_nodes_that_are_farther_apart():
    """A rank on each of four nodes, 0 and 1 at one switch, 2 and 3 at another: between switches a byte counts double."""
    apart = np.array([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]])
    cost = np.zeros((4, 4))
    cost[0, 2] = cost[2, 0] = cost[1, 3] = cost[3, 1] = 5
    assert exchanges(cost, np.arange(4), apart) == [(0, 3)]
    assert exchanges(cost, np.arange(4), 1 - np.eye(4)) == []


TREE = Topology("t", fat_tree([2, 2], 1.0, [2.0]), 1.0, 0.0, 0.0, ())
"""Four nodes at two switches whose link upward carries a message of two at a time: both take 200 ns instead of 100."""


def across(ranks, node):
    """Return a run whose lower half of ranks sends 101 bytes each to the upper half, as recorded on links; those of one node pass more."""
    b = Builder(ranks)
    for rank in range(0, ranks, 2):
        if node[rank] == node[rank + 1]:
            b.send(rank, rank + 1, 10001, at=(0, 2))
            b.recv(rank + 1, rank, at=(0, 10000))
    for rank in range(ranks // 2):
        b.send(rank, rank + ranks // 2, 101, at=(10000, 10002))
        b.recv(rank + ranks // 2, rank, at=(10000, 10000 + 50 * ranks))
    return placed(b.trace("across"), node)


def test_on_links__nodes_stay_where_they_are():
    """Ranks 1 and 2 change places: 0 and 2 are at one switch then, 1 and 3 at the other. Nodes are where they were recorded."""
    model = hand_model(o=0, L=0, G=1, S=10**6).on(TREE)
    base = replayed(across(4, [0, 1, 2, 3]), model, clock="none")
    named = dataclasses.replace(TREE, hosts=("n0", "n1", "n2", "n3"))
    for links in (TREE, named):
        run = replayed(base.trace, model.on(links), clock="none")
        assert under(run, [parse("placement swap:1-2")]).makespan == base.makespan - 100


@pytest.mark.parametrize(("ranks", "what"), [(4, "ranks 0 and 3 change places"), (8, "nodes n0 and n3 change places")])
def test_changes__on_links(ranks, what):
    """What is promised is what is predicted; where two ranks are on a node, nodes change places with both."""
    node = [rank * 4 // ranks for rank in range(ranks)]
    base = replayed(across(ranks, node), hand_model(o=0, L=0, G=1, S=10**6).on(TREE), clock="none")
    best = changes(Asker(base))
    assert what in [change.what for change in best]
    for change in best:
        assert under(base, [parse(change.question)]).makespan == change.makespan < base.makespan


def test_changes():
    """Ranks exchange with the next; on nodes one by one each pair is apart."""
    base = replayed(trace_of(4, [0, 1, 0, 1]), MODEL, clock="none")
    best = changes(Asker(base))
    assert [(change.question, change.makespan) for change in best] == [("placement block", 1014), ("placement swap:0-3", 1014)]
    assert under(base, [parse(best[1].question)]).makespan == 1014


def test_changes__one_node():
    with pytest.raises(NoneThereError, match=r"^all ranks are on one node; perwiz predict --placement cyclic:4x8 puts them on others$"):
        changes(Asker(replayed(trace_of(2, [0, 0]), MODEL, clock="none")))


@pytest.mark.slow
@given(build.traces())
def test_where_they_are__changes_nothing(trace):
    """Ranks that stay where they are, where nothing is shared."""
    ranks = int(trace.locations.process.max(initial=-1)) + 1
    trace = placed(trace, [rank % 2 for rank in range(ranks)])
    if ranks > 1:
        base = replayed(trace, build.ODD, clock="none")
        makespan = base.makespan
        assert under(base, [parse("placement cyclic")]).makespan == makespan


@pytest.mark.parametrize(
    ("model", "apart"),
    [
        (hand_model(), False),
        (hand_model(interfaces=1, G=0), False),
        (hand_model(interfaces=1, G=1), True),
        (MODEL, True),
    ],
)
def test_costs_that_are_alike_within_and_between_nodes(model, apart):
    """Where nothing tells messages between nodes from others, interfaces that nobody keeps busy neither, no placement is tried."""
    assert told_apart(model) is apart
    if not apart:
        with pytest.raises(NotTriedError, match=r"^messages cost the same within a node and between nodes by this model, so no placement"):
            changes(Asker(replayed(trace_of(4, (0, 1, 0, 1)), model, clock="none")))
