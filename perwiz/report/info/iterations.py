"""What `perwiz info --iterations` tells of iterations: a part of its document, and the text made from it."""

from __future__ import annotations

from typing import Literal

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Location, Natural, Positive, Record, Share, SharesOf
from perwiz.trace.parts.course import SURE, Course, course
from perwiz.trace.parts.iterations import Iterations
from perwiz.trace.trace import Trace

_NAMES = 4
"""Names of what repeats that a line has."""
_NAME = 40
_OTHERS = 3
"""Other loops that are told."""
_LEAST_TOLD = 4
"""Fewer iterations tell no warm-up."""


class Loop(Record):
    """A loop that is not taken for the iterations."""

    body: list[str]
    iterations: Positive
    time_ns: Natural
    """Of its first process."""


class Iteration(Record):
    """An iteration of all processes."""

    number: Positive
    time_ns: Natural
    """Mean of all processes, each from the begin of this one to that of the next."""
    shortest_ns: Natural
    """Of one process."""
    longest_ns: Natural
    """Of one process."""
    slowest: Location
    """Which that is."""


class TrendOf(Record):
    """Whether later iterations take longer; warm-up is left out."""

    slope_ns: float
    """That an iteration takes longer than the one before."""
    p: Share
    """How often chance would order their times as much or more; below 0.01 it is told as a trend."""


class IterationsOf(Record):
    """What the program does again and again."""

    found: Natural
    """Iterations that all processes have; 0 if there are none."""
    why: str
    """Why there are none; empty if there are."""
    kind: Literal["regions", "calls"] | None
    """What repeats: instances of regions, or sequences of calls."""
    body: list[str]
    """What an iteration of the first process consists of, in order, what follows itself once."""
    begin_ns: Natural
    """Of the first, on any process."""
    end_ns: Natural
    """Of the last, on any process."""
    fewest: Natural
    """Iterations of the process that has fewest."""
    most: Natural
    """Of that which has most."""
    shares_of_ns: SharesOf
    incomplete: Natural
    """Processes that come to their end within one more."""
    warm_up: Natural
    """The first so many take another time than the others."""
    trend: TrendOf | None
    """Null of fewer than four."""
    median_ns: Natural
    """Of the times behind the warm-up; that of the last is left out where it ends with its last call."""
    iterations: list[Iteration]
    others: list[Loop]
    """Of the first process, those that last longest first."""


def iterations_of(trace: Trace, found: Iterations) -> IterationsOf:
    """Return what is told of iterations."""
    its = course(found) if len(found) else None
    return IterationsOf(
        found=len(found),
        why=found.why,
        kind=found.kind,
        body=list(found.body),
        begin_ns=int(found.begin[0, found.processes].min()) if its else 0,
        end_ns=int(found.stop[-1, found.processes].max()) if its else 0,
        fewest=int(found.counts.min()) if its else 0,
        shares_of_ns=blocks.shares_of(trace, trace.timeline.makespan),
        most=int(found.counts.max(initial=0)),
        incomplete=found.incomplete,
        warm_up=its.warm_up if its else 0,
        trend=TrendOf(slope_ns=round(its.trend.slope, 3), p=round(its.trend.p, 6)) if its and its.trend else None,
        median_ns=_median(its.time[its.usual].tolist()) if its else 0,
        iterations=_iterations(trace, its) if its else [],
        others=[Loop(body=list(other.body), iterations=other.iterations, time_ns=other.lasts) for other in found.others],
    )


