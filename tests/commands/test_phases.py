"""`perwiz phases` from the command line."""

from __future__ import annotations

import json
import pathlib

import pytest

from documents import valid
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
HEAD = "-3 0 0 2 0 0\n-13 0 3 4 0 0 red:gray MPI_Barrier\n"


def program(works):
    """Return an ALOG of two ranks: so many us of computation of each, and a barrier that takes 10 us behind."""
    lines, now = ["1 0 0 0 0 0", "1 1 0 0 0 0"], 0
    for each in works:
        lines += [f"3 {rank} 0 0 0 {now + work}" for rank, work in enumerate(each)]
        now += max(each) + 10
        lines += [f"4 {rank} 0 0 0 {now}" for rank in (0, 1)]
    return HEAD + "\n".join([*lines, f"2 0 0 0 0 {now}", f"2 1 0 0 0 {now}"]) + "\n"


@pytest.fixture
def perwiz(capsys, tmp_path, monkeypatch):
    """Return perwiz(words): exit code, output and complaint, where step.alog, holes.alog and flat.alog are."""
    monkeypatch.chdir(tmp_path)
    step = program([(100, 100)] * 20 + [(100, 200)] * 20)
    (tmp_path / "step.alog").write_text(step)
    (tmp_path / "flat.alog").write_text(program([(100, 300)]))
    (tmp_path / "holes.alog").write_text(step + "1 0 0 0 0 nan\n")

    def run(*line):
        code = main(["phases", *line])
        return code, *capsys.readouterr()

    return run


def test_answer(perwiz):
    """Iteration 20 is the barrier behind the 20th computation of 100 us and the 21st computation, of 100 us and 200."""
    code, out, err = perwiz("step.alog", "-q")
    assert (code, err) == (0, "")
    assert out.split("\n")[:5] == [
        "recorded      6.400 ms",
        "phases        2 in 40 iterations of MPI_Barrier: behaviour changes at iteration 20",
        "from 20       load balance falls from 100.0 % to 75.0 % (rank 1 computes most, 1.33 times the mean); transfer rises from",
        "              90.9 % to 95.2 %; an iteration takes 210.0 us instead of 110.0 us",
        "worth         computation of 20..40 balanced: 5.400 ms, gain 1.000 ms (15.6 %)",
    ]
    assert out.split("\n")[5] == "ask next      perwiz domino step.alog --iterations 20..40"


def test_first_screen(perwiz):
    """The answer and the table of phases have at most 25 lines."""
    out = perwiz("step.alog")[1]
    assert out.partition("\n\nmodel ")[0].count("\n") < 25


def test_json(perwiz):
    block = valid(json.loads(perwiz("step.alog", "--json")[1]), "phases")
    assert [(phase["kind"], phase["first"], phase["last"]) for phase in block["phases"]][-2:] == [("phase", 1, 19), ("phase", 20, 40)]
    second = block["phases"][-1]
    assert [change["of"] for change in second["changes"]] == ["load_balance", "transfer", "time"]
    assert second["slowest"] == {"rank": 1, "thread": 0}
    assert [part["first"] for part in block["parts"] if part["first"]] == list(range(1, 41))
    assert block["parts"][30]["balanced_gain_ns"] == 50_000


def test_windows(perwiz):
    out = perwiz("step.alog", "--windows", "4", "-q")[1]
    assert "in 4 windows" in out
    assert "the trace does not show MPI_Init and MPI_Finalize: windows of the whole run" in out


def test_no_iterations(perwiz):
    code, out, _ = perwiz("flat.alog", "-q")
    assert code == 0
    assert "100 windows of equal time, as nothing that lasts repeats 3 times or more" in out


def test_incomplete(perwiz):
    code, out, _ = perwiz("holes.alog")
    assert code == 4
    assert "(INCOMPLETE trace" in out


@pytest.mark.parametrize("number", ["0", "501", "ten"])
def test_windows__refused(perwiz, number):
    assert perwiz("step.alog", "--windows", number) == (
        2,
        "",
        f"perwiz: argument --windows: '{number}', must be a whole number from 1 to 500; see perwiz phases --help\n",
    )


@pytest.mark.parametrize(
    ("first", "told", "name"),
    [(400, "the first, 410.0 us;", "1 warm-up"), (40, "none, the first takes less: 50.00 us;", "1 shorter")],
    ids=["longer", "shorter"],
)
def test_warm_up(perwiz, first, told, name):
    """The first iteration lasts from the barrier behind 100 us to the next one, 30 us before or 400 us."""
    pathlib.Path("warm.alog").write_text(program([(100, 100), (first, first), *[(100, 100)] * 20]))
    out = perwiz("warm.alog")[1]
    assert "one: nothing changes in 22 iterations of MPI_Barrier" in out
    assert f"warm-up       {told} the others 110.0 us (median)" in out
    assert f"\n{name} " in out


def test_trend(perwiz):
    """Rank 1 computes 101 to 139 us in 39 iterations, whose barrier takes 10: told are the medians of the first and of the last three.

    An iteration is 1 us longer on rank 1, which computes so much more in the next, than on rank 0: the mean of both is told.
    """
    pathlib.Path("drift.alog").write_text(program([(100, 100 + k) for k in range(40)]))
    out = perwiz("drift.alog", "-q")[1]
    assert "trend         each iteration takes about 1.000 us longer than the one before, 111.5 us to 147.5 us" in out
    assert "in a phase    1..40: load balance" in out
    assert "load balance falls from 99.0 % to 86.2 % (rank 1 computes" in out.replace("\n              ", " ")


def test_iterations__refused(perwiz):
    told = "'3..9': perwiz phases tells of iterations from the first on; perwiz domino, patterns and others answer for any of them"
    assert perwiz("step.alog", "--iterations", "3..9") == (2, "", f"perwiz: argument --iterations: {told}; see perwiz phases --help\n")


@pytest.mark.slow
def test_plot(perwiz, tmp_path):
    assert perwiz("step.alog", "--plot", "p.svg", "--size", "9cm")[0] == 0
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    assert perwiz("step.alog", "--plot", "step.alog")[0] == 2
