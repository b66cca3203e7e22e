"""Whether the newest run of a series loses more than it may, and whether that is more than chance.

A figure is lost by how much longer the run takes for it than the reference (perwiz.patterns.analysis.series.cost). It is missed if it lost
more than is asked for and more than its noise: how far two recordings of one program may lie apart by chance, 99 times of 100.

Where the reference and the newest run were recorded several times, the spread of these recordings tells: with s the pooled standard
deviation of the logarithms and t the quantile of Student's distribution, the noise of the time is t s sqrt(1 / m + 1 / n), m and n the
recordings, pi / 2 times as much variance where it is the median of three or more. A factor is that of one recording on each side, t s
sqrt(2). It takes four recordings of both together. With fewer the runs drawn of each (perwiz.whatif.sure.noise) tell that of the time,
and stand for the factors, too: what differs between recordings they cannot tell.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from perwiz.patterns.analysis.series import COUNTED, MULTIPLIED, Figures, Point, Series, cost
from perwiz.whatif.run import Run
from perwiz.whatif.sure.noise import STUDENT, noise_of
from perwiz.whatif.sure.parts import LEAST

_STUDENT = (63.657, 9.925, 5.841, *STUDENT)
"""Quantile of 99.5 % for one degree of freedom and more."""
_FREEDOM = 2
"""Degrees of freedom from which on the spread of recordings tells something."""
_MEDIAN = math.pi / 2
"""Variance of a median by that of a mean, of many."""
_FEW = 3
"""Recordings from which on a median is not one of them or their mean."""
_DIGITS = 12
"""Behind the point, of what is lost: what is further down is rounding."""
TIME = "time"
_VALUES: dict[str, Callable[[Figures], float | None]] = {
    TIME: lambda figures: figures.time,
    "load_balance": lambda figures: figures.load_balance,
    "serialisation": lambda figures: figures.serialisation,
    "transfer": lambda figures: figures.transfer,
    "computation": lambda figures: figures.useful,
    "instructions": lambda figures: figures.instructions,
    "ipc": lambda figures: figures.ipc,
    "frequency": lambda figures: figures.ghz,
}
"""What of a recording varies when a factor does."""


@dataclasses.dataclass(frozen=True)
class Drawn:
    """How much the time of a recording varies, as runs drawn of it tell."""

    deviation: float
    """Standard deviation, as a part of the time."""
    stretches: int
    """Of the run, that tell it."""


@dataclasses.dataclass(frozen=True)
class Check:
    """A figure of the newest run beside what it may lose."""

    figure: str
    """TIME, or a factor of series.MULTIPLIED or COUNTED; PARALLEL of the least efficiency."""
    lost: float
    """How much longer the run takes for it than ideally, as a part of 1."""
    noise: float | None
    """What of that may be chance; None where nothing tells."""
    allowed: float
    missed: bool


def drawn(run: Run, time: float, draws: int) -> Drawn | None:
    """Return how much the time of a recorded run, ns, varies in so many runs drawn of it; None if nothing repeats in it."""
    found = noise_of(run, draws)
    ends = found.drawn(run.weighted)
    if found.varies is None or len(ends) < LEAST:
        return None
    return Drawn(float(ends.std(ddof=1)) / time, found.varies.stretches)


def repeated(series: Series) -> bool:
    """Return whether the reference and the newest point have as many recordings as tell how far these lie apart."""
    return _freedom(series.reference, series.newest) >= _FREEDOM


def _freedom(*points: Point) -> int:
    return sum(len(point.recordings) - 1 for point in points)


def noise(series: Series, figure: str, single: tuple[Drawn | None, Drawn | None] = (None, None)) -> float | None:
    """Return how much longer than the reference the newest run may take for a figure by chance, as a part of 1; None if nothing tells.

    `single`: what was drawn of the reference and the newest run, which counts where these were not repeated.

        times 100 102 98, and 101 99 100     s = 0.0158, t = 4.604: 4.604 * 0.0158 * sqrt(pi / 2 * 2 / 3) = 0.0745, so 7.7 %
    """
    points = series.reference, series.newest
    if not repeated(series):
        one, two = single
        if one is None or two is None:
            return None
        return math.expm1(_student(min(one.stretches, two.stretches) - 1) * math.hypot(one.deviation, two.deviation))
    logs = [np.log([_VALUES[figure](each.figures) or math.nan for each in point.recordings]) for point in points]
    squares = sum(float(((log - log.mean()) ** 2).sum()) for log in logs)
    if not math.isfinite(squares):
        return None
    variance = sum(_variance(len(log)) for log in logs) if figure == TIME else 2.0
    return math.expm1(_student(_freedom(*points)) * math.sqrt(squares / _freedom(*points) * variance))


def _student(freedom: int) -> float:
    return _STUDENT[min(freedom, len(_STUDENT)) - 1]


def _variance(recordings: int) -> float:
    """Return the variance of the median of so many by that of one; of two the sooner is taken."""
    return _MEDIAN / recordings if recordings >= _FEW else 1.0


def checks(series: Series, allowed: float, single: tuple[Drawn | None, Drawn | None] = (None, None)) -> list[Check]:
    """Return every figure of the newest run against what it may lose, as a part of 1: the time, and what is known of the factors."""
    found = series.step(series.newest)
    factors = {TIME: found.reached} | {name: getattr(found, name) for name in (*MULTIPLIED, *COUNTED)}
    out = []
    for figure, factor in factors.items():
        if factor is not None:
            lost, chance = round(cost(factor), _DIGITS), noise(series, figure, single)
            out.append(Check(figure, lost, chance, allowed, lost > max(allowed, chance or 0.0)))
    return out
