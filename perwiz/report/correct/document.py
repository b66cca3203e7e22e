"""The report of `perwiz correct` as a JSON document."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from msgspec.structs import asdict

from perwiz.clock import cycles
from perwiz.clock import figures as clock_figures
from perwiz.clock import pairs as clock_pairs
from perwiz.clock.condition import Violations, violations
from perwiz.clock.figures import THRESHOLDS, Figures
from perwiz.clock.latency import Latencies
from perwiz.clock.logical import Correction
from perwiz.clock.schemes import scheme_of
from perwiz.clock.treatment import Treated
from perwiz.report import blocks
from perwiz.report.records import CallId, Cost, Health, Location, Makespan, Natural, Record, Share, TraceDocument, choice
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif import health as whatif

_STEPS = 6
"""Steps of a cycle that are told in words."""
CLOCKS = {"clc": "controlled logical clock", "linear": "measured clock offsets"}
"""By what a trace is corrected, in words."""
_Percent = Annotated[float, Meta(ge=0, le=100)]


class Offsets(Record):
    """Measured clock offsets."""

    measured: Natural
    """Clock offsets in the trace."""
    scheme: Annotated[str, choice("single", "flat", "hierarchical")] | None
    """How clocks were compared while the run was recorded; null where the trace does not tell."""
    in_the_recorded_times: bool
    """Whether the times in the trace are those after the offsets, or these had to be interpolated."""


class Pairs(Record):
    """Pairs of a cause and its effect at two processes."""

    pairs: Natural
    reversed: Natural
    """Effect before the cause."""
    reversed_percent: _Percent
    violating: Natural
    """Effect less than the least time behind its cause; the reversed ones among them."""
    violating_percent: _Percent
    average_ns: Cost
    """Mean reversal of the reversed ones."""
    worst_ns: Natural
    """Largest reversal."""


class BothPairs(Record):
    """Pairs before and after the correction."""

    recorded: Pairs
    corrected: Pairs


class PutForward(Record):
    """Returns of calls that had to be put forward; they take others with them."""

    messages: Natural
    """By messages."""
    collectives: Natural
    """By collectives, and by barriers of threads."""
    links: Natural
    """By other threads or streams of the process, or by other processes on windows."""


class Deviation(Record):
    """How far intervals of a process were changed, relative to their recorded length."""

    average: Cost
    """Sum of all changes over the sum of all intervals."""
    mean: Cost
    """Mean of the relative changes."""
    maximum: Cost
    """Largest relative change."""
    intervals_above: list[Share]
    """Share of the intervals changed by more than each threshold."""
    time_above: list[Share]
    """Share of the time in such intervals."""


class Cycle(Record):
    """Calls of which each must be entered before the other of its pair returns, and that before the next pair."""

    calls: Annotated[list[tuple[CallId, CallId]], Meta(min_length=1)]
    words: str


class MovedProcess(Location):
    """A process or thread, and how far it was moved."""

    largest_ns: Natural
    """Largest distance of an event from where it was recorded."""
    end_ns: int
    """How much later the last instant is."""


class CorrectDocument(TraceDocument, kw_only=True):
    """What correcting clocks came to. Times are in nanoseconds. Shares are of 1, those named percent of 100."""

    command: Literal["correct"] = "correct"
    corrected_by: str
    """How the corrected times came about; the same as made_by if nothing was corrected."""
    clock: Annotated[str, choice(*CLOCKS)]
    """linear: measured offsets were interpolated, no more; clc: controlled logical clock, after that."""
    offsets: Offsets
    recorded_ns: Makespan
    corrected_ns: Natural
    """The same, corrected."""
    minimum_latency_ns: Latencies
    """Least time from a cause to its effect, for two processes of a node, of a metahost, of two metahosts."""
    gamma: Annotated[float, Meta(gt=0, le=1)] | None
    """Rate of a clock that was put forward, until it is back; null for linear."""
    passes: Natural
    """Passes in which gamma was found; 0 for linear."""
    slope: Cost
    """Steepest slope before a clock is put forward."""
    messages: BothPairs
    """Messages between two processes, from the entry of the sending call to the return of the one that completes the receive."""
    records: BothPairs
    """The same from record to record, which lie inside these calls; at their ends where none were written, and in a prediction."""
    collectives: BothPairs
    """Logical messages of collectives: from each member that others wait for to each other that waits."""
    links: BothPairs
    """Forks, joins, locks, tasks, launches, posted windows: from what lets another location go on to what waits for it."""
    corrected_explicitly: PutForward
    events: Natural
    """Entries and returns of calls and regions."""
    moved: Natural
    """Events that are not where they were recorded."""
    average_displacement_ns: float
    """Of the moved events."""
    largest_displacement_ns: Natural
    thresholds: list[Cost]
    """Of intervals_above and time_above."""
    event_position: Deviation
    """From the first instant of a process to an event."""
    event_distance: Deviation
    """Between neighbouring entries and returns."""
    left: Violations
    """Effects that stay before their causes."""
    cycle: Cycle | None
    """Why; null if nothing is left, or clock is linear."""
    processes: list[MovedProcess]
    health: Health


def examined(trace: Trace, correction: Correction) -> tuple[Trace, whatif.Health]:
    """Return a trace with the times of its correction, and how far it can be relied on."""
    fixed = dataclasses.replace(trace, offsets=correction.trace.offsets, timeline=correction.timeline, offsets_applied=True)
    clocks = Treated(fixed, violations(trace, correction.before), correction if correction.jumps else None)
    return fixed, whatif.health(fixed, correction.graph.contradictions, clocks)


def document(trace: Trace, correction: Correction, figures: Figures, clock: str, health: whatif.Health) -> CorrectDocument:
    """Return a correction of the trace by `clock`, linear or clc."""
    logical = clock == "clc"
    steps = cycles.cycle(correction.trace, correction.graph) if logical and correction.left else []
    return CorrectDocument(
        **blocks.head(trace) | {"made_by": str(correction.before.origin)},
        corrected_by=str(correction.timeline.origin),
        clock=clock,
        offsets=Offsets(
            measured=len(trace.readings) or len(trace.offsets),
            scheme=scheme_of(trace.readings) if len(trace.readings) else None,
            in_the_recorded_times=trace.offsets_applied,
        ),
        recorded_ns=correction.before.makespan,
        corrected_ns=correction.timeline.makespan,
        minimum_latency_ns=correction.latencies,
        gamma=correction.gamma if logical else None,
        passes=correction.passes if logical else 0,
        slope=figures.slope,
        messages=BothPairs(recorded=_pairs(figures.messages_before), corrected=_pairs(figures.messages_after)),
        records=BothPairs(recorded=_pairs(figures.records_before), corrected=_pairs(figures.records_after)),
        collectives=BothPairs(recorded=_pairs(figures.collectives_before), corrected=_pairs(figures.collectives_after)),
        links=BothPairs(recorded=_pairs(figures.links_before), corrected=_pairs(figures.links_after)),
        corrected_explicitly=PutForward(
            messages=figures.corrected_by_message, collectives=figures.corrected_by_collective, links=figures.corrected_by_link
        ),
        events=figures.events,
        moved=figures.moved,
        average_displacement_ns=figures.average_displacement,
        largest_displacement_ns=figures.largest_displacement,
        thresholds=list(THRESHOLDS),
        event_position=_deviation(figures.position),
        event_distance=_deviation(figures.distance),
        left=correction.left,
        cycle=Cycle(calls=[(f"e{cause}", f"e{effect}") for cause, effect in steps], words=_named(correction, steps)) if steps else None,
        processes=_processes(trace, correction),
        health=blocks.health(health),
    )


def _pairs(counted: clock_pairs.Pairs) -> Pairs:
    return Pairs(
        pairs=counted.pairs,
        reversed=counted.reversed,
        reversed_percent=counted.percent(counted.reversed),
        violating=counted.violating,
        violating_percent=counted.percent(counted.violating),
        average_ns=counted.average,
        worst_ns=counted.worst,
    )


def _deviation(change: clock_figures.Deviation) -> Deviation:
    return Deviation(
        average=change.average,
        mean=change.mean,
        maximum=change.maximum,
        intervals_above=list(change.intervals),
        time_above=list(change.time),
    )


def _named(correction: Correction, steps: list[tuple[int, int]]) -> str:
    more = f", and so on, {len(steps)} steps in all" if len(steps) > _STEPS else ""
    return cycles.named(correction.trace, steps[:_STEPS]) + more


def _processes(trace: Trace, correction: Correction) -> list[MovedProcess]:
    """Return, per location, the largest distance of an event from where it was recorded, and that of its last instant."""
    furthest = shifts(trace, correction.before, correction.timeline)
    ends = correction.timeline.locations.leave - correction.before.locations.leave
    return [
        MovedProcess(**asdict(blocks.location(trace, k)), largest_ns=int(furthest[k]), end_ns=int(ends[k]))
        for k in range(len(trace.locations))
    ]


def shifts(trace: Trace, before: Timeline, after: Timeline) -> I8:
    """Return, per location, the largest distance of an event from where it was before, int64 ns, in either direction."""
    out = np.zeros(len(trace.locations), "i8")
    every = np.arange(len(out))
    sides = ((trace.calls.location, "calls"), (trace.regions.location, "regions"), (every, "locations"))
    for location, kind in sides:
        old, new = getattr(before, kind), getattr(after, kind)
        for side in ("enter", "leave"):
            np.maximum.at(out, location, np.abs(getattr(new, side) - getattr(old, side)))
    return trace.share.of_locations(out)
