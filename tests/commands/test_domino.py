"""`perwiz domino` from the command line."""

from __future__ import annotations

import json
import os
import pathlib
import shlex

import pytest

import perwiz
from perwiz import words
from perwiz.cli import main
from perwiz.commands import domino as command
from perwiz.whatif.ranking import WORDS, ranking
from perwiz.whatif.worth import families, worth

TRACES = pathlib.Path(__file__).parents[2] / "traces"
SRTEST = str(TRACES / "srtest.alog")


@pytest.fixture
def domino(capsys):
    """Return domino(*words): exit code, output and complaint of `perwiz domino traces/srtest.alog`."""

    def run(*words, trace=SRTEST):
        code = main(["domino", trace, "--model", "default", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def document(domino):
    """Return document(*words): the JSON document."""

    def run(*words, ends=0, **settings):
        code, out, err = domino(*words, "--json", **settings)
        assert (code, err) == (ends, "")
        return json.loads(out)

    return run


def test_limits__a_late_start_is_no_serialisation(document):
    """Rank 2 begins 251 ms behind rank 0; `perwiz critical` has as much before the first process on its path begins."""
    limits = document()["limits"]
    parts = ("computation_ns", "imbalance_ns", "start_ns", "waiting_in_turn_ns", "calls_and_network_ns", "end_ns")
    assert limits["start_ns"] == 250_991_000
    assert sum(limits[part] for part in parts) == limits["time_ns"]


def test_text(domino):
    code, out, err = domino()
    assert (code, err) == (0, "")
    assert out.startswith(
        f"{SRTEST}: what to change first\n\n"
        "doubtful      15 of 15 messages took more than twice as long as the model says (16.5 % of the recorded run); the first\n"
        "              change runs ahead of 8 receives that it may need: see how sure\n"
        "recorded      412.6 ms\n"
        "limited by    late start (others began before) 60.8 %, unexplained (inside MPI) 33.7 %, other 2.4 %; computation 3.0 %\n"
        "first change  --advance site:MPI_Recv (what the 15 calls of MPI_Recv wait for runs earlier): gain 18.72 ms (4.5 %),\n"
        "              between 15.76 ms and 21.43 ms; the run then takes 393.8 ms (385.5 ms to 402.3 ms)\n"
        "what to do    do what the others wait for first: move that computation and its send ahead of what nobody waits for, as\n"
        "              MPI_Isend: where all send first, MPI_Send may never return\n"
    )
    assert "\x1b" not in out
    assert out.isascii()


@pytest.mark.slow
def test_changes__are_what_predict_takes(document, capsys):
    block = document("-n", "9")
    lines = [row for line in block["ranked"] + block["at_best"] for row in (line["head"], *line["includes"])]
    assert {"pair", "site", "rank", "call"} <= {row["by"] for row in lines}
    for row in block["changes"] + lines:
        assert main(["predict", SRTEST, "--model", "default", *shlex.split(row["change"]), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["predicted_ns"] == row["makespan_ns"]


def test_rows(document):
    block = document("-n", "1")
    assert (len(block["changes"]), len(block["ranked"]), len(block["path"]["steps"]), block["path"]["calls"]) == (1, 1, 1, 3)


def test_rows__the_call_to_change_is_always_there(document):
    """It is the second of three on the path."""
    assert [(row["number"], row["single"]["call"]) for row in document("-n", "1")["path"]["steps"]] == [(2, "e25")]
    assert [(row["number"], row["single"]["call"]) for row in document("-n", "2")["path"]["steps"]] == [(1, "e12"), (2, "e25")]


def test_words__are_those_that_are_known():
    assert tuple(families.FAMILIES) == command.FAMILIES
    assert ranking.BY == command.BY
    assert worth.ALL == command.QUESTIONS


def test_by(document):
    for by in ("site", "rank", "call"):
        assert {line["head"]["by"] for line in document("--by", by)["ranked"]} == {by}


def test_kind(document):
    block = document("--kind", "order", "--kind", "slowest")
    assert {line["head"]["kind"] for line in block["ranked"]} == {row["kind"] for row in block["best"]} == {"order", "slowest"}
    assert {row["kind"] for row in document()["best"]} <= set(WORDS)


@pytest.mark.parametrize("question", command.QUESTIONS)
def test_question(document, question):
    block = document("--question", question, "-n", "2")
    assert [row["change"].split()[0] for row in block["changes"]] == [f"--{question}"] * 2


def test_greedy(document):
    fixes = document("--greedy", "2")["fixes"]
    assert [row["change"] for row in fixes["by_gain"]] == ["--zero-wait e25", "--zero-wait e31"]
    assert [row["change"] for row in fixes["by_wait"]] == ["--zero-wait e0", "--zero-wait e2"]


def test_greedy__with_sets(document):
    assert document("--greedy", "1", "--by", "routine")["fixes"]["by_gain"][0]["change"] == "--zero-wait op:MPI_Recv"


def test_target(document):
    """Waits are bounds: what can be done does not reach it."""
    block = document("--target", "400ms", "--kind", "wait", "--by", "call", ends=5)["target"]
    questions = [row["change"] for row in block["changes"]]
    assert (block["reached"], block["reached_at_best"], block["feasible"]) == (False, True, 0)
    assert questions == ["--zero-wait e25", "--zero-wait e31", "--zero-wait e27"]


def test_target__of_every_kind(document, capsys):
    """What can be done reaches 390 ms, a bound behind it 330 ms; and what they are given for a shell predicts that."""
    block = document("--target", "390ms")["target"]
    assert (block["reached"], block["feasible"], [row["bound"] for row in block["changes"]]) == (True, 2, [False, False])
    asked = [word for row in block["changes"] for word in shlex.split(row["change"])]
    assert main(["predict", SRTEST, "--model", "default", *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predicted_ns"] == block["changes"][-1]["makespan_ns"] <= 390_000_000
    block = document("--target", "330ms", ends=5)["target"]
    assert (block["reached_at_best"], block["feasible"], block["changes"][2]["change"]) == (True, 2, "--zero-time site:MPI_Barrier")


def test_target__missed(domino):
    for asked, said in ((["--kind", "wait"], "nothing that can be done gains 0.1 %; "), (["-q"], "what can be done reaches 1.07x with 2 ")):
        code, out, _ = domino("--target", "9x", *asked)
        assert code == 5
        assert f"\ntarget        9x, 45.84 ms: out of reach: {said}" in out
        assert "\nperwiz predict " in out


def test_incomplete_trace(domino):
    code, out, _ = domino(trace=str(TRACES / "cpilog.alog"))
    assert code == 4
    assert out.startswith(f"{TRACES}/cpilog.alog: what to change first  (INCOMPLETE trace, completed by inference)\n")
    assert "\nbest call     --zero-wait e4: " in out
    assert "\nhealth        INCOMPLETE" in out


def test_model(document):
    assert document("--model", "cray-t3e")["model"]["name"] == "cray-t3e"


@pytest.mark.slow
def test_plot(domino, tmp_path):
    assert domino("--plot", str(tmp_path / "domino.svg"))[0] == 0
    assert os.listdir(tmp_path) == ["domino.svg"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "soon"], "target 'soon': must be like 1.3x (times as fast), 80% (of the recorded time) or 2.5s (s, ms, us, ns)"),
        (["--block", "work"], "--block: only what is moved has one, --question must be advance"),
        (
            ["--block", "work", "--question", "advance"],
            "region 'work': the trace has no user regions, must be marked in the program: PRGN_BEGIN"
            " (perwiz record --print-include), or functions that other tools record",
        ),
        (["-n", "0"], "argument -n: '0', must be a whole number from 1 to 1000000; see perwiz domino --help"),
        (["--greedy", "x"], "argument --greedy: 'x', must be a whole number from 0 to 1000000; see perwiz domino --help"),
        (
            ["--kind", "balance", "--by", "rank"],
            "--by rank: no change of the kinds asked for is about that, must be one of program, stretch, region, step, site"
            " (--kind balance)",
        ),
        (["--plot", "x.gif"], "x.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
    ],
)
def test_refusals(domino, words, said):
    assert domino(*words) == (2, "", f"perwiz: {said}\n")


def test_refusals__before_the_trace_is_read(domino):
    assert "target" in domino("--target", "soon", trace="nowhere.alog")[2]


def test_api():
    found = perwiz.domino(perwiz.read(SRTEST), "default")
    assert repr(found) == f"<Domino of {SRTEST}: zero-wait e25: 412568000 ns becomes 403130934 ns>"
    assert found.ranked(2).tolist() == [25, 12]


def test_help(domino):
    code, out, _ = domino("--help")
    assert code == 0
    assert "  perwiz domino run.alog --target 1.3x " in out


LONG = [("monte.log", "--clock none"), *((name, "") for name in ("cpilog.alog", "team-dynamic.alog.gz", "ring-ti"))]
ASKED = (
    ("srtest.alog", "--clock linear"),
    ("npb-is.S-4", "--iterations 2..5"),
    *(pytest.param(name, options, marks=pytest.mark.slow) for name, options in LONG),
    pytest.param("npb-mg.S_timens-4", "--model cacau --iterations 2..3", marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("name", "options"), ASKED)
def test_law__each_line_is_what_its_command_answers(name, options, capsys):
    """As printed: with the part of the run, the machine and the clocks that were asked for; single calls and sets as everything else."""

    def answer(*asked):
        main([*asked, "--json", "--draws", "0"])
        return json.loads(capsys.readouterr().out)

    block = answer("domino", str(TRACES / name), *options.split())
    perwiz, *predict = shlex.split(block["predict"])
    assert perwiz == "perwiz"
    told = [*block["best"], *(line["head"] for line in (*block["ranked"], *block["at_best"])), *block["changes"][:3]]
    of = {row["change"]: row for row in told}
    assert of
    for change, row in of.items():
        found = answer(*predict, *shlex.split(change))
        assert found["predicted_ns"] == row["makespan_ns"], change
        assert words.duration(found["gain_ns"]) == words.duration(row["gain_ns"]), change
        assert words.percent(found["gain_ns"], found["shares_of_ns"]) == words.percent(row["gain_ns"], block["shares_of_ns"]), change


@pytest.mark.slow
def test_target__its_command_reaches_what_it_says(capsys):
    """The last line of what reaches a target is a command: it gives the makespan of the last change before it."""
    asked = [str(TRACES / "npb-is.S-4"), "--iterations", "2..5", "--model", "default", "--clock", "linear", "--draws", "0"]
    main(["domino", *asked, "--target", "2x", "--json"])
    target = json.loads(capsys.readouterr().out)["target"]
    main(["domino", *asked, "--target", "2x", "-q"])
    command = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("perwiz predict"))
    main([*shlex.split(command)[1:], "--json", "--draws", "0"])
    done = target["changes"][: target["feasible"]] or target["changes"]
    assert json.loads(capsys.readouterr().out)["predicted_ns"] == done[-1]["makespan_ns"]


def test_quiet__has_the_fixes_that_were_asked_for(domino):
    _, out, _ = domino("--greedy", "2", "-q")
    assert "\none fix after the other, each the one that gains most by then\n" in out
    assert "for contrast" not in out
