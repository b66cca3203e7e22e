"""Numbers for pairs of integers, in order of first occurrence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import number as kernel


def _table(rows: int) -> NDArray[np.int32]:
    """Return an empty hash table at most half full with so many rows."""
    return np.full(1 << (2 * rows + 2).bit_length(), -1, "i4")


class Numbers:
    """Gives every distinct pair of int64 a number, 0, 1, 2 ... in order of first occurrence, over several calls."""

    def __init__(self) -> None:
        self.count = 0
        self._known = np.empty((0, 2), "i8")
        self._table = _table(0)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The pairs known so far, one per row."""
        return self._known[: self.count]

    def of(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the number of each pair, int32 in the order given."""
        key = np.empty((len(first), 2), "i8")
        key[:, 0], key[:, 1] = first, second
        self._reserve(self.count + len(key))
        out = np.empty(len(key), "i4")
        self.count = kernel.number(key, self._table, self._known, self.count, out)
        return out

    def _reserve(self, rows: int) -> None:
        if rows > len(self._known):
            known = np.empty((max(rows, 2 * len(self._known)), 2), "i8")
            known[: self.count] = self.pairs
            self._table = _table(len(known))
            kernel.number(self.pairs.copy(), self._table, known, 0, np.empty(self.count, "i4"))
            self._known = known


def paths(parent: NDArray[np.int32], region: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return (path per region instance, parent per path, region per path), all int32. Instances come after their parents."""
    out = np.empty(len(parent), "i4")
    known = np.empty((len(parent), 2), "i8")
    count = kernel.paths(parent, region, _table(len(parent)), known, out)
    return out, known[:count, 0].astype("i4"), known[:count, 1].astype("i4")
