"""`perwiz critical` from the command line."""

from __future__ import annotations

import json
import pathlib

import pytest

import build
import perwiz
from documents import valid
from perwiz.cli import main

SRTEST = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


def test_text(capsys):
    assert main(["critical", SRTEST]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"{SRTEST}: critical path\n\nrecorded      412.6 ms; along ")


def test_json__adds_up(capsys):
    assert main(["critical", SRTEST, "--json", "--slacks", "-n", "3"]) == 0
    block = json.loads(capsys.readouterr().out)
    valid(block, "critical")
    assert block["path"]["total_ns"] == block["makespan_ns"] == 412_568_000
    assert (len(block["longest"]), len(block["slacks_ns"])) == (3, 36)
    assert perwiz.critical(perwiz.read(SRTEST)).slack.tolist() == block["slacks_ns"]


@pytest.mark.parametrize("command", ["critical", "curve"])
def test_incomplete(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    perwiz.write(build.unmatched(), "half.alog")
    assert main([command, "half.alog"]) == 4
    assert "  (INCOMPLETE trace)\n" in capsys.readouterr().out


@pytest.mark.slow
def test_plot(capsys, tmp_path):
    assert main(["critical", SRTEST, "--plot", str(tmp_path / "path.png")]) == 0
    assert (tmp_path / "path.png").read_bytes()[:4] == b"\x89PNG"
    assert [file.name for file in tmp_path.iterdir()] == ["path.png"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--slacks"], "--slacks: as text there is only a summary of slack, must be given with --json"),
        (["--plot", "path.gif"], "path.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
        (["-n", "x"], "argument -n: 'x', must be a whole number from 0 to 1000000; see perwiz critical --help"),
        (["--model", "guess"], None),
    ],
)
def test_refusals(asked, message, capsys):
    assert main(["critical", SRTEST, *asked]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message is None or err == f"perwiz: {message}\n"
