"""Where arrays are that memory has no room for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

LEAST = 1 << 20
"""Bytes from which an array is in a file: smaller ones are many, and together few bytes."""
_PART = 256
"""Part of the memory that is left up to which an array is in memory: those of pieces of work are made and freed again and again."""
_begun: list[tuple[str, object]] = []
"""The folder, and what numpy took memory from before."""


def spill(folders: Iterable[str], needs: int, left: int = 0) -> str | None:
    """Let large arrays be in files without a name in the first of some folders that lies on a disk with room for so many bytes; return it.

    `left` are the bytes of memory that are left: what takes less than a small part of them stays in memory. So it is with all that this
    thread makes from then on, and those that it starts by `perwiz.trace.resources.map_threads`. Return None, and change nothing, if there
    is no such folder, or perwiz was not compiled, or not on Linux.
    """
    try:
        from perwiz.spilling import memory
    except ImportError:
        return None
    for folder in folders:
        with contextlib.suppress(OSError):
            disk = os.statvfs(folder)
            if disk.f_bavail * disk.f_frsize >= needs:
                _begun.append((folder, memory.begin(folder, max(LEAST, left // _PART))))
                return folder
    return None


def spills() -> bool:
    """Return whether large arrays are in files."""
    return bool(_begun)


def end() -> None:
    """Let arrays be in memory again; those that are in files stay there."""
    from perwiz.spilling import memory

    memory.end(_begun.pop()[1])
