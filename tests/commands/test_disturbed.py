"""Last steps of a training job that are disturbed: left out where the job is asked as a whole."""

from __future__ import annotations

import json

import pytest

from kinetos import Rank, put
from perwiz.cli import main

TOLD = "iteration 9 (400.0 us); the others 90.00 us (median): profilers stop there; --iterations all asks of all"
ASKED = (["domino"], ["predict", "--zero-wait", "all"], ["patterns"], ["phases"], ["critical"])


def job(folder, last: int = 400) -> str:
    """Return nine steps of two ranks, each of 90 us but for the last."""
    ranks = [Rank(rank) for rank in range(2)]
    for rank in ranks:
        for k in range(9):
            rank.note(f"ProfilerStep#{k}", 100 * k, last if k == 8 else 90).op("aten::mm", 100 * k + 10, 80)
        rank.nccl("AllReduce", 20, 30, 20, 1)
    return put(folder, *ranks)


def asked(capsys, command: str, *words: str) -> dict:
    assert main([command, *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("words", ASKED, ids=lambda words: words[0])
def test_last_step(tmp_path, capsys, words):
    """The answer is of the eight steps before the last, up to 790 us, in one line it says so; asked for, of all."""
    command, *options = words
    path = job(tmp_path / "job")
    part, all_ = (asked(capsys, command, path, *options, *more) for more in ([], ["--iterations", "all"]))
    name = "makespan_ns" if command in ("patterns", "critical") else "recorded_ns"
    assert [one[name] for one in (part, all_)] == [790_000, 1_200_000]
    assert [one.get("part") for one in (part, all_)] == ["iterations 1..8", None]
    assert [one["health"].get("left_out") for one in (part, all_)] == [TOLD, None]
    assert main([command, path, *options]) == 0
    assert f"left out      {TOLD}\n" in capsys.readouterr().out


@pytest.mark.slow
def test_info(tmp_path, capsys):
    """What a file has is told of all of it, what devices do in the job, and waits that predict takes, of the steps that count."""
    path = job(tmp_path / "job")
    whole, waits, devices = (asked(capsys, "info", path, *words) for words in ([], ["--waits", "1"], ["--devices"]))
    assert [one["makespan_ns"] for one in (whole, waits, devices)] == [1_200_000, 790_000, 790_000]
    assert len(asked(capsys, "info", path, "--iterations")["iterations"]["iterations"]) == 9


@pytest.mark.slow
def test_beside_another(tmp_path, capsys):
    """Two runs of nine steps are compared by the eight that both have undisturbed."""
    paths = job(tmp_path / "one"), job(tmp_path / "other", 90)
    found = asked(capsys, "compare", *paths)
    sides = found["first"], found["second"]
    assert [side["whole_ns"] for side in sides] == [790_000, 790_000]
    other = TOLD.replace("400.0", "90.00").replace("profilers stop there", "as in the other run")
    assert [side["health"]["left_out"] for side in sides] == [TOLD, other]


def test_convert__loses_nothing(tmp_path, capsys):
    path = job(tmp_path / "job")
    assert main(["convert", path, str(tmp_path / "all.perwiz")]) == 0
    capsys.readouterr()
    assert asked(capsys, "info", str(tmp_path / "all.perwiz"))["makespan_ns"] == 1_200_000


@pytest.mark.slow
def test_report(tmp_path, capsys):
    assert main(["report", job(tmp_path / "job"), "-o", str(tmp_path / "page.html")]) == 0
    assert "790.0 us in iterations 1..8" in " ".join(capsys.readouterr().out.split())
    assert TOLD in (tmp_path / "page.html").read_text()
