"""Reading OTF2: worker processes read the locations of an archive, and what they found is collected.

A worker in which the OTF2 library crashes or hangs is replaced by another, and the location it was at is left out.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import stat
import time
from collections.abc import Callable, Container, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any

from numpy.typing import NDArray

from perwiz import allowed
from perwiz.errors import TraceError
from perwiz.formats.foreign import refusal
from perwiz.formats.otf2.definitions import Definitions, Location
from perwiz.formats.otf2.files import anchor_of, definitions_of, is_anchor
from perwiz.formats.otf2.library.packed import Arrays, Asked, Task, consumer_class, in_memory
from perwiz.formats.otf2.library.process import Process

CONSUMER = "perwiz.formats.otf2.location:Location"
_ANCHOR = 64 << 20
"""No anchor file has so many bytes."""
_WORTH = 8 << 20
"""Bytes of event files that are worth another worker: starting it takes as long as reading them does."""
_PATIENCE = 60.0
"""Seconds without a sign of life after which a worker is taken to hang."""
_TOGETHER = 256 << 10
"""Bytes of event files that one task has, at most, where it has several."""
_LEAST = 1 << 10
"""Bytes that an event file counts as, at least."""
_LOSSES = 16
"""Lost workers, for each that there are at a time, after which the remaining locations are given up."""
_GIVEN_UP = "the OTF2 library crashed too often on other locations"


@dataclasses.dataclass(frozen=True)
class Recorded:
    """What one location recorded: records read, and why that is not all, None if it is; the columns its consumer made."""

    ref: int
    records: int
    error: str | None
    arrays: Arrays
    """The columns of this location and of those that were read with it."""
    place: int
    """Which of these it is."""

    def column(self, name: str) -> NDArray[Any]:
        """Return one of its columns, to be read only."""
        return self.arrays.of(name, self.place, self.place + 1)


@dataclasses.dataclass(frozen=True)
class Recording:
    """What an archive holds; locations in the order of their definition."""

    definitions: Definitions
    offsets: list[tuple[int, int, int, float]]
    """(location, time, offset, standard deviation) of the clocks, in ticks; the times of events have them applied."""
    locations: list[Recorded]
    told: Callable[[Any, list[Recorded]], Any] = lambda state, rows: state
    """Returns the state of all locations, given that of those that were read here, and these."""


Kept = Callable[[Definitions], Container[int]]
"""Returns the locations to be read."""


def record(
    path: str, progress: Callable[[int, int], None] | None = None, consumer: str = CONSUMER, kept: Kept | None = None, others: int = 0
) -> Recording:
    """Return what an archive holds. `progress` is told bytes of event files read, and how many there are.

    If only some locations are `kept`, of others nothing is there; so many `others` read theirs on the same machine.

    A location whose events cannot be read, or not to their end, says so; what could be read is there.
    Raises TraceError for an archive whose definitions, or none of whose events, can be read, and LibraryError without the library.
    """
    with _Workers(checked(path), consumer, kept, others) as workers:
        return workers.run(progress or (lambda done, total: None))


def checked(path: str) -> str:
    """Return the path of an anchor file that can be one, with definitions beside it. Raises TraceError else."""
    try:
        anchor = anchor_of(path)
        size = _regular(anchor)
        if not is_anchor(anchor):
            with open(anchor, "rb") as file:
                raise TraceError(f"{anchor}: {refusal(file.read(4096), anchor, 'must be the anchor file of an OTF2 archive')}")
        if size > _ANCHOR:
            raise TraceError(f"{anchor}: {size} bytes, must be the anchor file of an OTF2 archive")
        if not anchor.endswith(".otf2"):
            raise TraceError(f"{anchor}: a name without .otf2, must have it for the other files of the archive to be found")
        definitions = definitions_of(anchor)
        if not os.path.lexists(definitions):
            raise TraceError(f"{anchor}: an anchor file without its definitions, must have {os.path.basename(definitions)} beside it")
        _regular(definitions)
    except OSError as error:
        raise TraceError(f"{error.filename or path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:  # each Python words it otherwise
        raise TraceError(f"{path!r}: {'embedded null byte' if chr(0) in path else error}") from None
    return anchor


def _regular(path: str) -> int:
    """Return the size of a file. Raises TraceError for an empty one, or what is no file."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise TraceError(f"{path}: {what}, must be a file of an OTF2 archive")
    if status.st_size == 0:
        raise TraceError(f"{path}: an empty file, must be a file of an OTF2 archive")
    return status.st_size


def event_files(anchor: str) -> dict[str, int]:
    """Return the sizes of the event files beside an anchor file, by name."""
    folder = pathlib.Path(anchor.removesuffix(".otf2"))
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(".evt") and entry.is_file()}


