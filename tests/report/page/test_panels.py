"""The data of the panels of messages, waits, efficiency and the network."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import pytest
from hypothesis import given

import build
import naive_panels
import perwiz
from perwiz import words
from perwiz.report import palette
from perwiz.report.page.analyses import wait_states
from perwiz.report.page.panels import curve as html_curve
from perwiz.report.page.panels import efficiency as html_efficiency
from perwiz.report.page.panels import messages as html_messages
from perwiz.report.page.panels import waits as html_waits
from perwiz.report.page.tables import bar, fewer, table
from perwiz.whatif.limits.critical import critical_of
from perwiz.whatif.run import replayed
from perwiz.whatif.waits import Waits

SRTEST = str(pathlib.Path(__file__).parents[3] / "traces" / "srtest.alog")


@pytest.fixture(scope="module")
def srtest():
    return replayed(perwiz.read(SRTEST), "default")


def test_messages__none():
    """Ranks that only call collectives: no columns of messages, and rows are who comes late."""
    data = html_messages.document(replayed(perwiz.read(str(pathlib.Path(SRTEST).parent / "training-slow"))))
    (kind,) = data["kinds"]
    assert (data["sends"], kind["title"]) == (False, "waits for who came last")
    assert kind["table"]["head"] == ["comes late", "waits", kind["title"], ""]


def test_messages__srtest(srtest):
    """A ring of three ranks, five rounds of 12 bytes; nobody waits for whom it does not get a message from, but in barriers."""
    found = naive_panels.matrix(html_messages.document(srtest))
    waits = srtest.waits.time
    assert {pair: row[:2] for pair, row in found.items() if row[0]} == {("0", "1"): [5, 60], ("1", "2"): [5, 60], ("2", "0"): [5, 60]}
    assert sum(row[2] + row[3] + row[4] for row in found.values()) == waits.sum()
    assert found["2", "0"][5] == 0, "the barrier e0 waits longer for rank 2 than any receive"
    assert found["1", "2"][5] == 25


def test_messages__who_waits_for_whom():
    """Rank 1 waits 50 us for the sender 0; in the other trace rank 0 for the receiver 1, who computes 200 us: all but 4 us of latency."""
    (pair, row), *more = naive_panels.matrix(html_messages.document(replayed(build.late_sender(), "default"))).items()
    assert (pair, row[:2], row[3:5], more) == (("0", "1"), [1, 70_000], [0, 0], [])
    assert row[2] >= 50_000
    found = naive_panels.matrix(html_messages.document(replayed(build.late_receiver(), "default")))
    assert found["0", "1"][:5] == [1, 70_000, 0, 0, 0]
    assert found["1", "0"][3] == 196_000


@given(build.traces())
@pytest.mark.slow
def test_messages__nothing_is_lost(trace):
    """However few rows the matrix has: all messages, all bytes, and all waits for somebody."""
    run = replayed(trace, "default")
    for side in (256, 2, 1):
        data = html_messages.document(run, side)
        found = np.array([row[:5] for row in naive_panels.matrix(data).values()], "i8").reshape(-1, 5)
        waits = run.waits.time[(run.waits.partner >= 0) & (run.waits.time > 0)]
        assert found[:, :2].sum(axis=0).tolist() == [len(run.trace.messages), run.trace.messages.bytes.sum()]
        assert found[:, 2:].sum() == waits.sum()
        assert len(data["names"]) <= side or side >= len(trace.locations)


def test_messages__many_processes(srtest):
    data = html_messages.document(srtest, side=2)
    assert (data["names"], data["told"]) == (["0 to 1", "2 to 2"], "3 processes, put together in blocks of 2; ")
    assert naive_panels.matrix(data)["0 to 1", "0 to 1"][:2] == [5, 60]
    trace = srtest.trace
    places = dataclasses.replace(trace.locations, node=np.array([1, 0, 1], "i4"))
    run = replayed(dataclasses.replace(trace, locations=places, nodes=("n0", "n\n1")))
    data = html_messages.document(run, side=2)
    assert (data["names"], data["told"]) == (["n0", "n\\n1"], "3 processes, put together by node; ")
    assert naive_panels.matrix(data)["n\\n1", "n\\n1"][0] == 5


def test_messages__the_heaviest_pairs(srtest):
    data = html_messages.document(srtest)
    assert [kind["title"] for kind in data["kinds"]] == [html_messages.KINDS[k] for k in (0, 1, 2, 4)]
    assert data["start"] == 2
    late = data["kinds"][2]["table"]
    assert [row[:2] for row in late["rows"]] == [["2", "0"], ["0", "1"], ["1", "2"]]
    assert late["rows"][0][3:] == ["58.7 %", "5", "60 B"]
    assert late["rows"][0][2]["bars"] == [60.0]


def test_waits__bins():
    """251 ms, 65.08 ms, 53.29 ms ... in bins of 1, 2 and 5."""
    run = replayed(perwiz.read(SRTEST), "default")
    names, edges, count, total = html_waits.histogram(run)
    assert names == ["MPI_Barrier", "MPI_Recv"]
    assert (edges[0], edges[-1]) == (500_000, 200_000_000)
    assert count.sum(axis=1).tolist() == [2, 0, 11, 1, 1, 0, 2, 0, 1]
    assert total.sum() == run.waits.time.sum()
    assert count[-1].tolist() == [1, 0]


def test_waits__edges_belong_to_the_bin_they_begin(srtest):
    time = np.zeros(36, "i8")
    time[:6] = [1, 2, 4, 5, 9, 10]
    _, edges, count, total = html_waits.histogram(dataclasses.replace(srtest, waits=Waits(time, srtest.waits.partner)))
    assert edges.tolist() == [1, 2, 5, 10]
    assert (count.sum(axis=1).tolist(), total.sum(axis=1).tolist()) == ([1, 2, 2, 1], [1, 6, 14, 10])


def test_waits__many_routines_are_put_together(monkeypatch):
    monkeypatch.setattr(html_waits, "ROUTINES", 2)
    run = replayed(build.all_collectives(), "default")
    names, _, count, total = html_waits.histogram(run)
    assert len(names) == 3
    assert names[2].endswith(" others")
    assert (total.sum(), count.sum()) == (run.waits.time.sum(), (run.waits.time > 0).sum())


@given(build.traces())
@pytest.mark.slow
def test_waits__all_are_counted(trace):
    run = replayed(trace, "default")
    names, edges, count, total = html_waits.histogram(run)
    assert (total.sum(), count.sum()) == (run.waits.time.sum(), (run.waits.time > 0).sum())
    assert count.shape == total.shape == (len(edges), len(names))
    assert ((edges[:, None] * count <= total) | (count == 0)).all()


def test_waits__in_words(srtest):
    data = html_waits.document(srtest)
    assert data["answer"] == "18 of 36 calls wait, 430.7 ms in all"
    assert data["edges"][:3] == ["500 us", "1 ms", "2 ms"]
    assert (data["routines"], data["colours"]) == (["MPI_Barrier", "MPI_Recv"], ["collective", "receive"])
    count, time = data["charts"]
    assert count["said"][0] == "500 us to 1 ms: 2 (MPI_Barrier 1, MPI_Recv 1)"
    assert time["said"][1] == "1 ms to 2 ms: 0 ns"
    assert time["said"][-1] == "200 ms and more: 251.0 ms (MPI_Barrier 251.0 ms)"
    assert time["bars"][-1] == [1.0, 0.0]
    bins, longest = data["tables"]
    assert bins["rows"][-1] == ["200 ms and more", "1", "251.0 ms", "251.0 ms"]
    assert longest["rows"][4] == ["9.437 ms", "e25", "2", "MPI_Recv", "e14, rank 1", "-"]
    assert longest["go"][4] == {"call": 25}


def test_waits__none():
    data = html_waits.document(replayed(build.one_process(), "default"))
    assert (data["answer"], data["edges"]) == ("0 of 1 call wait, 0 ns in all", [])


def test_curve__srtest(srtest):
    """As `perwiz curve traces/srtest.alog` says."""
    data = html_curve.document(srtest)
    assert (data["recorded"], data["whole"], data["note"]) == (412_568_000, 412_568_000, "dots: another path becomes critical")
    assert [one["name"] for one in data["curves"]] == ["latency L", "time per byte G", "overhead o"]
    latency = data["curves"][0]
    assert latency["said"].startswith("latency L is 2.500 us; it may grow to 231.7 us before the run is 1 % slower.")
    assert (latency["x"][0], latency["x"][-1], latency["recorded"]) == (0, 25_000, 2_500)
    assert latency["y"][0] < 412_568_000 < latency["y"][-1]
    assert latency["marks"] == []
    assert latency["tables"][0]["rows"][0] == ["+1 %", "231.7 us"]


def test_curve__a_model_without_latency():
    run = replayed(build.late_sender(), build.hand_model(L=0.0, o=0.0, G=0.0))
    data = html_curve.document(run)
    assert [(one["recorded"], one["x"][-1]) for one in data["curves"]] == [(0, 25_000), (0, 60), (0, 15_000)]  # of the model default


def test_curve__long_ones_are_thinned(monkeypatch):
    monkeypatch.setattr(html_curve, "POINTS", 3)
    monkeypatch.setattr(html_curve, "_BREAKS", 1)
    data = html_curve.document(replayed(build.ring(), "default"))
    for one in data["curves"]:
        assert len(one["x"]) == len(one["y"]) <= 3
        assert len(one["tables"][1]["rows"]) == 1


def blocks(run):
    found = wait_states(run)
    return {block["title"]: block for block in html_efficiency.document(found, critical_of(run))["blocks"]}


def test_efficiency__srtest(srtest):
    found = blocks(srtest)
    assert list(found) == ["Parallel efficiency", "Critical path", "", "Lower bounds"]
    program = found["Parallel efficiency"]["tables"][0]["rows"][0]
    assert program[:2] == ["program", "412.6 ms"]
    assert program[2] == {"text": "55.6 % !", "width": 40, "bars": [22.2], "colours": ["mark"]}
    path = found["Critical path"]
    assert path["note"].startswith("412.6 ms in 48 pieces, 16 changes of process: 60.8 % start, 3.5 % computation, ")
    assert [group["head"][0] for group in path["tables"]] == ["rank", "routine"]
    assert [row[0] for row in path["tables"][0]["rows"]] == ["rank 2", "rank 1", "rank 0"]
    longest = found[""]["tables"][0]
    assert longest["rows"][0][:3] == ["0 ns", "251.0 ms", "start"]
    assert longest["go"][0] == {"from": -250_991_000, "to": 501_982_000}
    assert longest["go"][1] == {"call": 12}
    assert found["Lower bounds"]["tables"][0]["rows"][0][:2] == ["whole program", "411.6 ms"]


def stepped():
    """Return a trace of two ranks with two steps of a parallel region, of which rank 1 computes three times as long."""
    b = build.Builder(2)
    for _ in range(2):
        for rank in range(2):
            with b.region(rank, "step"):
                b.compute(rank, 1000 + 2000 * rank)
        b.barrier()
    trace = b.trace()
    return dataclasses.replace(trace, parallel=trace.parallel | True)


def test_efficiency__steps_to_balance():
    (steps,) = blocks(replayed(stepped(), "default"))["Steps to balance"]["tables"]
    assert [row[0] for row in steps["rows"]] == ["step#1", "step#2"]
    assert [row[1:4] for row in steps["rows"]] == [["1.000 us", "-", "1.500"]] * 2


def test_efficiency__threads():
    """The factors of MPI and of the threads stand beside those of all; without several threads there is no such table."""
    found = blocks(replayed(build.CATALOGUE["threads"](), "default"))["Efficiency of MPI and threads"]
    factors, added = found["tables"]
    assert [row[0].strip() for row in factors["rows"]] == ["parallel", "balance", "communication", "serialisation", "transfer"]
    assert [row[0].strip() for row in added["rows"]][-2:] == ["serial parts", "parallel regions"]
    assert not [title for title in blocks(replayed(build.CATALOGUE["device"](), "default")) if title.startswith("Efficiency of")]


def test_efficiency__too_many_steps(monkeypatch):
    monkeypatch.setattr(html_efficiency, "MOST", 1)
    block = blocks(replayed(stepped(), "default"))["Steps to balance"]
    assert (block["note"], block["tables"]) == ("2 steps are too many to predict each for this page; perwiz balance does.", [])


@pytest.mark.parametrize("name", build.one_of(3, 2))
def test_awkward_traces(name):
    run = replayed(build.CATALOGUE[name](), "default")
    places = sorted(zip(run.trace.locations.process.tolist(), run.trace.locations.thread.tolist(), strict=True))
    assert html_messages.document(run)["names"] == [words.rank(*place) for place in places]
    assert "Lower bounds" in blocks(run)
    assert len(html_curve.document(run)["curves"]) == 3


def test_colours__are_those_of_the_timeline(srtest):
    """Computation is what it is there; bars and lines that are no calls have colours of their own; each has one on black, too."""
    path = blocks(srtest)["Critical path"]
    names = dict(zip(path["legend"]["names"], path["legend"]["colours"], strict=True))
    assert names["computation"] == "idle"
    assert len({*names.values()}) == len(names)
    assert {*names.values(), "mark"} <= {*palette.LIGHT} == {*palette.DARK}
    assert path["tables"][0]["rows"][0][2]["colours"] == path["legend"]["colours"]


def test_tables():
    assert bar("x", 0.5, 2.0, -1.0) == {"text": "x", "width": 60, "bars": [30.0, 60.0, 0.0], "colours": ["mark", "mark", "mark"]}
    assert bar("x", 0.5, 0.5, colours=("idle", "wait"))["colours"] == ["idle", "wait"]
    assert (fewer(2, 3), fewer(3, 3)) == ("2 of 3", "")
    assert table(["a"], [["b"]]) == {"head": ["a"], "rows": [["b"]], "left": [0], "caption": "", "go": []}
