"""Columns of a store: .npy files of a directory, mapped when they are read, never parsed. What a file says of itself is checked first."""

from __future__ import annotations

import mmap
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,200}\.npy")
_DIMENSIONS = 2
Column = NDArray[Any]


class Unfit(ValueError):
    """Something of a store that is not what it must be: the message says what is there, and what must be."""


def written(folder: str, name: str, values: Column) -> str:
    """Return the name of the file of a directory that a column is written to, little-endian; `name` is that file's without its end."""
    file = f"{name}.npy"
    if not _NAME.fullmatch(file):
        raise ValueError(f"'{file}' is no name of a column")
    with open(os.path.join(folder, file), "xb") as out:
        np.lib.format.write_array(out, np.ascontiguousarray(values, values.dtype.newbyteorder("<")), allow_pickle=False)
    return file


class Columns:
    """The columns of a directory by the names of their files, each mapped once; who writes to one changes his copy, never the file."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._known: dict[str, Column] = {}

    def column(self, file: str, dtype: np.dtype[Any] | None) -> Column:
        """Return a column of this dtype, or if None of any whole numbers. Raises TraceError as `mapped`, Unfit for another dtype."""
        if file not in self._known:
            self._known[file] = self.mapped(file)
        found = self._known[file]
        if found.dtype != dtype if dtype is not None else found.dtype.kind not in "iu":
            raise Unfit(f"{file} is of {found.dtype}, must be of {dtype or 'whole numbers'}")
        return found

    def again(self, column: Column) -> Column:
        """Return a column mapped anew, for somebody who writes to it. Raises TraceError if it is another by now."""
        if not column.size:
            return column.copy()
        file = next(file for file, known in self._known.items() if known is column)
        out = self.mapped(file)
        if out.shape != column.shape or out.dtype != column.dtype:
            raise TraceError(f"{os.path.join(self.folder, file)}: became another while it was read")
        return out

    def mapped(self, file: str) -> Column:
        """Return a column mapped anew, which nobody else has. Raises TraceError if the file is no column, or has another size."""
        path = os.path.join(self.folder, file)
        if not _NAME.fullmatch(file):
            raise TraceError(f"{self.folder}: {file[:40]!r} is no name of a column, must be that of a .npy file of this directory")
        try:
            with open(path, "rb") as source:
                return _mapped(source)
        except OSError as error:
            raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        except Unfit as error:
            raise TraceError(f"{path}: {error}") from None


def _mapped(source: Any) -> Column:
    shape, dtype = _header(source)
    begin, size = source.tell(), os.fstat(source.fileno()).st_size
    count = int(np.prod(shape, dtype=object))
    if size - begin != count * dtype.itemsize:
        raise Unfit(f"{size - begin} bytes of data, must be {count * dtype.itemsize} for {count} of {dtype}")
    if not count:
        return np.empty(shape, dtype)
    room = mmap.mmap(source.fileno(), size, access=mmap.ACCESS_COPY)
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
