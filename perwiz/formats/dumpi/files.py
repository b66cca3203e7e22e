"""The files of a DUMPI trace: the list (.meta) and what it names, and the parts of one file of a process.

u64 magic, body, header, footer, keys, and the index at the end: u64 magic, up to three places that later versions added, and those of
header, body, footer and keys. All numbers are big endian. A file without its index was cut off: its body begins behind the first magic.
"""

from __future__ import annotations

import dataclasses
import os
import re

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.formats.dumpi.functions import Version
from perwiz.formats.source import content, files_in, head_of
from perwiz.words import shown

MAGIC = b"\xff\xaa\xddDUMPI"
_LARGEST, _WHAT, _LARGEST_LIST = 1 << 36, "records of DUMPI", 1 << 20
_MOST = 1 << 16
"""Files of a directory that are looked at."""
MOST_RANKS = 1 << 20
_NUMBER = re.compile(r"-(\d{4,9})\.bin(?:\.gz|\.zst)?$")
_NEWEST: Version = (1, 0, 0)
_SIZES = (0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)
"""Bytes of the datatypes of MPI in the order of their numbers, as most 64-bit machines have them: those of files that do not say."""


class _Places:
    """Where the parts of a file of a process begin, 0 unknown."""

    def __init__(self, data: bytes) -> None:
        self.sizes = self.addresses = self.counters = self.header = self.body = self.footer = 0
        found = data.rfind(MAGIC, max(0, len(data) - 64))
        places = [int.from_bytes(data[at : at + 8], "big") for at in range(found + 8, len(data), 8)]
        self.whole = found > 0 and 4 <= len(places) <= 7 and (len(data) - found) % 8 == 0 and all(place < len(data) for place in places)
        if self.whole:
            self.header, self.body, self.footer, _ = places[-4:]
            self.sizes, self.addresses, self.counters = [*[0] * (7 - len(places)), *places[:-4]]
            self.whole = self.header >= self.body + 8 >= 16


@dataclasses.dataclass(frozen=True, eq=False)
class Process:
    """What the file of a process holds beside its calls, and where these are."""

    path: str
    rank: int
    size: int
    """Bytes of the file, unpacked."""
    data: NDArray[np.uint8]
    """These bytes; none of them once the calls are taken."""
    first: int
    """Byte where the records begin."""
    end: int
    second: int
    """The second that the times of the records count from, since 1970."""
    version: Version
    host: str
    sizes: NDArray[np.int64]
    """Bytes per datatype by its number, -1 unknown."""
    whole: bool
    """Whether the file ends with its index."""


def process(path: str, rank: int) -> Process:
    """Return the file of a process. Raises TraceError for one that is none, or so short that it has no records."""
    raw = content(path, _LARGEST, _WHAT)
    if not raw.startswith(MAGIC) or len(raw) < 16:
        raise TraceError(f"{path}: {len(raw)} bytes, must be {_WHAT} behind their magic number")
    places = _Places(raw)
    begin = places.body if places.whole else 8
    version, host = _header(raw, places.header) if places.whole else (_NEWEST, "")
    second = int.from_bytes(raw[begin + 4 : begin + 8], "big", signed=True)
    end = places.header - 2 if places.whole else len(raw)
    return Process(
        path, rank, len(raw), np.frombuffer(raw, "u1"), begin + 8, end, second, version, host, _sizes(raw, places.sizes), places.whole
    )


def _header(raw: bytes, at: int) -> tuple[Version, str]:
    """Return the version and the name of the node."""
    length = int.from_bytes(raw[at + 11 : at + 13], "big")
    host = raw[at + 13 : at + 13 + length].decode(errors="replace")
    return (raw[at], raw[at + 1], raw[at + 2]) if len(raw) > at + 13 else _NEWEST, host


