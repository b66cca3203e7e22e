"""Whether two runs differ by more than runs of one program do: what repeats in each is drawn anew, as for the range of a prediction.

`Noise.around` says how far another run may lie from a recorded one, both being draws of the same. Here each of both runs tells that, and
they need not vary alike: the mean of both variances is taken, so that for runs that do it is what one tells.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from perwiz.whatif import selectors
from perwiz.whatif.compare.compare import Comparison
from perwiz.whatif.compare.span import predicted_part
from perwiz.whatif.run import Run
from perwiz.whatif.sure.answers import drawn_as_recorded, draws_of
from perwiz.whatif.sure.noise import Around, noise_of


@dataclasses.dataclass(frozen=True)
class Apart:
    """How far two runs of one program may lie apart, of what both show without the start of processes and their end, ns."""

    difference: int
    """By how much the second lasts longer there."""
    most: int
    """By so much two runs of the same program differ at most, 99 times of 100, as far as what repeats tells."""
    differ: float
    """By which part recordings differ, as is assumed."""

    @property
    def within(self) -> bool:
        """Whether nothing but chance is needed to tell the difference."""
        return abs(self.difference) <= self.most


def apart(comparison: Comparison, runs: Sequence[Run]) -> Apart | None:
    """Return how far the runs of a comparison may lie apart by chance, given both replayed; None of a prediction, where less of the runs
    is compared, and where too little repeats in one of them to tell.
    """
    first, second = comparison.sides
    if comparison.kind != "change" or first.timeline.origin.predicted:
        return None
    parts = predicted_part(first.trace, second.trace, comparison.begin, comparison.end)
    around = [_around(run) for run in runs] if parts else []
    if parts is None or None in around:
        return None
    one, other = (stop - start for start, stop in parts)
    later = other > one
    ends = [end.most if later == (run is runs[0]) else end.least for run, end in zip(runs, around, strict=True) if end]
    return Apart(other - one, round(math.hypot(*ends) / math.sqrt(2)), max(noise_of(run, draws_of(run)).differ for run in runs))


def _around(run: Run) -> Around | None:
    """Return how far another run may lie from a recorded one; None if too little repeats to tell."""
    noise, after = noise_of(run, draws_of(run)), selectors.after_init(run.trace)
    before = run.makespan - after if after else 0
    return noise.around(drawn_as_recorded(run.weighted, noise), run.makespan, before) if noise.varies else None
