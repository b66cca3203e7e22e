"""Ranks over steps: how long each computes in each, by the mean of all; and who is slow in all, or in one.

          step  1    2    3         by the mean  1     2     3
rank 0         10   10   30                     1.00  1.00  1.50
rank 1         10   10   10                     1.00  1.00  0.50
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from perwiz.trace.arrays import F8, I4, I8

_DRAWS, _SEED = 500, 20
_FEWEST = 3
"""Steps that tell how much they vary."""
SLOW = 1.03
"""By the mean, from which on a rank is slow."""
_FAR, _ONCE = 1.5, 3
"""By what the rank usually takes, from which on it is slow in one step; and so many such steps are told."""


class Slow(NamedTuple):
    """A rank, or a group of them, that computes longer than the mean of all."""

    row: int
    of_mean: float
    """Over all steps."""
    low: float
    """Of nine of ten draws of as many steps; as `of_mean` of too few steps."""
    high: float
    longest: int
    """Steps in which nobody computes longer."""


class Once(NamedTuple):
    """A rank that computes longer in one step than it does else."""

    row: int
    step: int
    of_mean: float
    usual: float
    """Its median of all steps."""


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """Columns of some neighbouring steps each, a row each."""

    ns: F8
    """What a rank computes, mean of the steps."""
    first: I4
    """Number of the first step of each, from 1."""
    together: int
    """Steps that are one column; fewer in the last."""


def of_mean(steps: F8 | I8) -> F8:
    """Return how long each rank computes in each step, by the mean of all; 1 where nobody computes."""
    mean = steps.mean(axis=1, keepdims=True)
    return np.where(mean > 0, steps / np.where(mean > 0, mean, 1), 1.0)


def matrix(steps: F8 | I8, most: int) -> Matrix:
    """Return steps (a row each, a column a rank) as at most so many, neighbours put together.

    10 11 and 20 21 and 30 31, at most 2: 15 16 from step 1, 30 31 from step 3.
    """
    count = len(steps)
    together = max(1, -(-count // most))
    first = np.arange(0, count, together)
    sums = np.add.reduceat(steps, first, axis=0) if count else steps[:0]
    sizes = np.diff(np.append(first, count))
    return Matrix(sums / np.maximum(sizes, 1)[:, None], (first + 1).astype("i4"), together)


def slow(steps: F8 | I8, mean: F8 | None = None) -> list[Slow]:
    """Return the ranks that compute longer than the mean, longest first: those that do so in nine of ten draws of steps.

    `mean` is that of all ranks in each step, if the columns are others than these.
    """
    count = len(steps)
    all_ = steps.mean(axis=1) if mean is None else mean
    if not count or steps.shape[1] < 2 or not all_.any():
        return []
    ratio = steps.sum(axis=0) / all_.sum()
    low = high = ratio
    if count >= _FEWEST:
        drawn = np.random.default_rng(_SEED).multinomial(count, np.full(count, 1 / count), _DRAWS)
        told = (drawn @ steps) / np.maximum(drawn @ all_, 1e-9)[:, None]
        low, high = np.quantile(told, (0.05, 0.95), axis=0)
    longest = np.bincount(steps.argmax(axis=1), minlength=steps.shape[1])
    rows = np.flatnonzero((ratio >= SLOW) & (low > 1)).tolist()
    found = [Slow(k, float(ratio[k]), float(low[k]), float(high[k]), int(longest[k])) for k in rows]
    return sorted(found, key=lambda one: (-one.of_mean, one.row))


def once(steps: F8 | I8) -> list[Once]:
    """Return the first few steps in which one rank takes far longer by the mean than it usually does, the farthest first."""
    if len(steps) < _FEWEST or steps.shape[1] < 2:
        return []
    ratio = of_mean(steps)
    usual = np.median(ratio, axis=0)
    off = ratio / np.maximum(usual, 1e-9)
    where = [divmod(k, steps.shape[1]) for k in np.argsort(-off, axis=None, kind="stable")[:_ONCE].tolist()]
    return [Once(k, step, float(ratio[step, k]), float(usual[k])) for step, k in where if off[step, k] >= _FAR and ratio[step, k] >= _FAR]
