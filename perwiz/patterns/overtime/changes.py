"""Where a series of figures changes: optimal partitioning into stretches in which each figure stays as it is, or goes up or down evenly.

    minimise  sum over stretches of (squares of the residuals / noise^2  +  slope each  +  stretch)

over all ways to cut the series (Jackson et al., IEEE Signal Processing Letters 12, 2005). `noise` is that of neighbours: their differences
tell it whatever changes on the way. Single rows that stand out are drawn in first (a filter as Hampel's; Davies and Gather, JASA 88, 1993):
an iteration that writes a file is no phase. The penalty of a stretch is three times that of Schwarz's criterion (BIC; Yao, Statistics and
Probability Letters 6, 1988): figures of one iteration vary together, and so do neighbours, for which that criterion makes no allowance.
Nothing is random: equal series give equal stretches.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from perwiz.trace.arrays import F8, I8

LEAST = 3
"""Values of the shortest stretch."""
_BESIDE, _FAR = 3, 3.0
"""Rows of a median, and how many times the noise a value may be off it."""
_PART, _NORMAL = 0.75, 1.1503
"""Part of the differences that are chance, and how far, in standard deviations, that part of normal values lies from the mean."""
_PENALTY = 3.0
"""Times the penalty of BIC."""
_ROWS = 6
"""Rows for each that differences are apart, at least: in fewer, some changes would make up a quarter of them."""
_FOLLOWS = -0.5, 0.9
"""The correlations of neighbours that are allowed for."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stretch:
    """Rows `first` to `end` - 1 of a series, and the straight line of each figure in them."""

    first: int
    end: int
    begins: F8
    """Value of the line at the first row, per figure."""
    ends: F8
    """Value at the last row; the same where the figure stays as it is."""


def stretches(values: F8, least: F8) -> list[Stretch]:
    """Return the stretches of a series, float64 (rows, figures), in order; `least` is what of each figure is no difference.

    What goes up or down along a curve is one stretch: neighbours are joined where lines go on the same way, and none jumps.

    values 5 5 5 5 9 9 9 9 of one figure, least 0.1: rows 0 to 3 at 5, 4 to 7 at 9.
    """
    if not len(values):
        return []
    scale, middle = noise(values, least), np.median(values, axis=0)
    series = (drawn_in(values, scale) - middle) / scale
    out = list[Stretch]()
    for first, end in partition(series, alike(series)):
        line = _line(series, first, end)
        if out and _goes_on(out[-1], line):
            line = Stretch(out[-1].first, end, out[-1].begins, line.ends)
            out.pop()
        out.append(line)
    return [Stretch(line.first, line.end, line.begins * scale + middle, line.ends * scale + middle) for line in out]


def noise(values: F8, least: F8) -> F8:
    """Return by how much values differ by chance, per figure: a standard deviation, at least `least`.

    Differences of rows one to three apart tell it, without what all of them have in common, by their upper quartile: a quarter of the
    rows may change, or be disturbed. Where those one apart are the smaller, each value follows the one before, and the mean of many varies
    more than if each was by chance: by the square root of (1 + r) / (1 - r), r their correlation. Where they are the larger, as of windows
    that hold one step or two in turn, it varies less.
    """
    if len(values) < LEAST:
        return np.array(least, float)
    many = [values[apart:] - values[:-apart] for apart in (1, 2, 3) if apart == 1 or len(values) >= _ROWS * apart]
    steps = [np.quantile(np.abs(step - np.median(step, axis=0)), _PART, axis=0) / _NORMAL / math.sqrt(2) for step in many]
    near, far = (np.maximum(step, least) for step in (steps[0], np.max(steps[1:] or steps, axis=0)))
    follows = np.clip(1 - (near / far) ** 2, *_FOLLOWS)
    return np.asarray(np.maximum(np.maximum(near, far) * np.sqrt((1 + follows) / (1 - follows)), least))


def drawn_in(values: F8, scale: F8) -> F8:
    """Return a series whose values are at most three times the scale off the median of the rows before or of those behind.

    A row that is off both is moved to the nearer: one that stands out, and one half of which belongs to what is before a step. A step of
    four rows or more stays.
    """
    if len(values) < 2:
        return values
    sides = [_medians(values), _medians(values[::-1])[::-1]]
    moved = [np.clip(values, side - _FAR * scale, side + _FAR * scale) for side in sides]
    off = [(np.abs(values - one) / scale).sum(axis=1, keepdims=True) for one in moved]
    return np.asarray(np.where(off[0] <= off[1], *moved))


