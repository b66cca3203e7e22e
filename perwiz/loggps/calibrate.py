"""Parameters of LogGPS from measured times: lines and steps through points, and the model that fits them.

A byte's cost is told apart as Hoefler et al. do in Netgauge (2007): overheads from the calls alone, the gap from messages in a row.
What they leave of a message's way is its latency. The model has one G for all sizes, so this is a mean.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perwiz.loggps.model import LETTERS, Costs, Limit, Model, Sent
from perwiz.trace.arrays import F8, I8, Mask

Values = dict[str, float]
"""By letter: o_s, o_r, O_s, O_r as measured; L, g, G, S, and the overheads of a request as the model takes them; `room` and `share`, the
parts of the overheads, and of those per byte, that a message's way has room for."""

DRAWS, SEED = 200, 2007


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


@dataclasses.dataclass(frozen=True)
class Curves:
    """What was seen of messages: the way from the sending call to the return of the receiving one by size, and lines of single calls."""

    size: I8
    way: F8
    first: float
    """The way of one byte."""
    sends: Line
    receives: Line
    gaps: Line | None
    threshold: int
    """S: larger messages wait for their receiver."""


@dataclasses.dataclass(frozen=True, eq=False)
class Calibration:
    """A model, what it was made of, and how well it fits."""

    model: Model
    values: Values
    low: Values
    high: Values
    """Ends of the 95 % intervals; letters without one are left out."""
    segments: tuple[Segment, ...]
    """Of the gap between messages."""
    typical: float
    worst: float
    """Deviation of the model's way of a message from the one seen, over that, by size."""
    notes: tuple[str, ...]


def fit_line(k: I8, y: F8) -> Line:
    """Return the line with the smallest relative deviations, squared; neither its first value nor its slope is negative."""
    x, weight = np.asarray(k, "f8") - 1, 1 / np.maximum(y, 1.0) ** 2
    mean, high = np.average(x, weights=weight), np.average(y, weights=weight)
    spread = np.sum(weight * (x - mean) ** 2)
    slope = max(float(np.sum(weight * (x - mean) * (y - high)) / spread), 0.0) if spread > 0 else 0.0
    first = float(high - slope * mean)
    return Line(first, slope) if first >= 0 else fit_slope(k, y, 0.0)


def fit_slope(k: I8, y: F8, first: float) -> Line:
    """Return the line with this first value and the smallest relative deviations, squared; its slope is not negative."""
    x, weight = np.asarray(k, "f8") - 1, 1 / np.maximum(y, 1.0) ** 2
    square = np.sum(weight * x * x)
    return Line(first, max(float(np.sum(weight * x * (y - first)) / square), 0.0) if square > 0 else 0.0)


def fit_call(k: I8, y: F8, short: int = 16) -> Line:
    """Return the line of a call's times: its first value that of sizes up to `short`, most messages being short, its slope from all."""
    return fit_slope(k, y, float(np.median(y[k <= max(short, k[0])])))


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


def fit_segments(k: I8, y: F8, most: int = 4, least: int = 4) -> tuple[Segment, ...]:
    """Return the lines that times follow by size: as many, at most `most`, of at least so many points each, as pay for themselves."""
    n = len(k)
    cost = np.full((n + 1, n + 1), np.inf)
    for i in range(n):
        for j in range(i + least, n + 1):
            cost[i, j] = np.sum((1 - fit_line(k[i:j], y[i:j]).times(k[i:j]) / np.maximum(y[i:j], 1.0)) ** 2)
    best, start = cost[0].copy(), [[0] * (n + 1)]
    cuts, score = [0, n], _score(cost[0, n], n, 1)
    for number in range(2, most + 1):
        total = best[:, None] + cost
        start.append(np.argmin(total, axis=0).tolist())
        best = total.min(axis=0)
        if _score(best[n], n, number) < score:
            score, cuts = _score(best[n], n, number), _traced(start, n)
    return tuple(Segment(int(k[i]), int(k[j - 1]), fit_line(k[i:j], y[i:j])) for i, j in itertools.pairwise(cuts))


def _score(cost: float, n: int, number: int) -> float:
    """Return how bad a fit is: deviations below 3 % count as none, and a line costs its three numbers (Schwarz's criterion)."""
    return float(n * np.log(cost / n + 0.03**2) + 3 * number * np.log(n))


def _traced(start: Sequence[Sequence[int]], n: int) -> list[int]:
    cuts = [n]
    for row in reversed(start):
        cuts.insert(0, row[cuts[0]])
    return cuts


