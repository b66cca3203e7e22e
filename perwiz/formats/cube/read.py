"""Reading a Cube 4 file, anybody's: sizes and counts are checked against the file before memory is taken."""

from __future__ import annotations

import dataclasses
import io
import os
import struct
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.cube.anchor import Anchor, Stored, parse
from perwiz.formats.cube.cube import DTYPES, Cells, Cube, compact
from perwiz.formats.cube.write import DATA, INDEX, SPARSE
from perwiz.trace.arrays import Ints
from perwiz.words import shown

PACKED = b"ZCUBEX.DATA"
DENSE = 3
_BLOCK = 512
_LARGEST_ANCHOR = 1 << 28
"""Bytes of anchor.xml, unpacked."""
_LARGEST = 1e100
"""Larger values are none; their sums would overflow."""
_LEAST_PACKED = 1032
"""Deflate makes no data shorter than by this factor."""
_HEADER = struct.Struct("<11sIHB")

Files = dict[str, tuple[int, int]]
"""Per name in the archive where it begins and its size."""


def is_cube(path: str) -> bool:
    """Return whether a file is a tar archive, as a Cube 4 file is and no trace."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(_BLOCK)[257:262] == b"ustar"


def read(path: str) -> Cube:
    """Return the cube in a file. Raises TraceError for what is none, or is damaged; what it cannot hold is named in `faults`."""
    try:
        with open(path, "rb") as file:
            return _read(file)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    except OSError as error:
        raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}, must be a Cube file") from None


def _read(file: IO[bytes]) -> Cube:
    files = _files(file)
    if "anchor.xml" not in files:
        raise TraceError("no anchor.xml in it, must be a Cube 4 file")
    anchor = parse(_anchor(file, files["anchor.xml"]))
    cells, faults, left = dict[str, Cells](), list(anchor.cube.faults), _memory()
    for stored in anchor.stored:
        name = stored.metric.name
        try:
            part = _cells(file, files, anchor, stored, left)
        except TraceError as error:
            raise TraceError(f"metric '{shown(name)}': {error}") from None
        if part is None:
            continue
        if part.value.dtype.kind == "f" and not (np.abs(part.value) < _LARGEST).all():
            faults.append(f"metric '{shown(name)}' left out: values that are no numbers")
            continue
        cells |= compact({name: part})
        left -= cells[name].value.nbytes if name in cells else 0
    return dataclasses.replace(anchor.cube, cells=cells, faults=tuple(faults))


def _memory() -> int:
    """Return the bytes of memory the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _files(file: IO[bytes]) -> Files:
    """Return the files of a tar archive. Checksums are not looked at: CubeW has written wrong ones."""
    size, place, files = os.fstat(file.fileno()).st_size, 0, Files()
    while place + _BLOCK <= size:
        file.seek(place)
        head = file.read(_BLOCK)
        if not head.strip(b"\0"):
            break
        if head[257:262] != b"ustar":
            raise TraceError(f"no tar archive at byte {place}, must be a Cube 4 file")
        length = _size(head[124:136], place)
        place += _BLOCK
        if length > size - place:
            raise TraceError(f"cut off: a file in it is to have {length} bytes, {size - place} are left")
        if head[156:157] in (b"0", b"\0"):
            files[head[:100].split(b"\0", 1)[0].decode("latin-1").removeprefix("./")] = place, length
        place += -(-length // _BLOCK) * _BLOCK
    if not files:
        raise TraceError("no tar archive, must be a Cube 4 file")
    return files


def _size(field: bytes, place: int) -> int:
    """Return the size in a header: octal digits, or binary if it is large."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    text = field.split(b"\0", 1)[0].strip()
    if not text or text.strip(b"01234567"):
        raise TraceError(f"tar header at byte {place} without a size, must be octal digits")
    return int(text, 8)


def _anchor(file: IO[bytes], entry: tuple[int, int]) -> bytes:
    text = _bytes(file, entry, 0, entry[1]) if entry[1] <= _LARGEST_ANCHOR else b""
    if text.startswith(b"\x1f\x8b"):
        unpack = zlib.decompressobj(wbits=31)
        try:
            text = unpack.decompress(text, _LARGEST_ANCHOR + 1)
        except zlib.error as error:
            raise TraceError(f"anchor.xml cannot be unpacked: {error}") from None
    if not text or len(text) > _LARGEST_ANCHOR:
        raise TraceError(f"anchor.xml is empty or above {_LARGEST_ANCHOR} bytes")
    return text


def _bytes(file: IO[bytes], entry: tuple[int, int], start: int, count: int) -> bytes:
    """Return some bytes of a file in the archive; fewer if that ends before."""
    file.seek(entry[0] + start)
    return file.read(max(0, min(count, entry[1] - start)))


def _cells(file: IO[bytes], files: Files, anchor: Anchor, stored: Stored, memory: int) -> Cells | None:
    """Return the values of a metric, None if the file has none."""
    index, data = files.get(f"{stored.number}.index"), files.get(f"{stored.number}.data")
    if index is None and data is None:
        return None
    if index is None or data is None:
        raise TraceError("has only one of its two files, index and data")
    order, rows = _rows(file, index, len(anchor.deep))
    if memory < len(rows) * len(anchor.column) * 8:
        raise TraceError(f"{len(rows)} call paths of {len(anchor.column)} locations are more than this machine's memory holds")
    value = _values(file, data, order, np.dtype(order + stored.dtype), (len(rows), len(anchor.column)))
    value = value[:, anchor.column].astype(DTYPES[stored.metric.type], copy=False)
    node = (anchor.wide if stored.inclusive else anchor.deep)[rows]
    by_node = np.argsort(node, kind="stable")
    cells = Cells(node[by_node].astype("i4"), value[by_node])
    return _exclusive(cells, anchor) if stored.inclusive else cells


def _rows(file: IO[bytes], entry: tuple[int, int], paths: int) -> tuple[str, Ints]:
    """Return (byte order, rows that are stored)."""
    head = _bytes(file, entry, 0, _HEADER.size)
    if len(head) < _HEADER.size or not head.startswith(INDEX):
        raise TraceError("its index does not begin with CUBEX.INDEX and a header")
    _, mark, _, kind = _HEADER.unpack(head)
    if mark not in (1, 1 << 24) or kind not in (SPARSE, DENSE):
        raise TraceError("its index is of a kind that is not known, must be sparse or dense")
    order = "<" if mark == 1 else ">"
    if kind == DENSE:
        return order, np.arange(paths)
    count = int.from_bytes(_bytes(file, entry, _HEADER.size, 4), "little" if mark == 1 else "big")
    if count > paths or entry[1] != _HEADER.size + 4 + 4 * count:
        raise TraceError(f"its index has {entry[1]} bytes for {count} of {paths} call paths")
    rows = np.frombuffer(_bytes(file, entry, _HEADER.size + 4, 4 * count), order + "u4").astype("i8")
    if count and (rows[-1] >= paths or (np.diff(rows) <= 0).any()):
        raise TraceError(f"its index names call paths out of order, or beyond the {paths} that there are")
    return order, rows


def _values(file: IO[bytes], entry: tuple[int, int], order: str, dtype: np.dtype[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """Return the values of the rows that are stored, one row each."""
    size = shape[0] * shape[1] * dtype.itemsize
    if _bytes(file, entry, 0, len(PACKED)) == PACKED:
        raw = _unpacked(file, entry, order, shape[0], shape[1] * dtype.itemsize)
    elif _bytes(file, entry, 0, len(DATA)) == DATA:
        if entry[1] != len(DATA) + size:
            raise TraceError(f"its data has {entry[1]} bytes, must be {len(DATA) + size}")
        raw = _bytes(file, entry, len(DATA), size)
    else:
        raise TraceError("its data does not begin with CUBEX.DATA or ZCUBEX.DATA")
    return np.frombuffer(raw, dtype).reshape(shape)


def _unpacked(file: IO[bytes], entry: tuple[int, int], order: str, rows: int, row: int) -> bytes:
    """Return the bytes of rows packed one by one, each of `row` bytes."""
    start = len(PACKED) + 8
    blob = start + 24 * rows
    if _bytes(file, entry, len(PACKED), 8) != struct.pack(f"{order}Q", rows) or entry[1] < blob:
        raise TraceError(f"its packed data is not of the {rows} call paths in its index")
    table = np.frombuffer(_bytes(file, entry, start, 24 * rows), order + "u8").reshape(-1, 3)
    sizes = [int(size) for size in table[:, 2]]
    if sum(sizes) > entry[1] - blob or min(sizes, default=row) * _LEAST_PACKED < row:
        raise TraceError(f"its packed data has {entry[1]} bytes, which cannot hold {rows} rows of {row}")
    out = io.BytesIO()
    for size in sizes:
        out.write(_row(_bytes(file, entry, blob, size), row))
        blob += size
    return out.getvalue()


def _row(packed: bytes, size: int) -> bytes:
    try:
        row = zlib.decompressobj().decompress(packed, size + 1)
    except zlib.error as error:
        raise TraceError(f"its packed data is damaged: {error}") from None
    if len(row) != size:
        raise TraceError(f"a packed row has {'more' if len(row) > size else len(row)} bytes, must be {size}")
    return row


def _exclusive(cells: Cells, anchor: Anchor) -> Cells:
    """Return inclusive values without those of the call paths below; a root above several, not in the file, contains nothing."""
    parent = np.array([path.parent for path in anchor.cube.paths])[cells.node]
    inner = parent >= anchor.deep[0]
    node = np.union1d(cells.node, parent[inner])
    kind = "i8" if cells.value.dtype.kind == "u" else cells.value.dtype
    out = np.zeros((len(node), cells.value.shape[1]), kind)
    out[np.searchsorted(node, cells.node)] = cells.value
    np.subtract.at(out, np.searchsorted(node, parent[inner]), cells.value[inner].astype(kind))
    return Cells(node.astype("i4"), out.astype(cells.value.dtype))
