"""The element types of columns, by their numpy names, and work on long columns piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

I1 = NDArray[np.int8]
I2 = NDArray[np.int16]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]
U1 = NDArray[np.uint8]
U4 = NDArray[np.uint32]
U8 = NDArray[np.uint64]
F8 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ints = NDArray[Any]
"""Integers of a width that only the caller knows: where it is known, say I4 or I8."""

_CHUNK = 1 << 17
"""Rows handled at a time."""


def dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of the elements of an array type of this module, by its name."""
    return np.dtype(get_args(get_args(globals()[name])[1])[0])


def chunks(rows: int) -> Iterator[slice]:
    """Yield slices that together are so many rows, for work on columns with small intermediate arrays, which stay in the cache."""
    for begin in range(0, rows, _CHUNK):
        yield slice(begin, begin + _CHUNK)
