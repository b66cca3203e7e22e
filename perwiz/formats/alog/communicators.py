"""The communicators of an ALOG file: what c= means, and which process a rank in it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from perwiz.formats.alog.headers import Headers, Listed
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


def _members(group: Listed, most: int) -> I4:
    members = ranks(",".join(group.parts[part] for part in sorted(group.parts)), most)
    if group.size and group.size != len(members):
        raise ValueError(group.name)
    return members


class Groups:
    """Communicators by row: row 0 is number 0, the world, whether defined or not."""

    def __init__(self, told: Mapping[int, tuple[str, I4]]) -> None:
        """`told` has the name and the processes of each communicator, by its number."""
        of_world = {0: ("world", np.empty(0, "i4"))}
        rows = sorted((of_world | dict(told)).items())
        self._numbers = np.array([number for number, _ in rows], "i8")
        self._names, self._members = tuple(name for _, (name, _) in rows), [members for _, (_, members) in rows]
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


def listed(headers: Headers) -> tuple[Groups, list[int]]:
    """Return the communicators that the header lists, and the lines of those that cannot be used: they name a rank twice, or not as many
    as they say.
    """
    unusable: list[int] = []
    out: dict[int, tuple[str, I4]] = {}
    left = MOST_RANKS
    for number, group in sorted(headers.communicators.items()):
        try:
            members = _members(group, left)
        except ValueError:
            unusable.append(group.line)
        else:
            out[number] = group.name, members
            left -= len(members)
    return Groups(out), unusable
