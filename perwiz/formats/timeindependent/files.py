"""The files of a time-independent trace: the index, what it names, and the platform beside it."""

from __future__ import annotations

import os
import re

from perwiz.errors import TraceError
from perwiz.formats.source import content, files_in, head_of
from perwiz.formats.timeindependent import platform
from perwiz.formats.timeindependent.actions import is_action
from perwiz.words import shown

_MOST = 4096
"""Files of a directory that are looked at."""
_LARGEST_INDEX = 1 << 26
_RANK = re.compile(r"rank-?_?([0-9]{1,9})[^/]*$")


def _first_line(head: bytes) -> list[bytes]:
    """Return the words of the first line that says something."""
    lines = (line.split() for line in head.split(b"\n"))
    return next((words for words in lines if words and not words[0].startswith(b"#")), [])


def has_actions(path: str) -> bool:
    """Return whether a file begins with an action."""
    words = _first_line(head_of(path))
    return len(words) > 1 and words[0].isdigit() and words[1].isascii() and is_action(words[1].decode())


def _named(index: str, name: bytes) -> str:
    """Return the file that an index names: relative to its folder, else to where one is, as SimGrid has it."""
    text = os.fsdecode(name)
    beside = os.path.join(os.path.dirname(index), text)
    return text if not os.path.exists(beside) and os.path.exists(text) else beside


def is_index(path: str) -> bool:
    """Return whether a file begins with the name of a file of actions."""
    words = _first_line(head_of(path))
    return len(words) == 1 and b"\0" not in words[0] and has_actions(_named(path, words[0]))


def entry(path: str) -> str:
    """Return the file that a time-independent trace is read from: `path`, or the index in that directory; empty if there is none.

    A directory of files of actions alone stands for itself.
    """
    if not os.path.isdir(path):
        return path if has_actions(path) or is_index(path) else ""
    inside = files_in(path, _MOST)
    return next((file for file in inside if is_index(file)), path if any(map(has_actions, inside)) else "")


def parts(file: str) -> list[str]:
    """Return the files of actions that an entry stands for, in the order of the index, those of a directory by their ranks' numbers.

    Raises TraceError naming the line of the index whose file is missing.
    """
    if os.path.isdir(file):
        return sorted(filter(has_actions, files_in(file, _MOST)), key=_by_number)
    if has_actions(file):
        return [file]
    text = content(file, _LARGEST_INDEX, "an index of files of actions")
    out = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        name = line.strip()
        if not name or name.startswith(b"#"):
            continue
        part = "" if b"\0" in name else _named(file, name)
        if not os.path.isfile(part):
            raise TraceError(f"{file}:{number}: '{shown(name.decode(errors='replace'))}', must be the name of a file of actions")
        out.append(part)
    return out


def _by_number(path: str) -> tuple[int, str]:
    found = _RANK.search(os.path.basename(path))
    return (int(found[1]) if found else -1, path)


def split(path: str) -> tuple[str, str]:
    """Return (trace, platform) of `trace:platform.xml`; no platform where none is named."""
    trace, mark, given = path.rpartition(os.pathsep)
    return (trace, given) if mark and trace and given.endswith(".xml") else (path, "")


def beside(file: str) -> str:
    """Return the only platform in the folder of a file, or else in the one above.

    Raises TraceError, which says how to name one, if there is none, or several.
    """
    folder = os.path.abspath(file if os.path.isdir(file) else os.path.dirname(file) or ".")
    for place in (folder, os.path.dirname(folder)):
        found = [name for name in files_in(place, _MOST) if name.endswith(".xml") and platform.is_platform(head_of(name))]
        if len(found) == 1:
            return os.path.relpath(found[0]) if not os.path.isabs(file) else found[0]
        if found:
            names = f"{len(found)} platforms beside it, {os.path.basename(found[0])} and {os.path.basename(found[1])} among them"
            raise TraceError(f"{file}: {names}, must be given with one: {file}{os.pathsep}{found[0]}")
    raise TraceError(f"{file}: flops, and no platform beside it that says how fast they are, must be given with one: {file}:platform.xml")
