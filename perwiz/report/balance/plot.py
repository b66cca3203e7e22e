"""The picture of `perwiz balance`: for each region what every process computes in every step, and below what balancing a step gains.

The amount drawn is bounded: neighbouring steps, and neighbouring processes, share a cell when there are too many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perwiz import words
from perwiz.report import palette
from perwiz.report.balance.document import gains
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, inches, save, sheet
from perwiz.report.picture.figure import beside as fitted
from perwiz.trace.arrays import F8, I8
from perwiz.whatif.limits.balance import Balance, Balanced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_REGIONS, MOST_STEPS, MOST_LANES, MARKED = 3, 1200, 600, 5
"""Regions drawn, columns and rows of cells, steps marked."""
_WIDTH, _NARROW, _LEFT, _RIGHT = 12.0, 6.0, 0.75, 1.0
_LANE, _LOWEST, _HIGHEST, _GAINS, _HEAD, _AXIS = 0.25, 1.0, 4.0, 1.2, 0.45, 0.45
_NUMBER = 0.25
"""Inches that the number of a step needs."""
_TIME, _MESSAGES, _BAR, _WIDEST = palette.SERIES[0], palette.SERIES[1], 0.4, 0.1


def plot(balance: Balance, path: str, width: float | None = None) -> None:
    """Write the picture; the suffix of `path` (.png, .svg, .pdf) says in which format; `width` in inches."""
    best = sorted(range(len(balance.regions)), key=lambda k: (-int(gains(balance, balance.regions[k]).max()), k))
    drawn = [balance.regions[k] for k in sorted(best[:MOST_REGIONS])]
    save(lambda: _draw(balance, drawn, width or _WIDTH), path)


def cells(value: F8, row: I8, step: I8, most: tuple[int, int]) -> tuple[F8, int, int]:
    """Return (mean of the values of each cell, NaN where there is none; rows a cell; steps a cell), of at most so many rows and steps."""
    many = [int(index.max(initial=0)) + 1 for index in (row, step)]
    size = [-(-number // limit) for number, limit in zip(many, most, strict=True)]
    shape = [-(-number // width) for number, width in zip(many, size, strict=True)]
    cell = row // size[0] * shape[1] + step // size[1]
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, value, minlength=len(count))
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean.reshape(shape), size[0], size[1]


def _draw(balance: Balance, drawn: list[Balanced], width: float) -> Figure:
    """Return the whole picture, places reckoned in inches."""
    trace = balance.run.trace
    height = min(max(_LANE * len(trace.locations), _LOWEST), _HIGHEST)
    headings = [Line(_heading(region), 10, weight="bold") for region in drawn]
    room = [_HEAD + line.height * (len(line.wrapped(width - _LEFT - _RIGHT)) - 1) for line in headings]
    tall = len(drawn) * (height + _HEAD + _GAINS + _AXIS) + sum(room)
    left_out = len(balance.regions) - len(drawn)
    note = f"; regions left out that gain less: {left_out}" if left_out else ""
    legend = f"white: the process takes no part; triangles: steps that gain most{note}"
    above, low = [Line(lanes.title(trace), 12, weight="bold")], tall
    drawing = sheet(width, tall, above, [Line(legend, 8, "#444444")])
    for region, line, head in zip(drawn, headings, room, strict=True):
        low -= head + height
        axes = drawing.axes(_LEFT, low, width - _LEFT - _RIGHT, height)
        beside = drawing.axes(width - _RIGHT + 0.15, low, 0.15, height)
        low -= _HEAD + _GAINS
        below = drawing.axes(_LEFT, low, width - _LEFT - _RIGHT, _GAINS)
        low -= _AXIS
        together = _heat(axes, beside, balance, region, line)
        _gains(below, balance, region, together)
    return drawing.figure


def _heading(region: Balanced) -> str:
    wide = -(-len(region.number) // MOST_STEPS)
    shared = f" (a cell is the mean of {words.several(wide, 'step')})" if wide > 1 else ""
    return f"{words.shown(region.name, 60)}: computation of each process in each step{shared}"


def _heat(axes: Axes, beside: Axes, balance: Balance, region: Balanced, heading: Line) -> int:
    """Draw what each process computes in each step; return how many steps share a cell."""
    locations = balance.run.trace.locations
    step = np.repeat(np.arange(len(region.number)), np.diff(region.first))
    lane = lanes.lanes(locations)[region.location]
    scale, unit = lanes.unit(int(region.computation.max(initial=0)))
    value, tall, wide = cells(region.computation / scale, np.asarray(lane, np.int64), step, (MOST_LANES, MOST_STEPS))
    extent = (0.5, value.shape[1] * wide + 0.5, value.shape[0] * tall - 0.5, -0.5)
    image = axes.imshow(value, cmap="viridis_r", aspect="auto", interpolation="nearest", extent=extent, vmin=0)
    axes.set_xlim(0.5, len(region.number) + 0.5)
    names = lanes.labels(locations)
    every = max(1, -(-len(names) // 24))
    axes.set_yticks(range(0, len(names), every), names[::every], size=8)
    axes.tick_params("both", length=0, labelsize=8)
    axes.tick_params("x", labelbottom=False)
    gain = gains(balance, region)
    for k in np.argsort(-gain, kind="stable")[:MARKED][::-1].tolist():
        if gain[k] > 0:
            axes.plot(k + 1, 1, marker="v", color=palette.CHOSEN, transform=axes.get_xaxis_transform(), clip_on=False, markersize=6)
    axes.annotate(fitted(axes, heading), (0, 1), (0, 9), "axes fraction", "offset points", size=10, weight="bold", parse_math=False)
    bar = axes.figure.colorbar(image, cax=beside)
    bar.set_label(f"computation [{unit}]", size=8)
    bar.ax.tick_params(labelsize=8)
    return wide


def _gains(axes: Axes, balance: Balance, region: Balanced, together: int) -> None:
    """Draw what balancing each step gains, and the standard deviation of its computation."""
    makespan, number = balance.run.makespan, np.arange(len(region.number))
    answers = [("computation balanced", _TIME, makespan - region.time)]
    if region.all_messages >= 0:
        answers.append(("messages balanced", _MESSAGES, np.where(region.messages >= 0, makespan - region.messages, 0)))
    sigma = region.spread(region.computation).sigma
    scale, unit = lanes.unit(int(max(np.abs(gain).max() for _, _, gain in answers)))
    first = np.arange(0, len(number), together)
    middle = 0.5 + first + np.minimum(together, len(number) - first) / 2
    for k, (name, colour, gain) in enumerate(answers):
        height = np.where(np.maximum.reduceat(gain, first) > -np.minimum.reduceat(gain, first), *_ends(gain, first)) / scale
        width = min(together * 2 * _BAR, _WIDEST * len(number)) / len(answers)
        axes.bar(middle + (k - (len(answers) - 1) / 2) * width, height, width, color=colour, label=name)
    _sigma(axes, middle, np.maximum.reduceat(sigma, first))
    axes.axhline(0, color="#888888", linewidth=0.6)
    axes.set_xlim(0.5, len(number) + 0.5)
    _numbers(axes, region)
    axes.set_xlabel("step", size=9)
    shared = f", the largest of {words.several(together, 'step')}" if together > 1 else ""
    narrow = inches(axes) < _NARROW
    if narrow:
        axes.set_ylabel(f"predicted\ngain [{unit}]", size=8)
    else:
        axes.annotate(f"predicted gain [{unit}]{shared}", (0, 1), (0, 4), "axes fraction", "offset points", size=9)
    axes.spines["top"].set_visible(False)
    if len(answers) > 1:
        place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.97), "borderaxespad": 0}
        axes.legend(ncols=1 if narrow else 2, fontsize=7.5 if narrow else 8, frameon=False, **place)


def _sigma(axes: Axes, middle: F8, sigma: I8) -> None:
    """Draw the standard deviation of computation over an axis of its own, on the right: it is no gain."""
    other = axes.twinx()
    scale, unit = lanes.unit(int(sigma.max()))
    other.plot(middle, sigma / scale, "." if len(middle) == 1 else "-", color="black", linewidth=0.8)
    other.set_ylim(0, None)
    other.set_ylabel(f"sigma of\ncomputation [{unit}]", size=8)
    other.tick_params(labelsize=8)
    other.spines["top"].set_visible(False)


def _ends(value: I8, first: I8) -> tuple[I8, I8]:
    return np.maximum.reduceat(value, first), np.minimum.reduceat(value, first)


def _numbers(axes: Axes, region: Balanced) -> None:
    """Write the numbers of some steps below the bars."""
    every = max(1, -(-len(region.number) // int(min(20, (inches(axes) - _LEFT - _RIGHT) / _NUMBER))))
    place = np.arange(0, len(region.number), every)
    axes.set_xticks(place + 1, [str(number) for number in region.number[place].tolist()], size=8)
    axes.tick_params("y", labelsize=8)
