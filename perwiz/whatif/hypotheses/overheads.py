"""What teams of threads cost by themselves, by the number of their threads: forks, barriers and joins, fitted where a run shows several."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from perwiz.loggps.weigh import CUT, Weighted
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.teams import BARRIER, Members, chosen_teams, members

PARTS = ("fork", "begin", "barrier", "join")
"""What is fitted: the call that forks; what a thread needs to begin from then on; a barrier behind the last that comes; the join behind the
last that ends."""
FORMS = ("linear", "logarithmic")
"""a + b n, and a + b log2 n, in the number n of threads."""
SIDES = ("least", "most")
_WIDE = 1.96
"""Standard errors to either side: 95 % of a normal distribution."""
_MEDIAN = 1.2533 / 1.349
"""Standard error of a median of a normal distribution, in distances of its quartiles by the root of the number of points."""


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Calls of teams, and what each takes beyond what it waits for."""

    part: I8
    """Row of PARTS."""
    team: I8
    call: I8
    """Row of calls."""
    ns: I8
    threads: I8
    """Of the team."""
    steady: Mask
    """Whether the team before, of the same first thread, has as many: else threads are made or woken from further away."""


@dataclasses.dataclass(frozen=True)
class Overhead:
    """What a part takes in teams of so many threads, ns: the fit, and between which values it lies (95 %, of both forms)."""

    part: str
    form: str
    """That which is closer to the calls; linear if both are as close, as where there are only two sizes."""
    ns: float
    least: float
    most: float


def samples(trace: Trace, of: Members) -> Samples:
    """Return the calls by which teams of several threads are forked, begun, kept together and joined.

    A team forked at 100 to 110, whose thread begins at 130, whose threads come to a barrier at 500 and 700 and leave it at 720 and 730, and
    which is joined at 760 to 765, its thread having ended at 750 ->  fork 10, begin 30, barriers 20 and 30, join 5.
    """
    times, calls = trace.timeline.calls, trace.calls
    fork = np.isin(of.first, of.fork)
    member = np.flatnonzero(~fork)
    begins, forked = of.first[member], of.fork[of.team[member]]
    table = trace.members
    chosen = np.flatnonzero(BARRIER[calls.op[table.call]])
    last = np.zeros(len(trace.collectives), "i8")
    np.maximum.at(last, table.collective[chosen], times.enter[table.call[chosen]])
    member_of = of.behind(len(calls))[table.call[chosen]]
    chosen, team = chosen[member_of != NONE], of.team[member_of[member_of != NONE]]
    barrier, join = table.call[chosen].astype("i8"), of.end[fork]
    ended = np.zeros(len(of.fork), "i8")
    np.maximum.at(ended, of.team, times.enter[of.end])
    rows = (
        (of.fork, np.arange(len(of.fork)), times.leave[of.fork] - times.enter[of.fork]),
        (begins, of.team[member], times.leave[begins] - np.maximum(times.enter[begins], times.enter[forked])),
        (barrier, team, times.leave[barrier] - last[table.collective[chosen]]),
        (join, np.arange(len(of.fork)), times.leave[join] - ended),
    )
    call, team, ns = (np.concatenate(column).astype("i8") for column in zip(*rows, strict=True))
    part = np.repeat(np.arange(len(PARTS)), [len(of_part[0]) for of_part in rows])
    before = np.maximum(np.arange(len(of.fork)) - 1, 0)
    same = (calls.location[of.fork] == calls.location[of.fork[before]]) & (of.size == of.size[before])
    same[:1] = False
    return Samples(part, team, call, np.maximum(ns, 0), of.size[team], same[team])


def overheads(found: Samples, threads: int) -> list[Overhead]:
    """Return what each part takes in teams of so many threads; of one that is seen in teams of one size only, nothing.

    Teams that follow one of another size tell of the change of size, and are left out. A line goes through the medians of the sizes, one
    each, by least squares: a thread that is woken late once in a while moves no median.
    """
    out = []
    for number, part in enumerate(PARTS):
        own = found.steady & (found.part == number)
        sizes = np.unique(found.threads[own])
        if len(sizes) > 1:
            points = [_point(found.ns[own & (found.threads == size)]) for size in sizes.tolist()]
            fits = [_fitted(_form(form, sizes), points, _form(form, np.array([threads]))) for form in FORMS]
            best = int(fits[1].residue < fits[0].residue - 0.001)
            least, most = (min(fit.value - fit.wide for fit in fits), max(fit.value + fit.wide for fit in fits))
            out.append(Overhead(part, FORMS[best], max(fits[best].value, 0.0), max(least, 0.0), max(most, 0.0)))
    return out


def shift(weighted: Weighted, text: str, threads: int, side: str = "ns") -> None:
    """Let the parts of the teams that a text is about take, in place, what they take in teams of so many threads; none less than nothing.

    `side` is what becomes of a part that takes that already: least or most. Parts seen in teams of one size only stay.
    """
    of = members(weighted.trace)
    found = samples(weighted.trace, of)
    chosen = chosen_teams(weighted.trace, text, of)[found.team] & (found.threads != threads)
    told = {one.part: one for one in overheads(found, threads)}
    for size in np.unique(found.threads[chosen]).tolist():
        for one in overheads(found, size):
            calls = found.call[chosen & (found.threads == size) & (found.part == PARTS.index(one.part))]
            before = one.ns if side == "ns" else told[one.part].ns
            _longer(weighted, calls, round(getattr(told[one.part], side) - before))


def _longer(weighted: Weighted, calls: I8, ns: int) -> None:
    """Let each of some calls do so much more work behind what it waits for, in place; less only as far as it does some."""
    graph, weight = weighted.graph, weighted.weight
    vertex = graph.returned[calls]
    first, count = graph.start[vertex], graph.start[vertex + 1] - graph.start[vertex]
    edge = np.repeat(first + count - np.cumsum(count), count) + np.arange(count.sum())
    more = np.repeat(np.maximum(ns, -weight[first]), count)
    more[weight[edge] == CUT] = 0
    weight[edge] += more


def _form(form: str, threads: I8) -> F8:
    return np.log2(threads) if form == "logarithmic" else threads.astype("f8")


@dataclasses.dataclass(frozen=True)
class _Point:
    median: float
    error: float
    """Its standard error."""


def _point(ns: I8) -> _Point:
    """Return the median of what calls take, its error told by the quartiles as of a normal distribution."""
    lower, median, upper = np.quantile(ns, (0.25, 0.5, 0.75)).tolist()
    return _Point(median, _MEDIAN * (upper - lower) / len(ns) ** 0.5)


@dataclasses.dataclass(frozen=True)
class _Fit:
    value: float
    wide: float
    residue: float


def _fitted(x: F8, points: Sequence[_Point], at: F8) -> _Fit:
    """Return the line through some points by least squares at one place, how far it may be off there, and the sum of squares it leaves."""
    y, error = (np.array([getattr(point, name) for point in points]) for name in ("median", "error"))
    spread = x - x.mean()
    slope = float(spread @ y) / float(spread @ spread)
    residue = float(np.square(y - y.mean() - slope * spread).sum())
    share = 1 / len(x) + (at[0] - x.mean()) * spread / float(spread @ spread)
    variance = float(np.square(share) @ (np.square(error) + residue / max(len(x) - 2, 1)))
    return _Fit(float(share @ y), _WIDE * variance**0.5, residue)
