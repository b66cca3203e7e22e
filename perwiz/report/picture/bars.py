"""Bars no narrower than a column of the picture: a lane never has more than two per column, however many calls the trace has."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import F8, I8, Mask

SHARES = 4
"""Steps in which a bar tells how much of its columns calls cover."""


@dataclasses.dataclass(frozen=True, eq=False)
class Bars:
    """Bars in drawing order, later ones on top; their ends are in columns from the left edge of the picture."""

    lane: I8
    group: I8
    left: F8
    right: F8
    share: F8
    """How much of its columns the intervals cover, in steps of 1 / SHARES; never 0."""
    merged: int
    """Intervals narrower than a column, which were put together column by column."""

    def __len__(self) -> int:
        return len(self.lane)

    def take(self, which: Mask) -> Bars:
        """Return some of them."""
        return Bars(self.lane[which], self.group[which], self.left[which], self.right[which], self.share[which], self.merged)


def bars(
    lane: I8,
    group: NDArray[np.integer],
    left: F8,
    right: F8,
    columns: int,
) -> Bars:
    """Return what to draw for many intervals, at most two bars per lane and column.

    Intervals of at least one column stay as they are. Of the narrower ones each column keeps the group that covers most of
    it (the smaller number on a tie), and neighbouring columns of one lane, group and share become one bar. Those come last.
    lane, group: rows of an interval; left, right: its ends in columns. Order does not matter. What lies before 0 is left out.
    """
    seen = (right > 0) | (left >= 0)
    lane, group, left, right = lane[seen], group[seen], left[seen].clip(0), right[seen]
    wide = np.flatnonzero(right - left >= 1)
    narrow = np.flatnonzero(right - left < 1)
    short = _columnwise(lane[narrow], group[narrow], left[narrow], right[narrow], columns)
    return Bars(
        lane=np.concatenate([lane[wide], short.lane]),
        group=np.concatenate([group[wide].astype(np.int64), short.group]),
        left=np.concatenate([left[wide], short.left]),
        right=np.concatenate([right[wide], short.right]),
        share=np.concatenate([np.ones(len(wide)), short.share]),
        merged=short.merged,
    )


def _columnwise(lane: I8, group: NDArray[np.integer], left: F8, right: F8, columns: int) -> Bars:
    """Return runs of columns whose dominant group and share are the same; only columns with the middle of an interval count."""
    first, middle, last = (lane * columns + x.clip(0, columns - 1).astype(np.int64) for x in (left, (left + right) / 2, right))
    inside = np.minimum(right, left.astype(np.int64) + 1) - left
    winner, cover = _dominant(np.append(first, last), np.append(group, group), np.append(inside, right - left - inside))
    cell = np.unique(middle)
    kind, share = winner[cell], np.ceil(cover[cell] * SHARES).clip(1, SHARES) / SHARES
    new = np.ones(len(cell), np.bool_)
    new[1:] = (np.diff(cell) != 1) | (np.diff(kind) != 0) | (np.diff(share) != 0) | (cell[1:] % columns == 0)
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(cell))[: len(begin)] - 1
    return Bars(
        lane=cell[begin] // columns,
        group=kind[begin],
        left=(cell[begin] % columns).astype(np.float64),
        right=(cell[end] % columns + 1).astype(np.float64),
        share=share[begin],
        merged=len(lane),
    )


def _dominant(cell: I8, group: NDArray[np.integer], width: F8) -> tuple[I8, F8]:
    """Return per cell the group with the largest sum of widths and the sum over all groups; a width of zero still counts a little."""
    if not len(cell):
        return np.empty(0, np.int64), np.empty(0)
    groups = int(group.max()) + 1
    cover = np.bincount(cell * groups + group, width + 1e-9, (int(cell.max()) + 1) * groups).reshape(-1, groups)
    return cover.argmax(axis=1), cover.sum(axis=1)


def boxes(lane: NDArray[np.floating | np.integer], left: F8, right: F8, height: F8 | float) -> F8:
    """Return the corners (n, 4, 2) of boxes centred on their lanes; `height` is in lanes."""
    low, high = lane - height / 2, lane + height / 2
    return np.stack([np.stack([left, left, right, right], 1), np.stack([low, high, high, low], 1)], 2)
