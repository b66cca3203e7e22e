"""How much a makespan varies from run to run: what repeats in the recorded run is drawn anew, and the program swept again.

Computation between calls of the same two kinds on one process is the same code, and calls of one routine in one region do the same work.
Each time it takes another time: by chance, by other programs on the machine, or because it has other things to do. Another run draws
anew, and where many processes wait for each other, the makespan is that of the latest: what hid beside the critical path of the recorded
run may lie on that of another.

Recorded and measured run are both such draws. So the measured makespan lies, 99 times of 100, within t * s * sqrt(2 + 1 / n) of the mean of
n drawn ones, s their standard deviation and t the quantile of Student's distribution: the prediction interval for one further
observation, t * s * sqrt(1 + 1 / n) (Hahn and Meeker, Statistical Intervals, 1991), and the variance of the recorded run on top.
Where what repeats differs for a reason, draws are no longer around the answer; they move the interval by its half width at most, and it
holds what lies as far around the answer, too.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.loggps.weigh import Weighted, work
from perwiz.trace.arrays import F8, I4, I8, U8
from perwiz.trace.numbers import Numbers
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.run import Run, makespan

LEAST = 5
"""Repetitions that anything needs to tell how much it varies."""
DRAWS = ((100_000, 40, 2.708), (500_000, 20, 2.861), (2_000_000, 10, 3.250), (1 << 62, 5, 4.604))
"""Runs drawn on graphs of up to so many edges, and Student's quantile of 99.5 % for one less."""
_ANY = 1024
"""Deviations that stand for those of all computation."""


@dataclasses.dataclass(frozen=True)
class Around:
    """How far another run may lie from an answer, ns."""

    sooner: int
    later: int


@dataclasses.dataclass(frozen=True, eq=False)
class Noise:
    """What repeats in a recorded run: its computation, row `call + location` and then the last of the location, then the work in its calls.

    In another run each takes `usual + spread * deviation`, where `deviation` is one of `count` from `first` on.
    """

    length: I8
    """As recorded, ns; of the work in a call what the model does not explain."""
    whole: I8
    """The same with what the model explains."""
    usual: F8
    """On average, ns."""
    spread: F8
    """What deviations are parts of, ns."""
    first: I8
    count: I8
    """0 of what is not drawn."""
    deviation: F8
    """Of what repeats; of what is alike together."""
    key: U8
    """Stands for chance: made of when each began and ended, so that it is the same whatever the processes are called."""
    relative: float | None
    """Standard deviation as part of the length, over all computation that repeats; None if none does."""

    def around(self, weighted: Weighted, answer: int) -> Around:
        """Return how far another run may lie from an answer, the makespan of a weighted graph; large graphs have fewer draws.

        What a hypothesis makes longer or shorter varies in proportion, the work in calls not more than recorded.
        """
        graph = weighted.graph
        if not self.count.any():
            return Around(0, 0)
        draws, quantile = next((draws, quantile) for edges, draws, quantile in DRAWS if graph.edges <= edges)
        vertex, row = _places(weighted)
        scale = weighted.weight[graph.start[vertex]] / np.maximum(self.whole[row], 1)
        scale[self.whole[row] == 0] = 0
        work = scale[-len(graph.returned) :]
        np.minimum(work, 1, out=work)
        into, ends = np.diff(graph.start), np.empty(draws)
        for draw in range(draws):
            longer = np.zeros(graph.vertices, "i8")
            longer[vertex] = np.rint(self._longer(draw)[row] * scale)
            ends[draw] = makespan(graph, sweep(graph, weighted.weight + np.repeat(longer, into)))
        wide = quantile * float(ends.std(ddof=1)) * (2 + 1 / draws) ** 0.5
        off = min(max(float(ends.mean()) - answer, -wide), wide)
        return Around(round(wide + max(-off, 0)), round(wide + max(off, 0)))

    def _longer(self, draw: int) -> F8:
        """Return how much longer each takes in a draw than recorded, ns."""
        drawn = self.count > 0
        place = _mixed(self.key[drawn] + np.uint64(draw)) % self.count[drawn].astype("u8")
        out = np.zeros(len(self.length))
        deviation = self.deviation[self.first[drawn] + place.astype("i8")]
        out[drawn] = self.usual[drawn] + self.spread[drawn] * deviation - self.length[drawn]
        return out


