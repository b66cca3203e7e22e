"""The calls of a rank as they are found, in any order; each has a handle by which links name it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import I8, Columns
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
