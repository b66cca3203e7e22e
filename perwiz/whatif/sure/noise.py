"""How much a makespan varies from run to run: what repeats in the recorded run is drawn anew, and the program swept again.

Computation between calls of the same two kinds on one process is the same code, and calls of one routine in one region do the same work.
Each time it takes another time: by chance, by other programs on the machine, or because it has other things to do. Another run draws
anew, and where many processes wait for each other, the makespan is that of the latest: what hid beside the critical path of the recorded
run may lie on that of another. A call that asks whether something has come is made until it has: that is waiting, and is not drawn.

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
half width at most, and it holds what lies as far around the answer, too.

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
from perwiz.loggps.weigh import CUT, Weighted, work
from perwiz.trace import operations
from perwiz.trace.arrays import F4, F8, I4, I8, U8, Mask, chunks
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.resources import at_once, map_threads, remembered, thread_count
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.run import Run
from perwiz.whatif.sure.parts import BLOCKS, FEW, LEAST, Parts, parts_of
from perwiz.whatif.sure.repeating import Same, lengths, repeating
from perwiz.whatif.sure.stretches import Stretches, mixed, stretches_of
from perwiz.whatif.sure.swept import TOGETHER, Sweeps, passed

DRAWS, FEWEST = 200, 20
"""Runs drawn; fewer, but not fewer than these, on graphs where they would pass more than EDGES edges together."""
EDGES = 730_000_000
"""A hundred runs tell a deviation to 7 %, which is small beside the 13 % to which thirty parts of one run do."""
_ROOM = 1 << 19
"""Vertices whose times a sweep keeps at most, 64 MiB, for several threads to have such room each."""
STUDENT = (
    *(4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947, 2.921),
    *(2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779, 2.771, 2.763, 2.756),
)
"""Student's quantile of 99.5 % for LEAST - 1 degrees of freedom to BLOCKS - 1."""
ANY = 1024
"""Deviations that stand for those of all computation."""


@dataclasses.dataclass(frozen=True)
class Around:
    """How far another run may lie from an answer, ns."""

    sooner: int
    later: int


@dataclasses.dataclass(frozen=True)
class Varies:
    """What varies most in a recorded run, in ns, and how much."""

    what: str
    """computation, or calls: the work in them."""
    relative: float
    """Standard deviation as part of the length, over all that repeats."""
    stretches: int
    """Of the run, LEAST to BLOCKS: so many times most of what is drawn is told."""
    iterations: int = 0
    """Of the program, which are what is drawn if they are FEW or more; 0 if it has none."""

    @property
    def enough(self) -> bool:
        """Whether there are enough iterations, or stretches of a run without, to tell how much a gain varies."""
        return (self.iterations or self.stretches) >= FEW


