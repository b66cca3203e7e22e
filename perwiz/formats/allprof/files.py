"""The files of a liballprof trace: one per process, its rank behind the last minus of its name. Lines of comments begin with #."""

from __future__ import annotations

import os
import re

from perwiz.formats.source import head_of, names_in

_MOST = 1 << 16
"""Files of a directory that are looked at."""
MOST_RANKS = 1 << 20
_NUMBER = re.compile(r"-(\d{1,9})\.(?:txt|dat)(?:\.gz|\.zst)?$")
_BEGINS = (b"# htor's PMPI Tracer ", b"# collprof ")
"""Its greeting, and that of its first versions."""
_HOST = re.compile(rb"^# (?:hostname|host): *([!-~]{1,255})", re.MULTILINE)


def _is_part(path: str) -> bool:
    return os.path.isfile(path) and head_of(path).startswith(_BEGINS)


def parts(path: str) -> dict[int, str]:
    """Return the files that a name stands for by their ranks; none if it is no liballprof trace.

    A file of a process stands for its trace, if its name has its rank: the others are beside it. A directory stands for the trace in it,
    if that is the only one.
    """
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    if folder != path:
        if not _is_part(path):
            return {}
        if not _NUMBER.search(path):
            return {0: path}
    stem = "" if folder == path else _NUMBER.sub("", os.path.basename(path))
    found: dict[str, dict[int, str]] = {}
    for name in names_in(folder, _MOST):
        number = _NUMBER.search(name)
        here = _NUMBER.sub("", name)
        if number and (not stem or here == stem) and int(number[1]) < MOST_RANKS:
            file = name if folder == "." and not path.startswith(".") else os.path.join(folder, name)
            if _is_part(file):
                found.setdefault(here, {})[int(number[1])] = file
    return dict(sorted(next(iter(found.values())).items())) if len(found) == 1 else {}


def host(head: bytes) -> str:
    """Return the name of the node that a file which begins so was written on; empty if it does not tell."""
    said = _HOST.search(head)
    return said[1].decode("latin-1").split(".(none)")[0].rstrip(".") if said else ""
