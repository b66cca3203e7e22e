"""POSIX threads of a real program: what they wait for."""

from collections import Counter

import pytest

import mpis
from perwiz import cli
from perwiz.errors import USAGE
from perwiz.formats.recorded import read as recorded
from perwiz.trace import operations
from perwiz.trace.tables import LINKS, PROCESS, THREAD
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow


@pytest.fixture
def program(mpi, built):
    return mpis.compiled(mpi.mpicc, "pthreads.c", built)


def test_threads__what_they_wait_for(program, mpi, record):
    """One waits 5 ms for the mutex, and for the condition; the run replays exactly."""
    code, folder, printed, said = record(mpi.command(1, program), "--pthreads")
    assert (code, printed, said) == (0, "sum 2\n", "")
    trace = recorded.read(folder)
    check(trace)
    names = [operations.OPS[op] for op in trace.calls.op.tolist()]
    assert Counter(name.removeprefix("pthread_") for name in names if name.startswith("pthread_")) == Counter(
        create=2, join=2, idle=4, mutex_lock=4, release=5, barrier_wait=2, cond_wait=1, cond_signal=1
    )
    assert trace.locations.kind.tolist() == [PROCESS, THREAD, THREAD]
    linked = Counter(LINKS[kind] for kind in trace.links.kind.tolist())
    assert (linked["fork"], linked["join"], linked["signal"], len(trace.defects)) == (2, 2, 1, 0)
    times = trace.timeline.calls
    length = (times.leave - times.enter).tolist()
    assert max(length[row] for row, name in enumerate(names) if name == "pthread_mutex_lock") > 2_000_000
    assert length[names.index("pthread_cond_wait")] > 2_000_000
    for engine in ("sweep", "replay"):
        assert predict(trace, [], engine=engine).predicted.calls == times


def test_threads__only_where_asked_for(program, mpi, record):
    assert len(recorded.read(record(mpi.command(1, program))[1]).locations) == 1


def test_refused__with_those_of_openmp(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["record", "-o", "run", "--mpicc", "cc", "--openmp", "--pthreads", "--", "true"]) == USAGE
    assert capsys.readouterr().err == "perwiz: --pthreads is not for --openmp: its threads are those of POSIX, too\n"


@pytest.mark.parametrize("option", ["--openmp", "--pthreads"])
def test_refused__simulated_processes(option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smpirun").write_text("#!/bin/sh\n")
    (tmp_path / "smpirun").chmod(0o755)
    assert cli.main(["record", "-o", "run", "--mpicc", "cc", option, "--", "./smpirun"]) == USAGE
    what = "--openmp and --pthreads are not for smpirun: it runs processes as threads of its own"
    assert capsys.readouterr().err == f"perwiz: {what}\n"
