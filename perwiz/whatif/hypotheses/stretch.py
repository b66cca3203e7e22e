"""Longer or shorter computation: the time between two calls, in segments between the boundaries of user regions."""

from __future__ import annotations

import copy
import dataclasses
import weakref
from functools import cached_property

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.kernels import stretch as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace import nesting
from perwiz.trace.arrays import I4, I8, Ints, Mask, chunks, shortest
from perwiz.trace.numbers import running_of
from perwiz.trace.resources import remembered
from perwiz.trace.spread.share import ALONE, Share
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors


class Segments:
    """The computation of a weighted graph in program order: one segment up to each region boundary and one up to each vertex.

    A gap is the computation between two calls of one location; `length` int64 ns per segment.
    """

    def __init__(self, weighted: Weighted) -> None:
        trace = weighted.trace
        self.trace = trace
        self.edge = edges(weighted)
        """Per gap, the edge that holds it."""
        self._graph = weighted.graph
        self.length = weighted.weight[self.edge]
        self._bounds: I4 | None = None
        self._enter, self._leave = weighted.region_enter, weighted.region_leave
        self.entered: Ints
        self.left: Ints
        self.entered, self.left = nesting.places(trace.regions, weighted.timeline.regions)
        """Per region instance, the segment that ends where it was entered, and left."""
        if len(trace.regions):
            self._cut()

    def _cut(self) -> None:
        """Cut gaps where regions begin and end."""
        regions, whole = self.trace.regions, self.length
        gap, offset = np.empty(2 * len(regions), "i4"), np.empty(2 * len(regions), "i8")
        sides = (self.entered, regions.first_call, self._enter), (self.left, regions.end_call, self._leave)
        for place, behind, distance in sides:
            for some in chunks(len(place)):
                gap[place[some]] = its = behind[some] + regions.location[some]
                offset[place[some]] = np.clip(distance[some], 0, whole[its])
        if ((gap[1:] < gap[:-1]) | ((gap[1:] == gap[:-1]) & (offset[1:] < offset[:-1]))).any():
            turn = np.lexsort((offset, gap))  # stable: of equal ones as they nest
            gap, offset, turned = gap[turn], offset[turn], np.empty(len(turn), "i4")
            turned[turn] = np.arange(len(turn), dtype="i4")
            self.entered, self.left = turned[self.entered], turned[self.left]
        self.length, self._bounds = np.empty(len(whole) + len(gap), "i8"), np.empty(len(whole) + 1, "i4")
        kernel.cut(gap, offset, whole, self._bounds, self.length)
        self.entered, self.left = (place + gap[place] for place in (self.entered, self.left))

    @property
    def bounds(self) -> I4:
        """Per gap, its first segment, and one behind the last of all."""
        return np.arange(len(self.edge) + 1, dtype="i4") if self._bounds is None else self._bounds

    @property
    def gap(self) -> I4:
        """Per segment, the gap it is of."""
        return self.of_gaps(np.arange(len(self.edge), dtype="i4"))

    @property
    def location(self) -> Ints:
        """Per segment, its location, a row, in the narrowest integers."""
        return np.repeat(shortest(np.arange(len(self.trace.locations))), np.diff(self.begins, append=len(self.length)))

    @property
    def begins(self) -> I4:
        """Per location, its first segment."""
        return self.bounds[self.trace.first_calls[:-1] + np.arange(len(self.trace.locations))]

    @property
    def location_of_gap(self) -> Ints:
        """Per gap, its location, a row, in the narrowest integers."""
        return np.repeat(shortest(np.arange(len(self.trace.locations))), np.diff(self.trace.first_calls) + 1)

    def of_gaps(self, values: Ints) -> Ints:
        """Return, per segment, what its gap has: values that are, nobody writes to them."""
        return values if self._bounds is None else np.repeat(values, np.diff(self._bounds))

    @property
    def whole(self) -> I8:
        """Per gap, what the edge that holds it weighs."""
        return self.gaps(self.length)

    def under(self, weighted: Weighted) -> Segments | None:
        """Return the segments of other weights of the same trace if they are these: the same computation; None if they are not."""
        edge = self.edge if weighted.graph is self._graph else edges(weighted)
        pairs = (weighted.weight[edge], self.whole), (weighted.region_enter, self._enter), (weighted.region_leave, self._leave)
        if weighted.trace is not self.trace or not all(one is own or np.array_equal(one, own) for one, own in pairs):
            return None
        if weighted.graph is self._graph:
            return self
        out = copy.copy(self)
        out.edge, out._graph = edge, weighted.graph
        return out

    def inside(self, instances: I8) -> tuple[I8, I8]:
        """Return (segments in these region instances, the place of each one's instance among them); of nested ones the outermost.

        Instances are rows, sorted; segments ascend.

        Instances 3 4 6 of segments 1 to 4, 2 to 3 and 7 -> segments 1 2 3 4 7, places 0 0 0 0 2.
        """
        first, end, outer = self.outermost(instances)
        place = np.repeat(np.arange(len(outer)), end - first)
        return np.arange(len(place)) + (end - np.cumsum(end - first))[place], outer[place]

    def outermost(self, instances: I8) -> tuple[I8, I8, I8]:
        """Return (first segments, those behind the last ones, places) of region instances that lie in no other of these."""
        first, end = self.entered[instances] + 1, self.left[instances] + 1
        outer = np.flatnonzero(selectors.outer_of(first, end))
        return first[outer], end[outer], outer

    def spans(self, instances: I8) -> Spans:
        """Return the segments in these region instances (rows, sorted); groups are the places of instances."""
        return Spans(*(column.astype("i4") for column in self.outermost(instances)))

    def within(self, instances: I8) -> Mask:
        """Return which segments lie in these region instances (rows, sorted), bool per segment."""
        mask = np.zeros(len(self.length), bool)
        mask[self.inside(instances)[0]] = True
        return mask

    @cached_property
    def instance(self) -> I4:
        """The innermost region instance of every segment, -1 outside of any region.

        One location, segments 0 to 4; instance 0 is entered behind segment 0 and left behind 3, instance 1 inside it behind 1 and 2 ->
        -1 0 1 0 -1.
        """
        return self._instance()

    def _instance(self) -> I4:
        regions = self.trace.regions
        bounded = np.zeros(len(self.length), bool)
        out = np.full(len(self.length), NONE, "i4")
        bounded[self.begins] = True
        for boundary, inside in ((self.entered, np.arange(len(regions), dtype="i4")), (self.left, regions.parent)):
            out[boundary + 1] = inside
            bounded[boundary + 1] = True
        last = np.where(bounded, np.arange(len(out), dtype="i4"), np.int32(0))
        return np.asarray(out[np.maximum.accumulate(last, out=last)])

    @cached_property
    def path(self) -> I4:
        """The innermost region path of every segment, -1 outside of any region."""
        if not len(self.trace.regions):
            return np.broadcast_to(np.int32(NONE), len(self.length))
        return np.append(self.trace.regions.path, np.int32(NONE))[self._instance()]

    @cached_property
    def sums(self) -> I8:
        """The lengths of all segments, added up by region path, in the last place those outside of any region; ns."""
        out = np.zeros(len(self.trace.paths) + 1, "i8")
        np.add.at(out, self.path, self.length)
        return out

    def gaps(self, length: I8) -> I8:
        """Return the weights of the edges that hold the computation, `edge`, if segments have these lengths."""
        if self._bounds is None:
            return length
        out = np.empty(len(self.edge), "i8")
        kernel.sums(self._bounds, length, out)
        return out

    def gaps_with(self, segment: I8, length: I8, changed: I8) -> I8:
        """Return the weights of the edges that hold the computation if, of segments of these lengths, some have changed ones."""
        out, gap = self._of_its_own(length), self.gap
        for some in chunks(len(segment)):
            np.add.at(out, gap[segment[some]], changed[some] - length[segment[some]])
        return out

    def levelled(self, spans: Spans, step: I8, length: I8, share: Share) -> I8:
        """Return the weights of the edges that hold the computation if groups of these segments add up to the mean of those of their step,
        as in `level`; what a span has of a gap is one part.
        """
        total, occurs, out = self.totals(spans, len(step), length), np.zeros(len(step), bool), self._of_its_own(length)
        occurs[spans.group] = True
        wanted = total.copy()
        wanted[occurs] = mean_shares(total[occurs], step[occurs], share)
        kernel.level(spans.first, spans.end, spans.group, self.bounds, length, total, wanted, out)
        return out

    def totals(self, spans: Spans, groups: int, length: I8 | None = None) -> I8:
        """Return how long the segments of each of so many groups are, ns, if all segments have these lengths, by default their own."""
        out = np.zeros(groups, "i8")
        kernel.totals(spans.first, spans.end, spans.group, self.length if length is None else length, out)
        return out

    def _of_its_own(self, length: I8) -> I8:
        """Return what `gaps` does, to be changed."""
        return length.copy() if self._bounds is None else self.gaps(length)

    def stretched(self, weighted: Weighted, length: I8) -> Weighted:
        """Return the weighted graph with other segment lengths: computation and region boundaries moved. Overwrites its weights."""
        weighted.weight[self.edge] = self.gaps(length)
        total, begins, gap = np.cumsum(length), self.bounds, self.gap

        def offset(segment: I4) -> I8:
            first = begins[gap[segment]]
            return np.asarray(total[segment] - np.where(first > 0, total[first - 1], 0))

        return dataclasses.replace(
            weighted,
            region_enter=_moved(weighted.region_enter, offset(self.entered)),
            region_leave=_moved(weighted.region_leave, offset(self.left)),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """Segments in a row, a group each: `first` to before `end`, ascending, and so are groups."""

    first: I4
    end: I4
    """Behind the last."""
    group: I4

    @classmethod
    def of(cls, chosen: Mask, divided: Ints) -> Spans:
        """Return the spans of some segments, bool per segment; each begins a new one, and another group, that is one of `divided`.

        `divided` are segments, ascending, the first of all among them; groups are places in it.

        segment  0 1 2 3 4 5    chosen  1 1 0 1 1 1    divided  0 4    ->    first 0 3 4    end 2 4 6    group 0 0 1
        """
        inner = divided[1:][chosen[divided[1:]] & chosen[divided[1:] - 1]]
        turns = np.flatnonzero(np.diff(chosen.view("i1"), prepend=0, append=0))
        first, end = (np.sort(np.append(some, inner)).astype("i4") for some in (turns[::2], turns[1::2]))
        return cls(first, end, (np.searchsorted(divided, first, "right") - 1).astype("i4"))

    def numbered(self) -> tuple[Spans, I8]:
        """Return the same with groups from 0 on that all occur, and which one each was."""
        fresh = np.diff(self.group, prepend=NONE) != 0
        return dataclasses.replace(self, group=np.cumsum(fresh, dtype="i4") - np.int32(1)), self.group[fresh].astype("i8")

    def rows(self) -> tuple[I4, I4]:
        """Return (segments, the group of each)."""
        several = self.end - self.first
        first = np.repeat(self.end - np.cumsum(several, dtype="i4"), several)
        return np.arange(len(first), dtype="i4") + first, np.repeat(self.group, several)


_KNOWN: weakref.WeakValueDictionary[int, Segments] = weakref.WeakValueDictionary()
"""The last segments of traces, as long as somebody has them."""


def segments_of(weighted: Weighted) -> Segments:
    """Return the computation of a weighted graph: what somebody has of the trace already, where that is the same, on all processes."""
    known = _KNOWN.get(id(weighted.trace))
    found = known.under(weighted) if known is not None else None
    if weighted.trace.share.any(found is None) or found is None:
        found = Segments(weighted)
        if known is None:
            _KNOWN[id(weighted.trace)] = found
    return found


def edges(weighted: Weighted) -> I4:
    """Return, per computation between two calls of one location, the edge that holds it."""
    return _edges(weighted.graph, weighted.trace)


@remembered(1)
def _edges(graph: Graph, trace: Trace) -> I4:
    calls = trace.calls.location
    vertex = np.empty(len(calls) + len(trace.locations), "i4")
    vertex[np.arange(len(calls)) + calls] = graph.entered
    vertex[trace.first_calls[1:] + np.arange(len(trace.locations))] = graph.ended
    return graph.start[vertex]


def _moved(old: Ints, new: I8) -> I8:
    """A boundary recorded before the vertex it hangs on keeps its distance."""
    return np.where(old < 0, old, new)


def shares(part: I8, group: I8, total: I8) -> I8:
    """Return `part` rescaled so that the parts of each group add up to `total[group]` exactly; rounded on the running sum.

    `group` is sorted. A group whose parts are all zero gives everything to its first part.

        part   10 20 5 5    group   0 0 1 1    total   60 8
        ->     20 40 4 4
    """
    out = np.empty(len(part), "i8")
    kernel.shares(part, np.asarray(group, "i8"), total, out)
    return out


def mean_shares(value: I8, step: I8, share: Share = ALONE) -> I8:
    """Return the mean of its step for every row, the sum of each step conserved: first rows take the remainder.

    Of parts of a run the rows of all processes count, one process behind the other.

    value   10 21 4 8    step   0 0 1 1
    ->      16 15 6 6
    """
    known, step = share.placed(step)
    own, total = np.bincount(step, minlength=len(known)), np.zeros(len(known), "i8")
    np.add.at(total, step, value)
    place = share.of_earlier(own)[step] + running_of(step, len(known))
    count, total = share.reduced(own, "sum"), share.reduced(total, "sum")
    return np.asarray(total[step] // count[step] + (place < total[step] % count[step]))


def level(part: I8, group: I8, step: I8, share: Share = ALONE) -> I8:
    """Return `part` rescaled so that the parts of each group add up to the mean of the groups of its step, the sum of each step conserved.

    `group` is sorted, and a row of `step`, of parts of a run the same on all processes; groups without a part take no part in the mean.

        part   10 20 5 5    group   0 0 1 1    step   0 0    (sums 30 and 10, mean 20)
        ->     7 13 10 10
    """
    total, occurs = np.zeros(len(step), "i8"), np.zeros(len(step), bool)
    np.add.at(total, group, part)
    occurs[group] = True
    total[occurs] = mean_shares(total[occurs], step[occurs], share)
    return shares(part, group, total)


LONGEST = "order=longest last"
"""Pieces of work that are handed out are taken in the order in which the end is latest."""


def latest(piece: I8, group: I8, part: I8, begin: I8, end: I8) -> I8:
    """Return when workers end, ns, that of each part which ends last as late as it may be if nobody knows whose pieces come first.

    `group` is the worker that had each piece, in this order, `part` that of each worker, ascending; they begin and, in some order, end so.
    Whoever is free takes the next piece. So one waits at most until all have done their share of what need not come behind it, all but the
    later ones of its worker (Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17, 1969).

    pieces 2 4 | 2 2 of two from 0 on     ends 4 6 -> 4 7: the others are done at 3, then the 4 is taken
    """
    order = np.argsort(group, kind="stable")
    added = np.cumsum(piece[order])
    behind = np.empty_like(piece)
    behind[order] = added[np.searchsorted(group[order], group[order], "right") - 1] - added
    of, workers = part[group], np.bincount(part)
    whole = np.bincount(of, piece, len(workers)) + np.bincount(part, begin)
    last = np.zeros(len(workers))
    np.maximum.at(last, of, (whole[of] - piece - behind) / workers[of] + piece)
    row = np.lexsort((-end, part))
    row = row[np.unique(part[row], return_index=True)[1]]
    out = end.copy()
    out[row] = np.maximum(end[row], np.rint(last[part[row]]).astype("i8"))
    return out
