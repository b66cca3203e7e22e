"""Process groups: which ranks are in them, over all files."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from perwiz.formats.kineto.rank import MOST_RANKS, Rank
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators

_DEFAULT = ("", "0", "default_pg")
_FIELDS = ("group", "ranks", "first", "stride", "members")


class Key(NamedTuple):
    """A group, by name and ranks."""

    name: str
    ranks: tuple[int, ...]


class Groups:
    """All groups that some rank names. Row 0 is the whole job."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.world = max(max(rank.world, rank.rank + 1) for rank in ranks)
        self._all = tuple(range(self.world))
        self._rows: dict[Key, int] = {Key("", self._all): 0}
        self.unnamed = 0
        """Operations whose group nobody names: taken to be of all ranks."""

    def of(self, rank: Rank, row: I8) -> I4:
        """Return the group of each of some events of a rank."""
        columns = np.stack([rank.detail(name, row).astype("i8") for name in _FIELDS])
        told, which = np.unique(columns, axis=1, return_inverse=True)
        found = np.array([self._row(rank, *one) for one in told.T.tolist()], "i4")
        self.unnamed += int((found[which.ravel()] == NONE).sum())
        return np.maximum(found[which.ravel()], 0).astype("i4")

    def _row(self, rank: Rank, name: int, ranks: int, first: int, stride: int, size: int) -> int:
        """Return the row of a group as one event names it, -1 if it does not."""
        named = rank.texts.text(name)
        told = _listed(rank.texts.text(ranks))
        if not told and named in rank.groups:
            told = rank.groups[named].ranks
        if not told and first >= 0 and stride >= 0 and 0 < size <= MOST_RANKS:
            told = tuple(range(first, first + max(stride, 1) * size, max(stride, 1)))
        if not told or len(set(told)) < len(told) or not all(0 <= one < self.world for one in told) or rank.rank not in told:
            return NONE
        key = Key("" if told == self._all and named in _DEFAULT else named, told)
        return self._rows.setdefault(key, len(self._rows))

    def communicators(self) -> Communicators:
        """Return the groups as the communicators of a trace."""
        sizes = np.cumsum([0, *(len(key.ranks) for key in self._rows)])
        ranks = np.array([one for key in self._rows for one in key.ranks], "i4")
        return Communicators(tuple(key.name or "world" for key in self._rows), sizes.astype("i8"), ranks)

    def partner(self, group: I4, place: I4, rank: int) -> I4:
        """Return the rank at a place of each group; where no place is told and there are two ranks, the other one, else -1."""
        members = [key.ranks for key in self._rows]
        out = np.full(len(group), NONE, "i4")
        for k, (row, at) in enumerate(zip(group.tolist(), place.tolist(), strict=True)):
            ranks = members[row]
            if 0 <= at < len(ranks):
                out[k] = ranks[at]
            elif len(ranks) == 2:
                out[k] = ranks[1 - ranks.index(rank)]
        return out


def _listed(text: str) -> tuple[int, ...]:
    """Return the ranks of a list; none for one that is cut or no list."""
    if not text.startswith("["):
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return tuple(found) if all(type(one) is int for one in found) else ()
