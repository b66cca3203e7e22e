"""What the event types of an ALOG file begin and end."""

from __future__ import annotations

import numpy as np

from perwiz.formats.alog.headers import Headers
from perwiz.kernels import alog
from perwiz.trace import operations
from perwiz.trace.arrays import I8

_TABLE = 1 << 16


class States:
    """What each event type begins and ends: `matrix` has a row per slot, alog.STATE, whose end is the slot of another.

    `table` gives the slot of an event type below 65536: -1 for one in no state.
    """

    def __init__(self, headers: Headers) -> None:
        self._names: dict[str, int] = {}
        self.names: list[str] = []
        """The names of user regions, in order of definition."""
        self.parallel: list[bool] = []
        self._slots: dict[int, int] = {}
        definitions = dict(headers.states)
        for named in (headers.parallel, headers.routines):
            for (begin, end), name in named.items():
                definitions.setdefault(begin, (end, name))
        rows = [self._row(begin, end, name, headers) for begin, (end, name) in definitions.items()]
        begins, ends, op, row = np.array(rows, "i4").reshape(-1, 4).T
        self.matrix = alog.zeros(len(self._slots), alog.STATE)
        self.matrix.end_state[begins], self.matrix.op[begins], self.matrix.name[begins] = ends, op, row
        self.matrix.begins[begins], self.matrix.ends[ends] = True, True
        self.table = np.full(_TABLE, -1, "i4")
        for event, slot in self._slots.items():
            if event < _TABLE:
                self.table[event] = slot
        far = sorted((event, slot) for event, slot in self._slots.items() if event >= _TABLE)
        self._far = np.array(far or [(-1, -1)], "i8").T

    def _row(self, begin: int, end: int, name: str, headers: Headers) -> tuple[int, int, int, int]:
        name = headers.routines.get((begin, end), name)
        parallel = (begin, end) in headers.parallel
        op = None if parallel else operations.find(name)
        return self._slot(begin), self._slot(end), -1 if op is None else op, -1 if op is not None else self._name(name, parallel)

    def _slot(self, event: int) -> int:
        return self._slots.setdefault(event, len(self._slots))

    def _name(self, name: str, parallel: bool) -> int:
        """Return the row of a region's name; states of the same name share one."""
        number = self._names.setdefault(name, len(self._names))
        if number == len(self.parallel):
            self.names.append(name)
            self.parallel.append(False)
        self.parallel[number] |= parallel
        return number

    def far(self, types: I8) -> I8:
        """Return the slot of event types from 65536 on, -1 where one is in no state."""
        events, slots = self._far
        nearest = np.minimum(np.searchsorted(events, types), len(events) - 1)
        return np.where(events[nearest] == types, slots[nearest], -1)
