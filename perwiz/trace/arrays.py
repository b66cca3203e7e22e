"""The element types of columns, by their numpy names; long columns, handled piece by piece or growing."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Protocol, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import lanes

I1 = NDArray[np.int8]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]
U1 = NDArray[np.uint8]
U2 = NDArray[np.uint16]
U8 = NDArray[np.uint64]
F4 = NDArray[np.float32]
F8 = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ints = NDArray[Any]
"""Integers of a width that only the caller knows: where it is known, say I4 or I8."""


class Rows(Protocol):
    """A column of times, ns, of which some rows are asked for at a time: an array, or what makes them then."""

    def __getitem__(self, some: slice, /) -> F8:
        """Return some rows."""


_CHUNK = 1 << 17
"""Rows handled at a time."""


@functools.cache
def dtype(name: str) -> np.dtype[Any]:
    """Return the dtype of the elements of an array type of this module, by its name."""
    return np.dtype(element(globals()[name]))


def element(kind: Any) -> Any:
    """Return the type of the elements of an array type, Any of Ints; None of another type.

    From numpy 2.5 on NDArray is an alias with that as its argument, before it an array of a shape and a dtype.
    """
    if get_origin(kind) is not get_origin(Ints):
        return None
    last = get_args(kind)[-1]
    return next(iter(get_args(last)), last)


def shortest(numbers: Ints) -> Ints:
    """Return numbers from 0 on in the narrowest unsigned integers that hold them all: 0 7 300 in 16 bits each."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def chunks(rows: int) -> Iterator[slice]:
    """Yield slices that together are so many rows, for work on columns with small intermediate arrays, which stay in the cache."""
    for begin in range(0, rows, _CHUNK):
        yield slice(begin, begin + _CHUNK)


def shortest_signed(numbers: Ints) -> Ints:
    """Return numbers, -1 and -2 among them, in the narrowest signed integers that hold them all: -1 7 300 in 16 bits each."""
    most = int(numbers.max(initial=0))
    return numbers.astype(np.min_scalar_type(-most - 1))


def narrowed(values: I8) -> Ints:
    """Return whole numbers in 32 bits, if all of them fit; else as they are."""
    narrow = values.astype("i4")
    return narrow if np.array_equal(narrow, values) else values


def taken(rows: Any, order: Ints) -> Any:
    """Return some rows, of eight bytes or a multiple of these each, in an order: as `rows[order]`, some times as fast."""
    words = np.ascontiguousarray(rows).view("i8").reshape(len(rows), rows.dtype.itemsize // 8)
    return words.take(order, 0).reshape(-1).view(rows.dtype).view(np.recarray)


def medians(group: Ints, values: Ints) -> tuple[F8, I8]:
    """Return, per row, the median of the values of its group, and how many that has.

    groups 0 1 0 0 of values 5 8 1 7 -> medians 5 8 5 5, of 3 1 3 3
    """
    order = np.lexsort((values, group))
    _, first, place, count = np.unique(group[order], return_index=True, return_inverse=True, return_counts=True)
    ordered = values[order]
    middle = (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2
    median, several = np.empty(len(order)), np.empty(len(order), "i8")
    median[order], several[order] = middle[place], count[place]
    return median, several


def before(values: I8, first: I8, instants: I8, at: bool = False) -> I8:
    """Return how many values of each lane are before instants of it, and at them too if `at` says so: int64, a column a lane, as those.

    Of lane x values `first[x]` to `first[x + 1] - 1` are its own, in order. 1 3 3 of one lane and 2 of another before 3 3: 1 1.
    """
    out = np.empty(instants.shape, "i8")
    lanes.before(values, first, np.ascontiguousarray(instants), at, out)
    return out


def places(count: I8, first: I8) -> I4:
    """Return where each value lies among bounds of its lane, int32: how many of them it is behind, given how many are before each bound.

    Counts 1 3 of a lane of four values: 0 1 1 2.
    """
    size = np.diff(first)
    ends = np.concatenate((np.zeros((1, len(size)), "i8"), count, size[None]))
    return np.repeat(np.tile(np.arange(len(ends) - 1, dtype="i4"), len(size)), np.diff(ends, axis=0).T.ravel())


class Columns:
    """Equally long columns that grow chunk by chunk, by name: the fields of a structured dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._rows = 0
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, dtype[name]) for name in dtype.names or ()}

    def add(self, rows: Any, count: int) -> None:
        """Append so many rows, a mapping of columns or a structured array. All values must fit their dtype."""
        end = self._rows + count
        if isinstance(rows, np.recarray):
            rows = rows.view(np.ndarray)  # which is quicker to ask for its columns
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
