"""What `perwiz info --iterations` tells of iterations: a part of its document, and the text made from it."""

from __future__ import annotations

from typing import Literal

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.records import Location, Natural, Positive, Record, Share, SharesOf
from perwiz.trace.parts.course import SURE, Course, course, stands_out
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
    """How often chance would order their times as much or more."""
    begins_ns: Natural
    """The median of the first tenth, three at least, and of the last."""
    ends_ns: Natural
    told: bool
    """Whether it is told: p is below 0.01, and they take two percent more or less at their end."""


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
    exceptions: list[Positive]
    """Numbers of those behind the warm-up that take far longer than the others."""
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
        trend=trend_of(its) if its else None,
        median_ns=round(its.median) if its else 0,
        exceptions=[k + 1 for k in its.exceptions] if its else [],
        iterations=_iterations(trace, its) if its else [],
        others=[Loop(body=list(other.body), iterations=other.iterations, time_ns=other.lasts) for other in found.others],
    )


def trend_of(its: Course) -> TrendOf | None:
    """Return the trend of the times of iterations, None of fewer than four."""
    found = its.trend
    if found is None:
        return None
    return TrendOf(round(found.slope, 3), round(found.p, 6), round(found.begins), round(found.ends), its.rises)


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
        more = "1 has more in it" if its.interrupted == 1 else f"{its.interrupted} have more in them"
        out.append(("interrupted", f"{more}: {_body(its.between)}"))
    if its.fewest < its.most:
        out.append(("unequal", f"processes iterate {its.fewest} to {its.most} times; listed are those that all have"))
    if its.incomplete:
        end = "ends" if its.incomplete == 1 else "end"
        out.append(("incomplete", f"{words.several(its.incomplete, 'process')} {end} within one more, which is left out"))
    out.append(("warm-up", _warm_up(its)))
    more = "; perwiz phases tells where they change" if its.trend and its.trend.told else ""
    out.append(("trend", f"{trend(its.trend)}{more}"))
    if its.exceptions:
        out.append(("stands out", stands_out({k: its.iterations[k - 1].time_ns for k in its.exceptions}, its.median_ns)))
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


def _firsts(count: int) -> str:
    return f"the first {count}" if count > 1 else "the first"


def _warm_up(its: IterationsOf) -> str:
    if not its.warm_up:
        return "none, the first is not far from the others" if its.found >= _LEAST_TOLD else "not told by so few"
    first = its.iterations[: its.warm_up]
    return warm_up(its.warm_up, round(sum(one.time_ns for one in first) / len(first)), its.median_ns)


def warm_up(count: int, mean: int, median: int) -> str:
    """Return in words what the first iterations take, ns on average, beside the median of the others."""
    long = f"{words.duration(mean)}{' on average' if count > 1 else ''}; the others {words.duration(median)} (median)"
    if mean > median:
        return f"{_firsts(count)}, {long}"
    return f"none, {_firsts(count)} {'take' if count > 1 else 'takes'} less: {long}"


def trend(found: TrendOf | None) -> str:
    """Return in words whether later iterations take longer."""
    if found is None:
        return "not told by so few"
    if found.told:
        return drifting("iteration", found.slope_ns, found.begins_ns, found.ends_ns)
    if found.p < SURE:
        return f"none to speak of: {words.duration(found.begins_ns)} at the begin, {words.duration(found.ends_ns)} at the end"
    return "none: times go up or down no more than by chance"


def drifting(noun: str, slope: float, begins: float, ends: float) -> str:
    """Return in words that each of some takes longer, or less, ns."""
    first, last, change = (words.duration(round(value)) for value in (begins, ends, abs(slope)))
    return f"each {noun} takes about {change} {'longer' if slope > 0 else 'less'} than the one before, {first} to {last}"


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
    below = [f"median, shortest and longest without {_firsts(its.warm_up)}"] if its.warm_up else []
    if its.told < its.found:
        below.append(f"without number {its.found}: how long it takes behind its last call is not known")
    return [*words.table(["iteration", "number", "mean", "fastest process", "slowest process", "which"], cells), *below]
