"""Lines through measured times by size."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from perwiz.trace.arrays import F8, I8, Mask

NEAR = 0.03
"""Part of a time by which a line may miss it."""


@dataclasses.dataclass(frozen=True)
class Line:
    """The time `first` of a message of one byte, and `slope` for each further byte."""

    first: float
    slope: float

    def times(self, k: I8) -> F8:
        """Return the times of messages of these sizes."""
        return self.first + self.slope * (np.asarray(k, "f8") - 1)


@dataclasses.dataclass(frozen=True)
class Segment:
    """Sizes from `low` to `high` bytes, and the line of their times."""

    low: int
    high: int
    line: Line


def fit_line(k: I8, y: F8, scale: F8 | None = None) -> Line:
    """Return the line with the smallest squared deviations in proportion to `scale`, the times themselves if none is given.

    Neither its first value nor its slope is negative.
    """
    x, weight = np.asarray(k, "f8") - 1, 1 / np.maximum(y if scale is None else scale, 1.0) ** 2
    mean, high = np.average(x, weights=weight), np.average(y, weights=weight)
    spread, square = np.sum(weight * (x - mean) ** 2), np.sum(weight * x * x)
    slope = max(float(np.sum(weight * (x - mean) * (y - high)) / spread), 0.0) if spread > 0 else 0.0
    first = float(high - slope * mean)
    return Line(first, slope) if first >= 0 else Line(0.0, max(float(np.sum(weight * x * y) / square), 0.0) if square > 0 else 0.0)


def fit_below(k: I8, y: F8) -> Line:
    """Return the line that no point is below, with the smallest relative deviations; a longer message is not faster.

    It is the edge of the lower convex hull above the weighted mean of the sizes.
    """
    lowest = np.minimum.accumulate(y[::-1])[::-1]
    corner = lower_hull(k, lowest)
    x, z = np.asarray(k, "f8")[corner] - 1, lowest[corner]
    middle = float(np.average(np.asarray(k, "f8") - 1, weights=1 / np.maximum(lowest, 1.0)))
    if len(x) == 1:
        return Line(float(z[0]), 0.0)
    right = min(max(int(np.searchsorted(x, middle)), 1), len(x) - 1)
    slope = (z[right] - z[right - 1]) / (x[right] - x[right - 1])
    first = z[right] - slope * x[right]
    return Line(float(first), float(slope)) if first >= 0 else Line(0.0, float(np.min(z[x > 0] / x[x > 0])))


def lower_hull(k: I8, y: F8) -> list[int]:
    """Return the points of the lower convex hull, by row; sizes rise."""
    out: list[int] = []
    for i in range(len(k)):
        while len(out) > 1 and (y[out[-1]] - y[out[-2]]) * (k[i] - k[out[-2]]) >= (y[i] - y[out[-2]]) * (k[out[-1]] - k[out[-2]]):
            out.pop()
        out.append(i)
    return out


def regular(y: F8, most: float = 1.5) -> Mask:
    """Return which points are no isolated outliers: those far above both neighbours."""
    out = np.ones(len(y), bool)
    out[1:-1] = y[1:-1] <= most * np.maximum(y[:-2], y[2:])
    return out


def fit_segments(k: I8, y: F8, scale: F8 | None = None, near: float = NEAR, most: int = 4, least: int = 4) -> tuple[Segment, ...]:
    """Return the lines that times follow by size: as many, at most `most`, of at least so many points each, as pay for themselves.

    Deviations count in proportion to `scale`, the times themselves if none is given; those below `near` count as none.
    """
    n, scale = len(k), np.maximum(y if scale is None else scale, 1.0)
    cost = _line_costs(np.asarray(k, "f8") - 1, y, 1 / scale**2)
    ends = np.arange(n + 1)
    short = ends[None, :] - ends[:, None] < least
    short[0, n] = False
    cost[short] = np.inf
    best, start = cost[0].copy(), [[0] * (n + 1)]
    cuts, score = [0, n], _score(cost[0, n], n, 1, near)
    for number in range(2, most + 1):
        total = best[:, None] + cost
        start.append(np.argmin(total, axis=0).tolist())
        best = total.min(axis=0)
        if _score(best[n], n, number, near) < score:
            score, cuts = _score(best[n], n, number, near), _traced(start, n)
    return tuple(Segment(int(k[i]), int(k[j - 1]), fit_line(k[i:j], y[i:j], scale[i:j])) for i, j in itertools.pairwise(cuts))


def _line_costs(x: F8, y: F8, weight: F8) -> F8:
    """Return how far points i to j - 1 are from their best line, squared and weighted, a row per i, a column per j; see `fit_line`."""
    columns = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y]) * weight
    sums = np.concatenate([np.zeros((6, 1)), np.cumsum(columns, axis=1)], axis=1)
    w, sx, sy, sxx, sxy, syy = sums[:, None, :] - sums[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = w * sxx - sx * sx
        slope = np.where(spread > 1e-12 * w * sxx, np.maximum((w * sxy - sx * sy) / spread, 0.0), 0.0)
        first = (sy - slope * sx) / w
        through = np.where(sxx > 0, np.maximum(sxy / sxx, 0.0), 0.0)
    slope, first = np.where(first < 0, through, slope), np.maximum(np.nan_to_num(first), 0.0)
    cost = syy - 2 * (first * sy + slope * sxy) + first * (first * w + 2 * slope * sx) + slope * slope * sxx
    return np.asarray(np.maximum(cost, 0.0))


def _score(cost: float, n: int, number: int, near: float) -> float:
    """Return how bad a fit is: near deviations count as none, and a line costs its three numbers (Schwarz's criterion)."""
    return float(n * np.log(cost / n + near**2) + 3 * number * np.log(n))


def _traced(start: Sequence[Sequence[int]], n: int) -> list[int]:
    cuts = [n]
    for row in reversed(start):
        cuts.insert(0, row[cuts[0]])
    return cuts
