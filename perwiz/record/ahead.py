"""Recorders that were built ahead of time (`perwiz record --build PREFIX`): where they are looked for, and which is for which MPI.

With one of them nothing is compiled where programs run: no compiler, no network, no writable home. A recorder lies in a folder of its own
in PREFIX/lib/perwiz, and says in `recorder.json` what it is for and what it was made of. The files of a prefix may be moved together.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perwiz.errors import UsageError
from perwiz.record import programs

VARIABLE = "PERWIZ_RECORDERS"
"""Names prefixes to look in first, joined by colons."""
INDEX = "recorder.json"
_LIBRARY = re.compile(r"=> (\S+/lib(?:mpi|mpich|mpi_\w+|simgrid)\.so\S*)")
_FORMAT, _VERSION = "perwiz recorder", 1
_LARGEST = 1 << 16
"""Bytes of the largest index."""


class Recorder(NamedTuple):
    """A recorder in a prefix, and what it is for."""

    folder: pathlib.Path
    mpi: str
    """Name and version; empty if it is for programs without MPI."""
    mpicc: str
    """The compiler wrapper it was built with, a whole path; empty without MPI."""
    library: str
    """The library of the MPI that it loads, links followed; empty if that is unknown."""
    bytes: int
    """The size of that library when the recorder was built."""
    sources: str
    """Tells what it was made of, as `build.sources` does."""


def inside(prefix: str | os.PathLike[str]) -> pathlib.Path:
    """Return the folder of a prefix that its recorders lie in."""
    return pathlib.Path(os.path.abspath(prefix), "lib", "perwiz")


def places() -> list[pathlib.Path]:
    """Return the folders that are looked in, in their order: those of PERWIZ_RECORDERS, that of this Python, those of the system."""
    given = [prefix for prefix in os.environ.get(VARIABLE, "").split(os.pathsep) if prefix]
    return list(dict.fromkeys(map(inside, [*given, sys.prefix, "/usr/local", "/usr"])))


def recorders() -> list[Recorder]:
    """Return the recorders that are found, in the order of the places. Raises UsageError for one that does not say what it is for."""
    return [recorder for place in places() for recorder in _of(place)]


def _of(place: pathlib.Path) -> Iterator[Recorder]:
    with contextlib.suppress(OSError):
        for path in sorted(place.glob(f"*/{INDEX}")):
            yield _read(path)


def _read(path: pathlib.Path) -> Recorder:
    with open(path, "rb") as file:
        text = file.read(_LARGEST)
    try:
        told = json.loads(text)
        good = told["format"] == _FORMAT and told["version"] == _VERSION
        out = Recorder(path.parent, *(told[name] for name in Recorder._fields[1:]))
        good &= isinstance(out.bytes, int) and all(isinstance(part, str) for part in (out.mpi, out.mpicc, out.library, out.sources))
    except (ValueError, KeyError, TypeError, RecursionError):
        good = False
    if not good:
        raise UsageError(f"{path}: damaged or of another version, must be what perwiz record --build writes")
    return out


def write(folder: pathlib.Path, mpi: str, mpicc: str, library: str, sources: str) -> None:
    """Write what a recorder is for; `library` is what the dynamic linker says of the recorder's own library (ldd)."""
    of_mpi = next((os.path.realpath(path) for path in _LIBRARY.findall(library)), "") if mpicc else ""
    told = {"format": _FORMAT, "version": _VERSION, "mpi": mpi, "mpicc": os.path.abspath(mpicc) if mpicc else "", "library": of_mpi}
    told |= {"bytes": os.path.getsize(of_mpi) if of_mpi else 0, "sources": sources}
    (folder / INDEX).write_text(f"{json.dumps(told, indent=1)}\n", encoding="utf-8")


def of(mpicc: str | None) -> list[Recorder]:
    """Return the recorders for a compiler wrapper, whatever they were made of; None: for programs without MPI."""
    if not mpicc:
        return [recorder for recorder in recorders() if not recorder.mpicc]
    path = os.path.abspath(shutil.which(mpicc) or mpicc)
    shmem = programs.compiles_shmem(path)  # of Open MPI both wrappers are links to one file
    same = [one for one in recorders() if one.mpicc and programs.compiles_shmem(one.mpicc) == shmem]
    return [one for one in same if one.mpicc == path or os.path.realpath(one.mpicc) == os.path.realpath(path)]


def found(mpicc: str | None, sources: str) -> pathlib.Path | None:
    """Return the folder of the recorder for a compiler wrapper, or for programs without MPI; None if there is none that fits."""
    return next((recorder.folder for recorder in of(mpicc) if not unfit(recorder, sources)), None)


def unfit(recorder: Recorder, sources: str) -> str:
    """Return why a recorder cannot be used, nothing if it can."""
    if recorder.sources != sources:
        return "was built by another version of perwiz"
    with contextlib.suppress(OSError):
        if recorder.library and os.path.getsize(recorder.library) != recorder.bytes:
            return f"was built for another version of {recorder.library}"
    return ""


def again(recorder: Recorder) -> str:
    """Return the command that builds a recorder anew where it is."""
    return f"perwiz record --build {recorder.folder.parents[2]}{f' --mpicc {recorder.mpicc}' if recorder.mpicc else ''}"


def mpicc_for(command: Sequence[str]) -> str:
    """Return the mpicc that belongs to a command, as `programs.mpicc_for` does.

    Where that is not there: the one of a recorder for the library of MPI that the program loads, or for the launcher beside it.
    """
    mpicc = programs.mpicc_for(list(command))
    if shutil.which(mpicc) or os.path.dirname(mpicc):
        return mpicc
    known = [recorder for recorder in recorders() if recorder.mpicc]
    loaded = "\n".join(map(programs.loaded, command)) if known else ""
    shmem = "liboshmem.so" in loaded
    libraries = {os.path.realpath(path) for path in _LIBRARY.findall(loaded)}
    launcher = os.path.realpath(os.path.dirname(shutil.which(command[0]) or "")) if command and programs.is_launcher(command[0]) else ""
    ways = (lambda one: one.library in libraries, lambda one: os.path.realpath(os.path.dirname(one.mpicc)) == launcher)
    fitting = (one.mpicc for way in ways for one in known if way(one) and programs.compiles_shmem(one.mpicc) == shmem)
    return next(fitting, mpicc)
