"""Counters of recorded runs: of the kernel, exactly; of the processor, or why not."""

import errno
import os
import shutil
import subprocess

import numpy as np
import pytest

import mpis
from build import equal
from perwiz import cli
from perwiz.errors import USAGE, UsageError
from perwiz.formats import files
from perwiz.formats.recorded import read as recorded
from perwiz.patterns.analysis import counters as analysis
from perwiz.record import build, counters, openmp

slow = pytest.mark.slow
MORE = 30
"""Faults beside those the program makes on purpose: of its stack, its code, what the MPI library touches first."""


@pytest.fixture
def allowed():
    """Skip where the kernel lets nobody count."""
    try:
        counters.check(["task-clock", "page-faults"])
    except UsageError as error:
        pytest.skip(str(error))


def by_path(trace, name):
    """Return what a counter counted by call path, per location."""
    found = analysis.counted(trace)
    value = found.values[found.names.index(name)]
    return {found.tree.full_name(node): value[node].tolist() for node in range(len(found.tree))}


@slow
@mpis.in_turn(first=1)
def test_counts__pages_that_are_touched(allowed, mpi, built, record):
    """Three times 100 (rank + 1), in the region that touches them; time as a counter is no more than the time of computation."""
    program = mpis.compiled(mpi.mpicc, "touch.c", built)
    code, folder, _, said = record(mpi.command(2, program), "--counters", "task-clock,page-faults")
    assert (code, said) == (0, "")
    trace = recorded.read(folder)
    assert trace.counter_names == ("task-clock", "page-faults")
    assert (len(trace.counters), len(trace.region_counters)) == (2 * len(trace.calls), 2 * len(trace.regions))
    for rank, faults in enumerate(by_path(trace, "page-faults")["touch"]):
        assert 300 * (rank + 1) <= faults <= 300 * (rank + 1) + MORE
    found = analysis.counted(trace)
    assert 0 < found.values[0][found.tree.op < 0].sum() <= found.time[found.tree.op < 0].sum() * 1.05


@slow
@mpis.in_turn()
def test_written__and_read_again(allowed, mpi, built, record, tmp_path):
    trace = recorded.read(record(mpi.command(2, mpis.compiled(mpi.mpicc, "touch.c", built)), "--counters", "page-faults")[1])
    files.write(trace, str(tmp_path / "t.otf2"))
    again = files.read(str(tmp_path / "t.otf2"))
    for name in ("counters", "region_counters", "counter_names", "levels"):
        assert equal(getattr(trace, name), getattr(again, name)), name


@slow
@mpis.in_turn(first=1)
def test_nothing_more__without_counters(mpi, built, record):
    folder = record(mpi.command(2, mpis.compiled(mpi.mpicc, "touch.c", built)))[1]
    assert not [name for name in os.listdir(folder) if name.startswith("counts")]
    trace = recorded.read(folder)
    assert (len(trace.counters), len(trace.region_counters), trace.counter_names) == (0, 0, ())


@slow
@mpis.in_turn()
def test_threads__each_has_its_own(allowed, mpi, built, record):
    """Of a team of two: 500 and 1000 pages, in its parallel region; waiting for the next touches none."""
    if not shutil.which("clang") or not openmp.installed():
        pytest.skip("no clang with LLVM's libomp here (Debian: clang, libomp-dev)")
    program = built / f"touch-omp-{mpi.name}"
    command = [mpi.mpicc, "-fopenmp", "-O1", "-g", f"-I{build.HERE}", str(mpis.PROGRAMS / "touch.c"), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMPI_CC": "clang", "MPICH_CC": "clang"})
    trace = recorded.read(record(mpi.command(2, str(program)), "--openmp", "--counters", "page-faults")[1])
    assert trace.locations.thread.tolist() == [0, 1, 0, 1]
    found = by_path(trace, "page-faults")
    inside = next(value for path, value in found.items() if path.startswith("omp parallel") and "/" not in path)
    assert [pages // 500 for pages in inside] == [1, 2, 1, 2]
    assert max(inside) <= 1000 + MORE


@slow
@mpis.in_turn(first=1)
def test_counts__that_go_beyond_a_window(allowed, mpi, built, record, monkeypatch):
    """A window has room for 256 rows: each process has 600, and none is lost or moved."""
    monkeypatch.setenv("PERWIZ_WINDOW", "4096")
    program = mpis.compiled(mpi.mpicc, "touch.c", built)
    trace = recorded.read(record(mpi.command(2, program, "200"), "--counters", "page-faults")[1])
    assert (len(trace.counters), len(trace.region_counters)) == (len(trace.calls), 400)
    faults = (trace.region_counters.left - trace.region_counters.entered).reshape(2, 200)
    assert np.median(faults, axis=1).tolist() == [100, 200]


@pytest.mark.parametrize(
    ("name", "number", "why"),
    [
        (
            "cycles",
            errno.ENOENT,
            "no such counter of the processor here, as in most virtual machines; task-clock and page-faults are the kernel's own",
        ),
        ("cycles", errno.EACCES, "perf_event_paranoid is 4, must be at most 2: sysctl kernel.perf_event_paranoid"),
        ("context-switches", errno.EPERM, "perf_event_paranoid is 4, must be at most 1: sysctl kernel.perf_event_paranoid"),
        ("page-faults", errno.ENOSYS, "perf_event_open: function not implemented"),
    ],
)
def test_refused__before_the_program_starts(name, number, why, monkeypatch, tmp_path, capsys):
    (tmp_path / "paranoid").write_text("4\n", encoding="ascii")
    monkeypatch.setattr(counters, "_PARANOID", str(tmp_path / "paranoid"))
    monkeypatch.setattr(counters, "_refused", lambda event: number * (event == counters.EVENTS[name]))
    monkeypatch.chdir(tmp_path)
    words = ["record", "-o", "run", "--mpicc", "cc", "--counters", f"task-clock,{name}", "--", "touch", "there"]
    assert cli.main(words) == USAGE
    assert capsys.readouterr().err == f"perwiz: --counters {name}: cannot be counted: {why}\n"
    assert os.listdir(tmp_path) == ["paranoid"]


def test_asked__names_of_papi():
    assert counters.asked("PAPI_TOT_INS,PAPI_TOT_CYC,cycles") == ["instructions", "cycles"]
    assert counters.asked(None) == []


def test_refused__simulated_processes(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smpirun").write_text("#!/bin/sh\n")
    (tmp_path / "smpirun").chmod(0o755)
    assert cli.main(["record", "-o", "run", "--mpicc", "cc", "--counters", "task-clock", "--", "./smpirun"]) == USAGE
    assert capsys.readouterr().err == "perwiz: --counters is not for smpirun: it runs processes as threads of its own\n"
