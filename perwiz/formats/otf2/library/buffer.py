"""The rows that the OTF2 library's callbacks fill: compiled ones for the usual records, Python ones made from the table for the rest."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2.library import events as row
from perwiz.formats.otf2.library.binding import INT, INT64, POINTER, UINT8, UINT32, UINT64, Library
from perwiz.kernels import otf2_records, records
from perwiz.kernels.records import ARGUMENTS, RECORD

RECORDS = 1 << 13
"""Records read at a time: their rows stay in the cache."""
_MOST = 255
"""Rows of the largest record, a Metric."""
_C_TYPES = {"u2": ctypes.c_uint16, "i4": ctypes.c_int32, "i8": INT64}


class Row(ctypes.Structure):
    """A row of the dtype RECORD."""

    _fields_ = tuple((name, _C_TYPES[dtype.str[1:]]) for name, (dtype, *_) in (RECORD.fields or {}).items())


_COUNT = ctypes.CFUNCTYPE(UINT32, POINTER)
_GET = ctypes.CFUNCTYPE(INT, POINTER, UINT32, ctypes.POINTER(UINT32), ctypes.POINTER(UINT8), ctypes.POINTER(UINT64))


class User(ctypes.Structure):
    """What the callbacks expect as user data: the Buffer of the kernel."""

    _fields_ = (
        *((name, INT64) for name in ("used", "room", "dropped", "fewest")),
        *(("rows", ctypes.POINTER(Row)), ("count", _COUNT), ("get", _GET)),
        *(("attribute", ctypes.POINTER(UINT32)), ("type", ctypes.POINTER(UINT8)), ("value", ctypes.POINTER(UINT64))),
    )

    @classmethod
    def of(cls, rows: NDArray[Any], fewest: int) -> User:
        """Return that for some rows, the first of which is spare."""
        return cls(room=len(rows) - 1, fewest=fewest, rows=ctypes.cast(rows.ctypes.data, ctypes.POINTER(Row)))


class Buffer:
    """Rows, and the callbacks that fill them."""

    def __init__(self, library: Library, records: int = RECORDS) -> None:
        """The library is asked for so many records at a time, and stops earlier when they make too many rows."""
        self.records, self._library = records, library
        self._rows = np.zeros(1 + records + 2 * _MOST, RECORD)
        self._user = User.of(self._rows, _MOST)
        self.address = ctypes.addressof(self._user)
        """What the callbacks expect as user data."""
        self._probed: dict[int, tuple[int, ...]] = {}
        self._matched: dict[int, tuple[int, ...]] = {}
        self._kept: list[Any] = []
        self.callbacks: int = library.call("EvtReaderCallbacks_New")
        for name, function in self._functions().items():
            setter = f"EvtReaderCallbacks_Set{name}Callback"
            if library.has(setter):
                library.call(setter, self.callbacks, function)

    def read_attributes(self) -> None:
        """From now on, take the attributes of Enter and Leave too."""
        library, user = self._library, self._user
        user.count = ctypes.cast(library.AttributeList_GetNumberOfElements, _COUNT)
        user.get = ctypes.cast(library.AttributeList_GetAttributeByIndex, _GET)
        user.attribute, user.type, user.value = (ctypes.pointer(type_()) for type_ in (UINT32, UINT8, UINT64))

    def begin(self) -> None:
        """Forget what was left of another location."""
        self._user.used = 0
        self._probed, self._matched = {}, {}

    def take(self) -> NDArray[Any]:
        """Return the rows filled, a view; the next ones are written over them."""
        used = self._user.used
        self._user.used = 0
        return self._rows[1 : 1 + used]

    def _functions(self) -> dict[str, Any]:
        """Return the callback of every kind of record: an address, or a C function around a Python one."""
        functions: dict[str, Any] = dict(zip(row.CALLBACKS, otf2_records.addresses(), strict=False))
        for name in row.EVENTS:
            if name not in functions:
                functions[name] = self._made(name)
        return functions

    def _made(self, name: str) -> Any:
        python = interpreted(name) if name in row.CALLBACKS else self._matching(name) if name in row.MATCHED else self._other(name)
        function = ctypes.CFUNCTYPE(INT, UINT64, UINT64, UINT64, ctypes.POINTER(User), POINTER, *row.EVENTS[name].values())(python)
        self._kept.append(function)
        return function

    def _put(self, kind: int, time: int, *fields: int) -> int:
        """Add a row; return 1 for the library to stop, else 0."""
        user = self._user
        if user.used == user.room:
            user.dropped += 1
            return 1
        user.used += 1
        record = self._rows[user.used]
        record["kind"], record["time"] = kind, _signed(time)
        for name, value in itertools.zip_longest(ARGUMENTS, fields, fillvalue=0):
            record[name] = _signed(value)
        return int(user.room - user.used < user.fewest)

    def _other(self, name: str) -> Any:
        kind, types = records.OTHER_KIND + row.OTHERS.index(name), list(row.EVENTS[name].values())

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
            return self._put(records.RECV, time, *self._probed.pop(message, _NOBODY), length)

        def posted(_place: int, time: int, _at: int, _user: Any, _notes: int, message: int, request: int) -> int:
            self._matched[request] = self._probed.pop(message, _NOBODY)
            return self._put(records.IRECV_REQUEST, time, 0, 0, 0, 0, request)

        def completed(_place: int, time: int, _at: int, _user: Any, _notes: int, request: int, length: int) -> int:
            return self._put(records.IRECV, time, *self._matched.pop(request, _NOBODY), length, request)

        return {"MpiMrecv": received, "MpiImrecvRequest": posted, "MpiImrecv": completed}[name]


_NOBODY = (-1, -1, -1)


def interpreted(name: str) -> Any:
    """Return the Python function of a kind of record that has a compiled callback."""
    words = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return getattr(otf2_records, words)


def _signed(value: int) -> int:
    """Return the same 64 bits as a signed number."""
    return value - (1 << 64) if value >= 1 << 63 else value
