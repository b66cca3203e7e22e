"""What a .cfg of Dimemas says beside the letters: buses, and which bytes count in each phase of collectives (communic.c, calcula_fan)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints

SIZES: dict[str, Callable[[I8, I8], I8]] = {
    "min": np.minimum,
    "max": np.maximum,
    "mean": lambda sent, received: (sent + received) // 2,
    "2max": lambda sent, received: 2 * np.maximum(sent, received),
    "sum": lambda sent, received: sent + received,
}
"""Bytes of a phase, of those that a member sends and receives: MIN, MAX, MEAN, 2MAX and S+R of a .cfg."""
PHASES = ("in", "out")
_CLAUSE = re.compile(r"\s*(?:([a-z_]+):)?([a-z]+)=(\w+)\s*")
_MOST = 1_000_000
_LIKE = "must be like buses=4, in=max or allreduce:out=min"


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What is said; by default any number of buses, the bytes sent in each fan in and those received in each fan out."""

    buses: int = 0
    """Messages between nodes that move at one time, 0 any number."""
    sizes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By phase, of all routines (`in`) or of one (`allreduce:in`), which bytes count in it, one of SIZES."""

    def bytes(self, op: Ints, sent: I8, received: I8) -> I8:
        """Return the bytes of both phases of collectives together, given their ops and what a member sends and receives."""
        out = np.zeros(len(op), "i8")
        for phase, own in zip(PHASES, (sent, received), strict=True):
            for one in np.unique(op).tolist():
                routine = operations.OPS[one].removeprefix("MPI_").lower()
                size = self.sizes.get(f"{routine}:{phase}", self.sizes.get(phase))
                mine = op == one
                out[mine] += SIZES[size](sent[mine], received[mine]) if size else own[mine]
        return out


def configuration(text: str) -> Configuration:
    """Return what a text says, such as `buses=4,in=max,allreduce:out=min`. Raises UsageError."""
    said: dict[str, str] = {}
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part)
        shown = words.shown(part.strip(), 40)
        if not match or match[2] not in ("buses", *PHASES) or (match[1] and match[2] == "buses"):
            raise UsageError(f"--dimemas: {shown!r} says nothing, {_LIKE}")
        if match[2] == "buses" and not (match[3].isdecimal() and 0 < int(match[3]) <= _MOST):
            raise UsageError(f"--dimemas: {shown!r}, must be 1 to {_MOST} buses")
        if match[2] != "buses" and match[3] not in SIZES:
            raise UsageError(f"--dimemas: {shown!r}, must be one of {', '.join(SIZES)}")
        if match[1] and f"MPI_{match[1].capitalize()}" not in operations.OP:
            raise UsageError(f"--dimemas: {shown!r}, must be a routine of MPI such as allreduce")
        key = f"{match[1]}:{match[2]}" if match[1] else match[2]
        if key in said:
            raise UsageError(f"--dimemas: {key} is said twice, must be said once")
        said[key] = match[3]
    return Configuration(int(said.pop("buses", 0)), said)
