"""The three files of a Paraver trace in the file system, and what may stand in their way."""

from __future__ import annotations

import os

from perwiz.errors import UsageError

SUFFIXES = (".prv", ".prv.gz")
_MAGIC = {".prv": b"#Paraver", ".prv.gz": b"\x1f\x8b"}


def is_paraver(path: str) -> bool:
    """Return whether a name is that of a Paraver trace: it ends in .prv or .prv.gz."""
    return path.endswith(SUFFIXES)


def parts(path: str) -> tuple[str, str, str]:
    """Return the records, the configuration and the names of the trace whose records are in `path`."""
    base = path.removesuffix(".gz").removesuffix(".prv")
    return path, f"{base}.pcf", f"{base}.row"


def check(path: str) -> None:
    """Raise UsageError if something else than a trace of that name is in the way of one."""
    target = os.path.realpath(path)
    records, *others = parts(target)
    if os.path.basename(others[0]) == ".pcf":
        raise UsageError(f"{path}: no name of a Paraver trace, must be one that ends in .prv or .prv.gz")
    there = os.path.lexists(records)
    if there and not _is_trace(records):
        raise UsageError(f"{path}: no Paraver trace, must be one to be replaced")
    for other in others:
        if os.path.lexists(other) and not (there and os.path.isfile(other) and not os.path.islink(other)):
            raise UsageError(f"{other}: no part of the Paraver trace {path}, must not be there")


def _is_trace(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(8).startswith(_MAGIC[".prv.gz" if path.endswith(".gz") else ".prv"])
