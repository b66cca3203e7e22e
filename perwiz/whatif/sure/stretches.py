"""Stretches of a recorded run, how much longer than usual each took, and how long they take in runs drawn anew."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from perwiz.kernels import drawn as kernel
from perwiz.trace.arrays import F8, I4, I8, U8, Mask
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE

BLOCKS = 30
"""Stretches of what repeats so often; of what does not each repetition is one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stretches:
    """What is alike on one process is a pool, of BLOCKS stretches or as many as it repeats, in the order of time.

    Pools that are alike follow each other, those of each kind in one order of processes, so that they can be turned together.
    """

    times: F8
    """Per stretch: how many times as long as usual it took."""
    pool: I8
    """Per stretch."""
    first: I8
    """Per pool: its first stretch; and one more."""
    kin: I8
    """Per pool: the first of those alike."""
    kins: I8
    """Per pool: how many are alike."""

    @cached_property
    def deviation(self) -> F8:
        """Per stretch: how much longer than usual, as a part of that; times the root of n / (n - 1), for what is usual is of these n."""
        several = np.maximum(np.diff(self.first), 2)
        return np.maximum((self.times - 1) * (several / (several - 1))[self.pool] ** 0.5, -1)

    def drawn(self, draws: I8) -> F8:
        """Return the deviation per stretch and draw, given numbers of the draws.

        It is that of another stretch, all pools turned by one part of the run and of the processes, for each BLOCKS-th of the run anew.
        """
        chance = mixed(np.arange(2 * BLOCKS, dtype="u8")[:, None] * np.uint64(1 << 32) + draws.astype("u8"))
        later, other = ((chance >> np.uint64(11)) * 2.0**-53).reshape(2, BLOCKS, len(draws))
        out = np.empty((len(self.pool), len(draws)))
        kernel.turn(self.pool, self.first, self.kin, self.kins, self.deviation, later, other, out)
        return out


def stretches_of(like: I8, process: I8, told: Mask, length: I8, usual: F8) -> tuple[Stretches, I4]:
    """Return the stretches of what is told, and in which one each row is, -1 if nothing like it is told on its process.

    Rows that are `like` on one process are in the order of time. Lengths 10 14 12 10 14, 12 usual: five stretches, 10/12 14/12 ... times.
    """
    numbers = Numbers()
    pool = numbers.number(like, process)
    count = np.bincount(pool[told], minlength=numbers.count)
    kept = np.flatnonzero(count)
    kept = kept[np.lexsort(numbers.pairs[kept].T[::-1])]
    several = np.minimum(count[kept], BLOCKS)
    first = np.concatenate([[0], several.cumsum()])
    where = np.full(numbers.count, NONE, "i8")
    where[kept] = np.arange(len(kept))
    row = where[pool]
    all_, inside = np.bincount(pool, minlength=numbers.count), row >= 0
    place, of = running(like, process).astype("i8"), all_[pool]
    place[told], of[told] = running(like[told], process[told]), count[pool[told]]
    stretch = np.full(len(row), NONE, "i4")
    stretch[inside] = first[row[inside]] + place[inside] * several[row[inside]] // of[inside]
    took, needs = (np.bincount(stretch[told], weights[told], first[-1]) for weights in (length, usual))
    alike, kin, kins = np.unique(numbers.pairs[kept, 0], return_index=True, return_counts=True)
    group = np.repeat(np.arange(len(alike)), kins)
    return Stretches(took / needs, np.repeat(np.arange(len(kept)), several), first, kin[group], kins[group]), stretch


def mixed(number: U8) -> U8:
    """Return uint64 that look like chance, the same for the same: the function splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    out = number * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        out ^= out >> np.uint64(shift)
        out *= np.uint64(factor)
    return out ^ out >> np.uint64(31)
