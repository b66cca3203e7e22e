"""The files of a job that the PyTorch profiler recorded: one per rank."""

from __future__ import annotations

import os
import re

from perwiz.formats.source import MOST_FILES, files_of, head_of, names_in

_NAMED = re.compile(r"\.json(\.gz|\.zst)?$")
_BEGINS = re.compile(rb'(?s)\s*\{.*"(deviceProperties|distributedInfo|baseTimeNanoseconds|schemaVersion)"')
"""Kineto says such things before the list of events."""
_EVENTS = re.compile(rb'(?s)\s*(\{\s*"(displayTimeUnit|traceEvents)".*)?\[?\s*\{.*"cat": ?"(cpu_op|kernel|cuda_runtime|user_annotation)"')
"""Or the list comes first, as tools write it that cut traces."""
_RANK = re.compile(r"rank[-_ ]?(\d{1,7})(?!\d)")
_HANDLER = re.compile(r"(.+)_\d+\.\d+\.pt\.trace\.json")
"""The names that tensorboard_trace_handler gives: host, process and time."""


def is_trace(path: str) -> bool:
    """Return whether this is a file that the profiler wrote."""
    head = head_of(path) if os.path.isfile(path) else b""
    return bool(_BEGINS.match(head) or _EVENTS.match(head))


def parts(path: str) -> list[str]:
    """Return the files that a name stands for, none if there are none: itself, several joined by colons, or those of a directory.

    A packed file is left out where it is beside itself as it was before packing.
    """
    found = files_of(path, _NAMED.search, is_trace)
    return [file for file in found if not (file.endswith(".gz") and file[:-3] in found and _packs(file, file[:-3]))]


def _packs(packed: str, plain: str) -> bool:
    """Return whether as much is packed as there is in the other file: gzip ends with the size of that modulo 2**32 (RFC 1952)."""
    with open(packed, "rb") as file:
        file.seek(-4, os.SEEK_END)
        return int.from_bytes(file.read(), "little") == os.path.getsize(plain) % (1 << 32)


def unread(path: str) -> list[str]:
    """Return the files of a directory that are named like those of ranks and are none."""
    names = names_in(path, MOST_FILES) if os.path.isdir(path) else []
    files = [os.path.join(path, name) for name in names if _NAMED.search(name) and (rank_in(name) is not None or host_in(name))]
    return [file for file in files if not is_trace(file)]


def rank_in(path: str) -> int | None:
    """Return the rank that the name of a file tells."""
    found = _RANK.search(os.path.basename(path))
    return int(found[1]) if found else None


def host_in(path: str) -> str:
    """Return the name of the host that the name of a file tells, or nothing."""
    found = _HANDLER.match(os.path.basename(path))
    return found[1] if found else ""
