"""How much computation that repeats differs from one time to the next, and what that adds up to along the critical path of a run.

Computation between calls of the same two kinds on one process is the same code. Each time it takes another time: by chance, by other
programs on the machine, or because it has other things to do. Another run draws anew; along a path of many such draws their variances
add up.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import critical_path
from perwiz.graph.graph import Graph
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import F8, I8
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.order.reorder import Reordered

LEAST = 3
"""Repetitions that computation needs to tell how much it varies."""
_DEVIATIONS = 2
"""Standard deviations of noise on each side of a time."""


@dataclasses.dataclass(frozen=True, eq=False)
class Noise:
    """The computation of a recorded run, between one call and the next of a process: row `call + location`, then its last."""

    length: I8
    """ns."""
    variance: F8
    """Of the same computation, each time it is done, ns squared. What repeats less than LEAST times varies by as large a part of its
    length as what repeats; what is longer, as several of those."""
    relative: float | None
    """Standard deviation as part of the length, over all computation that repeats; None if none does."""

    def along_path(self, weighted: Weighted, time: I8) -> int:
        """Return two standard deviations, ns, of the makespan of this program under hypotheses: of the computation on one critical path.

        `time` is what `sweep` returns. Computation that a hypothesis makes longer or shorter varies in proportion.
        """
        graph = weighted.graph
        edge = critical_path(graph, weighted.weight, time)
        row = _rows(weighted, graph)[graph.targets(edge)]
        edge, row = edge[row != NONE], row[row != NONE]
        length = self.length[row]
        scale = np.where(length > 0, weighted.weight[edge] / np.maximum(length, 1), 0.0)
        return round(_DEVIATIONS * float(np.sqrt(np.sum(self.variance[row] * scale**2))))


def noise_of(trace: Trace) -> Noise:
    """Return how much the computation of a recorded run varies.

    Two kinds of calls on one process, the first two times 10 and 14 ns apart, then 12; later 5 ns once:
    variance 4 4 4 for the three, 4 / 12**2 * 5**2 for the other. One of 100 ns would be as 100 / 12 of the three: 4 / 12**2 * 12 * 100.
    """
    length = _lengths(trace)
    group = _alike(_groups(trace), length)
    count = np.bincount(group)
    mean = np.bincount(group, length) / np.maximum(count, 1)
    squares = np.bincount(group, (length - mean[group]) ** 2)
    repeats = (count >= LEAST) & (mean > 0)
    weight = float(np.sum((count - 1)[repeats] * mean[repeats] ** 2))
    if not weight:
        return Noise(length, np.zeros(len(length)), None)
    relative = float(np.sum(squares[repeats])) / weight
    usual = float(np.sum((count * mean**2)[repeats]) / np.sum((count * mean)[repeats]))
    own = (squares / np.maximum(count - 1, 1))[group]
    return Noise(length, np.where(repeats[group], own, relative * length * np.minimum(length, usual)), relative**0.5)


def _alike(group: I8, length: I8) -> I8:
    """Return groups split where one takes a multiple of the other: then it has more to do. Steps of a factor 2 around the geometric mean.

    lengths 10 14 12 of one group stay together, of 10 14 12 200 the last is on its own.
    """
    log = np.log2(np.maximum(length, 1))
    mean = np.bincount(group, log) / np.maximum(np.bincount(group), 1)
    return Numbers().number(group, np.rint(log - mean[group]).astype("i8")).astype("i8")


def _lengths(trace: Trace) -> I8:
    """Return the time up to each call, and behind the last of each location, ns."""
    times, first = trace.timeline, trace.first_calls
    row, last = np.arange(len(trace.calls)) + trace.calls.location, first[1:] + np.arange(len(trace.locations))
    out = np.zeros(len(trace.calls) + len(trace.locations), "i8")
    out[row], out[last] = times.calls.enter, times.locations.leave
    before = np.zeros(len(out), "i8")
    before[row + 1] = times.calls.leave
    before[first[:-1] + np.arange(len(trace.locations))] = times.locations.enter
    return out - before


def _groups(trace: Trace) -> I8:
    """Return which computation is the same, a number per computation: on one location, between calls of one routine, place and partner."""
    calls, size = trace.calls, len(trace.calls) + len(trace.locations)
    site = trace.site if len(trace.site) else np.full(len(calls), NONE, "i4")
    numbers = Numbers()
    kind = numbers.number(calls.op + (calls.path.astype("i8") + 1 << 16), (calls.peer.astype("i8") + 2 << 32) + site.astype("i8") + 1)
    here = np.arange(len(calls)) + calls.location
    until, since = np.zeros((2, size), "i8")
    until[here] = since[here + 1] = kind + 1
    first = trace.first_calls[:-1] + np.arange(len(trace.locations))
    since[first] = 0
    location = np.repeat(np.arange(len(trace.locations)), np.diff(trace.first_calls) + 1)
    return Numbers().number(location, since * (numbers.count + 1) + until).astype("i8")


def _rows(weighted: Weighted, graph: Graph) -> I8:
    """Return, per vertex, the computation of the recorded run that its first edge holds, NONE if that holds none."""
    calls, first = weighted.trace.calls.location, weighted.trace.first_calls
    recorded = np.argsort(weighted.call) if isinstance(weighted, Reordered) else np.arange(len(calls))
    out = np.full(graph.vertices, NONE, "i8")
    out[graph.entered] = recorded + calls
    out[graph.ended] = first[1:] + np.arange(len(graph.ended))
    return out
