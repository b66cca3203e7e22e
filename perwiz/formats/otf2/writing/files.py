"""The three parts of an OTF2 archive in the file system, and what may stand in their way."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable

from perwiz.errors import UsageError

_MAGIC = b"OTF2"
_MEMBER = re.compile(r"[0-9]+\.(def|evt|snap)|.*\.(marker|thumb)")


def parts(path: str) -> tuple[str, str, str]:
    """Return the anchor file, the definitions and the folder of the archive whose anchor is `path`."""
    base = path.removesuffix(".otf2")
    return path, f"{base}.def", base


def found(path: str) -> list[str]:
    """Return all that is read for a trace named `path`: that itself and, if it stands for an archive, the parts of it."""
    anchors = [path] if path.endswith(".otf2") else [f"{path}.otf2"] if os.path.isfile(f"{path}.otf2") else []
    if os.path.isdir(path) and not anchors:
        anchors = [os.path.join(path, name) for name in os.listdir(path) if name.endswith(".otf2")]
    return [path, *(part for anchor in anchors for part in parts(anchor))]


def check(path: str) -> str:
    """Return where the anchor of an archive named `path` is written, links followed.

    Raises UsageError if something else than an archive of that name is in the way.
    """
    target = os.path.realpath(path)
    anchor, definitions, folder = parts(target)
    if os.path.basename(folder) == "" or folder == anchor:
        raise UsageError(f"{path}: no name of an archive, must be one that ends in .otf2")
    there = os.path.lexists(anchor)
    if there and not _is_anchor(anchor):
        raise UsageError(f"{path}: no OTF2 archive, must be one to be replaced")
    for other in (definitions, folder):
        if os.path.lexists(other) and not (there and _is_part(other, is_folder=other == folder)):
            raise UsageError(f"{other}: no part of the archive {path}, must not be there")
    return target


def _is_anchor(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return _MAGIC in file.read(8)


def _is_part(path: str, is_folder: bool) -> bool:
    if os.path.islink(path):
        return False
    if is_folder:
        return os.path.isdir(path) and all(_MEMBER.fullmatch(name) for name in os.listdir(path))
    return os.path.isfile(path)


def move(source: str, target: str, parts: Callable[[str], tuple[str, ...]] = parts) -> None:
    """Move an archive to another place of the same file system, the anchor last; one of that name is replaced, or kept if that fails.

    The same for anything else of several parts, the first of them last.
    """
    with tempfile.TemporaryDirectory(prefix=".perwiz-", dir=os.path.dirname(target)) as aside:
        old, done = [os.path.join(aside, str(number)) for number, _ in enumerate(parts(target))], []
        try:
            for one, other in zip(parts(target), old, strict=True):
                if os.path.lexists(one):
                    os.rename(one, other)
                    done.append((other, one))
            if os.path.exists(old[0]):
                shutil.copymode(old[0], source)
            for one, other in reversed([*zip(parts(source), parts(target), strict=True)]):
                os.rename(one, other)
                done.append((other, one))
        except BaseException:
            for there, back in reversed(done):
                with contextlib.suppress(OSError):
                    os.rename(there, back)
            raise
