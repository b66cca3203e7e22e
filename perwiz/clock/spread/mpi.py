"""The processes that mpiexec started, which correct clocks together; the one home of mpi4py."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perwiz.errors import BUG, DONE, LibraryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perwiz.clock.spread.processes import Order, Processes

_LAUNCHED = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "PMIX_RANK"),
)
"""What launchers tell each process: how many there are, and which it is."""
_MANY = 256
"""Messages under way that are looked through at a time."""


def launched() -> tuple[int, int]:
    """Return (processes, rank) as a launcher of MPI programs told this process; (1, 0) if none did."""
    for size, rank in _LAUNCHED:
        count, number = os.environ.get(size, ""), os.environ.get(rank, "")
        if count.isdecimal() and number.isdecimal():
            return int(count), int(number)
    return 1, 0


def together(work: Callable[[Processes | None], int]) -> int:
    """Return the exit code of work that rank 0 does, while the other processes help where it asks them to; alone there are none.

    Raises LibraryError on rank 0, and ends the others, where MPI cannot be used though mpiexec started several processes.
    """
    size, rank = launched()
    if size == 1:
        return work(None)
    try:
        processes = _Mpi(size)
    except LibraryError:
        if rank:
            raise SystemExit(DONE) from None
        raise
    if processes.rank:
        from perwiz.clock.spread.replay import serve

        serve(processes)
        return DONE
    try:
        return work(processes)
    finally:
        processes.broadcast(None)


class _Mpi:
    """The processes of MPI_COMM_WORLD."""

    def __init__(self, size: int) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            why = f"mpi4py cannot be used: {error}; must be installed (pip install 'perwiz[mpi]'), or start one process"
            raise LibraryError(f"mpiexec started {size} processes, but {why}") from None
        self._mpi, self._world = MPI, MPI.COMM_WORLD
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        if self.size != size:
            sees = f"mpi4py sees {self.size}: it is of another MPI ({MPI.Get_library_version().split(',')[0].strip()})"
            raise LibraryError(f"mpiexec started {size} processes, but {sees}; both must be of the same")
        self._under_way: list[Any] = []

    def broadcast(self, order: Order | None) -> Order | None:
        """Return, on every process, what rank 0 says; None is the end."""
        told: Order | None = self._world.bcast(order)
        return told

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""
        if len(self._under_way) >= _MANY and len(self._under_way) % _MANY == 0:
            self._under_way = [(request, data) for request, data in self._under_way if not request.Test()]
        self._under_way.append((self._world.Isend(data, dest=to), data))

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""
        self._world.Recv(data, source=source)

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""
        self._mpi.Request.Waitall([request for request, _ in self._under_way])
        self._under_way.clear()

    def reduce(self, value: float, how: str) -> float:
        """Return, on every process, the "max" or "sum" of the values of all."""
        return self._world.allreduce(value, op=self._mpi.MAX if how == "max" else self._mpi.SUM)

    def abort(self) -> None:
        """End all processes at once, after saying why."""
        traceback.print_exc()
        sys.stderr.flush()
        self._world.Abort(BUG)
