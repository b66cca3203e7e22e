"""An OTF2 archive open for reading: its anchor, its global definitions, and the clock and the events of each location.

The OTF2 library may crash, abort or hang on damaged files: only a worker process opens an archive.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

from perwiz.formats.otf2.definitions import Found
from perwiz.formats.otf2.library.binding import DOUBLE, ERROR, INT, INT64, POINTER, TEXT, UINT8, UINT32, UINT64, Failure, load
from perwiz.formats.otf2.library.buffer import Buffer
from perwiz.formats.otf2.library.codes import LOCATION
from perwiz.formats.otf2.library.definitions import DEFINITIONS, LISTS

_AT_ONCE = 1 << 14
"""Definitions read between two signs of life."""
_ALL = (1 << 64) - 1
_INTERRUPTED = 92
_INVALID_RECORD = 79


class Archive:
    """An open archive. Its methods raise Failure where a file is missing or damaged."""

    def __init__(self, path: str) -> None:
        """Raises LibraryError without the library."""
        self._library, self._path = load(), path
        self._reader = self._opened()
        self._buffer = Buffer(self._library)
        self._offsets: list[list[Any]] = []
        """Of the clock that is read."""
        self._noted = ctypes.CFUNCTYPE(INT, POINTER, UINT64, INT64, DOUBLE)(self._note)
        self._clock_callbacks = self._library.call("DefReaderCallbacks_New")
        self._set("DefReaderCallbacks_SetClockOffsetCallback", self._clock_callbacks, self._noted)
        self.records = 0
        """Records read of the location that `events` was last asked for."""

    def _opened(self) -> int:
        reader: int = self._library.call("Reader_Open", self._path.encode("utf-8", "surrogateescape"))
        self._library.call("Reader_SetSerialCollectiveCallbacks", reader)
        return reader

    def anchor(self) -> dict[str, Any]:
        """Return what the anchor file says, by the names of the fields of Definitions."""
        version, substrate = [UINT8(), UINT8(), UINT8()], UINT8()
        self._library.call("Reader_GetVersion", self._reader, *map(ctypes.byref, version))
        self._library.call("Reader_GetFileSubstrate", self._reader, ctypes.byref(substrate))
        return {
            "creator": self._text("Reader_GetCreator"),
            "description": self._text("Reader_GetDescription"),
            "machine": self._text("Reader_GetMachineName"),
            "version": [part.value for part in version],
            "substrate": substrate.value,
            "properties": self._properties(),
        }

    def _text(self, name: str, *key: bytes) -> str:
        value = TEXT()
        self._library.call(name, self._reader, *key, ctypes.byref(value))
        return _decoded(value.value)

    def _properties(self) -> dict[str, str]:
        count, names = UINT32(), ctypes.POINTER(TEXT)()
        self._library.call("Reader_GetPropertyNames", self._reader, ctypes.byref(count), ctypes.byref(names))
        keys = [names[k] or b"" for k in range(count.value)]
        return {_decoded(key): self._text("Reader_GetProperty", key) for key in keys}

    def found(self, size: int, alive: Callable[[], None]) -> Found:
        """Return the global definitions, whose file has so many bytes; `alive` is called from time to time."""
        taken = _Taken(size)
        callbacks = self._library.call("GlobalDefReaderCallbacks_New")
        for name, types in DEFINITIONS.items():
            self._set(f"GlobalDefReaderCallbacks_Set{name}Callback", callbacks, taken.callback(name, types))
        definitions = self._library.call("Reader_GetGlobalDefReader", self._reader)
        self._library.call("Reader_RegisterGlobalDefCallbacks", self._reader, definitions, callbacks, None)
        read = UINT64(_AT_ONCE)
        while read.value == _AT_ONCE:
            alive()
            try:
                self._library.call("Reader_ReadGlobalDefinitions", self._reader, definitions, _AT_ONCE, ctypes.byref(read))
            except Failure as failure:
                raise taken.failure or failure from None
        self._library.call("Reader_CloseGlobalDefReader", self._reader, definitions)
        if any(kind == LOCATION for *_, kind in taken.found["Attribute"]):
            self._buffer.read_attributes()
        return taken.found

    def _set(self, name: str, callbacks: int, function: Any) -> None:
        self._library.declare(name, ERROR, POINTER, POINTER)
        self._library.call(name, callbacks, function)

    def select(self, locations: list[int]) -> None:
        """Say whose clocks and events will be read, and nobody else's: the library looks for each among all that were ever selected."""
        self._library.call("Reader_Close", self._reader)
        self._reader = self._opened()
        for ref in locations:
            self._library.call("Reader_SelectLocation", self._reader, ref)
        for kind in ("Def", "Evt"):
            self._library.call(f"Reader_Open{kind}Files", self._reader)

    def clock(self, ref: int) -> list[list[Any]]:
        """Return (time, offset, standard deviation) of a location's clock, in ticks. Puts them and its maps of numbers in effect."""
        self._offsets = []
        definitions = self._library.call("Reader_GetDefReader", self._reader, ref)
        self._library.call("Reader_RegisterDefCallbacks", self._reader, definitions, self._clock_callbacks, None)
        try:
            self._library.call("Reader_ReadLocalDefinitions", self._reader, definitions, _ALL, ctypes.byref(UINT64()))
        finally:
            self._library.Reader_CloseDefReader(self._reader, definitions)
        return self._offsets

    def _note(self, _user: int, time: int, offset: int, deviation: float) -> int:
        self._offsets.append([time, offset, deviation])
        return 0

    def events(self, ref: int) -> Iterator[NDArray[Any]]:
        """Yield the rows of a location's events in the order of its file, some at a time; the next ones overwrite them."""
        library, reader, buffer = self._library, self._reader, self._buffer
        events = library.call("Reader_GetEvtReader", reader, ref)
        library.call("EvtReader_ApplyMappingTables", events, 1)
        library.call("EvtReader_ApplyClockOffsets", events, 1)
        library.call("Reader_RegisterEvtCallbacks", reader, events, buffer.callbacks, buffer.address)
        buffer.begin()
        self.records = 0
        try:
            while True:
                rows, failure, more = self._some(events)
                if len(rows):
                    yield rows
                if failure:
                    raise failure
                if not more:
                    return
        finally:
            library.Reader_CloseEvtReader(reader, events)

    def _some(self, events: int) -> tuple[NDArray[Any], Failure | None, bool]:
        """Return the next rows, why there are no more, and whether there may be more."""
        read, failure, full = UINT64(), None, False
        try:
            self._library.call("Reader_ReadLocalEvents", self._reader, events, self._buffer.records, ctypes.byref(read))
        except Failure as caught:
            full = caught.code == _INTERRUPTED
            failure = None if full else caught
        self.records += read.value
        return self._buffer.take(), failure, full or read.value == self._buffer.records


