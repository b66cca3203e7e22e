"""Reading OTF2: worker processes read shares of an archive, and what they found is collected.

A worker in which the OTF2 library crashes or hangs is replaced by one that leaves out the location it was at.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pathlib
import selectors
import stat
import time
from collections.abc import Callable, MutableMapping
from typing import Any

from numpy.typing import NDArray

from perwiz.errors import LibraryError, TraceError
from perwiz.formats.otf2.definitions import Definitions, definitions
from perwiz.formats.otf2.library.child import Child
from perwiz.formats.source import describe

CONSUMER = "perwiz.formats.otf2.location:Location"
_HEAD = b"OTF2"
"""Bytes 2 to 6 of every anchor file; the first is its type, the second the order of bytes."""
_ANCHOR = 64 << 20
"""No anchor file has so many bytes."""
_WORTH = 8 << 20
"""Bytes of event files that are worth another worker: starting it takes as long as reading them does."""
_PATIENCE = 60.0
"""Seconds without a sign of life after which a worker is taken to hang."""
_CRASHES = 16
"""Crashes of one share after which its remaining locations are given up."""
_GIVEN_UP = "the OTF2 library crashed too often on other locations"


@dataclasses.dataclass(frozen=True)
class Recorded:
    """What one location recorded: the columns its consumer made, records read, and why that is not all, None if it is."""

    ref: int
    arrays: MutableMapping[str, NDArray[Any]]
    records: int
    error: str | None


@dataclasses.dataclass(frozen=True)
class Recording:
    """What an archive holds; locations in the order of their definition."""

    definitions: Definitions
    offsets: list[tuple[int, int, int, float]]
    """(location, time, offset, standard deviation) of the clocks, in ticks; the times of events have them applied."""
    locations: list[Recorded]


def looks_like(path: str) -> bool:
    """Return whether this is the anchor file of an OTF2 archive, its name without `.otf2`, or a folder that holds just one."""
    try:
        return _is_anchor(_found(path))
    except (OSError, ValueError):
        return False


def record(path: str, progress: Callable[[int, int], None] | None = None, consumer: str = CONSUMER) -> Recording:
    """Return what an archive holds. `progress` is told bytes of event files read, and how many there are.

    A location whose events cannot be read, or not to their end, says so; what could be read is there.
    Raises TraceError for an archive whose definitions, or none of whose events, can be read, and LibraryError without the library.
    """
    anchor = _checked(path)
    sizes = _event_files(anchor)
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = max(1, min(cpus, len(sizes), sum(sizes) // _WORTH))
    with _Collection(anchor, sizes, shares, progress or (lambda done, total: None), consumer) as collection:
        return collection.run()


def _found(path: str) -> str:
    """Return the path of the anchor file that is meant."""
    if os.path.isdir(path):
        inside = [name for name in os.listdir(path) if name.endswith(".otf2")]
        if len(inside) == 1:
            return os.path.join(path, inside[0])
    whole = f"{path.rstrip('/')}.otf2"
    anchor = whole if not os.path.isfile(path) and os.path.isfile(whole) else path
    return os.path.realpath(anchor) if os.path.islink(anchor) else anchor


def _is_anchor(path: str) -> bool:
    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with open(path, "rb") as file:
        return file.read(6)[2:] == _HEAD


def _checked(path: str) -> str:
    """Return the path of an anchor file that can be one, with definitions beside it. Raises TraceError else."""
    try:
        anchor = _found(path)
        size = _regular(anchor)
        if not _is_anchor(anchor):
            with open(anchor, "rb") as file:
                raise TraceError(f"{anchor}: {describe(file.read(4096))}, must be the anchor file of an OTF2 archive")
        if size > _ANCHOR:
            raise TraceError(f"{anchor}: {size} bytes, must be the anchor file of an OTF2 archive")
        if not anchor.endswith(".otf2"):
            raise TraceError(f"{anchor}: a name without .otf2, must have it for the other files of the archive to be found")
        _regular(f"{anchor.removesuffix('.otf2')}.def")
    except OSError as error:
        raise TraceError(f"{error.filename or path}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise TraceError(f"{path!r}: {error}") from None
    return anchor


def _regular(path: str) -> int:
    """Return the size of a file. Raises TraceError for an empty one, or what is no file."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        what = "a directory" if stat.S_ISDIR(found.st_mode) else "no regular file"
        raise TraceError(f"{path}: {what}, must be a file of an OTF2 archive")
    if found.st_size == 0:
        raise TraceError(f"{path}: an empty file, must be a file of an OTF2 archive")
    return found.st_size


