"""What a change gains where processes shared processors in the recorded run and would each have one of their own.

Who waits for a processor computes longer, and a call that polls for a message comes back to it late. That stays as recorded in every
prediction, though it is neither the program's nor the network's: it hides what a change gains, or makes up a gain.

    0 |--5--| Send             |--5--| Send
    1 |--9--------| Recv |wait for the processor: 4|      5 and 9 balanced, 7 each: 1 is held those 4 all the same

So the same is asked once more of the recorded run without it: computation that repeats takes as long as it usually does on its process,
the median of its kind, and what messages take beyond twice what the model says is gone. How much less time the changed run takes than the
unchanged one there is what the change gains among processes that do not disturb each other, as far as what repeats tells.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import GAP
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import I8, medians
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import SHARED
from perwiz.whatif.hypotheses.stretch import Segments
from perwiz.whatif.run import Run
from perwiz.whatif.sure.doubts import Doubts
from perwiz.whatif.sure.parts import LEAST
from perwiz.whatif.sure.repeating import same_computation
from perwiz.whatif.sure.variations import weighed


def alone(run: Run, doubts: Doubts) -> Weighted | None:
    """Return the recorded run, whose weights are read without, as if each process had a processor of its own; None if each had."""
    if SHARED not in run.trace.properties:
        return None
    return _quick(_usual(weighed(run, run.machine.model)), doubts)


def _usual(weighted: Weighted) -> Weighted:
    """Return a weighted graph in which computation that repeats takes the median of its kind; regions divide it alike."""
    segments = Segments(weighted)
    place = np.arange(len(segments.gap)) - np.searchsorted(segments.gap, segments.gap)
    kind = Numbers().number(Numbers().number(same_computation(weighted.trace)[segments.gap], place), segments.path)
    median, count = medians(kind, segments.length)
    return segments.stretched(weighted, np.where(count >= LEAST, np.rint(median).astype("i8"), segments.length))


def _quick(weighted: Weighted, doubts: Doubts) -> Weighted:
    """Return a weighted graph without what messages took beyond what the model explains, where that was more than twice as long."""
    graph, slow = weighted.graph, doubts.wrong.get("slow")
    if slow is None:
        return weighted
    owner: I8 = np.repeat(graph.returning, np.diff(graph.start))
    edge = np.flatnonzero((owner != NONE) & (weighted.weight != CUT) & (graph.kind != GAP))
    weight = weighted.weight.copy()
    weight[edge] -= slow[owner[edge]]
    return dataclasses.replace(weighted, weight=weight)
