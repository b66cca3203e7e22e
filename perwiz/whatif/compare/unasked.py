"""Whether the program was changed otherwise than the prediction was asked: what it computes somewhere is another thing then.

Of all computation, region by region and process by process, that counts which differs most between the predicted and the measured run, in
the direction in which the makespans differ, if that is half of their difference and this a twentieth of the measured run. It was not asked
for if the measured run has another time there than the recorded one, and the predicted run hardly; it did not come about if it is the
other way round. Calls say nothing: what they wait for follows from something else.

Or it is chance: another program may have had the processor, where processes shared processors, or where the difference is within what that
computation varies in the recorded run. Pieces between calls of the same two routines are taken to be the same code: the sum of n such of
variance v, independent of each other, has the variance n v. The measured run is another draw of the same, so nine of ten differences that
are chance lie within 1.645 sqrt(2 sum(n v)).
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.compare.compare import Comparison, Side, compare
from perwiz.whatif.hypotheses.computation import Distribute
from perwiz.whatif.limits.critical import Pieces, computation_between
from perwiz.whatif.run import Start, replayed
from perwiz.whatif.sure.span import NINE_OF_TEN

_MUCH, _LEAST = 0.5, 0.05
"""Part of the difference of the makespans that computation is behind; part of the measured run that this is at least."""


@dataclasses.dataclass(frozen=True)
class Unasked:
    """Computation that is another one than predicted, ns."""

    region: str
    """Region path; empty outside of any."""
    location: int
    """Row of the first trace."""
    recorded: int
    predicted: int
    measured: int
    chance: bool = dataclasses.field(default=False, kw_only=True)
    """Whether it may have come about as another program had the processor."""

    @property
    def changed(self) -> bool:
        """Whether the program changed there and was not asked about that; else it was, and did not change."""
        return abs(self.measured - self.recorded) > abs(self.predicted - self.recorded)


def unasked(comparison: Comparison, first: Trace, second: Trace, model: Start = None, clock: str = "clc") -> Unasked | None:
    """Return where a program changed otherwise than asked, None if nowhere; the traces are those compared, as recorded.

    Nor if the comparison is not under hypotheses, or one hands computation to other processes: there it is in no region. Raises what
    `compare` does.
    """
    off, numbers = comparison.second.makespan - comparison.first.makespan, comparison.alignment.places[0].tolist()
    handed = any(isinstance(one, Distribute) for one in comparison.hypotheses)
    if not comparison.hypotheses or handed or abs(off) < _LEAST * comparison.reference.makespan:
        return None
    before = compare(first, second, comparison.begin.word, (), model, clock, comparison.end.word)
    sides = ((before.first, before), (comparison.first, comparison), (comparison.second, comparison))
    cells = [_computed(side, of.alignment.places[int(side is of.second)].tolist(), model) for side, of in sides]
    keys = [key for key in cells[1] | cells[2] if key[1] in numbers]
    places = [Unasked(region, numbers.index(at), *(each.get((region, at), 0) for each in cells)) for region, at in keys]
    sign = 1 if off > 0 else -1
    most = max(places, key=lambda place: sign * (place.measured - place.predicted), default=None)
    if most is None or sign * (most.measured - most.predicted) < _MUCH * abs(off):
        return None
    enough = _MUCH * abs(most.measured - most.predicted)
    asked, changed = (abs(time - most.recorded) >= enough for time in (most.predicted, most.measured))
    if asked == changed:
        return None
    shared = any(side.health.shared for side in comparison.sides)
    varies = _by_chance(before, numbers[most.location], most.region, model)
    return dataclasses.replace(most, chance=shared or abs(most.measured - most.predicted) <= varies)


def _by_chance(before: Comparison, number: int, region: str, model: Start) -> float:
    """Return how much longer or shorter than recorded what is computed there may take in another run, ns.

    `number` is that of the location for both runs of the comparison.
    """
    side = before.first
    done, there = _done(side, model), np.array([path == region for path in selectors.paths(side.trace)])
    rows = np.flatnonzero((before.alignment.places[0][done.location] == number) & there[done.path])
    if not len(rows):
        return 0
    location = done.location[rows[0]]
    length, middle = done.length[rows], done.begin[rows] + done.length[rows] // 2
    own = slice(*side.trace.first_calls[location : location + 2])
    op = np.concatenate(([NONE], side.trace.calls.op[own], [NONE]))
    behind = np.searchsorted(side.timeline.calls.enter[own], middle, "right")
    _, kind = np.unique(np.stack((op[behind], op[behind + 1])), axis=1, return_inverse=True)
    kind = kind.ravel()
    count = np.bincount(kind)
    square = np.bincount(kind, (length - (np.bincount(kind, length) / count)[kind]) ** 2)
    return NINE_OF_TEN * math.sqrt(2 * float((square * count / np.maximum(count - 1, 1)).sum()))


def _done(side: Side, model: Start) -> Pieces:
    """Return all computation of a run."""
    return computation_between(replayed(side.trace, model, "none"), side.start, side.stop)


def _computed(side: Side, numbers: list[int], model: Start) -> dict[tuple[str, int], int]:
    """Return how long is computed in each region path on each location, a number for both runs, ns."""
    done, regions = _done(side, model), selectors.paths(side.trace)
    keys, row = np.unique(np.stack((done.path, done.location)), axis=1, return_inverse=True)
    total = np.zeros(keys.shape[1], "i8")
    np.add.at(total, row.ravel(), done.length)
    return {(regions[path], numbers[at]): ns for (path, at), ns in zip(keys.T.tolist(), total.tolist(), strict=True)}
