"""The rows that the OTF2 library's callbacks fill: compiled ones for the usual records, Python ones made from the table for the rest."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.binding import INT, INT64, POINTER, UINT64, Library
from perwiz.kernels import otf2_records

RECORDS = 1 << 13
"""Records read at a time: their rows stay in the cache."""
_USED, _ROOM, _DROPPED, _FEWEST = range(4)
_HEADER = 8 + row.ROW_COLUMNS
"""Cells before the first row: counts and a spare row."""
_MOST = 255
"""Rows of the largest record, a Metric."""
_CELLS = ctypes.POINTER(INT64)


class Buffer:
    """Rows, and the callbacks that fill them."""

    def __init__(self, library: Library, records: int = RECORDS) -> None:
        """The library is asked for so many records at a time, and stops earlier when they make too many rows."""
        self.records = records
        self._rows = np.zeros(_HEADER + row.ROW_COLUMNS * (records + 2 * _MOST), "i8")
        self._rows[_ROOM], self._rows[_FEWEST] = records + 2 * _MOST, _MOST
        self.address = self._rows.ctypes.data
        """What the callbacks expect as user data."""
        self._probed: dict[int, tuple[int, ...]] = {}
        self._matched: dict[int, tuple[int, ...]] = {}
        self._kept: list[Any] = []
        self.callbacks: int = library.call("EvtReaderCallbacks_New")
        for name, function in self._functions().items():
            setter = f"EvtReaderCallbacks_Set{name}Callback"
            if library.has(setter):
                library.call(setter, self.callbacks, function)

    def begin(self) -> None:
        """Forget what was left of another location."""
        self._rows[_USED] = 0
        self._probed, self._matched = {}, {}

    def take(self) -> NDArray[np.int64]:
        """Return the rows filled, a view; the next ones are written over them."""
        used = int(self._rows[_USED])
        self._rows[_USED] = 0
        return self._rows[_HEADER : _HEADER + used * row.ROW_COLUMNS].reshape(used, row.ROW_COLUMNS)

    def _functions(self) -> dict[str, Any]:
        """Return the callback of every kind of record: an address, or a C function around a Python one."""
        functions: dict[str, Any] = dict(zip(row.COMPILED, otf2_records.addresses(), strict=False))
        for name in row.EVENTS:
            if name not in functions:
                functions[name] = self._made(name)
        return functions

    def _made(self, name: str) -> Any:
        python = interpreted(name) if name in row.COMPILED else self._matching(name) if name in row.MATCHED else self._other(name)
        function = ctypes.CFUNCTYPE(INT, UINT64, UINT64, UINT64, _CELLS, POINTER, *row.EVENTS[name].values())(python)
        self._kept.append(function)
        return function

    def _put(self, kind: int, time: int, *fields: int) -> int:
        """Add a row; return 1 for the library to stop, else 0."""
        cells, used = self._rows, int(self._rows[_USED])
        if used == cells[_ROOM]:
            cells[_DROPPED] += 1
            return 1
        at = _HEADER + used * row.ROW_COLUMNS
        values = (kind, time, *fields, *(0,) * (6 - len(fields)))
        cells[at : at + 8] = [_signed(value) for value in values]
        cells[_USED] = used + 1
        return int(cells[_ROOM] - used - 1 < cells[_FEWEST])

    def _other(self, name: str) -> Any:
        kind, types = row.OTHER + row.OTHERS.index(name), list(row.EVENTS[name].values())

        def keep(_place: int, time: int, _at: int, _user: Any, _notes: int, *arguments: int) -> int:
            fields = [
                -1 if argument == 0xFFFFFFFF and type_ is row.REFERENCE else argument
                for argument, type_ in zip(arguments, types, strict=True)
            ]
            if name == "MpiProbe":
                self._probed[fields[3]] = tuple(fields[:3])
            return self._put(kind, time, *fields[:6])

        return keep

    def _matching(self, name: str) -> Any:
        """Return the callback for a receive of a message that an MpiProbe found before."""

        def received(_place: int, time: int, _at: int, _user: Any, _notes: int, message: int, length: int) -> int:
            return self._put(row.RECV, time, *self._probed.pop(message, _NOBODY), length)

        def posted(_place: int, time: int, _at: int, _user: Any, _notes: int, message: int, request: int) -> int:
            self._matched[request] = self._probed.pop(message, _NOBODY)
            return self._put(row.IRECV_REQUEST, time, 0, 0, 0, 0, request)

        def completed(_place: int, time: int, _at: int, _user: Any, _notes: int, request: int, length: int) -> int:
            return self._put(row.IRECV, time, *self._matched.pop(request, _NOBODY), length, request)

        return {"MpiMrecv": received, "MpiImrecvRequest": posted, "MpiImrecv": completed}[name]


_NOBODY = (-1, -1, -1)


def interpreted(name: str) -> Any:
    """Return the Python function of a kind of record that has a compiled callback."""
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return getattr(otf2_records, words)


def _signed(value: int) -> int:
    """Return the same 64 bits as a signed number."""
    return value - (1 << 64) if value >= 1 << 63 else value
