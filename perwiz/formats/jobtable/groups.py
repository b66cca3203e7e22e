"""Who does things together: all ranks, those of a stage, those of a replica of the model, its first and last stage, and a rank alone."""

from __future__ import annotations

import numpy as np

from perwiz.formats.jobtable import columns
from perwiz.formats.jobtable.columns import Operations
from perwiz.formats.jobtable.lanes import BARRIER
from perwiz.trace.arrays import I4, U1
from perwiz.trace.trace import Communicators

_STAGE = (columns.GATHER, columns.SCATTER, columns.SEPARATE)
_REPLICA = (*columns.SENDS, *columns.RECEIVES)
_ALL = (columns.CLIP, BARRIER)


class Groups:
    """The groups of a job. Row 0 are all ranks."""

    def __init__(self, table: Operations) -> None:
        ranks, first = np.unique(table.rank, return_index=True)
        stage, replica = table.stage[first], table.replica[first]
        outer = (stage == 0) | (stage == stage.max())
        self._names: list[str] = []
        self._members: list[I4] = []
        self._ranks = ranks
        self._row = np.zeros((4, len(ranks)), "i4")
        """Per stage, replica, ends of the pipeline and rank alone: the group of each of these ranks."""
        self._add("world", ranks, 0, keep=False)
        for kind, name, number, mine in (
            (0, "stage", stage, np.ones(len(ranks), bool)),
            (1, "replica", replica, np.ones(len(ranks), bool)),
            (2, "embedding", replica, outer),
        ):
            for k in np.unique(number[mine]).tolist():
                self._add(f"{name}-{k}", ranks[mine & (number == k)], kind)
        for rank in ranks.tolist():
            self._add(f"rank-{rank}", np.array([rank]), 3)
        self._row[2] = np.where(self._row[2] > 0, self._row[2], self._row[3])

    def _add(self, name: str, ranks: I4, kind: int, keep: bool = True) -> None:
        if keep:
            self._row[kind, np.searchsorted(self._ranks, ranks)] = len(self._names)
        self._names.append(name)
        self._members.append(ranks.astype("i4"))

    def of(self, kind: U1, rank: I4) -> I4:
        """Return the group in which each operation is done, given its type and rank."""
        which = np.full(BARRIER + 1, 3, "i8")
        which[list(_STAGE)], which[list(_REPLICA)], which[columns.EMBEDDING] = 0, 1, 2
        return np.where(np.isin(kind, _ALL), 0, self._row[which[kind], np.searchsorted(self._ranks, rank)]).astype("i4")

    def communicators(self) -> Communicators:
        """Return the groups as the communicators of a trace."""
        sizes = np.cumsum([0, *map(len, self._members)])
        return Communicators(tuple(self._names), sizes.astype("i8"), np.concatenate(self._members))
