"""`perwiz report` from the command line."""

from __future__ import annotations

import pathlib

import pytest

import naive_html
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
SRTEST = str(TRACES / "srtest.alog")


@pytest.fixture
def report(capsys, tmp_path):
    """Return report(*words): exit code, output and complaint of `perwiz report`, which writes run.html."""

    def run(*words):
        code = main(["report", "--model", "default", *words, "-o", str(tmp_path / "run.html")])
        out, err = (text.replace(str(tmp_path), "DIR") for text in capsys.readouterr())
        return code, out, err

    return run


def test_page(report, tmp_path):
    code, out, err = report(SRTEST)
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert told.startswith("DIR/run.html, ")
    assert " kB: 412.6 ms; first change: --advance site:MPI_Recv (what the 15 calls of MPI_Recv wait for runs earlier): gain 18.7" in told
    assert "; what to do: do what the others wait for first: " in told
    parts = naive_html.Parts((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert parts.data("head")["trace"] == SRTEST
    assert parts.data("head")["panels"][0]["id"] == "timeline"


def test_page__says_the_command_line(report, tmp_path):
    assert report(SRTEST, "--zero-wait", "e2,e3", "--scale", "x=1", "--clock", "none")[0] == 2
    assert report(SRTEST, "--zero-wait", "op:MPI_Recv", "--speed", "rank:1=2", "--clock", "none")[0] == 0
    facts = naive_html.Parts((tmp_path / "run.html").read_text(encoding="utf-8")).data("health")["blocks"][-1]["facts"]
    assert dict(facts)["command"] == (
        f"perwiz report {SRTEST} --zero-wait op:MPI_Recv --speed rank:1=2 --model default --clock none -o {tmp_path / 'run.html'}"
    )


def test_quiet__says_the_answer_alone(report):
    _, loud, _ = report(SRTEST)
    code, out, _ = report(SRTEST, "-q")
    assert (code, " ".join(loud.split()).partition(" kB: ")[2]) == (0, " ".join(out.split()))


def test_against(report, tmp_path):
    assert main(["predict", SRTEST, "--model", "default", "--advance", "e25", "-o", str(tmp_path / "after.alog")]) == 0
    code, out, _ = report(SRTEST, "--advance", "e25", "--against", str(tmp_path / "after.alog"))
    assert code == 0
    assert "403.1 ms under advance e25" in out
    assert naive_html.Parts((tmp_path / "run.html").read_text(encoding="utf-8")).data("head")["comparison"]["off"] == 0


def test_incomplete(report):
    code, out, _ = report(str(TRACES / "gmm.log"))
    assert code == 4
    told = " ".join(out.split())
    assert told.endswith("(INCOMPLETE trace)")
    holes = "sends and receives without a message record: 73; processes that nothing ties to another: 3"
    share = "1.7 % of the processes' time is in calls whose partners are unknown: no change alters it"
    assert told.partition(" kB: ")[2].startswith(f"incomplete: {holes}; {share}; recorded 7.872 s; first change: ")


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["-", "--against", "-"], 2, "-: standard input holds one trace, must be named once"),
        (["no.alog"], 3, "no.alog"),
        ([SRTEST, "--zero-wait", "e99"], 2, "e99"),
        ([SRTEST, "--against", str(TRACES / "monte.log")], 3, "is the same, must be runs of one program"),
    ],
)
def test_refusals(report, tmp_path, words, code, complaint):
    done, out, err = report(*words)
    assert (done, out) == (code, "")
    assert complaint in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_refusals__name_of_the_page(capsys, tmp_path):
    for name, complaint in (("run.txt", "no name for a page, must end in .html"), ("no/run.html", "there is no directory")):
        assert main(["report", SRTEST, "-o", str(tmp_path / name)]) == 2
        assert complaint in capsys.readouterr().err
    assert main(["report", SRTEST]) == 2
    assert capsys.readouterr().err == "perwiz: nowhere to write the page to, must be -o FILE.html, or --serve\n"
