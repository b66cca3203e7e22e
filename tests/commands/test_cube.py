"""`perwiz cube` from the command line: look, subtract, average, merge, compare; `perwiz patterns --cube`; refusals."""

from __future__ import annotations

import json
import pathlib

import pytest

import build
import cubes
from build import Builder
from documents import valid
from perwiz.cli import main
from perwiz.formats import files
from perwiz.formats.cube import read as cube_read
from perwiz.formats.cube import write as cube_write


def late(ns):
    """Rank 1 waits so long for rank 0 in solve."""
    b = Builder(2)
    for rank in (0, 1):
        with b.region(rank, "solve"):
            (b.send(0, 1, 10, at=(10_000 + ns, 15_000 + ns)) if rank == 0 else b.recv(1, 0, at=(10_000, 25_000 + ns)))
    return b.trace()


@pytest.fixture
def cube(tmp_path, monkeypatch, capsys):
    """Return cube(*words): exit code, output and complaint of `perwiz cube` beside a.cubex, b.cubex, slow.alog and fast.alog."""
    monkeypatch.chdir(tmp_path)
    cube_write.write(cubes.cube({"time": {0: [1.0, 2.0], 2: [4.0, 8.0]}, "visits": {1: [1, 1], 2: [7, 5]}}), "a.cubex")
    cube_write.write(cubes.cube({"time": {0: [0.5, 2.0], 3: [1.0, 1.5]}, "visits": {1: [2, 3]}}), "b.cubex")
    files.write(late(30_000), "slow.alog")
    files.write(late(10_000), "fast.alog")

    def run(*words, command="cube"):
        code = main([command, *words])
        return code, *capsys.readouterr()

    return run


def document(cube, *words, expected=0):
    code, out, err = cube(*words, "--json")
    assert (code, err) == (expected, "")
    block = json.loads(out)
    valid(block, "cube")
    return block


def test_show(cube):
    code, out, err = cube("show", "a.cubex", "--metric", "time")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "a.cubex",
        "4 call paths, 2 locations, 2 metrics that are not 0",
        "",
        "metric  name    total  of all time",
        "Time    time  15.00 s      100.0 %",
        "",
        "call paths with most of time",
        "call path         value  with those below  most on rank",
        "solve/MPI_Recv  12.00 s           12.00 s    1: 8.000 s",
        "main            3.000 s           15.00 s    1: 2.000 s",
    ]


def test_show__metrics_around_one(cube):
    """What contains it, and what it contains; beside all time."""
    _, out, _ = cube("show", "slow.alog", "--metric", "mpi_point2point")
    names = [line.split()[-5] for line in out.partition("\ncall paths")[0].splitlines()[4:] if line]
    assert names == ["time", "execution", "mpi", "mpi_communication", "mpi_point2point", "mpi_latesender"]


def test_show__a_difference(cube):
    """Shares of a difference of times mean nothing."""
    cube("diff", "a.cubex", "b.cubex", "-o", "d.cubex")
    _, out, _ = cube("show", "d.cubex")
    assert out.splitlines()[3:] == ["metric  name      total", "Time    time    10.00 s", "Visits  visits        9"]


def test_show__rows(cube):
    assert len(document(cube, "show", "a.cubex", "--metric", "time", "-n", "1")["rows"]) == 1
    assert document(cube, "show", "a.cubex")["rows"] == []


def test_show__a_trace(cube):
    row = document(cube, "show", "slow.alog", "--metric", "mpi_latesender")["rows"]
    assert row == [{"call_path": "solve/MPI_Recv", "value": 3e-5, "with_below": 3e-5, "rank": 1, "thread": 0, "most": 3e-5}]


def test_show__what_a_file_has_that_cannot_be_used(cube):
    pathlib.Path("x.cubex").write_bytes(cubes.archive(cubes.solver()))
    code, _, err = cube("show", "x.cubex")
    assert (code, err) == (0, "perwiz: x.cubex: metric 'most' left out: values of type MAXDOUBLE, EXCLUSIVE\n")


