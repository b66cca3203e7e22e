"""The picture of `perwiz curve`: the makespan over the parameter, its breakpoints, the recorded run, and the tolerances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perwiz import words
from perwiz.report import blocks, palette
from perwiz.report.curve.document import KEPT, heading, named, shares_of, tolerances
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, beside, inches, save, sheet
from perwiz.whatif.limits.curve import Curve, of_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE, _LEFT, _RIGHT, _HEAD, _NARROW = (8.0, 5.0), 0.85, 0.2, 0.4, 6.0
_CURVE, _SLOPE, _TOLERANCE = palette.LIGHT["mark"], palette.LIGHT["transfer"], palette.CHOSEN
_MOST = 200
"""Breakpoints that are marked."""
_APART = 0.045
"""Least distance of two labels, in parts of the axis."""


def plot(curve: Curve, path: str, width: float | None = None) -> None:
    """Write the picture of a curve; the suffix of `path` (.png, .svg, .pdf) says in which format; `width` in inches.

    Raises UsageError for another suffix or a place that cannot be written.
    """
    save(lambda: _draw(curve, width or _SIZE[0]), path)


def _draw(curve: Curve, width: float) -> Figure:
    whole = blocks.share_notes(shares_of(curve), curve.run.makespan, curve.run.trace.part)
    whole += [KEPT] if curve.turned() else []
    height = _SIZE[1] * max(1, width / _SIZE[0])
    above = [Line(f"makespan as a function of {named(curve.of)}", 11, weight="bold"), Line(lanes.title(curve.run.trace), 8, "#444444")]
    drawing = sheet(width, height, above, [Line(line, 8, "#444444") for line in whole])
    inner, axis = width - _LEFT - _RIGHT, 0.5
    upper = drawing.axes(_LEFT, axis + (height - axis - _HEAD) * 0.28, inner, (height - axis - _HEAD) * 0.72)
    lower = drawing.axes(_LEFT, axis, inner, (height - axis - _HEAD) * 0.24)
    lower.sharex(upper)
    upper.tick_params(labelbottom=False)
    _makespan(upper, curve)
    _slope(lower, curve)
    for axes in (upper, lower):
        axes.tick_params(labelsize=8)
        axes.ticklabel_format(useOffset=False, style="plain")
        axes.grid(color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    unit = "times its computation" if not of_network(curve.of) else "ns" if curve.of.endswith("_ns") else "ns/B"
    lower.set_xlabel(beside(lower, Line(f"{named(curve.of)} [{unit}]", 9)), size=9, parse_math=False)
    return drawing.figure


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
    begin = round(axes.get_ylim()[0] * scale)
    if begin > 0:
        place: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "size": 8, "color": "#444444"}
        axes.text(0.01, 0.97, f"the axis begins at {words.duration(begin)}", **place)
    axes.set_ylabel(f"makespan [{unit}]", size=9)
    columns = 4 if inches(axes) > _NARROW else 2
    axes.legend(fontsize=8, frameon=False, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)


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
    """Draw by how much the makespan grows with the parameter, or the computation that the critical path holds of it."""
    network = of_network(curve.of)
    scale, unit = (1, "") if network else lanes.unit(round(curve.slope[-1]))
    axes.stairs(curve.slope / scale, curve.x, color=_SLOPE, linewidth=1.4, baseline=None)
    axes.set_ylim(0, float(np.max(curve.slope)) / scale * 1.1 or 1)
    axes.set_ylabel(f"grows by\n[{heading(curve.of)}]" if network else f"computation\non the path [{unit}]", size=9)
