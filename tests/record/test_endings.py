"""Programs that end badly, and clocks that are wrong: what was recorded is there, and one line says what is not."""

import os
import subprocess

import numpy as np
import pytest

import mpis
from perwiz.clock.offsets import apply
from perwiz.formats.recorded import read as recorded
from perwiz.formats.recorded.files import processes
from perwiz.trace import defects, operations

pytestmark = pytest.mark.slow
UNFINISHED = "perwiz: ranks 0, 1, 2 did not come to MPI_Finalize; what was recorded until then is there\n"


@pytest.fixture
def ending(mpi, record, built):
    """Return ending(how, options), which records a program that ends so."""
    program = mpis.compiled(mpi.mpicc, "endings.c", built)
    return lambda how, *options, ranks=3: record(mpi.command(ranks, program, *how.split()), *options)


@mpis.in_turn("how", ["abort", "kill", "exit"])
def test_one_dies__the_rest_is_readable(ending, how):
    code, folder, _, said = ending(how)
    assert code != 0
    first, second = said.splitlines(keepends=True)
    assert first.startswith("perwiz: ")
    assert first.endswith(f" {how} ended with exit code {code}\n")
    assert second == UNFINISHED
    trace = recorded.read(folder)
    assert len(trace.messages) == 3
    assert set(trace.defects.reason.tolist()) == {defects.NEVER_ENDS}
    assert {0, 2} <= set(trace.defects.location.tolist())
    assert (operations.OP["MPI_Abort"] in trace.calls.op.tolist()) == (how == "abort")


def test_never_initialised(ending, mpi):
    code, folder, _, said = ending("never")
    assert code == 4
    assert said == f"perwiz: run: nothing was recorded: no process came through the MPI_Init of the MPI of {mpi.mpicc}\n"
    assert not os.path.exists(folder)


def test_left_without_finalize(ending):
    _, folder, _, said = ending("leave")
    assert said.endswith(UNFINISHED)
    assert len(recorded.read(folder).messages) == 3


def test_fork__the_child_writes_nothing(ending):
    code, folder, _, said = ending("fork")
    assert (code, said) == (0, "")
    assert len(recorded.read(folder).calls) == 3 * 4


@mpis.in_turn(first=1)
def test_errors_returned__no_message(ending):
    code, folder, _, _ = ending("errors")
    assert code == 0
    trace = recorded.read(folder)
    failed = trace.calls.op == operations.OP["MPI_Send"]
    assert failed.sum() == 3
    assert trace.calls.bytes_sent[failed].sum() == 0
    assert trace.counts.unmatched_sends == 0


@mpis.in_turn(first=1)
def test_windows__many_of_them_and_marks_between(ending, monkeypatch):
    monkeypatch.setenv("PERWIZ_WINDOW", "4096")
    code, folder, _, _ = ending("many 1000", ranks=1)
    assert code == 0
    trace = recorded.read(folder)
    assert (trace.calls.op == operations.OP["MPI_Send"]).sum() == 1000
    assert len(trace.records) >= 1000 // 64
    assert set(trace.texts) == {"BUFFER_FLUSH"}
    assert (trace.values >= trace.records.time).all()


@mpis.in_turn()
def test_full_disk__stops_and_says_so(mpi, built, record, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(small)], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small disk: not root")
    try:
        command = mpi.command(1, mpis.compiled(mpi.mpicc, "endings.c", built), "many", "100000")
        code, _, _, said = record(command, "-o", "small/run")
        assert (code, said) == (0, "perwiz: small/run: no space left on device: rank 0 stopped recording\n")
        trace = recorded.read(str(small / "run"))
        assert len(trace.calls) > 10000
        assert trace.defects.reason.tolist() == [defects.UNREADABLE]
    finally:
        subprocess.run(["umount", str(small)], check=True)


@mpis.in_turn()
def test_start_of_the_recorder__is_inside_mpi_init(ending):
    """What it takes is no computation of the program, and longer on no process: all leave when all record."""
    trace = recorded.read(ending("well")[1])
    left = trace.timeline.calls.leave[trace.calls.op == operations.OP["MPI_Init"]]
    assert len(trace.values) == len(left) == 3
    assert trace.values.max() <= left.min()


@mpis.in_turn()
def test_clocks__one_node_needs_no_offsets(ending):
    """All three say that they may run on some processors of this one."""
    code, folder, _, _ = ending("well")
    assert code == 0
    allowed = [process.about.allowed for process in processes([folder])]
    here = sum(1 << number for number in os.sched_getaffinity(0))
    assert [own > 0 and own & here == own for own in allowed] == [True] * 3
    assert len(recorded.read(folder).readings) == 0


@mpis.in_turn(first=1)
def test_clocks__offsets_of_wrong_ones_are_found(ending):
    code, folder, _, _ = ending("well", "--clock-errors", "1:1e9;2:-5e8:50")
    assert code == 0
    offsets = apply(recorded.read(folder)).offsets
    assert offsets.location.tolist() == [0, 1, 1, 2, 2]
    # Rank 1 is a second ahead: so much must be taken away. Each is right within its error, or a little more: it is a measurement.
    near = np.abs(offsets.offset[1:3] + 1e6)
    assert (near <= offsets.error[1:3] + 20).all()
    assert (np.abs(offsets.offset[3:] - 5e5) <= offsets.error[3:] + 2000).all()
