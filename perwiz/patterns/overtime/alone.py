"""What parts of a run would take on an ideal network, each replayed alone, from how its processes came into it.

A process begins a part when it did, with what is left of the computation or the call it was in; what comes from another part comes when
it did. So no process is in a part for longer than it was, and none for less than it computes there, however far ahead of each other they
would be on an ideal network by then. Of a call that waits nothing is done before it returns.

    recorded   0  --40--|=wait=|--20--      a part from | to the end: rank 1 begins it with 60 of 100 left, rank 0 in a call that waits
               1  --------100--------|      for rank 1: on an ideal network it takes 60 + 20
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from perwiz.graph.graph import hubs
from perwiz.kernels import sweep as kernel
from perwiz.loggps.weigh import CUT
from perwiz.patterns.analysis.efficiency import ideal
from perwiz.patterns.overtime.split import chained, moved
from perwiz.trace.arrays import F8, I4, I8, before, places
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

Span = tuple[int, int]
"""Some neighbours as one: the first part, and behind the last."""


class Alone:
    """The ideal times of parts with some cuts, int64 ns by part and location, and of neighbours as one."""

    def __init__(self, run: Run, cuts: I8) -> None:
        graph, trace, held = run.graph, run.trace, run.time
        self._run, self._graph, self._held = run, graph, held
        self.cuts = moved(trace, cuts, held[graph.entered], held[graph.returned], held[graph.begun], held[graph.ended])
        """When parts begin in the replay of the recorded run, which may be off it."""
        self._known = dict[Span, F8]()
        parts, count = len(cuts) - 1, len(trace.locations)
        bounds, chain = chained(trace, graph.entered, graph.returned, graph.begun, graph.ended)
        self._chain = chain.astype("i4")
        """Vertices of locations, each in its order."""
        part = _parts(trace, cuts, bounds).astype("i8")
        self._first = bounds[:-1] + before(part, bounds, np.repeat(np.arange(parts + 1)[:, None], count, axis=1))
        """In the chain: the first vertex behind each cut, or what is behind the location's last."""
        of = np.full(graph.vertices, -1, "i8")
        of[self._chain] = part
        kernel.time_hubs(graph.start, graph.source, np.zeros(graph.edges, "i8"), hubs(graph), of)
        self._part = of.astype("i4")
        """Of each vertex: -1 before all, as many as there are behind; of a collective's that of its latest member."""
        crossed = (self._first > bounds[:-1]) & (self._first < bounds[1:])
        last, following = (self._chain[np.where(crossed, self._first - less, 0)] for less in (1, 0))
        self._edge = np.where(crossed, graph.start[following], -1)
        """The edge of a location over each cut, -1 of none."""
        share = (held[following] - self.cuts) / np.maximum(held[following] - held[last], 1)
        weight = np.where(crossed, ideal(run)[self._edge], 0)
        self._left = weight * np.clip(share, 0, 1)
        """How much of it is left at the cut, ns."""
        self._done = weight - self._left

    def spans(self, spans: Iterable[Span]) -> None:
        """Replay spans that are to be asked for, as many at once as do not overlap."""
        rest = sorted({*spans} - self._known.keys(), key=lambda span: (span[1], span[0]))
        while rest:
            chosen, later, end = list[Span](), list[Span](), 0
            for span in rest:
                if span[0] >= end:
                    chosen.append(span)
                    end = span[1]
                else:
                    later.append(span)
            first, behind = np.array(chosen).T
            reached = self._reached(self._replayed(chosen), first, behind)
            self._known |= dict(zip(chosen, reached - self.cuts[first], strict=True))
            rest = later

    def span(self, first: int, end: int) -> F8:
        """Return what parts `first` to `end` - 1 take as one, float64 ns by location."""
        self.spans([(first, end)])
        return self._known[first, end]

    def each(self, first: int, end: int) -> F8:
        """Return what each of these parts takes in the replay of them as one, float64 ns by part and location.

        It may take longer than it did there, where a wait moves into it.
        """
        inner = np.arange(first + 1, end + 1)
        reached = self._reached(self._replayed([(first, end)]), np.full(len(inner), first), inner)
        return np.diff(np.concatenate((self.cuts[[first]], reached)), axis=0)

    def _replayed(self, spans: list[Span]) -> I8:
        """Return when each vertex of spans that do not overlap is reached, ns; of others nothing that counts."""
        number = np.full(len(self.cuts) + 1, -1, "i8")
        for k, (first, end) in enumerate(spans):
            number[first:end] = k
        of, weight, time = number[self._part], ideal(self._run), np.zeros(self._graph.vertices, "i8")
        for k, (first, _) in enumerate(spans):
            edge = self._edge[first]
            row = np.flatnonzero(edge >= 0)
            vertex = self._chain[self._first[first, row]]
            inside = of[vertex] == k
            row, vertex = row[inside], vertex[inside]
            time[vertex] = np.rint(self.cuts[first, row] + self._left[first, row])
            weight[edge[row]] = CUT
        kernel.sweep_parts(self._graph.start, self._graph.source, weight, of, self._held, 0, self._graph.vertices, time)
        return time

    def _reached(self, time: I8, first: I8, cut: I8) -> F8:
        """Return when locations come to some cuts, each in a span that begins with a part, float64 ns by cut and location."""
        inside = self._first[cut] > self._first[first]
        vertex = self._chain[np.where(inside, self._first[cut] - 1, 0)]
        return np.where(inside, time[vertex], self.cuts[first] - self._done[first]) + self._done[cut]


def _parts(trace: Trace, cuts: I8, bounds: I8) -> I4:
    """Return the part that each vertex of a location is in, -1 before all, as many as there are behind, in the order of the chain: what
    returns at a cut is before it, what is entered there behind it.
    """
    calls, ends, parts = trace.timeline.calls, trace.timeline.locations, len(cuts) - 1
    when = chained(trace, calls.enter, calls.leave, ends.enter, ends.leave)[1]
    out, earlier = (places(before(when, bounds, cuts, at), bounds) for at in (False, True))
    out -= 1
    earlier -= 1
    for first, end, within in zip(bounds[:-1].tolist(), bounds[1:].tolist(), (ends.leave <= cuts[-1]).tolist(), strict=True):
        own = out[first:end]
        own[2::2], own[-1] = earlier[first + 2 : end : 2], earlier[end - 1]
        np.maximum.accumulate(own, out=own)
        if within:
            np.minimum(own, parts - 1, out=own)
    return out
