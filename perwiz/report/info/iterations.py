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
    kind: Literal["regions", "calls", "steps"] | None
    """What repeats: instances of regions, sequences of calls, or collective calls of all processes, with which each ends."""
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
    """The first so many take another time than the others, longer or shorter."""
    told: Natural
    """So many last as long as is known: of calls all but the last, which is taken to end with its last call."""
    interrupted: Natural
    """Iterations of the first process with something in them that the others do not have."""
    between: list[str]
    """What that is."""
    trend: TrendOf | None
    """Null of fewer than four."""
    median_ns: Natural
    """Of the times behind the warm-up, as far as they are known."""
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
        told=found.told if its else 0,
        interrupted=found.interrupted,
        between=list(found.between),
        trend=TrendOf(slope_ns=round(its.trend.slope, 3), p=round(its.trend.p, 6)) if its and its.trend else None,
        median_ns=round(its.median) if its else 0,
        iterations=_iterations(trace, its) if its else [],
        others=[Loop(body=list(other.body), iterations=other.iterations, time_ns=other.lasts) for other in found.others],
    )


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
    out = [("iterations", f"{its.found}, {span}: {_repeats(its)}")]
    if its.interrupted:
        out.append(("interrupted", f"{its.interrupted} have more in them: {_body(its.between)}"))
    if its.fewest < its.most:
        out.append(("unequal", f"processes iterate {its.fewest} to {its.most} times; listed are those that all have"))
    if its.incomplete:
        end = "ends" if its.incomplete == 1 else "end"
        out.append(("incomplete", f"{words.several(its.incomplete, 'process')} {end} within one more, which is left out"))
    out.append(("warm-up", _warm_up(its)))
    out.append(("trend", _trend(its)))
    others = [f"{_body(loop.body)}, {loop.iterations} times, {words.duration(loop.time_ns)}" for loop in its.others[:_OTHERS]]
    others += blocks.more(its.others, _OTHERS)
    return [*out, *(("" if k else "other loops", text) for k, text in enumerate(others))]


def _repeats(its: IterationsOf) -> str:
    body = _body(its.body)
    if its.kind == "calls":
        return f"{body} {'repeat' if len(set(its.body)) > 1 else 'repeats'}"
    return f"each ends with {body} of all processes" if its.kind == "steps" else f"{body} again and again"


def _body(names: list[str]) -> str:
    """Return what repeats, each name once, in order."""
    each = list(dict.fromkeys(names))
    told = ", ".join(words.shown(name, _NAME) for name in each[:_NAMES])
    return f"{told} and {len(each) - _NAMES} more" if len(each) > _NAMES else told


def _usual(its: IterationsOf) -> list[Iteration]:
    """Return those whose times are like each other."""
    return its.iterations[its.warm_up : its.told]


def _firsts(its: IterationsOf) -> str:
    return f"the first {its.warm_up}" if its.warm_up > 1 else "the first"


def _warm_up(its: IterationsOf) -> str:
    if not its.warm_up:
        return "none, the first is not far from the others" if its.found >= _LEAST_TOLD else "not told by so few"
    first = its.iterations[: its.warm_up]
    mean = round(sum(one.time_ns for one in first) / len(first))
    long = f"{words.duration(mean)}{' on average' if its.warm_up > 1 else ''}; the others {words.duration(its.median_ns)} (median)"
    if mean > its.median_ns:
        return f"{_firsts(its)}, {long}"
    return f"none, {_firsts(its)} {'take' if its.warm_up > 1 else 'takes'} less: {long}"


def _trend(its: IterationsOf) -> str:
    if its.trend is None:
        return "not told by so few"
    of_ten_thousand = its.trend.p * 10_000
    often = f"{words.percent(round(of_ten_thousand), 10_000)}" if of_ten_thousand >= 10 else "less than 0.1 %"
    chance = f"chance alone shows as much in {often} of such runs"
    if its.trend.p >= SURE or not its.trend.slope_ns:
        return f"none: {chance}, a trend is told below {words.percent(round(100 * SURE), 100)}"
    change = words.duration(abs(round(its.trend.slope_ns)))
    return f"each takes {change} {'longer' if its.trend.slope_ns > 0 else 'less'} than the one before; {chance}"


def lines(its: IterationsOf) -> list[str]:
    """Return the table of the iterations that stand out; none if there are no iterations."""
    if not its.iterations:
        return []
    by_time = sorted(_usual(its), key=lambda one: one.time_ns)
    rows = [
        ("first", its.iterations[0]),
        ("median", by_time[(len(by_time) - 1) // 2]),
        ("last", its.iterations[its.told - 1]),
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
    below = [f"median, shortest and longest without {_firsts(its)}"] if its.warm_up else []
    if its.told < its.found:
        below.append(f"without number {its.found}: how long it takes behind its last call is not known")
    return [*words.table(["iteration", "number", "mean", "fastest process", "slowest process", "which"], cells), *below]
