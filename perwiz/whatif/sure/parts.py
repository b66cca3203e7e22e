"""Parts of a run that are drawn anew: its whole iterations, so many in a row as hang together; or if it has none a thirtieth of it each.

Where an iteration takes longer because the one before did, single ones that are drawn tell too small a variance of their sum. So blocks
of consecutive ones are drawn, as long as the autocorrelation of what iterations take asks for (Politis and White, Econometric Reviews 23,
2004, corrected by Patton, Politis and White, Econometric Reviews 28, 2009; of the circular block bootstrap).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from perwiz.trace.arrays import F8, I4, I8, U2, Ints, Mask, Rows, chunks
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.spread.share import ALONE, Share
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace

FEW = 8
"""Iterations, or repetitions where there are none, that an interval needs."""
LEAST = 5
"""Parts, or blocks of them, that anything needs to tell how much it varies."""
BLOCKS = 30
"""Parts of a run without iterations."""
CELLS = 1 << 17
"""Stretches, of each pool one per part, from which on a part is several iterations."""
_SIGNIFICANT = 2.0
"""Times the root of log10(n) / n: a correlation below is none (Politis and White)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a run, in the order of time."""

    number: int
    block: int
    """So many in a row are drawn together."""
    of: U2
    """Per piece of a run: its part, outside of all the nearest; all 0 if there are no iterations."""
    inside: Mask
    """Per piece of a run: whether it is in an iteration."""
    iterations: int
    """Of the program, 0 if it has none."""


def parts_of(trace: Trace, process: Ints, varied: Rows, pools: int, found: Iterations) -> Parts:
    """Return the parts of a run, given per piece of a run its location and how much longer than usual it took, ns; of so many pools.

    Fewer than FEW iterations are none. `found` are those of the trace.
    """
    many, rows = len(found), len(process)
    if many < FEW:
        return Parts(BLOCKS, 1, np.zeros(rows, "u2"), np.zeros(rows, bool), many)
    of, inside = _iteration(found, trace)
    low, end, _ = trace.share.locations.indices(len(trace.locations))
    longer = np.zeros((end - low, many))
    for some in chunks(rows):
        within = inside[some]
        np.add.at(longer.reshape(-1), (process[some][within].astype("i8") - low) * many + of[some][within], varied[some][within])
    number = min(many, max(CELLS // max(pools, 2), BLOCKS))
    block = max(round(block_length(longer, trace.share) * number / many), 1)
    number_of = (np.arange(many) * number // many).astype("u2")
    return Parts(number, block, number_of[of], inside, many)


def _iteration(found: Iterations, trace: Trace) -> tuple[I4, Mask]:
    """Return per piece of a run the nearest iteration, and whether it is in it; computation is where the call behind it is."""
    gaps, many = len(trace.calls) + len(trace.locations), len(found)
    out, inside = np.zeros(gaps + len(trace.calls), "i4"), np.zeros(gaps + len(trace.calls), bool)
    out[trace.first_calls[1:] + np.arange(len(trace.locations))] = many - 1
    for at in range(*trace.share.locations.indices(len(trace.locations))):
        first, end = trace.first_calls[at : at + 2].tolist()
        rows = np.arange(first, end)
        place = np.searchsorted(found.first[:, at], rows, "right") - 1
        its = np.maximum(place, 0)
        within = (place >= 0) & (rows < found.end[its, at])
        for base in (at, gaps):
            out[first + base : end + base], inside[first + base : end + base] = its, within
    return out, inside


def last_calls(found: Iterations, groups: int, trace: Trace) -> I8:
    """Return the last call, a row, -1 if there is none, of each location before the iterations and in each of so many groups of them.

    Groups have as many iterations each, or one more. No rows if there are fewer than FEW.
    """
    many = len(found)
    if many < FEW or not groups:
        return np.zeros((0, len(trace.locations)), "i8")
    out = np.full((groups + 1, len(trace.locations)), NONE, "i8")
    behind = np.arange(1, groups + 1) * many // groups - 1
    for at in range(*trace.share.locations.indices(len(trace.locations))):
        bounds = np.append(found.first[0, at], found.end[behind, at])
        out[:, at] = np.where(bounds > trace.first_calls[at], bounds - 1, NONE)
    return out


def block_length(series: F8, share: Share = ALONE) -> int:
    """Return how many consecutive values of series, a row each, are drawn together, so that the variance of their sum is told best.

    The correlation is that of all rows together, of all processes. Values that have none are drawn one or two at a time.
    """
    many = series.shape[1]
    most = min(math.ceil(min(3 * many**0.5, many / 3)), max(many // LEAST, 1))
    off = series - series.mean(axis=1, keepdims=True)
    lags = min(math.ceil(many**0.5) + max(5, math.ceil(math.log10(many) ** 0.5)), many - 1)
    own = np.stack([np.sum(off[:, : many - lag] * off[:, lag:], axis=1) for lag in range(lags + 1)], axis=1)
    covariance = share.rows(own.ravel()).reshape(-1, lags + 1).sum(axis=0)
    if covariance[0] <= 0:
        return 1
    several = max(5, math.ceil(math.log10(many) ** 0.5))
    clear = np.abs(covariance[1:]) >= _SIGNIFICANT * (math.log10(many) / many) ** 0.5 * covariance[0]
    quiet = (lag for lag in range(lags - several + 1) if not clear[lag : lag + several].any())
    reach = min(2 * max(next(quiet, lags), 1), lags)
    lag = np.arange(1, reach + 1)
    window = np.minimum(2 * (1 - lag / reach), 1) if reach > 1 else np.ones(1)
    weighed = window * covariance[1 : reach + 1]
    bend, level = 2 * np.sum(lag * weighed), covariance[0] + 2 * np.sum(weighed)
    if level <= 0:
        return most
    return min(max(math.ceil((2 * bend**2 / (4 / 3 * level**2)) ** (1 / 3) * many ** (1 / 3)), 1), most)