def _event_files(anchor: str) -> list[int]:
    """Return the sizes of the event files beside an anchor file."""
    folder = pathlib.Path(anchor.removesuffix(".otf2"))
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [entry.stat().st_size for entry in entries if entry.name.endswith(".evt") and entry.is_file()]


class _Collection:
    """The workers of one archive, and what they found."""

    def __init__(self, anchor: str, sizes: list[int], shares: int, progress: Callable[[int, int], None], consumer: str) -> None:
        self._anchor, self._all, self._progress = anchor, sum(sizes), progress
        size = self._all + os.stat(f"{anchor.removesuffix('.otf2')}.def").st_size
        self._asked: dict[str, Any] = {"path": anchor, "bytes": size, "shares": shares, "skip": [], "consumer": consumer}
        self._definitions: Definitions | None = None
        self._recorded: dict[int, Recorded] = {}
        self._offsets: dict[int, list[tuple[int, int, int, float]]] = {}
        self._done, self._crashes = [0] * shares, [0] * shares
        self._children: list[Child] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> _Collection:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.forget()
        self._selector.close()

    def run(self) -> Recording:
        """Return what all workers found."""
        for share in range(self._asked["shares"]):
            self._start({**self._asked, "share": share})
        while self._children:
            for key, _ in self._selector.select(min(1.0, _PATIENCE)):
                self._hear(key.data)
            for child in [child for child in self._children if time.monotonic() > child.heard + _PATIENCE]:
                self._close(child, "hangs")
            self._progress(min(sum(self._done), self._all), self._all)
        self._progress(self._all, self._all)
        return self._recording()

    def _start(self, asked: dict[str, Any]) -> None:
        child = Child(asked)
        self._children.append(child)
        self._selector.register(child.index, selectors.EVENT_READ, child)

    def _hear(self, child: Child) -> None:
        """Take what a worker says. Raises what it cannot go on with."""
        said = child.hear()
        if "failed" in said:
            raise TraceError(f"{said['failed']}, must be of a sound OTF2 archive")
        if "library" in said:
            raise LibraryError(said["library"])
        if "bug" in said:
            raise RuntimeError(said["bug"])
        if "found" in said and self._definitions is None:
            self._definitions = self._usable(definitions(said["anchor"], said["found"]))
        share = child.asked["share"]
        self._done[share] = max(self._done[share], child.done)
        if child.closed:
            self._close(child, "" if child.ended else child.fate())

    def _usable(self, found: Definitions) -> Definitions:
        if not found.locations:
            raise TraceError(f"{self._anchor}: no location is defined, must have at least one")
        if found.resolution < 1:
            raise TraceError(f"{self._anchor}: no clock resolution is defined, must have ticks per second")
        return found

    def _close(self, child: Child, what: str) -> None:
        """Keep what a worker has read; if it was lost, say why of the location it was at, and start another for those after it."""
        self._selector.unregister(child.index)
        child.kill()
        columns = child.columns()
        self._children.remove(child)
        child.forget()
        for line in child.read:
            ref = line["location"]
            self._recorded[ref] = Recorded(ref, columns[ref], line["records"], line["error"])
            self._offsets[ref] = [(ref, *offset) for offset in line["offsets"]]
        if not what:
            return
        if child.begun < 0:
            raise TraceError(f"{self._anchor}: the OTF2 library {what} on its definitions, must be a sound OTF2 archive")
        self._recorded.setdefault(child.begun, Recorded(child.begun, {}, 0, f"the OTF2 library {what}"))
        share = child.asked["share"]
        self._crashes[share] += 1
        if self._crashes[share] < _CRASHES:
            self._start({**child.asked, "skip": [*self._recorded]})

    def _recording(self) -> Recording:
        assert self._definitions
        found = self._definitions
        locations = [self._recorded.get(place.ref, Recorded(place.ref, {}, 0, _GIVEN_UP)) for place in found.locations]
        records = sum(one.records for one in locations)
        errors = [one.error for one in locations if one.error]
        if not records:
            what = f"no event record can be read ({errors[0]})" if errors else "no event record"
            raise TraceError(f"{self._anchor}: {what}, must have at least one")
        whole = [one if one.arrays else dataclasses.replace(one, arrays=self._nothing(one.ref)) for one in locations]
        return Recording(found, [offset for one in locations for offset in self._offsets.get(one.ref, ())], whole)

    def _nothing(self, ref: int) -> dict[str, NDArray[Any]]:
        """Return the columns of a location that has no events."""
        module, _, name = self._asked["consumer"].partition(":")
        return getattr(importlib.import_module(module), name)(self._definitions, ref).result()