@dataclasses.dataclass(frozen=True, eq=False)
class Noise:
    """What repeats in a recorded run: before each vertex of its graph computation, or the work in a call.

    In another run each takes `more + share * deviation` ns longer than recorded.
    """

    graph: Graph
    """Of the recorded run."""
    whole: I8
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

    def around(self, ends: F8, answer: int) -> Around:
        """Return how far another run may lie from an answer, given the makespans drawn of the same weighted graph."""
        if self.varies is None or not len(ends):
            return Around(0, 0)
        wide = STUDENT[self.varies.stretches - LEAST] * float(ends.std(ddof=1)) * (2 + 1 / len(ends)) ** 0.5
        off = min(max(float(ends.mean()) - answer, -wide), wide)
        return Around(round(wide + max(-off, 0)), round(wide + max(off, 0)))

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

    def drawing(self, several: Sequence[Weighted]) -> tuple[list[F8], list[Callable[[], None]]]:
        """Return what `drawn_of` does, not yet filled, and the tasks that fill it, each with some runs of all graphs."""
        if self.varies is None or not self.draws:
            return [np.zeros(0) for _ in several], []
        drawn = [_Drawn(weighted, self._of(weighted), self.draws) for weighted in several]
        kept, rooms = max(one.sweeps.rows for one in drawn), list[F8]()

        def draw(begin: int) -> None:
            deviation, room = self._deviations(begin), rooms.pop() if rooms else np.empty((kept, TOGETHER))
            for one in drawn:
                if begin < len(one.lasts):
                    one.draw(begin, deviation, room[: one.sweeps.rows])
            rooms.append(room)

        def draw_all() -> None:
            for begin in begins:
                draw(begin)

        begins = range(0, max(len(one.lasts) for one in drawn), TOGETHER)
        return [one.lasts for one in drawn], [partial(draw, begin) for begin in begins] if kept <= _ROOM else [draw_all]

    def weights(self, weighted: Weighted, count: int) -> Iterator[I8]:
        """Yield the weights of so many runs drawn of a weighted graph, those that `drawn` sweeps, rounded to ns."""
        stretch, more, share = self._of(weighted)
        edges, drawn = np.diff(weighted.graph.start), np.flatnonzero(stretch >= 0)
        for k in range(count):
            if k % TOGETHER == 0:
                deviation = self._deviations(k)
            later = np.zeros(len(stretch), "i8")
            later[drawn] = np.rint(more[drawn] + share[drawn] * deviation[stretch[drawn], k % TOGETHER])
            weight = np.maximum(weighted.weight + np.repeat(later, edges), np.minimum(weighted.weight, 0))
            yield np.where(weighted.weight == CUT, CUT, weight)

    def _of(self, weighted: Weighted) -> tuple[I4, F4, F4]:
        """Return per vertex of a weighted graph whose deviation it has, how much longer it takes anyway, and its share of the deviation."""
        graph, calls = weighted.graph, len(weighted.trace.calls)
        if graph is self.graph and self._unchanged(weighted):
            return self.stretch, self.more, self.share
        order: I8 | None = np.argsort(weighted.call) if isinstance(weighted, Reordered) else None
        row, (more, share) = np.full(graph.vertices, NONE, "i4"), np.zeros((2, graph.vertices), "f4")

        def place(vertex: I4, recorded: I4, bounded: bool) -> None:
            known = self.whole, self.stretch, self.more, self.share
            kernel.place(graph.start, weighted.weight, vertex, recorded, bounded, *known, row, more, share)

        def place_calls(some: slice) -> None:
            recorded = some if order is None else order[some]
            place(graph.entered[some], self.graph.entered[recorded], False)
            place(graph.returned[some], self.graph.returned[recorded], True)

        place(graph.ended, self.graph.ended, False)
        map_threads(place_calls, chunks(calls), thread_count(calls))
        return row, more, share

    def _unchanged(self, weighted: Weighted) -> bool:
        """Return whether all that is drawn takes as long in a weighted graph, that of the recorded run, as it was recorded."""
        columns = weighted.graph.start, weighted.weight, self.stretch, self.whole
        same = map_threads(
            lambda some: kernel.unchanged(*columns, some.start, min(some.stop, len(self.whole))),
            chunks(len(self.whole)),
            thread_count(len(self.whole)),
        )
        return all(same)

    def _deviations(self, begin: int) -> F8:
        """Return the deviation of each stretch, and then of each piece of what is seldom, in TOGETHER draws, a column each."""
        draws, known = np.arange(begin, begin + TOGETHER), len(self.stretches.times)
        out = np.empty((known + len(self.seldom), TOGETHER))
        chosen = mixed(self.seldom[:, None] + draws.astype("u8")) % np.uint64(ANY)
        self.stretches.draw(draws, out[:known])
        out[known:] = self.any[chosen.astype("i8")]
        return out


