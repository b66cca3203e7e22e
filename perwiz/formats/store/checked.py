"""Which stores were checked before, and have not changed since: told by what the system says of their files, and kept for this user alone.

What a store says of itself is not believed: the note lies where this user's programs keep theirs, and holds for these files, written at
these times, and for this perwiz. Who replaces or changes one of them changes when the system says that it changed, which nobody sets.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time

from perwiz import allowed

SETTLED = 5.0
"""Seconds for which a file must not have changed to be told from one that changes next: clocks of file systems tick."""


class Checked:
    """Whether the files of a store are those that were checked before."""

    def __init__(self, folder: str, by: str) -> None:
        """`by` tells this perwiz from others. The files are looked at here, before anybody reads them."""
        self._note = _note(folder)
        self._told, self._settled = _told(folder, by)
        self.before = self._told is not None and _content(self._note) == self._told
        """Whether they were."""

    def remember(self) -> None:
        """Note that they are what they must be; of files that have only just been written, or where nothing can be noted, not."""
        if self.before or self._told is None or not self._settled:
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._note), mode=0o700, exist_ok=True)
            beside = f"{self._note}.{os.getpid()}"
            with open(beside, "x", encoding="ascii") as file:
                file.write(self._told)
            os.replace(beside, self._note)


def _note(folder: str) -> str:
    """Return the file that says what is known of the store of a directory."""
    return os.path.join(allowed.cache(), "perwiz", "stores", hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32])


def _told(folder: str, by: str) -> tuple[str | None, bool]:
    """Return what tells the files of a directory from all others, None if that cannot be had, and whether none has just been changed."""
    known, latest = hashlib.sha256(by.encode()), 0.0
    try:
        with os.scandir(folder) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                of = os.stat(entry.path)  # what a link leads to
                known.update(repr((entry.name, of.st_dev, of.st_ino, of.st_size, of.st_mtime_ns, of.st_ctime_ns)).encode())
                latest = max(latest, of.st_mtime, of.st_ctime)
    except OSError:
        return None, False
    return known.hexdigest(), latest < time.time() - SETTLED


def _content(note: str) -> str | None:
    with contextlib.suppress(OSError, ValueError), open(note, encoding="ascii") as file:
        return file.read(256)
    return None
