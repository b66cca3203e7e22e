"""The header records of ALOG (types -1 to -100) and of the perwiz-ext 1 convention, wherever in the file they stand."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import TraceError
from perwiz.trace import alog_rows as row
from perwiz.trace import ops

(PROCESSES, ROLLOVER, STATE, SIGNATURE, COMMUNICATOR, PLACEMENT, ROUTINE, PARALLEL, OFFSET, PROPERTY) = (
    *(-3, -11, -13, -30, -31, -32, -33, -34, -35, -36),
)
EXTENSION = "perwiz-ext 1"
_LUT = 1 << 16
MOST_RANKS = 1 << 22


@dataclasses.dataclass
class Headers:
    """What the header records say. `defects` are (line, BAD_HEADER) of those that cannot be used."""

    processes: int = 0
    rollover: int = 0
    """Period of the clock in ns, 0 if it never wraps."""
    extended: bool = False
    states: dict[int, tuple[int, str]] = dataclasses.field(default_factory=dict)
    """Per begin event: end event and name; the first definition counts."""
    routines: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    parallel: dict[tuple[int, int], str] = dataclasses.field(default_factory=dict)
    communicators: dict[int, tuple[str, list[str]]] = dataclasses.field(default_factory=dict)
    placement: list[tuple[int, int, int, dict[str, str]]] = dataclasses.field(default_factory=list)
    offsets: list[tuple[int, int, int, dict[str, str]]] = dataclasses.field(default_factory=list)
    properties: dict[str, str] = dataclasses.field(default_factory=dict)
    defects: list[int] = dataclasses.field(default_factory=list)

    def read(self, text: bytes, rows: NDArray[np.int64], first_line: int) -> bool:
        """Take in the header rows of one chunk; return whether one of them defines what events mean."""
        meant = False
        for r in np.flatnonzero(rows[:, row.STATUS] == row.HEADER):
            cell = rows[r]
            string = text[cell[row.TEXT] : cell[row.TEXT_END]].decode("latin-1").strip()
            try:
                meant |= self._record(cell, string)
            except (ValueError, IndexError):
                self.defects.append(first_line + int(r))
        return meant

    def _record(self, cell: NDArray[np.int64], string: str) -> bool:
        kind, begin, end = int(cell[row.TYPE]), int(cell[row.TASK]), int(cell[row.DATA])
        if kind == PROCESSES:
            self.processes = end
        elif kind == ROLLOVER:
            self.rollover = max(int(cell[row.TIME]), 0)
        elif kind == STATE:
            self.states.setdefault(begin, (end, _state_name(string)))
        elif kind == SIGNATURE:
            self.extended = string == EXTENSION
        elif kind in (ROUTINE, PARALLEL):
            self._named(kind, begin, end, string)
        else:
            self._described(kind, cell, string)
        return kind in (ROLLOVER, STATE, SIGNATURE, ROUTINE, PARALLEL)

    def _named(self, kind: int, begin: int, end: int, string: str) -> None:
        if kind == ROUTINE:
            self.routines[begin, end] = string
        else:
            self.parallel[begin, end] = string.removeprefix("PRGN").strip()

    def _described(self, kind: int, cell: NDArray[np.int64], string: str) -> None:
        process, task, data = (int(cell[c]) for c in (row.PROCESS, row.TASK, row.DATA))
        if kind == COMMUNICATOR:
            name, ranks = string.rsplit(" ", 1)
            self.communicators.setdefault(data, (name, []))[1].append(ranks)
        elif kind == PLACEMENT:
            self.placement.append((process, task, data, _pairs(string)))
        elif kind == OFFSET:
            self.offsets.append((process, task, int(cell[row.TIME]), _pairs(string)))
        elif kind == PROPERTY and "=" in string:
            key, value = string.split("=", 1)
            self.properties[key] = value


def _pairs(string: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in string.split())


def _state_name(string: str) -> str:
    """Return the name behind `colour:bitmap`; a lone word is the name."""
    words = string.split(None, 1)
    name = words[-1].strip() if words else ""
    if not name or name == ":":
        raise ValueError
    return name


def ranks(parts: list[str]) -> NDArray[np.int32]:
    """Return the ranks a list such as `0-3,8,10-11` in several parts names, int32. Raises ValueError beyond 4 Mi ranks."""
    out = []
    size = 0
    for piece in ",".join(parts).split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", piece)
        if not match:
            raise ValueError(piece)
        low, high = int(match[1]), int(match[2] or match[1])
        size += high + 1 - low
        if high < low or size > MOST_RANKS:
            raise ValueError(piece)
        out.append(np.arange(low, high + 1, dtype="i4"))
    return np.concatenate(out)


class States:
    """What each event type begins and ends: `matrix` has a row per slot: ends?, slot of its end, op or -1, row of names, begins?

    Its last row is an end event of no type: it closes what never ended.
    """

    def __init__(self, headers: Headers, path: str) -> None:
        self._names: dict[str, int] = {}
        self.parallel: list[bool] = []
        self._slots: dict[int, int] = {}
        definitions = dict(headers.states)
        for begin, end in headers.parallel:
            definitions.setdefault(begin, (end, headers.parallel[begin, end]))
        for begin, end in headers.routines:
            definitions.setdefault(begin, (end, headers.routines[begin, end]))
        if len(definitions) > _LUT:
            raise TraceError(f"{path}: {len(definitions)} state definitions, must be at most {_LUT}")
        rows = [self._row(begin, end, name, headers) for begin, (end, name) in definitions.items()]
        self.matrix = np.zeros((len(self._slots) + 1, 5), "i8")
        for slot, end_slot, op, name in rows:
            self.matrix[slot, 1:] = end_slot, op, name, 1
            self.matrix[end_slot, 0] = 1
        self.matrix[-1] = 1, -1, -1, -1, 0
        self._lut = np.full(_LUT, -1, "i8")
        for event, slot in self._slots.items():
            if 0 <= event < _LUT:
                self._lut[event] = slot
        far = sorted((event, slot) for event, slot in self._slots.items() if not 0 <= event < _LUT)
        self._far = np.array(far or [(-1, -1)], "i8").T

    def _row(self, begin: int, end: int, name: str, headers: Headers) -> tuple[int, int, int, int]:
        name = headers.routines.get((begin, end), name)
        parallel = (begin, end) in headers.parallel
        op = None if parallel else ops.find(name)
        return self._slot(begin), self._slot(end), -1 if op is None else op, -1 if op is not None else self._name(name, parallel)

    def _slot(self, event: int) -> int:
        return self._slots.setdefault(event, len(self._slots))

    def _name(self, name: str, parallel: bool) -> int:
        number = self._names.setdefault(name, len(self._names))
        if number == len(self.parallel):
            self.parallel.append(False)
        self.parallel[number] |= parallel
        return number

    @property
    def names(self) -> list[str]:
        """The names of user regions, in order of definition."""
        return list(self._names)

    def slots(self, types: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slot of each event type, -1 where it is in no state."""
        inside = (types >= 0) & (types < _LUT)
        out = np.where(inside, self._lut[np.where(inside, types, 0)], -1)
        away = np.flatnonzero(~inside)
        events, slots = self._far
        at = np.minimum(np.searchsorted(events, types[away]), len(events) - 1)
        out[away] = np.where(events[at] == types[away], slots[at], -1)
        return out
