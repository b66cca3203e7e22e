"""Columns of a store: .npy files of a directory, mapped when they are read, never parsed. What a file says of itself is checked first."""

from __future__ import annotations

import mmap
import os
import re
import weakref
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.spilling.folders import spills
from perwiz.trace.resources import map_threads, thread_count

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,200}\.npy")
_DIMENSIONS = 2
_STRIPE = 1 << 12
_PIECE = 1 << 19
"""Values that are summed up at a time, of a column that is not mapped."""
_T = TypeVar("_T")
Column = NDArray[Any]


class Unfit(ValueError):
    """Something of a store that is not what it must be: the message says what is there, and what must be."""


def written(folder: str, name: str, values: Column) -> tuple[str, int]:
    """Return the file of a directory that a column is written to, little-endian, and its sum; `name` is that without `.npy`."""
    file, values = f"{name}.npy", np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    if not _NAME.fullmatch(file):
        raise ValueError(f"'{file}' is no name of a column")
    with open(os.path.join(folder, file), "xb") as out:
        np.lib.format.write_array(out, values, allow_pickle=False)
    return file, sum_of(values)


class Sum:
    """A sum of bytes, 32 bits, at the speed of memory: as long as one word changes, it does.

    Words at the same place of every 4 KiB are added up; what comes of that, and the rest, is the content of a CRC-32.
    """

    def __init__(self) -> None:
        self._stripes, self._rest = np.zeros(_STRIPE // 8, "u8"), np.zeros(0, "u1")

    def add(self, values: Column) -> None:
        """Go on with the bytes of these values."""
        content = values.reshape(-1).view("u1")
        if len(self._rest):
            content = np.concatenate([self._rest, content])
        whole = len(content) - len(content) % _STRIPE
        self._stripes += content[:whole].view("<u8").reshape(-1, _STRIPE // 8).sum(0, "u8")
        self._rest = content[whole:].copy()

    @property
    def value(self) -> int:
        """The sum of what was added."""
        return zlib.crc32(self._rest.tobytes(), zlib.crc32(self._stripes.astype("<u8").tobytes()))


def sum_of(values: Column) -> int:
    """Return the `Sum` of a column."""
    out = Sum()
    out.add(values)
    return out.value


class Columns:
    """The columns of a directory by the names of their files, each mapped once; who writes to one changes his copy, never the file."""

    def __init__(self, folder: str, sums: Mapping[str, Any], checked: bool = False) -> None:
        """`sums` are those of the columns by the names of their files, as far as they are numbers; not asked if all were `checked`."""
        self.folder = folder
        self._sums, self._known_good = sums, checked
        self._known: dict[str, Column] = {}

    def column(self, file: str, dtype: np.dtype[Any] | None) -> Column:
        """Return a column of this dtype, or if None of any whole numbers. Raises TraceError as `mapped`, Unfit for another dtype."""
        if file not in self._known:
            self._known[file] = self._checked(file, self.mapped(file))
        found = self._known[file]
        if found.dtype != dtype if dtype is not None else found.dtype.kind not in "iu":
            raise Unfit(f"{file} is of {found.dtype}, must be of {dtype or 'whole numbers'}")
        return found

    def ahead(self, prefix: str) -> None:
        """Map the columns whose names begin so, and check their content, several at a time. Raises TraceError as `column`."""
        if self._known_good:
            return
        found = {file: self.mapped(file) for file in self._sums if file.startswith(prefix)}
        several = thread_count(sum(column.size for column in found.values()))
        self._known |= zip(found, map_threads(lambda one: self._checked(*one), found.items(), several), strict=True)

    def _checked(self, file: str, column: Column) -> Column:
        if not self._known_good:
            self._check_sum(file, sum_of(column))
        return column

    def _check_sum(self, file: str, found: int) -> None:
        if found != self._sums.get(file):
            raise TraceError(f"{os.path.join(self.folder, file)}: other content than was written, must be written anew")

    def again(self, column: Column) -> Column:
        """Return a column mapped anew, for somebody who writes to it. Raises TraceError if it is another by now.

        Where large arrays are in files, it is a copy: what is written to in a mapping is in none.
        """
        if not column.size:
            return column.copy()
        file = next(file for file, known in self._known.items() if known is column)
        out = self.mapped(file)
        if out.shape != column.shape or out.dtype != column.dtype:
            raise TraceError(f"{os.path.join(self.folder, file)}: became another while it was read")
        return out.copy() if spills() else out

    def mapped(self, file: str) -> Column:
        """Return a column mapped anew, which nobody else has. Raises TraceError if the file is no column, or has another size."""
        return self._opened(file, _mapped)

    def pieces(self, file: str, dtype: np.dtype[Any]) -> OnDisk:
        """Return a column that is read piece by piece. Raises TraceError as `mapped`, and for other content, Unfit for another dtype."""
        found = self._opened(file, OnDisk)
        if found.dtype != dtype or found.ndim != 1:
            raise Unfit(f"{file} is of {found.dtype} in {found.ndim} dimensions, must be a column of {dtype}")
        known = Sum()
        for begin in range(0, len(found), _PIECE):
            known.add(found[begin : begin + _PIECE])
        self._check_sum(file, known.value)
        return found

    def _opened(self, file: str, take: Callable[[Any], _T]) -> _T:
        """Return what is taken from a file of a column, opened."""
        path = os.path.join(self.folder, file)
        if not _NAME.fullmatch(file):
            raise TraceError(f"{self.folder}: {file[:40]!r} is no name of a column, must be that of a .npy file of this directory")
        try:
            with open(path, "rb") as source:
                return take(source)
        except OSError as error:
            raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        except Unfit as error:
            raise TraceError(f"{path}: {error}") from None


class OnDisk:
    """A column of a file, read piece by piece."""

    def __init__(self, source: Any) -> None:
        """`source` is the file, opened. Raises Unfit as a mapped one."""
        self.shape, self.dtype, self._begin = _measured(source)
        self.ndim = len(self.shape)
        self._file = os.dup(source.fileno())
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | int) -> Any:
        """Return a piece, or a value."""
        if not isinstance(rows, slice):
            return self[rows : rows + 1][0]
        begin, end, step = rows.indices(len(self))
        size = self.dtype.itemsize
        out = np.empty(max(0, end - begin), self.dtype)
        room, done = out.view("u1").data, 0
        while done < len(room):
            read = os.preadv(self._file, [room[done:]], self._begin + begin * size + done)
            if not read:
                raise TraceError("a column became shorter while it was read")
            done += read
        return out[::step]


def _measured(source: Any) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape and dtype of the column of a file, and where it begins. Raises Unfit if the file has another size."""
    shape, dtype = _header(source)
    begin, size = source.tell(), os.fstat(source.fileno()).st_size
    count = int(np.prod(shape, dtype=object))
    if size - begin != count * dtype.itemsize:
        raise Unfit(f"{size - begin} bytes of data, must be {count * dtype.itemsize} for {count} of {dtype}")
    return shape, dtype, begin


def _mapped(source: Any) -> Column:
    shape, dtype, begin = _measured(source)
    count = int(np.prod(shape, dtype=object))
    if not count:
        return np.empty(shape, dtype)
    room = mmap.mmap(source.fileno(), begin + count * dtype.itemsize, access=mmap.ACCESS_COPY)
    out = np.frombuffer(room, dtype, count, begin).reshape(shape)
    if dtype.kind == "b" and out.view("u1").max() > 1:
        raise Unfit(f"a truth value of {out.view('u1').max()}, must be 0 or 1")
    return out.astype(dtype.newbyteorder("="), copy=False)


def _header(source: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype that the head of a .npy file says. Raises Unfit for others than a store has."""
    try:
        if np.lib.format.read_magic(source) != (1, 0):
            raise Unfit("a .npy file of another version, must be of version 1.0")
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(source)
    except Unfit:
        raise
    except Exception:  # what numpy raises for a damaged head is not laid down
        raise Unfit("no .npy file, must be one") from None
    if dtype.fields or dtype.hasobject or dtype.kind not in "biuf" or dtype.byteorder == ">":
        raise Unfit(f"of {dtype}, must be of little-endian numbers")
    if by_columns or not 1 <= len(shape) <= _DIMENSIONS or any(extent < 0 for extent in shape):
        raise Unfit(f"of shape {shape}, must have one or two dimensions, row by row")
    return shape, dtype
