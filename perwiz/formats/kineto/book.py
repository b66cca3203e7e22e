"""The calls of a rank as they are found, in any order, those that idle among them; each has a handle by which links name it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I4, I8, Columns
from perwiz.trace.tables import NONE

CALL = np.dtype(
    [
        *((name, "i8") for name in ("enter", "leave", "turn", "sent", "received", "sequence")),
        *((name, "i4") for name in ("location", "group", "peer")),
        ("op", "u2"),
    ]
)
"""A call: ns; which comes first of calls at one instant; bytes; number in its group or -1; row of groups or -1; partner in the group."""


class Book:
    """Calls of one rank."""

    def __init__(self) -> None:
        self._columns = Columns(CALL)
        self._count = 0

    def add(self, location: Any, op: Any, enter: I8, leave: I8, **more: Any) -> I8:
        """Add calls and return their handles. What is one value is that of all."""
        count = len(enter)
        columns = {"location": location, "op": op, "enter": enter, "leave": leave, "turn": 0, "sent": 0, "received": 0}
        columns |= {"sequence": NONE, "group": NONE, "peer": NONE, **more}
        self._columns.add({name: np.broadcast_to(np.asarray(value), count) for name, value in columns.items()}, count)
        self._count += count
        return np.arange(self._count - count, self._count)

    def closed(self) -> tuple[dict[str, NDArray[Any]], I8]:
        """Return the columns of the calls in order of (location, time), and the row of each handle."""
        taken = {name: self._columns.take(name) for name in CALL.names or ()}
        order = np.lexsort((taken["turn"], taken["leave"], taken["enter"], taken["location"]))
        row = np.empty(len(order), "i8")
        row[order] = np.arange(len(order))
        return {name: column[order] for name, column in taken.items()}, row


class Between(NamedTuple):
    """What locations do, in order of (location, time), such that nothing overlaps on one."""

    begin: I8
    end: I8
    before: I8
    """Handle of the idle call that ends when it begins."""
    behind: I8
    """Handle of the idle call that begins when it ends."""
    turn: I8
    """Turn of a call that it is."""


def idle(book: Book, op: int, location: I4, begin: I8, end: I8, start: int, stop: int) -> Between:
    """Return what is done, after adding the idle calls around it, from the start to the end of the rank.

    begin  3 8  end  5 9, from 0 to 20      idle 0 - 3, 5 - 8, 9 - 20
    """
    count = len(location)
    first = np.append(True, location[1:] != location[:-1])[:count]
    shift = np.cumsum(first) * (int((end - start).max(initial=0)) + int((start - begin).max(initial=0)) + 1)
    end = np.maximum.accumulate(end + shift) - shift
    begin = begin.copy()
    begin[1:] = np.where(first[1:], begin[1:], np.maximum(begin[1:], end[:-1]))
    turn = 2 * np.arange(count)
    since = np.where(first, np.minimum(start, begin), np.append(0, end[:-1])[:count])
    before = book.add(location, op, since, begin, turn=turn)
    last = np.append(first[1:], True)[:count]
    behind = np.append(before[1:], NONE)[:count]
    behind[last] = book.add(location[last], op, end[last], np.maximum(end[last], stop), turn=turn[last] + 2)
    return Between(begin, end, before, behind, turn + 1)
