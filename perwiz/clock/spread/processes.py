"""The processes of a distributed correction, as the replay sees them; over MPI they are those of `perwiz.clock.spread.mpi`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz.clock.latency import Latencies


class Order(NamedTuple):
    """What rank 0 asks the others for."""

    latencies: Latencies
    gammas: tuple[float, ...]
    """Control variables, pass by pass."""


class Processes(Protocol):
    """Processes that exchange arrays; what one sends to another is received there in that order."""

    rank: int
    size: int

    def broadcast(self, order: Order | None) -> Order | None:
        """Return, on every process, what rank 0 says; None is the end."""

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""

    def reduce(self, value: float, how: str) -> float:
        """Return, on every process, the "max" or "sum" of the values of all."""

    def abort(self) -> None:
        """End all processes: this one cannot go on, and the others would wait for it."""


def send_columns(processes: Processes, columns: Sequence[NDArray[Any]], to: int) -> None:
    """Send one-dimensional columns, their lengths first."""
    processes.send(to, np.array([len(column) for column in columns], "i8"))
    for column in columns:
        processes.send(to, column)
    processes.wait_for_sends()


def receive_columns(processes: Processes, types: Sequence[np.dtype[Any]], source: int) -> list[NDArray[Any]]:
    """Return columns of these types that `send_columns` sends."""
    lengths = np.empty(len(types), "i8")
    processes.receive(source, lengths)
    columns = [np.empty(length, kind) for length, kind in zip(lengths.tolist(), types, strict=True)]
    for column in columns:
        processes.receive(source, column)
    return columns