def _medians(values: F8) -> F8:
    """Return the median of the rows before each; of the first that of the rows behind it."""
    padded = np.concatenate((np.full((_BESIDE, values.shape[1]), np.nan), values[:-1]))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _BESIDE, axis=0)[1:]
    first = np.median(values[1 : 1 + _BESIDE], axis=0)
    return np.concatenate((first[None], np.nanmedian(windows, axis=-1)))


def alike(series: F8) -> float:
    """Return for how many figures one of them stands, 1 to all: their noise may be the same, as what delays an iteration shows in several.

    Of figures whose correlations have the eigenvalues w, the sum of squares varies as sum(w^2) / sum(w) times that of (sum w)^2 / sum(w^2)
    independent ones (Satterthwaite, Biometrics Bulletin 2, 1946). Differences of neighbours tell the correlations.
    """
    steps = np.clip(np.diff(series, axis=0), -_FAR, _FAR)
    size = np.sqrt((steps**2).sum(axis=0))
    steps = np.divide(steps, size, out=np.zeros_like(steps), where=size > 0)
    both = steps.T @ steps
    np.fill_diagonal(both, 1.0)
    return float((both**2).sum() / len(both))


def partition(series: F8, stands_for: float = 1.0) -> list[tuple[int, int]]:
    """Return the cheapest stretches (first, end) of a series, float64 (rows, figures) in units of its noise.

    `stands_for`: of how many figures one tells, by which what they cost is divided.
    """
    rows, figures = series.shape
    steps = np.arange(rows)[:, None]
    sums = [np.concatenate((np.zeros((1, figures)), np.cumsum(column, axis=0))) for column in (series, series**2, steps * series)]
    slope = _PENALTY * math.log(max(rows, 2))
    stretch = slope * (figures + stands_for)
    best, before = np.full(rows + 1, np.inf), np.zeros(rows + 1, "i8")
    best[0] = -stretch
    for end in range(min(LEAST, rows), rows + 1):
        first = np.arange(0, max(1, end - LEAST + 1))
        total = best[first] + _costs(sums, first, end, slope).sum(axis=1) + stretch
        k = int(total.argmin())
        best[end], before[end] = total[k], first[k]
    out, end = list[tuple[int, int]](), rows
    while end:
        out.append((int(before[end]), end))
        end = int(before[end])
    return out[::-1]


def _costs(sums: list[F8], first: I8, end: int, slope: float) -> F8:
    """Return what each figure costs in the stretches from each of some rows to `end`: even, or on a line if that is worth a slope."""
    value, square, moment = (column[end] - column[first] for column in sums)
    count = (end - first)[:, None].astype(float)
    level = np.maximum(square - value**2 / count, 0)
    middle = (first[:, None] + end - 1) / 2
    spread = count * (count**2 - 1) / 12
    rise = np.divide((moment - middle * value) ** 2, spread, out=np.zeros_like(value), where=spread > 0)
    return np.minimum(level, np.maximum(level - rise, 0) + slope)


def _line(series: F8, first: int, end: int) -> Stretch:
    """Return a stretch with its lines."""
    part, place = series[first:end], np.arange(first, end) - (first + end - 1) / 2
    mean, spread = part.mean(axis=0), float((place**2).sum())
    rise = (place[:, None] * part).sum(axis=0)
    told = rise**2 > _PENALTY * math.log(max(len(series), 2)) * spread
    half = np.where(told, rise / max(spread, 1.0), 0.0) * (end - 1 - first) / 2
    return Stretch(first, end, mean - half, mean + half)


def _goes_on(before: Stretch, after: Stretch) -> bool:
    """Return whether lines, in units of the noise, go on: some up or down in both, none up in one and down in the other, none jumping."""
    ways = np.sign(before.ends - before.begins) * np.sign(after.ends - after.begins)
    step = np.maximum(np.abs(after.ends - after.begins) / max(1, after.end - after.first - 1), _FAR)
    return bool((ways > 0).any() and (ways >= 0).all() and (np.abs(after.begins - before.ends) <= step).all())
