"""`perwiz series` from the command line."""

from __future__ import annotations

import json
import os
import pathlib
import shutil

import pytest

import perwiz
from build import Builder
from documents import valid
from perwiz.cli import main

TRACES = pathlib.Path(__file__).parents[2] / "traces"
ONE, TWO, FOUR = (str(TRACES / "scaling" / f"{number}.alog.gz") for number in (1, 2, 4))
BEFORE, AFTER = (str(TRACES / f"halo-{name}") for name in ("before", "after"))


def written(folder, name, *computed, barrier=True):
    """Return the path of a new run of processes that compute so long and meet in a barrier, of which may not be told that it is one."""
    b = Builder(len(computed))
    for rank, ns in enumerate(computed):
        b.call(rank, "Init", at=(0, 1000))
        with b.region(rank, "f", at=(1000, 1000 + ns)):
            pass
    end = 1000 + max(computed)
    for rank, ns in enumerate(computed):
        (b.join if barrier else b.call)(rank, "Barrier", at=(1000 + ns, end))
    b.everyone("Finalize", at=[(end, end + 1000)] * len(computed))
    folder.mkdir(exist_ok=True)
    path = os.path.relpath(folder / f"{name}.alog")
    perwiz.write(b.trace(), path)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text__says_it_of_all_however_they_are_given(capsys):
    """Sizes are sorted, and the directory stands for what is in it."""
    assert main(["series", FOUR, ONE, TWO, "--draws", "0"]) == 0
    told = capsys.readouterr()
    assert main(["series", str(TRACES / "scaling"), "--draws", "0"]) == 0
    assert capsys.readouterr() == told
    assert told.out.replace("\n ", "").startswith(f"{ONE} to {FOUR}: strong scaling, 3 runs\n")


def test_draws__none(capsys):
    assert main(["series", ONE, FOUR, "--draws", "0", "-q"]) == 0
    assert "noise         not asked for, with --draws 0\n" in capsys.readouterr().out


def test_json(capsys):
    assert main(["series", ONE, TWO, FOUR, "--json", "--max-loss", "80%", "--draws", "20", "-n", "3"]) == 0
    block = valid(json.loads(capsys.readouterr().out), "series")
    assert (block["kind"], block["reference"], [point["label"] for point in block["points"]]) == ("strong scaling", "1", ["1", "2", "4"])
    assert (len(block["call_paths"]), block["noise_from"], block["max_loss"]["missed"], block["min_efficiency"]) == (
        3,
        "runs drawn",
        False,
        None,
    )
    assert block["next"] == f"perwiz balance {FOUR}"


def test_scaling__as_put_in(capsys):
    """Of 4 processes a step takes 16 + 1.2 * 32 + 2 = 56.4 ms, rank 0 computes 47.87 and all 152; of one 144: see the program.

    The time has transfer in it, which was not put in.
    """
    main(["series", ONE, FOUR, "--json", "--draws", "0"])
    _, four = json.loads(capsys.readouterr().out)["points"]
    assert four["load_balance"] == pytest.approx(152 / 4 / 47.87, rel=0.02)
    assert four["serialisation"] == pytest.approx(47.87 / 56.4, rel=0.02)
    assert four["computation_scaling"] == pytest.approx(144 / 152, rel=0.01)
    assert four["speedup"] / four["transfer"] == pytest.approx(144 / 56.4, rel=0.02)


def test_max_loss(here, capsys):
    """Two compute 100 and 50 us, then 105 and 50: 5 % longer, 2.4 % less balanced, and a thirtieth more is computed."""
    old, new = (written(here, name, ns, 50_000) for name, ns in (("old", 100_000), ("new", 105_000)))
    assert main(["series", old, new, "--max-loss", "2%", "-q"]) == 5
    out, err = capsys.readouterr()
    longer = ["5 % longer", "3.3 % longer for computation"]
    assert err == f"perwiz: {new} against {old}: {', '.join(longer)}, must be at most 2 %\n"
    assert out.splitlines()[-3:] == ["threshold     the loss asked for, at most 2 %, is missed", *(f"{'':14}{line}" for line in longer)]
    assert main(["series", old, new, "--max-loss", "5%", "-q"]) == 0
    out, err = capsys.readouterr()
    assert (err, out.splitlines()[-1]) == ("", "threshold     the loss asked for, at most 5 %, is kept")
    assert main(["series", new, old, "--max-loss", "2%", "-q"]) == 0


@pytest.mark.parametrize(("least", "code"), [("0.66", 0), ("66%", 0), ("0.67", 5), ("67%", 5)])
def test_min_efficiency(least, code, capsys):
    assert main(["series", ONE, FOUR, "--min-efficiency", least, "-q", "--draws", "0"]) == code
    told = f"perwiz: {FOUR} against {ONE}: parallel efficiency is 66.5 %, must be at least 67 %\n"
    assert capsys.readouterr().err == (told if code else "")


