"""Records out of files, directories and streams of syslog: lines in, records and what is broken out.

Three forms may be mixed: records as `perwiz record --profile` appends them to a file, and as the T3E's syslog had them; the same line by
line through syslog, each line with the number of the process, several jobs interleaved; and records in JSON, one a line. A line of syslog
that ends in a backslash goes on in the next one of its process.
"""

from __future__ import annotations

import gzip
import os
import queue
import re
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

from perwiz.errors import TraceError
from perwiz.jobs.record import Record, RecordError, checked, from_json
from perwiz.jobs.store import form

_DATE = r"(?:<\d+>)?(?:\d+ )?(\w{3} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+)"
_EDGE = re.compile(_DATE + r" (\S+) (perwiz|syslog): ([BE]) <(\d+)>\s*$")
_MARK = re.compile(r"([BE]) <(\d{1,18})>\Z")
"""Begins and ends a record behind a tag, with the number that the process has for itself: in a container the tag may have another."""
_TAGGED = re.compile(_DATE + r" (?:(\S+) )?perwiz\[(\d+)\]: ?(.*)$")
_LAST = "profiling overhead="
"""Begins the last line of a record of the T3E, which says no end."""
_HALF = "size = n ="
"""Begins the first line of a record behind `B <pid>`."""
_LONGEST = 1 << 20
"""Characters of a line in several pieces, and lines of a record: more is none."""
_MOST_LINES = 1 << 14
_MOST_OPEN = 10_000
"""Jobs whose lines are interleaved: with more the oldest is given up."""
_PAUSE = 1.0
"""Seconds without a line after which a stream is taken to pause."""
_AHEAD = 10_000
"""Lines that are read ahead of a stream."""
_KEPT = 1 << 14
"""Characters that are kept of what is broken."""


class Fault(NamedTuple):
    """What could not be used."""

    place: str
    """File and line."""
    reason: str
    text: str


class _Open:
    """A record that has begun: where, whose, and its lines so far."""

    __slots__ = ("host", "lines", "part", "pid", "place", "tag", "written")

    def __init__(self, place: str, host: str, pid: int, written: str, tag: str) -> None:
        self.place, self.host, self.pid, self.written, self.tag = place, host, pid, written, tag
        self.lines: list[str] = []
        self.part = ""

    def fault(self, reason: str) -> Fault:
        """Return it as something broken."""
        return Fault(self.place, reason, "".join(self.lines)[:_KEPT])


