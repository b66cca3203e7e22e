"""MPI calls on all threads of a process: who talks to whom, the order per communicator, and the way through OTF2."""

import os
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest

import mpis
import perwiz
from perwiz import cli
from perwiz.formats.recorded import read as recorded
from perwiz.record import openmp
from perwiz.trace import operations
from perwiz.trace.trace import check
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow


@pytest.fixture
def trace(mpi, built, record, monkeypatch):
    """Return run(how): the trace of two processes of two threads, which both engines replay to the nanosecond."""
    if not shutil.which("clang") or not openmp.installed():
        pytest.skip("no clang with LLVM's libomp here (Debian: clang, libomp-dev)")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    out = built / f"multiple-{mpi.name}"
    if not out.exists():
        command = [mpi.mpicc, "-fopenmp", "-O1", "-g", str(mpis.PROGRAMS / "multiple.c"), "-o", str(out)]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMPI_CC": "clang", "MPICH_CC": "clang"})

    def run(*how):
        code, folder, _, said = record(mpi.command(2, str(out), *how), "--openmp")
        assert (code, said) == (0, "")
        made = recorded.read(folder)
        check(made)
        for engine in ("sweep", "replay"):
            assert predict(made, [], engine=engine).predicted.calls == made.timeline.calls
        return made

    return run


def threads(trace, calls):
    return Counter(trace.calls.location[calls].tolist())


def whole(trace):
    """Every message is whole, and every collective complete."""
    counts = trace.counts
    assert (len(trace.defects), counts.lacking, counts.size_differs, counts.incomplete_collectives) == (0, {}, 0, 0)


def same(one, other):
    """Whether two traces have the same messages, collectives and links."""
    assert (one.messages, one.collectives, one.members, one.links) == (other.messages, other.collectives, other.members, other.links)


def test_multiple(trace, tmp_path):
    """Each thread has five messages with that of its number, and five reductions on a communicator of its own; the second sends one way."""
    made = trace()
    whole(made)
    between = Counter(zip(*(made.calls.location[column].tolist() for column in (made.messages.send, made.messages.receive)), strict=True))
    assert between == Counter({(0, 2): 5, (2, 0): 5, (1, 3): 10, (3, 1): 5})
    reduced = np.flatnonzero(made.calls.op == operations.OP["MPI_Allreduce"])
    assert threads(made, reduced) == Counter({0: 5, 1: 5, 2: 5, 3: 5})
    assert Counter(made.calls.comm[reduced].tolist()).most_common()[0][1] == 10
    assert cli.main(["convert", "-q", made.path, str(tmp_path / "out.otf2")]) == 0
    same(perwiz.read(str(tmp_path / "out.otf2")), made)


@mpis.in_turn(first=1)
def test_serialized__the_order_of_the_calls(trace, tmp_path):
    """All with one tag on one communicator: what is received has the size of what is sent; a broadcast of each thread in turn."""
    made = trace("serialized")
    whole(made)
    assert len(made.messages) == 20
    assert threads(made, np.flatnonzero(made.calls.op == operations.OP["MPI_Bcast"])) == Counter({0: 1, 1: 1, 2: 1, 3: 1})
    assert cli.main(["convert", "-q", made.path, str(tmp_path / "out.otf2")]) == 0
    same(perwiz.read(str(tmp_path / "out.otf2")), made)
