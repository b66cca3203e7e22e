"""Lists of large runs, which are asked of iterations that stand for all: here any run is large."""

from __future__ import annotations

import json

import pytest

from build import Builder
from perwiz.cli import main
from perwiz.formats import files
from perwiz.trace.parts import sample

LONG = "all 40 (8.800 us), whose 80 calls take long to ask about"
ALIKE = "the mean of each process is that of all, in calls and between them, within 0.0 %"
TOLD = f"{LONG}: {ALIKE}; calls (e12) are numbered in these alone; --iterations all asks of all"


@pytest.fixture
def path(tmp_path, monkeypatch) -> str:
    """Return a run of 40 steps of 220 ns; in each rank 1 computes 200 ns where rank 0 computes 100, and both meet in a barrier."""
    b = Builder(2)
    for k in range(40):
        for rank in range(2):
            b.enter(rank, "step", at=220 * k)
        b.barrier(at=[(220 * k + 100, 220 * (k + 1)), (220 * k + 200, 220 * (k + 1))])
        for rank in range(2):
            b.leave(rank, "step", at=220 * (k + 1))
    monkeypatch.setattr(sample, "MANY", 0)
    monkeypatch.setattr(sample, "_ENOUGH", 0)
    monkeypatch.setattr(sample, "_LEAST", 16)
    files.write(b.trace(), str(tmp_path / "run.perwiz"))
    return str(tmp_path / "run.perwiz")


def asked(capsys, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_domino(path, capsys):
    """The list is of 16 steps, says what these stand for, and how one of its changes is asked; what it gains of these it gains of all."""
    found, all_ = (asked(capsys, "domino", path, *more) for more in ([], ["--iterations", "all"]))
    assert [(one["recorded_ns"], one.get("part"), one["health"].get("stands_for")) for one in (found, all_)] == [
        (16 * 220, "iterations 1..16", TOLD),
        (40 * 220, None, None),
    ]
    first = [one["best"][0] for one in (found, all_)]
    assert [line["change"] for line in first] == ["--balance-time step"] * 2
    assert [line["gain_ns"] for line in first] == [16 * 50, 40 * 50]
    assert main(["domino", path]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"stands for {TOLD}" in out
    assert f"perwiz predict {path} --iterations 1..16 CHANGE" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["domino", "--target", "1.1x"], ["predict", "--zero-wait", "all"], ["patterns"]], ids=lambda words: words[0]
)
def test_all(path, capsys, words):
    """A target is a time of the whole run; other commands ask one thing of all."""
    command, *options = words
    found = asked(capsys, command, path, *options)
    assert found.get("recorded_ns", found.get("makespan_ns")) == 40 * 220
    assert "part" not in found


@pytest.mark.slow
@pytest.mark.parametrize(("more", "part"), [([], True), (["--zero-wait", "all"], False)], ids=["list", "asked"])
def test_report(path, tmp_path, capsys, more, part):
    """The page is of the steps that stand for all; where something is asked, of the whole run, as `perwiz predict` answers it."""
    assert main(["report", path, *more, "-o", str(tmp_path / "page.html")]) == 0
    assert ("in iterations 1..16; first change" in " ".join(capsys.readouterr().out.split())) == part
    page = (tmp_path / "page.html").read_text()
    assert (TOLD in page, '"part":"iterations 1..16"' in page.replace(" ", "").replace("iterations1", "iterations 1")) == (part, part)
