"""The communicators of an ALOG file: what c= means, and which process a rank in it is."""

from __future__ import annotations

import re

import numpy as np

from perwiz.formats.alog.headers import OF_COMMUNICATOR, Headers, Listed
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators

MOST_RANKS = 1 << 22
"""Most ranks of all communicators together."""
NOBODY = "-"
"""Stands for the ranks of a communicator that has none."""
_PIECE = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def ranks(pieces: str, most: int = MOST_RANKS) -> I4:
    """Return the ranks that a list such as `0-3,8,10-11` names, int32; `-` names none.

    Raises ValueError for more than `most` or one named twice.
    """
    if pieces == NOBODY:
        return np.empty(0, "i4")
    bounds = []
    for piece in pieces.split(","):
        match = _PIECE.fullmatch(piece)
        if not match:
            raise ValueError(piece)
        low = int(match[1])
        size = int(match[2] or low) + 1 - low
        most -= size
        if size < 1 or most < 0 or low + size > 1 << 31:
            raise ValueError(piece)
        bounds.append((low, size))
    first, sizes = np.array(bounds, "i8").T
    out = (np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)).astype("i4")
    if len(np.unique(out)) < len(out):
        raise ValueError(pieces)
    return out


def _listed(listed: Listed, most: int) -> I4:
    members = ranks(",".join(listed.parts[part] for part in sorted(listed.parts)), most)
    if listed.size and listed.size != len(members):
        raise ValueError(listed.name)
    return members


class Groups:
    """The communicators that the header defines, by row: row 0 is number 0, the world, whether defined or not.

    `defects` are the lines of those that cannot be used: they name a rank twice, or not as many as they say.
    """

    def __init__(self, headers: Headers) -> None:
        self.defects: list[int] = []
        names, members = {0: "world"}, {0: np.empty(0, "i4")}
        told = headers.told(OF_COMMUNICATOR)
        left = MOST_RANKS
        for number, listed in sorted(headers.communicators.items()):
            try:
                members[number] = _listed(listed, left)
            except ValueError:
                self.defects.append(listed.line)
            else:
                names[number] = told.get(number, listed.name)
                left -= len(members[number])
        self._numbers = np.array(list(names), "i8")
        self._names, self._members = tuple(names.values()), list(members.values())
        self._lay()

    def _lay(self) -> None:
        self._first = np.cumsum([0, *map(len, self._members)])
        self._ranks = np.concatenate(self._members)

    @property
    def world_is_known(self) -> bool:
        """Whether the header lists the ranks of communicator 0; if not, its rank n is process n."""
        return len(self._members[0]) > 0

    def rows(self, numbers: I8) -> I8:
        """Return the rows of communicators with these numbers; for one not defined, -1 less its number."""
        nearest = np.minimum(np.searchsorted(self._numbers, numbers), len(self._numbers) - 1)
        return np.where(self._numbers[nearest] == numbers, nearest, NONE - numbers)

    def processes(self, comm: I8, rank: I8) -> I8:
        """Return the processes with these ranks in communicators (rows; -1: in the world), -1 where there is none such."""
        comm = np.where(comm == NONE, 0, comm)
        inside = (comm >= 0) & (rank >= 0)
        inside[inside] = rank[inside] < np.diff(self._first)[comm[inside]]
        out = np.where((comm == 0) & (rank >= 0) & (not self.world_is_known), rank, NONE)
        out[inside] = self._ranks[self._first[comm[inside]] + rank[inside]]
        return out

    def table(self, process: I8) -> Communicators:
        """Return the table; a world that the header does not list is the processes that occur, in ascending order."""
        if not self.world_is_known:
            self._members[0] = np.unique(process).astype("i4")
            self._lay()
        return Communicators(self._names, self._first, self._ranks)
