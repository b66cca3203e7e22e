"""Where the graph of a part of a trace ends: which of its vertices other processes have copies of, which are copies, and in what rounds.

A vertex is of the round in which it can be reached, one more than that of what it needs from another process. What crosses does so between
two rounds: forward from the original to the copy, backward from the copy to the original. The graph of a whole trace has no border.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I4
from perwiz.trace.spread.team import Team


class Bundle(NamedTuple):
    """What crosses between two processes after a round: to or from whom, and which vertices."""

    peer: int
    calls: I4
    """Vertices of calls."""
    hubs: I4
    """Vertices of hubs, which belong to no location."""
    vertices: I4
    """Both."""


class Step(NamedTuple):
    """A round in which there is something to do here: what comes before, the vertices of the round, and what goes out behind."""

    into: list[Bundle]
    first: int
    end: int
    out: list[Bundle]
    number: int = 0
    """Which of all processes it is: what happens here in one needs nothing of others in it or behind it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Border:
    """The border of a graph. Its first vertices, behind the origin, are copies, and what stands for calls and locations of others."""

    team: Team | None
    """None if there is nobody else."""
    locations: slice
    """Those that have vertices here."""
    own: int
    """First vertex that is one of this process."""
    steps: tuple[Step, ...]

    @classmethod
    def of_none(cls, vertices: int) -> Border:
        """Return the rounds of a whole graph: one, of all vertices."""
        return cls(None, slice(None), 1, (Step([], 1, vertices, []),))

    def forward(self, through: Callable[[int, int], None], *values: NDArray[Any]) -> None:
        """Go through all rounds: `through(first, end)` finds the values of vertices, those of copies are what their processes found.

        Several values of each vertex, of one kind, cross together.
        """

        def give(bundle: Bundle) -> None:
            crossing = [each[bundle.vertices] for each in values]
            self.give(bundle, crossing[0] if len(values) == 1 else np.concatenate(crossing))

        def take(bundle: Bundle) -> None:
            vertices = bundle.vertices
            count = len(vertices)
            came = self.received(bundle, np.empty((len(values) * count, *values[0].shape[1:]), values[0].dtype))
            for number, each in enumerate(values):
                each[vertices] = came[number * count : (number + 1) * count]

        self.rounds(through, give, take)

    def hubs(self, through: Callable[[int, int], None], values: NDArray[Any]) -> None:
        """Go through all rounds where the values of calls are known everywhere: those of hubs alone cross."""

        def give(bundle: Bundle) -> None:
            if len(bundle.hubs):
                self.give(bundle, values[bundle.hubs])

        def take(bundle: Bundle) -> None:
            if len(bundle.hubs):
                values[bundle.hubs] = self.received(bundle, np.empty(len(bundle.hubs), values.dtype))

        self.rounds(through, give, take)

    def give(self, bundle: Bundle, data: NDArray[Any]) -> None:
        """Send what crosses."""
        if self.team:
            self.team.send(bundle.peer, data)

    def received(self, bundle: Bundle, data: NDArray[Any]) -> NDArray[Any]:
        """Wait for what crosses; return it, in this array."""
        if self.team:
            self.team.receive(bundle.peer, data)
        return data

    def rounds(self, through: Callable[[int, int], None], give: Callable[[Bundle], None], take: Callable[[Bundle], None]) -> None:
        """Go through all rounds, one after the other; `take` what comes before each, `give` what goes out behind it."""
        for into, first, end, out, _ in self.steps:
            for bundle in into:
                take(bundle)
            if first < end:
                through(first, end)
            for bundle in out:
                give(bundle)
        if self.team:
            self.team.wait_for_sends()

    def back(self, through: Callable[[int, int], None], give: Callable[[Bundle], None], take: Callable[[Bundle], None]) -> None:
        """Go through all rounds, the last first; copies `give` what originals `take`."""
        for into, first, end, out, _ in reversed(self.steps):
            for bundle in out:
                take(bundle)
            if first < end:
                through(first, end)
            for bundle in into:
                give(bundle)
        if self.team:
            self.team.wait_for_sends()
