"""An OTF2 archive open for writing: events of one location after the other, then definitions."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.binding import ERROR, INT, POINTER, TEXT, UINT8, UINT32, UINT64, Library, load
from perwiz.formats.otf2.library.definitions import DEFINITIONS
from perwiz.kernels import otf2_write as kernel
from perwiz.kernels import records

UNDEFINED = (1 << 32) - 1
"""The reference of nothing."""
RECORDS = {"MeasurementOnOff": records.MEASUREMENT, "BufferFlush": records.BUFFER_FLUSH}
RECORDS |= {name: records.OTHER_KIND + number for number, name in enumerate(row.OTHERS)}
"""Kind of row per kind of the table of records."""
_CHUNK = 1 << 20
"""Bytes of events, and of definitions, that the library keeps before it writes them."""
_WRITE, _POSIX, _UNPACKED, _FLUSH = 0, 1, 1, 1
_ARCHIVE: dict[str, tuple[Any, ...]] = {
    "Open": (POINTER, TEXT, TEXT, UINT8, UINT64, UINT64, UINT8, UINT8),
    "SetFlushCallbacks": (ERROR, POINTER, POINTER, POINTER),
    "SetCreator": (ERROR, POINTER, TEXT),
    "SetProperty": (ERROR, POINTER, TEXT, TEXT, ctypes.c_bool),
    **dict.fromkeys(("Close", "SetSerialCollectiveCallbacks"), (ERROR, POINTER)),
    **{f"{verb}{kind}Files": (ERROR, POINTER) for verb in ("Open", "Close") for kind in ("Def", "Evt")},
    **{f"Get{kind}Writer": (POINTER, POINTER, UINT64) for kind in ("Evt", "Def")},
    "GetGlobalDefWriter": (POINTER, POINTER),
    **{f"Close{kind}Writer": (ERROR, POINTER, POINTER) for kind in ("Evt", "Def", "GlobalDef")},
}
_BeforeFlush = ctypes.CFUNCTYPE(UINT8, POINTER, UINT8, UINT64, POINTER, ctypes.c_bool)


class _Flush(ctypes.Structure):
    _fields_ = (("before", _BeforeFlush), ("after", POINTER))


class Archive:
    """An archive that is being written. Its methods raise Failure where the library fails."""

    def __init__(self, folder: str, name: str, creator: str) -> None:
        """Raises LibraryError without the library."""
        self.library = load()
        for function, prototype in _ARCHIVE.items():
            self.library.declare(f"Archive_{function}", *prototype)
        for kind, arguments in DEFINITIONS.items():
            self.library.declare(f"GlobalDefWriter_Write{kind}", ERROR, POINTER, *arguments)
        self._flush = _Flush(_BeforeFlush(lambda *_: _FLUSH), None)
        path = (text.encode("utf-8", "surrogateescape") for text in (folder, name))
        self._archive = self.library.call("Archive_Open", *path, _WRITE, _CHUNK, _CHUNK, _POSIX, _UNPACKED)
        self._call("SetSerialCollectiveCallbacks")
        self._call("SetFlushCallbacks", ctypes.addressof(self._flush), None)
        self._call("SetCreator", creator.encode())
        self._functions = _functions(self.library)

    def _call(self, name: str, *arguments: Any) -> Any:
        return self.library.call(f"Archive_{name}", self._archive, *arguments)

    def set(self, name: str, value: str) -> None:
        """Write a property; its name is capitals, behind a namespace."""
        self._call("SetProperty", name.encode("ascii"), encoded(value), False)

    @contextlib.contextmanager
    def events(self) -> Iterator[None]:
        """Inside `with`, locations can be written; their local definitions stay empty."""
        self._call("OpenEvtFiles")
        self._call("OpenDefFiles")
        yield
        self._call("CloseEvtFiles")
        self._call("CloseDefFiles")

    def location(self, ref: int, pieces: Iterator[NDArray[Any]]) -> int:
        """Return the number of events of one location, after writing its rows of events."""
        writer = self._call("GetEvtWriter", ref)
        count = 0
        for rows in pieces:
            self._rows(writer, rows)
            count += len(rows)
        self._call("CloseEvtWriter", writer)
        self._call("CloseDefWriter", self._call("GetDefWriter", ref))
        return count

    def _rows(self, writer: int, rows: NDArray[Any]) -> None:
        done, code, named = 0, np.zeros(1, "i4"), rows.view(np.recarray)
        while (done := kernel.events(self._functions, writer, named, done, rows.ctypes.data, code)) < len(rows):
            if code[0]:
                raise self.library.failure(int(code[0]))
            self._other(writer, named[done])
            done += 1

    def _other(self, writer: int, record: np.record) -> None:
        """Write a record that the kernel has no call for."""
        name = row.OTHERS[record.kind - records.OTHER_KIND]
        values = [int(record[column]) for column in records.ARGUMENTS[: len(row.EVENTS[name])]]
        self.library.call(f"EvtWriter_{name}", writer, None, int(record.time), *values)

    @contextlib.contextmanager
    def definitions(self) -> Iterator[Any]:
        """Return define(kind, *arguments), which writes a global definition."""
        writer = self._call("GetGlobalDefWriter")

        def define(kind: str, *arguments: Any) -> None:
            self.library.call(f"GlobalDefWriter_Write{kind}", writer, *arguments)

        yield define
        self._call("CloseGlobalDefWriter", writer)

    def close(self) -> None:
        """Finish the archive."""
        self._call("Close")


def numbers(values: list[int], wide: bool = False) -> tuple[int, Any]:
    """Return the two arguments that a list of numbers is."""
    return len(values), ((UINT64 if wide else UINT32) * len(values))(*values)


def encoded(text: str) -> bytes:
    """Return the text as OTF2 keeps it: UTF-8 without the character that ends a text in C."""
    return text.encode("utf-8", "surrogateescape").replace(b"\0", b"?")


def _functions(library: Library) -> Any:
    """Return the writing function per compiled kind, as the kernel takes them: addresses, or ctypes functions."""
    addresses = [ctypes.cast(getattr(library, f"EvtWriter_{name}"), POINTER).value or 0 for name in row.COMPILED]
    if kernel.COMPILED:
        return np.array(addresses, "u8")
    pointers = (row.BYTES, row.NUMBERS, row.BITS)
    return [
        ctypes.CFUNCTYPE(INT, POINTER, POINTER, UINT64, *(POINTER if kind in pointers else kind for kind in row.EVENTS[name].values()))(
            address
        )
        for name, address in zip(row.COMPILED, addresses, strict=True)
    ]
