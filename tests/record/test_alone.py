"""Programs of threads without MPI: one process, recorded from its first instant to its end, whatever that is."""

import os
import shutil
import subprocess
from collections import Counter

import pytest

import mpis
from perwiz import cli
from perwiz.errors import USAGE
from perwiz.formats.recorded import read as recorded
from perwiz.record import build, openmp, programs
from perwiz.trace import defects, operations
from perwiz.trace.tables import LINKS, PROCESS, THREAD
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow
UNENDED = "perwiz: the program did not come to its end; what was recorded until then is there\n"
LOOK = {"omp": "no OpenMP runtime told of threads, as LLVM's and Intel's do (--openmp-runtime)"}
LOOK["pthread"] = "the program began no POSIX thread"


def compiled(compiler, source, folder, *options):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    out = folder / f"{source}-{compiler}"
    if not out.exists():
        command = [compiler, "-g", "-O1", *options, str(mpis.PROGRAMS / f"{source}.c"), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True)
    return str(out)


@pytest.fixture
def of_openmp(built, record, monkeypatch):
    """Return run(how), which records the program of OpenMP as far as that, and reads it."""
    if not openmp.installed():
        pytest.skip("no LLVM's libomp here (Debian: libomp-dev)")
    for name, value in (("XDG_CACHE_HOME", str(built)), ("OMP_WAIT_POLICY", "passive"), ("OMP_CANCELLATION", "true")):
        monkeypatch.setenv(name, value)
    program = compiled("clang", "alone_openmp", built, "-fopenmp")
    return lambda *how: read(*record([program, *how], "--openmp"))


