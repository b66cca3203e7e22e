"""How much a makespan varies from run to run: what repeats in the recorded run is drawn anew, and the program swept again.

What repeats (`pieces`) takes another time each time: by chance, by other programs on the machine, or because it has other things to do.
Another run draws anew, and where many processes wait for each other, the makespan is that of the latest: what hid beside the critical path
of the recorded run may lie on that of another. A call that asks whether something has come is made until it has: that is waiting, and is
not drawn.

What happens at one time belongs together: a disturbance lasts, and while one process has the processor, others do not compute. So not
single pieces are drawn but parts of the run, of all processes at once: its whole iterations, or thirtieths of a run without any. Each takes
as much longer than usual as another, blocks of parts in a row as others in a row, counted around the end of the run to its begin (the
circular block bootstrap of Politis and Romano, 1992; how long a block is, see `parts`). Inside of a part calls of one kind stay to each
other as recorded. Thirty parts tell the variance of a sum however long the run is, if disturbances are shorter than they are (batch means:
Schmeiser, Operations Research 30, 1982).

Recorded and measured run are both such draws. So the measured makespan lies, 99 times of 100, within t * s * sqrt(2 + 1 / n) of the mean
of n drawn ones, s their standard deviation and t the quantile of Student's distribution for as many blocks as the run has: the
prediction interval for one further observation, t * s * sqrt(1 + 1 / n) (Hahn and Meeker, Statistical Intervals, 1991), and the variance
of the recorded run on top. Where what repeats differs for a reason, draws are no longer around the answer; they move the interval by its
half width at most, and it holds what lies as far around the answer, too. Recordings of one program differ by more than that: DIFFER comes
on top, in squares.

The same draw of two answers is the same other run under both: what disturbs the one disturbs the other, and falls out of how much one gains
on the other (common random numbers: Law, Simulation Modeling and Analysis, 11.2). So a gain is known better than what it leaves.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from perwiz.graph.graph import Graph
from perwiz.kernels import drawn as kernel
from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import F4, F8, I4, I8, U8, chunks
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.resources import at_once, give_back, map_threads, of_graphs, remembered, thread_count
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.run import Run
from perwiz.whatif.sure.parts import LEAST
from perwiz.whatif.sure.pieces import ANY, Varies, found_pieces, vertices
from perwiz.whatif.sure.stretches import Stretches, mixed
from perwiz.whatif.sure.swept import LANES, Sweeps, passed, through

DRAWS, FEWEST = 200, 20
"""Runs drawn; fewer, but not fewer than these, on graphs where they would pass more than EDGES edges together."""
EDGES = 730_000_000
"""A hundred runs tell a deviation to 7 %, which is small beside the 13 % to which thirty parts of one run do."""
_ROOM, _SPREAD = 1 << 19, 1 << 17
"""Rows of LANES runs: of times that a sweep keeps at most, 64 MiB, for several threads to have such room each; of times and deviations
that a process of several has for all runs that it sweeps at once, 16 MiB.
"""
STUDENT = (
    *(4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921),
    *(2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756),
)
"""Student's quantile of 99.5 % for LEAST - 1 degrees of freedom to BLOCKS - 1."""


@dataclasses.dataclass(frozen=True)
class Around:
    """How far another run may lie from an answer, ns: by what repeats in the recorded one, and by what recordings differ in."""

    sooner: int
    later: int
    runs: int = 0
    """What recordings of one program differ by to both sides, see DIFFER; chance of another kind, so they add up in squares."""

    @property
    def least(self) -> int:
        """How far before the answer another run may end, ns."""
        return round(math.hypot(self.sooner, self.runs))

    @property
    def most(self) -> int:
        """How far behind the answer another run may end, ns."""
        return round(math.hypot(self.later, self.runs))