def test_diff(cube):
    code, out, err = cube("diff", "a.cubex", "b.cubex", "-o", "d.cubex")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "a.cubex less b.cubex",
        "4 call paths, 2 locations, 2 metrics that are not 0",
        "",
        "metric  name      first   second  difference",
        "Time    time    15.00 s  5.000 s     10.00 s",
        "Visits  visits       14        5           9",
    ]
    found = cube_read.read("d.cubex")
    assert found.attributes["perwiz::operation"] == "diff a.cubex b.cubex"
    assert found.total("time") == 10


def test_diff__is_an_operand_again(cube):
    cube("diff", "a.cubex", "b.cubex", "-o", "d.cubex")
    cube("mean", "d.cubex", "a.cubex", "-o", "m.cubex")
    assert document(cube, "show", "m.cubex")["metrics"][0]["total"] == 12.5


def test_diff__traces(cube):
    """20 us less waiting; a metric one does not have is no 0 there."""
    block = document(cube, "diff", "slow.alog", "fast.alog")
    row = next(row for row in block["metrics"] if row["name"] == "mpi_latesender")
    assert (row["operands"], row["total"]) == ([3e-5, 1e-5], pytest.approx(2e-5))
    _, out, _ = cube("diff", "slow.alog", "a.cubex")
    assert next(line.split()[-3:] for line in out.splitlines() if " mpi_latesender " in line) == ["-", "30.00", "us"]


def test_diff__percent(cube):
    """Waiting is 30 of 45 + 55 us, and 10 of 25 + 35 us; 13.3 % less."""
    block = document(cube, "diff", "--percent", "slow.alog", "fast.alog")
    rows = {row["name"]: row for row in block["metrics"]}
    whole = [rows["time"]["operands"], rows["mpi_latesender"]["operands"]]
    assert whole == [[pytest.approx(100), pytest.approx(100)], [pytest.approx(30), pytest.approx(100 / 6)]]
    assert rows["visits"]["operands"] == [4, 4]
    _, out, _ = cube("diff", "--percent", "slow.alog", "fast.alog")
    assert "13.33 %" in out


def test_diff__call_paths_by_how_much_they_differ(cube):
    """Whichever way: -12 s, then 2.5 s, then -0.5 s."""
    rows = document(cube, "diff", "b.cubex", "a.cubex", "--metric", "time")["rows"]
    assert [(row["call_path"], row["value"], row["rank"], row["most"]) for row in rows] == [
        ("solve/MPI_Recv", -12, 1, -8),
        ("MPI_Barrier", 2.5, 1, 1.5),
        ("main", -0.5, 0, -0.5),
    ]


def test_mean(cube):
    block = document(cube, "mean", "a.cubex", "b.cubex", "-o", "m.cubex")
    assert [(row["name"], row["total"], row["operands"]) for row in block["metrics"]] == [("time", 10, [15, 5]), ("visits", 9.5, [14, 5])]
    assert cube_read.read("m.cubex").total("visits") == 9.5


def test_mean__of_many(cube):
    _, out, _ = cube("mean", *["a.cubex"] * 6)
    assert out.startswith("mean of a.cubex, a.cubex, a.cubex, a.cubex and 2 more\n")


def test_merge(cube):
    code, out, err = cube("merge", "a.cubex", "b.cubex")
    assert (code, err) == (0, "perwiz: in several operands, with other values, kept as in the first: time, visits\n")
    assert "15.00 s" in out