def _median(times: list[float]) -> int:
    return round(sorted(times)[(len(times) - 1) // 2])


def _iterations(trace: Trace, its: Course) -> list[Iteration]:
    rows = zip(its.time.tolist(), its.least.tolist(), its.most.tolist(), its.most_of.tolist(), strict=True)
    return [
        Iteration(number=number, time_ns=round(time), shortest_ns=least, longest_ns=most, slowest=blocks.location(trace, of))
        for number, (time, least, most, of) in enumerate(rows, 1)
    ]


def facts(its: IterationsOf, makespan: int) -> Facts:
    """Return in words what was found."""
    if not its.found:
        return [("iterations", f"none: {its.why}")]
    lasts = its.end_ns - its.begin_ns
    of = "the makespan" if its.shares_of_ns == makespan else "the time after MPI_Init"
    span = f"{words.duration(lasts)}, {words.percent(lasts, its.shares_of_ns)} of {of}"
    out = [("iterations", f"{its.found}, {span}: {_body(its.body)} {'again and again' if its.kind == 'regions' else 'repeat'}")]
    if its.fewest < its.most:
        out.append(("unequal", f"processes iterate {its.fewest} to {its.most} times; listed are those that all have"))
    if its.incomplete:
        out.append(("incomplete", f"{words.several(its.incomplete, 'process')} end within one more, which is left out"))
    out.append(("warm-up", _warm_up(its)))
    out.append(("trend", _trend(its)))
    others = [f"{_body(loop.body)}, {loop.iterations} times, {words.duration(loop.time_ns)}" for loop in its.others[:_OTHERS]]
    others += blocks.more(its.others, _OTHERS)
    return [*out, *(("" if k else "other loops", text) for k, text in enumerate(others))]


def _body(names: list[str]) -> str:
    """Return what repeats, each name once, in order."""
    each = list(dict.fromkeys(names))
    told = ", ".join(words.shown(name, _NAME) for name in each[:_NAMES])
    return f"{told} and {len(each) - _NAMES} more" if len(each) > _NAMES else told


def _usual(its: IterationsOf) -> list[Iteration]:
    """Return those whose times are like each other."""
    return its.iterations[its.warm_up : len(its.iterations) - (its.kind == "calls")]


def _warm_up(its: IterationsOf) -> str:
    if not its.warm_up:
        return "none, the first takes as long as the others" if its.found >= _LEAST_TOLD else "not told by so few"
    first = its.iterations[: its.warm_up]
    mean = words.duration(round(sum(one.time_ns for one in first) / len(first)))
    which = f"the first {its.warm_up}, {mean} on average" if its.warm_up > 1 else f"the first, {mean}"
    return f"{which}; the others {words.duration(its.median_ns)} (median)"


def _trend(its: IterationsOf) -> str:
    if its.trend is None:
        return "not told by so few"
    chance = f"p = {its.trend.p:.2g}" if its.trend.p >= 0.001 else "p < 0.001"
    if its.trend.p >= SURE or not its.trend.slope_ns:
        return f"none ({chance})"
    change = words.duration(abs(round(its.trend.slope_ns)))
    return f"each takes {change} {'longer' if its.trend.slope_ns > 0 else 'less'} than the one before ({chance})"


def lines(its: IterationsOf) -> list[str]:
    """Return the table of the iterations that stand out; none if there are no iterations."""
    if not its.iterations:
        return []
    by_time = sorted(_usual(its), key=lambda one: one.time_ns)
    rows = [
        ("first", its.iterations[0]),
        ("median", by_time[(len(by_time) - 1) // 2]),
        ("last", its.iterations[-1]),
        ("shortest", by_time[0]),
        ("longest", by_time[-1]),
    ]
    cells = [
        [
            name,
            str(one.number),
            *map(words.duration, (one.time_ns, one.shortest_ns, one.longest_ns)),
            words.rank(one.slowest.rank, one.slowest.thread),
        ]
        for name, one in rows
    ]
    left_out = ["the warm-up"] * bool(its.warm_up) + ["the last, which ends with its last call"] * (its.kind == "calls")
    below = [f"median, shortest and longest without {' and '.join(left_out)}"] if left_out else []
    return [*words.table(["iteration", "number", "mean", "fastest process", "slowest process", "which"], cells), *below]