@dataclasses.dataclass(frozen=True, eq=False)
class Noise:
    """What repeats in a recorded run: before each vertex of its graph computation, or the work in a call.

    In another run each takes `more + share * deviation` ns longer than recorded.
    """

    graph: Graph
    """Of the recorded run."""
    whole: F4
    """Per vertex, as recorded, ns."""
    stretch: I4
    """Whose deviation it has, by their `order`; behind `stretches` each of what is seldom is one; -1 of what is not drawn."""
    more: F4
    """0, as is the share, of what took no time."""
    share: F4
    stretches: Stretches
    seldom: U8
    """Per piece of what is seldom a number that stands for chance: made of when it began and ended, whatever the process is called."""
    any: F8
    """Deviations of computation that repeats, each as often as it takes time: what is seldom has one of these."""
    varies: Varies | None
    """None if nothing repeats, or no runs are drawn."""
    draws: int
    """How many are drawn at most."""
    last: I8
    """Of groups of iterations, a row each, behind a row of what is before them: the last call on each location, a row; -1 if there is none.
    As many groups as most of what is drawn is told; no rows without iterations.
    """

    def ends(self, weighted: Weighted, left: Callable[[I8], I8]) -> I8:
        """Return when the last location has done what each row of `last` ends with, ns, given what tells when calls of a graph are left."""
        calls = weighted.call[self.last] if isinstance(weighted, Reordered) else self.last
        there = np.where(self.last == NONE, 0, left(calls)) if len(weighted.trace.calls) else np.zeros_like(calls)
        return weighted.trace.share.reduced(there.max(axis=1, initial=0), "max")

    def around(self, ends: F8, answer: int, before: int) -> Around:
        """Return how far another run may lie from an answer, given the makespans drawn of the same weighted graph, and how much of it is
        `before` the last return of MPI_Init, ns, of which no range is told.
        """
        if self.varies is None or not len(ends):
            return Around(0, 0)
        wide = STUDENT[self.varies.stretches - LEAST] * float(ends.std(ddof=1)) * (2 + 1 / len(ends)) ** 0.5
        off = min(max(float(ends.mean()) - answer, -wide), wide)
        return Around(round(wide + max(-off, 0)), round(wide + max(off, 0)), round(self.differ * max(answer - before, 0)))

    @property
    def differ(self) -> float:
        """By which part another recording takes longer or less, see DIFFER: 0 where nothing repeats, or all that does repeats exactly."""
        return self.varies.differ if self.varies is not None and self.varies.relative > 0 else 0.0

    @property
    def told(self) -> Noise:
        """What is told of it, without what runs are drawn by, which takes memory."""
        graph, whole, stretch, more, share = _NOTHING
        return dataclasses.replace(self, graph=graph, whole=whole, stretch=stretch, more=more, share=share)

    def drawn(self, weighted: Weighted) -> F8:
        """Return the makespans, ns, of runs drawn of a weighted graph, the same runs of each graph; none if nothing repeats.

        What a hypothesis makes longer or shorter varies in proportion, the work in calls not more than recorded.
        """
        return self.drawn_of([weighted])[0]

    def drawn_of(self, several: Sequence[Weighted]) -> list[F8]:
        """Return what `drawn` does of each of several weighted graphs; what differs between runs is drawn once for all of them."""
        drawn, tasks = self.drawing(several)
        at_once(tasks, 0 if several[0].trace.share.team else len(tasks) * several[0].graph.edges)  # who asks others does so in one order
        return drawn

    def drawing(self, several: Sequence[Weighted]) -> tuple[list[F8], list[Callable[[], Any]]]:
        """Return what `drawn_of` does, not yet filled, and the tasks that fill it, each with some runs of all graphs."""
        if self.varies is None or not self.draws:
            return [np.zeros(0) for _ in several], []
        share, drawn = several[0].trace.share, [_Drawn(weighted, self._of(weighted), self.draws) for weighted in several]
        alike = _of_one_graph(drawn, share) if share.team else [[one] for one in drawn]
        most, rooms = max(len(one.lasts) for one in drawn), list[F8]()
        rows = max(sum(one.sweeps.slots.rows for one in some) for some in alike)
        together = self._together(rows, most, share)

        def draw(begin: int) -> None:
            deviation = self._deviations(begin, min(together, _lanes(most - begin)))
            room = rooms.pop() if rooms else np.empty((rows, together))
            for some in alike:
                if begin < len(some[0].lasts):
                    _draw(some, begin, deviation, room, share)
            rooms.append(room)

        def draw_all() -> None:
            for begin in begins:
                draw(begin)

        begins = range(0, most, together)
        return [one.lasts for one in drawn], [partial(draw, begin) for begin in begins] if rows <= _ROOM else [draw_all]

    def _together(self, rows: int, most: int, share: Share) -> int:
        """Return how many runs, of most, are swept at once, given the rows of times that it takes: as many as there is room for by several
        processes, which tell each other what crosses in each round once for all of them.
        """
        if not share.team:
            return LANES
        needed = share.most(rows + len(self.stretches.times) + len(self.seldom))
        return min(max(_SPREAD // needed, 1) * LANES, _lanes(most))

    def weights(self, weighted: Weighted, count: int) -> Iterator[I8]:
        """Yield the weights of so many runs drawn of a weighted graph, those that `drawn` sweeps, rounded to ns."""
        stretch, more, share = self._of(weighted)
        edges, drawn = np.diff(weighted.graph.start), np.flatnonzero(stretch >= 0)
        for k in range(count):
            if k % LANES == 0:
                deviation = self._deviations(k, LANES)
            later = np.zeros(len(stretch), "i8")
            later[drawn] = np.rint(more[drawn] + share[drawn] * deviation[stretch[drawn], k % LANES])
            weight = np.maximum(weighted.weight + np.repeat(later, edges), np.minimum(weighted.weight, 0))
            yield np.where(weighted.weight == CUT, CUT, weight)

    def _of(self, weighted: Weighted) -> tuple[I4, F4, F4]:
        """Return per vertex of a weighted graph whose deviation it has, how much longer it takes anyway, and its share of the deviation."""
        graph, calls = weighted.graph, len(weighted.trace.calls)
        if graph is self.graph and self._unchanged(weighted):
            return self.stretch, self.more, self.share
        more, share = np.zeros((2, graph.vertices), "f4")

        def place(vertex: I4, recorded: I4, bounded: bool) -> None:
            known = self.whole, self.stretch, self.more, self.share
            kernel.place(graph.start, weighted.weight, vertex, recorded, bounded, *known, more, share)

        def place_calls(some: slice) -> None:
            recorded = some if order is None else order[some]
            for side, before, bounded in ((graph.entered, self.graph.entered, False), (graph.returned, self.graph.returned, True)):
                row[side[some]] = self.stretch[before[recorded]]
                place(side[some], before[recorded], bounded)

        def place_drawn(some: slice) -> None:
            vertex = (some.start + np.flatnonzero(self.stretch[some] >= 0)).astype("i4")
            returns = graph.returning[vertex] != NONE
            place(vertex[~returns], vertex[~returns], False)
            place(vertex[returns], vertex[returns], True)

        if graph is self.graph and not isinstance(weighted, Reordered):
            map_threads(place_drawn, chunks(graph.vertices), thread_count(graph.vertices))
            return self.stretch, more, share
        order: I8 | None = np.argsort(weighted.call) if isinstance(weighted, Reordered) else None
        row = np.full(graph.vertices, NONE, "i4")
        row[graph.ended] = self.stretch[self.graph.ended]
        place(graph.ended, self.graph.ended, False)
        map_threads(place_calls, chunks(calls), thread_count(calls))
        return row, more, share

    def _unchanged(self, weighted: Weighted) -> bool:
        """Return whether all that is drawn takes as long in a weighted graph, that of the recorded run, as it was recorded."""
        columns, rows = (weighted.graph.start, weighted.weight, self.stretch, self.whole), self.graph.vertices
        same = map_threads(lambda some: kernel.unchanged(*columns, some.start, min(some.stop, rows)), chunks(rows), thread_count(rows))
        return all(same)

    def _deviations(self, begin: int, count: int) -> F8:
        """Return the deviation of each stretch, and then of each piece of what is seldom, in so many draws, a column each."""
        draws, known = np.arange(begin, begin + count), len(self.stretches.times)
        out = np.empty((known + len(self.seldom), count))
        chosen = mixed(self.seldom[:, None] + draws.astype("u8")) % np.uint64(ANY)
        self.stretches.draw(draws, out[:known])
        out[known:] = self.any[chosen.astype("i8")]
        return out


class _Drawn:
    """A weighted graph of which runs are drawn."""

    def __init__(self, weighted: Weighted, pieces: tuple[I4, F4, F4], draws: int) -> None:
        self.sweeps = Sweeps(weighted, *pieces)
        fewest = max(EDGES // passed(weighted.graph, weighted.trace.share), FEWEST)
        self.lasts = np.zeros(min(_lanes(fewest), draws))
        """How long the runs last, ns."""


def _of_one_graph(drawn: Sequence[_Drawn], share: Share) -> list[list[_Drawn]]:
    """Return those that have one graph, on all processes, together: of these what crosses is told together."""
    graphs = [id(one.sweeps.graph) for one in drawn]
    first = np.array([graphs.index(graph) for graph in graphs])
    if share.any((share.reduced(first, "min") != share.reduced(first, "max")).any()):
        return [[one] for one in drawn]
    return [[one for one, other in zip(drawn, first.tolist(), strict=True) if other == of] for of in np.unique(first).tolist()]


def _draw(several: Sequence[_Drawn], begin: int, deviation: F8, room: F8, share: Share) -> None:
    """Sweep as many runs as there are deviations of, or those that are left, from one on: of several weights of one graph."""
    some = slice(begin, begin + deviation.shape[1])
    runs = len(several[0].lasts[some])
    earliest, latest = (np.full((len(several), _lanes(runs)), end) for end in (np.inf, -np.inf))
    through([one.sweeps for one in several], deviation, room, earliest, latest)
    lasted = share.reduced(latest, "max") - share.reduced(earliest, "min")
    for one, each in zip(several, lasted, strict=True):
        one.lasts[some] = each[:runs]


def _lanes(runs: int) -> int:
    """Return the lanes of a sweep of so many runs."""
    return -(-runs // LANES) * LANES


_NO_TIMES, _NO_SHARES, _NO_PIECES, _NO_VERTICES = np.zeros(0), np.zeros(0, "f4"), np.zeros(0, "i8"), np.zeros(0, "i4")
_NO_GRAPH = Graph(
    start=_NO_VERTICES,
    source=_NO_VERTICES,
    kind=np.zeros(0, "u1"),
    cause=_NO_VERTICES,
    entered=_NO_VERTICES,
    returned=_NO_VERTICES,
    begun=_NO_VERTICES,
    ended=_NO_VERTICES,
    contradictions=0,
)
_NO_STRETCHES = Stretches(_NO_TIMES, _NO_PIECES, _NO_PIECES, np.zeros(1, "i8"), np.zeros((0, 0), "i4"), 1)
_NOTHING = _NO_GRAPH, _NO_SHARES, _NO_VERTICES, _NO_SHARES, _NO_SHARES
_UNSOUGHT = Noise(*_NOTHING, _NO_STRETCHES, np.zeros(0, "u8"), _NO_TIMES, varies=None, draws=0, last=np.zeros((0, 0), "i8"))
"""What is known where no runs are drawn."""


@remembered(2)
def noise_of(run: Run, draws: int = DRAWS, iterations: Iterations | None = None) -> Noise:
    """Return what repeats in a recorded run, and how much it varies; `draws` runs are drawn of each answer. What repeats is found once, and
    not looked for if none is drawn.

    `iterations` are those of the trace, looked for if not given.
    """
    if not draws:
        return _UNSOUGHT
    noise = found_noise(run, iterations)
    return noise if noise.draws == draws else dataclasses.replace(noise, draws=draws)


def noise_ahead(run: Run, draws: int = DRAWS) -> None:
    """Find what repeats in a run beside something else, if runs will be drawn: whoever asks for its noise has it then. Not of a large one,
    for which it takes memory only when it is needed.
    """
    if draws and of_graphs(run.graph.edges):
        found_noise(run, None)


@remembered(1)
def found_noise(run: Run, iterations: Iterations | None) -> Noise:
    """Return the noise of a run, of as many draws as there are at most.

    A process that computes 10 14 12 10 14 ns between the same two calls, 12 on average: as few are a stretch each, which took
    10/12 14/12 12/12 10/12 14/12 times as long as usual. Times that were computed from a platform repeat for a reason: nothing varies.
    Of a part of a trace nothing else than what is of its own calls and locations is drawn.
    """
    found = found_pieces(run, iterations)
    give_back(run.graph.edges)
    pieces, stretches = found.pieces, found.stretches
    stretch, (whole, more, share) = np.full(run.graph.vertices, NONE, "i4"), np.zeros((3, run.graph.vertices), "f4")
    place = np.concatenate([np.argsort(stretches.order), np.arange(len(found.seldom)) + len(stretches.times)])
    columns = found.stretch, pieces.told.view("u1"), pieces.length, pieces.group
    known = pieces.usual, run.graph.start, run.weighted.weight, stretches.times, place, found.common

    def share_out(some: slice) -> None:
        piece, tell, length, group = (column[some] for column in columns)
        own = vertices(run, some), piece, tell, length, group
        kernel.shares(pieces.gaps - some.start, *own, *known, whole, stretch, more, share)

    rows = len(found.stretch)
    map_threads(share_out, chunks(rows), thread_count(rows))
    return Noise(
        graph=run.graph,
        whole=whole,
        stretch=stretch,
        more=more,
        share=share,
        stretches=stretches,
        seldom=found.seldom,
        any=found.any,
        varies=found.varies,
        draws=DRAWS,
        last=found.last,
    )
