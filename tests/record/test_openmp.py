"""Threads of real OpenMP programs: what the runtime tells, and programs whose runtime tells nothing."""

import os
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest

import mpis
from perwiz import cli
from perwiz.errors import USAGE, UsageError
from perwiz.formats.recorded import read as recorded
from perwiz.record import build, openmp
from perwiz.trace import defects, operations
from perwiz.trace.tables import LINKS, PROCESS, THREAD
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow
PER_PROCESS = Counter(fork=4, idle=5, join=4, implicit_barrier=12, barrier=2, critical=2, lock=2, ordered=4, release=8 + 5)
PER_PROCESS += Counter(task_create=5, task=5, taskwait=2)


def compiled(compiler, mpi, folder):
    """Return the program, made by this compiler."""
    out = folder / f"threads-{compiler}-{mpi.name}"
    if not out.exists():
        source = str(mpis.PROGRAMS / "threads.c")
        environment = os.environ | {"OMPI_CC": compiler, "MPICH_CC": compiler}
        command = [mpi.mpicc, "-fopenmp", "-O1", "-g", f"-I{build.HERE}", source, "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return str(out)


@pytest.fixture
def program(mpi, built, monkeypatch):
    """Return the program on a runtime that tells; skipped where there is none."""
    if not shutil.which("clang") or not openmp.installed():
        pytest.skip("no clang with LLVM's libomp here (Debian: clang, libomp-dev)")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    return compiled("clang", mpi, built)


@pytest.fixture
def of_gcc(mpi, built, monkeypatch):
    """Return the program on GCC's libgomp; skipped where there is no runtime to take its place."""
    if not shutil.which("gcc") or not openmp.installed():
        pytest.skip("no gcc, or no LLVM's libomp here (Debian: libomp-dev)")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    return compiled("gcc", mpi, built)


def routines(trace):
    """Return how often each routine of threads was called."""
    names = [operations.OPS[op] for op in trace.calls.op.tolist()]
    return Counter(name.removeprefix("omp_") for name in names if name.startswith("omp_"))


def twice(counts):
    return counts + counts


def test_threads__everything_they_wait_for(program, mpi, record):
    """Two processes of two threads: every call is there, the barrier behind 4 and 12 ms waits 8 or so; both engines replay it exactly."""
    code, folder, printed, said = record(mpi.command(2, program), "--openmp")
    assert (code, printed, said) == (0, "sum 2\n", "")
    trace = recorded.read(folder)
    check(trace)
    assert routines(trace) == twice(PER_PROCESS)
    assert trace.locations.kind.tolist() == [PROCESS, THREAD] * 2
    assert (len(trace.defects), trace.counts.lacking, trace.counts.incomplete_collectives) == (0, {}, 0)
    linked = Counter(LINKS[kind] for kind in trace.links.kind.tolist())
    assert (linked["fork"], linked["join"], linked["end"]) == (8, 8, 2)
    assert linked["lock"] >= 2 * 3
    times = trace.timeline.calls
    assert (times.leave[trace.links.effect] >= times.enter[trace.links.cause]).all()
    barrier = np.flatnonzero(trace.calls.op == operations.OP["omp_implicit_barrier"])
    first = barrier[[0, *(np.flatnonzero(np.diff(trace.calls.location[barrier])) + 1)]]
    waited = (times.leave - times.enter)[first].reshape(2, 2)
    assert (waited.max(axis=1) > 3_000_000).all()
    assert {name.partition(" threads.c:")[0] for name in trace.names} == {"omp parallel", "omp for", "omp single"}
    for engine in ("sweep", "replay"):
        assert predict(trace, [], engine=engine).predicted.calls == times


@mpis.in_turn()
def test_threads__only_where_asked_for(program, mpi, record):
    assert recorded.read(record(mpi.command(2, program))[1]).locations.kind.tolist() == [PROCESS] * 2


def test_mpi__stays_on_the_thread_that_called_it(program, mpi, record):
    """Each thread has exchanged one message with that of its number of the other process."""
    trace = recorded.read(record(mpi.command(2, program, "talk"), "--openmp")[1])
    assert trace.counts.lacking == {}
    messages = zip(*(trace.calls.location[column].tolist() for column in (trace.messages.send, trace.messages.receive)), strict=True)
    assert sorted(messages) == [(0, 2), (1, 3), (2, 0), (3, 1)]


def test_killed__what_threads_did_until_then_is_there(program, mpi, record):
    code, folder, _, said = record(mpi.command(2, program, "kill"), "--openmp")
    assert code != 0
    assert said.endswith("perwiz: ranks 0, 1 did not come to MPI_Finalize; what was recorded until then is there\n")
    trace = recorded.read(folder)
    check(trace)
    assert routines(trace)["critical"] == 4
    assert set(trace.defects.reason.tolist()) == {defects.NEVER_ENDS}


@mpis.in_turn(first=1)
def test_libgomp__replaced(of_gcc, mpi, record):
    """GCC calls the same barriers otherwise: LLVM's runtime takes its explicit ones for implied ones."""
    code, folder, printed, said = record(mpi.command(1, of_gcc), "--openmp")
    assert (code, printed) == (0, "sum 2\n")
    assert said == f"perwiz: {of_gcc}: its OpenMP is GCC's libgomp, which tells nobody of threads: {openmp.installed()} takes its place\n"
    trace = recorded.read(folder)
    assert routines(trace) == PER_PROCESS - Counter(barrier=2) + Counter(implicit_barrier=2)
    assert len(trace.defects) == 0
    prediction = predict(trace, [])
    assert prediction.predicted.calls == prediction.recorded.calls


@mpis.in_turn()
def test_libgomp__by_a_runtime_that_is_named(of_gcc, mpi, record):
    code, folder, _, said = record(mpi.command(1, of_gcc), "--openmp", "--openmp-runtime", openmp.installed())
    assert (code, said) == (0, "")
    assert len(recorded.read(folder).locations) == 2


@mpis.in_turn()
def test_libgomp__and_nothing_to_replace_it(mpi, built, monkeypatch):
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")
    program = compiled("gcc", mpi, built)
    monkeypatch.setattr(openmp, "installed", lambda: "")
    with pytest.raises(UsageError) as error:
        openmp.runtime([mpi.mpiexec, "-n", "2", program], None)
    silent = f"{program}: its OpenMP is GCC's libgomp, which tells nobody of threads"
    assert str(error.value) == f"{silent}; must be run with LLVM's libomp (Debian: libomp-dev) or Intel's: --openmp-runtime FILE"


@mpis.in_turn(first=1)
def test_no_openmp__is_said(mpi, record, built):
    _, folder, _, said = record(mpi.command(1, mpis.compiled(mpi.mpicc, "pairs.c", built), "3"), "--openmp")
    assert said == "perwiz: no OpenMP runtime told of threads on rank 0; LLVM's and Intel's do (--openmp-runtime)\n"
    assert len(recorded.read(folder).locations) == 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (
            ["--openmp", "--openmp-runtime", "/nowhere.so"],
            "/nowhere.so: not found, must be LLVM's libomp.so or Intel's libiomp5.so (--openmp-runtime)",
        ),
        (["--openmp-runtime", "/nowhere.so"], "--openmp-runtime is only for --openmp"),
        (["--profile", "--openmp"], "--openmp is not for --profile: nothing is timed against other processes"),
    ],
)
def test_refused(options, what, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["record", "-o", "run", "--mpicc", "cc", *options, "--", "true"]) == USAGE
    assert capsys.readouterr().err.splitlines()[-1].endswith(what)
