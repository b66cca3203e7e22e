"""What goes between a worker process and its parent: messages, and columns in as few bytes as their range needs."""

from __future__ import annotations

import contextlib
import importlib
import io
import mmap
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.definitions import Location

ALIGNMENT = 64
"""Bytes to which every array is aligned in the file."""
Line = tuple[str, str, int, str, int]
"""(name, dtype, offset in the file, dtype there, least value): what lies in the file is added to the least value."""
Ends = dict[str, list[int]]
"""By table, which is what a column's name begins with, where the rows of each location end."""
_NARROW = tuple((np.dtype(f"u{size}"), 1 << 8 * size) for size in (1, 2, 4))
"""Dtypes, and how many values each has."""


class Asked(NamedTuple):
    """An archive: its anchor file, bytes of all its files; who takes the rows ("module:class"); whether to send the definitions."""

    path: str
    bytes: int
    consumer: str
    definitions: bool


class Task(NamedTuple):
    """Locations to read, one after the other, and the bytes of their event files, -1 where there is none."""

    locations: tuple[Location, ...]
    sizes: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of all its event files."""
        return sum(max(size, 0) for size in self.sizes)


class Told(NamedTuple):
    """What became of a location: records read, (time, offset, deviation) of its clock, and why that is not all."""

    records: int
    offsets: list[list[Any]]
    error: str | None


class Read(NamedTuple):
    """What became of the locations of a task, in their order, and where their columns lie, those of all in one."""

    told: list[Told]
    columns: list[Line]
    ends: Ends


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


def written(tables: Sequence[dict[str, NDArray[Any]]], file: IO[bytes], at: int) -> tuple[list[Line], Ends]:
    """Write the columns of some locations from byte `at` of a file on, and return where they lie, and where the rows of each end.

    A column that only some of the locations have is 0 for the others.
    """
    length: dict[str, list[int]] = {}
    names = {name: _table(name) for name in dict.fromkeys(name for table in tables for name in table)}
    for name, of in names.items():
        sizes = length.setdefault(of, [0] * len(tables))
        for k, table in enumerate(tables):
            if not sizes[k] and name in table:
                sizes[k] = len(table[name])
    lines: list[Line] = []
    for name, of in names.items():
        parts, sizes = [table.get(name) for table in tables], length[of]
        kind = next(part.dtype for part in parts if part is not None)
        filled = [np.zeros(size, kind) if part is None else part for part, size in zip(parts, sizes, strict=True)]
        stored, low = packed(np.concatenate(filled) if len(filled) > 1 else filled[0])
        lines.append((name, kind.str, at, stored.dtype.str if len(stored) else "", low))
        at += file.write(np.ascontiguousarray(stored).data)
        at += file.write(bytes(-at % ALIGNMENT))
    return lines, {table: np.cumsum(sizes).tolist() for table, sizes in length.items()}


def _table(name: str) -> str:
    return name.partition(".")[0]


class Arrays:
    """The columns of some locations by name, unpacked when they are asked for; what is taken leaves the file, as far as whole pages go."""

    def __init__(self, content: mmap.mmap | bytes, lines: list[Line], ends: Ends) -> None:
        """`content` is a shared mapping of the file, or what it holds."""
        self._content, self._ends = content, ends
        self._lines = {line[0]: line for line in lines}

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def told(self, place: int) -> bool:
        """Return whether there is anything of one of the locations."""
        return any(ends[place] > (ends[place - 1] if place else 0) for ends in self._ends.values())

    def of(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Return a column of the locations from the first to before the last one, to be read only."""
        _, dtype, _, stored, low = self._lines[name]
        begin, end = self._rows(name, first, last)
        if not stored:
            return np.broadcast_to(np.array(low, dtype), end - begin)
        out = np.empty(end - begin, dtype)
        self._unpack(name, begin, out)
        return out

    def _unpack(self, name: str, begin: int, out: NDArray[Any]) -> None:
        """Write the rows of a column from one on."""
        _, _, offset, stored, low = self._lines[name]
        if not stored:
            out[:] = low
            return
        packed = np.frombuffer(self._content, stored, len(out), offset + begin * np.dtype(stored).itemsize)
        if low:
            np.add(packed, low, out=out, dtype=out.dtype, casting="unsafe")
        else:
            out[:] = packed

    def take(self, name: str, first: int, last: int) -> NDArray[Any]:
        """Return the same, which is not asked for again."""
        out = self.of(name, first, last)
        self._leave(name, first, last)
        return out

    def put(self, name: str, first: int, last: int, out: NDArray[Any]) -> None:
        """Write the same into an array; it is not asked for again."""
        self._unpack(name, self._rows(name, first, last)[0], out)
        self._leave(name, first, last)

    def _leave(self, name: str, first: int, last: int) -> None:
        """Let a column of some locations leave the file."""
        _, _, offset, stored, _ = self._lines[name]
        if stored and isinstance(self._content, mmap.mmap):
            begin, end = (offset + row * np.dtype(stored).itemsize for row in self._rows(name, first, last))
            _release(self._content, begin, end)

    def _rows(self, name: str, first: int, last: int) -> tuple[int, int]:
        ends = self._ends[_table(name)]
        return ends[first - 1] if first else 0, ends[last - 1]


def in_memory(table: dict[str, NDArray[Any]]) -> Arrays:
    """Return the columns of one location that no worker wrote."""
    content = io.BytesIO()
    lines, ends = written([table], content, 0)
    return Arrays(content.getvalue(), lines, ends)


def _release(content: mmap.mmap, begin: int, end: int) -> None:
    """Give the whole pages between two places of a shared mapping back to the system, where it can take them."""
    begin, end = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
    if end > begin and hasattr(mmap, "MADV_REMOVE"):
        with contextlib.suppress(OSError):
            content.madvise(mmap.MADV_REMOVE, begin, end - begin)
