"""The picture of `perwiz info --iterations`: how long each iteration takes, on the fastest and the slowest process and between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.report import palette
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, save, sheet
from perwiz.trace.arrays import F8
from perwiz.trace.parts.course import Course, course
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _AXIS = 9.0, 2.8, 0.75, 0.2, 0.5
_MOST = 1200
"""Iterations drawn; of more, neighbours share a place: their extremes, and the median of their means."""
_COLOUR, _WARM = palette.SERIES[0], "#dddddd"


def plot(trace: Trace, found: Iterations, path: str, width: float | None = None) -> None:
    """Write the picture of the iterations of a trace; the suffix of `path` says in which format; `width` in inches.

    Raises UsageError if there are none.
    """
    if not len(found):
        raise UsageError(f"{path}: {trace.path} has no iterations to draw, {found.why}")
    save(lambda: _draw(trace, found, width or _WIDTH), path)


def _draw(trace: Trace, found: Iterations, width: float) -> Figure:
    its = course(found)
    heading = f"{lanes.title(trace)}, {words.several(len(found), 'iteration')}"
    drawing = sheet(width, _HEIGHT + _AXIS, [Line(heading, 10, weight="bold")], [Line(_note(found, its), 8)])
    _times(drawing.axes(_LEFT, _AXIS, width - _LEFT - _RIGHT, _HEIGHT), its)
    return drawing.figure


def _note(found: Iterations, its: Course) -> str:
    firsts = f"the first {its.warm_up}" if its.warm_up > 1 else "the first"
    warm = f"; grey: {firsts}, unlike the others" if its.warm_up else ""
    last = f"; without number {len(found)}, whose end is not known" if found.told < len(found) else ""
    usual = words.duration(round(its.median))
    return f"line: mean of the processes; band: fastest to slowest; dashes: median of all, {usual}{warm}{last}"


def _times(axes: Axes, its: Course) -> None:
    """Draw the times over the numbers of the iterations."""
    from matplotlib.ticker import MaxNLocator

    told = its.usual.stop
    bins = np.array_split(np.arange(told), min(told, _MOST))
    place = np.array([float(rows.mean()) + 1 for rows in bins])
    scale, unit = lanes.unit(int(its.most[:told].max()))
    low, mean, high = (
        np.array([float(pick(column[rows])) for rows in bins]) / scale
        for pick, column in ((np.min, its.least), (np.median, its.time), (np.max, its.most))
    )
    usual = its.median / scale
    if its.warm_up:
        axes.axvspan(0.5, its.warm_up + 0.5, color=_WARM, linewidth=0)
    _band(axes, place, low, high)
    axes.plot(place, mean, "o-" if len(place) <= 40 else "-", color=_COLOUR, linewidth=1.2, markersize=3)
    axes.axhline(usual, color="black", linewidth=0.8, linestyle="--")
    axes.set_xlim(0.5, told + 0.5)
    axes.set_ylim(0, None)
    axes.set_xlabel("iteration", size=9)
    axes.set_ylabel(f"time [{unit}]", size=9)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _band(axes: Axes, place: F8, low: F8, high: F8) -> None:
    axes.fill_between(place, low, high, color=_COLOUR, alpha=0.3, linewidth=0)