def test_incomplete(here, capsys):
    """The exit code says so, unless a threshold is missed; the title, too."""
    whole, half = written(here, "whole", 90_000, 50_000), written(here, "half", 100_000, 50_000, barrier=False)
    assert main(["series", whole, half]) == 4
    out = capsys.readouterr().out
    assert out.partition("\n")[0].endswith("(INCOMPLETE traces)")
    assert out.endswith(f"\nincomplete    {half}: collective calls in no instance: 2\n")
    assert main(["series", whole, half, "--max-loss", "1%"]) == 5


def test_unreadable__the_others_are_compared(here, capsys):
    """But whether a threshold is missed is not told: what cannot be read may be the newest."""
    old, new = (written(here, name, ns, 50_000) for name, ns in (("old", 100_000), ("new", 105_000)))
    assert main(["series", old, new, "nosuch", "--max-loss", "2%"]) == 3
    out, err = capsys.readouterr()
    assert err == "perwiz: nosuch: no such file or directory\nperwiz: no threshold was checked, as not all runs could be read\n"
    assert out.startswith(f"{old} to {new}: history, 2 runs\n")
    assert out.endswith("\nnot read      nosuch: no such file or directory\n")
    assert "threshold" not in out


def test_directories__are_recordings_of_one_run(here, capsys):
    """Medians of 100 101 102 us and of 110 111 112: 9.9 %, and s of both is about 1 %."""
    for name, first in (("old", 100_000), ("new", 110_000)):
        for number in range(3):
            written(here / name, str(number), first + 1000 * number, 50_000)
        (here / name / "README").write_text("no trace")
    assert main(["series", "old", "new", "--max-loss", "2%"]) == 5
    out, err = capsys.readouterr()
    assert out.startswith("old/1.alog to new/1.alog: history, 2 runs\n\ntime          9.9 % longer than old: 101.0 us and 111.0 us\n")
    assert "\nnoise         4.6 %, by how far recordings of one run lie apart\n" in out
    assert "\nnew  111.0 us  3 in 1.8 %     +9.9 %" in out
    assert err.startswith("perwiz: new/1.alog against old/1.alog: 9.9 % longer, ")


def test_directories__of_archives(here, capsys):
    """Beside the anchor of each lie its definitions and a folder, which are no recordings of their own."""
    for name, path in (("one", ONE), ("two", TWO)):
        perwiz.write(perwiz.read(path), str(here / f"{name}.otf2"))
    assert main(["series", ".", "--draws", "0", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [[each["trace"] for each in point["recordings"]] for point in points] == [["./one.otf2"], ["./two.otf2"]]


@pytest.mark.slow
def test_page_and_picture(tmp_path, capsys):
    page, picture = tmp_path / "history.html", tmp_path / "history.svg"
    assert main(["series", BEFORE, AFTER, "--draws", "0", "-q", "-o", str(page), "--plot", str(picture)]) == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert picture.read_text().startswith("<?xml")
    assert sorted(os.listdir(tmp_path)) == ["history.html", "history.svg"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ([ONE], 2, f"{ONE}: one run, must be two or more"),
        ([ONE, "nosuch"], 3, "1 of 2 runs can be read, must be two or more"),
        ([ONE, TWO, ONE], 2, f"{ONE}: given twice, must be another recording"),
        (
            [ONE, TWO, "--max-loss", "abc"],
            2,
            "argument --max-loss: 'abc', must be a percentage from 0 on, such as 2%; see perwiz series --help",
        ),
        (
            [ONE, TWO, "--min-efficiency", "80"],
            2,
            "argument --min-efficiency: '80', must be a part from 0 to 1, or of 100 %, such as 0.8 or 80%; see perwiz series --help",
        ),
        ([BEFORE, AFTER, "--labels", "a"], 2, "--labels a: 1 names, must be 2, one for each trace given"),
        ([BEFORE, AFTER, "--labels", "a,"], 2, "--labels a,: 1 names, must be 2, one for each trace given"),
        ([BEFORE, AFTER, "--against", "halo"], 2, "--against halo: no such run, must be previous or one of halo-before"),
        ([ONE, TWO, "-o", "history.txt"], 2, "history.txt: no name for a page, must end in .html"),
        ([ONE, TWO, "-o", "no/history.html"], 2, "no/history.html: there is no directory no, must be in one that exists"),
    ],
)
def test_refusals(asked, code, message, capsys, monkeypatch):
    monkeypatch.chdir(TRACES)
    assert main(["series", *asked]) == code
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[-1]) == ("", f"perwiz: {message}")


def test_copies__are_no_recordings(tmp_path, capsys):
    (tmp_path / "old").mkdir()
    for name in ("old/1.alog.gz", "old/2.alog.gz"):
        shutil.copy(ONE, tmp_path / name)
    assert main(["series", str(tmp_path / "old"), FOUR]) == 2
    first, second = (tmp_path / "old" / f"{number}.alog.gz" for number in (1, 2))
    assert capsys.readouterr().err == f"perwiz: {second}: the same recording as {first}, must be another one\n"