class Reader:
    """Takes lines of one stream, gives records and faults in the order in which they end."""

    def __init__(self, name: str, now: float | None = None) -> None:
        self._name, self._now = name, time.time() if now is None else now
        self._plain: _Open | None = None
        self._open: dict[tuple[str, int], _Open] = {}

    def read(self, lines: Iterable[str | None]) -> Iterator[Record | Fault | None]:
        """Yield what is in the lines; at their end, what has begun and not ended. For None, a pause, yield None."""
        number = 0
        for line in lines:
            if line is None:
                yield None
                continue
            number += 1
            one = self._plain
            if one is not None and "perwiz" not in line and "syslog" not in line:
                one.lines.append(line)
                if line.startswith(_LAST) or len(one.lines) > _MOST_LINES:
                    yield from self._last(one)
            elif line[:1] == "{":
                yield self._json(f"{self._name}:{number}", line)
            elif "perwiz" in line or "syslog" in line or line.startswith(_HALF):
                yield from self._marked(number, line)
        for one in (*([self._plain] if self._plain else []), *self._open.values()):
            yield self._unended(one)
        self._plain, self._open = None, {}

    def _marked(self, number: int, line: str) -> Iterator[Record | Fault]:
        place = f"{self._name}:{number}"
        edge = _EDGE.match(line)
        tagged = None if edge else _TAGGED.match(line)
        if edge:
            yield from self._edge(place, *edge.groups())
        elif tagged:
            yield from self._tagged(place, tagged[1], tagged[2] or "", int(tagged[3][:18]), tagged[4])
        elif self._plain is not None:
            self._plain.lines.append(line)
        elif line.startswith(_HALF):
            self._plain = _Open(place, "", 0, "", "")
            self._plain.lines.append(line)

    def _edge(self, place: str, written: str, host: str, tag: str, edge: str, pid: str) -> Iterator[Record | Fault]:
        one, self._plain = self._plain, None
        if edge == "B":
            if one is not None:
                yield self._unended(one)
            self._plain = _Open(place, host, int(pid[:18]), written, tag)
        elif one is None:
            yield Fault(place, f"the end of a record of process {pid[:18]} that has no beginning", "")
        elif not one.tag:
            yield self._unended(one)
        elif (one.host, one.pid) != (host, int(pid[:18])):
            yield one.fault(f"no end of the record, must be E <{one.pid}> of {one.host}, but is E <{pid[:18]}> of {host}")
        else:
            yield self._ended(one)

    def _last(self, one: _Open) -> Iterator[Record | Fault]:
        """Yield a record of the T3E, whose end this is, or one that has no end."""
        if len(one.lines) > _MOST_LINES:
            self._plain = None
            yield one.fault(f"more than {_MOST_LINES} lines, must be a record")
        elif one.tag == "syslog":
            self._plain = None
            yield self._ended(one)

    def _tagged(self, place: str, written: str, host: str, pid: int, text: str) -> Iterator[Record | Fault]:
        key = host, pid
        one, mark = self._open.get(key), None
        if one is not None and one.part:
            text, one.part = one.part + text, ""
        if text[:1] in "BE":
            mark = _MARK.match(text)
        if text.endswith("\\"):
            one = one or self._begin(key, _Open(place, host, pid, written, "half"))
            one.part = text[:-1] if len(text) < _LONGEST else ""
        elif text.startswith("{"):
            self._open.pop(key, None)
            yield self._json(place, text)
        elif mark and mark[1] == "B":
            if one is not None:
                yield self._unended(one)
            self._begin(key, _Open(place, host, int(mark[2]), written, "perwiz"))
        elif mark and one is not None:
            del self._open[key]
            yield self._ended(one) if one.tag == "perwiz" and one.pid == int(mark[2]) else self._unended(one)
        else:
            one = one or self._begin(key, _Open(place, host, pid, written, "half"))
            one.lines.append(text + "\n")
            if len(one.lines) > _MOST_LINES:
                del self._open[key]
                yield one.fault(f"more than {_MOST_LINES} lines, must be a record")
        if len(self._open) > _MOST_OPEN:
            yield self._unended(self._open.pop(next(iter(self._open))))

    def _begin(self, key: tuple[str, int], one: _Open) -> _Open:
        self._open[key] = one
        return one

    def _unended(self, one: _Open) -> Fault:
        if one.tag in ("half", ""):
            return one.fault("half a record, its beginning is missing")
        return one.fault(f"half a record: no end, must be E <{one.pid}>")

    def _ended(self, one: _Open) -> Record | Fault:
        try:
            found = form.parse("".join(one.lines), one.host, one.pid, one.written, self._now)
            return checked(found, self._now)
        except RecordError as error:
            return one.fault(str(error))

    def _json(self, place: str, text: str) -> Record | Fault:
        try:
            return checked(from_json(text), self._now)
        except RecordError as error:
            return Fault(place, str(error), text[:_KEPT])


def files(paths: Iterable[str]) -> list[str]:
    """Return the files that paths name, `-` for standard input, those in directories sorted. Raises TraceError if there is no such path."""
    found = []
    for path in paths:
        if os.path.isdir(path):
            walk = sorted((folder, sorted(names)) for folder, _, names in os.walk(path))
            found += [os.path.join(folder, name) for folder, names in walk for name in names if not name.startswith(".")]
        elif path == "-" or os.path.exists(path):
            found.append(path)
        else:
            raise TraceError(f"{path}: no such file or directory, must be records of jobs")
    return found


def read(path: str, now: float | None = None) -> Iterator[Record | Fault | None]:
    """Yield the records of one file, `-` for standard input, gzip unpacked; None when that pauses. Raises TraceError if that fails."""
    try:
        if path == "-":
            if hasattr(sys.stdin, "reconfigure"):
                sys.stdin.reconfigure(encoding="utf-8", errors="replace")
            yield from Reader(path, now).read(_with_pauses(sys.stdin))
            return
        with _opened(path) as stream:
            yield from Reader(path, now).read(stream)
    except (OSError, EOFError, zlib.error) as error:
        said = str(getattr(error, "strerror", None) or error).removeprefix("Error -3 while decompressing data: ")
        raise TraceError(f"{path}: cannot be read: {said}, must be records of jobs") from None


def _with_pauses(lines: Iterable[str]) -> Iterator[str | None]:
    """Yield lines as they come, and None when none has come for _PAUSE seconds."""
    waiting: queue.Queue[str | BaseException | None] = queue.Queue(_AHEAD)

    def fill() -> None:
        try:
            for line in lines:
                waiting.put(line)
            waiting.put(None)
        except Exception as error:  # raised where the lines are read
            waiting.put(error)

    threading.Thread(target=fill, daemon=True).start()
    paused = False
    while True:
        try:
            one = waiting.get(timeout=None if paused else _PAUSE)
        except queue.Empty:
            paused = True
            yield None
            continue
        if one is None:
            return
        if isinstance(one, BaseException):
            raise one
        paused = False
        yield one


def _opened(path: str) -> TextIO:
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return open(path, encoding="utf-8", errors="replace", newline="\n")