@pytest.fixture
def of_posix(built, record, monkeypatch):
    """Return run(how), which records the program of POSIX threads as far as that, and reads it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    program = compiled("gcc", "alone_pthreads", built, "-pthread")
    return lambda *how: read(*record([program, *how], "--pthreads"))


def read(code, folder, printed, said):
    """Return exit code, what was printed and said, and the trace, which both engines replay to the nanosecond."""
    trace = recorded.read(folder)
    check(trace)
    for engine in ("sweep", "replay"):
        assert predict(trace, [], engine=engine).predicted.calls == trace.timeline.calls
    return code, printed, said, trace


def links(trace):
    return Counter(LINKS[kind] for kind in trace.links.kind.tolist())


def last(trace, location):
    return operations.OPS[trace.calls.op[trace.calls.location == location][-1]]


def never_end(trace):
    assert set(trace.defects.reason.tolist()) <= {defects.NEVER_ENDS}
    return trace.defects.location.tolist()


def test_openmp__from_its_first_instant_to_its_end(of_openmp):
    """Of 3 ms before the team and 4 behind it the other thread is idle; nothing of MPI is there."""
    code, printed, said, trace = of_openmp()
    assert (code, printed, said) == (0, "sum 2\n", "")
    assert trace.locations.kind.tolist() == [PROCESS, THREAD]
    assert (never_end(trace), trace.counts.lacking, "mpi" in trace.properties) == ([], {}, False)
    assert not operations.MPI[trace.calls.op].any()
    assert (last(trace, 0), last(trace, 1)) == ("process_end", "omp_idle")
    times, lives = trace.timeline.calls, trace.timeline.locations
    assert (lives.enter.tolist(), (lives.leave == trace.timeline.makespan).all()) == ([0, 0], True)
    idle = (times.leave - times.enter)[trace.calls.op == operations.OP["omp_idle"]]
    assert idle[0] >= 3_000_000
    assert idle[-1] >= 4_000_000
    found = links(trace)
    assert (found["fork"], found["join"], found["end"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("how", "code", "unended", "lasting"),
    [("exit", 3, "", [0]), ("_exit", 5, UNENDED, [0, 1]), ("kill", 137, UNENDED, [0, 1])],
)
def test_openmp__ends_otherwise(of_openmp, how, code, unended, lasting):
    """A thread that exits in a team leaves that open; what was killed, or left by _exit, was recorded until then."""
    got, _, said, trace = of_openmp(how)
    assert got == code
    assert said.endswith(unended) if unended else said.count("\n") == 1
    assert (trace.calls.op == operations.OP["omp_critical"]).sum() == 2
    assert never_end(trace) == lasting


def test_openmp__nested(of_openmp):
    """Two threads open a team of two each: all is tied. A thread whose team has ended may be in the other one, too."""
    _, _, said, trace = of_openmp("nested")
    assert (said, never_end(trace), trace.counts.lacking) == ("", [], {})
    threads = len(trace.locations)
    assert threads in (3, 4)
    found = links(trace)
    assert (found["fork"], found["join"], found["end"]) == (4, 4, threads - 1)


def test_openmp__cancelled(of_openmp):
    """The runtime calls barriers of a team that may be cancelled differently on each thread: those are counted, and tie nothing."""
    code, _, said, trace = of_openmp("cancel")
    assert (code, said, never_end(trace)) == (0, "", [])
    assert set(trace.counts.lacking) <= {"unmatched_collectives"}
    assert links(trace)["join"] == 2


def test_posix__from_its_first_instant_to_its_end(of_posix):
    code, printed, said, trace = of_posix()
    assert (code, printed, said) == (0, "done\n", "")
    assert (trace.locations.kind.tolist(), never_end(trace)) == ([PROCESS, THREAD, THREAD], [])
    found = links(trace)
    assert (found["fork"], found["join"], last(trace, 0)) == (2, 2, "process_end")
    assert found["lock"] >= 1


@pytest.mark.parametrize(
    ("how", "code", "lasting"), [("detach", 0, [False]), ("kill", 137, [True, False]), ("cancel", 0, []), ("give", 0, [])]
)
def test_posix__ends_otherwise(of_posix, how, code, lasting):
    """A thread that is left, or killed, never ends; one that is cancelled does. Which of two is the first to record is chance."""
    got, _, said, trace = of_posix(how)
    assert (got, said.endswith(UNENDED)) == (code, how == "kill")
    assert [location == 0 for location in never_end(trace)] == lasting


@pytest.mark.parametrize("model", ["omp", "pthread"])
def test_nothing__no_threads(record, built, monkeypatch, model):
    monkeypatch.setenv("XDG_CACHE_HOME", str(built))
    code, folder, _, said = record(["true"], f"--{'openmp' if model == 'omp' else 'pthreads'}")
    assert (code, said) == (4, f"perwiz: run: nothing was recorded: {LOOK[model]}; if it is a program of MPI: --mpicc FILE\n")
    assert not os.path.exists(folder)


def test_refused__what_is_of_mpi(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PERWIZ_MPICC", raising=False)
    assert cli.main(["record", "-o", "run", "--openmp", "--calibrate", "--", "true"]) == USAGE
    what = "--calibrate is for programs of MPI, which true is not (if it is: --mpicc FILE)"
    assert capsys.readouterr().err == f"perwiz: {what}\n"


def test_refused__no_compiler(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build.shutil, "which", lambda name: "/bin/true" if name == "true" else None)
    assert cli.main(["record", "-o", "run", "--pthreads", "--", "true"]) == USAGE
    none = "cc: not found, must be a C compiler: the recorder is compiled when it is first used"
    assert capsys.readouterr().err == f"perwiz: {none}; {mpis.AHEAD}\n"


def test_without_mpi__told_by_the_files_of_the_command(mpi, built, tmp_path):
    """Not what a launcher starts, nor what is linked to MPI, nor a script."""
    program = mpis.compiled(mpi.mpicc, "pairs.c", built)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert programs.without_mpi(["true"])
    assert programs.without_mpi(["env", "A=1", "true"])
    for command in (mpi.command(1, "true"), [program], ["env", program], [str(script)], ["nothing-of-that-name"]):
        assert not programs.without_mpi(command)