class _Drawn:
    """A weighted graph of which runs are drawn."""

    def __init__(self, weighted: Weighted, pieces: tuple[I4, F4, F4], draws: int) -> None:
        self.sweeps, self._share = Sweeps(weighted, *pieces), weighted.trace.share
        fewest = max(EDGES // passed(weighted.graph, self._share), FEWEST)
        self.lasts = np.zeros(min(-(-fewest // TOGETHER) * TOGETHER, draws))
        """How long the runs last, ns."""

    def draw(self, begin: int, deviation: F8, room: F8) -> None:
        """Sweep TOGETHER runs, or those that are left, from one on."""
        earliest, latest = np.full(TOGETHER, np.inf), np.full(TOGETHER, -np.inf)
        self.sweeps.through(deviation, room, earliest, latest)
        some = self.lasts[begin : begin + TOGETHER]
        some[:] = (self._share.reduced(latest, "max") - self._share.reduced(earliest, "min"))[: len(some)]


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
_NOTHING = _NO_GRAPH, _NO_PIECES, _NO_VERTICES, _NO_SHARES, _NO_SHARES
_UNSOUGHT = Noise(*_NOTHING, _NO_STRETCHES, np.zeros(0, "u8"), _NO_TIMES, varies=None, draws=0)
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


@remembered(1)
def found_noise(run: Run, iterations: Iterations | None) -> Noise:
    """Return the noise of a run, of as many draws as there are at most.

    A process that computes 10 14 12 10 14 ns between the same two calls, 12 on average: as few are a stretch each, which took
    10/12 14/12 12/12 10/12 14/12 times as long as usual. Times that were computed from a platform repeat for a reason: nothing varies.
    Of a part of a trace nothing else than what is of its own calls and locations is drawn.
    """
    found = _of_pieces(run, iterations)
    pieces, stretches, vertex, size = found.pieces, found.stretches, vertices(run), run.graph.vertices
    whole, stretch = np.zeros(size, "i8"), np.full(size, NONE, "i4")
    more, share = np.zeros((2, size), "f4")
    place = np.concatenate([np.argsort(stretches.order), np.arange(len(found.seldom)) + len(stretches.times), [NONE]])
    for some in chunks(len(vertex)):
        at = vertex[some]
        whole[at], stretch[at] = pieces.whole[some], place[found.stretch[some]]
        more[at], share[at] = _shares(found, some)
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
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Length:
    """How much of each piece the model does not explain, ns: of computation, and behind it of what calls work; made some at a time."""

    whole: I8
    """Per piece, ns, as recorded."""
    explained: I8
    """Per call, ns."""

    def __getitem__(self, some: slice) -> F8:
        out, gaps = self.whole[some].astype("f8"), len(self.whole) - len(self.explained)
        calls = out[max(gaps - some.start, 0) :]
        calls -= self.explained[max(some.start - gaps, 0) :][: len(calls)]
        np.maximum(calls, 0, out=calls)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class _OfGroup:
    """What each piece has of its group, made some at a time."""

    group: I4
    """Per piece."""
    values: Any

    def __getitem__(self, some: slice) -> Any:
        return self.values[self.group[some]]


@dataclasses.dataclass(frozen=True, eq=False)
class _Pieces:
    """The pieces of a run, in the order of `vertices`, and how long they usually are."""

    whole: I8
    length: _Length
    usual: _OfGroup
    """ns, 0 if it is not repeated often enough."""
    count: _OfGroup
    """How often it is repeated."""
    told: Mask
    """Whether it tells how much it varies."""
    gaps: int
    """How many of them compute."""

    def __len__(self) -> int:
        return len(self.whole)

    def computes(self, some: slice) -> Mask:
        """Return which of some pieces are computation."""
        return np.arange(some.start, min(some.stop, len(self))) < self.gaps

    def deviation(self, some: slice) -> F8:
        """Return how much longer than usual those of some pieces took that tell it, as a part of that."""
        told, often = self.told[some], self.count[some]
        deviation = self.length[some][told] / self.usual[some][told] - 1
        deviation *= ((often / np.maximum(often - 1, 1))[told]) ** 0.5
        return deviation


@dataclasses.dataclass(frozen=True, eq=False)
class _Longer:
    """How much longer than usual each piece took, ns; 0 of what is not told. Made some at a time."""

    pieces: _Pieces

    def __getitem__(self, some: slice) -> F8:
        length, usual = self.pieces.length[some], self.pieces.usual[some]
        return np.subtract(length, usual, out=np.zeros(len(length)), where=self.pieces.told[some])


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What repeats in a run, by pieces instead of by vertices of the graph; `seldom`, `any` and `varies` as Noise has them."""

    pieces: _Pieces
    stretches: Stretches
    stretch: I4
    """Per piece, behind those of `stretches` each of what is seldom; -1 of what is not drawn."""
    seldom: U8
    any: F8
    common: float
    """How long computation usually is, ns."""
    varies: Varies | None


def _of_pieces(run: Run, iterations: Iterations | None) -> _Found:
    """Return what repeats in a run."""
    trace, share = run.trace, run.trace.share
    computed, process = lengths(trace), _processes(trace)
    here = share.has(process)
    its, same = repeating(trace, computed, here, iterations)
    pieces = _pieces(run, same, computed, here)
    any_, common = _of_any(pieces, process, trace)
    parts = parts_of(trace, process, _Longer(pieces), same.kinds * len(trace.locations), its)
    stretches, stretch = stretches_of(same.like, process, pieces.told, pieces.length, pieces.usual, parts)
    gaps, known = pieces.gaps, len(stretches.times)
    stretch[gaps:][~pieces.told[gaps:]] = NONE
    seldom = np.flatnonzero(here[:gaps] & (stretch[:gaps] < 0)) if len(any_) else np.zeros(0, "i8")
    varies = _varies(pieces, process, stretches, stretch, parts, trace)
    stretch[seldom] = known + np.arange(len(seldom))
    return _Found(pieces, stretches, stretch, _keys(trace, pieces.whole[:gaps], seldom), any_, common, varies)


def _pieces(run: Run, same: Same, computed: I8, here: Mask) -> _Pieces:
    """Return the pieces of a run, given what is the same, how long computation is, ns, and what is here."""
    trace, graph = run.trace, run.graph
    whole = np.concatenate([computed, run.weighted.weight[graph.start[graph.returned]]])
    length = _Length(whole, work(trace, run.weighted.model))
    count, usual = _usual(same, length, here, trace.share)
    origin = trace.timeline.origin
    told, repeats = here.copy(), usual > 0
    for some in chunks(len(told)):
        told[some] &= repeats[same.own[some]]
    kind = operations.KIND[trace.calls.op]
    told[len(computed) :] &= (kind != operations.TEST) & (kind != operations.PROBE)
    told &= not origin.predicted or bool(origin.hypotheses)
    return _Pieces(whole, length, _OfGroup(same.own, usual), _OfGroup(same.own, count), told, len(computed))


def vertices(run: Run) -> I4:
    """Return the vertex of each piece of a run: computation, row `call + location` and then the last of the location, then calls.

    Calls 0 and 1 of a location, and 2 of another: before 0, before 1, behind 1, before 2, behind 2, in 0, in 1, in 2.
    """
    return np.concatenate([np.insert(run.graph.entered, run.trace.first_calls[1:], run.graph.ended), run.graph.returned])


def _shares(found: _Found, some: slice) -> tuple[F8, F8]:
    """Return how much longer each of some pieces takes anyway, ns, and its share of the deviation: 0 of what took no time."""
    pieces, stretch, known = found.pieces, found.stretch[some], len(found.stretches.times)
    share, told = pieces.length[some], pieces.told[some]
    more, lasted = np.zeros(len(share)), share[told]
    seldom = stretch >= known
    share[seldom] = np.sqrt(share[seldom] * np.minimum(share[seldom], found.common))
    times = found.stretches.times[stretch[told]]
    share[told] = np.where(times > 0, lasted / np.where(times > 0, times, 1), pieces.usual[some][told])
    more[told] = share[told] - lasted
    no_time = pieces.whole[some] == 0
    more[no_time] = share[no_time] = 0
    return more, share


def _processes(trace: Trace) -> I4:
    """Return the location of each row."""
    locations = np.arange(len(trace.locations), dtype="i4")
    return np.concatenate([np.repeat(locations, np.diff(trace.first_calls) + 1), trace.calls.location])


def _usual(same: Same, length: _Length, here: Mask, share: Share) -> tuple[I8, F8]:
    """Return how often each group is repeated, and how long one of it usually is, ns; 0 if it is not repeated often enough.

    Those of a group that several processes have are added up over all of them.
    """
    groups = int(same.own.max(initial=-1)) + 1
    count, total = np.zeros((2, groups), "i8")
    counted, added = np.zeros((2, same.routines), "i8")
    for some in chunks(len(same.own)):
        own, lasts, routine = same.own[some], length[some].astype("i8"), same.routine[some]
        np.add.at(count, own, here[some].astype("i8"))
        np.add.at(total, own, np.where(here[some], lasts, 0))
        rows = routine >= 0
        np.add.at(counted, routine[rows], 1)
        np.add.at(added, routine[rows], lasts[rows])
    sums = share.reduced(np.stack([counted, added]), "sum")
    for some in chunks(len(same.own)):
        known = np.flatnonzero(same.routine[some] >= 0)
        count[same.own[some][known]], total[same.own[some][known]] = sums[:, same.routine[some][known]]
    return count, np.where(count >= LEAST, total / np.maximum(count, 1), 0)


class _Sum:
    """A sum of values, those of a location first: of a whole trace and of its parts the same to the last digit."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self._of_location = trace, np.zeros(len(trace.locations))

    def add(self, values: F8, process: I4) -> None:
        """Add values, the location of each given, in the order of rows."""
        np.add.at(self._of_location, process, values)

    def all(self) -> float:
        """Return the sum on all processes."""
        return float(self._trace.share.of_locations(self._of_location).sum())


def _varies(pieces: _Pieces, process: I4, stretches: Stretches, stretch: I4, parts: Parts, trace: Trace) -> Varies | None:
    """Return what varies most, given the location of each piece and the stretch that it is in."""
    share, often = trace.share, np.diff(stretches.first)[stretches.pool]
    if not share.any(np.count_nonzero(pieces.told)):
        return None
    sums = [[_Sum(trace) for _ in range(2)] for _ in range(2)]
    counts = np.zeros((2, parts.number + 1), "i8")
    for some in chunks(len(pieces)):
        told = pieces.told[some]
        usual, deviation, several = pieces.usual[some][told], pieces.deviation(some), often[stretch[some][told]]
        location, computes = process[some][told], pieces.computes(some)[told]
        for rows, (longer, lasted), count in zip((computes, ~computes), sums, counts, strict=True):
            longer.add((deviation[rows] * usual[rows]) ** 2, location[rows])
            lasted.add(usual[rows] ** 2, location[rows])
            np.add.at(count, several[rows], 1)
    squares = [(longer.all(), lasted.all()) for longer, lasted in sums]
    most = share.any(pieces.told[: pieces.gaps].any()) and squares[0][0] >= squares[1][0]
    square, all_ = squares[0 if most else 1]
    reached = share.reduced(counts[0 if most else 1], "sum").cumsum()
    middle = np.searchsorted(reached, [(reached[-1] - 1) // 2, reached[-1] // 2], "right")
    number = int(middle.sum()) // 2
    blocks = max(min((parts.number if 2 * number > parts.number else number) // parts.block, BLOCKS), LEAST)
    return Varies("computation" if most else "calls", math.sqrt(square / all_), blocks, parts.iterations)


def _of_any(pieces: _Pieces, process: I4, trace: Trace) -> tuple[F8, float]:
    """Return deviations of computation of any kind, each as often as it takes time, and how long it usually is: by time, too."""
    told = np.count_nonzero(pieces.told[: pieces.gaps])
    deviation, weight, done = np.empty(told), np.empty(told, "i8"), 0
    square, added = _Sum(trace), _Sum(trace)
    for some in chunks(pieces.gaps):
        some = slice(some.start, min(some.stop, pieces.gaps))
        which = pieces.told[some]
        usual, location = pieces.usual[some][which], process[some][which]
        rows = slice(done, done := done + len(usual))
        deviation[rows], weight[rows] = pieces.deviation(some), np.maximum(np.rint(usual), 1)
        square.add(usual**2, location)
        added.add(usual, location)
    total = trace.share.total(int(weight.sum()))
    if not total:
        return np.zeros(0), 0.0
    wanted = [((2 * number + 1) * total + 2 * ANY - 1) // (2 * ANY) for number in range(ANY)]
    return np.maximum(trace.share.weighted(deviation, weight, np.array(wanted, "i8")), -1), square.all() / added.all()


def _keys(trace: Trace, length: I8, rows: I8) -> U8:
    """Return numbers that stand for chance, made of the first and last instant of each of some computations."""
    until = np.zeros(len(length), "i8")
    until[np.arange(len(trace.calls)) + trace.calls.location] = trace.timeline.calls.enter
    until[trace.first_calls[1:] + np.arange(len(trace.locations))] = trace.timeline.locations.leave
    some = until[rows]
    return mixed(mixed((some - length[rows]).view("u8")) ^ some.view("u8"))
