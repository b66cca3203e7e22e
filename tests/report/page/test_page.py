"""What the page of a run says: its top, its fixes, its health."""

from __future__ import annotations

import pathlib

import pytest

import perwiz
from perwiz.report.page import page as html_report
from perwiz.report.page.analyses import gathered
from perwiz.report.page.panels import fixes as html_fixes
from perwiz.report.page.panels import health as html_health

TRACES = pathlib.Path(__file__).parents[3] / "traces"


@pytest.fixture(scope="module")
def srtest():
    return gathered(perwiz.read(str(TRACES / "srtest.alog")), command="perwiz report srtest.alog -o x.html", model="default")


def test_head__without_a_question_the_best_single_call(srtest):
    head = html_report.head(srtest)
    assert (head["processes"], head["calls"], head["messages"]) == (3, 36, 15)
    assert (head["recorded"], head["predicted"], head["asked"], head["best"]) == (412_568_000, 403_130_934, ["zero-wait e25"], True)
    assert (head["incomplete"], head["holes"], head["comparison"]) == (False, [], None)


def test_head__with_one():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "srtest.alog")), ["zero-time e25", "zero-wait e2"], model="default"))
    assert (head["asked"], head["best"]) == (["zero-time e25", "zero-wait e2"], False)


@pytest.mark.slow
def test_head__of_an_incomplete_trace_where_nothing_gains():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "p_m3.alog.gz")), model="default"))
    assert (head["predicted"], head["incomplete"]) == (None, True)
    assert head["holes"] == ["sends and receives logged outside MPI states, their waits not recorded: 18104"]


def test_head__of_a_trace_completed_by_inference():
    head = html_report.head(gathered(perwiz.read(str(TRACES / "simple.alog.gz")), model="default"))
    assert (head["incomplete"], head["holes"]) == (True, [])
    assert all(repair.startswith("roots of collectives, ") for repair in head["repairs"])


def test_head__re_measured(tmp_path):
    """The trace predicted under advance e25, taken for a run: once held against the prediction, once against the recorded run."""
    trace, path = perwiz.read(str(TRACES / "srtest.alog")), str(tmp_path / "after.alog")
    perwiz.write(perwiz.predicted_trace(perwiz.predict(trace, "advance e25", "default")), path)
    for asked, off in (("advance e25", 0), ((), 9_437_066)):
        report = gathered(trace, asked, against=perwiz.read(path), model="default")
        again = html_health.document(report)["blocks"][1]
        assert (again["title"], again["facts"][0]) == ("Re-measured trace", ["file", path])
        found = html_report.head(report)["comparison"]
        assert found == {"whole": 403_130_934, "off": off, "from": "start", "trace": path}


def test_fixes(srtest):
    """The first lines of `perwiz domino traces/srtest.alog`."""
    block = html_fixes.document(srtest)
    best = block["changes"][0]
    assert (best["id"], best["gain"], best["makespan"], best["wait"]) == (25, 9_437_066, 403_130_934, 9_437_066)
    assert best["partner"] == "e14, rank 1"
    answer = dict(block["answer"])
    assert answer["best change"].startswith("--zero-time site:MPI_Barrier: 322.9 ms, gain 89.6")
    assert answer["limited by"].startswith("serialisation (waiting in turn) 60.")
    assert answer["at best"].startswith("393.8 ms, 4.5 % less, if no call waited; 18 of 36 calls wait, 430.7 ms in all, 16 of them")
    assert answer["error"] == "the unchanged run, replayed, is exactly the recorded one"
    first = block["ranked"][0]
    assert (first["kind"], first["change"], first["id"]) == ("collective", "--zero-time site:MPI_Barrier", 0)
    assert first["remedy"].startswith("leave out the barrier")
    assert [step["number"] for step in block["steps"]] == ["1", "2 *", "3"]


def test_health(srtest):
    blocks = {block["title"]: dict(block["facts"]) for block in html_health.document(srtest)["blocks"]}
    assert blocks["Trace"]["health"] == "complete"
    assert blocks["Model and misfit"]["replay"] == "the unchanged run is exactly the recorded one (engine sweep)"
    assert blocks["Made by"]["command"] == "perwiz report srtest.alog -o x.html"
    assert blocks["Made by"]["versions"].startswith(f"perwiz {perwiz.__version__}, Python 3.")


def test_line(srtest):
    assert html_report.line(srtest, "x.html", 66_100) == "x.html: 412.6 ms, 403.1 ms under zero-wait e25; 66.10 kB"
