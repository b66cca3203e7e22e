"""Stretches of a recorded run, how much longer than usual each took, and how long they take in runs drawn anew."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from perwiz.kernels import drawn, repeats
from perwiz.trace.arrays import F8, I4, I8, U2, U8, Ints, Mask
from perwiz.trace.numbers import Numbers, running
from perwiz.trace.tables import NONE
from perwiz.whatif.sure.parts import BLOCKS, Parts


@dataclasses.dataclass(frozen=True, eq=False)
class Stretches:
    """What is alike on one process is a pool, of a stretch for each part of the run in which it is."""

    times: F8
    """Per stretch: how many times as long as usual it took."""
    pool: I8
    """Per stretch."""
    part: I8
    """Per stretch: the part of the run."""
    first: I8
    """Per pool: its first stretch; and one more."""
    behind: I4
    """Per part and pool: the first stretch not before it; the first of the next pool if there is none."""
    block: int
    """So many parts in a row are drawn together."""

    @cached_property
    def order(self) -> I8:
        """The stretches by part, then by pool, as `draw` writes them: what a sweep reads next is near to what it read."""
        return np.lexsort((self.pool, self.part))

    @cached_property
    def deviation(self) -> F8:
        """Per stretch: how much longer than usual, as a part of that; times the root of n / (n - 1), for what is usual is of n blocks."""
        several = np.maximum(np.diff(self.first) / self.block, 2)
        return np.maximum((self.times - 1) * (several / (several - 1))[self.pool] ** 0.5, -1)

    @cached_property
    def _turned(self) -> tuple[I8, I8]:
        """Pools and parts in their `order`."""
        return self.pool[self.order], self.part[self.order]

    def draw(self, draws: I8, out: F8) -> None:
        """Write the deviation per stretch, in their `order`, and draw, given numbers of the draws.

        It is that of another part of the run, the same on all processes: each block of parts is one that begins anywhere, counted around
        the end of the run to its begin.
        """
        parts = len(self.behind)
        block, place = np.divmod(np.arange(parts), self.block)
        chance = mixed((np.arange(block[-1] + 1, dtype="u8") << np.uint64(32))[:, None] + draws.astype("u8"))
        begin = ((chance >> np.uint64(11)) * 2.0**-53 * parts).astype("i8")
        drawn.turn(*self._turned, self.first, self.behind, self.deviation, (begin[block] + place[:, None]) % parts, out)


def stretches_of(like: I4, process: Ints, told: Mask, length: I8, group: I4, usual: F8, parts: Parts) -> tuple[Stretches, I4]:
    """Return the stretches of what is told, and in which one each row is, -1 if nothing like it is told on its process.

    `usual` is how long those of a group usually are, ns. Rows that are `like` on one process are in the order of time. Lengths 10 14 12
    10 14, 12 usual: of a run without iterations five stretches, 10/12 14/12 ... times. So is what repeats outside of the iterations, if it
    is mostly there.
    """
    numbers = Numbers()
    pool = numbers.number(like, process)
    count, within = np.zeros((2, numbers.count), "i8")
    tell = told.view("u1")
    repeats.pools(pool, tell, parts.inside.view("u1"), count, within)
    kept, part = np.flatnonzero(count), _part(like, process, told, pool, count, within, parts)
    place = np.full(numbers.count, NONE, "i4")
    place[kept] = np.arange(len(kept))
    there = np.zeros((len(kept), parts.number), bool)
    repeats.places(pool, place, part, tell, there.view("u1"))
    behind = (there.cumsum().reshape(there.shape) - there).astype("i4")
    first = np.append(0, there.sum(axis=1).cumsum())
    stretch, (took, needs) = np.empty(len(pool), "i4"), np.zeros((2, first[-1]))
    repeats.stretches(pool, part, tell, length, group, usual, behind, first, stretch, took, needs)
    return Stretches(
        took / needs, *np.divmod(np.flatnonzero(there), parts.number), first, np.ascontiguousarray(behind.T), parts.block
    ), stretch


def _part(like: I4, process: Ints, told: Mask, pool: I4, count: I8, within: I8, parts: Parts) -> U2:
    """Return the part of each row: if its pool is mostly outside of the iterations, as `_spread` says."""
    outside = 2 * within < count
    if not outside.any():
        return parts.of
    part, rows = parts.of.copy(), np.flatnonzero(outside[pool])
    part[rows] = _spread(like[rows], process[rows], told[rows], pool[rows], count, parts.number)
    return part


def _spread(like: I4, process: Ints, told: Mask, pool: I4, count: I8, parts: int) -> I8:
    """Return the part of each row if its pool is spread over the run evenly, in BLOCKS stretches or as many as it repeats."""
    place, of = running(like, process).astype("i8"), np.bincount(pool)[pool]
    place[told], of[told] = running(like[told], process[told]), count[pool[told]]
    several = np.minimum(np.maximum(count, 1), min(BLOCKS, parts))[pool]
    return place * several // of * parts // several


def mixed(number: U8) -> U8:
    """Return uint64 that look like chance, the same for the same: the function splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    out = number * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        out ^= out >> np.uint64(shift)
        out *= np.uint64(factor)
    return out ^ out >> np.uint64(31)