class _Taken:
    """What the callbacks of one reading took."""

    def __init__(self, size: int) -> None:
        self.found: Found = {name: [] for name in DEFINITIONS}
        self.failure: Failure | None = None
        self._size = size
        self._callbacks: list[Any] = []

    def callback(self, name: str, types: tuple[Any, ...]) -> Any:
        """Return a C function that keeps a kind of definition; this object keeps the function."""
        lines = self.found[name]
        array = next((k for k, kind in enumerate(types) if kind in LISTS), 0)
        short = [k for k, kind in enumerate(types) if kind is UINT32]

        def keep(_user: int, *arguments: Any) -> int:
            line = [_decoded(argument) if kind is TEXT else argument for kind, argument in zip(types, arguments, strict=True)]
            for k in short:
                if line[k] == 0xFFFFFFFF:
                    line[k] = -1
            if array:
                count = arguments[array - 1]
                if count > self._size:
                    self.failure = Failure(_INVALID_RECORD, "INVALID_RECORD", f"{name} {line[0]} of {count} members")
                    return 1
                line[array - 1 : array + 1] = [arguments[array][:count]]
            lines.append(line)
            return 0

        function = ctypes.CFUNCTYPE(INT, POINTER, *types)(keep)
        self._callbacks.append(function)
        return function


def _decoded(text: bytes | None) -> str:
    return (text or b"").decode("utf-8", "replace")
