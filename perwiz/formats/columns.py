"""Columns that grow chunk by chunk, in compact dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """Equally long columns, by name: the fields of a structured dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._rows = 0
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, dtype[name]) for name in dtype.names or ()}

    def add(self, rows: Mapping[str, NDArray[Any]], count: int) -> None:
        """Append so many rows, given by column. All values must fit their dtype."""
        end = self._rows + count
        for name, column in self._columns.items():
            if end > len(column):
                column = self._columns[name] = _longer(column, self._rows, 2 * end)
            column[self._rows : end] = rows[name]
        self._rows = end

    def take(self, name: str) -> NDArray[Any]:
        """Return one column and forget it."""
        return self._columns.pop(name)[: self._rows]


def _longer(column: NDArray[Any], used: int, size: int) -> NDArray[Any]:
    """Return a column with room for `size` rows, the first `used` copied; memory that is never touched costs nothing."""
    out = np.empty(size, column.dtype)
    out[:used] = column[:used]
    return out
