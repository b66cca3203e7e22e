"""`perwiz patterns` from the command line: the tree, call paths by worth, own patterns, refusals."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import numpy as np
import pytest

import build
from build import Builder
from documents import valid
from perwiz.cli import main
from perwiz.formats import files
from perwiz.whatif.predict import predict

TRACES = pathlib.Path(__file__).parents[2] / "traces"


def late():
    """Rank 1 waits 30 us for rank 0 in solve, and nobody waits for rank 1; then a barrier, for which rank 0 is late by 10 us."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "solve"):
            (b.send(0, 1, 10, at=(40_000, 45_000)) if rank == 0 else b.recv(1, 0, at=(10_000, 55_000)))
    b.barrier(at=[(70_000, 75_000), (60_000, 75_000)])
    return b.trace()


@pytest.fixture
def patterns(tmp_path, monkeypatch, capsys):
    """Return patterns(*words): exit code, output and complaint of `perwiz patterns` where in.alog is that trace."""
    monkeypatch.chdir(tmp_path)
    files.write(late(), "in.alog")

    def run(*words):
        code = main(["patterns", *words])
        return code, *capsys.readouterr()

    return run


def document(patterns, *words, expected=0):
    code, out, err = patterns(*words, "--json")
    assert (code, err) == (expected, "")
    block = json.loads(out)
    valid(block, "patterns")
    return block


def test_text(patterns):
    code, out, err = patterns("in.alog")
    assert (code, err) == (0, "")
    assert out.startswith("in.alog: wait states\n\nrecorded      75.00 us\nwaiting       40.00 us in these patterns, ")
    assert out.index("\nno waits      ") < out.index("\nmetric ")
    row = next(line.split() for line in out.splitlines() if "Late Sender" in line)
    assert (row[2:4], row[6:]) == (["30.00", "us"], ["1", "0", "ns"])
    assert "Late Sender" in out.split("call paths, by gain")[1].splitlines()[2]
    assert "solve/MPI_Recv" in out


def test_json__numbers(patterns):
    """The gain of each is what predict says of the same calls: rank 1's receive delays nobody, its wait for the barrier neither."""
    block = document(patterns, "in.alog")
    found = {row["name"]: row for row in block["metrics"]}
    assert (found["mpi_latesender"]["total"], found["mpi_latesender"]["instances"]) == (30_000, 1)
    assert found["mpi_barrier_wait"]["total"] == 10_000
    assert [row["call_path"] for row in block["call_paths"]] == ["solve/MPI_Recv", "MPI_Barrier"]
    for row, call in zip(block["call_paths"], ("e2", "e3"), strict=True):
        assert row["gain_ns"] == predict(late(), f"zero-wait {call}").gain
    assert [row["call"] for row in block["instances"]] == ["e2", "e3"]
    assert block["instances"][0]["cause"]["call"] == "e0"


def test_of(patterns):
    assert {row["pattern"] for row in document(patterns, "in.alog", "--of", "mpi_barrier_wait")["call_paths"]} == {"mpi_barrier_wait"}


def test_locations(patterns):
    _, out, _ = patterns("in.alog", "--locations")
    assert "rank      time       MPI  Late Sender  Wait at Barrier" in out


def test_own(patterns):
    pathlib.Path("mine.py").write_text(
        "from perwiz.patterns.pattern import Pattern\n\n\n"
        "class Long(Pattern):\n"
        '    name, title, of = "long", "Long", "mpi_latesender"\n\n'
        "    def instances(self, view, parent):\n"
        "        return parent.where(parent.severity > 20_000)\n\n\n"
        "class Broken(Pattern):\n"
        '    name, title, of = "broken", "Broken", "time"\n\n'
        "    def instances(self, view, parent):\n"
        "        return view.nothing\n"
    )
    code, out, err = patterns("in.alog", "--own", "mine.py")
    assert code == 0
    assert "\n            Long " in out
    place = pathlib.Path("mine.py").resolve()
    assert err == f"perwiz: {place}:15: pattern broken: AttributeError: 'View' object has no attribute 'nothing'\n"


