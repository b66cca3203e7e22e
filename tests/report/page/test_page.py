"""What the page of a run says: its top, its fixes, its health."""

from __future__ import annotations

import dataclasses
import pathlib
from functools import partial

import msgspec
import pytest

import perwiz
from build import Builder, hand_model
from perwiz import words
from perwiz.report import misfit
from perwiz.report.domino import lists
from perwiz.report.domino.change import between
from perwiz.report.domino.records import Pipeline
from perwiz.report.page import analyses
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered
from perwiz.report.page.panels import fixes as html_fixes
from perwiz.report.page.panels import health as html_health
from perwiz.report.page.panels import timeline_runs as html_runs
from perwiz.report.predict.document import document as predict_document
from perwiz.whatif.ranking import order
from perwiz.whatif.ranking.ranking import rank

TRACES = pathlib.Path(__file__).parents[3] / "traces"


@pytest.fixture(scope="module")
def srtest():
    return gathered(perwiz.read(str(TRACES / "srtest.alog")), command="perwiz report srtest.alog -o x.html", model="default")


def second(report):
    """Return the timeline that is shown below the recorded one."""
    data = html_runs.document(report)
    return data["timelines"][data["panes"][1]]


def test_head__without_a_question_the_first_change(srtest):
    head = html_report.head(srtest)
    assert (head["lanes"], head["calls"], head["messages"]) == ("3 processes", 36, 15)
    assert (head["recorded"], head["predicted"], head["asked"], head["span"]) == (412_568_000, 393_849_670, [], None)
    labels = [label for label, _ in head["best"] if label]
    assert (labels, head["by"]) == (["first change", "what to do", "at best", "what helps"], "by the first change")
    assert [label for label, _ in head["sure"] if label] == ["first change", "at best", "other", "unexplained", "not tried"]
    assert head["best"][0][1] == (
        "--advance site:MPI_Recv (what the 15 calls of MPI_Recv wait for runs earlier): gain 18.72 ms (4.5 %), between 15.76 ms and"
        " 21.43 ms; the run then takes 393.8 ms (385.5 ms to 402.3 ms)"
    )
    at_best = "--zero-time site:MPI_Barrier: gain 89.67 ms (21.7 %); all of it if nothing needs the barrier"
    assert dict(head["best"])["at best"].endswith(at_best)
    assert head["best"][-1][1].startswith("leave out the barrier")
    assert (head["incomplete"], head["holes"], head["comparison"]) == (False, [], None)


