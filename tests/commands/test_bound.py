"""`perwiz bound` and `perwiz balance` from the command line."""

from __future__ import annotations

import json
import os

import pytest

from perwiz.cli import main

STEPS = (
    "-3 0 0 2 0 0\n-13 0 1 2 0 0 red:gray step\n-13 0 3 4 0 0 red:gray MPI_Barrier\n-34 0 1 2 0 0 PRGN step\n"
    "1 0 0 0 0 0\n1 1 0 0 0 0\n2 0 0 0 0 100\n2 1 0 0 0 300\n"
    "3 0 0 0 0 100\n3 1 0 0 0 300\n4 0 0 0 0 300\n4 1 0 0 0 300\n"
    "1 0 0 0 0 300\n1 1 0 0 0 300\n2 1 0 0 0 400\n2 0 0 0 0 900\n"
)
"""Two ranks and two steps of a parallel region, in us: computation of 100 and 300, then of 600 and 100."""


@pytest.fixture
def perwiz(capsys, tmp_path, monkeypatch):
    """Return perwiz(command line): exit code, output and complaint, where steps.alog, flat.alog and holes.alog are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.alog").write_text(STEPS)
    (tmp_path / "flat.alog").write_text("".join(line + "\n" for line in STEPS.splitlines() if line[:2] not in ("1 ", "2 ")))
    (tmp_path / "holes.alog").write_text(STEPS + "1 0 0 0 0 nan\n")

    def run(line):
        code = main(line.split())
        return code, *capsys.readouterr()

    return run


def test_bound(perwiz):
    """Computation 700 and 400, of which rank 0 waits 200: 900; both 550 if balanced."""
    code, out, err = perwiz("bound steps.alog")
    assert (code, err) == (0, "")
    assert out.startswith(
        "steps.alog: lower bounds\n\n"
        "recorded      900.0 us\n"
        "at least      700.0 us, 200.0 us (22.2 %) less, if nobody waited\n"
        "at least      550.0 us, 350.0 us (38.9 %) less, if computation and messages were balanced, too\n"
    )


def test_bound__json(perwiz):
    block = json.loads(perwiz("bound steps.alog --region step --json")[1])
    assert [row["region"] for row in block["regions"]] == [None, "step"]
    assert block["regions"][1]["parallel"]


def test_bound__no_regions(perwiz):
    code, out, _ = perwiz("bound flat.alog")
    assert code == 0
    assert "\nregions       none: mark some with PRGN_BEGIN" in out


def test_balance(perwiz):
    """Balanced step 1 ends at 200, step 2 takes 600: 800. Step 2 balanced takes 350: 650. Both: 550."""
    code, out, err = perwiz("balance steps.alog")
    assert (code, err) == (0, "")
    assert out.startswith(
        "steps.alog: balance step\n\n"
        "recorded      900.0 us\n"
        "balanced      550.0 us, gain 350.0 us (38.9 %) if computation and messages of all 2 steps were balanced\n"
        "best step     computation of step#2: 650.0 us, gain 250.0 us (27.8 %)\n"
    )


def test_balance__no_regions(perwiz):
    """The whole program, and before and behind its barrier: nobody computes in the 200 us that rank 0 waits for rank 1 to begin."""
    code, out, err = perwiz("balance flat.alog")
    assert (code, err) == (0, "")
    assert out.startswith(
        "flat.alog: balance all, between-collectives\n\n"
        "recorded      200.0 us\n"
        "balanced      200.0 us, gain 0 ns (0.0 %) if computation and messages of all 3 steps were balanced\n"
        "best step     none: balancing any single step gains nothing\n"
    )


def test_balance__json(perwiz):
    block = json.loads(perwiz("balance steps.alog --region step -n 1 --json")[1])
    assert [(row["step"], row["balance_time"]["predicted_ns"]) for row in block["steps"]] == [(2, 650_000)]


@pytest.mark.slow
def test_balance__plot(perwiz):
    assert perwiz("balance steps.alog --plot steps.png")[0] == 0
    assert sorted(os.listdir()) == ["flat.alog", "holes.alog", "steps.alog", "steps.png"]


@pytest.mark.parametrize("command", ["bound", "balance"])
def test_incomplete(perwiz, command):
    code, out, _ = perwiz(f"{command} holes.alog")
    assert code == 4
    assert out.partition("\n")[0].endswith("  (INCOMPLETE trace)")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bound steps.alog --region stop", "region 'stop': no such region, the trace has step; did you mean step?"),
        ("balance steps.alog --region stop", "region 'stop': no such region, the trace has step; did you mean step?"),
        ("balance steps.alog --plot x.gif", "x.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
        ("balance steps.alog --plot steps.alog", "steps.alog: is read by this command, must be another file"),
        (
            "balance steps.alog -n x",
            "argument -n: 'x', must be a whole number from 0 to 1000000; see perwiz balance --help",
        ),
    ],
)
def test_refusals(perwiz, line, message):
    assert perwiz(line) == (2, "", f"perwiz: {message}\n")
