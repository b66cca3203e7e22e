"""The picture of `perwiz curve`: the makespan over the parameter, its breakpoints, the recorded run, and the tolerances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perwiz import words
from perwiz.report.curve.document import heading, shares_of, tolerances
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import empty, save
from perwiz.whatif.limits.curve import Curve, of_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (8.0, 5.6)
_CURVE, _SLOPE, _TOLERANCE = "#0072B2", "#8A2275", "#D55E00"
_MOST = 200
"""Breakpoints that are marked."""
_APART = 0.045
"""Least distance of two labels, in parts of the axis."""


def plot(curve: Curve, path: str) -> None:
    """Write the picture of a curve; the suffix of `path` (.png, .svg, .pdf) says in which format.

    Raises UsageError for another suffix or a place that cannot be written.
    """
    save(lambda: _draw(curve), path)


def _draw(curve: Curve) -> Figure:
    figure = empty(*_SIZE)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    figure.subplots_adjust(left=0.12, right=0.97, top=0.86, bottom=0.1, hspace=0.12)
    figure.text(0.12, 0.965, lanes.title(curve.run.trace), size=11, weight="bold", va="top", parse_math=False)
    _makespan(upper, curve)
    _slope(lower, curve)
    for axes in (upper, lower):
        axes.tick_params(labelsize=8)
        axes.ticklabel_format(useOffset=False, style="plain")
        axes.grid(color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    unit = "" if of_network(curve.of) else " [times its computation]"
    lower.set_xlabel(f"{words.shown(curve.of, 60)}{unit}", size=9, parse_math=False)
    return figure


def _makespan(axes: Axes, curve: Curve) -> None:
    """Draw the makespan, its breakpoints, the recorded run and where it gets slower by some shares."""
    scale, unit = lanes.unit(round(curve.value[-1]))
    axes.plot(curve.x, curve.value / scale, color=_CURVE, linewidth=1.6, zorder=3, label="makespan")
    inner = slice(1, -1)
    if 0 < len(curve.x) - 2 <= _MOST:
        axes.plot(curve.x[inner], curve.value[inner] / scale, "o", color=_CURVE, markersize=3.2, zorder=4, label="breakpoint")
    if curve.x[0] <= curve.recorded <= curve.x[-1]:
        style: dict[str, Any] = {"color": "black", "markersize": 6, "linewidth": 0, "zorder": 5}
        axes.plot([curve.recorded], [curve.run.makespan / scale], "D", label="recorded run", **style)
    _tolerances(axes, curve, scale)
    axes.set_ylabel(f"makespan [{unit}]", size=9)
    axes.legend(fontsize=8, frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)


def _tolerances(axes: Axes, curve: Curve, scale: int) -> None:
    """Draw where the run gets slower by some shares; those too close to the one before have no label."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    least, most = curve.x[0], curve.x[-1]
    labelled = curve.recorded
    style: dict[str, Any] = {"color": _TOLERANCE, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 2}
    inside = [(row.slower, row.at) for row in tolerances(curve) if row.at is not None and least <= row.at <= most]
    for number, (share, value) in enumerate(inside):
        top = (curve.run.makespan + share * shares_of(curve)) / scale
        axes.plot([value, value], [low, top], label=None if number else "tolerance", **style)
        if value - labelled >= _APART * (most - least):
            axes.annotate(f"{100 * share:g} %", (value, top), (-3, 4), textcoords="offset points", size=8, ha="right", color=_TOLERANCE)
            labelled = value


def _slope(axes: Axes, curve: Curve) -> None:
    """Draw what the critical path holds of the parameter."""
    network = of_network(curve.of)
    scale, unit = (1, "") if network else lanes.unit(round(curve.slope[-1]))
    axes.stairs(curve.slope / scale, curve.x, color=_SLOPE, linewidth=1.4, baseline=None)
    axes.set_ylim(0, float(np.max(curve.slope)) / scale * 1.1 or 1)
    axes.set_ylabel(f"{heading(curve.of)}\non the path{'' if network else f' [{unit}]'}", size=9)
