"""`perwiz info` from the command line."""

from __future__ import annotations

import io
import json
import pathlib
import sys

import _otf2 as c
import pytest

from documents import valid
from otf2_small import archive
from perwiz.cli import main

SRTEST = str(pathlib.Path(__file__).parents[2] / "traces" / "srtest.alog")


@pytest.fixture
def info(capsys):
    """Return info(*words): exit code and output of `perwiz info`, which must leave standard error empty."""

    def run(*words):
        code = main(["info", "--model", "default", *words])
        out, err = capsys.readouterr()
        assert err == ""
        return code, out

    return run


def test_text(info):
    code, out = info(SRTEST)
    assert code == 0
    assert out.splitlines()[:10] == [
        f"{SRTEST}: ALOG",
        "",
        "makespan      412.6 ms",
        "processes     3",
        "calls         36, 761.8 ms in them (95.4 % of the processes' time)",
        "waiting       430.7 ms over all processes (53.9 %) under model default",
        "messages      15, 180 B",
        "collectives   2",
        "regions       none",
        "",
    ]
    assert "longest waits" not in out


def test_waits(info):
    _, out = info(SRTEST, "--waits", "2")
    assert out.splitlines()[-4:] == [
        "longest waits",
        "call  rank  routine      waits for     region      wait",
        "e0       0  MPI_Barrier  e24 (rank 2)  -       251.0 ms",
        "e12      1  MPI_Barrier  e24 (rank 2)  -       65.08 ms",
    ]


def test_waits__more_than_there_are(info):
    _, out = info(SRTEST, "--waits", "1000000")
    assert len(out.partition("longest waits\n")[2].splitlines()) == 1 + 18


def test_regions(info):
    _, out = info(SRTEST, "--regions")
    assert out.endswith("\n\nno user regions\n")


def test_model__says_what_waits(info):
    _, out = info(SRTEST, "--model", "perwiz-cluster")
    assert "under model perwiz-cluster\n" in out


def test_json__is_what_the_schema_says(info):
    code, out = info(SRTEST, "--json", "--waits", "3")
    block = valid(json.loads(out), "info")
    assert code == 0
    assert (block["makespan_ns"], block["calls"], block["waiting_ns"]) == (412_568_000, 36, 430_654_924)
    assert [row["call"] for row in block["waits"]] == ["e0", "e12", "e2"]


def test_standard_input(info, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pathlib.Path(SRTEST).read_bytes())))
    code, out = info("-")
    assert code == 0
    assert out.startswith("-: ALOG\n\nmakespan      412.6 ms\n")


def test_incomplete__is_marked_and_has_its_own_code(info, tmp_path, monkeypatch):
    (tmp_path / "cut.alog").write_bytes(pathlib.Path(SRTEST).read_bytes()[:-40])
    monkeypatch.chdir(tmp_path)
    code, out = info("cut.alog")
    assert code == 4
    assert out.startswith("cut.alog: ALOG, corrected by the controlled logical clock  (INCOMPLETE trace)\n")
    told = "\nhealth        INCOMPLETE: what is left out or missing waits for nobody here and delays nobody; "
    assert told in out.replace("\n              ", " ")


def test_control_characters__do_not_reach_the_terminal(info, tmp_path):
    path = tmp_path / "odd\x1b[2J.alog"
    path.write_bytes(b"-3 0 0 1 0 0\n-13 0 1 2 0 0 red:gray a\x1b[31m\x07b\n1 0 0 0 0 5\n2 0 0 0 0 9\n")
    _, out = info(str(path), "--regions", "--waits", "1")
    assert all(line.isprintable() for line in out.splitlines())
    assert out.startswith(f"{tmp_path}/odd\\x1b[2J.alog: ALOG")


def test_help__ends_with_examples(info):
    code, out = info("--help")
    assert code == 0
    assert "\nA call waits while a partner that it needs has not come." in out
    assert out.partition("examples:\n")[2].startswith("  perwiz info run.alog ")


@pytest.mark.slow
def test_switched_off__is_told(info, tmp_path):
    """Of 100 ns of one process nothing was recorded for 30, from 40 to 70: the answer is incomplete."""
    events = [("Enter", 100, 1), ("Leave", 110, 1), ("MeasurementOnOff", 140, c.MeasurementMode(2))]
    events += [("MeasurementOnOff", 170, c.MeasurementMode(1)), ("Enter", 180, 1), ("Leave", 200, 1)]
    path = archive(tmp_path, {0: events}, inter=False)
    code, out = info(path)
    assert (code, out.splitlines()[5]) == (4, "switched off  30 ns, 30.0 % of the processes' time")
    told = "missing intervals with measurement switched off: waits and computation across them are not to be trusted: 1"
    assert told in " ".join(out.split())
    code, out = info(path, "--json")
    document = valid(json.loads(out), "info")
    assert (code, document["health"]["off_ns"], document["processes_ns"]) == (4, 30, 100)
