"""Reads an OTF2 archive, or a share of its locations, in a process of its own, where a crash of the OTF2 library hurts nobody.

On standard input is a JSON object: `path` of the anchor file, `bytes` of all files, the number `share` of `shares`, the locations to
`skip`, the `consumer` ("module:class") that rows are handed to, and the descriptors `index` and `data`. Arrays go into the file `data`,
back to back; everything else goes through the pipe `index`, one JSON object a line: {"anchor", "found"} the definitions, from share 0;
{"begin"} the location that is read from now on; {"done"} bytes of event files read; {"location", "records", "offsets", "arrays",
"error"} what became of it; and {"end"}, or {"failed"}, {"library"} or {"bug"} instead of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import LibraryError
from perwiz.formats.otf2.definitions import Definitions, Place, definitions
from perwiz.formats.otf2.library.archive import Archive
from perwiz.formats.otf2.library.binding import Failure
from perwiz.formats.otf2.library.packed import Line, packed

ALIGNMENT = 64
"""Bytes to which every array is aligned in the data file."""
_ROOM, _TIMES = 2 << 30, 64
"""Address space: so many bytes, and so many times what the archive's files have."""
_PERIOD = 0.1
"""Seconds between two signs of life."""
_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""


class Consumer(Protocol):
    """Takes the rows of a location, and says what they are."""

    def add(self, rows: NDArray[Any]) -> None:
        """Take the next rows, which are overwritten afterwards."""

    def result(self) -> dict[str, NDArray[Any]]:
        """Return the location's columns."""


class Worker:
    """One process's share of an archive."""

    def __init__(self, asked: dict[str, Any]) -> None:
        """`asked` is described at the head of this module."""
        self._asked = asked
        self._index = os.fdopen(asked["index"], "w", encoding="ascii")
        self._data = os.fdopen(asked["data"], "wb")
        self._folder = asked["path"].removesuffix(".otf2")
        module, _, name = asked["consumer"].partition(":")
        self._consumer = getattr(importlib.import_module(module), name)
        self._bytes, self._written, self._said = 0, 0, 0.0
        self.reading = asked["path"]
        """The file whose damage is everybody's."""

    def say(self, **what: Any) -> None:
        """Send one line."""
        self._index.write(f"{json.dumps(what)}\n")
        self._index.flush()

    def _alive(self, done: int = 0) -> None:
        now = time.monotonic()
        if now > self._said + _PERIOD:
            self.say(done=self._bytes + done)
            self._said = now

    def run(self) -> None:
        """Read and send everything. Raises Failure where the definitions are damaged."""
        archive = Archive(self._asked["path"])
        anchor = archive.anchor()
        self.reading = f"{self._folder}.def"
        found = archive.found(self._size(".def"), self._alive)
        if self._asked["share"] == 0 and not self._asked["skip"]:
            self.say(anchor=anchor, found=found)
        defined = definitions(anchor, found)
        skip = {*self._asked["skip"]}
        sizes = [self._size(f"/{place.ref}.evt") for place in defined.locations]
        mine = deal(sizes, self._asked["shares"])[self._asked["share"]]
        left = [(defined.locations[k], sizes[k]) for k in mine if defined.locations[k].ref not in skip]
        archive.select([place.ref for place, _ in left])
        for place, size in left:
            self.say(begin=place.ref)
            self._read(archive, defined, place, size)
            self._bytes += max(size, 0)
        self.say(end=True)

    def _size(self, name: str) -> int:
        """Return the size of a regular file, -1 if there is none."""
        try:
            found = os.stat(self._folder + name)
        except OSError:
            return -1
        return found.st_size if stat.S_ISREG(found.st_mode) else -1

    def _read(self, archive: Archive, defined: Definitions, place: Place, size: int) -> None:
        """Read and send one location."""
        offsets: list[list[Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        errors: list[str] = []
        archive.records = 0
        try:
            consumer = self._consumer(defined, place.ref)
            with _kept(errors, "its definitions: "):
                offsets = archive.clock(place.ref)
            with _kept(errors):
                for rows in _events(archive, place, size):
                    consumer.add(rows)
                    self._alive(size * archive.records // max(place.events, archive.records, 1))
            arrays = consumer.result()
        except MemoryError:
            errors.append("its events need too much memory")
        if not errors and archive.records < place.events:
            errors.append(f"{archive.records} of {place.events} records")
        error = "; ".join(errors) or None
        self.say(location=place.ref, records=archive.records, offsets=offsets, arrays=self._write(arrays), error=error)

    def _write(self, arrays: dict[str, NDArray[Any]]) -> list[Line]:
        """Return where and how arrays lie in the data file, after writing them there."""
        index: list[Line] = []
        for name, array in arrays.items():
            stored, low = packed(array)
            index.append((name, array.dtype.str, len(array), self._written, stored.dtype.str if len(stored) else "", low))
            self._written += self._data.write(np.ascontiguousarray(stored).data)
            self._written += self._data.write(bytes(-self._written % ALIGNMENT))
        self._data.flush()
        return index


@contextlib.contextmanager
def _kept(errors: list[str], where: str = "") -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        errors.append(f"{where}{failure}")


def _events(archive: Archive, place: Place, size: int) -> Iterator[NDArray[Any]]:
    """Yield the rows of a location; a missing or empty file is one without events, which its definition must confirm."""
    if size < 0 and place.events:
        raise Failure(0, "ENOENT", f"no file {place.ref}.evt")
    if size > 0 or place.events:
        yield from archive.events(place.ref)


def deal(sizes: list[int], shares: int) -> list[list[int]]:
    """Return the indices of each share: the largest first, each to who has least so far."""
    dealt: list[list[int]] = [[] for _ in range(shares)]
    load = [0] * shares
    for k in sorted(range(len(sizes)), key=lambda k: -sizes[k]):
        least = min(range(shares), key=load.__getitem__)
        dealt[least].append(k)
        load[least] += sizes[k] + 1
    return [sorted(share) for share in dealt]


def _isolate(bytes: int) -> None:
    """Limit what this process may use and leave behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_ROOM + _TIMES * bytes,) * 2)


def main() -> int:
    """Return the exit code of a worker."""
    asked = json.load(sys.stdin)
    _isolate(asked["bytes"])
    worker = Worker(asked)
    try:
        worker.run()
    except Failure as failure:
        worker.say(failed=f"{worker.reading}: {failure}")
    except MemoryError:
        worker.say(failed=f"{worker.reading}: what it defines needs too much memory")
    except LibraryError as error:
        worker.say(library=str(error))
    except Exception:
        worker.say(bug=traceback.format_exc())
    return 0


if __name__ == "__main__":
    sys.exit(main())
