"""The files of a job as Chakra execution traces: one per rank, NAME.RANK.et."""

from __future__ import annotations

import os
import re

from perwiz.errors import TraceError
from perwiz.formats.source import files_of, head_of

SUFFIX = ".et"
GROUPS = "comm_groups.json"
"""Beside the files: the ranks of each process group by its name, as ASTRA-sim takes them."""
_NUMBER = re.compile(r"(?:^|.*\D)(\d{1,7})\.et$")
_MOST_RANK = (1 << 20) - 1
_FIELDS = b"\x0a\x12"
"""What the message about a file begins with: its version or an attribute."""


def is_trace(path: str) -> bool:
    """Return whether this is such a file: it is named so, and begins with a message about it, which may be empty."""
    if not path.endswith(SUFFIX):
        return False
    head = head_of(path)
    behind = next((k + 1 for k, byte in enumerate(head[:9]) if byte < 128), 0)
    return bool(behind) and (head[0] == 0 or head[behind : behind + 1] in (_FIELDS[:1], _FIELDS[1:]))


def parts(path: str) -> list[str]:
    """Return the files that a name stands for, none if there are none: itself, several joined by colons, or those of a directory."""
    return files_of(path, lambda name: name.endswith(SUFFIX), is_trace)


def ranks(path: str) -> list[tuple[int, str]]:
    """Return the files of ranks, in their order. Raises TraceError for two of one rank, of several jobs, and names without a rank."""
    named = parts(path)
    if len(named) == 1 and not _NUMBER.match(os.path.basename(named[0])):
        return [(0, named[0])]
    found: dict[int, str] = {}
    for file in named:
        number = _NUMBER.match(os.path.basename(file))
        if not number:
            raise TraceError(f"{file}: no rank in its name, must be NAME.RANK{SUFFIX}")
        rank = int(number[1])
        if rank > _MOST_RANK:
            raise TraceError(f"{file}: of rank {rank}, must be at most {_MOST_RANK}")
        if rank in found:
            raise TraceError(f"{file}: of rank {rank} as {found[rank]}, must be of another rank or job")
        found[rank] = file
    return sorted(found.items())
