"""The header records of ALOG (types -1 to -100) and of the perwiz-ext 1 convention, wherever in the file they stand."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import NamedTuple

import numpy as np

from perwiz.errors import TraceError
from perwiz.kernels import alog
from perwiz.trace.tables import LINKS

CREATOR, PROCESSES, EVENT, ROLLOVER, STATE = -1, -3, -9, -11, -13
SIGNATURE, COMMUNICATOR, PLACEMENT, ROUTINE, PARALLEL, OFFSET, PROPERTY = range(-30, -37, -1)
EXTENSION = "perwiz-ext 1"
KINDS = ("process", "thread", "stream")
"""Of locations, as `Locations.kind` numbers them."""
ORIGIN = "perwiz_origin"
"""Property, in several records if it is long, that says where the timeline comes from."""
WILDCARDS_UNTOLD = "perwiz_wildcards_untold"
"""Property of a file made of one that did not tell which receives take any source."""
CLOCKS_UNCOMPARED = "perwiz_clocks_uncompared"
"""Property of a file made of one whose clocks nobody compared."""
COUNTS = "perwiz_counts"
"""Property that says what the source of the file lacked."""
MOST_RECORDS = 1 << 20
"""Most records of the types above, read or written; what they say is kept in Python objects."""
LINK = "waits for"
"""Begins the description of stand-alone events inside calls, each of which tells a link: its kind follows."""
_MORE = {"more requests posted": alog.CALL_BEGIN, "more requests completed": alog.CALL_END}
_MORE |= {f"{LINK} {name}": alog.LINK + kind for kind, name in enumerate(LINKS)}
"""Descriptions of the stand-alone events that say more of their calls, and what they have the attributes of: q= of an end of the call, or
l= of a link."""
_MEANING = (ROLLOVER, STATE, SIGNATURE, COMMUNICATOR, ROUTINE, PARALLEL)
_USED = np.zeros(101, bool)
_USED[[-CREATOR, -PROCESSES, -EVENT, -ROLLOVER, -STATE, *range(-SIGNATURE, 1 - PROPERTY)]] = True


@dataclasses.dataclass
class Listed:
    """A communicator as its -31 records list it."""

    name: str
    size: int
    line: int
    parts: dict[int, str] = dataclasses.field(default_factory=dict)


class _Numbers(NamedTuple):
    """The first fields of alog.LINE."""

    type: int
    process: int
    task: int
    int_data: int
    cycle: int
    time: int


@dataclasses.dataclass
class Headers:
    """What the header records say. Raises TraceError for more than MOST_RECORDS of them."""

    path: str
    processes: int = 0
    rollover: int = 0
    """Period of the clock in ns, 0 if it never wraps."""
    extended: bool = False
    clock_events: bool = False
    """Whether the writer is p4, to which -101 and -102 without tag and size are clock events."""
    more: dict[int, int] = dataclasses.field(default_factory=dict)
    """Per event type that says more of the call it stands in: the owner of its attributes."""
    states: dict[int, tuple[int, str]] = dataclasses.field(default_factory=dict)
    """Per begin event: end event and name; the first definition counts."""
    routines: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    parallel: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    communicators: dict[int, Listed] = dataclasses.field(default_factory=dict)
    placement: list[tuple[int, int, int, dict[str, str]]] = dataclasses.field(default_factory=list)
    """(process, thread, node or -1, the rest)."""
    offsets: list[tuple[int, int, int, float, float, float]] = dataclasses.field(default_factory=list)
    """(process, thread, time, offset, drift, error)."""
    values: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    """Per property: its parts."""
    defects: list[int] = dataclasses.field(default_factory=list)
    """Lines of the records that cannot be used."""
    records: int = 0

    def read(self, text: bytes, lines: alog.Records, first_line: int) -> bool:
        """Take in the header records of one chunk; return whether one of them defines what events mean."""
        meant = False
        headers = np.flatnonzero(lines.status == alog.HEADER)
        headers = headers[_USED[-lines.type[headers]]]
        self.records += len(headers)
        if self.records > MOST_RECORDS:
            raise TraceError(f"{self.path}: more than {MOST_RECORDS} definitions, must be fewer")
        chosen = lines[headers]
        numbers = zip(*(chosen[name].tolist() for name in _Numbers._fields), strict=True)
        places = zip(headers.tolist(), chosen.text.tolist(), chosen.text_end.tolist(), numbers, strict=True)
        for k, begin, end, fields in places:
            try:
                meant |= self._record(_Numbers(*fields), printable(text[begin:end]), first_line + k)
            except ValueError:
                self.defects.append(first_line + k)
        return meant

    def properties(self) -> dict[str, str]:
        """Return the properties, a new dictionary."""
        return {key: "".join(parts) for key, parts in self.values.items()}

    def _record(self, numbers: _Numbers, string: str, line: int) -> bool:
        kind, begin, end = numbers.type, numbers.task, numbers.int_data
        meant = kind in _MEANING
        if kind == PROCESSES:
            self.processes = end
        elif kind == ROLLOVER:
            self.rollover = max(numbers.time, 0)
        elif kind == CREATOR:
            meant = self.clock_events = string.startswith(("P4 ", "AL"))
        elif kind == STATE:
            _must(begin >= 0 and end >= 0)
            self.states.setdefault(begin, (end, _state_name(string)))
        elif kind == SIGNATURE:
            self.extended = string == EXTENSION
        elif kind in (ROUTINE, PARALLEL):
            self._named(kind, begin, end, string)
        elif kind != EVENT:
            self._described(numbers, string, line)
        elif string in _MORE:
            meant = True
            self.more[end] = _MORE[string]
        return meant

    def _named(self, kind: int, begin: int, end: int, string: str) -> None:
        name = string if kind == ROUTINE else string.removeprefix("PRGN").strip()
        _must(begin >= 0 and end >= 0 and name != "")
        (self.routines if kind == ROUTINE else self.parallel).setdefault((begin, end), name)

    def _described(self, numbers: _Numbers, string: str, line: int) -> None:
        kind, process, task, data, _, time = numbers
        if kind == COMMUNICATOR:
            self._communicator(process, task, data, string, line)
        elif kind == PLACEMENT:
            self.placement.append((process, task, max(data, -1), _pairs(string)))
        elif kind == OFFSET:
            pairs = _pairs(string)
            offset, drift, error = (_number(pairs.get(key, "0")) for key in ("off", "drift", "err"))
            self.offsets.append((process, task, time, offset, drift, error))
        else:
            key, equals, value = string.partition("=")
            _must(equals != "")
            if process <= 0:
                self.values[key] = []
            self.values.setdefault(key, []).append(value)

    def _communicator(self, part: int, size: int, number: int, string: str, line: int) -> None:
        name, _, ranks = string.rpartition(" ")
        _must(number >= 0 and part >= 0 and name.strip() != "")
        listed = self.communicators.setdefault(number, Listed(name.strip(), size, line))
        _must(part not in listed.parts and (listed.name, listed.size) == (name.strip(), size))
        listed.parts[part] = ranks


def printable(text: bytes) -> str:
    """Return a string of the file: latin-1, since its writers declare nothing, with `?` for what no terminal should see."""
    string = text.decode("latin-1").replace("\t", " ").strip(" \r")
    return string if string.isprintable() else re.sub(r"[^ -~\xa1-\xac\xae-\xff]", "?", string)


def _must(holds: bool) -> None:
    if not holds:
        raise ValueError


def _pairs(string: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in string.split())


def _number(text: str) -> float:
    value = float(text)
    _must(math.isfinite(value))
    return value


def _state_name(string: str) -> str:
    """Return the name behind `colour:bitmap`; a lone word is the name."""
    words = string.split(None, 1)
    name = words[-1].strip() if words else ""
    _must(name not in ("", ":"))
    return name
