"""The picture of `perwiz calibrate`: the shortest ways of messages over their sizes, the model's lines, what these leave, and senders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.loggps.keys import PAIRS
from perwiz.report import palette
from perwiz.report.calibrate.document import points, way
from perwiz.report.picture.figure import Line, save, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perwiz.loggps.fit.fit import Fit

_SIZE, _LEFT, _RIGHT = (8.0, 6.8), 1.0, 0.2
_COLOURS = {"": palette.SERIES[0], **dict(zip(PAIRS, (palette.SERIES[k] for k in (0, 5, 8)), strict=True))}
_FREE, _HELD = palette.SERIES[2], palette.LIGHT["wait"]
_DECADE = 10
"""Between the ends of an axis of logarithms, at least."""
_STEPS = 200
"""Sizes at which a line is drawn."""


def plot(fit: Fit, path: str, width: float | None = None) -> None:
    """Write the picture of a fit; the suffix of `path` (.png, .svg, .pdf) says in which format; `width` in inches.

    Raises UsageError for another suffix or a place that cannot be written.
    """
    save(lambda: _draw(fit, width or _SIZE[0]), path)


def _draw(fit: Fit, width: float) -> Figure:
    title = Line(f"{words.shown(fit.machine.model.name, 60)}: what messages take by size", 11, weight="bold")
    height = _SIZE[1] * max(1, width / _SIZE[0])
    drawing = sheet(width, height, [title], [])
    part, inner = (height - 0.5) / 7, width - _LEFT - _RIGHT
    ways, rest, senders = (drawing.axes(_LEFT, 0.5 + low * part, inner, many * part) for low, many in ((3, 4), (1.5, 1.3), (0, 1.3)))
    for axes in (ways, rest):
        axes.sharex(senders)
        axes.tick_params(labelbottom=False)
    _ways(ways, fit)
    _residuals(rest, fit)
    _senders(senders, fit)
    for axes in (ways, rest, senders):
        axes.tick_params(labelsize=8, which="both")
        axes.grid(color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    sizes = [point.bytes for point in points(fit)] + [each.bytes for each in fit.senders]
    senders.set_xlabel("bytes of a message", size=9)
    senders.set_xscale("symlog", base=2, linthresh=1)
    senders.set_xlim(min(sizes, default=0) // 2, 2 * max(sizes, default=1) + 1)
    senders.xaxis.set_major_formatter(_bytes)
    return drawing.figure


def _bytes(size: float, _: float) -> str:
    """Return a power of 2 as the label of an axis."""
    return next(
        f"{size / 1024**power:g}{unit}" for power, unit in ((3, " Gi"), (2, " Mi"), (1, " Ki"), (0, "")) if size >= 1024**power or not power
    )


def _plain(value: float, _: float) -> str:
    """Return a number as the label of an axis, without a sign: what is below 0 is the same upside down."""
    return f"{abs(value):g}"


def _ways(axes: Axes, fit: Fit) -> None:
    """Draw the shortest ways and the model's, both in microseconds."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for seen in fit.seen:
        colour, name = _COLOURS[seen.pairs], seen.pairs or "all pairs"
        for waits, told in ((False, seen.eager), (True, seen.waiting)):
            if told.told:
                what = f"{name}, {'waits for its receiver' if waits else 'eager'}: seen, and by the model"
                size = np.unique(np.geomspace(max(int(told.size[0]), 1), max(int(told.size[-1]), 1), _STEPS).round())
                axes.plot(told.size, told.time / 1000, "s" if waits else "o", color=colour, markersize=4)
                axes.plot(size, way(fit.machine.model, seen, size, waits) / 1000, color=colour, linewidth=1.4)
                axes.plot([], [], "s-" if waits else "o-", color=colour, markersize=4, linewidth=1.4, label=what)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(_plain)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("shortest way [us]", size=9)
    if fit.seen:
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, high / _DECADE), max(high, low * _DECADE))
        axes.legend(fontsize=8, frameon=False)
    else:
        axes.text(0.5, 0.5, "no process sends to another", ha="center", va="center", size=9, transform=axes.transAxes)


def _residuals(axes: Axes, fit: Fit) -> None:
    """Draw by how much the model misses the shortest ways."""
    for point in points(fit):
        off = 100 * (point.model_ns / max(point.way_ns, 1.0) - 1)
        axes.plot(point.bytes, off, "s" if point.waits else "o", color=_COLOURS[point.pairs], markersize=3.2)
    axes.axhline(0, color="#555555", linewidth=0.8)
    axes.set_ylabel("model off [%]", size=9)


def _senders(axes: Axes, fit: Fit) -> None:
    """Draw which senders were let go before their late receiver came, and which were held."""
    for colour, name, counts in (
        (_FREE, "free", [(each.bytes, each.free) for each in fit.senders]),
        (_HELD, "held", [(each.bytes, -each.held) for each in fit.senders]),
    ):
        if any(count for _, count in counts):
            axes.vlines(*np.array([(size, 0, count) for size, count in counts]).T, color=colour, linewidth=3, label=name)
    axes.axhline(0, color="#555555", linewidth=0.8)
    axes.set_yscale("symlog", linthresh=1)
    axes.yaxis.set_major_formatter(_plain)
    axes.set_ylabel("senders", size=9)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False)
