"""`perwiz doctor`: what it finds where things are missing, what it says to do, and when that is an exit code."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

from documents import valid
from perwiz.cli import main
from perwiz.commands import doctor
from perwiz.record import ahead, build
from perwiz.report.doctor import document as report
from perwiz.report.doctor import machine, recording


@pytest.fixture(autouse=True)
def node(tmp_path, monkeypatch):
    """Make this a machine without anything but perwiz and a shell."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "python"))
    for name in (ahead.VARIABLE, "PERWIZ_MPICC", "PERWIZ_THREADS"):
        monkeypatch.delenv(name, raising=False)


def script(name, text="exit 0"):
    path = pathlib.Path("bin", name)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path.absolute())


def asked(capsys, *words, code=0):
    """Return the findings of a command line: (state, what it says, what to do)."""
    assert main(["doctor", "--json", *words]) == code
    block = json.loads(capsys.readouterr().out)
    valid(block, "doctor")
    return [(one["state"], one["says"], one["do"]) for one in block["findings"]]


def without(monkeypatch, *names):
    spec = machine.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name in names else spec(name, *more))


def test_parts__are_those_of_the_report():
    assert tuple(report.PARTS) == doctor.PARTS
    assert (machine.CHECKS | recording.CHECKS).keys() == report.PARTS.keys()


def test_all__a_line_each_and_the_answer_first(capsys):
    code = main(["doctor"])
    title, answer, lines = capsys.readouterr().out.split("\n\n")
    compiled = sys.modules["perwiz.kernels.sweep"].__file__.endswith(".so") if "perwiz.kernels.sweep" in sys.modules else code == 0
    assert code == (0 if compiled else 5)
    assert title.startswith("perwiz 0.")
    assert answer.startswith("works         python, " if compiled else "asked for     missing: kernels\nworks         python, ")
    assert [*dict.fromkeys(line.split()[0] for line in lines.splitlines() if line[0] != " ")] == [*report.PARTS]


def test_kernels__interpreted(capsys, monkeypatch):
    without(monkeypatch, *(f"perwiz.kernels.{name}" for name in ("sweep", "match")))
    (found,) = asked(capsys, "kernels", code=5)
    assert found[0] == "missing"
    assert found[1].endswith(": answers take hundreds of times as long")
    assert found[2] == "install perwiz (pip install perwiz), and do not start it in the folder of its sources"


