"""Computation that takes more or less time, or is spread evenly."""

from __future__ import annotations

import math
import re

import numpy as np

from perwiz.errors import UsageError
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.stretch import Segments, level

_SLOWEST, _LONGEST = 1e-30, 2.0**60


class Scale(Hypothesis):
    """`REGION=0.5`: computation inside a region, calls made from it included, takes that part of its time. MPI calls keep theirs."""

    word, stage, example = "scale", 2, "NAME=0.5"

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the region's computation scaled, rounded per segment to ns."""
        name, factor = _number(self, self.argument)
        instances = selectors.instances(weighted.trace, name)
        segments = Segments(weighted)
        return segments.stretched(_times(self, segments.length, segments.owner(instances) >= 0, factor))


class Speed(Hypothesis):
    """`rank:3=2.0`: that process computes twice as fast. MPI calls keep their work."""

    word, stage, example = "speed", 2, "rank:3=2"

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the computation of a rank divided by the factor, rounded per segment to ns."""
        rank, factor = _number(self, self.argument)
        if factor == 0:
            raise UsageError(f"{self}: a speed of 0, must be above 0")
        segments = Segments(weighted)
        own = selectors.locations(weighted.trace, rank)[segments.location]
        return segments.stretched(_times(self, segments.length, own, 1 / max(factor, _SLOWEST)))


class BalanceTime(Hypothesis):
    """`REGION` or `REGION#k`: in every (or the k-th) parallel step each process that takes part computes the mean (PerWiz paper, 3.2)."""

    word, stage = "balance-time", 2

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph with the computation of the steps balanced; the sum of each step is conserved to the ns."""
        instances, step = selectors.steps(weighted.trace, self.argument)
        segments = Segments(weighted)
        owner = segments.owner(instances)
        owned = np.flatnonzero(owner >= 0)
        length = segments.length.copy()
        length[owned] = level(length[owned], np.searchsorted(instances, owner[owned]), step)
        return segments.stretched(length)


def _number(hypothesis: Hypothesis, text: str) -> tuple[str, float]:
    name, mark, value = text.rpartition("=")
    factor = float(value) if re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", value) else math.nan
    if not mark or not 0 <= factor <= 1e9:
        raise UsageError(f"{hypothesis}: must be like {hypothesis.word} {hypothesis.example} with a number from 0 to 1e9")
    return name, factor


def _times(hypothesis: Hypothesis, length: I8, where: Mask, factor: float) -> I8:
    """Return lengths with some of them times a factor, rounded to ns. Raises UsageError if they add up to more than 2**60 ns."""
    out = np.where(where, np.rint(length * factor), length)
    if out.sum() > _LONGEST:
        raise UsageError(f"{hypothesis}: computation of {out.sum() / 1e9:.3g} s in all, must be below {_LONGEST / 1e9:.3g} s")
    return out.astype("i8")
