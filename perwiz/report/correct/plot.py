"""The picture of `perwiz correct`: the recorded run, the corrected one, and below them how far each process was moved, and when."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.clock.logical import Correction
from perwiz.report import palette
from perwiz.report.correct.document import shifts
from perwiz.report.picture import lanes, timeline
from perwiz.report.picture.figure import Line, beside
from perwiz.trace.arrays import F8, I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.run import machine_of, replayed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CURVES = len(palette.SERIES)
"""Processes whose curves are drawn: more can be neither told apart nor labelled."""
_HEIGHT = 1.8
_LABEL = 0.085
"""Height of a label, in parts of the panel."""


def plot(trace: Trace, before: Timeline, after: Timeline, waits: tuple[I8, I8], path: str, width: float | None = None) -> None:
    """Write the picture of a correction of a trace from the timeline `before` to `after`; the suffix of `path` says in which format.

    `waits` are the ns that each call waits in them.
    Raises UsageError as `perwiz.report.picture.timeline.plot` does.
    """
    rows = [
        timeline.Row("recorded", before, wait=waits[0]),
        timeline.Row(str(after.origin) if after is not before else "nothing to correct", after, wait=waits[1], rival=False),
    ]
    timeline.plot(trace, rows, path, curves=Curves(trace, before, after), width=width)


def plot_corrected(fixed: Trace, correction: Correction, path: str, width: float | None = None) -> None:
    """Write the picture of a correction; `fixed` is the trace with the corrected times, whose machine tells what calls wait."""
    machine, times = machine_of(None, fixed), (correction.before, correction.timeline)
    before, after = (replayed(dataclasses.replace(fixed, timeline=each), machine, "none").waits.time for each in times)
    plot(fixed, *times, (before, after), path, width)


class Curves:
    """How far the events of processes were moved, over the time they were recorded at: a curve each, those moved furthest."""

    height = _HEIGHT

    def __init__(self, trace: Trace, before: Timeline, after: Timeline) -> None:
        self.trace, self.before, self.after = trace, before, after
        furthest = shifts(trace, before, after)
        order = np.lexsort((lanes.lanes(trace.locations), -furthest))
        moved = order[furthest[order] > 0]
        self.moved = len(moved)
        drawn = moved[:MOST_CURVES]
        self.drawn = drawn[np.argsort(lanes.lanes(trace.locations)[drawn])]

    def notes(self) -> list[str]:
        """Return which curves are left out."""
        count, rest = len(self.trace.locations), self.moved - len(self.drawn)
        lines = [f"corrections of {len(self.drawn)} of {self.moved} corrected processes drawn, those moved furthest"] if rest else []
        return [*lines, f"{count - self.moved} of {words.several(count, 'process')} not moved"] if 0 < self.moved < count else lines

    def draw(self, axes: Axes, scene: lanes.Scene) -> None:
        """Draw the curves, and beside them the ranks in their colours."""
        curves = [curve(self.trace, self.before, self.after, int(location), scene) for location in self.drawn]
        names = lanes.labels(self.trace.locations)
        draw(axes, scene, curves, [names[scene.lane[location]] for location in self.drawn], "corrected minus recorded time")


def draw(axes: Axes, scene: lanes.Scene, curves: Sequence[tuple[F8, I8]], names: Sequence[str], heading: str) -> None:
    """Draw curves of (columns, ns), and beside them the ranks in their colours."""
    scale, unit = lanes.unit(max((int(np.abs(y).max(initial=0)) for _, y in curves), default=0))
    for number, (x, y) in enumerate(curves):
        axes.plot(scene.times(x), y / scale, color=palette.SERIES[number], linewidth=1, zorder=3)
    if not curves:
        axes.set_yticks([0])
    axes.axhline(0, color="#888888", linewidth=0.6, zorder=2)
    axes.tick_params("y", labelsize=8)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    title = beside(axes, Line(f"{heading} [{unit}], by rank", 10, weight="bold"))
    axes.annotate(title, (0, 1), (0, 8), "axes fraction", "offset points", size=10, weight="bold", parse_math=False)
    for number, name in enumerate(names):
        rank, place = name.removeprefix("rank "), 1 - _LABEL * number
        axes.annotate(rank, (1, place), (4, 0), "axes fraction", "offset points", size=7.5, va="center", color=palette.SERIES[number])


def curve(trace: Trace, before: Timeline, after: Timeline, location: int, scene: lanes.Scene) -> tuple[F8, I8]:
    """Return (columns, ns): where the events of a location were recorded, and how far each was moved; of each column four at most."""
    first, end = trace.first_calls[location : location + 2]
    times = []
    for run in (before, after):
        inside = np.stack((run.calls.enter[first:end], run.calls.leave[first:end]), 1).ravel()
        times.append(np.concatenate((run.locations.enter[location, None], inside, run.locations.leave[location, None])))
    x, y = scene.columns(before, times[0]), times[1] - times[0]
    kept = thinned(np.floor(x).astype("i8"), y)
    return x[kept], y[kept]


def thinned(column: I8, value: I8) -> I8:
    """Return the rows, ascending, to draw of many: of each column, these rise, the first, the last, a smallest and a largest value."""
    if not len(column):
        return np.zeros(0, "i8")
    first = np.flatnonzero(np.concatenate(([True], np.diff(column) > 0)))
    last = np.append(first[1:], len(column)) - 1
    group = np.cumsum(np.concatenate(([0], np.diff(column) > 0)))
    order = np.lexsort((value, group))
    return np.unique(np.concatenate((first, last, order[first], order[last])))