class _Workers:
    """The processes that read one archive, each some locations at a time, and what they found."""

    def __init__(self, anchor: str, consumer: str, kept: Kept | None, others: int) -> None:
        self._anchor, self._sizes, self._kept = anchor, event_files(anchor), kept
        self._passed_over: set[int] = set()
        self._bytes = sum(self._sizes.values())
        self._most = max(1, min(allowed.processors() // (others + 1), len(self._sizes), self._bytes // _WORTH))
        size = self._bytes + os.stat(definitions_of(anchor)).st_size
        self._asked = Asked(anchor, size, consumer, definitions=True)
        self._definitions: Definitions | None = None
        self._left: list[Task] = []
        self._processes: list[Process] = []
        self._recorded: dict[int, Recorded] = {}
        self._failed: dict[int, str] = {}
        self._offsets: dict[int, list[tuple[int, int, int, float]]] = {}
        self._done, self._lost = 0, 0

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.end()

    def run(self, progress: Callable[[int, int], None]) -> Recording:
        """Return what all workers found."""
        while len(self._processes) < self._most:
            self._start()
        while self._processes:
            ready = wait([process.connection for process in self._processes], min(1.0, _PATIENCE))
            for process in [*self._processes]:
                if process in self._processes and process.connection in ready:
                    self._hear(process)
            for process in [*self._processes]:
                if not process.waits and time.monotonic() > process.heard + _PATIENCE:
                    self._lose(process, "hangs")
            progress(min(self._done + sum(process.done for process in self._processes), self._bytes), self._bytes)
        progress(self._bytes, self._bytes)
        return self._recording()

    def _start(self) -> None:
        self._processes.append(Process(self._asked))
        self._asked = self._asked._replace(definitions=False)

    def _hear(self, process: Process) -> None:
        """Take what a worker says, and give each that waits the next location. Raises what it cannot go on with."""
        try:
            defined = process.hear()
        except (EOFError, OSError):
            self._lose(process, process.fate())
            return
        if defined:
            self._begin(defined)
        if self._definitions:
            for waiting in [process for process in self._processes if process.waits]:
                if self._left:
                    waiting.give(self._left.pop())
                else:
                    self._end(waiting)

    def _begin(self, defined: Definitions) -> None:
        """Make tasks of the locations, the smallest first: they are taken from the end."""
        if not defined.locations:
            raise TraceError(f"{self._anchor}: no location is defined, must have at least one")
        if defined.resolution < 1:
            raise TraceError(f"{self._anchor}: no clock resolution is defined, must have ticks per second")
        self._definitions = defined
        kept = self._kept(defined) if self._kept else None
        locations = [location for location in defined.locations if kept is None or location.ref in kept]
        self._passed_over = {location.ref for location in defined.locations} - {location.ref for location in locations}
        self._left = sorted(self._tasks(locations) if locations else [], key=lambda task: task.bytes, reverse=True)[::-1]

    def _tasks(self, locations: Sequence[Location]) -> Iterator[Task]:
        """Yield a task for each location; for several that follow each other if they are small: one by one costs more than reading."""
        sizes = [self._sizes.get(f"{location.ref}.evt", -1) for location in locations]
        begin = taken = 0
        for end, size in enumerate(sizes):
            taken += max(size, _LEAST)
            if end > begin and taken > _TOGETHER:
                yield Task(tuple(locations[begin:end]), tuple(sizes[begin:end]))
                begin, taken = end, max(size, _LEAST)
        yield Task(tuple(locations[begin:]), tuple(sizes[begin:]))

    def _end(self, process: Process) -> None:
        """End a worker and keep what it has read."""
        found = process.found()
        self._processes.remove(process)
        process.end()
        self._done += process.done
        for ref, told, arrays, place in found:
            found_there = (arrays, place) if arrays.told(place) else (self._nothing, 0)
            self._recorded[ref] = Recorded(ref, told.records, told.error, *found_there)
            self._offsets[ref] = [(ref, *offset) for offset in told.offsets]

    def _lose(self, process: Process, what: str) -> None:
        """Give up the location that a worker is at, or if these are several read each alone; start another worker for what is left."""
        self._end(process)
        if process.task is None:
            raise TraceError(f"{self._anchor}: the OTF2 library {what} on its definitions, must be a sound OTF2 archive")
        task = process.task
        if len(task.locations) > 1:
            self._left += [Task((location,), (size,)) for location, size in zip(task.locations, task.sizes, strict=True)]
        else:
            self._failed[task.locations[0].ref] = f"the OTF2 library {what}"
            self._lost += 1
        if self._lost >= _LOSSES * self._most:
            self._left = []
        if self._left:
            self._start()

    def _recording(self) -> Recording:
        assert self._definitions
        for ref in (location.ref for location in self._definitions.locations):
            if ref not in self._recorded:
                error = None if ref in self._passed_over else self._failed.get(ref, _GIVEN_UP)
                self._recorded[ref] = Recorded(ref, 0, error, self._nothing, 0)
        locations = [self._recorded[location.ref] for location in self._definitions.locations]
        errors = sorted((recorded.error for recorded in locations if recorded.error), key=lambda error: error == _GIVEN_UP)
        if not any(recorded.records for recorded in locations) and not self._kept:
            what = f"no event record can be read ({errors[0]})" if errors else "no event record"
            raise TraceError(f"{self._anchor}: {what}, must have at least one")
        return Recording(self._definitions, [offset for recorded in locations for offset in self._offsets.get(recorded.ref, ())], locations)

    @functools.cached_property
    def _nothing(self) -> Arrays:
        """The columns of a location of which nothing could be read: the same for all."""
        assert self._definitions
        return in_memory(consumer_class(self._asked.consumer)(self._definitions, self._definitions.locations[0].ref).result())
