"""Pauses: steps in which a process computes far longer than it usually does, and most others do not.

           step   1    2    3    4    5
    rank 0       10   10   90   10   25       90 is a pause; 25 is not: others compute longer in the fifth step, too
    rank 1       70   10   10   10   25       70 is one

So garbage collection, a checkpoint that one rank writes, memory that is used for the first time or another program on the core look in a
trace (detours: Hoefler, Schneider and Lumsdaine, Characterizing the influence of system noise, SC 2010). Who waits for all pays for each
of them, whoever pauses. A process that has more work now and then looks the same: no trace tells which it is.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.numbers import Numbers, numbered
from perwiz.trace.parts.course import APART
from perwiz.trace.parts.iterations import find
from perwiz.trace.tables import NONE, STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.parts import steps_of_processes
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.sure.parts import LEAST

ITERATIONS = "iterations"
"""Word for the iterations of a program, unless a region is called so."""
_FAR = 0.05
"""Part of what a process usually computes in a step beyond which more of it is far above that, if it is APART deviations, too."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pauses:
    """The steps of a run, and in which of them which location pauses."""

    step: I8
    """Per segment: the step that it lies in, from 0; -1 outside of all, of streams, and of what is for devices."""
    took: I8
    """ns that each location computes in each step, a row a step."""
    usual: I8
    """Per location: the median of that, the lower of two in the middle, ns."""
    paused: Mask
    """Like `took`."""

    @property
    def longer(self) -> I8:
        """How much longer than usual each location computes in steps in which it pauses, ns; 0 in others. Like `took`."""
        return np.where(self.paused, self.took - self.usual, 0)


