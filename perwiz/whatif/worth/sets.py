"""What each set of calls is worth, exactly: all calls of a site, a region, a step, ... without their waits or without any time.

    rank_sets(run, family, question) -> Sets                          of one family of `perwiz.whatif.worth.families.FAMILIES`
    makespans(weighted, time, Family, question) -> int64 per set      of any weighted graph and sets, under hypotheses too

Each set costs one sweep from its first to its last call; `LANES` of them go through the graph at once. What lies before and behind is
known from one forward and one backward sweep, as for `perwiz.whatif.worth.singles`. A set that touches no critical path costs nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from perwiz.engines.sweep import critical_path, makespan, to_end
from perwiz.graph.graph import GAP, LOCAL
from perwiz.graph.slots import last_uses, rounds, slots
from perwiz.kernels import sets as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.spread.share import Part, Share
from perwiz.whatif.run import Run, in_rounds
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.families import family as family_of
from perwiz.whatif.worth.singles import avoiding
from perwiz.whatif.worth.worth import check_question

LANES = 16
"""Sets swept at once: of 8, 16 and 31 the fastest, or as fast."""
_BITS = 31
"""Sets swept at once by several processes, of which each round takes its time: as many as a number of 32 bits tells."""
_KERNELS = {"zero-wait": kernel.sweep_zero_wait, "zero-time": kernel.sweep_zero_time}
EVERY = slice(None)
"""All sets."""
_LISTED = 8
"""Calls that are named one by one where a set has no text of its own."""
_SIMILAR = 3
"""Windows go together whose widths have the same power of 2**_SIMILAR."""
_ROOM = 1 << 26
"""Bytes that times may take in any case; in large graphs 24 per vertex."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sets:
    """What sets of calls are worth under one question; sets without calls are left out. ns."""

    family: str
    question: str
    now: int
    """Makespan as it is."""
    calls: I8
    """Number of calls per set, int64, of all processes."""
    waiting: I8
    """How long the calls of each set wait now, all together, int64."""
    makespan: I8
    """Per set, int64: if its calls did not wait, or took no time."""
    sets: Family
    """All sets, also those without calls."""
    row: I8
    """Per set, its row among all, int64."""
    share: Share

    def names(self, some: I8 | slice = EVERY) -> tuple[str, ...]:
        """Return what a person calls some of the sets."""
        return tuple(self.sets.names[row] for row in self.row[some].tolist())

    def hypotheses(self, some: I8 | slice = EVERY) -> tuple[str | None, ...]:
        """Return the text of the hypothesis that is about exactly the calls of each of some sets, `zero-wait op:MPI_Recv`; None if there
        is no short one.
        """
        texts = [self.sets.selectors[row] for row in self.row[some].tolist()]
        few = [text is None and calls <= _LISTED for text, calls in zip(texts, self.calls[some].tolist(), strict=True)]
        listed = _listed(self.sets, self.row[some][few], self.share)
        asked = (next(listed) if one else text for one, text in zip(few, texts, strict=True))
        return tuple(None if text is None else f"{self.question} {text}" for text in asked)

    def order(self) -> I8:
        """Return the sets from the one that pays most; those that pay the same by their waiting, then in the order of the family."""
        return np.lexsort((-self.waiting, self.makespan))


def rank_sets(
    run: Run,
    family: str,
    question: str = "zero-wait",
    prune: bool = True,
    tell: Callable[[int, int], object] | None = None,
    most: int = 0,
) -> Sets:
    """Return the makespans of a run if the calls of a set did not wait ("zero-wait") or took no time ("zero-time"), for every set.

    Without `prune` sets that cannot change anything are swept too. With `most` only so many are, those whose calls wait longest, or take
    longest; the others have the makespan of the run. `tell` is told, after each sweep, how many sets of how many are done.
    Raises UsageError for an unknown family or question.
    """
    run = in_rounds(run)
    sets, share = family_of(run, family), run.trace.share
    calls = share.reduced(sets.sums(np.ones(len(run.trace.calls), "i8")), "sum")
    kept = np.flatnonzero(calls)
    times = run.trace.timeline.calls
    weight = run.waits.time if check_question(question) == "zero-wait" else times.leave - times.enter
    after = makespans(run.weighted, run.time, sets, question, prune, tell, most, weight)
    return Sets(
        family=family,
        question=question,
        now=run.makespan,
        calls=calls[kept],
        waiting=share.reduced(sets.sums(run.waits.time), "sum")[kept],
        makespan=after[kept],
        sets=sets,
        row=kept,
        share=share,
    )