def test_cmp(cube):
    assert cube("cmp", "a.cubex", "a.cubex") == (0, "a.cubex beside a.cubex\n\nequal\n", "")
    assert cube("cmp", "a.cubex", "b.cubex") == (
        5,
        "a.cubex beside b.cubex\n\nmetric 'time': 5 cells differ, by at most 8 sec\nmetric 'visits': 4 cells differ, by at most 7 occ\n",
        "",
    )
    assert document(cube, "cmp", "a.cubex", "a.cubex")["differences"] == []
    assert len(document(cube, "cmp", "a.cubex", "b.cubex", expected=5)["differences"]) == 2


def test_incomplete(cube):
    """Exit code 4, and the mark goes with the file."""
    files.write(build.CATALOGUE["unmatched"](), "lost.alog")
    code, out, err = cube("mean", "lost.alog", "slow.alog", "-o", "m.cubex")
    assert (code, err) == (4, "")
    assert out.startswith("mean of lost.alog, slow.alog  (INCOMPLETE trace)\n")
    assert document(cube, "show", "m.cubex", expected=4)["incomplete"]


def test_patterns(cube):
    """What `perwiz patterns --cube` writes is the cube of the trace, with what the waits are worth: rank 0 ends 10 us earlier."""
    code, _, err = cube("slow.alog", "--cube", "s.cubex", command="patterns")
    assert (code, err) == (0, "")
    found = cube_read.read("s.cubex")
    assert found.total("mpi_latesender") == pytest.approx(3e-5)
    assert found.total("gain_mpi_latesender") == pytest.approx(1e-5)
    code, out, _ = cube("cmp", "s.cubex", "slow.alog")
    assert (code, out.splitlines()[1:]) == (0, ["", "equal"])
    shown = cube("show", "s.cubex")[1].splitlines()
    assert next(line for line in shown if "gain_mpi_latesender" in line).endswith(" 10.00 us"), "no share of all processes' time"


def test_patterns__pycubexr(cube):
    pycubexr = pytest.importorskip("pycubexr")
    cube("slow.alog", "--cube", "s.cubex", command="patterns")
    with pycubexr.CubexParser("s.cubex") as parsed:
        values = parsed.get_metric_values(parsed.get_metric_by_name("mpi_latesender"))
        nodes = [node for node in parsed.all_cnodes() if parsed.get_region(node).name == "MPI_Recv"]
        assert [values.cnode_values(node).tolist() for node in nodes] == [[0, 3e-5]]


REFUSED = {
    "no cube": (["show", "slow.txt"], 3, "slow.txt: no such file"),
    "no file": (["show", "no.cubex"], 3, "no.cubex: no such file or directory, must be a Cube file"),
    "a trace named so": (["show", "trace.cubex"], 3, "trace.cubex: no tar archive at byte 0, must be a Cube 4 file"),
    "metric": (["show", "a.cubex", "--metric", "t"], 2, "metric 't': must be one of time, visits"),
    "name": (["mean", "a.cubex", "-o", "m.cube"], 2, "m.cube: no name for a Cube file, must end in .cubex"),
    "itself": (["mean", "a.cubex", "-o", "a.cubex"], 2, "a.cubex: is read by this command, must be another file"),
    "twice -": (["diff", "-", "-"], 2, "-: standard input holds one trace, must be named once"),
    "percent": (["diff", "--percent", "v.cubex", "a.cubex"], 2, "a cube without any 'time', must have it to be put in percent"),
    "action": (["mend", "a.cubex"], 2, "argument ACTION: invalid choice: 'mend'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(cube, name):
    words, expected, why = REFUSED[name]
    pathlib.Path("trace.cubex").write_bytes(pathlib.Path("slow.alog").read_bytes())
    cube_write.write(cubes.cube({"visits": {0: [1, 1]}}), "v.cubex")
    code, out, err = cube(*words)
    assert (code, out) == (expected, "")
    assert err.startswith(f"perwiz: {why}")


def test_refused__patterns(cube):
    code, out, err = cube("slow.alog", "--cube", "slow.xml", command="patterns")
    assert (code, out, err) == (2, "", "perwiz: slow.xml: no name for a Cube file, must end in .cubex\n")
