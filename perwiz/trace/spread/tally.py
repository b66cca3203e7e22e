"""Numbers that rows of a trace come to together: those of several processes, or of several windows of time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I8
from perwiz.trace.spread.share import Share
from perwiz.trace.spread.team import How


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Whole numbers by name, one or many each: sums, and largest values that are at least 0."""

    sums: Mapping[str, I8]
    most: Mapping[str, I8] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, sums: Mapping[str, Any], most: Mapping[str, Any] | None = None) -> Tally:
        """Return the tally of numbers of any kind."""
        return cls(*({name: np.asarray(value).astype("i8") for name, value in part.items()} for part in (sums, most or {})))

    def __add__(self, other: Tally) -> Tally:
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        return Tally(sums, {name: np.maximum(value, other.most[name]) for name, value in self.most.items()})

    def with_(self, other: Tally) -> Tally:
        """Return the tally of the numbers of both, of the same rows."""
        return Tally({**self.sums, **other.sums}, {**self.most, **other.most})

    def of_all(self, share: Share) -> Tally:
        """Return that of all processes, given that of this one."""
        return self if share.team is None else Tally(_reduced(self.sums, share, "sum"), _reduced(self.most, share, "max"))

    def __getitem__(self, name: str) -> int:
        """Return a number that is one."""
        return int(self.sums[name] if name in self.sums else self.most[name])


def _reduced(part: Mapping[str, NDArray[Any]], share: Share, how: How) -> dict[str, NDArray[Any]]:
    """Return numbers reduced over all processes, told at once."""
    if not part:
        return {}
    told = share.reduced(np.concatenate([value.reshape(-1) for value in part.values()]), how)
    pieces = np.split(told, np.cumsum([value.size for value in part.values()])[:-1])
    return {name: piece.reshape(value.shape) for (name, value), piece in zip(part.items(), pieces, strict=True)}