def _sizes(raw: bytes, at: int) -> NDArray[np.int64]:
    """Return the bytes per datatype. What the file does not tell is what most machines have, or unknown."""
    out = np.full(1 << 16, -1, "i8")
    out[: len(_SIZES)] = _SIZES
    count = min(int.from_bytes(raw[at : at + 4], "big"), (len(raw) - at - 4) // 4, len(out)) if at else 0
    told = np.frombuffer(raw, ">i4", max(count, 0), at + 4) if count > 0 else np.empty(0, ">i4")
    out[: len(told)] = np.where(told > 0, told, out[: len(told)])
    return out


def _pairs(path: str) -> dict[str, str]:
    """Return what a list says. Raises TraceError."""
    text = content(path, _LARGEST_LIST, "the list of a DUMPI trace").decode(errors="replace")
    return {key.strip(): value.strip() for key, mark, value in (line.partition("=") for line in text.splitlines()) if mark}


def is_list(head: bytes) -> bool:
    """Return whether a file that begins so is the list of a DUMPI trace."""
    keys = {line.partition(b"=")[0].strip() for line in head.split(b"\n")}
    return b"\0" not in head and {b"fileprefix", b"numprocs"} <= keys


def entry(path: str) -> str:
    """Return the file that a trace is read from: the list, the file of a process, or the only list in that directory, or that directory
    itself if it has none but files of processes; empty if there is nothing."""
    if not os.path.isdir(path):
        head = head_of(path)
        return path if head.startswith(MAGIC) or is_list(head) else ""
    inside = files_in(path, _MOST)
    lists = [file for file in inside if file.endswith(".meta") and is_list(head_of(file))]
    if lists:
        return lists[0] if len(lists) == 1 else path
    return path if any(_NUMBER.search(file) and head_of(file).startswith(MAGIC) for file in inside) else ""


def parts(file: str) -> tuple[dict[int, str], int, bool]:
    """Return the files that an entry stands for by their ranks, how many processes there were, and whether that is told, or the least.

    A file of a process stands for its trace, if its name has its rank: the others are beside it. Raises TraceError for a list that says
    no number of processes or whose files are all missing, and for a directory of several traces.
    """
    if os.path.isdir(file):
        found = [name for name in files_in(file, _MOST) if _NUMBER.search(name) and head_of(name).startswith(MAGIC)]
        stems = sorted({_NUMBER.sub("", name) for name in found})
        if len(stems) != 1:
            some = f"{os.path.basename(stems[0])} and {os.path.basename(stems[1])} among them" if stems else ""
            raise TraceError(f"{file}: {len(stems)} DUMPI traces, {some}, must be given as one: its .meta file")
        return _numbered(found)
    if not is_list(head_of(file)):
        name = _NUMBER.search(file)
        stem = _NUMBER.sub("", file)
        beside = [
            path
            for path in files_in(os.path.dirname(file) or ".", _MOST)
            if _NUMBER.sub("", os.path.normpath(path)) == os.path.normpath(stem)
        ]
        return _numbered([path for path in beside if _NUMBER.search(path)]) if name else ({0: file}, 1, False)
    said = _pairs(file)
    count = said.get("numprocs", "")
    if not (count.isascii() and count.isdigit() and len(count) < 8 and 1 <= int(count) <= MOST_RANKS):
        raise TraceError(f"{file}: numprocs '{shown(count, 20)}', must be from 1 to {MOST_RANKS}")
    folder, prefix = os.path.dirname(file), os.path.basename(said.get("fileprefix", ""))
    prefixes = dict.fromkeys((prefix, os.path.basename(file).removesuffix(".meta")))
    for stem in prefixes:
        pattern = re.compile(re.escape(stem) + r"-(\d{1,9})\.bin(\.gz|\.zst)?$")
        mine = {int(hit[1]): path for path in files_in(folder or ".", _MOST) if (hit := pattern.match(os.path.basename(path)))}
        mine = {rank: path for rank, path in sorted(mine.items()) if rank < int(count)}
        if mine:
            return mine, int(count), True
    raise TraceError(f"{file}: no file {shown(prefix)}-0000.bin ... beside it, must have those of its {count} processes")


def _numbered(paths: list[str]) -> tuple[dict[int, str], int, bool]:
    """Return files by the ranks in their names, and how many processes there were at least."""
    ranks = {int(hit[1]): path for path in paths if (hit := _NUMBER.search(path))}
    ranks = {rank: path for rank, path in sorted(ranks.items()) if rank < MOST_RANKS}
    return ranks, max(ranks, default=-1) + 1, False