def find_threshold(size: I8, eager: Mask) -> tuple[int, int, int]:
    """Return the largest eager size, the one that contradicts fewest sizes, and the smallest and largest value it can have.

    size                           8    16    32    64
    eager                          1     1     0     0
    wrong, if S is below it        2     1     0     1  and 2 above all: S is 16, and may be up to 31
    """
    order = np.argsort(size, kind="stable")
    size, eager = np.asarray(size)[order], np.asarray(eager)[order]
    wrong = np.concatenate(([0], np.cumsum(~eager))) + np.concatenate((np.cumsum(eager[::-1])[::-1], [0]))
    cut = int(np.argmin(wrong))
    low = int(size[cut - 1]) if cut else 0
    return low, low, int(size[cut]) - 1 if cut < len(size) else low


def parameters(seen: Curves, acknowledge_overheads: int = 2) -> Values:
    """Return the parameters behind these curves."""
    o_s, o_r = max(seen.sends.first - seen.sends.slope, 0.0), max(seen.receives.first - seen.receives.slope, 0.0)
    both = seen.sends.first + seen.receives.first
    room, latency = min(1.0, seen.first / max(both, 1.0)), max(seen.first - both, 0.0)
    handshake, slope = _way(seen)
    ends = seen.sends.slope + seen.receives.slope
    share = min(1.0, slope / ends) if ends > 0 else 1.0
    gap = seen.gaps.slope if seen.gaps else np.inf
    out = {"o_s": o_s, "o_r": o_r, "O_s": seen.sends.slope, "O_r": seen.receives.slope, "L": latency}
    left = handshake - room * (o_s + acknowledge_overheads * (o_s + o_r) / 2) - 2 * latency
    requests = left / (room * o_r) if o_r > 0 else 0.0
    out |= {"G": min(gap, max(slope - ends, 0.0)), "S": float(seen.threshold), "requests": max(requests, 0.0)}
    out |= {"room": room, "share": share}
    return out | ({"g": seen.gaps.first} if seen.gaps else {})


def _way(seen: Curves) -> tuple[float, float]:
    """Return what messages above S take longer, and what each byte takes, with the smallest deviations in proportion, squared."""
    waits = seen.size > seen.threshold
    x = np.stack([waits * (waits.sum() > 1), np.asarray(seen.size, "f8") - 1], axis=1)
    scale = np.maximum(x.max(axis=0), 1.0)
    x, y = x / scale, np.maximum(seen.way, 1.0)
    cost = np.maximum(np.linalg.lstsq(x / y[:, None], 1 - seen.first / y, rcond=None)[0], 0)
    for _ in range(30):
        time = np.maximum(seen.first + x @ cost, 1.0)
        cost = np.maximum(cost + np.linalg.lstsq(x / time[:, None], np.log(y / time), rcond=None)[0], 0)
    handshake, slope = (cost / scale).tolist()
    return handshake, slope


def way(model: Model, k: I8) -> F8:
    """Return the ns a model gives a message from the entry of its sending call to the return of a receiver that waits for it."""
    return np.asarray(model.ready(Sent(k)) + model.receive_work(Sent(k)), "f8")


def misfit(model: Model, seen: Curves) -> tuple[float, float]:
    """Return the typical and the largest deviation of a model from the ways seen, over those."""
    off = np.abs(way(model, seen.size) / np.maximum(seen.way, 1.0) - 1)
    return float(np.median(off)), float(np.max(off))


def build_model(name: str, source: str, values: Values, conventions: dict[str, Any], assumed: Sequence[str]) -> Model:
    """Return the model of these values and conventions; letters without value are 0."""
    parts = {"o_s": values["room"], "o_r": values["room"], "O_s": values["share"], "O_r": values["share"]}
    letters = (letter for letter in LETTERS.values() if letter != "s")
    costs: dict[str, Any] = {
        letter: round(values.get(letter, 0.0) * parts.get(letter, 1.0), 4 if letter[0] in "GO" else 1) for letter in letters
    }
    overheads = {"acknowledge_overheads": 2, "request_overheads": round(values["requests"])}
    fixed: dict[str, Any] = {"gap": "sending call", "progress": "always", **overheads, **conventions}
    rows = (Costs(**costs, s=0),)
    return Model(name=name, source=source, assumed=tuple(assumed), costs=rows, limits=(Limit(int(values["S"])),), **fixed)


def intervals(draw: Callable[[np.random.Generator], Values]) -> tuple[Values, Values]:
    """Return the ends of the 95 % intervals of values drawn again and again, the same ones every time."""
    random = np.random.default_rng(SEED)
    drawn = [draw(random) for _ in range(DRAWS)]
    ends = {letter: np.percentile([values[letter] for values in drawn], [2.5, 97.5]).tolist() for letter in drawn[0]}
    return {letter: low for letter, (low, _) in ends.items()}, {letter: high for letter, (_, high) in ends.items()}
