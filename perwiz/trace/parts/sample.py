"""Iterations of a long run that stand for all of them: of those a list is asked, whose questions each pass over all calls.

They do if iterations are nearly all of the run, and each process is as long in calls, and as long between them, in one of these as in one
of all. So neither a beginning, nor a process that pauses now and then, nor one that is slow only for a while is lost: a run with any of
these that matters has no such iterations, and all of it is asked.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.trace.arrays import F8, I8
from perwiz.trace.parts.cut import Chosen, left_out, restricted
from perwiz.trace.parts.iterations import Iterations, computed, find
from perwiz.trace.trace import STANDS_FOR, Trace

MANY = 1 << 20
"""Calls of a run from which on a part of it is looked for."""
_ENOUGH, _LEAST = 1 << 18, 12
"""Calls and iterations that the part has at least: so many tell how much iterations vary."""
_ALL = 0.95
"""Part of the time between MPI_Init and MPI_Finalize that iterations last at least."""
_ALIKE = 0.01
"""Part of an iteration by which a process may be longer or shorter in one of the part than in one of all, or its calls."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """Iterations that stand for all."""

    chosen: Chosen
    count: int
    """Iterations of the run."""
    lasts: int
    """How long these last, ns."""
    calls: int
    """Of the run."""
    differs: float
    """By how much of an iteration a process, or its calls, takes longer or shorter in one of the part than in one of all, at most."""

    def __str__(self) -> str:
        whole = f"all {self.count} ({words.duration(self.lasts)}), whose {self.calls} calls take long to ask about"
        alike = f"the mean of each process is that of all, in calls and between them, within {words.percent(self.differs, 1)}"
        return f"{whole}: {alike}; calls (e12) are numbered in these alone; --iterations all asks of all"


def sample(trace: Trace, end: int | None = None) -> Sample | None:
    """Return which iterations in a row stand for all of a run, or for its first `end`; None of a run of few calls, and if none do.

    As many as make up enough calls, or twice as many and so on, at most half of all, until some are alike; of as many those that are most.
    """
    if len(trace.calls) < MANY:
        return None
    its = find(trace)
    count = its.told if end is None else end
    if not count or not _nearly_all(trace, its):
        return None
    times, size = trace.timeline.calls, max(_LEAST, -(-_ENOUGH * count // len(trace.calls)))
    before = np.concatenate([np.zeros(1, "i8"), np.cumsum(times.leave - times.enter)])
    while 2 * size <= count:
        differs = _differs(before, its, count, size)
        at = int(differs.argmin())
        if differs[at] <= _ALIKE:
            all_ = len(its) if end is None else end
            lasts = int(its.stop[all_ - 1].max() - its.begin[0].min())
            return Sample(Chosen(at + 1, at + size), all_, lasts, len(trace.calls), float(differs[at]))
        size *= 2
    return None


def sampled(trace: Trace, found: Sample, end: int | None = None) -> Trace:
    """Return the trace of the iterations that stand for all, which says so, and why the run lacks those from `end` on."""
    part = restricted(trace, found.chosen)
    told = {STANDS_FOR: str(found), **(left_out(trace, end) if end is not None else {})}
    return dataclasses.replace(part, properties={**part.properties, **told})


def _nearly_all(trace: Trace, its: Iterations) -> bool:
    """Return whether hardly anything is outside of iterations."""
    lasts = (its.stop[-1] - its.begin[0])[its.processes]
    return int(lasts.sum()) >= _ALL * computed(trace, its.processes)


def _differs(before: I8, its: Iterations, count: int, size: int) -> F8:
    """Return by how much of an iteration any location differs at most in one of so many iterations in a row from one of all, beginning
    with each that they can begin with; `before` is how long all calls before each take together, ns, and one more.
    """

    def means(begin: slice, stop: slice, among: int) -> tuple[F8, F8]:
        return (its.stop[stop] - its.begin[begin]) / among, (before[its.end[stop]] - before[its.first[begin]]) / among

    whole = means(slice(0, 1), slice(count - 1, count), count)
    parts = means(slice(0, count - size + 1), slice(size - 1, count), size)
    far = [np.abs(part - all_).max(axis=1) for part, all_ in zip(parts, whole, strict=True)]
    return np.asarray(np.maximum(*far) / whole[0][0, its.processes].mean())
