"""What had to come first in a step of training: pairs of operations, of which the second begins when the first has ended.

The rules are those of the straggler analysis of ByteDance (Lin et al., Understanding Stragglers in Large Model Training Using What-if
Analysis, OSDI 2025, and the model of dependencies of its artefact): a rank computes on one stream, and sends and receives on four, of
activations and of gradients; what it receives comes before what it computes of it, what it sends after; parameters are gathered before the
first forward computation; behind the last one come gc, the gradients of layer norm and embedding, the reduced gradients, clipping and the
optimizer.
"""

from __future__ import annotations

import numpy as np

from perwiz.formats.jobtable import columns
from perwiz.formats.jobtable.columns import Operations
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE

_CLOSE = 50_000
"""Times of one rank that are as near as this, ns, may be in either order."""
_FAR = np.iinfo("i8").max >> 1


class Order:
    """The pairs of a job, and which messages there are."""

    def __init__(self, table: Operations) -> None:
        self._table = table
        self._cells = int(table.cell[-1]) + 1
        self._of = _OfType(table, self._cells)
        first = np.searchsorted(table.cell, np.arange(self._cells))
        self._step, self._stage, self._replica = table.step[first], table.stage[first], table.replica[first]
        self._stages = int(self._stage.max()) + 1
        self._parts = int(max(table.place.max(), self._stages - 1)) + 1
        self._pairs: list[tuple[I8, I8]] = []
        self.untied = 0
        """Sends and receives that belong to no computation, though others of their stage do."""
        self.unmatched = [0, 0]
        """Sends and receives without the other end."""
        self.messages = self._pipeline()
        """Sends and receives that are the ends of one message, rows."""
        self._first_backward()
        self._parameters()
        self._gradients()

    def pairs(self) -> tuple[I8, I8]:
        """Return (what ends before, what begins behind it), rows of operations."""
        causes, effects = (np.concatenate([pair[k] for pair in self._pairs]) for k in range(2))
        return causes, effects

    def _tie(self, cause: I8, effect: I8) -> None:
        both = (cause >= 0) & (effect >= 0)
        self._pairs.append((cause[both], effect[both]))

    def _pipeline(self) -> tuple[I8, I8]:
        """Tie sends and receives to what is computed, and return the messages."""
        ends = []
        for direction, computes in ((1, columns.FORWARD), (-1, columns.BACKWARD)):
            sends, receives = (self._transfers(direction, computes, sending) for sending in (True, False))
            ends.append(self._matched(sends, receives, direction))
        send, receive = (np.concatenate([pair[k] for pair in ends]) for k in range(2))
        return send, receive

    def _transfers(self, direction: int, computes: int, sending: bool) -> I8:
        """Tie one kind of sends or receives to what is computed; return those that go to another stage, rows in order.

        Some that were never begun are recorded, too: receives behind the last computation and sends before the first has ended are none.
        """
        table, of = self._table, self._of
        kind = (columns.SENDS if sending else columns.RECEIVES)[direction < 0]
        row = of.rows(kind)
        cell = table.cell[row]
        if sending:
            real = table.end[row] >= of.least(computes, table.end)[cell] - _CLOSE
        else:
            real = table.begin[row] <= of.most(computes, table.begin)[cell] + _CLOSE
        row, cell = row[real], cell[real]
        count, wanted = np.bincount(cell, minlength=self._cells), of.count[computes]
        late = 0 if sending else (count + 1 == wanted).astype("i8")[cell]
        turn = _turn(cell) + late
        task = of.row(computes, cell, turn)
        self.untied += int((task < 0).sum())
        if sending:
            self._tie(task, row)
        else:
            self._tie(row, task)
            self._tie(of.row(computes, cell, turn - 1), row)
        place = table.place[np.maximum(task, 0)]
        other = place + (direction if sending else -direction)
        return row[(task >= 0) & ((place < 0) | ((other >= 0) & (other < self._parts)))]

    def _matched(self, send: I8, receive: I8, direction: int) -> tuple[I8, I8]:
        """Return the sends and receives that are one message: the k-th of a stage in a step is the k-th of the next stage."""
        sides = []
        for row, shift in ((send, 0), (receive, direction)):
            cell = self._table.cell[row]
            stage = (self._stage[cell] - shift) % self._stages
            key = np.stack([self._step[cell], self._replica[cell].astype("i8"), stage.astype("i8"), _turn(cell)])
            sides.append(key)
        _, which = np.unique(np.concatenate(sides, axis=1), axis=1, return_inverse=True)
        mine, its = np.split(which.ravel(), [len(send)])
        _, a, b = np.intersect1d(mine, its, return_indices=True)
        for side, rows in enumerate((send, receive)):
            self.unmatched[side] += len(rows) - len(a)
        return send[a], receive[b]

    def _first_backward(self) -> None:
        """Let the first transfers of gradients begin when the forward computation before the last one before them has ended."""
        table, of = self._table, self._of
        computes = np.flatnonzero(table.type <= columns.BACKWARD)
        cell = table.cell[computes]
        turn = _turn(cell)
        backward = np.flatnonzero(table.type[computes] == columns.BACKWARD)
        cells, first = np.unique(cell[backward], return_index=True)
        place = backward[first]
        place, cells = place[turn[place] >= 2], cells[turn[place] >= 2]
        before = computes[place - 2]
        for kind in (columns.SENDS[1], columns.RECEIVES[1]):
            self._tie(before, of.row(kind, cells, np.zeros(len(cells), "i8")))

    def _parameters(self) -> None:
        """Let the first forward computation on each part of the model wait until its parameters are gathered."""
        gathers, forward = self._of.rows(columns.GATHER), self._of.rows(columns.FORWARD)
        self._tie(*self._by_part(gathers[::-1], forward))

    def _gradients(self) -> None:
        """Tie the reduced gradients to what is computed: those of a part behind it, if any rank reduces some apart, else all at the end."""
        of = self._of
        scatter = of.rows(columns.SCATTER)
        if not len(scatter):
            return
        cells = np.unique(self._table.cell[scatter])
        first = of.row(columns.SCATTER, cells, np.zeros(len(cells), "i8"))
        last = of.row(columns.SCATTER, cells, of.count[columns.SCATTER][cells] - 1)
        if of.count[columns.SEPARATE].any():
            self._tie(*self._by_part(of.rows(columns.BACKWARD)[::-1], scatter))
            behind = self._next(cells, columns.LAYERNORM)
        else:
            self._tie(self._before(cells, columns.CLIP), first)
            behind = self._next(cells, columns.CLIP)
        self._tie(last, behind)

    def _by_part(self, cause: I8, effect: I8) -> tuple[I8, I8]:
        """Return the first cause of each rank, step and part of the model in the order given, and the first effect of the same."""
        table = self._table
        keys = [table.cell[row].astype("i8") * (int(table.chunk.max()) + 2) + table.chunk[row] + 1 for row in (cause, effect)]
        (mine, a), (its, b) = (np.unique(key, return_index=True) for key in keys)
        _, k, j = np.intersect1d(mine, its, return_indices=True)
        return cause[a[k]], effect[b[j]]

    def _next(self, cells: I8, kind: int) -> I8:
        """Return the first operation of some cells on the stream that computes, of this type or a later one; -1 where there is none."""
        out = np.full(len(cells), NONE, "i8")
        for later in range(columns.OPTIMIZER, kind - 1, -1):
            found = self._of.row(later, cells, np.zeros(len(cells), "i8"))
            out = np.where(found >= 0, found, out)
        return out

    def _before(self, cells: I8, kind: int) -> I8:
        """Return the last operation of some cells on the stream that computes, of an earlier type; -1 where there is none."""
        out = np.full(len(cells), NONE, "i8")
        for earlier in range(columns.COLLECT, kind):
            found = self._of.row(earlier, cells, self._of.count[earlier][cells] - 1)
            out = np.where(found >= 0, found, out)
        nothing = np.flatnonzero(out < 0)
        last = np.full(self._cells, NONE, "i8")
        computes = np.flatnonzero(self._table.type <= columns.BACKWARD)
        last[self._table.cell[computes]] = computes
        out[nothing] = last[cells[nothing]]
        return out