def _listed(sets: Family, rows: I8, share: Share) -> Iterator[str]:
    """Yield the numbers of the calls of some sets, `e3,e12`."""
    if not len(rows):
        return
    by_class = np.argsort(sets.class_of, kind="stable")
    classes = sets.class_of[by_class]
    for row in rows.tolist():
        member = sets.member[slice(*np.searchsorted(sets.row, [row, row + 1]))]
        calls = [by_class[:0], *(by_class[slice(*np.searchsorted(classes, [c, c + 1]))] for c in member)]
        yield ",".join(f"e{number}" for number in np.sort(share.rows(share.named(np.concatenate(calls)))))


def makespans(
    weighted: Weighted,
    time: I8,
    sets: Family,
    question: str,
    prune: bool = True,
    tell: Callable[[int, int], object] | None = None,
    most: int = 0,
    weight: I8 | None = None,
) -> I8:
    """Return the makespan, int64 ns, if the calls of a set did not wait or took no time, for every set; `time` is what `sweep` returns.

    With `most` only so many sets are swept, those of the largest sums of `weight`, int64 per call. No call may take less than no time, as
    for `perwiz.whatif.worth.singles`.
    """
    graph, share = weighted.graph, weighted.trace.share
    out = np.full(len(sets.names), makespan(graph, time, share), "i8")
    asked = np.flatnonzero(_touched(weighted, time, sets, question)) if prune else np.arange(len(out))
    if weight is not None and 0 < most < len(asked):
        asked = np.sort(asked[np.argsort(-share.reduced(sets.sums(weight), "sum")[asked], kind="stable")[:most]])
    if isinstance(share, Part):
        for batch, made in _by_all(weighted, time, sets, asked, question, tell):
            out[batch] = made
    elif len(asked) and len(graph.ended):
        begun = int(time[graph.begun].min())
        done = 0
        for batch, ends in _Sweeps(weighted, time, sets, question, min(LANES, len(asked))).over(asked):
            out[batch] = ends - begun
            done += len(batch)
            if tell is not None:
                tell(done, len(asked))
    return out


def _by_all(
    weighted: Weighted, time: I8, sets: Family, asked: I8, question: str, tell: Callable[[int, int], object] | None
) -> Iterator[tuple[I8, I8]]:
    """Yield (some of these sets, the makespan with each, int64 ns) until all had their turn, swept by several processes together."""
    graph, share, where, known = weighted.graph, weighted.trace.share, slots(weighted.graph), rounds(weighted.graph)
    begun = share.least(int(time[graph.begun[share.locations]].min(initial=np.iinfo("i8").max)))
    group, ended = np.zeros(graph.vertices, "i4"), where.row[graph.ended[share.locations]]
    group[graph.returned] = sets.class_of + 1
    bounds = np.searchsorted(sets.row, np.arange(len(sets.names) + 1))
    for head in range(0, len(asked), _BITS):
        batch = asked[head : head + _BITS]
        bits, times = _bits(sets, bounds, batch), np.zeros((where.rows, len(batch)), "i8")

        def through(first: int, end: int, bits: I4 = bits, times: I8 = times) -> None:
            lanes = bits[group[first:end]]
            _KERNELS[question](graph.start, graph.source, graph.kind, weighted.weight, where.row, first, lanes, times)

        known.border.forward(through, times)
        yield batch, share.reduced(times[ended].max(axis=0, initial=0), "max") - begun
        if tell is not None:
            tell(head + len(batch), len(asked))


def _bits(sets: Family, bounds: I8, batch: I8) -> I4:
    """Return the lanes, as bits, in which each class is changed, int32, given where the members of each set begin; the first place is that
    of calls of no class.
    """
    out = np.zeros(sets.classes + 1, "i4")
    for lane, k in enumerate(batch.tolist()):
        out[sets.member[bounds[k] : bounds[k + 1]] + 1] |= 1 << lane
    return out