def test_head__what_does_not_pay_is_not_predicted():
    """20 messages cost 50 each in their sends; balanced it gains 5 of 2010: the second run is the one at best."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    b.compute(0, 1010)
    b.compute(1, 1000)
    for _ in range(20):
        b.send(0, 1, work=50)
        b.recv(1, 0)
    report = gathered(b.trace(), model=hand_model())
    assert report.prediction.predicted.makespan == report.bounds[0].change.makespan
    head, shown = html_report.head(report), second(report)["name"]
    assert head["best"][0][1].startswith("none that pays: ")
    assert (head["by"], head["predicted"]) == (None, report.prediction.predicted.makespan)
    assert shown.startswith("predicted at best: --zero-time site:MPI_Send")


def test_head__with_one():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "srtest.alog")), ["zero-time e25", "zero-wait e2"], model="default"))
    assert (head["asked"], head["predicted"] > 322_900_934) == (["zero-time e25", "zero-wait e2"], True)
    assert head["best"][0][1].startswith("--advance site:MPI_Recv (")


@pytest.mark.parametrize("asked", ["zero-time all", "speed rank:0=10"])
def test_head__doubts_what_was_asked(asked):
    """As perwiz predict: an answer to another question than the first change has another critical path."""
    trace = perwiz.read(str(TRACES / "monte.log"))
    answer = predict_document(perwiz.predict(trace, [asked]), 0)
    told = misfit.doubts(answer, answer.shares_of_ns)
    assert html_report.head(gathered(trace, [asked]))["doubts"] == [[label.capitalize(), text] for label, text in told]


def test_head__a_pair_is_at_best(monkeypatch):
    """9 receives wait 90 ns each for the same process: nothing of a pair is what somebody can do."""
    b = Builder(2, latency=12, per_byte=0, work=0)
    for _ in range(9):
        b.compute(0, 100)
        b.send(0, 1)
        b.recv(1, 0)
    monkeypatch.setattr(analyses, "rank", partial(rank, by="pair"))
    report = gathered(b.trace(), model=hand_model(), clock="none")
    head, first = html_report.head(report), report.bounds[0].change
    bound = dict(head["best"])["at best"].partition(": gain ")[0]
    assert (head["predicted"], head["by"], bound) == (first.makespan, None, "--zero-wait 'pair:0>1'")
    assert second(report)["name"] == "predicted at best: --zero-wait 'pair:0>1'"


def test_head__what_is_not_tried(monkeypatch):
    monkeypatch.setattr(order, "ROOM", 10)
    head = html_report.head(gathered(perwiz.read(str(TRACES / "srtest.alog")), model="default"))
    assert [label for label, fact in head["sure"] if fact.startswith("order: ")] == ["not tried"]


@pytest.mark.slow
def test_head__of_an_incomplete_trace_where_nothing_gains():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "p_m3.alog.gz")), model="default"))
    assert (head["predicted"], head["incomplete"]) == (None, True)
    assert head["best"] == [
        ["first change", "cannot be answered: the waits were not recorded, they count as computation; see perwiz record"]
    ]
    assert head["holes"] == ["sends and receives logged outside MPI states, their waits not recorded: 18104"]


def test_head__of_a_trace_completed_by_inference():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "simple.alog.gz")), model="default"))
    assert (head["incomplete"], head["holes"]) == (True, [])
    assert all(repair.startswith("roots of collectives, ") for repair in head["repairs"])


def test_head__names_ranks_that_are_missing():
    """Rank 0 sums with a rank 1 of which nothing is there: the first that the page says of the trace."""
    b = Builder(1)
    everyone = b.comm("everyone", range(2))
    b.compute(0, 100)
    b.join(0, "Allreduce", comm=everyone, work=300)
    holes = html_report.head(gathered(b.trace(), model="default"))["holes"]
    assert holes == ["nothing of rank 1: waiting for it in collectives cannot be told from transfer; bring its trace first"]


def test_head__re_measured(tmp_path):
    """The trace predicted under advance e25, taken for a run: once held against the prediction, once against the recorded run."""
    trace, path = perwiz.read(str(TRACES / "srtest.alog")), str(tmp_path / "after.alog")
    perwiz.write(perwiz.predicted_trace(perwiz.predict(trace, "advance e25", "default")), path)
    now = {"of": 412_568_000, "reference": "recorded run"}
    for asked, off, base in (("advance e25", 0, {"of": 403_130_934, "reference": "measured run"}), ((), 9_437_066, now)):
        report = gathered(trace, asked, against=perwiz.read(path), model="default")
        again = html_health.document(report)["blocks"][1]
        assert (again["title"], again["facts"][0]) == ("Re-measured trace", ["file", path])
        found = html_report.head(report)["comparison"]
        told = {"asked": bool(asked), "chance": "", "unasked": None}
        assert found == {"whole": 403_130_934, "off": off, **base, "from": "start", "trace": path, **told}
        assert found["of"] == report.comparison.reference.makespan, "what compare divides by"


def test_head__says_whether_a_difference_is_chance():
    """As `perwiz compare` does of these runs: 105.3 ms apart, of which runs of the same tell 70.15 ms."""
    trace, after = (perwiz.read(str(TRACES / name)) for name in ("training-slow", "training-balanced"))
    report = gathered(trace, against=after)
    assert (report.chance.difference, report.chance.most) == (-105_258_904, 75_126_845)
    assert html_report.head(report)["comparison"]["chance"] == "more than chance"
    small = dataclasses.replace(report, chance=dataclasses.replace(report.chance, most=105_258_904))
    assert html_report.head(small)["comparison"]["chance"] == "which may be all chance"


def test_timeline__says_where_runs_are_compared_from():
    """Each is drawn from its first instant; MPI_Init takes 300 in the recorded run and 700 in the other."""

    def run(init):
        b = Builder(2, work=0)
        for process in range(2):
            b.call(process, "Init", work=init)
            b.compute(process, 1000)
        b.barrier()
        return b.trace("again")

    names = []
    for others in (700, 300):
        report = gathered(run(300), against=run(others), model=hand_model(), clock="none")
        names.append(html_runs.document(report)["timelines"][-1]["name"])
    assert names == ["re-measured: again (compared from the end of the last MPI_Init, here 400 ns later)", "re-measured: again"]


def test_fixes(srtest):
    """The first lines of `perwiz domino traces/srtest.alog`."""
    block = html_fixes.document(srtest)
    best = block["changes"][0]
    assert (best["id"], best["gain"], best["makespan"], best["wait"]) == (25, 9_437_066, 403_130_934, 9_437_066)
    assert best["partner"] == "e14, rank 1"
    answer = dict(block["answer"])
    assert "first change" not in answer  # it is the top of the page
    assert answer["limited by"].startswith("late start (others began before) 60.8 %")
    assert answer["no waits"].startswith(
        "393.8 ms, gain 18.72 ms (4.5 %), if no call waited; 18 of 36 calls wait, 430.7 ms in all, 16 of them"
    )
    assert answer["replay"] == "the unchanged run is exactly the recorded one"
    assert block["ranked"][0]["change"] == "--advance site:MPI_Recv"
    assert [row["number"] for row in block["ranked"]] == [lists.numbered(k + 1, line) for k, line in enumerate(srtest.ranked.ranked)]
    for row, line in zip(block["ranked"], srtest.ranked.ranked, strict=True):
        ends = ("", "") if row["least"] is None else (words.duration(row["least"]), words.duration(row["most"]))
        assert ends == between(srtest.ranked, line)  # as perwiz domino tells them
    assert any(row["least"] is not None for row in block["ranked"])
    assert block["ranked_notes"][0].startswith("Order: the largest gain; where each of two lies between least and most")
    first = block["at_best"][0]
    assert (first["kind"], first["change"], first["id"]) == ("collective", "--zero-time site:MPI_Barrier", 0)
    assert first["remedy"].startswith("leave out the barrier")
    assert [step["number"] for step in block["steps"]] == ["1", "2 *", "3"]


def test_fixes__what_pipelines_lose(srtest):
    ranked = msgspec.structs.replace(srtest.ranked, pipeline=Pipeline(pipelines=1, stages=3, bubble=0.234, ideal=1 / 3, uneven=0.248))
    answer = dict(html_fixes.document(dataclasses.replace(srtest, ranked=ranked))["answer"])
    idle = "idle 23.4 % of each step as they fill and drain (of equal stages 33.3 %), 24.8 % as others compute longer"
    assert answer["pipeline"] == f"stages of 1 pipeline of 3 {idle}"


def test_health(srtest):
    blocks = {block["title"]: dict(block["facts"]) for block in html_health.document(srtest)["blocks"]}
    assert blocks["Trace"]["health"] == "complete; 102 records read"
    assert blocks["Model and misfit"]["replay"] == "the unchanged run is exactly the recorded one"
    assert blocks["Made by"]["command"] == "perwiz report srtest.alog -o x.html"
    assert blocks["Made by"]["versions"].startswith(f"perwiz {perwiz.__version__}, Python 3.")


def test_line(srtest):
    line = html_report.line(srtest, "x.html, 66.10 kB: ")
    best = dict(html_report.head(srtest)["best"])["first change"]
    assert line.startswith(f"x.html, 66.10 kB: 412.6 ms; first change: {best}; what to do: do what the others wait for first")
    assert "at best" not in line


@pytest.mark.slow
@pytest.mark.parametrize("name", ["srtest.alog", "npb-is.S-4", "halo-before", "monte.log", "gmm.log"])
def test_law__the_second_timeline_is_the_run_under_the_first_change(name):
    report = gathered(perwiz.read(str(TRACES / name)), model="default")
    first = report.lines[0].change
    assert report.prediction.predicted.makespan == first.makespan
    head, shown = html_report.head(report), second(report)["name"]
    assert head["predicted"] == first.makespan
    assert shown.startswith("predicted under the first change: ")
    assert head["best"][0][1].removeprefix("not sure to gain: ").startswith(shown.partition(": ")[2])
