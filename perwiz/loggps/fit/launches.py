"""How long a stream takes to begin what it is given: behind its launch where it idles by then, behind what it does where that is queued.

Both show in each begin of a kernel, and one of them bound it:

    host    |launch|                      |launch|
    stream      ......|== kernel ==|..........lag...|== kernel ==|      idle: what binds is the launch, and its lag
    host    |launch|launch|
    stream      ......|== kernel ==|gap|== kernel ==|                   queued: what binds is the kernel before, and the gap

So a launch that comes earlier lets its kernel begin earlier, down to the gap that the stream leaves between kernels that are queued.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.graph.graph import ORDER, START, Graph
from perwiz.trace import operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import EVENT, LAUNCH
from perwiz.trace.trace import Timeline, Trace

_IDLE, _LAUNCH = operations.OP["device_idle"], operations.OP["device_launch"]
_GAP = 900
"""ns between two kernels that are queued, where no kernel was: 3.8 us from one of 2.9 us to the next (A. Gray, Getting started with CUDA
Graphs, NVIDIA 2019)."""
_MOST = 2 * _GAP
"""ns up to which that gap may be another one: what other devices take is assumed, no recording without queued kernels tells it."""
_NEVER = np.int64(1 << 61)
_QUEUED = 2
"""So many times the usual lag before the kernel ahead of it has ended, something launched is queued."""


@dataclasses.dataclass(frozen=True)
class Begins:
    """What was launched on streams, in order of the edges from launches."""

    lag: I8
    """ns from its launch to its begin."""
    idle: I8
    """ns from the end of what the stream did before to its begin."""
    usual_lag: I8
    """That of the same process behind launches on idle streams, the median; the least of all, if there are none."""
    usual_gap: I8
    """That of the same process of what was queued, the median; if nothing was, the least of all, up to _GAP and its usual lag."""
    guessed: Mask
    """Whether nothing of that process was queued, so that its usual gap is a guess."""
    most_gap: I8
    """The longest that it may then be: the least of all, up to _MOST and its usual lag."""
    late: Mask
    """Whether its launch bound it, and not what the stream did before, or waited for on another one: that idled by then, or it
    is less beyond the usual lag than beyond the usual gap.
    """

    def take(self, rows: Mask) -> Begins:
        """Return some of it."""
        return Begins(*(getattr(self, field.name)[rows] for field in dataclasses.fields(self)))


def bind(trace: Trace, timeline: Timeline, graph: Graph, weight: I8) -> None:
    """Let launches, and what a stream does, bind begins by their lags and gaps: changes the weights of a recorded run, ns per edge, in
    place. A sweep gives back the same times. Where launches are not recorded, as in tables of operations, nothing tells what they take.
    """
    edge, found = _late(graph, trace, timeline)
    if not len(edge):
        return
    links, gap = trace.links, np.full(len(trace.calls), np.iinfo("i8").max)
    effect = links.effect[graph.cause[edge]]
    weight[edge] = found.lag
    weight[graph.start[graph.returned[effect]]] = np.minimum(found.idle, found.usual_gap)
    gap[effect] = found.usual_gap
    awaited = np.flatnonzero(graph.kind == ORDER)
    weight[awaited] = np.minimum(weight[awaited], gap[links.effect[graph.cause[awaited]]])


def guesses(trace: Trace, graph: Graph) -> bool:
    """Return whether a gap is a guess: nothing was queued on the streams of a process, and a launch bound something."""
    return trace.share.any(_late(graph, trace, trace.timeline)[1].guessed.any())


def rebind(trace: Trace, timeline: Timeline, graph: Graph, weight: I8, longest: bool) -> None:
    """Let gaps that are guesses be as long as they may be, or nothing: changes weights that `bind` left, ns per edge, in place. What has
    another weight by now stays.
    """
    edge, found = _late(graph, trace, timeline)
    rows = np.flatnonzero(found.guessed)
    effect = trace.links.effect[graph.cause[edge[rows]]]
    before, now = (np.full(len(trace.calls), _NEVER) for _ in range(2))
    before[effect], now[effect] = found.usual_gap[rows], found.most_gap[rows] * longest
    ordered = np.flatnonzero(graph.kind == ORDER)
    edges = np.concatenate((graph.start[graph.returned[effect]], ordered))
    of = np.concatenate((effect, trace.links.effect[graph.cause[ordered]]))
    guess = (weight[edges] == before[of]) & (before[of] != _NEVER)
    weight[edges[guess]] = now[of[guess]]


@remembered(1)
def _late(graph: Graph, trace: Trace, timeline: Timeline) -> tuple[I8, Begins]:
    """Return the edges from launches that bound what they launched, and what that is: found once for all models of a run."""
    edge = _edges(trace, graph)
    found = begins(trace, timeline, graph.cause[edge])
    return edge[found.late], found.take(found.late)


def _edges(trace: Trace, graph: Graph) -> I8:
    """Return the edges from launches to what they begin on a stream."""
    links = trace.links
    launches = (links.kind == LAUNCH) & (trace.calls.op[links.cause] == _LAUNCH) & (trace.calls.op[links.effect] == _IDLE)
    edge = np.flatnonzero(graph.kind == START) if launches.any() else np.zeros(0, "i8")
    return edge[launches[graph.cause[edge]]]


def begins(trace: Trace, timeline: Timeline, launches: Ints) -> Begins:
    """Return when streams began what was launched, given the rows of these links."""
    links, times = trace.links, timeline.calls
    cause, effect = links.cause[launches], links.effect[launches]
    launched, before, begin = times.enter[cause], times.enter[effect], times.leave[effect]
    awaited = times.enter.copy()
    events = np.flatnonzero(links.kind == EVENT)
    np.maximum.at(awaited, links.effect[events], times.enter[links.cause[events]])
    ready = awaited[effect]
    lag, gap = begin - launched, begin - ready
    told = (lag >= 0) & (gap >= 0)
    process, idle = trace.locations.process[trace.calls.location[effect]], told & (launched >= ready)
    usual_lag = _usual(process, lag, idle, np.where(told, lag, _NEVER))
    queued = told & (launched + _QUEUED * usual_lag <= before)
    least = np.where(told, np.minimum(gap, usual_lag), _NEVER)
    usual_gap, guessed = _usual(process, gap, queued, least), ~np.isin(process, process[queued])
    most_gap = np.where(guessed, np.minimum(usual_gap, _MOST), usual_gap)
    usual_gap = np.where(guessed, np.minimum(usual_gap, _GAP), usual_gap)
    late = idle | (told & (gap - usual_gap > lag - usual_lag))
    return Begins(lag, begin - before, usual_lag, usual_gap, guessed, most_gap, late)


def _usual(group: I4, value: I8, chosen: Mask, other: I8) -> I8:
    """Return per row the median of the values of its group, from 0 on, that are chosen, of one without any the least of its `other` values.

    group 0 0 0 1 1   value 3 9 5 8 6   chosen 1 0 1 0 0   other 3 9 5 4 6   out 4 4 4 4 4
    """
    out = np.full(int(group.max(initial=-1)) + 1, _NEVER)
    np.minimum.at(out, group, other)
    rows = np.flatnonzero(chosen)
    short = group[rows].astype(np.min_scalar_type(len(out)))  # of which numpy sorts one or two bytes by counting
    order = np.argsort(short, kind="stable")
    rows, bounds = rows[order], np.searchsorted(short[order], np.arange(len(out) + 1))
    for one in np.flatnonzero(np.diff(bounds)).tolist():
        out[one] = np.median(value[rows[bounds[one] : bounds[one + 1]]])
    return out[group]
