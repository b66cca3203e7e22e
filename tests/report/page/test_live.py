"""What the panel of what-ifs is given: what can be ticked, and the graph that the page sweeps."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import numpy as np
import pytest

import build
import naive_html
import perwiz
from perwiz.graph.graph import KINDS, LOCAL, MESSAGE
from perwiz.report.page.panels import live, live_graph
from perwiz.report.page.tables import size
from perwiz.whatif.run import replayed

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def test_script__names_the_kinds_of_edges_as_the_graph_does():
    script = pathlib.Path(live_graph.__file__).with_suffix(".js").read_text()
    told = dict(re.findall(r"LIVE_(\w+) = (\d+)", script.partition("// kinds of edges")[0].rpartition("const")[2]))
    assert told == {name: str(KINDS.index(name.lower())) for name in ("MESSAGE", "RENDEZVOUS", "PROBE", "GAP", "TRANSFER")}


@pytest.fixture(scope="module")
def run():
    return replayed(perwiz.read(str(TRACES / "srtest.alog")), "default")


def test_numbers__along_the_program(run):
    """Every vertex has one; a call is entered, then returns, and the next one behind it is entered."""
    graph, trace = run.graph, run.trace
    number = live_graph.numbers(trace, graph)
    assert sorted(number.tolist()) == list(range(graph.vertices))
    assert (number[graph.returned] - number[graph.entered] == 1).all()
    same = trace.calls.location[1:] == trace.calls.location[:-1]
    assert (number[graph.entered[1:]][same] - number[graph.returned[:-1]][same] == 1).all()


def test_edges__all_but_local_ones_and_those_of_messages(run):
    data = live.document(run, "perwiz predict x")["graph"]
    source, target, kind = (naive_html.column(data[name]) for name in ("source", "target", "kind"))
    graph, number = run.graph, live_graph.numbers(run.trace, run.graph)
    listed = (graph.kind != LOCAL) & (graph.kind != MESSAGE) & (graph.source != 0)
    found = zip(number[graph.source[listed]].tolist(), number[graph.target[listed]].tolist(), graph.kind[listed].tolist(), strict=True)
    assert sorted(zip(source, target, kind, strict=True)) == sorted(found)
    assert target == sorted(target)


def test_choices__what_waits_longest_first(run):
    """The barriers wait longest; each call has its site, and what it is called by selects those calls."""
    data = live.document(run, "perwiz predict x")
    assert [(row["name"], row["calls"]) for row in data["sites"]] == [("MPI_Barrier", 6), ("MPI_Recv", 15)]
    of = np.array(naive_html.column(data["site_of"]))
    for number, row in enumerate(data["sites"], start=1):
        chosen = perwiz.whatif.selectors.calls(run.trace, f"site:{row['text']}")
        assert (of == number).tolist() == chosen.tolist()
        assert row["waits"] == run.waits.time[chosen].sum()
    assert (data["why"], data["keep"], data["ranks"], data["command"]) == ("", "", [0, 1, 2], "perwiz predict x")


def test_regions__at_any_depth():
    """A region inside itself counts its calls once, and what cannot be copied to a shell is not offered."""
    run = replayed(
        build.CATALOGUE["nested_regions"]() if "nested_regions" in build.CATALOGUE else build.nested_regions(), build.hand_model()
    )
    data = live.document(run, "")
    for row in data["regions"]:
        inside = perwiz.whatif.selectors.inside(run.trace, row["row"])
        assert row["waits"] == run.waits.time[inside].sum()
    assert data["computing"]
    named = dataclasses.replace(run.trace, names=tuple(f"{name}\u202e\n" for name in run.trace.names))
    data = live.document(replayed(named, build.hand_model()), "")
    assert (data["regions"], data["computing"]) == ([], [])


def test_computing__on_the_rank_that_takes_long():
    """One loader takes 60 ms a batch, the other 10 ms: 1.7 times the mean; steps outside of what they call are alike."""
    rows = live.document(replayed(perwiz.read(str(TRACES / "training-slow"))), "")["computing"]
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    found = [(row["text"], row.get("rank")) for row in rows]
    assert found[:3] == [(loader, None), (f"{loader}@rank:1", 1), ("ProfilerStep", None)]
    assert (rows[1]["row"], rows[1]["name"]) == (rows[0]["row"], f"{rows[0]['name']} on rank 1")


def test_unrecorded_waits__are_told(run):
    bare = dataclasses.replace(run.trace, counts=dataclasses.replace(run.trace.counts, bare=2))
    told = live.document(replayed(bare, "default"), "")["unrecorded"]
    assert told == "the waits of 2 calls were not recorded: they count as computation"
    assert live.document(run, "")["unrecorded"] == ""


def test_why_not(run, monkeypatch):
    assert live_graph.why_not(run) == ""
    assert live_graph.why_not(replayed(build.CATALOGUE["empty"]())) == "the run has no calls"
    shared = replayed(perwiz.read(str(TRACES / "srtest.alog")), "interfaces=1")
    assert live_graph.why_not(shared) == "messages share links here, and what they lose there another run changes"
    monkeypatch.setattr(live_graph, "MANY", 35)
    assert live_graph.why_not(run) == "the run has 36 calls; a page answers by itself for up to 35"
    assert live.document(run, "x")["changes"] == []


def test_network__where_it_may_change(run):
    """Once posted nobody knows; where messages move in calls only L decides in which."""
    assert live.document(run, "")["graph"]["network"]["latency"] is True
    moves = replayed(run.trace, "S_bytes=0,progress=in calls", "none")
    assert live.document(moves, "")["graph"]["network"]["latency"] is False
    posted = replayed(run.trace, "progress=once posted", "none")
    assert live.document(posted, "")["graph"]["network"] == {"why": "messages move once posted here: perwiz predict --network answers"}


def test_size__of_a_halo():
    """12 bytes a call at most: 4000 calls of an exchange with neighbours and a reduction."""
    b = build.Builder(8)
    rng = np.random.default_rng(7)
    for _ in range(100):
        for rank in range(8):
            b.compute(rank, int(rng.integers(500, 900)))
            b.sendrecv(rank, (rank + 1) % 8, (rank - 1) % 8, int(rng.integers(1, 200)))
            b.sendrecv(rank, (rank - 1) % 8, (rank + 1) % 8, 150)
        b.everyone("Allreduce")
    run = replayed(b.trace(), build.hand_model())
    assert size(live.document(run, "")) < 12 * len(run.trace.calls)
