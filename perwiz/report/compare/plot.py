"""The picture of `perwiz compare`: both runs on one time axis, and below them how far processes differ, and when."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.report import blocks
from perwiz.report.compare.text import beginning, ending, signed
from perwiz.report.correct import plot as correction_plot
from perwiz.report.picture import lanes, timeline
from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline
from perwiz.whatif.compare.compare import Comparison, Side
from perwiz.whatif.compare.reasons import Reasons

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MARKS = 20
"""Calls that are marked at most."""


def plot(comparison: Comparison, found: Reasons, path: str, calls: int = 5, width: float | None = None) -> None:
    """Write the picture of a comparison, the calls whose durations differ most marked; the suffix of `path` says in which format.

    Raises UsageError as `perwiz.report.picture.timeline.plot` does.
    """
    differences = comparison.differences(comparison.calls()[2])
    worst = comparison.compared[blocks.largest(np.abs(differences), min(calls, MOST_MARKS))]
    first, second = comparison.sides
    curves = Curves(comparison)
    rows = [_row(comparison, side, wait) for side, wait in zip(comparison.sides, found.waits, strict=True)]
    rows[1] = dataclasses.replace(rows[1], rival=False, trace=second.trace, marked=comparison.alignment.second[worst])
    marked, since = comparison.alignment.first[worst], beginning(comparison.begin.word).removeprefix("when ")
    below = curves if len(curves.drawn) else None
    timeline.plot(first.trace, rows, path, marked, below, meaning="duration differs most", since=since, width=width)


def _row(comparison: Comparison, side: Side, wait: I8) -> timeline.Row:
    """Return the panel of one run, each of its calls waiting for so many ns of the whole run."""
    whole = None if (comparison.begin.word, comparison.end.word) == ("start", "end") else side.timeline.makespan
    enter = side.timeline.calls.enter
    wait = side.since(enter + wait) - side.since(enter)
    return timeline.Row(f"{side.timeline.origin}: {side.trace.path}", since_start(side), wait=wait, whole=whole)


def since_start(side: Side) -> Timeline:
    """Return the timeline of one run from the common start on; what lies before takes no time."""
    times = (side.timeline.calls, side.timeline.regions, side.timeline.locations)
    calls, regions, locations = (Times(side.since(table.enter), side.since(table.leave)) for table in times)
    return dataclasses.replace(side.timeline, calls=calls, regions=regions, locations=locations)


class Curves:
    """How much earlier or later the calls of processes return, over the time they do in the second run: those that differ most."""

    height = 1.8

    def __init__(self, comparison: Comparison) -> None:
        self.comparison, leave = comparison, comparison.calls()[1]
        self.location = comparison.first.trace.calls.location[comparison.alignment.first[comparison.compared]]
        self.at, self.off = leave.second, comparison.differences(leave)
        furthest = np.zeros(len(comparison.first.trace.locations), "i8")
        np.maximum.at(furthest, self.location, np.abs(self.off))
        order = np.lexsort((lanes.lanes(comparison.first.trace.locations), -furthest))
        self.furthest, self.differing = furthest, order[furthest[order] > 0]
        self.drawn = np.sort(self.differing[: correction_plot.MOST_CURVES])

    def notes(self) -> list[str]:
        """Return who differs most, and which curves are left out."""
        names, rest = lanes.labels(self.comparison.first.trace.locations), len(self.differing) - len(self.drawn)
        lines = [f"the picture begins: {beginning(self.comparison.begin.word)}"]
        if self.comparison.end.word != "end":
            lines.append(f"the picture ends: {ending(self.comparison.end.word)}")
        if len(self.differing):
            worst = int(self.differing[0])
            k = int(np.argmax(np.where(self.location == worst, np.abs(self.off), -1)))
            who = names[lanes.lanes(self.comparison.first.trace.locations)[worst]]
            lines.append(f"differs most: {who}, {signed(int(self.off[k]))} at {words.duration(int(self.at[k]))} of the lower run")
        kind = self.comparison.kind
        return [*lines, f"{kind}s of {len(self.drawn)} of {len(self.differing)} processes drawn, those that differ most"] if rest else lines

    def draw(self, axes: Axes, scene: lanes.Scene) -> None:
        """Draw the curves, and beside them the ranks in their colours."""
        names = lanes.labels(self.comparison.first.trace.locations)
        minus = "lower minus upper run" if self.comparison.sign > 0 else "upper minus lower run"
        curves = [self.curve(int(location), scene) for location in self.drawn]
        correction_plot.draw(axes, scene, curves, [names[scene.lane[k]] for k in self.drawn], f"{minus}, returns of calls")

    def curve(self, location: int, scene: lanes.Scene) -> tuple[F8, I8]:
        """Return (columns, ns) of one location, of each column four points at most."""
        rows = np.flatnonzero(self.location == location)
        rows = rows[np.argsort(self.at[rows], kind="stable")]
        x, y = (self.at[rows] - scene.origin) / scene.span * scene.size.columns, self.off[rows]
        kept = correction_plot.thinned(np.floor(x).astype("i8"), y)
        return x[kept], y[kept]
