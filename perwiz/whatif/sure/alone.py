"""What a change gains where processes shared processors in the recorded run and would each have one of their own.

Who waits for a processor computes longer, and a call that polls for a message comes back to it late. That stays as recorded in every
prediction, though it is neither the program's nor the network's: it hides what a change gains, or makes up a gain.

    0 |--5--| Send             |--5--| Send
    1 |--9--------| Recv |wait for the processor: 4|      5 and 9 balanced, 7 each: 1 is held those 4 all the same

So the same is asked once more of the recorded run without it: computation that repeats takes as long as it usually does on its process,
the median of its kind; of what takes longer in every third iteration, or so, that of each of the three. And what a call that communicates
works beyond what the model says is gone where it is more than as much again: of a sender, too, and of a collective, out of which each
comes when it gets the processor, and posts its next receive as much later. How much less time the changed run takes than the unchanged one
there is what the change gains among processes that do not disturb each other, as far as what repeats tells.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import GAP
from perwiz.loggps.costs import rest
from perwiz.loggps.weigh import CUT, Weighted, lags, work
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, medians
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import SHARED
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.run import Run
from perwiz.whatif.sure.parts import LEAST
from perwiz.whatif.sure.repeating import same_computation
from perwiz.whatif.sure.variations import weighed

_VARIES, _TURNS = 0.02, 12
"""Part of what a kind of computation takes from which on it is asked whether it takes turns; so many kinds that may do so at most."""


def alone(run: Run) -> Weighted | None:
    """Return the recorded run, whose weights are read without, as if each process had a processor of its own; None if each had."""
    if SHARED not in run.trace.properties:
        return None
    return _usual(_quick(weighed(run, run.machine.model)))


def _usual(weighted: Weighted) -> Weighted:
    """Return a weighted graph in which computation that repeats takes the median of its kind; regions divide it alike."""
    segments = Segments(weighted)
    place = np.arange(len(segments.length)) - segments.of_gaps(segments.bounds[:-1])
    kind = Numbers().number(Numbers().number(segments.of_gaps(same_computation(weighted.trace)), place), segments.path)
    median, count = medians(in_turn(kind, segments.length), segments.length)
    return segments.stretched(weighted, np.where(count >= LEAST, np.rint(median).astype("i8"), segments.length))


def in_turn(kind: I4, length: I8) -> I4:
    """Return kinds, a number per row, those apart that take turns: what takes longer each second, third, ... time does so by itself, for
    who waits for a processor does not wait in such an order. Each then has LEAST rows, and at most half of the deviation is left.

    One kind of 3 8 3 8 3 8 3 8 3 8: two kinds. Of 3 3 3 8 3 3 8 8 3 3: one.
    """
    median, count = medians(kind, length)
    off = np.bincount(kind, np.abs(length - median))
    varies = off > _VARIES * np.bincount(kind, length)
    rows = np.flatnonzero(varies[kind] & (count >= 2 * LEAST))
    rows = rows[np.argsort(kind[rows], kind="stable")]
    own, took = kind[rows], length[rows]
    turn, period = np.arange(len(rows)) - np.searchsorted(own, own), np.ones(len(off), "i8")
    for times in range(2, _TURNS + 1):
        left = np.bincount(own, np.abs(took - medians(own * times + turn % times, took)[0]), len(off))
        enough = np.bincount(own, minlength=len(off)) >= LEAST * times
        period[(period == 1) & enough & (2 * left <= off)] = times
    which = np.zeros(len(kind), "i8")
    which[rows] = turn % period[own]
    return Numbers().number(kind, which)


def _quick(weighted: Weighted) -> Weighted:
    """Return a weighted graph without what calls that communicate work beyond what the model says, where that is as much again and more."""
    trace, graph = weighted.trace, weighted.graph
    left, explained = rest(weighted, lags(trace, graph, weighted.model)), work(trace, weighted.model)
    more = np.where(operations.TALKS[trace.calls.op] & (explained > 0) & (left > 2 * explained), left - explained, 0)
    owner: I8 = np.repeat(graph.returning, np.diff(graph.start))
    edge = np.flatnonzero((owner != NONE) & (weighted.weight != CUT) & (graph.kind != GAP))
    weight = weighted.weight.copy()
    weight[edge] -= more[owner[edge]]
    return dataclasses.replace(weighted, weight=weight)
