"""The OTF2 C library, loaded with ctypes: the one of the package `otf2`, else the system's.

    library = load()
    reader = library.call("Reader_Open", b"traces.otf2")    # checked: raises Failure for an error code or a null pointer
    library.call("Reader_Close", reader)
    code = library.Reader_Close(reader)                     # raw: the ctypes function OTF2_Reader_Close, unchecked

Names are those of the C functions without `OTF2_`. Pointers are integers, so are enums; strings are bytes. The prototypes of all
EvtWriter_<record>, EvtReaderCallbacks_Set<record>Callback and of what the reader uses are declared here; others are declared once with
`library.declare("Archive_Close", ERROR, POINTER)`. `library.has(name)` says whether this version of the library has a function.
The library prints nothing on stderr, but it may abort the process when it reads damaged files.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import importlib.machinery
import importlib.util
import os
from collections.abc import Iterator
from typing import Any

from perwiz.errors import LibraryError
from perwiz.formats.otf2.library.events import EVENTS

POINTER, TEXT, UINT8, UINT32, UINT64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64
INT64, INT, DOUBLE = ctypes.c_int64, ctypes.c_int, ctypes.c_double


class ERROR(ctypes.c_int):
    """The result type of a function that returns an OTF2 error code."""


_GET = (ERROR, POINTER, POINTER)
_READ = (ERROR, POINTER, POINTER, UINT64, POINTER)
_REGISTER = (ERROR, POINTER, POINTER, POINTER, POINTER)
_KINDS = ("GlobalDef", "Def", "Evt")
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "Error_GetName": (TEXT, INT),
    "Error_GetDescription": (TEXT, INT),
    "Error_RegisterCallback": (POINTER, POINTER, POINTER),
    "Reader_Open": (POINTER, TEXT),
    "Reader_Close": (ERROR, POINTER),
    "Reader_SetSerialCollectiveCallbacks": (ERROR, POINTER),
    "Reader_SelectLocation": (ERROR, POINTER, UINT64),
    **{f"Reader_{verb}{kind}Files": (ERROR, POINTER) for verb in ("Open", "Close") for kind in ("Def", "Evt")},
    "Reader_GetGlobalDefReader": (POINTER, POINTER),
    "Reader_GetDefReader": (POINTER, POINTER, UINT64),
    "Reader_GetEvtReader": (POINTER, POINTER, UINT64),
    **{f"{kind}ReaderCallbacks_New": (POINTER,) for kind in _KINDS},
    **{f"{kind}ReaderCallbacks_Delete": (None, POINTER) for kind in _KINDS},
    **{f"Reader_Register{kind}Callbacks": _REGISTER for kind in _KINDS},
    **{f"Reader_Close{kind}Reader": (ERROR, POINTER, POINTER) for kind in _KINDS},
    "Reader_ReadGlobalDefinitions": _READ,
    "Reader_ReadLocalDefinitions": _READ,
    "Reader_ReadLocalEvents": _READ,
    "EvtReader_ApplyMappingTables": (ERROR, POINTER, INT),
    "EvtReader_ApplyClockOffsets": (ERROR, POINTER, INT),
    "Reader_GetVersion": (ERROR, POINTER, POINTER, POINTER, POINTER),
    "Reader_GetPropertyNames": (ERROR, POINTER, POINTER, POINTER),
    "Reader_GetProperty": (ERROR, POINTER, TEXT, POINTER),
    **{f"Reader_Get{what}": _GET for what in ("MachineName", "Creator", "Description", "FileSubstrate")},
    **{f"EvtReaderCallbacks_Set{name}Callback": (ERROR, POINTER, POINTER) for name in EVENTS},
    **{f"EvtWriter_{name}": (ERROR, POINTER, POINTER, UINT64, *types.values()) for name, types in EVENTS.items()},
}
_SINCE_3_0 = "GlobalDefReaderCallbacks_SetInterCommCallback"
_ErrorCallback = ctypes.CFUNCTYPE(INT, POINTER, TEXT, UINT64, TEXT, INT, TEXT)
"""Its seventh argument, a va_list, is left to the caller."""
_MISSING = "reading and writing OTF2 needs the OTF2 library: pip install otf2, or a system libotf2"


class Failure(Exception):
    """An error code of the library: its number, name and description."""

    def __init__(self, code: int, name: str, description: str) -> None:
        """`name` without the library's prefix."""
        super().__init__(f"{description} ({name})")
        self.code, self.name, self.description = code, name, description


class Library:
    """The loaded library. Attributes are its functions, without `OTF2_`."""

    def __init__(self, handle: ctypes.CDLL, where: str) -> None:
        """`where` is the file it was loaded from."""
        self._handle, self.where = handle, where
        self._cause = 0
        for name, prototype in _PROTOTYPES.items():
            if self.has(name):
                self.declare(name, *prototype)
        self._callback = _ErrorCallback(self._note)
        self.Error_RegisterCallback(self._callback, None)

    def _note(self, _user: int, _file: bytes, _line: int, _function: bytes, code: int, _message: bytes) -> int:
        if code > 0 and not self._cause:
            self._cause = code
        return code

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._handle, f"OTF2_{name}")
        setattr(self, name, function)  # asked for once
        return function

    def has(self, name: str) -> bool:
        """Return whether this version of the library has a function."""
        return hasattr(self._handle, f"OTF2_{name}")

    def declare(self, name: str, result: Any, *arguments: Any) -> None:
        """Say once what a function takes and returns: ERROR for an error code, a ctypes type, or None."""
        function = getattr(self, name)
        function.restype, function.argtypes = result, list(arguments)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what a declared function returns, None for success. Raises Failure for an error code or a null pointer.

        The failure is the first that the library met inside, which says more than what it returns in the end.
        """
        function = getattr(self, name)
        self._cause = 0
        result = function(*arguments)
        if isinstance(result, ERROR):
            if result.value:
                raise self.failure(self._cause or result.value)
            return None
        if result is None and function.restype is POINTER:
            raise self.failure(self._cause or 1)
        return result

    def failure(self, code: int) -> Failure:
        """Return the exception for an error code."""
        name, description = (self.Error_GetName(code) or b"UNKNOWN"), (self.Error_GetDescription(code) or b"unknown error")
        words = description.decode("utf-8", "replace").rstrip(".")
        return Failure(code, name.decode("ascii", "replace").removeprefix("OTF2_"), words[:1].lower() + words[1:])


@functools.cache
def load() -> Library:
    """Return the library, the same at each call. Raises LibraryError if there is none, or one older than 3.0."""
    for path in _candidates():
        try:
            handle = ctypes.CDLL(path)
        except OSError:
            continue
        if hasattr(handle, f"OTF2_{_SINCE_3_0}"):
            return Library(handle, path)
        raise LibraryError(f"{path}: an OTF2 library older than 3.0, must be 3.0 or later")
    raise LibraryError(_MISSING)


def _candidates() -> Iterator[str]:
    spec = importlib.util.find_spec("_otf2")
    for folder in (spec and spec.submodule_search_locations) or ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(folder, f"_otf2{suffix}")
            if os.path.isfile(path):
                yield path
    for name in ("otf2", "open-trace-format2"):
        path_of = ctypes.util.find_library(name)
        if path_of:
            yield path_of
