"""What comes between a launch and what it launches: how long an idle stream takes to begin it.

    host      launch at 10
    stream    ..... 8 | idle | 16 kernel         launched while the stream idles: it takes 6 to come there

Between two kernels of a stream whose queue is never empty lies 1, what the stream itself needs and the least between any two: were the
kernel above launched sooner, it would begin at 9. What began it later than that was the launch, which takes 5.
"""

from __future__ import annotations

import numpy as np

from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import EVENT, LAUNCH
from perwiz.trace.trace import Trace

_LAUNCH = operations.OP["device_launch"]


@remembered(1)
def delays(trace: Trace) -> I8:
    """Return how long what each recorded launch begins is under way to an idle stream, int64 ns per link; 0 of other links.

    Of what is launched while nothing else holds it up, all that is recorded, without what usually (median) lies between what the stream had
    been told to do before; of what is launched earlier and begins later than usual behind what held it up, what is usual of the former.
    """
    links, times, out = trace.links, trace.timeline.calls, np.zeros(len(trace.links), "i8")
    row = np.flatnonzero((links.kind == LAUNCH) & (trace.calls.op[links.cause] == _LAUNCH))
    if not len(row):
        return out
    begun = times.leave[links.effect]
    due = times.enter.copy()
    event = np.flatnonzero(links.kind == EVENT)
    np.maximum.at(due, links.effect[event], times.enter[links.cause[event]])
    launched, due = times.enter[links.cause[row]], due[links.effect[row]]
    idles = (launched >= due) & (launched <= begun[row])
    stream = trace.calls.location[links.effect[row]]
    apart = begun[row] - due
    gap = _usual(stream, apart, ~idles & (apart >= 0))
    took = np.maximum(begun[row] - launched - gap, 0)
    out[row] = np.where(idles, took, np.where(apart > gap, _usual(stream, took, idles), 0))
    return out


def _usual(stream: I4, value: I8, of: Mask) -> I8:
    """Return per row the median of these values on its stream, of two the less; of one without any that of all, 0 if there is none at all.

    stream 1 1 1 2 3    value 4 6 9 5 8, all but the last    out 6 6 6 5 5
    """
    row = np.flatnonzero(of)
    if not len(row):
        return np.zeros(len(value), "i8")
    by_stream = row[np.lexsort((value[row], stream[row]))]
    first = np.flatnonzero(np.diff(stream[by_stream], prepend=-1))
    middle = first + (np.diff(first, append=len(row)) - 1) // 2
    medians = np.full(int(stream.max()) + 1, np.sort(value[row])[(len(row) - 1) // 2])
    medians[stream[by_stream[first]]] = value[by_stream[middle]]
    return medians[stream]
