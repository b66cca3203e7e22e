"""Recorded one-sided programs that wait 60 ms for a reason: the patterns and the what-ifs name it, at least a third on any machine."""

import pathlib
import shutil

import numpy as np
import pytest

import mpis
from perwiz.formats.recorded import read as recorded
from perwiz.patterns.search import search
from perwiz.trace import operations
from perwiz.whatif.hypotheses.waits import ZeroWait
from perwiz.whatif.predict import predict

pytestmark = pytest.mark.slow
SOURCE = pathlib.Path(__file__).resolve().parent / "suite" / "waits.c"
ENOUGH = 20_000_000


@pytest.fixture
def waiting(mpi, record, built):
    """Return waiting(case, names): the trace of a case, and the one-sided patterns that wait enough in it, of several sets of them.

    Three processes that spin share two processors with the other tests: one may be held up, but not three times.
    """

    def run(case, names):
        program = mpis.compiled(mpi.mpicc, str(SOURCE), built)
        for _ in range(3):
            code, folder, _, _ = record(mpi.command(3, program, case))
            assert code == 0
            trace = recorded.read(folder)
            shutil.rmtree(folder)
            found = search(trace)
            long = {name: some.severity.sum() for name, some in found.instances.items() if name.startswith("mpi_rma_") and len(some)}
            told = {name for name, wait in long.items() if wait >= ENOUGH} - {"mpi_rma_wait_at_free", "mpi_rma_wait_at_create"}
            if told in names:
                break
        return trace, told

    return run


@pytest.mark.parametrize(
    ("case", "names", "routines"),
    [
        ("post", [{"mpi_rma_sync_late_post"}, {"mpi_rma_comm_late_post"}], ("MPI_Win_start", "MPI_Win_complete", "MPI_Put")),
        ("complete", [{"mpi_rma_early_wait", "mpi_rma_late_complete"}], ("MPI_Win_wait",)),
        ("lock", [{"mpi_rma_sync_lock_competition"}, {"mpi_rma_comm_lock_competition"}], ("MPI_Win_lock", "MPI_Win_unlock", "MPI_Get")),
    ],
)
def test_waits(waiting, case, names, routines):
    trace, found = waiting(case, names)
    assert found in names
    calls = np.isin(trace.calls.op, [operations.OP[name] for name in routines])
    changed = predict(trace, [ZeroWait("all")])
    assert changed.waits_before.time[calls].sum() >= ENOUGH
    assert changed.waits_after.time[calls].sum() == 0


def test_progress(waiting, mpi):
    """MPICH needs the target to call MPI; Open MPI does not, on one node."""
    expected = set() if mpi.is_open else {"mpi_rma_sync_wait_for_progress"}
    _, found = waiting("progress", [expected])
    assert found == expected


@mpis.in_turn()
def test_groups_and_locks(waiting):
    """The lock of rank 0 is exclusive, that of rank 1 shared; all calls on the window, made and freed, say that it is the first."""
    trace, _ = waiting("lock", [{"mpi_rma_sync_lock_competition"}, {"mpi_rma_comm_lock_competition"}])
    locks = [(int(trace.processes_of_calls[call]), trace.texts[text]) for call, text in zip(*trace.labels.__dict__.values(), strict=True)]
    assert locks == [(0, "exclusive"), (1, "shared")]
    assert set(trace.calls.tag[operations.ON_WINDOWS[trace.calls.op]].tolist()) == {0}
