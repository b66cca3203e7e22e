"""Where operations run: a rank computes on its first stream, sends and receives on others, and gathers and reduces on a last one."""

from __future__ import annotations

import numpy as np

from perwiz.formats.jobtable import columns
from perwiz.formats.jobtable.columns import Operations
from perwiz.trace.arrays import I4, I8

BARRIER = len(columns.TYPES)
"""Type of what stands between two steps on the stream that computes: the next one begins when all ranks have come."""
_TOGETHER = 5
_LANE = np.array([0] * 8 + [_TOGETHER] * 2 + [1, 2, 3, 4] + [0], "i8")
"""Stream per type."""
_PHASE = np.array([0, 0, *range(1, 7), 0, 0, 0, 0, 0, 0, -1], "i8")
"""Place in a step per type: behind the last computation they follow each other."""


class Lanes:
    """The operations and the barriers between steps in order of (location, time); a location is a stream."""

    def __init__(self, table: Operations) -> None:
        ranks = np.unique(table.rank)
        steps = len(table.steps)
        kind = np.concatenate([table.type, np.full(len(ranks) * (steps - 1), BARRIER, "u1")])
        rank = np.concatenate([table.rank, np.repeat(ranks, steps - 1)])
        step = np.concatenate([table.step, np.tile(np.arange(1, steps), len(ranks))])
        begin = np.concatenate([table.begin, np.zeros(len(kind) - len(table), "i8")])
        end = np.concatenate([table.end, table.starts[step[len(table) :]]])
        places, where = np.unique(np.stack([rank.astype("i8"), _LANE[kind]]), axis=1, return_inverse=True)
        where = where.ravel()
        order = np.lexsort((begin, _PHASE[kind], step, where))
        self.process: I4 = places[0].astype("i4")
        """Rank per location."""
        first = np.searchsorted(places[0], places[0])
        self.thread: I4 = (np.arange(len(first)) - first).astype("i4")
        self.location: I4 = where[order].astype("i4")
        self.type, self.rank, self.step = kind[order], rank[order].astype("i4"), step[order]
        self.begin: I8 = begin[order]
        self.end: I8 = end[order]
        place = np.empty(len(order), "i8")
        place[order] = np.arange(len(order))
        self.row_of: I8 = place[: len(table)]
        """Row here of each row of the table."""

    def begins(self) -> tuple[I8, I8]:
        """Return (barrier, the first operation behind it on each other stream of the rank), rows."""
        rows = np.flatnonzero(self.thread[self.location] > 0)
        new = np.ones(len(rows), bool)
        new[1:] = (np.diff(self.location[rows]) != 0) | (np.diff(self.step[rows]) != 0)
        rows = rows[new & (self.step[rows] > 0)]
        barrier = np.flatnonzero(self.type == BARRIER)
        steps = int(self.step.max()) + 1
        key = self.rank[barrier].astype("i8") * steps + self.step[barrier]
        return barrier[np.searchsorted(key, self.rank[rows].astype("i8") * steps + self.step[rows])], rows
