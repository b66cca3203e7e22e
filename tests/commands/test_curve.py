"""`perwiz curve` from the command line."""

from __future__ import annotations

import json
import pathlib

import pytest

import perwiz
from documents import valid
from perwiz.cli import main

SRTEST = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


def test_text(capsys):
    assert main(["curve", SRTEST, "--model", "default"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"{SRTEST}: makespan as a function of L_ns\n\ndoubtful      15 of 15 messages took more than twice as long ")
    assert ("\nrecorded      412.6 ms; L_ns is 2.500 us\ntolerance     L_ns may grow by 229.2 us before the run is 1 % slower\n") in out


def test_json(capsys):
    assert (
        main(["curve", SRTEST, "--model", "default", "--of", "G", "--from", "1", "--to", "30", "--points", "100", "--exact", "--json"]) == 0
    )
    block = json.loads(capsys.readouterr().out)
    valid(block, "curve")
    assert (block["of"], block["interval"], len(block["points"])) == ("G_ns_per_byte", [1, 30], 100)
    assert (block["recorded_ns"], block["gap_ns"]) == (412_568_000, 0)


def test_agrees_with_predict():
    """18 latencies of 10000 ns more; predict rounds, but costs are whole here and no lag is lowered."""
    trace = perwiz.read(SRTEST)
    found = perwiz.curve(trace, "L", model="default").at(12_500)
    assert found == perwiz.predict(trace, [perwiz.Network("L_ns=12500")], "default").predicted.makespan == 412_568_000 + 18 * 10_000


@pytest.mark.slow
def test_plot(capsys, tmp_path):
    assert main(["curve", SRTEST, "--model", "default", "--plot", str(tmp_path / "curve.png")]) == 0
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert [file.name for file in tmp_path.iterdir()] == ["curve.png"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--of", "S"], "'S': must be one of L, o, o_s, o_r, g, G, O, O_s, O_r, or like between-nodes:L, rank:3, node:NAME or region:NAME"),
        (["--of", "rank:9"], "rank:9: no such rank, the trace has ranks 0 to 2"),
        (["--of", "O"], "O_ns_per_byte is 0 in the model: ten times that is no interval, must be given an end"),
        (["--to", "x"], "argument --to: 'x', must be a number from 0 to 1e12; see perwiz curve --help"),
        (["--to", "1e13"], "argument --to: '1e13', must be a number from 0 to 1e12; see perwiz curve --help"),
        (["--from", "9", "--to", "3"], "L_ns from 9 to 3: must rise, from 0 to at most 1e+12"),
        (["--plot", "curve.gif"], "curve.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
    ],
)
def test_refusals(asked, message, capsys):
    assert main(["curve", SRTEST, "--model", "default", *asked]) == 2
    assert capsys.readouterr() == ("", f"perwiz: {message}\n")
