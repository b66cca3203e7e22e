"""What repeats in a recorded run, piece by piece, how long it usually is and how much it varies.

A piece is computation between two calls, or the work in a call. Computation between calls of the same two kinds on one process is the
same code, and calls of one routine in one region do the same work: they are a group, which tells how long each of it usually is. What is
repeated too seldom has the deviations of all other computation.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial

import numpy as np

from perwiz.kernels import repeats as kernel
from perwiz.loggps.weigh import work
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8, U8, Ints, Mask, chunks, shortest
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.resources import give_back, graphs_at_once
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import NONE, THREAD
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run
from perwiz.whatif.sure.parts import BLOCKS, FEW, LEAST, Parts, last_calls, parts_of
from perwiz.whatif.sure.repeating import Same, lengths, repeating
from perwiz.whatif.sure.stretches import Stretches, mixed, stretches_of

ANY = 1024
"""Deviations that stand for those of all computation."""
DIFFER = 0.02
"""Part of a run by which another recording of the program takes longer or less, 19 times of 20, though nothing that repeats tells it: a
core's clock, where memory lies, what else the node does. Assumed, as one recording cannot tell; three of them do (`--runs`).
"""
ON_PROCESSORS = 0.05
"""The same of training jobs whose collectives are made on processors, as by Gloo: threads that move and add gradients share these with what
computes, and who gets one when is otherwise in each recording. Of 22 jobs of four ranks on two cores, each recorded two to five times, one
recording said of 106 of 128 others what they take with 2 %, of 119 with 5 %.
"""
_IDLE = [operations.OP[name] for name in ("omp_idle", "pthread_idle", "thread_idle", "device_idle")]


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
    differ: float = DIFFER
    """Part by which another recording takes longer or less, assumed: DIFFER or ON_PROCESSORS."""

    @property
    def enough(self) -> bool:
        """Whether there are enough iterations, or stretches of a run without, to tell how much a gain varies."""
        return (self.iterations or self.stretches) >= FEW


@dataclasses.dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of a run, in the order of `vertices`, and how long they usually are."""

    length: I8
    """How much of each the model does not explain, ns: of computation, and behind it of what calls work."""
    group: I4
    usual: F8
    """How long a piece of each group usually is, ns; 0 if it is not repeated often enough."""
    count: I8
    """How often a piece of each group is repeated."""
    told: Mask
    """Whether it tells how much it varies."""
    gaps: int
    """How many of them compute."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Longer:
    """How much longer than usual each piece took, ns; 0 of what is not told. Made some at a time."""

    pieces: Pieces

    def __getitem__(self, some: slice) -> F8:
        length, usual = self.pieces.length[some], self.pieces.usual[self.pieces.group[some]]
        return np.subtract(length, usual, out=np.zeros(len(length)), where=self.pieces.told[some])


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """What repeats in a run, by pieces instead of by vertices of the graph."""

    pieces: Pieces
    stretches: Stretches
    stretch: I4
    """Per piece, behind those of `stretches` each of what is seldom; -1 of what is not drawn."""
    seldom: U8
    """Per piece of what is seldom a number that stands for chance: made of when it began and ended, whatever the process is called."""
    any: F8
    """Deviations of computation that repeats, each as often as it takes time: what is seldom has one of these."""
    common: float
    """How long computation usually is, ns."""
    varies: Varies | None
    last: I8
    """See `Noise`."""


def found_pieces(run: Run, iterations: Iterations | None) -> Found:
    """Return what repeats in a run."""
    trace, process = run.trace, _processes(run.trace)
    length, gaps = np.empty(len(process), "i8"), len(process) - len(trace.calls)
    length[:gaps] = lengths(trace)
    here = trace.share.has(process)
    here[gaps + _idle_to_the_end(trace)] = False
    its, same = repeating(trace, length[:gaps], here, iterations)
    give_back(len(length))
    pieces = _pieces(run, same, length, here)
    tasks = partial(_of_any, pieces, process, trace), partial(_stretches, pieces, process, same, its, trace)
    (any_, common), (stretches, stretch, varies) = graphs_at_once(tasks, run.graph.edges, in_order=trace.share.team is not None)
    del process, same, tasks
    seldom = np.flatnonzero(here[:gaps] & (stretch[:gaps] < 0)) if len(any_) else np.zeros(0, "i8")
    stretch[seldom] = len(stretches.times) + np.arange(len(seldom))
    last = last_calls(its, varies.stretches if varies and varies.iterations else 0, trace)
    return Found(pieces, stretches, stretch, _keys(trace, length, seldom), any_, common, varies, last)


def _stretches(pieces: Pieces, process: Ints, same: Same, its: Iterations, trace: Trace) -> tuple[Stretches, I4, Varies | None]:
    """Return the stretches, which one each piece is in, and what varies most, given the location of each piece and what is the same."""
    parts = parts_of(trace, process, _Longer(pieces), same.kinds * len(trace.locations), its)
    give_back(len(pieces.length))
    stretches, stretch = stretches_of(same.like, process, pieces.told, pieces.length, pieces.group, pieces.usual, parts)
    stretch[pieces.gaps :][~pieces.told[pieces.gaps :]] = NONE
    return stretches, stretch, _varies(pieces, stretches, stretch, parts, trace)


def _unexplained(run: Run, length: I8) -> None:
    """Fill in how much of what each call took, the last of these rows, the model does not explain, ns."""
    explained, graph, weight = work(run.trace, run.weighted.model), run.graph, run.weighted.weight
    unexplained = length[len(length) - len(explained) :]
    for some in chunks(len(explained)):
        np.maximum(weight[graph.start[graph.returned[some]]] - explained[some], 0, out=unexplained[some])


def _pieces(run: Run, same: Same, lasted: I8, here: Mask) -> Pieces:
    """Return the pieces of a run, given what is the same, how long each lasted, ns, of calls not filled in yet, and what is here."""
    trace, gaps = run.trace, len(lasted) - len(run.trace.calls)
    _unexplained(run, lasted)
    count, usual = _usual(same, lasted, here, trace.share)
    origin = trace.timeline.origin
    told, repeats = here.copy(), usual > 0
    for some in chunks(len(told)):
        told[some] &= repeats[same.own[some]]
    kind = operations.KIND[trace.calls.op]
    told[gaps:] &= (kind != operations.TEST) & (kind != operations.PROBE)
    told &= not origin.predicted or bool(origin.hypotheses)
    return Pieces(lasted, same.own, usual, count, told, gaps)


def _idle_to_the_end(trace: Trace) -> I8:
    """Return the calls, rows, in which threads and streams are idle up to the end of the run, or of the part of it that is asked about:
    what ends that is not there, so it counts as work, and tells of none how long it takes.
    """
    last = trace.first_calls[1:][np.diff(trace.first_calls) > 0] - 1
    ends = trace.timeline.calls.leave[last] == trace.timeline.locations.leave[trace.calls.location[last]]
    return last[ends & np.isin(trace.calls.op[last], _IDLE)]


def vertices(run: Run, some: slice | None = None) -> I4:
    """Return the vertex of some pieces of a run, by default of all: computation, row `call + location` and then the last of the location,
    then calls.

    Calls 0 and 1 of a location, and 2 of another: before 0, before 1, behind 1, before 2, behind 2, in 0, in 1, in 2.
    """
    graph, ends = run.graph, run.trace.first_calls[1:]
    gaps = len(graph.entered) + len(ends)
    begin, end = (0, gaps + len(graph.returned)) if some is None else (some.start, some.stop)
    low, high = np.searchsorted(ends + np.arange(len(ends)), (begin, min(end, gaps))).tolist()
    computed = np.insert(graph.entered[begin - low : min(end, gaps) - high], ends[low:high] - (begin - low), graph.ended[low:high])
    return np.concatenate([computed, graph.returned[max(begin - gaps, 0) : max(end - gaps, 0)]])


def _processes(trace: Trace) -> Ints:
    """Return the location of each row."""
    locations = shortest(np.arange(len(trace.locations)))
    calls = np.diff(trace.first_calls)
    return np.concatenate([np.repeat(locations, calls + 1), np.repeat(locations, calls)])


def _usual(same: Same, length: I8, here: Mask, share: Share) -> tuple[I8, F8]:
    """Return how often each group is repeated, and how long one of it usually is, ns; 0 if it is not repeated often enough.

    Those of a group that several processes have are added up over all of them.
    """
    groups = int(same.own.max(initial=-1)) + 1
    count, total = np.zeros((2, groups), "i8")
    counted, added = np.zeros((2, same.routines), "i8")
    gaps = len(same.own) - len(same.routine)
    calls, here = same.own[gaps:], here.view("u1")
    kernel.add_up(same.own, here, length, count, total)
    kernel.add_up(same.routine, here[gaps:], length[gaps:], counted, added)
    sums = share.reduced(np.stack([counted, added]), "sum")
    for some in chunks(len(same.routine)):
        known = np.flatnonzero(same.routine[some] >= 0)
        count[calls[some][known]], total[calls[some][known]] = sums[:, same.routine[some][known]]
    return count, np.where(count >= LEAST, total / np.maximum(count, 1), 0)


def _sum(trace: Trace, of_location: F8) -> float:
    """Return the sum of values of each location, of a whole trace and of its parts the same to the last digit."""
    return float(trace.share.of_locations(of_location).sum())


def _varies(pieces: Pieces, stretches: Stretches, stretch: I4, parts: Parts, trace: Trace) -> Varies | None:
    """Return what varies most, given the stretch that each piece is in."""
    share, often, told = trace.share, np.diff(stretches.first)[stretches.pool], pieces.told.view("u1")
    if not share.any(told.any()):
        return None
    counts, squares = np.zeros((2, parts.number + 1), "i8"), list[tuple[float, float]]()
    for begin, beyond, count in zip((0, pieces.gaps), (1, 0), counts, strict=True):
        longer, lasted = np.zeros((2, len(trace.locations)))
        columns = told, pieces.length, pieces.group, pieces.usual, pieces.count, stretch, often
        kernel.varies(begin, trace.first_calls, beyond, *columns, longer, lasted, count)
        squares.append((_sum(trace, longer), _sum(trace, lasted)))
    most = share.any(told[: pieces.gaps].any()) and squares[0][0] >= squares[1][0]
    square, all_ = squares[0 if most else 1]
    reached = share.reduced(counts[0 if most else 1], "sum").cumsum()
    middle = np.searchsorted(reached, [(reached[-1] - 1) // 2, reached[-1] // 2], "right")
    number = int(middle.sum()) // 2
    blocks = max(min((parts.number if 2 * number > parts.number else number) // parts.block, BLOCKS), LEAST)
    return Varies("computation" if most else "calls", math.sqrt(square / all_), blocks, parts.iterations, _differ(trace))


def _differ(trace: Trace) -> float:
    """Return by which part another recording takes longer or less, assumed; tables of operations do not tell on what these are made."""
    collective = operations.DIST & operations.COLLECTIVE
    on_processors = collective[trace.calls.op] & (trace.locations.kind[trace.calls.location] == THREAD)
    return ON_PROCESSORS if trace.share.any(on_processors.any()) else DIFFER


def _of_any(pieces: Pieces, process: Ints, trace: Trace) -> tuple[F8, float]:
    """Return deviations of computation of any kind, each as often as it takes time, and how long it usually is: by time, too."""
    told = np.count_nonzero(pieces.told[: pieces.gaps])
    deviation, weight, done = np.empty(told), np.empty(told, "i8"), 0
    square, added = np.zeros((2, len(trace.locations)))
    for some in chunks(pieces.gaps):
        which = some.start + np.flatnonzero(pieces.told[some.start : min(some.stop, pieces.gaps)])
        group, location, rows = pieces.group[which], process[which], slice(done, done := done + len(which))
        usual, often = pieces.usual[group], pieces.count[group]
        deviation[rows] = (pieces.length[which] / usual - 1) * (often / np.maximum(often - 1, 1)) ** 0.5
        weight[rows] = np.maximum(np.rint(usual), 1)
        np.add.at(square, location, usual**2)
        np.add.at(added, location, usual)
    total = trace.share.total(int(weight.sum()))
    if not total:
        return np.zeros(0), 0.0
    wanted = [((2 * number + 1) * total + 2 * ANY - 1) // (2 * ANY) for number in range(ANY)]
    return np.maximum(trace.share.weighted(deviation, weight, np.array(wanted, "i8")), -1), _sum(trace, square) / _sum(trace, added)


def _keys(trace: Trace, length: I8, rows: I8) -> U8:
    """Return numbers that stand for chance, made of the first and last instant of each of some computations."""
    behind, out = trace.first_calls[1:] + np.arange(len(trace.locations)), np.empty(len(rows), "u8")
    for some in chunks(len(rows)):
        at = rows[some]
        location = np.searchsorted(behind, at)
        until, inside = trace.timeline.locations.leave[location], at < behind[location]
        until[inside] = trace.timeline.calls.enter[(at - location)[inside]]
        out[some] = mixed(mixed((until - length[at]).view("u8")) ^ until.view("u8"))
    return out