class _Sweeps:
    """Sweeps of a graph with the calls of sets changed, each only over the window from the first to the last vertex of some sets."""

    def __init__(self, weighted: Weighted, time: I8, sets: Family, question: str, lanes: int) -> None:
        graph = weighted.graph
        self._weighted, self._time, self._sets, self._kernel = weighted, time, sets, _KERNELS[question]
        self._left = to_end(graph, weighted.weight)
        self._row = np.searchsorted(sets.row, np.arange(len(sets.names) + 1))
        self._group = np.zeros(graph.vertices, "i4")
        self._group[graph.returned] = sets.class_of + 1
        where = slots(graph)
        self._slot, self._last = where.row, last_uses(graph)
        room = max(_ROOM, 24 * graph.vertices) // (8 * where.rows)
        self._times = np.empty((where.rows, max(1, min(lanes, room))), "i8")

    def over(self, asked: I8) -> Iterator[tuple[I8, I8]]:
        """Yield (some of these sets, the latest end of each, int64 ns) until all had their turn; those of similar width go together.

        By windows 2 to 9, 0 to 50, 1 to 8 of sets 4 5 6 and two lanes: first sets 6 4 in the window 1 to 9, then set 5 in its own.
        """
        first, end = self._windows(asked)
        level = np.log2(np.maximum(end - first, 1)).astype("i8") // _SIMILAR
        for width in np.unique(level):
            similar = np.flatnonzero(level == width)
            similar = similar[np.argsort(first[similar], kind="stable")]
            heads = np.arange(0, len(similar), self._times.shape[1])
            begins = first[similar[heads]].astype("i4")
            ends = np.maximum.accumulate(np.maximum.reduceat(end[similar], heads)).astype("i4")
            around = avoiding(self._weighted.graph, self._weighted.weight, self._time, self._left, begins, ends)
            for head, begin, stop, best in zip(heads, begins.tolist(), ends.tolist(), around.tolist(), strict=True):
                batch = asked[similar[head : head + self._times.shape[1]]]
                yield batch, self._swept(batch, begin, stop, best)[: len(batch)]

    def _windows(self, asked: I8) -> tuple[I8, I8]:
        """Return the first vertex of each set, and the one behind its last; of a set without calls the last of the graph."""
        last = self._weighted.graph.vertices - 1
        vertex, places = np.arange(last + 1, dtype="i4"), self._sets.classes + 1
        first_of, last_of = np.full(places, last, "i4"), np.zeros(places, "i4")
        first_of[self._group[::-1]] = vertex[::-1]  # of several vertices the last one written stays
        last_of[self._group] = vertex
        count = self._row[asked + 1] - self._row[asked]
        heads = np.cumsum(count) - count
        group = self._sets.member[np.arange(count.sum()) + np.repeat(self._row[asked] - heads, count)] + 1
        first, end = np.full(len(asked), last), np.zeros(len(asked), "i8")
        some = count > 0
        if len(group):
            first[some] = np.minimum.reduceat(first_of[group], heads[some])
            end[some] = np.maximum.reduceat(last_of[group], heads[some])
        return first, np.maximum(end, first) + 1

    def _swept(self, batch: I8, first: int, end: int, best: int) -> I8:
        """Return the latest end with each set of a batch changed, int64 ns per lane; `best` is that of what avoids the window."""
        graph, weight, slot, times = self._weighted.graph, self._weighted.weight, self._slot, self._times
        lanes = _bits(self._sets, self._row, batch)[self._group[first:end]]
        kernel.load_times(graph.start, graph.source, slot, self._time, first, end, times)
        self._kernel(graph.start, graph.source, graph.kind, weight, slot, first, lanes, times)
        ended = graph.ended[(graph.ended >= first) & (graph.ended < end)]
        out = np.maximum(times[slot[ended]].max(0, initial=best), best)
        last = int(self._last[first:end].max())
        kernel.leave_window(graph.start, graph.source, weight, slot, self._left, first, end, last, times, out)
        return out


def _touched(weighted: Weighted, time: I8, sets: Family, question: str) -> Mask:
    """Return which sets take something from one critical path; it stays as long as it is under all others."""
    graph = weighted.graph
    path = critical_path(graph, weighted.weight, time)
    vertex = graph.targets(path)
    own = path == graph.start[vertex]
    if question == "zero-wait":
        taken = ~own & (graph.kind[path] < GAP)
    else:
        taken = np.where(own, weighted.weight[path] != 0, graph.kind[path] != LOCAL)
    call = np.full(graph.vertices, -1, "i4")
    call[graph.returned] = sets.class_of
    hit = np.zeros(sets.classes + 1, bool)
    hit[call[vertex[taken]]] = True
    hit[-1] = False
    out = np.zeros(len(sets.names), bool)
    out[sets.row[hit[sets.member]]] = True
    return weighted.trace.share.reduced(out.astype("i8"), "max") > 0
