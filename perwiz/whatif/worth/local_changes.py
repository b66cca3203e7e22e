"""Many small changes of weights, each by itself: the makespan under every one of them.

A change touches edges into the positions p .. q. Behind q nothing changes but when it can begin: the new makespan is the largest
F(u) + weight + B(v) of an edge (u, v) that leads over q, with F the earliest times under the change and B the longest paths to the
end without it. So a change costs one sweep over p .. q, not over the graph.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from perwiz.engines.sweep import sweep, to_end
from perwiz.graph.graph import Graph
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT
from perwiz.trace.arrays import I4, I8, Columns, Ints, chunks

Report = Callable[[int, int], None]
"""Is told how many of all are done."""
_MOST = 1 << 22
"""Edges over a position that are held at a time."""
_TELL = 64
_OVER = np.dtype([("low", "i4"), ("high", "i4"), ("source", "i4"), ("behind", "i8")])
"""An edge over positions `low` to before `high`, by their numbers."""


@dataclasses.dataclass(frozen=True, eq=False)
class Changes:
    """`weight[k]` for `edge[k]` in change `which[k]`, one row per edge of a change."""

    which: I8
    edge: I8
    weight: I8

    def in_order(self) -> Changes:
        """Return them by their change: themselves if they are."""
        if (self.which[1:] >= self.which[:-1]).all():
            return self
        order = np.argsort(self.which, kind="stable")
        return Changes(self.which[order], self.edge[order], self.weight[order])


def makespans(graph: Graph, weight: I8, changes: Changes, count: int, report: Report | None = None) -> I8:
    """Return the makespan, int64 ns, under each of `count` changes of the weights; of one that changes nothing the present one.

    No change may move the first instant of a location.
    """
    weight, time, changes = weight.copy(), sweep(graph, weight), changes.in_order()
    begun = int(time[graph.begun].min()) if len(graph.begun) else 0
    edge, value = changes.edge, changes.weight
    bounds = np.searchsorted(changes.which, np.arange(count + 1))
    asked = np.flatnonzero(bounds[1:] > bounds[:-1])
    first, last = _reached(graph, edge, bounds[asked])
    turn = np.argsort(last, kind="stable")
    parts = _Parts(graph, weight, time, last[turn])
    out = np.full(count, parts.present, "i8")
    for done, (k, (source, left)) in enumerate(zip(turn.tolist(), _over(parts.over, len(asked)), strict=True)):
        rows = slice(bounds[asked[k]], bounds[asked[k] + 1])
        old = weight[edge[rows]]
        weight[edge[rows]] = value[rows]
        window = slice(int(first[k]), int(last[k]) + 1)
        kept = time[window].copy()
        time[window] = 0
        kernel.sweep(graph.start, graph.source, weight, window.start, window.stop, time)
        out[asked[k]] = max(int((time[source] + left).max(initial=0)), parts.ends(window, time))
        weight[edge[rows]], time[window] = old, kept
        if report and done % _TELL == 0:
            report(done, len(asked))
    return out - begun


def _reached(graph: Graph, edge: I8, begins: I8) -> tuple[I8, I8]:
    """Return the first and the last position that edges lead into, of each change, whose edges begin there."""
    if not len(begins):
        return begins, begins
    target = graph.targets(edge)
    return np.minimum.reduceat(target, begins), np.maximum.reduceat(target, begins)


class _Parts:
    """The unchanged graph: what leads over some positions, ascending, longest paths from behind them, and last instants before them."""

    def __init__(self, graph: Graph, weight: I8, time: I8, last: I8) -> None:
        left = to_end(graph, weight)
        self.over = _leading_over(graph, weight, left, last)
        self.ended = np.sort(graph.ended)
        """Last instants by position."""
        self._stops = np.unique(last + 1)
        inside = self._stops[self._stops < graph.vertices]
        most = np.maximum.reduceat(left, inside) if len(inside) else inside
        self._behind = np.append(np.maximum.accumulate(most[::-1])[::-1], 0)
        self._before = np.concatenate(([0], np.maximum.accumulate(time[self.ended])))
        self.present = int(self._before[-1])

    def ends(self, window: slice, time: I8) -> int:
        """Return the latest end that no edge over the end of a window, one of the stops, leads to, given the times inside it."""
        low, high = np.searchsorted(self.ended, (window.start, window.stop))
        inside = time[self.ended[low:high]].max(initial=0)
        return max(int(self._before[low]), int(inside), int(self._behind[np.searchsorted(self._stops, window.stop)]))


def _leading_over(graph: Graph, weight: I8, left: I8, last: I8) -> Columns:
    """Return the edges over some ascending positions, as _OVER says, given what is left behind each vertex, ns."""
    number, over = np.empty(graph.vertices, "i4"), Columns(_OVER)
    for chunk in chunks(graph.vertices):
        number[chunk] = np.searchsorted(last, np.arange(*chunk.indices(graph.vertices)))
    for chunk in chunks(graph.vertices):
        bounds = graph.start[chunk.start : chunk.stop + 1]
        edges = slice(int(bounds[0]), int(bounds[-1]))
        target = np.repeat(np.arange(*chunk.indices(graph.vertices)), np.diff(bounds))
        source, behind = graph.source[edges], weight[edges] + left[target]
        columns: dict[str, Ints] = {"low": number[source], "high": number[target], "source": source, "behind": behind}
        live = np.flatnonzero((columns["high"] > columns["low"]) & (weight[edges] != CUT) & (left[target] != CUT))
        over.add({name: column[live] for name, column in columns.items()}, len(live))
    return over


def _over(over: Columns, positions: int) -> Iterator[tuple[I4, I8]]:
    """Yield, for each of so many ascending positions, the edges over it: their sources, and weight plus what is left behind them.

    Edges 0-1 0-2 1-2 2-3 of weights 1 5 2 4, left 9 8 4 0: over position 1 sources 0 1 with 9 6, over position 2 source 2 with 4.
    """
    low, high, source, behind = (over.take(name) for name in _OVER.names or ())
    change = np.bincount(low, minlength=positions + 1) - np.bincount(high, minlength=positions + 1)
    so_far = np.cumsum(np.cumsum(change)[:positions])
    cuts = [0, *(np.flatnonzero(np.diff(so_far // _MOST)) + 1).tolist(), positions]
    for begin, end in itertools.pairwise(cuts):
        some = np.flatnonzero((low < end) & (high > begin))
        row, position = ranges(some, np.maximum(low[some], begin), np.minimum(high[some], end))
        order = np.argsort(position, kind="stable")
        row, position = row[order], position[order]
        many = np.searchsorted(position, np.arange(begin, end + 1))
        for k in range(end - begin):
            rows = row[many[k] : many[k + 1]]
            yield source[rows], behind[rows]


def ranges(row: I8, first: Ints, end: Ints) -> tuple[I8, I8]:
    """Return (rows repeated, first .. end - 1 of each, one after the other).

    row   7 9    first   2 5    end   4 8
    ->    7 7 9 9 9   and   2 3 5 6 7
    """
    length = end - first
    begin = np.cumsum(length) - length
    return np.repeat(row, length), np.arange(length.sum()) + np.repeat(first - begin, length)
