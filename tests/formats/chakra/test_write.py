"""Runs as Chakra execution traces: read back they take as long, and written again they are the same."""

import hashlib
import json
import pathlib

import pytest

import build
import perwiz
from chakras import put, two_ranks
from perwiz.cli import main
from perwiz.errors import DONE, INCOMPLETE, USAGE
from perwiz.formats import files
from perwiz.trace import operations
from perwiz.whatif.timed import timed

TRACES = pathlib.Path(__file__).parents[3] / "traces"


def convert(source, path):
    assert main(["convert", str(source), str(path), "-q"]) == DONE
    return timed(files.read(str(path))).timeline.makespan


def content(folder):
    """Return what the files of ranks hold, in their order."""
    count = len(list(folder.glob("*.et")))
    return [hashlib.sha256((folder / f"{folder.stem}.{k}.et").read_bytes()).hexdigest() for k in range(count)]


def test_convert__devices(tmp_path, capsys):
    """A job with host and device: the same nodes at the same times, and then the same bytes."""
    source = put(tmp_path / "job", *two_ranks())
    before = timed(files.read(source)).timeline.makespan
    first, second = tmp_path / "a.et", tmp_path / "b.et"
    assert convert(source, first) == before
    assert convert(first, second) == before
    assert convert(second, tmp_path / "c.et") == before
    assert content(second) == content(tmp_path / "c.et")
    assert [operations.OPS[op] for op in files.read(str(second)).collectives.op] == ["dist_all_reduce"]
    assert main(["convert", source, str(tmp_path / "d.et")]) == DONE
    assert "collectives as such" not in capsys.readouterr().out, "none of them became messages"
    assert json.loads((second / "comm_groups.json").read_text()) == {}


def again(source, folder, times):
    """Convert a trace, what that gives, and so on; return what the files of ranks hold each time, and how many bytes that is."""
    found = []
    for k in range(times):
        path = folder / str(k) / "a.et"
        path.parent.mkdir()
        assert main(["convert", str(source), str(path), "-q"]) in (DONE, INCOMPLETE)
        found.append((content(path), sum(file.stat().st_size for file in path.glob("*.et"))))
        source = path
    return zip(*found, strict=True)


@pytest.mark.parametrize("name", ["farm.alog.gz", "ring-ti", "team-static.alog.gz"])
def test_convert__again(name, tmp_path, capsys):
    """Of recorded runs: what was read once is written as it was, however often."""
    held, _ = again(TRACES / name, tmp_path, 4)
    assert held[1] == held[2] == held[3]


def test_convert__again_job(tmp_path, capsys):
    """Of a training job: as it was from the first time on."""
    held, _ = again(TRACES / "training-balanced", tmp_path, 3)
    assert held[0] == held[1] == held[2]


@pytest.mark.parametrize("name", ["halo", "waitall_of_three", "nonblocking_collectives", "self_message"])
def test_convert__again_without_length(name, tmp_path, capsys):
    """Of computation below half a microsecond, which is none in a file, less is left the next time: never more, and then the same."""
    perwiz.write(build.CATALOGUE[name](), str(tmp_path / "a.perwiz"))
    held, sizes = again(tmp_path / "a.perwiz", tmp_path, 5)
    assert list(sizes[1:]) == sorted(sizes[1:], reverse=True)
    assert held[2] == held[3] == held[4]


@pytest.mark.slow
def test_convert__mpi(tmp_path, capsys):
    """A run of MPI, whose messages take little of it: as long as recorded within 0.1 %, and then for good."""
    source = TRACES / "farm.alog.gz"
    recorded = files.read(str(source)).timeline.makespan
    first = convert(source, tmp_path / "a.et")
    assert first == pytest.approx(recorded, rel=0.001)
    assert convert(tmp_path / "a.et", tmp_path / "b.et") == first


def test_write__refused(tmp_path, capsys):
    (tmp_path / "a.et").mkdir()
    assert main(["convert", str(TRACES / "allreduce-ring"), str(tmp_path / "a.et")]) == USAGE
    expected = f"perwiz: {tmp_path}/a.et: a directory and no job of Chakra execution traces, must be one to be replaced\n"
    assert capsys.readouterr().err == expected
    (tmp_path / "c.et").write_text("")
    assert main(["convert", str(TRACES / "allreduce-ring"), str(tmp_path / "c.et")]) == USAGE
    expected = f"perwiz: {tmp_path}/c.et: no directory with a job of Chakra execution traces, must be one to be replaced\n"
    assert capsys.readouterr().err == expected
    assert main(["correct", str(TRACES / "allreduce-ring"), "-o", str(tmp_path / "b.et")]) == USAGE
    assert capsys.readouterr().err.startswith(
        f"perwiz: {tmp_path}/b.et: Chakra execution traces are made under a model, must be written by perwiz convert"
    )
