"""The processes of a distributed correction, as the replay sees them; over MPI they are those of `perwiz.clock.spread.mpi`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Order = tuple[tuple[int, int, int], tuple[float, ...]]
"""What rank 0 asks the others for: latencies and control variables of a correction."""


class Processes(Protocol):
    """Processes that exchange arrays; what one puts to another is taken there in that order."""

    rank: int
    size: int

    def broadcast(self, order: Order | None) -> Order | None:
        """Return, on every process, what rank 0 says; None is the end."""

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""

    def wait_for_sends(self) -> None:
        """Wait until all that was put is on its way."""

    def reduce(self, value: float, how: str) -> float:
        """Return, on every process, the "max" or "sum" of the values of all."""

    def abort(self) -> None:
        """End all processes: this one cannot go on, and the others would wait for it."""


def swap(processes: Processes, columns: list[NDArray[Any]] | None, types: list[np.dtype[Any]], peer: int) -> list[NDArray[Any]]:
    """Return columns of these types, one-dimensional: put to a peer, or, where they are None, taken from it."""
    if columns is not None:
        processes.send(peer, np.array([len(column) for column in columns], "i8"))
        for column in columns:
            processes.send(peer, column)
        processes.wait_for_sends()
        return columns
    lengths = np.empty(len(types), "i8")
    processes.receive(peer, lengths)
    taken: list[NDArray[Any]] = []
    for length, kind in zip(lengths.tolist(), types, strict=True):
        taken.append(np.empty(length, kind))
        processes.receive(peer, taken[-1])
    return taken
