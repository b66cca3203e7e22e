"""The picture of `perwiz critical`: the recorded run, and over it the critical path, from lane to lane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perwiz.report import palette
from perwiz.report.correct.plot import thinned
from perwiz.report.picture import lanes
from perwiz.report.picture.timeline import Row
from perwiz.report.picture.timeline import plot as draw
from perwiz.trace.arrays import F8, I8
from perwiz.trace.trace import Timeline
from perwiz.whatif.limits.critical import KINDS, Critical

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR, _CASING = palette.CHOSEN, "white"
_WIDTH, _EDGE, _ACROSS = 1.6, 3.2, 0.5
"""Points of the line along a lane, of its casing, and of the line across lanes, which would hide them where it often changes."""


def plot(critical: Critical, path: str, width: float | None = None) -> None:
    """Write a picture of the recorded run with its critical path, so many inches wide, into a file (.png, .svg, .pdf).

    Raises UsageError as `perwiz.report.picture.timeline.plot` does.
    """
    run = critical.run
    title = "recorded, its clocks corrected" if run.clocks.correction else "recorded"
    draw(run.trace, [Row(title, run.trace.timeline, wait=run.waits.time)], path, overlay=Path(critical), width=width)


class Path:
    """The critical path as a line: along the lane of a process while it is there, across to the next one with a message or collective."""

    def __init__(self, critical: Critical) -> None:
        self._critical = critical

    def draw(self, axes: Axes, timeline: Timeline, scene: lanes.Scene) -> None:
        """Draw the path into the panel of the recorded run."""
        from matplotlib.collections import LineCollection

        x, lane = points(self._critical, timeline, scene)
        corners = np.stack((scene.times(x), lane), 1)
        pieces, along = np.stack((corners[:-1], corners[1:]), 1), lane[:-1] == lane[1:]
        for drawn, colour, width in ((~along, _COLOUR, _ACROSS), (along, _CASING, _EDGE), (along, _COLOUR, _WIDTH)):
            axes.add_collection(LineCollection(pieces[drawn], colors=colour, linewidths=width, zorder=5), autolim=False)

    def handles(self) -> list[tuple[Any, str]]:
        """Return a sample of the line."""
        from matplotlib.lines import Line2D

        return [(Line2D([], [], color=_COLOUR, linewidth=_WIDTH), "critical path")]

    def notes(self) -> list[str]:
        """Return nothing: where several changes of process share a column, the line covers all lanes it visits there."""
        return []


def points(critical: Critical, timeline: Timeline, scene: lanes.Scene) -> tuple[F8, I8]:
    """Return (columns, lanes): the corners of the path in the order of time, of each column four at most.

    A transfer begins on the lane that the path comes from.
    """
    pieces = critical.pieces
    lane = scene.lane[pieces.location]
    begin = np.where(pieces.kind == KINDS.index("transfer"), np.concatenate((lane[:1], lane[:-1])), lane)
    moments = np.stack((pieces.begin, pieces.begin + pieces.length), 1).ravel()
    x, lane = scene.columns(timeline, moments), np.stack((begin, lane), 1).ravel()
    drawn = np.flatnonzero(x >= 0)
    kept = drawn[thinned(np.floor(np.maximum.accumulate(x[drawn])).astype("i8"), lane[drawn])]
    return x[kept], lane[kept]