def test_own__asked_for_in_vain(patterns):
    """Its failure is told, then that there is nothing to list; names are shown as a terminal may show them."""
    pathlib.Path("mine.py").write_text(
        "from perwiz.patterns.pattern import Pattern\n\n\n"
        "class Broken(Pattern):\n"
        '    name, title, of = "a\\x1b[1m", "Broken", "time"\n\n'
        "    def instances(self, view, parent):\n"
        "        return None\n"
    )
    code, out, err = patterns("in.alog", "--own", "mine.py", "--of", "a\x1b[1m")
    assert (code, out) == (2, "")
    first, second = err.splitlines()
    assert first.endswith(
        "mine.py:7: pattern a\\x1b[1m: TypeError: instances returned NoneType, must return perwiz.patterns.pattern.Instances"
    )
    assert "not searched for in this trace, see above" in second


def test_refused__pattern(patterns):
    code, out, err = patterns("in.alog", "--of", "mpi_late")
    assert (code, out) == (2, "")
    assert err.startswith("perwiz: pattern 'mpi_late': must be one of mpi_latesender, mpi_latesender_wo, ")


@pytest.mark.parametrize("name", build.CATALOGUE)
def test_catalogue(patterns, name):
    """Every awkward trace gives an answer, incomplete where it is."""
    files.write(build.CATALOGUE[name](), "awkward.alog")
    code, out, err = patterns("awkward.alog", "--json")
    if name == "empty":
        assert (code, err) == (3, "perwiz: awkward.alog: no event record, must have at least one\n")
        return
    assert (code in (0, 4), err) == (True, "")
    block = json.loads(out)
    valid(block, "patterns")
    assert block["health"]["incomplete"] == (code == 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["srtest.alog", "p_m3.alog.gz", "npb-is.S-4/traces.otf2", "npb-mg.S_timens-4/traces.otf2"])
def test_samples(patterns, name):
    code, out, _ = patterns(str(TRACES / name))
    assert code in (0, 4)
    assert "metric" in out


def test_statistics(patterns):
    """Always in the document, on request in the text; --of leaves the others out."""
    block = document(patterns, "in.alog")
    assert [row["pattern"] for row in block["statistics"] if row["count"]] == ["mpi_latesender", "mpi_barrier_wait"]
    assert [row["pattern"] for row in document(patterns, "in.alog", "--of", "mpi_latereceiver")["statistics"]] == ["mpi_latereceiver"]
    assert "deviation" not in patterns("in.alog")[1]
    table = patterns("in.alog", "--statistics")[1].split("deviation\n")[1]
    assert table.split()[:4] == ["Late", "Sender", "1", "30.00"]


def test_metahosts(patterns):
    """One metahost: nothing is said of it. Two: twins and matrix."""
    assert document(patterns, "in.alog")["metahosts"] is None
    trace = late()
    trace = dataclasses.replace(trace, locations=dataclasses.replace(trace.locations, metahost=np.array([0, 1], "i4")))
    files.write(trace, "two.alog")
    block = document(patterns, "two.alog", "--of", "grid_mpi_latesender")
    assert [row["pattern"] for row in block["call_paths"]] == ["grid_mpi_latesender"]
    assert block["metahosts"]["names"] == ["0", "1"]
    assert block["metahosts"]["patterns"][0]["severity_ns"] == [[0, 0], [30_000, 0]]
    out = patterns("two.alog")[1]
    assert "Between metahosts" in out
    assert "who waits for whom, by metahost" in out
    assert {row["pattern"] for row in document(patterns, "two.alog")["call_paths"]} == {"mpi_latesender", "mpi_barrier_wait"}


@pytest.mark.slow
def test_plot(patterns):
    code, _, err = patterns("in.alog", "--topology", "1x2", "--plot", "late.png")
    assert (code, err, pathlib.Path("late.png").read_bytes()[:4]) == (0, "", b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--topology", "2x2"), "topology '2x2': it has 4 places, must have as many as there are processes, 2"),
        (("--plot", "late.gif"), "late.gif: a picture of type '.gif', must be one of .png .svg .pdf"),
        (
            ("--of", "grid_mpi_latesender", "--plot", "late.png"),
            "pattern 'grid_mpi_latesender': not searched for in this trace, all processes are on one metahost",
        ),
    ],
)
def test_refused__picture(patterns, words, complaint):
    assert patterns("in.alog", *words) == (2, "", f"perwiz: {complaint}\n")
    assert sorted(path.name for path in pathlib.Path().iterdir()) == ["in.alog"]


def test_refused__standard_input_twice(patterns):
    assert patterns("-", "--reference", "-") == (2, "", "perwiz: -: standard input holds one trace, must be named once\n")
