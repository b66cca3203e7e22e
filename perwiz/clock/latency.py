"""The minimum latencies between causes and effects, by pair class: the mu of the clock condition (Becker et al. 2009, section 3.1)."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels.names import ACROSS, METAHOST, NODE, SAME, WITHIN
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.tables import Locations

CAP = 1000
"""What the latencies taken from a trace are at most, ns; a microsecond is what Scalasca supposes everywhere."""


@dataclasses.dataclass(frozen=True)
class Latencies:
    """The least time from a cause to its effect, whole ns, by pair class. Raises UsageError if negative or falling with the distance."""

    node: int
    metahost: int
    across: int

    def __post_init__(self) -> None:
        if not 0 <= self.node <= self.metahost <= self.across:
            raise UsageError(f"minimum latencies of {self}; must not be negative, nor fall with the distance")

    def __str__(self) -> str:
        return f"{self.node} ns in a node, {self.metahost} ns in a metahost, {self.across} ns across"

    @classmethod
    def of(cls, mu: int | tuple[int, int, int] | Latencies) -> Latencies:
        """Return the latencies that one number for all, or one per pair class, stands for."""
        if isinstance(mu, Latencies):
            return mu
        return cls(mu, mu, mu) if isinstance(mu, int) else cls(*mu)

    def by_class(self) -> I8:
        """Return the latencies by pair class, ns; 0 from a location to itself and to others of its process, which have one clock."""
        return np.array([0, 0, self.node, self.metahost, self.across], "i8")


def safe(shortest: I8) -> Latencies:
    """Return latencies that do not push a consistent trace: per pair class the shortest delay seen (ns, by class), at most CAP.

    Delays of effects recorded before their causes must be left out. Where clocks are wrong this may be far too small, never too large.
    """
    across = min(CAP, int(shortest[ACROSS]))
    metahost = min(across, int(shortest[METAHOST]))
    return Latencies(min(metahost, int(shortest[NODE])), metahost, across)


def distance(locations: Locations, a: I4, b: I4) -> U1:
    """Return the pair class of each pair of locations, uint8: of two of one process NODE. Where none is recorded, a metahost is one."""
    out = np.full(len(a), ACROSS, "u1")
    near = locations.metahost[a] == locations.metahost[b]
    out[near] = METAHOST
    out[near & (locations.node[a] == locations.node[b])] = NODE
    out[a == b] = SAME
    return out


def distance_of_clocks(locations: Locations, a: I4, b: I4) -> U1:
    """Return the pair class of each pair of locations as `distance`, but WITHIN where they are of one process: those share a clock."""
    out = distance(locations, a, b)
    out[(locations.process[a] == locations.process[b]) & (a != b)] = WITHIN
    return out
