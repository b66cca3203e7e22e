"""How the times of iterations go on: warm-up, trend, the slowest."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from perwiz.trace.arrays import F8, I8
from perwiz.trace.parts.iterations import Iterations

_FAR, _LITTLE = 3, 0.05
"""How far from the quartiles another time is: so many times their distance (the outer fences of Tukey, Exploratory Data Analysis, 1977),
and so large a part of the median."""
_LEAST, _BESIDE = 3, 8
"""Times that can be a stretch of their own, and how many a warm-up is compared with at least."""
_MOST = 500
"""Times of which all pairs are looked at; of more iterations, means of neighbours."""
SURE = 0.01
"""A trend is one if chance would show as much so seldom."""


@dataclasses.dataclass(frozen=True)
class Trend:
    """Whether later iterations take longer."""

    slope: float
    """ns that each takes longer than the one before: the median over all pairs (Theil, 1950; Sen, JASA 63, 1968)."""
    p: float
    """How often chance would order times as much or more, by Kendall's tau (Mann, Econometrica 13, 1945)."""


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

    @property
    def median(self) -> float:
        """That of the usual ones: the lower of the two in the middle, a time that one has."""
        times = np.sort(self.time[self.usual])
        return float(times[(len(times) - 1) // 2])


def course(iterations: Iterations) -> Course:
    """Return how the times of iterations go on, given at least one."""
    where = iterations.processes
    lasts = (iterations.stop - iterations.begin)[:, where]
    time = lasts.mean(axis=1)
    warm = warm_up(time[: iterations.told])
    most_of = where[lasts.argmax(axis=1)]
    usual = slice(warm, iterations.told)
    return Course(time, lasts.min(axis=1), lasts.max(axis=1), most_of, warm, usual, trend(time[usual]))


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
    z = max(abs(score) - 1, 0) / math.sqrt(variance) if variance > 0 else 0.0
    return Trend(float(np.median(rise / (place[late] - place[early]))), math.erfc(z / math.sqrt(2)))
