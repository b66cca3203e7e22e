"""Every command on a trace with threads and device streams that nothing ties: they are left out of the answer, and it says so."""

import dataclasses
import json

import numpy as np
import pytest

import perwiz
from build import Builder
from documents import valid
from perwiz.cli import main
from perwiz.trace.tables import PROCESS, STREAM, THREAD
from perwiz.trace.trace import Counts

REGION = ["--region", "solve"]
COMMANDS = {
    "info": ["--waits", "3"],
    "predict": ["--zero-wait", "all"],
    "domino": [],
    "critical": [],
    "bound": [],
    "balance": REGION,
    "curve": ["--of", "L"],
    "patterns": [],
    "correct": [],
}


def run_of(lanes):
    """Return a run of two processes: 1 computes for 6 ms, 0 waits for it, twice; then 0 computes for 1 ms.

    With `lanes` each has a thread and a stream, which solve and run a kernel to 20 ms, when both processes are long done.
    """
    b = Builder(6 if lanes else 2)
    zero, one = (0, 3) if lanes else (0, 1)
    for rank in (zero, one):
        b.enter(rank, "solve", at=0)
    for step in range(2):
        b.send(one, zero, at=(6_000_000 * (step + 1), 6_000_000 * (step + 1) + 4000))
        b.recv(zero, one, at=(6_000_000 * step + 10_000, 6_000_000 * (step + 1) + 10_000))
    for rank, end in ((zero, 13_010_000), (one, 12_005_000)):
        b.leave(rank, "solve", at=end)
    if not lanes:
        return b.trace()
    for rank, name in ((1, "solve"), (2, "kernel"), (4, "solve"), (5, "kernel")):
        b.enter(rank, name, at=1000)
        b.leave(rank, name, at=20_000_000)
    trace = b.trace()
    columns = {"process": [0, 0, 0, 1, 1, 1], "thread": [0, 1, 2, 0, 1, 2]}
    places = dataclasses.replace(
        trace.locations,
        **{name: np.array(values, "i4") for name, values in columns.items()},
        kind=np.array([PROCESS, THREAD, STREAM] * 2, "u1"),
    )
    comms = dataclasses.replace(trace.communicators, first=np.array([0, 2]), ranks=np.array([0, 1], "i4"))
    calls = dataclasses.replace(trace.calls, peer=np.where(trace.calls.peer == 3, 1, trace.calls.peer).astype("i4"))
    return dataclasses.replace(trace, locations=places, communicators=comms, calls=calls, counts=Counts())


@pytest.fixture(scope="module", params=["alog", pytest.param("otf2", marks=pytest.mark.slow)])
def files(request, tmp_path_factory):
    """Return two files, with lanes and without."""
    out = [str(tmp_path_factory.mktemp(name) / f"run.{request.param}") for name in ("with", "without")]
    for path, lanes in zip(out, (True, False), strict=True):
        perwiz.write(run_of(lanes), path)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_answer__is_that_of_the_processes(capsys, files, command):
    """The documents are the same but for what they say of the file and its health."""
    told = []
    for path, code in zip(files, (4, 0), strict=True):
        assert main([command, path, *COMMANDS[command], "--json"]) == code
        told.append(valid(json.loads(capsys.readouterr().out), command))
    health = told[0]["health"]
    assert health["incomplete"]
    assert health["holes"] == {
        "threads that nothing ties to the processes, left out": 2,
        "device streams that nothing ties to the processes, left out": 2,
    }
    assert (health["counts"]["untied_threads"], health["counts"]["untied_streams"]) == (2, 2)
    for document in told:
        for name in ("health", "trace", "predict", "offsets"):
            document.pop(name, None)
    assert told[0] == told[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_text__says_so_in_its_title(capsys, files, command):
    assert main([command, files[0], *COMMANDS[command]]) == 4
    title = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    assert title.endswith("(INCOMPLETE trace, its 2 threads and 2 device streams left out)")


def test_reference__counts_processes(capsys, files):
    assert main(["patterns", files[1], "--reference", files[0], "--json"]) == 0
    reference = json.loads(capsys.readouterr().out)["reference"]
    assert (reference["processes"], reference["computation_scaling"]) == (2, 1)


def test_region__that_only_a_stream_has(capsys, files):
    assert main(["balance", files[0], "--region", "kernel"]) == 2
    assert capsys.readouterr().err == "perwiz: region 'kernel': no such region, the trace has solve\n"


def test_zero_wait__gains_what_the_process_waits(capsys, files):
    """Process 0 ends at 13.01 ms and waits for almost 12 ms; without that process 1 is the last, at 12.005 ms."""
    main(["predict", files[0], "--zero-wait", "all", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["recorded_ns"], document["predicted_ns"]) == (13_010_000, 12_005_000)


@pytest.mark.slow
def test_convert__keeps_them(capsys, files, tmp_path):
    """In both formats, with their kinds; the report says that answers leave them out."""
    for name in ("copy.otf2", "copy.log", "copy.json"):
        assert main(["convert", files[0], str(tmp_path / name)]) == 4
        assert "threads that nothing ties to the processes, left out: 2" in capsys.readouterr().out
    for name in ("copy.otf2", "copy.log"):
        copy, whole = perwiz.read(str(tmp_path / name)), perwiz.read(files[0])
        assert (copy.locations, copy.calls, copy.timeline.locations) == (whole.locations, whole.calls, whole.timeline.locations)
        assert copy.locations.kind.tolist() == [PROCESS, THREAD, STREAM] * 2
    assert (tmp_path / "copy.json").read_text().count('"kernel"') == 2


@pytest.mark.slow
def test_correct__keeps_them(files, tmp_path):
    """Where they were, in the trace that is written, also beside the recorded run."""
    assert main(["correct", files[0], "-o", str(tmp_path / "fixed.log")]) == 4
    fixed = perwiz.read(str(tmp_path / "fixed.log"))
    assert fixed.timeline.locations == perwiz.read(files[0]).timeline.locations
    assert main(["correct", files[0], "-o", str(tmp_path / "fixed.json")]) == 4
    assert (tmp_path / "fixed.json").read_text().count('"kernel"') == 4


@pytest.mark.slow
def test_predict__writes_the_processes_alone(capsys, files, tmp_path):
    """Nobody knows where the others would be; the file still says that they are missing, if it is an archive."""
    assert main(["predict", files[0], "--zero-wait", "all", "-o", str(tmp_path / "faster.otf2")]) == 4
    faster = perwiz.read(str(tmp_path / "faster.otf2"))
    assert (faster.locations.kind.tolist(), faster.counts.untied_threads, faster.counts.untied_streams) == ([PROCESS] * 2, 2, 2)
    assert faster.timeline.makespan == 12_005_000


@pytest.mark.slow
def test_compare_and_report__say_so(capsys, files, tmp_path):
    assert main(["compare", *files]) == 4
    title = " ".join(capsys.readouterr().out.partition("\n\n")[0].split())
    assert title.endswith("(INCOMPLETE trace, its 2 threads and 2 device streams left out)")
    page = tmp_path / "page.html"
    assert main(["report", files[0], "-o", str(page)]) == 4
    printed = " ".join(capsys.readouterr().out.split())  # the path in it decides where its lines break
    assert printed.endswith("(INCOMPLETE trace, its 2 threads and 2 device streams left out)")
    assert "device streams that nothing ties to the processes, left out: 2" in page.read_text()