def test_processors(capsys, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setenv("PERWIZ_THREADS", "3")
    assert asked(capsys, "processors") == [("limited", "3 of 8: PERWIZ_THREADS says so", "")]
    monkeypatch.setenv("PERWIZ_THREADS", "some")
    refused = "PERWIZ_THREADS=some: must be a whole number from 1 to 1024"
    assert asked(capsys, "processors", code=5) == [("missing", refused, "unset PERWIZ_THREADS")]


@pytest.mark.parametrize(
    ("left", "state", "says"),
    [
        (2_000_000_000, "works", "2.000 GB left, for traces of 8 million calls"),
        (500_000_000, "limited", "500.0 MB left"),
        (None, "limited", "the system does not tell how much is left"),
    ],
)
def test_memory(capsys, monkeypatch, left, state, says):
    monkeypatch.setattr("perwiz.allowed.memory", lambda: left)
    assert [found[:2] for found in asked(capsys, "memory")] == [(state, says)]


def test_packages__that_are_not_there(capsys, monkeypatch):
    without(monkeypatch, "nanoarrow", "mpi4py", "psycopg", "networkx")
    postgres = "no psycopg: perwiz jobs keeps its records in files of SQLite, not on a PostgreSQL server"
    assert asked(capsys, "tables", "mpi4py", "jobs", "graph", code=5) == [
        ("missing", "no nanoarrow: tables are numpy columns only", "pip install 'perwiz[arrow]'"),
        (
            "missing",
            "no mpi4py: mpiexec perwiz info, correct, predict, domino and patterns cannot spread their work",
            "pip install 'perwiz[mpi]'",
        ),
        ("missing", postgres, "pip install 'perwiz[jobs]'"),
        ("missing", "no networkx: a graph cannot be had as one of networkx", "pip install 'perwiz[graph]'"),
    ]


def test_packages__nobody_takes_the_tables(capsys, monkeypatch):
    without(monkeypatch, "pandas", "polars", "pyarrow")
    monkeypatch.setattr("perwiz.report.doctor.machine.version", lambda package: package)
    page = ("works", "needs no browser here; where a page is looked at, one of 2023 or later", "")
    tables = ("limited", "nanoarrow, and none of pandas, polars, pyarrow to take them", "pip install polars")
    assert asked(capsys, "page", "tables") == [page, tables]


def test_folders__that_cannot_be_written(capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/cache")
    cache, pictures = asked(capsys, "cache", "pictures", code=5)
    says = "/proc/cache/perwiz cannot be written: no recorder can be compiled when it is first used"
    assert cache == ("missing", says, "name another folder in XDG_CACHE_HOME, or perwiz record --build PREFIX")
    assert pictures[0] == "limited"
    assert pictures[1].endswith(", which looks for fonts each time: /proc/cache/matplotlib cannot be written")
    assert not os.path.exists("cache")


def test_mpi__none(capsys):
    help_ = "load the module of your MPI, or name its compiler in PERWIZ_MPICC"
    assert asked(capsys, "mpi", code=5) == [("missing", "neither mpiexec nor mpicc on the path", help_)]
    none = "cc: not found, must be a C compiler: the recorder is compiled when it is first used"
    says = f"programs of threads without MPI: {none}"
    assert asked(capsys, "recorder", code=5) == [("missing", says, "where there is a compiler: perwiz record --build PREFIX")]
    mpiexec = script("mpiexec")
    assert asked(capsys, "mpi") == [("limited", f"{mpiexec} without its mpicc", "perwiz record --mpicc FILE, or PERWIZ_MPICC")]


def test_mpi__its_compiler_and_launcher(capsys):
    """One that compiles, one whose header is missing, and one that was built ahead; a second name of the first is no other."""
    mpicc = script("mpicc", """case "$*" in *-dD*) echo '#define MPICH_VERSION "9.9"';; esac""")
    os.symlink(mpicc, "bin/mpicc.mpich")
    broken = script("mpicc.other", "echo 'error: mpi.h: none' >&2; exit 1")
    mpiexec = script("mpiexec")
    script("cc")
    alone = "start programs with the one of the batch system"
    assert asked(capsys, "mpi") == [
        ("works", f"MPICH 9.9, {mpiexec}", ""),
        ("limited", f"an MPI that its compiler does not name, {broken} without a launcher beside it", alone),
    ]
    helps = "where there is a compiler: perwiz record --build PREFIX"
    assert asked(capsys, "recorder") == [
        ("works", f"programs of MPICH 9.9: is compiled when first used, by {mpicc}", ""),
        ("missing", f"programs of {broken}: {broken}: cannot compile the recorder: error: mpi.h: none", helps),
        ("works", "programs of threads without MPI: is compiled when first used, by the C compiler", ""),
    ]


def test_recorder__built_ahead(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv(ahead.VARIABLE, "prefix")
    kept, old = (ahead.inside("prefix") / name for name in ("kept", "old"))
    for folder, mpicc, sources in ((kept, "/opt/mpi/bin/oshcc", build.sources()), (old, "", "before")):
        folder.mkdir(parents=True)
        ahead.write(folder, "MPICH 9.9" if mpicc else "", mpicc, "", sources)
    of_shmem, alone, unused = asked(capsys, "recorder")
    assert of_shmem == ("works", f"programs of OpenSHMEM, MPICH 9.9: built, {kept}", "")
    none = "cc: not found, must be a C compiler: the recorder is compiled when it is first used"
    assert alone[:2] == ("missing", f"programs of threads without MPI: {none}")
    says = f"{old} was built by another version of perwiz, and is not used"
    assert unused == ("limited", says, f"perwiz record --build {tmp_path / 'prefix'}")


def test_counters(capsys, monkeypatch):
    monkeypatch.setattr("perwiz.record.counters._refused", lambda event: 0 if event.type else 2)
    ((state, says, _),) = asked(capsys, "counters")
    assert state == "limited"
    assert says.startswith(
        "task-clock, page-faults, context-switches; no instructions, cycles, cache-misses, branch-misses: no such counter"
    )


@pytest.mark.parametrize(
    ("word", "message"), [("mppi", f"'mppi', must be one of {', '.join(doctor.PARTS)}; did you mean mpi?"), ("", "'', must be one of ")]
)
def test_refused__no_such_part(capsys, word, message):
    assert main(["doctor", word]) == 2
    assert capsys.readouterr().err.startswith(f"perwiz: argument PART: {message}")