def noise_of(run: Run) -> Noise:
    """Return what repeats in a recorded run, and how much it varies.

    A process that computes 10 14 12 10 14 ns between the same two calls, 12 on average: deviations -1/6 1/6 0 -1/6 1/6, times
    (5 / 4)**0.5 for the average is theirs.
    """
    trace, graph = run.trace, run.graph
    computed, worked = _lengths(trace), run.weighted.weight[graph.start[graph.returned]]
    computes = np.arange(len(computed) + len(worked)) < len(computed)
    length = np.concatenate([computed, np.maximum(worked - work(trace, run.weighted.model), 0)])
    (own, like), (doing, same) = _computation(trace, computed), _calls(trace)
    own, like = np.concatenate([own, doing + own.max(initial=-1) + 1]), np.concatenate([like, same + like.max(initial=-1) + 1])
    count = np.bincount(own)
    mean = np.bincount(own, length) / np.maximum(count, 1)
    usual = np.where(count >= LEAST, mean, 0)[own]
    told = np.flatnonzero(usual)
    deviation = (length[told] / usual[told] - 1) * (count / np.maximum(count - 1, 1))[own[told]] ** 0.5
    order = np.lexsort((usual[told], deviation, like[told]))
    sorts = np.bincount(like[told], minlength=like.max(initial=-1) + 1)
    first, pool, spread = (sorts.cumsum() - sorts)[like], sorts[like], np.where(usual > 0, usual, length)
    seldom = computes & (pool == 0)
    pool[~computes & (usual == 0)] = 0
    repeats = computes[told]
    any_, common = _of_any(deviation[repeats], usual[told[repeats]])
    first[seldom], pool[seldom] = len(told), len(any_)
    spread[seldom] = np.sqrt(spread[seldom] * np.minimum(spread[seldom], common))
    return Noise(
        length=length,
        whole=np.concatenate([computed, worked]),
        usual=np.where(usual > 0, usual, length),
        spread=spread,
        first=first,
        count=pool,
        deviation=np.concatenate([np.maximum(deviation[order], -1), any_]),
        key=_keys(trace, computed),
        relative=float(np.sqrt(np.average(deviation[repeats] ** 2, weights=usual[told[repeats]] ** 2))) if repeats.any() else None,
    )


def _of_any(deviation: F8, usual: F8) -> tuple[F8, float]:
    """Return deviations of computation of any kind, each as often as it takes time, and how long it usually is: by time, too."""
    if not len(usual):
        return np.zeros(0), 0.0
    order = np.lexsort((usual, deviation))
    time = usual[order].cumsum()
    chosen = np.searchsorted(time, (np.arange(_ANY) + 0.5) / _ANY * time[-1])
    return np.maximum(deviation[order][chosen], -1), float(np.sum(usual**2) / np.sum(usual))


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


def _computation(trace: Trace, length: I8) -> tuple[I8, I8]:
    """Return which computation is the same, and which is like it, a number each per computation.

    The same: on one location, between calls of one routine, place and partner, and about as long. Alike: on any, with any partner.
    """
    calls, first = trace.calls, trace.first_calls
    site = trace.site if len(trace.site) else np.full(len(calls), NONE, "i4")
    place = Numbers().number(_routines(trace), site.astype("i8"))
    kind = Numbers().number(place, calls.peer.astype("i8"))
    location = np.repeat(np.arange(len(trace.locations)), np.diff(first) + 1)
    own = Numbers().number(location, _around(trace, kind)).astype("i8")
    return _alike(own, length), _around(trace, place)


def _around(trace: Trace, kind: I4) -> I8:
    """Return a number per computation of the kinds of calls before and behind it."""
    here = np.arange(len(kind)) + trace.calls.location
    until, since = np.zeros((2, len(kind) + len(trace.locations)), "i8")
    until[here] = since[here + 1] = kind + 1
    since[trace.first_calls[:-1] + np.arange(len(trace.locations))] = 0
    return Numbers().number(since, until).astype("i8")


def _calls(trace: Trace) -> tuple[I8, I8]:
    """Return which calls do the same work, and which do work like it, a number each per call.

    The same: of one routine and region on one location, or where that has too few of them on any; but the first there may also set up
    what the others use, and is on its own.
    """
    like = Numbers().number(_routines(trace), np.zeros(len(trace.calls), "i8")).astype("i8")
    own = Numbers().number(trace.calls.location, like).astype("i8")
    often = np.bincount(own)[own] - 1
    often[np.unique(own, return_index=True)[1]] = 0
    out = np.where(often >= LEAST, own, np.where(often > 0, -1 - like, -1 - len(like) - np.arange(len(like))))
    return Numbers().number(out, np.zeros(len(out), "i8")).astype("i8"), like


def _routines(trace: Trace) -> I8:
    """Return a number per call that stands for its routine and region."""
    return trace.calls.op + (trace.calls.path.astype("i8") + 1 << 16)


def _keys(trace: Trace, length: I8) -> U8:
    """Return what stands for chance: numbers made of the first and last instant of computation and of calls."""
    calls, first = trace.timeline.calls, trace.first_calls
    until = np.zeros(len(length), "i8")
    until[np.arange(len(trace.calls)) + trace.calls.location] = calls.enter
    until[first[1:] + np.arange(len(trace.locations))] = trace.timeline.locations.leave
    begin, end = np.concatenate([until - length, calls.enter]), np.concatenate([until, calls.leave])
    return _mixed(_mixed(begin.view("u8")) ^ (end + (np.arange(len(end)) < len(length))).view("u8"))


def _mixed(number: U8) -> U8:
    """Return uint64 that look like chance, the same for the same: the function splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    out = number * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        out ^= out >> np.uint64(shift)
        out *= np.uint64(factor)
    return out ^ out >> np.uint64(31)


def _places(weighted: Weighted) -> tuple[I8, I8]:
    """Return the vertices into which computation and the work in calls lead, and the rows of Noise of these."""
    graph, location, first = weighted.graph, weighted.trace.calls.location, weighted.trace.first_calls
    recorded = np.argsort(weighted.call) if isinstance(weighted, Reordered) else np.arange(len(location))
    last = first[1:] + np.arange(len(graph.ended))
    return (
        np.concatenate([graph.entered, graph.ended, graph.returned]).astype("i8"),
        np.concatenate([recorded + location, last, recorded + len(location) + len(last)]),
    )
