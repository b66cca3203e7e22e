"""The files of a recorded run: columns that are mapped, definitions that are read line by line. Several directories may hold one run."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.recorded import MARKER
from perwiz.formats.recorded.definitions import KINDS, MOST_RANKS, About, Communicator, Counted, Definition, Marker, definition, first_key
from perwiz.formats.typed import Mistyped, NoJson, parsed, typed
from perwiz.kernels.recorded import CALL, PART

VERSION = 1
_HEADER = 384
Rows = NDArray[Any]
_D = TypeVar("_D", bound=Definition)


@dataclasses.dataclass
class Process:
    """What one process recorded."""

    path: str
    """The file of its definitions."""
    about: About
    """The first definition: what the process is."""
    definitions: list[Definition]
    """The others, in their order."""
    calls: list[Rows]
    """Per thread: its records."""
    parts: list[Rows]
    counts: list[Rows]
    """Per thread: the values of the counters around its records; none if nothing was counted."""
    faults: tuple[str, ...]
    """Which definition and all behind it could not be read, in words; also of processes before it, or behind the last, of which no
    definition could.
    """

    @property
    def rank(self) -> int:
        """Its rank in MPI_COMM_WORLD."""
        return self.about.process

    def of(self, kind: type[_D]) -> list[_D]:
        """Return the definitions of one kind."""
        return [line for line in self.definitions if isinstance(line, kind)]


def processes(paths: list[str], without: type[Definition] | None = None) -> list[Process]:
    """Return the processes of a run, sorted by rank, without their definitions of one kind.

    Raises TraceError for a directory that is no run, one of another run than the others, and one that nothing was recorded in.
    """
    tokens = {path: token_of(path) for path in paths}
    for path, token in tokens.items():
        if token != tokens[paths[0]]:
            raise TraceError(f"{path}: another run than {paths[0]}, must be a part of the same")
    recorded = [process for path in paths for process in _processes(path, without)]
    out = sorted(recorded, key=lambda process: process.rank)
    if not out:
        raise TraceError(f"{paths[0]}: a recorded run without processes: the program never came through MPI_Init")
    for before, process in itertools.pairwise(out):
        if before.rank == process.rank:
            raise TraceError(f"{paths[0]}: rank {process.rank} is there twice")
    return out


def token_of(path: str) -> str:
    """Return what tells the run in a directory from others. Raises TraceError for a directory that is none."""
    name = os.path.join(path, MARKER)
    try:
        with open(name, encoding="utf-8", errors="surrogateescape") as file:
            marker = typed(parsed(file.read()), Marker)
    except OSError as error:
        raise TraceError(f"{path}: no recorded run: {MARKER}: {(error.strerror or str(error)).lower()}") from None
    except NoJson:
        raise TraceError(f"{name}: no JSON, must be what perwiz record wrote") from None
    except Mistyped as error:
        raise TraceError(f"{name}: {error}") from None
    if marker.format != "perwiz run":
        raise TraceError(f"{name}: not of perwiz record")
    if marker.version != VERSION:
        raise TraceError(f"{name}: version {marker.version}, this perwiz reads version {VERSION}")
    return marker.token


def _processes(folder: str, without: type[Definition] | None) -> list[Process]:
    """Return the processes that have come through MPI_Init."""
    out, lost = list[Process](), list[str]()
    names = sorted(os.listdir(folder))
    threads = Counter(int(match[1]) for name in names if (match := re.fullmatch(r"calls-(\d+)\.\d+\.npy", name)))
    for name in names:
        if match := re.fullmatch(r"definitions-(\d+)\.jsonl", name):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                wanted = (line for line in file if KINDS.get(first_key(line)) is not without) if without else file
                about, definitions, fault = _definitions(wanted, path, int(match[1]))
            lost += [fault] if fault else []
            if about:
                out.append(_process(path, about, definitions, threads[about.process], tuple(lost)))
                lost = []
    if out:
        out[-1].faults += tuple(lost)
    return out


def _process(path: str, about: About, definitions: list[Definition], threads: int, faults: tuple[str, ...]) -> Process:
    folder = os.path.dirname(path)
    calls, parts = (
        [rows(os.path.join(folder, f"{kind}-{about.process:06}.{thread}.npy"), dtype) for thread in range(threads)]
        for kind, dtype in (("calls", CALL), ("parts", PART))
    )
    counted = next((len(line.counters) for line in definitions if isinstance(line, Counted)), 0)
    dtype = np.dtype([(name, "<i8", (counted,)) for name in ("entered", "returned")])
    counts = [rows(os.path.join(folder, f"counts-{about.process:06}.{thread}.npy"), dtype) for thread in range(threads * bool(counted))]
    return Process(path, about, definitions, [_used(records) for records in calls], parts, counts, faults)


def elsewhere(path: str, text: str, rank: int, threads: int) -> Process:
    """Return a process that recorded elsewhere, of which the text of its definitions is known, and no call."""
    about, definitions, _ = _definitions(text.splitlines(keepends=True), path, rank)
    assert about, "whoever tells of a process has read what it is"
    calls, parts = ([_no_rows(dtype)] * threads for dtype in (CALL, PART))
    return Process(path, about, definitions, calls, parts, [], ())


def _definitions(lines: Iterable[str], path: str, rank: int) -> tuple[About | None, list[Definition], str]:
    """Return the first definition and those after it, up to a line that is no JSON, and which that is, or nothing. Raises TraceError."""
    about: About | None = None
    out: list[Definition] = []
    comms, left = 0, MOST_RANKS
    for number, line in enumerate(lines, 1):
        try:
            found = definition(line)
            if not about:
                about = _about(found, rank)
                continue
            if isinstance(found, Communicator):
                left -= found.count(comms, about.end, left)
                comms += 1
        except NoJson:
            return about, out, f"{path}:{number}: no JSON: this and what follows in the file is left out"
        except Mistyped as error:
            raise TraceError(f"{path}:{number}: {error}") from None
        out += [found] if found else []
    return about, out, ""


def _about(found: Definition | None, rank: int) -> About:
    if isinstance(found, About) and found.process == rank:
        return found
    raise Mistyped(f"no definition of process {rank}, must be")


def rows(name: str, dtype: np.dtype[Any]) -> Rows:
    """Return the rows of a file, mapped: all that fit into it, whatever its header says (a killed process has not corrected it)."""
    with contextlib.suppress(OSError):
        count = (os.path.getsize(name) - _HEADER) // dtype.itemsize
        if count > 0:
            with open(name, "rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise TraceError(f"{name}: no .npy file")
            return np.memmap(name, dtype, "r", _HEADER, (count,)).view(np.recarray)
    return _no_rows(dtype)


def _no_rows(dtype: np.dtype[Any]) -> Rows:
    return np.recarray(0, dtype)


def _used(calls: Rows) -> Rows:
    """Return the rows that were written: the others, at the end, are zeros."""
    low, high = 0, len(calls)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if calls[middle]["op"] else (low, middle)
    return calls[:low]


def stopped(folder: str) -> dict[int, list[int]]:
    """Return, per error number, the ranks of which a thread had to stop recording; under 0 those of which there is not one row."""
    reasons: dict[int, list[int]] = {}
    names = glob.glob(os.path.join(glob.escape(folder), "definitions-*.jsonl"))
    silent = {int(re.findall(r"\d+", os.path.basename(name))[0]) for name in names}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "calls-*.npy"))):
        start = rows(path, CALL)[:1]
        number = int(start["peer"][0]) if len(start) else 0
        ranks = reasons.setdefault(number, [])
        rank = int(re.findall(r"\d+", os.path.basename(path))[0])
        silent -= {rank} if len(start) else set()
        if rank not in ranks:
            ranks.append(rank)
    stopped = {number: ranks for number, ranks in reasons.items() if number > 0}
    return stopped | ({0: sorted(silent)} if silent else {})
