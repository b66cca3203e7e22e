"""The reasons why a record could not be used, as `Defects.reason` numbers them, and the list a reader makes of such records."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.tables import NONE, Defects

REASONS = (
    "not six integers",
    "number out of range",
    "message without tag and size",
    "end of a state that is not open",
    "state that never ends",
    "time runs backwards on its process",
    "header record that cannot be used",
    "cut off in the middle of a line",
    "extension attribute that cannot be used",
    "more than 1000 states open inside it, or MPI states in one another",
    "region that is not defined",
    "communicator that is not defined",
    "partner outside its communicator",
    "completion of a request that was not posted",
    "process or thread whose records cannot all be read",
    "no record of numbers between colons",
    "record of no known type, or longer than its block",
)
(
    NOT_INTEGERS,
    OUT_OF_RANGE,
    NO_TAG_AND_SIZE,
    NOT_OPEN,
    NEVER_ENDS,
    BACKWARDS,
    BAD_HEADER,
    CUT_OFF,
    BAD_ATTRIBUTE,
    TOO_DEEP,
    UNDEFINED_REGION,
    UNDEFINED_COMMUNICATOR,
    NOT_A_MEMBER,
    NOT_POSTED,
    UNREADABLE,
    NO_RECORD,
    UNREADABLE_RECORD,
) = range(len(REASONS))


class DefectList:
    """The defects found so far, thirteen bytes each."""

    def __init__(self) -> None:
        self._lines: list[I8] = [np.empty(0, "i8")]
        self._locations: list[I4] = [np.empty(0, "i4")]
        self._reasons: list[U1] = [np.empty(0, "u1")]

    def add(self, lines: ArrayLike, reasons: ArrayLike, location: int = NONE) -> None:
        """Add one defect per line (from 1; -1 none) on a location; `reasons` are as many, or one for all."""
        column = np.atleast_1d(np.array(lines, "i8"))
        self._lines.append(column)
        self._locations.append(np.full(column.shape, location, "i4"))
        self._reasons.append(np.array(np.broadcast_to(reasons, column.shape), "u1"))

    def table(self) -> Defects:
        """Return all, sorted by line, location and reason."""
        return in_order(Defects(np.concatenate(self._lines), np.concatenate(self._locations), np.concatenate(self._reasons)))


def in_order(found: Defects) -> Defects:
    """Return defects sorted by line, location and reason."""
    order = np.lexsort((found.reason, found.location, found.line))
    return Defects(found.line[order], found.location[order], found.reason[order])
