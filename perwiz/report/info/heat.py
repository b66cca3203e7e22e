"""The picture of `perwiz info --devices`: ranks over steps, and below them stages, by the mean of all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.report import palette
from perwiz.report.info.devices import DevicesOf
from perwiz.report.info.stragglers import RowOf, StragglersOf, by_mean, facts
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, save, sheet
from perwiz.trace.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

_WIDTH, _LEFT, _RIGHT, _AXIS, _BETWEEN, _SCALE = 9.0, 1.1, 0.25, 0.45, 0.15, 0.12
_BAR = 0.8
"""Inches of the scale of colours, with its numbers."""
_ROW, _LEAST, _HIGHEST = 0.24, 0.5, 6.0
"""Inches of a row, and of all rows at least and at most."""
_NAMES = 24
"""Rows that are named; of more, every so many."""
_NAME = 14


def plot(trace: Trace, told: DevicesOf | None, path: str, width: float | None = None) -> None:
    """Write the picture of ranks over steps; the suffix of `path` says in which format; `width` in inches.

    Raises UsageError for a run of one rank, or without steps.
    """
    if told is None or not told.stragglers:
        raise UsageError(f"{path}: {trace.path} has no steps of several ranks to draw, must repeat something")
    found = told.stragglers
    save(lambda: _draw(trace, told, found, width or _WIDTH), path)


def span(found: StragglersOf) -> float:
    """Return how far from 1 the colours reach: what is farthest from the mean, a twentieth at least."""
    return float(max(0.05, *(np.abs(by_mean(found, rows) - 1).max(initial=0) for rows in (found.ranks, found.groups))))


def _draw(trace: Trace, told: DevicesOf, found: StragglersOf, width: float) -> Figure:
    what = "kernels" if told.devices else "computation"
    heading = f"{lanes.title(trace)}, {words.several(told.steps, 'step')}"
    below = [Line(f"colour: {what} by the mean of all ranks", 8), *(Line(text, 8) for _, text in facts(found, told.steps, what))]
    heights = [min(_HIGHEST, max(_LEAST, _ROW * len(rows))) for rows in (found.ranks, found.groups) if rows]
    drawing = sheet(width, _AXIS + sum(heights) + _BETWEEN * len(heights), [Line(heading, 10, weight="bold")], below)
    far, low = span(found), _AXIS
    for rows, high in zip((found.groups, found.ranks) if found.groups else (found.ranks,), heights[::-1], strict=True):
        axes = drawing.axes(_LEFT, low, width - _LEFT - _RIGHT - _BAR, high)
        image = _map(axes, found, rows, far, low == _AXIS)
        low += high + _BETWEEN
    place = drawing.axes(width - _RIGHT - _BAR + _BETWEEN, low - _BETWEEN - heights[0], _SCALE, heights[0])
    bar = drawing.figure.colorbar(image, cax=place)
    bar.ax.tick_params(labelsize=8)
    return drawing.figure


def _map(axes: Axes, found: StragglersOf, rows: list[RowOf], far: float, lowest: bool) -> QuadMesh:
    """Draw some rows, and return the image."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    colours = LinearSegmentedColormap.from_list("mean", [palette.LIGHT["mark"], "#FFFFFF", palette.LIGHT["wait"]])
    edges = np.array([*found.first, found.first[-1] + found.together]) - 0.5
    places, cells = np.arange(len(rows) + 1) - 0.5, by_mean(found, rows)
    image = axes.pcolormesh(edges, places, cells, cmap=colours, vmin=1 - far, vmax=1 + far, edgecolors="none")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    every = -(-len(rows) // _NAMES)
    axes.set_yticks(range(0, len(rows), every), [words.shown(row.name, _NAME) for row in rows[::every]])
    axes.tick_params(labelsize=8, labelbottom=lowest)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if lowest:
        axes.set_xlabel("step", size=9)
    return image
