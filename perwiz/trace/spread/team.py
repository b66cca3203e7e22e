"""The processes that have a trace together, as everything sees them that is spread; over MPI they are those of `perwiz.engines.team`.

All of them do the same at the same time, each with its part: who asks the others, asks when they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import PerwizError, TraceError

How = Literal["sum", "max", "min"]
T = TypeVar("T")


class Team(Protocol):
    """Processes that exchange arrays; what one sends to another is received there in that order."""

    rank: int
    size: int
    stage: str
    """What they are at, for those who count what they send."""

    def exchange(self, data: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what each process has for this one, given what this one has for each, all of one dtype and dimension 1."""

    def reduce(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return, on every process, the sums or extremes of the values of all, element by element."""

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""


class Ordered:
    """The processes of a team in another order."""

    def __init__(self, team: Team, order: Sequence[int]) -> None:
        """`order`: the ranks in the team, of the first, the second ..."""
        self._team, self._order, self.size = team, order, team.size
        self._place = [order.index(rank) for rank in range(team.size)]
        self.rank = self._place[team.rank]

    @property
    def stage(self) -> str:
        """What they are at."""
        return self._team.stage

    @stage.setter
    def stage(self, stage: str) -> None:
        """Say what they are at."""
        self._team.stage = stage

    def exchange(self, data: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what each process has for this one, given what this one has for each."""
        came = self._team.exchange([data[place] for place in self._place])
        return [came[rank] for rank in self._order]

    def reduce(self, values: NDArray[Any], how: How) -> NDArray[Any]:
        """Return, on every process, the sums or extremes of the values of all, element by element."""
        return self._team.reduce(values, how)

    def send(self, to: int, data: NDArray[Any]) -> None:
        """Send an array without waiting; it must not change before `wait_for_sends`."""
        self._team.send(self._order[to], data)

    def receive(self, source: int, data: NDArray[Any]) -> None:
        """Wait for an array of this length and type, and fill it."""
        self._team.receive(self._order[source], data)

    def wait_for_sends(self) -> None:
        """Wait until all that was sent is on its way."""
        self._team.wait_for_sends()


def gathered(team: Team, data: NDArray[Any]) -> list[NDArray[Any]]:
    """Return what every process has, in their order, on each of them."""
    return team.exchange([data] * team.size)


def texts(team: Team, text: str) -> list[str]:
    """Return the text of every process, in their order, on each of them."""
    own = np.frombuffer(text.encode(errors="surrogateescape"), "u1")
    return [each.tobytes().decode(errors="surrogateescape") for each in gathered(team, own)]


def agreed(team: Team, work: Callable[[], T]) -> T:
    """Return what work of each process alone gives. Raises, on all, the error of the first process that has one."""
    error: PerwizError | None = None
    try:
        out = work()
    except PerwizError as raised:
        error = raised
    told = texts(team, f"{type(error).__name__}:{error.exit_code}:{error}" if error else "")
    first = next((each for each in told if each), "")
    if not first:
        return out
    if error is not None and told.index(first) == team.rank:
        raise error
    kind, _, text = first.split(":", 2)
    raise kinds().get(kind, PerwizError)(text)


def check_alike(team: Team, path: str, seen: int) -> None:
    """Raise TraceError, on all, where processes see another run under a path than the first, given a number that tells this one."""
    told = gathered(team, np.array([seen], "i8"))
    if other := next((peer for peer, each in enumerate(told) if each[0] != told[0][0]), 0):
        raise TraceError(f"{path}: process {other} sees other files of it than process 0; all must see the same")


def kinds() -> dict[str, type[PerwizError]]:
    """Return the kinds of errors by name."""
    return {kind.__name__: kind for kind in PerwizError.__subclasses__()}
