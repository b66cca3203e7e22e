"""`perwiz convert` from the command line: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import sys

import numpy as np
import pytest

import build
import perwiz
import viewers
from build import table
from perwiz.cli import main
from perwiz.clock.treatment import treat
from perwiz.formats import files
from perwiz.formats.alog.format import ALOG
from perwiz.trace import tables
from perwiz.trace.trace import Topology

TRACES = pathlib.Path(__file__).parents[2] / "traces"
SRTEST = str(TRACES / "srtest.alog")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def convert(capsys):
    """Return convert(*words): exit code, output and complaint."""

    def run(*words):
        code = main(["convert", *words])
        return code, *capsys.readouterr()

    return run


def test_text(convert):
    code, out, err = convert(SRTEST, "out.otf2")
    assert (code, err) == (0, "")
    assert out == (
        f"out.otf2: OTF2, from {SRTEST} (ALOG)\n\n"
        "locations     3\n"
        "calls         36\n"
        "messages      15\n"
        "collectives   2\n"
        "times         as recorded\n\n"
        "health        complete; 102 records read\n"
        "clocks        consistent: nothing is received before it was sent\n"
    )
    assert sorted(os.listdir()) == ["out", "out.def", "out.otf2"]


@pytest.mark.slow
def test_there_and_back(convert):
    """The tables stay what they are on the way through both formats."""
    for words in ((SRTEST, "a.otf2"), ("a.otf2", "b.alog.gz"), ("b.alog.gz", "c.otf2"), ("c", "d.alog.zst"), ("d.alog.zst", "e.alog")):
        assert convert(*words)[0] == 0
    one, other = perwiz.read(SRTEST), perwiz.read("e.alog")
    assert (one.calls, one.messages, one.timeline.calls) == (other.calls, other.messages, other.timeline.calls)
    assert pathlib.Path("b.alog.gz").read_bytes()[:2] == b"\x1f\x8b"


def times(convert, *words):
    """Return what is said of the times written."""
    code, out, err = convert(*words)
    assert (code, err) == (0, "")
    return next(line.removeprefix("times").strip() for line in out.splitlines() if line.startswith("times"))


def test_clock__what_is_written_is_what_every_analysis_works_with(convert):
    """Both messages arrive before they are sent: what is sent at 60 000 and was received at 45 000, now is at 61 000."""
    files.write(build.CATALOGUE["clock_violation_message"](), "in.alog")
    corrected = "corrected by the controlled logical clock: 4 of 8 events moved, by 16.00 us at most"
    assert times(convert, "in.alog", "out.otf2") == corrected
    one, other = perwiz.read("out.otf2"), treat(perwiz.read("in.alog")).trace
    assert (one.timeline.calls, one.timeline.origin) == (other.timeline.calls, other.timeline.origin)
    assert times(convert, "out.otf2", "again.alog") == "corrected by the controlled logical clock"
    assert times(convert, "in.alog", "out.prv") == corrected
    found = viewers.paraver(pathlib.Path("out.prv").read_text())
    assert [(values[4], values[11]) for values in found.messages] == [(50_000, 55_553), (60_000, 61_000)]


@pytest.mark.parametrize("clock", ["none", "linear"])
def test_clock__not_corrected(convert, clock):
    """What runs backwards then does so in the file, and is said once: sent 10 000 after it was received, by the records 11 400 and 400."""
    b = build.Builder(2, record=700)
    b.send(0, 1, at=(50_000, 53_000))
    b.send(0, 1, at=(60_000, 63_000))
    b.recv(1, 0, at=(20_000, 40_000))
    b.recv(1, 0, at=(40_000, 61_000))
    files.write(b.trace(), "in.alog")
    code, out, _ = convert("in.alog", "out.alog", "--clock", clock)
    assert code == 0
    assert "\ntimes         as recorded\n" in out
    assert "\nclocks        messages received before they were sent: 1, worst 10.00 us; 2 by their records, worst 11.40 us\n" in out
    assert out.count("received before") == 1
    assert pathlib.Path("out.alog").read_bytes() == pathlib.Path("in.alog").read_bytes()


def test_clock__cycles_count_as_incomplete(convert):
    files.write(build.CATALOGUE["cycle_of_messages"](), "in.alog")
    code, out, _ = convert("in.alog", "out.alog")
    assert code == 4
    assert "edges left out of the graph (cycles)" in out


def test_clock__of_several_clocks(convert, monkeypatch):
    """The files perwiz writes have times of one clock."""
    trace = build.CATALOGUE["late_sender"]()
    zeros, offset = np.zeros(2), np.array([0.0, 5])
    offsets = tables.Offsets(np.arange(2, dtype="i4"), np.zeros(2, "i8"), offset, zeros, zeros)
    monkeypatch.setattr(
        "perwiz.commands.files.read", lambda path, _=None: dataclasses.replace(trace, offsets=offsets, offsets_applied=False)
    )
    assert times(convert, "run", "out.alog") == "measured, clock offsets applied"
    said = "run: its times are those of several clocks, must be converted with --clock linear or clc"
    assert refused(convert, "run", "out.alog", "--clock", "none") == said


def test_incomplete_traces_exit_with_4(convert):
    files.write(build.CATALOGUE["unmatched"](), "in.alog")
    code, out, _ = convert("in.alog", "out.otf2")
    assert code == 4
    assert "health        INCOMPLETE: " in out


def test_title__says_what_is_left_out(convert):
    b = build.Builder(3)
    b.send(0, 2)
    b.recv(2, 0)
    b.compute(1, 10)
    trace = b.trace()
    columns = {"process": np.array([0, 0, 1], "i4"), "thread": np.array([0, 1, 0], "i4"), "kind": np.array([0, 1, 0], "u1")}
    files.write(dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, **columns)), "in.alog")
    code, out, _ = convert("in.alog", "out.otf2")
    assert code == 4
    assert out.startswith("out.otf2: OTF2, from in.alog (ALOG, perwiz-ext 1)  (INCOMPLETE trace, its 1 thread left out)\n\n")


def rich():
    """Return a trace with what ALOG does not hold."""
    trace = build.CATALOGUE["no_messages"]()
    none = np.full(3, -1, "i4")
    return dataclasses.replace(
        trace,
        names=("Größe",),
        sources=("main.c:1",),
        metahosts=("here",),
        topologies=(Topology("grid", 0, (3,), (False,), ("x",), np.array([[0], [1], [2]], "i4")),),
        counters=table(tables.Counters, call=[0], counter=[0], entered=[1], returned=[2]),
        counter_names=("cycles",),
        texts=("n", "1", "RmaWinCreate"),
        parameters=table(tables.Parameters, location=[0], region=[-1], call=[0], name=[0], value=[1]),
        records=tables.Records(none[:1] + 1, np.array([2], "i4"), none[:1] + 1, np.array([5]), np.array([0])),
        values=np.array([1]),
    )


MISSING = [
    ("values of counters", 1),
    ("parameters", 1),
    ("records of threads, windows, files ...", 1),
    ("topologies", 1),
    ("places where regions are defined", 1),
    ("names that are shortened or written otherwise", 1),
]


def test_missing__in_alog():
    assert ALOG.missing(rich()) == MISSING
    assert ALOG.missing(build.CATALOGUE["halo"]()) == []
    requests = table(tables.Requests, posted_by=[0], completed_by=[-1], cancelled=[1])
    tested = dataclasses.replace(
        build.CATALOGUE["no_messages"](),
        names=("work", "never"),
        parallel=np.zeros(2, bool),
        requests=requests,
        unfinished=table(tables.Unfinished, call=[0], request=[0]),
    )
    assert ALOG.missing(tested) == [
        ("tests of unfinished requests", 1),
        ("cancelled requests", 1),
        ("names of regions never entered", 1),
    ]


@pytest.mark.slow
def test_missing__is_said(convert):
    files.write(rich(), "in.otf2")
    code, out, _ = convert("in.otf2", "out.alog")
    assert code == 4
    assert [line for line in out.splitlines() if line.startswith("not written")] == [
        f"not written   {what}: {count}" for what, count in MISSING
    ]
    assert out.count("\n              a store (NAME.perwiz) holds all\n") == 1
    code, out, _ = convert("in.otf2", "again.otf2")
    assert "not written" not in out


def refused(convert, *words):
    code, out, err = convert(*words)
    assert (code, out) == (2, "")
    return err.removeprefix("perwiz: ").rstrip("\n")


def test_refuses__to_overwrite_what_is_read(convert, tmp_path):
    shutil.copy(SRTEST, "in.alog")
    assert refused(convert, "in.alog", "in.alog") == "in.alog: is read by this command, must be another file"
    assert convert("in.alog", "run.otf2")[0] == 0
    for source in ("run.otf2", "run", str(tmp_path)):
        for target in ("run.otf2", "run.def", "run/0.evt", "run/new.alog"):
            assert refused(convert, source, target) == f"{target}: is read by this command, must be another file"
    assert convert("run.otf2", "other.otf2")[0] == 0


def test_refuses__what_is_in_the_way(convert, tmp_path):
    pathlib.Path("out").mkdir()
    assert refused(convert, SRTEST, "out.otf2") == f"{tmp_path}/out: no part of the archive out.otf2, must not be there"
    pathlib.Path("text.otf2").write_text("mine")
    assert refused(convert, SRTEST, "text.otf2") == "text.otf2: no OTF2 archive, must be one to be replaced"
    pathlib.Path("folder.otf2").mkdir()
    assert refused(convert, SRTEST, "folder.otf2") == "folder.otf2: a directory, must be the name of a file"
    assert sorted(os.listdir()) == ["folder.otf2", "out", "text.otf2"]


def test_refuses__without_the_library(convert, monkeypatch):
    from perwiz.formats.otf2.library import binding as otf2_library

    otf2_library.load.cache_clear()
    monkeypatch.setattr(otf2_library, "_candidates", lambda: iter(()))
    try:
        message = refused(convert, SRTEST, "out.otf2")
    finally:
        otf2_library.load.cache_clear()
    assert message == "reading and writing OTF2 needs the OTF2 library: pip install otf2, or a system libotf2"
    assert os.listdir() == []


def test_replaces_an_archive(convert):
    for _ in range(2):
        assert convert(SRTEST, "out.otf2")[0] == 0
    assert sorted(os.listdir()) == ["out", "out.def", "out.otf2"]
    assert sorted(os.listdir("out")) == [f"{place}.{kind}" for place in range(3) for kind in ("def", "evt")]


@pytest.mark.slow
def test_predict_writes_an_archive(capsys):
    assert main(["predict", SRTEST, "--zero-wait", "e25", "--model", "default", "-o", "out.otf2"]) == 0
    assert capsys.readouterr().err == ""
    trace = perwiz.read("out.otf2")
    assert (trace.timeline.makespan, str(trace.timeline.origin)) == (403_130_934, "predicted under zero-wait e25")


def test_moved__is_said(convert, capsys, monkeypatch):
    def write(trace, path):
        pathlib.Path(path).write_text("")
        return 2

    monkeypatch.setattr(files, "write", write)
    _, out, _ = convert(SRTEST, "out.alog")
    assert "moved         2 events, region boundaries or records, so that no time runs backwards\n" in out
    main(["predict", SRTEST, "-o", "out.alog"])
    wanted = "perwiz: out.alog: 2 region boundaries or records moved, so that no time runs backwards\n"
    assert capsys.readouterr().err == wanted


def test_standard_input(convert, monkeypatch):
    with open(SRTEST) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        code, out, _ = convert("-", "out.alog")
    assert code == 0
    assert out.startswith("out.alog: ALOG, from - (ALOG)\n")
