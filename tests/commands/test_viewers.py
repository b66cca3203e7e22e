"""What the commands write for Perfetto and Paraver, and what they refuse."""

from __future__ import annotations

import os
import pathlib
import shutil

import pytest

import build
import perwiz
import viewers
from perwiz.cli import main
from perwiz.errors import UsageError
from perwiz.formats import files
from perwiz.whatif.run import replayed

TRACES = pathlib.Path(__file__).parents[2] / "traces"
SRTEST = str(TRACES / "srtest.alog")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys):
    """Return run(*words): exit code, output and complaint."""

    def call(*words):
        code = main([*words])
        return code, *capsys.readouterr()

    return call


def events(path):
    return viewers.trace_events(pathlib.Path(path).read_text(encoding="ascii"))


def test_convert__perfetto(run):
    code, out, err = run("convert", SRTEST, "out.json")
    assert (code, err) == (0, "")
    assert out.startswith(f"out.json: Trace Event JSON, from {SRTEST} (ALOG)\n\nlocations     3\ncalls         36\n")
    assert "not written   lists of the ranks of communicators: 1\n" in out
    slices, arrows = events("out.json")
    assert (len([s for s in slices if s.category == "mpi"]), len(arrows)) == (36, 15)
    assert {s.group for s in slices} == {"recorded"}
    wait = next(s for s in slices if s.category == "wait" and s.parent.args["call"] == "e25")
    assert (wait.leave - wait.enter, wait.parent.args["waits_for"]) == (replayed(perwiz.read(SRTEST)).waits.time[25], "e14")


def test_convert__paraver(run):
    code, out, err = run("convert", SRTEST, "out.prv")
    assert (code, err) == (0, "")
    assert out.startswith(f"out.prv: Paraver, from {SRTEST} (ALOG)\n")
    assert [line for line in out.splitlines() if "not written" in line] == ["not written   times of message records inside calls: 15"]
    assert sorted(os.listdir()) == ["out.pcf", "out.prv", "out.row"]
    found = viewers.paraver(pathlib.Path("out.prv").read_text())
    assert (found.end, len(found.messages)) == (412_568_000, 15)
    assert run("convert", SRTEST, "out.prv")[0] == 0


def test_convert__says_what_is_missing(run):
    files.write(build.CATALOGUE["unmatched"](), "in.alog")
    code, out, _ = run("convert", "in.alog", "out.prv.gz")
    assert code == 4
    assert "not written   partners, tags and sizes of calls without a message: " in out
    assert "health        INCOMPLETE: " in out


def test_predict__both_runs_in_one_file(run):
    assert run("predict", SRTEST, "--zero-wait", "e25", "-o", "both.json")[0] == 0
    slices, arrows = events("both.json")
    calls = {(s.group, s.args["call"]): s for s in slices if s.category == "mpi"}
    assert len(calls) == 72
    assert len(arrows) == 30
    found = perwiz.predict(perwiz.read(SRTEST), "zero-wait e25")
    for group, timeline in (("recorded", found.recorded), ("predicted under zero-wait e25", found.predicted)):
        assert [(calls[group, f"e{row}"].enter, calls[group, f"e{row}"].leave) for row in range(36)] == [
            *zip(timeline.calls.enter.tolist(), timeline.calls.leave.tolist(), strict=True)
        ]
    for group, waits in (("recorded", found.waits_before), ("predicted under zero-wait e25", found.waits_after)):
        assert [calls[group, f"e{row}"].args.get("wait_ns", 0) for row in range(36)] == waits.time.tolist()


def test_predict__unchanged(run):
    assert run("predict", SRTEST, "-o", "same.json")[0] == 0
    slices, _ = events("same.json")
    assert {s.group for s in slices} == {"recorded", "replayed unchanged"}


def test_predict__another_order(run):
    """A moved call keeps its number, so that it can be found in both runs."""
    code, _, err = run("predict", SRTEST, "--advance", "e25", "-o", "moved.json")
    assert (code, err) == (0, "")
    slices, arrows = events("moved.json")
    assert len({(s.group, s.args["call"]) for s in slices if s.category == "mpi"}) == 72
    assert len(arrows) == 30


def test_predict__paraver(run):
    assert run("predict", SRTEST, "--zero-wait", "e25", "--model", "default", "-o", "out.prv")[0] == 0
    assert viewers.paraver(pathlib.Path("out.prv").read_text()).end == 403_130_934


def test_correct__both_runs_in_one_file(run):
    files.write(build.CATALOGUE["clock_violation_message"](), "in.alog")
    assert run("correct", "in.alog", "-o", "both.json")[0] == 0
    slices, arrows = events("both.json")
    groups = list(dict.fromkeys(s.group for s in slices))
    assert groups[0] == "recorded"
    assert len(groups) == 2
    names = {group: {name for name, tail, *_ in arrows.values() if tail.group == group} for group in groups}
    assert "received no later than sent" in names["recorded"]
    assert names[groups[1]] == {"message"}


def refused(run, *words):
    code, out, err = run("convert", *words)
    assert (code, out) == (2, "")
    return err.removeprefix("perwiz: ").rstrip("\n")


def test_refuses__to_overwrite_what_is_read(run):
    for name in ("in.json", "in.prv", "in.row"):
        shutil.copy(SRTEST, name)
    assert refused(run, "in.json", "in.json") == "in.json: is read by this command, must be another file"
    assert refused(run, "in.prv", "in.prv") == "in.prv: is read by this command, must be another file"
    assert refused(run, "in.row", "in.prv") == "in.prv: is read by this command, must be another file"


def test_refuses__names_and_what_is_in_the_way(run, tmp_path):
    for name in ("out.PRV", "out.prv.zst"):
        assert refused(run, SRTEST, name) == f"{name}: no name for a Paraver trace, must end in .prv or .prv.gz"
    for name in ("out.JSON", "out.json.GZ"):
        assert refused(run, SRTEST, name) == f"{name}: no name for Trace Event JSON, must end in .json, .json.gz or .json.zst"
    pathlib.Path("out.pcf").write_text("mine")
    assert refused(run, SRTEST, "out.prv") == f"{tmp_path}/out.pcf: no part of the Paraver trace out.prv, must not be there"
    assert os.listdir() == ["out.pcf"]


def test_refuses__to_write_what_shows_runs_as_a_trace():
    trace = build.CATALOGUE["halo"]()
    with pytest.raises(UsageError, match=r"^out\.json\.gz: Trace Event JSON shows runs side by side, must be written by perwiz\.report\."):
        files.write(trace, "out.json.gz")


def test_nothing_is_left_half_written(run, monkeypatch):
    """The second file cannot be drawn: the first is not there either."""

    def fail(*rest, width):
        raise UsageError("both.svg: cannot be drawn")

    monkeypatch.setattr("perwiz.report.picture.timeline.plot", fail)
    assert run("predict", SRTEST, "-o", "both.json", "--plot", "both.svg")[0] == 2
    assert run("predict", SRTEST, "-o", "both.prv", "--plot", "both.svg")[0] == 2
    assert os.listdir() == []
