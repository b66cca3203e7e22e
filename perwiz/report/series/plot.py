"""The picture of `perwiz series`: how fast the runs are, and their efficiencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perwiz import words
from perwiz.patterns.analysis.series import HISTORY
from perwiz.report import palette
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, beside, save, sheet
from perwiz.report.series.records import SeriesDocument
from perwiz.report.series.text import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARES = {
    "global_efficiency": "global efficiency",
    "parallel": "parallel efficiency",
    "load_balance": "load balance",
    "serialisation": "serialisation",
    "transfer": "transfer",
    "computation_scaling": "computation",
    "instruction_scaling": "instructions",
    "ipc_scaling": "IPC",
    "frequency_scaling": "frequency",
}
"""What is drawn of a point, and what it is called."""
_SIZE, _LEFT, _BETWEEN, _RIGHT, _HEAD, _AXIS = (9.0, 3.4), 0.7, 0.75, 0.15, 0.15, 0.55
_LEGEND, _BELOW = 1.55, 1.1
"""Inches of what lines mean, beside the efficiencies, or below them."""
_NARROW = 6.0
"""Inches of width below which one is drawn above the other."""
_LABELS = 8
"""Labels of points that an axis has room for."""


def plot(document: SeriesDocument, path: str, width: float | None = None) -> None:
    """Write the picture of a series; the suffix of `path` (.png, .svg, .pdf) says in which format; `width` in inches.

    Raises UsageError for another suffix or a place that cannot be written.
    """
    save(lambda: _draw(document, width or _SIZE[0]), path)


def shares(document: SeriesDocument) -> dict[str, list[float | None]]:
    """Return what is drawn of the points, by its name; None where it is not known, and no row of what is known nowhere."""
    rows = {name: [getattr(point, field) for point in document.points] for field, name in SHARES.items()}
    return {name: row for name, row in rows.items() if any(value is not None for value in row)}


def places(document: SeriesDocument) -> list[float]:
    """Return where points stand along an axis: sizes by their logarithm, the ideal speed-up is a line then; others evenly."""
    sizes = [point.threads for point in document.points]
    if document.kind == HISTORY or len({*sizes}) < len(sizes):
        return [float(place) for place in range(len(sizes))]
    return [math.log2(size / sizes[0]) for size in sizes]


def _draw(document: SeriesDocument, width: float) -> Figure:
    narrow, height = width < _NARROW, _SIZE[1]
    above = [Line(" ".join(title(document)), 10, weight="bold")]
    drawing = sheet(width, 2 * height + _BELOW if narrow else height, above, [])
    tall = height - _AXIS - _HEAD
    if narrow:
        inner = width - _LEFT - _RIGHT
        first, second = (drawing.axes(_LEFT, low + _BELOW + _AXIS, inner, tall) for low in (height, 0))
    else:
        inner = (width - _LEFT - _BETWEEN - _LEGEND - _RIGHT) / 2
        first = drawing.axes(_LEFT, _AXIS, inner, tall)
        second = drawing.axes(_LEFT + inner + _BETWEEN, _AXIS, inner, tall)
    _times(first, document) if document.kind == HISTORY else _speedup(first, document)
    _efficiencies(second, document)
    beside_it: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    below: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, -_AXIS / tall), "ncols": 2}
    second.legend(fontsize=8, frameon=False, **(below if narrow else beside_it))
    for axes in (first, second):
        axes.tick_params(labelsize=8)
        axes.grid(color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        _points(axes, document)
    return drawing.figure


def _points(axes: Axes, document: SeriesDocument) -> None:
    """Name the points below an axis, as many as there is room for."""
    every = -(-len(document.points) // _LABELS)
    rows = list(range(len(document.points)))[::-1][::every][::-1]
    history = document.kind == HISTORY
    names = [words.shown(document.points[row].label, 14) for row in rows]
    turned = history and len(names) > 3
    axes.set_xticks([places(document)[row] for row in rows], names, rotation=30 if turned else 0, ha="right" if turned else "center")
    for label in axes.get_xticklabels():
        label.set_parse_math(False)
    if not history:
        threads = any(point.threads != point.processes for point in document.points)
        axes.set_xlabel(beside(axes, Line("processes x threads" if threads else "processes", 9)), size=9)


def _times(axes: Axes, document: SeriesDocument) -> None:
    """Draw the time of each recording, and the line through the median ones."""
    scale, unit = lanes.unit(max(point.most_ns for point in document.points))
    middle = [point.time_ns / scale for point in document.points]
    axes.plot(places(document), middle, "-", color=palette.LIGHT["mark"], linewidth=1.6, zorder=3)
    rows = zip(places(document), document.points, strict=True)
    every = [(place, each.time_ns / scale) for place, point in rows for each in point.recordings]
    axes.plot(*zip(*every, strict=True), "o", color=palette.LIGHT["mark"], markersize=3.5, zorder=4)
    axes.set_ylim(0, 1.08 * max(value for _, value in every))
    axes.set_ylabel(f"time [{unit}]", size=9)


def _speedup(axes: Axes, document: SeriesDocument) -> None:
    """Draw the speed-up of each point beside the ideal one."""
    along = places(document)
    axes.plot(along, [point.ideal_speedup for point in document.points], "--", color="#777777", linewidth=1.2, label="ideal")
    reached = [point.speedup for point in document.points]
    axes.plot(along, reached, "o-", color=palette.LIGHT["mark"], linewidth=1.6, markersize=3.5, label="reached", zorder=3)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("speed-up", size=9)
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def _efficiencies(axes: Axes, document: SeriesDocument) -> None:
    for (name, row), colour in zip(shares(document).items(), palette.SERIES, strict=False):
        known = [(place, 100 * value) for place, value in zip(places(document), row, strict=True) if value is not None]
        style: dict[str, Any] = (
            {"linewidth": 2.2, "markersize": 4} if name == SHARES["global_efficiency"] else {"linewidth": 1.1, "markersize": 3}
        )
        axes.plot(*zip(*known, strict=True), "o-", color=colour, label=name, **style)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("efficiency [%]", size=9)