def pauses(segments: Segments, length: I8, name: str) -> Pauses:
    """Return in which steps who pauses, given how long segments are, ns; `name` is a region, or ITERATIONS.

    More than half of the processes, each by its threads of one number, do not pause together: they have more to do in that step. Raises
    UsageError for another name, and where there are fewer than LEAST steps.
    """
    trace = segments.trace
    step, many = _steps(segments, name)
    computes = (step >= 0) & (trace.locations.kind != STREAM)[segments.location] & ~for_devices(segments)
    step = np.where(computes, step, NONE)
    if many < LEAST:
        raise UsageError(f"{trace.path}: {many} steps of {name}, must be {LEAST} or more to tell what is usual")
    shape = many, len(trace.locations)
    cell = step[computes] * shape[1] + segments.location[computes]
    took = np.zeros(shape, "i8")
    np.add.at(took.reshape(-1), cell, length[computes])
    usual = np.partition(took, (many - 1) // 2, axis=0)[(many - 1) // 2]
    off = np.median(np.abs(took - usual), axis=0)
    far = np.maximum(APART * off, _FAR * usual)
    paused: Mask = np.asarray((took - usual > far) & (usual > 0))
    several = len(np.unique(trace.locations.process)) > 1
    groups, group = np.unique(trace.locations.thread if several else np.zeros(shape[1], "i8"), return_inverse=True)
    for row in range(len(groups)):
        own = np.flatnonzero((group == row) & (usual > 0))
        most = np.flatnonzero(2 * paused[:, own].sum(axis=1) > len(own))
        paused[np.ix_(most, own)] = False
    return Pauses(step, took, usual, paused)


def without(segments: Segments, length: I8, found: Pauses) -> tuple[I8, I8]:
    """Return (segments in steps in which their location pauses, how long they are if it computes as long as usual), ns.

    What is taken away comes from computation of those kinds (a region path, before calls of one site) that take longer than their median
    of all steps, each as much as it is longer, and of one kind from its longest pieces.
    """
    trace, pauses_once = segments.trace, np.asarray(found.paused.any(axis=0))
    own = np.flatnonzero((found.step >= 0) & pauses_once[segments.location])
    step, many, behind = found.step[own], len(found.took), np.full(len(segments.edge), NONE, "i4")
    behind[np.arange(len(trace.calls)) + trace.calls.location] = selectors.sites(trace)[0]
    kind = Numbers().number(segments.location[own], Numbers().number(segments.path[own], behind[segments.gap[own]])).astype("i8")
    pairs, pair = numbered(kind * many + step)
    spent = np.zeros(len(pairs), "i8")
    np.add.at(spent, pair, length[own])
    more = np.maximum(spent - _medians(pairs // many, spent, many), 0)
    cell = step * found.took.shape[1] + segments.location[own]
    of_pair = np.zeros(len(pairs), "i8")
    of_pair[pair] = cell
    longer = found.longer.reshape(-1)
    beyond = np.bincount(of_pair, more, len(longer))
    part = np.divide(longer, beyond, out=np.zeros(len(longer)), where=beyond > 0)
    left = spent - np.rint(more * np.minimum(part, 1)[of_pair]).astype("i8")
    rows = np.flatnonzero((left < spent)[pair])
    return own[rows], _capped(length[own[rows]], pair[rows], left)


def late(trace: Trace) -> I8:
    """Return how much later than usual each location begins its first iteration of some of a run, ns: where it paused before these.

    Usual is the median of how long behind the first of all its process begins an iteration; 0 of a whole run, and of who begins no later
    than that by APART deviations and more than a little (_FAR of an iteration).
    """
    found = find(trace)
    if not trace.part or not len(found):
        return np.zeros(len(trace.locations), "i8")
    begins = found.begin - found.begin[:, found.processes].min(axis=1)[:, None]
    usual = np.median(begins, axis=0)
    off, lasts = np.median(np.abs(begins - usual), axis=0), np.median(found.stop - found.begin, axis=0)
    more = begins[0] - usual
    return np.where(more > np.maximum(APART * off, _FAR * lasts), np.rint(more), 0).astype("i8")


def _steps(segments: Segments, name: str) -> tuple[I8, int]:
    """Return the step that each segment lies in, -1 outside of all, and how many there are."""
    trace, out = segments.trace, np.full(len(segments.length), NONE, "i8")
    if name != ITERATIONS or name in trace.names:
        instances, step = steps_of_processes(trace, name)
        rows, place = segments.inside(instances)
        out[rows] = step[place]
        return out, int(step.max(initial=-1)) + 1
    found, times = find(trace), trace.timeline
    if not len(found):
        raise UsageError(f"{trace.path}: no iterations, {found.why}")
    begins = np.empty(len(segments.edge), "i8")
    begins[np.arange(len(trace.calls)) + trace.calls.location + 1] = times.calls.leave
    begins[trace.first_calls[:-1] + np.arange(len(trace.locations))] = times.locations.enter
    ends = np.cumsum(segments.length) + (begins - np.cumsum(segments.whole) + segments.whole)[segments.gap]
    bounds = np.searchsorted(segments.location, np.arange(len(trace.locations) + 1))
    for at in range(len(trace.locations)):
        some = slice(*bounds[at : at + 2])
        number = np.searchsorted(found.stop[:, at], ends[some])
        out[some] = np.where((ends[some] > found.begin[0, at]) & (number < len(found)), number, NONE)
    return out, len(found)


def _medians(kind: I8, spent: I8, many: int) -> I8:
    """Return, per row, the median of what its kind takes in so many steps, of which those without it are no rows; the lower of two.

    Kinds 0 0 0 1 of 5 9 7 4 in four steps -> 5 5 5 0: of 0 5 7 9 and 0 0 0 4.
    """
    order = np.lexsort((spent, kind))
    _, first, place, count = np.unique(kind[order], return_index=True, return_inverse=True, return_counts=True)
    middle = (many - 1) // 2 - (many - count)
    median = np.where(middle >= 0, spent[order][first + np.maximum(middle, 0)], 0)
    out = np.empty(len(kind), "i8")
    out[order] = median[place]
    return out


def _capped(length: I8, group: I8, total: I8) -> I8:
    """Return lengths of which in each group the longest are cut to one length, so that together they come to its total, or to just below.

    Of 10 90 20 to 70: 10 40 20; of the same to 45: 10 17 17.
    """
    order = np.lexsort((length, group))
    ordered = length[order]
    _, first, place, count = np.unique(group[order], return_index=True, return_inverse=True, return_counts=True)
    before = np.cumsum(ordered) - ordered
    before -= before[first][place]
    level = (total[group[order]] - before) // (count[place] - (np.arange(len(order)) - first[place]))
    cut = np.flatnonzero(ordered >= level)
    which, at = np.unique(place[cut], return_index=True)
    least = np.full(len(first), np.iinfo("i8").max)
    least[which] = level[cut[at]]
    out = np.empty(len(length), "i8")
    out[order] = np.minimum(ordered, least[place])
    return out
