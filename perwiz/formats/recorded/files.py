"""The files of a recorded run: columns that are mapped, definitions that are read line by line. Several directories may hold one run."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import itertools
import json
import os
import re
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.recorded import MARKER
from perwiz.kernels.recorded import CALL, PART

VERSION = 1
_HEADER = 384
_ABOUT = {"processes", "begun", "real", "clock", "cpu", "metahost", "metahost_name", "host", "mpi", "program", "operations"}
"""What the first definition of a process says beside its rank."""
Rows = NDArray[Any]


@dataclasses.dataclass
class Process:
    """What one process recorded."""

    rank: int
    about: dict[str, Any]
    """The first definition: what the process is."""
    definitions: list[dict[str, Any]]
    """The others, in their order."""
    calls: list[Rows]
    """Per thread: its records."""
    parts: list[Rows]
    broken: bool
    """Whether a definition could not be read."""

    def of(self, key: str) -> list[dict[str, Any]]:
        """Return the definitions of one kind."""
        return [line for line in self.definitions if key in line]


def processes(paths: list[str]) -> list[Process]:
    """Return the processes of a run, sorted by rank.

    Raises TraceError for a directory that is no run, one of another run than the others, and one that nothing was recorded in.
    """
    tokens = {path: _token(path) for path in paths}
    for path, token in tokens.items():
        if token != tokens[paths[0]]:
            raise TraceError(f"{path}: another run than {paths[0]}, must be a part of the same")
    recorded = (process for path in paths for process in _processes(path) if process.about)
    out = sorted(recorded, key=lambda process: process.rank)
    if not out:
        raise TraceError(f"{paths[0]}: a recorded run without processes: the program never came through MPI_Init")
    for before, process in itertools.pairwise(out):
        if before.rank == process.rank:
            raise TraceError(f"{paths[0]}: rank {process.rank} is there twice")
    return out


def _token(path: str) -> str:
    try:
        with open(os.path.join(path, MARKER), encoding="utf-8") as file:
            marker = json.load(file)
    except OSError as error:
        raise TraceError(f"{path}: no recorded run: {MARKER}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise TraceError(f"{path}/{MARKER}: no JSON, must be what perwiz record wrote") from None
    if not isinstance(marker, dict) or marker.get("format") != "perwiz run":
        raise TraceError(f"{path}/{MARKER}: not of perwiz record")
    if marker.get("version") != VERSION:
        raise TraceError(f"{path}/{MARKER}: version {marker.get('version')}, this perwiz reads version {VERSION}")
    return str(marker.get("token"))


def _processes(folder: str) -> list[Process]:
    names = sorted(os.listdir(folder))
    threads = Counter(int(match[1]) for name in names if (match := re.fullmatch(r"calls-(\d+)\.\d+\.npy", name)))
    ranks = [(name, int(match[1])) for name in names if (match := re.fullmatch(r"definitions-(\d+)\.jsonl", name))]
    return [_process(os.path.join(folder, name), rank, threads[rank]) for name, rank in ranks]


def _process(name: str, rank: int, threads: int) -> Process:
    lines, broken = _lines(name)
    about = lines.pop(0) if lines and isinstance(lines[0], dict) and lines[0].get("process") == rank else {}
    if about and not about.keys() >= _ABOUT:
        raise TraceError(f"{name}: its first line lacks {', '.join(sorted(_ABOUT - about.keys()))}")
    folder = os.path.dirname(name)
    calls, parts = (
        [rows(os.path.join(folder, f"{kind}-{rank:06}.{thread}.npy"), dtype) for thread in range(threads)]
        for kind, dtype in (("calls", CALL), ("parts", PART))
    )
    return Process(rank, about, lines, [_used(records) for records in calls], parts, broken)


def _lines(name: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the definitions up to the first that cannot be read, and whether there is one."""
    out: list[dict[str, Any]] = []
    with open(name, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            try:
                out.append(json.loads(line))
            except ValueError:
                return out, True
    return out, False


def rows(name: str, dtype: np.dtype[Any]) -> Rows:
    """Return the rows of a file, mapped: all that fit into it, whatever its header says (a killed process has not corrected it)."""
    with contextlib.suppress(OSError):
        count = (os.path.getsize(name) - _HEADER) // dtype.itemsize
        if count > 0:
            with open(name, "rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise TraceError(f"{name}: no .npy file")
            return np.memmap(name, dtype, "r", _HEADER, (count,)).view(np.recarray)
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
