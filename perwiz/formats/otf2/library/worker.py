"""Reads an OTF2 archive in a process of its own, where a crash of the OTF2 library hurts nobody.

The parent sends `Asked`, then one `Task` after another. What comes back are messages: the definitions, if they were asked for, else None;
while a task lasts bytes of its event files, an integer, from time to time; what it has `Read` at its end. An exception is the last message.
Arrays go into a file that both have open, back to back; only where they lie there is sent.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import LibraryError, TraceError
from perwiz.formats.otf2.definitions import Location, definitions
from perwiz.formats.otf2.library.archive import Archive
from perwiz.formats.otf2.library.binding import Failure
from perwiz.formats.otf2.library.packed import Asked, Read, Task, Told, consumer_class, written

_ROOM, _TIMES = 2 << 30, 64
"""Address space beyond what this process has when it begins: so many bytes, and so many times what the archive's files have."""
_DENSEST = 1032
"""Records that a byte of a file can hold at most: each takes one, before zlib packs it."""
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
    """An archive that is open, and what has been read of it so far."""

    def __init__(self, asked: Asked, parent: Connection[Any, Any], data: int) -> None:
        """`data` is the descriptor of the file for arrays. Raises TraceError where the definitions are damaged."""
        self._parent = parent
        self._data = os.fdopen(data, "wb")
        self._said = 0.0
        self._path = reading = asked.path
        try:
            self._consumer = consumer_class(asked.consumer)
            self._archive = Archive(asked.path)
            anchor = self._archive.anchor()
            reading = f"{asked.path.removesuffix('.otf2')}.def"
            self.definitions = definitions(anchor, self._archive.found(os.stat(reading).st_size, self._alive))
        except Failure as failure:
            raise TraceError(f"{reading}: {failure}, must be of a sound OTF2 archive") from None
        except MemoryError:
            raise TraceError(f"{reading}: what it defines needs too much memory, must be of a sound OTF2 archive") from None

    def _alive(self, done: int = 0) -> None:
        now = time.monotonic()
        if now > self._said + _PERIOD:
            self._parent.send(done)
            self._said = now

    def read(self, task: Task) -> Read:
        """Return what became of some locations, their columns written to the data file."""
        told, tables, done = [], [], 0
        try:
            self._archive.select([location.ref for location in task.locations])
        except Failure as failure:
            raise TraceError(f"{self._path}: {failure}, must be the anchor file of an OTF2 archive") from None
        for location, size in zip(task.locations, task.sizes, strict=True):
            one, table = self._read(location, size, done)
            told.append(one)
            tables.append(table)
            done += max(size, 0)
        at = self._data.tell()
        lines, ends = written(tables, self._data, at)
        self._data.flush()
        return Read(told, lines, ends)

    def _read(self, location: Location, size: int, done: int) -> tuple[Told, dict[str, NDArray[Any]]]:
        """Return what became of one, and its columns; `done` bytes of the task were read before."""
        archive = self._archive
        offsets: list[list[Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        errors: list[str] = []
        archive.records = 0
        try:
            with _kept(errors, "its definitions: "):
                offsets = _possible(archive.clock(location.ref), errors)
            try:
                arrays = self._taken(_events(archive, location, size), location, (done, size), errors)
            except _MoreThanDefinedError:
                arrays = self._taken(_in_time(_events(archive, location, size, more=True)), location, (done, size), errors)
        except MemoryError:
            errors.append("its events need too much memory")
        if not errors and archive.records < location.events:
            errors.append(f"{archive.records} of {location.events} records")
        return Told(archive.records, offsets, "; ".join(errors) or None), arrays

    def _taken(
        self, rows_of: Iterator[NDArray[Any]], location: Location, task: tuple[int, int], errors: list[str]
    ) -> dict[str, NDArray[Any]]:
        """Return the columns of a location, of what can be read of its rows; `task` are the bytes of it read before, and its own."""
        archive, (done, size) = self._archive, task
        consumer: Consumer = self._consumer(self.definitions, location.ref)
        with _kept(errors):
            for rows in rows_of:
                consumer.add(rows)
                self._alive(done + size * archive.records // max(location.events, archive.records, 1))
        return consumer.result()


class _MoreThanDefinedError(Exception):
    """Says that a file has more records than its definition tells: it may be cut off."""


@contextlib.contextmanager
def _kept(errors: list[str], where: str = "") -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        errors.append(f"{where}{failure}")


def _possible(offsets: list[list[Any]], errors: list[str]) -> list[list[Any]]:
    """Return the clock measurements whose times and errors are numbers that can be; of others `errors` gets a line."""
    good = [line for line in offsets if line[0] < 1 << 63 and math.isfinite(line[2])]
    if len(good) < len(offsets):
        time = next(line[0] for line in offsets if line not in good)
        errors.append(f"its definitions: clock offset at tick {time}, must be below 2**63")
    return good


def _in_time(rows_of: Iterator[NDArray[Any]]) -> Iterator[NDArray[Any]]:
    """Yield rows up to the first that is before the one ahead of it: behind the end of a file that is cut off the library goes on with what
    its memory held before.
    """
    last = np.iinfo("i8").min
    for rows in rows_of:
        back = np.flatnonzero(rows["time"] < np.append(last, rows["time"][:-1]))
        if len(back):
            yield rows[: back[0]]
            raise Failure(0, "INVALID_DATA", "its times go back behind these, as of a file that is cut off")
        last = rows["time"][-1]
        yield rows


def _events(archive: Archive, location: Location, size: int, more: bool = False) -> Iterator[NDArray[Any]]:
    """Yield the rows of a location; a missing or empty file is one without events, which its definition must confirm.

    Of a damaged file the library may go on with what its memory held before, without end: then it reads more than its definition tells, for
    which _MoreThanDefinedError is raised but with `more`, and than the file can hold.
    """
    if size < 0 and location.events:
        raise Failure(0, "ENOENT", f"no file {location.ref}.evt")
    if size > 0 or location.events:
        for rows in archive.events(location.ref):
            if 0 < location.events < archive.records and not more:
                raise _MoreThanDefinedError
            if archive.records > _DENSEST * max(size, 1):
                raise Failure(0, "INVALID_DATA", f"{archive.records} records and more, must fit into {size} bytes")
            yield rows


def _isolate(bytes: int) -> None:
    """Limit what this process may use and leave behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm", encoding="ascii") as file:
            has = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + _ROOM + _TIMES * bytes,) * 2)


def main(connection: int, data: int) -> None:
    """Do what the parent asks through a connection, until it asks no more. Both arguments are descriptors."""
    with Connection(connection) as parent, contextlib.suppress(EOFError, BrokenPipeError):
        asked: Asked = parent.recv()
        _isolate(asked.bytes)
        try:
            worker = Worker(asked, parent, data)
            parent.send(worker.definitions if asked.definitions else None)
            while True:
                parent.send(worker.read(parent.recv()))
        except (EOFError, BrokenPipeError):
            raise
        except (LibraryError, TraceError) as error:
            parent.send(error)
        except Exception:
            parent.send(RuntimeError(traceback.format_exc()))
