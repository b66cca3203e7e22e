"""The files of an OTF2 archive: which anchor is meant, and what is part of an archive."""

from __future__ import annotations

import os
import re
import stat

_HEAD = b"OTF2"
"""Bytes 2 to 6 of every anchor file; the first is its type, the second the order of bytes."""
_MEMBER = re.compile(r"[0-9]+\.(def|evt|snap)|.*\.(marker|thumb)")


def anchor_of(path: str) -> str:
    """Return the path of the anchor file that is meant: by itself, by its name without `.otf2`, or by a folder that holds just one.

    A link to one is followed, since the rest of the archive stands beside what it leads to.
    """
    if os.path.isdir(path):
        inside = [name for name in os.listdir(path) if name.endswith(".otf2")]
        if len(inside) == 1:
            return os.path.join(path, inside[0])
    named = f"{path.rstrip('/')}.otf2"
    anchor = named if not os.path.isfile(path) and os.path.isfile(named) else path
    return os.path.realpath(anchor) if os.path.islink(anchor) else anchor


def definitions_of(anchor: str) -> str:
    """Return the path of the definitions beside an anchor file."""
    return f"{anchor.removesuffix('.otf2')}.def"


def is_anchor(path: str) -> bool:
    """Return whether a file is an anchor file. Raises OSError if there is none."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with open(path, "rb") as file:
        return file.read(6)[2:] == _HEAD


def is_part(path: str, is_folder: bool) -> bool:
    """Return whether a file, or the folder, may be one beside an anchor file: nothing else than OTF2 writes is in it."""
    if os.path.islink(path):
        return False
    if is_folder:
        return os.path.isdir(path) and all(_MEMBER.fullmatch(name) for name in os.listdir(path))
    return os.path.isfile(path)
