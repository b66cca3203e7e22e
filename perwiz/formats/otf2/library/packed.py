"""What goes between a worker process and its parent: messages, and columns in as few bytes as their range needs."""

from __future__ import annotations

import contextlib
import importlib
import mmap
from collections.abc import Iterator, MutableMapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.definitions import Location

Line = tuple[str, str, int, int, str, int]
"""(name, dtype, length, offset in the file, dtype there, least value): what lies in the file is added to the least value."""
_NARROW = tuple((np.dtype(f"u{size}"), 1 << 8 * size) for size in (1, 2, 4))
"""Dtypes, and how many values each has."""


class Asked(NamedTuple):
    """An archive: its anchor file, bytes of all its files; who takes the rows ("module:class"); whether to send the definitions."""

    path: str
    bytes: int
    consumer: str
    definitions: bool


class Task(NamedTuple):
    """A location to read, and the bytes of its event file, -1 if there is none."""

    location: Location
    bytes: int


class Read(NamedTuple):
    """What became of a location: records read, (time, offset, deviation) of its clock, where its columns lie, why that is not all."""

    records: int
    offsets: list[list[Any]]
    columns: list[Line]
    error: str | None


def consumer_class(name: str) -> Any:
    """Return the class that "module:class" names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def packed(column: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return the least value, and what each value is more: nothing if all are equal, else as narrow as they fit.

    What cannot become narrower comes back as it is, its least value as 0.
    """
    if column.dtype.kind not in "iu" or not len(column):
        return column, 0
    low, high = int(column.min()), int(column.max())
    if low == high:
        return np.empty(0, "u1"), low
    for dtype, values in _NARROW:
        if high - low < values and dtype.itemsize < column.dtype.itemsize:
            return (column - column.dtype.type(low) if low else column).astype(dtype), low
    return column, 0


class Arrays(MutableMapping[str, NDArray[Any]]):
    """The columns of a location by name, unpacked when they are asked for; what is popped leaves the file, as far as whole pages go."""

    def __init__(self, content: mmap.mmap | None, lines: list[Line]) -> None:
        """`content` is a shared mapping of the file."""
        self._content = content
        self._lines = {line[0]: line for line in lines}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column, to be read only."""
        _, dtype, length, offset, stored, low = self._lines[name]
        if not stored:
            return np.broadcast_to(np.array(low, dtype), length)
        assert self._content is not None
        out = np.frombuffer(self._content, stored, length, offset).astype(dtype)
        if low:
            out += out.dtype.type(low)
        return out

    def __setitem__(self, name: str, column: NDArray[Any]) -> None:
        raise TypeError("the columns of a location cannot be changed")

    def __delitem__(self, name: str) -> None:
        _, _, length, offset, stored, _ = self._lines.pop(name)
        if stored:
            _release(self._content, offset, offset + length * np.dtype(stored).itemsize)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _release(content: mmap.mmap | None, begin: int, end: int) -> None:
    """Give the whole pages between two places of a shared mapping back to the system, where it can take them."""
    begin, end = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
    if content is not None and end > begin and hasattr(mmap, "MADV_REMOVE"):
        with contextlib.suppress(OSError):
            content.madvise(mmap.MADV_REMOVE, begin, end - begin)
