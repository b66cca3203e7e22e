"""The picture of `perwiz calibrate`: the shortest ways of messages over their sizes, the model's lines, what these leave, and senders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.report.calibrate.document import points, way
from perwiz.report.picture.figure import empty, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perwiz.loggps.fit.fit import Fit

_SIZE = (8.0, 7.2)
_COLOURS = {"": "#0072B2", "within-node": "#0072B2", "between-nodes": "#D55E00", "between-metahosts": "#8A2275"}
_FREE, _HELD = "#009E73", "#CC3311"
_STEPS = 200
"""Sizes at which a line is drawn."""


def plot(fit: Fit, path: str) -> None:
    """Write the picture of a fit; the suffix of `path` (.png, .svg, .pdf) says in which format.

    Raises UsageError for another suffix or a place that cannot be written.
    """
    save(lambda: _draw(fit), path)


def _draw(fit: Fit) -> Figure:
    figure = empty(*_SIZE)
    ways, rest, senders = figure.subplots(3, 1, sharex=True, height_ratios=(4, 1.3, 1.3))
    figure.subplots_adjust(left=0.12, right=0.97, top=0.91, bottom=0.08, hspace=0.12)
    title = f"{words.shown(fit.machine.model.name, 60)}: what messages take by size"
    figure.text(0.12, 0.965, title, size=11, weight="bold", va="top", parse_math=False)
    _ways(ways, fit)
    _residuals(rest, fit)
    _senders(senders, fit)
    for axes in (ways, rest, senders):
        axes.tick_params(labelsize=8)
        axes.grid(color="#E4E4E4", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    senders.set_xlabel("bytes of a message", size=9)
    senders.set_xscale("symlog", base=2, linthresh=1)
    senders.set_xlim(0, 2 * max((point.bytes for point in points(fit)), default=1) + 1)
    return figure


def _ways(axes: Axes, fit: Fit) -> None:
    """Draw the shortest ways and the model's, both in microseconds."""
    for seen in fit.seen:
        colour, name = _COLOURS[seen.pairs], seen.pairs or "all pairs"
        for waits, told in ((False, seen.eager), (True, seen.waiting)):
            if told.told:
                what = f"{name}, {'waits for its receiver' if waits else 'eager'}"
                axes.plot(told.size, told.time / 1000, "s" if waits else "o", color=colour, markersize=4, label=what)
                size = np.unique(np.geomspace(max(int(told.size[0]), 1), max(int(told.size[-1]), 1), _STEPS).round())
                axes.plot(size, way(fit.machine.model, seen, size, waits) / 1000, color=colour, linewidth=1.4)
    axes.set_yscale("log")
    axes.set_ylabel("shortest way [us]", size=9)
    if fit.seen:
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
    axes.set_ylabel("senders", size=9)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, frameon=False)