class _OfType:
    """The operations of each type, by cell and in order of time."""

    def __init__(self, table: Operations, cells: int) -> None:
        self._table, self._cells = table, cells
        self._rows = [np.flatnonzero(table.type == kind) for kind in range(len(columns.TYPES))]
        self.count = [np.bincount(table.cell[rows], minlength=cells) for rows in self._rows]
        """Per type and cell."""
        self._first = [np.cumsum(count) - count for count in self.count]

    def rows(self, kind: int) -> I8:
        """Return all of a type."""
        return self._rows[kind]

    def row(self, kind: int, cell: I8, turn: I8) -> I8:
        """Return the one with a number, from 0, among those of a type in a cell, -1 where there is none."""
        there = (turn >= 0) & (turn < self.count[kind][cell])
        place = np.where(there, self._first[kind][cell] + turn, len(self._rows[kind]))
        return np.append(self._rows[kind], NONE)[place]

    def least(self, kind: int, values: I8) -> I8:
        """Return the least value of those of a type per cell, far away where there is none."""
        out = np.full(self._cells, _FAR, "i8")
        np.minimum.at(out, self._table.cell[self._rows[kind]], values[self._rows[kind]])
        return out

    def most(self, kind: int, values: I8) -> I8:
        """Return the greatest value of those of a type per cell, likewise."""
        out = np.full(self._cells, -_FAR, "i8")
        np.maximum.at(out, self._table.cell[self._rows[kind]], values[self._rows[kind]])
        return out


def _turn(cell: I8) -> I8:
    """Return per row how many rows before it have the same cell; cells ascend.

    cell 4 4 7 7 7   turn 0 1 0 1 2
    """
    new = np.ones(len(cell), bool)
    new[1:] = cell[1:] != cell[:-1]
    first = np.flatnonzero(new)
    return np.arange(len(cell)) - first[np.cumsum(new) - 1]
