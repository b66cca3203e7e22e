"""How the times of iterations go on: warm-up, trend, the slowest."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np

from perwiz import words
from perwiz.trace.arrays import F8, I8
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.resources import remembered

_FAR, _LITTLE = 3, 0.05
"""How far from the quartiles another time is: so many times their distance (the outer fences of Tukey, Exploratory Data Analysis, 1977),
and so large a part of the median."""
_LEAST, _BESIDE = 3, 8
"""Times that can be a stretch of their own, and how many a warm-up is compared with at least."""
_MOST = 500
"""Times of which all pairs are looked at; of more iterations, means of neighbours."""
SURE = 0.01
"""A trend is one if chance would show as much so seldom."""
TOLD = 0.02
"""Part of the median that it comes to at least, from the first tenth to the last."""
_FOLLOWS = 0.95
"""The correlation of neighbours that is allowed for."""
_CURVE = 0.02
"""What a parabola leaves, as a part of what it spans, up to which that is another curve, not chance."""
APART, _QUARTER = 7, 0.25
"""How far a time that stands out is above the median: so many times the median deviation from it, of normal values as far as Tukey's outer
fence; and so large a part of it."""

NAMED = 5
"""Iterations that stand out that are named."""


@dataclasses.dataclass(frozen=True)
class Trend:
    """Whether later iterations take longer."""

    slope: float
    """ns that each takes longer than the one before: the median over all pairs (Theil, 1950; Sen, JASA 63, 1968)."""
    p: float
    """How often chance would order times as much or more, by Kendall's tau (Mann, Econometrica 13, 1945), where each follows the one
    before, of so many that are independent."""
    begins: float
    """The median of the first tenth, three at least, and of the last."""
    ends: float

    def comes_to(self, count: int) -> float:
        """Return by how much so many values differ from the first tenth to the last, or along the slope if that is less; below 0 if the
        two go other ways."""
        return min(abs(self.slope * (count - 1)), (self.ends - self.begins) * math.copysign(1, self.slope))


@dataclasses.dataclass(frozen=True, eq=False)
class Course:
    """The times of iterations, ns, one row each."""

    time: F8
    """Mean of all processes."""
    least: I8
    """Of one process."""
    most: I8
    most_of: I8
    """The location that takes most."""
    warm_up: int
    """The first so many take another time than those behind them, longer or shorter."""
    usual: slice
    """The others that last as long as is known."""
    trend: Trend | None
    """Of these; None of fewer than four."""
    exceptions: tuple[int, ...]
    """Which of these take far longer than the others, from 0."""

    @property
    def rises(self) -> bool:
        """Whether the trend is one: not by chance, and worth telling."""
        found, times = self.trend, self.time[self.usual]
        return found is not None and found.p < SURE and found.comes_to(len(times)) >= TOLD * float(np.median(times))

    @property
    def median(self) -> float:
        """That of the usual ones: the lower of the two in the middle, a time that one has."""
        times = np.sort(self.time[self.usual])
        return float(times[(len(times) - 1) // 2])

    @property
    def excess(self) -> float:
        """What those that stand out take more than the median, ns, together."""
        return float(np.maximum(self.time[list(self.exceptions)] - self.median, 0.0).sum())

    @property
    def alike(self) -> slice:
        """The longest stretch of usual ones of which none stands out, the first of several."""
        ends = [self.usual.start - 1, *self.exceptions, self.usual.stop]
        return max((slice(before + 1, after) for before, after in pairwise(ends)), key=lambda part: part.stop - part.start)


@remembered(1)
def course(iterations: Iterations) -> Course:
    """Return how the times of iterations go on, given at least one."""
    where = iterations.processes
    lasts = (iterations.stop - iterations.begin)[:, where]
    time = lasts.mean(axis=1)
    warm = warm_up(time[: iterations.told])
    most_of = where[lasts.argmax(axis=1)]
    usual = slice(warm, iterations.told)
    far = tuple(warm + k for k in exceptions(time[usual]))
    return Course(time, lasts.min(axis=1), lasts.max(axis=1), most_of, warm, usual, trend(time[usual]), far)


def exceptions(time: F8, part: float = _QUARTER) -> list[int]:
    """Return which times are far above the others, by at least this part of them, along their trend if they have one; at least four.

    9 9 10 900 10: the fourth.
    """
    found = trend(time)
    if found is None:
        return []
    line = time - found.slope * np.arange(len(time)) if found.p < SURE else time
    middle = float(np.median(line))
    far = max(APART * float(np.median(np.abs(line - middle))), part * float(np.median(time)))
    return [int(k) for k in np.flatnonzero(line > middle + far)]


def warm_up(time: F8) -> int:
    """Return how many of the first times are a warm-up: a short beginning, behind which the times go on alike to the next change.

    They lie far from the times behind a tenth of all (three at least, a quarter at most; as many are looked at, or eight, not what a
    later step brings). Three or more are one only as they draw near to what follows: else they are a stretch of their own, and the warm-up
    is what its first times are to the rest of it.

    9 4 5 5 4 5 5 4: one, for 9 is far from 5.   20 12 8 6 5 5 5 ...: four.   5 5 5 5 9 9 9 9 ...: none.   8 5 5 5 9 9 9 9 ...: one.
    """
    most = min(len(time) // 4, max(_LEAST, len(time) // 10))
    if not most:
        return 0
    low, middle, high = np.quantile(time[most : most + max(_BESIDE, most)], (0.25, 0.5, 0.75)).tolist()
    far = max(_FAR * (high - low), _LITTLE * middle)
    differs = (time[:most] < low - far) | (time[:most] > high + far)
    count = int(np.append(differs, False).argmin())
    if differs.sum() < _LEAST:
        return count
    off = np.abs(time[:count] - middle)
    nearing = count >= _LEAST and 2 * off[count // 2 :].mean() <= off[: count // 2].mean()
    return count if nearing else warm_up(time[: int(np.flatnonzero(differs)[-1]) + 1])


def trend(time: F8) -> Trend | None:
    """Return the trend of times, None of fewer than four: so few are in order by chance.

    1 2 4 3 5: of ten pairs nine rise and one falls; slopes are -1 to 2, their median is 1.
    """
    if len(time) < 4:
        return None
    bins = np.array_split(np.arange(len(time)), min(len(time), _MOST))
    value, place = (np.array([float(column[rows].mean()) for rows in bins]) for column in (time, np.arange(len(time))))
    early, late = np.triu_indices(len(value), 1)
    rise = value[late] - value[early]
    score, count = int(np.sign(rise).sum()), len(value)
    ties = np.unique(value, return_counts=True)[1]
    variance = (count * (count - 1) * (2 * count + 5) - int((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    slope = float(np.median(rise / (place[late] - place[early])))
    variance *= _widened(value)
    z = max(abs(score) - 1, 0) / math.sqrt(variance) if variance > 0 else 0.0
    few = max(_LEAST, len(time) // 10)
    return Trend(slope, math.erfc(z / math.sqrt(2)), float(np.median(time[:few])), float(np.median(time[-few:])))


def _widened(value: F8) -> float:
    """Return how many times the variance is that of independent values, where each follows the one before: (1 + r) / (1 - r).

    r is the correlation of neighbours, of what a parabola leaves. That of short series is too small by (3 + 5 r) / n on average, as by
    (1 + 3 r) / n without a line (Marriott and Pope, Biometrika 41, 1954), which is made up for.
    """
    count, place = len(value), np.linspace(-1, 1, len(value))
    if count <= 5:
        return 1.0
    curve = np.polynomial.polynomial.polyval(place, np.polynomial.polynomial.polyfit(place, value, 2))
    rest = value - curve
    square = float((rest**2).sum())
    if square <= count * (_CURVE * float(np.ptp(curve))) ** 2:
        return 1.0
    follows = (float((rest[1:] * rest[:-1]).sum()) / square * count + 3) / (count - 5)
    follows = min(max(follows, 0.0), _FOLLOWS)
    return (1 + follows) / (1 - follows)


def stands_out(lasts: dict[int, int], median: int, where: str = "", most: int = NAMED) -> str:
    """Return in words which iterations, by number, take far longer than the others, ns; at most so many are named."""
    longest = sorted(sorted(lasts, key=lambda number: -lasts[number])[:most])
    named = ", ".join(f"{number} ({words.duration(lasts[number])})" for number in longest)
    more = f" and {len(lasts) - most} more" if len(lasts) > most else ""
    return f"{'iterations' if len(lasts) > 1 else 'iteration'} {named}{more}; the others{where} {words.duration(median)} (median)"
