"""The report of `perwiz bound`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from msgspec.structs import asdict

from perwiz import words
from perwiz.report import blocks, misfit
from perwiz.report.blocks import Facts
from perwiz.report.records import (
    Health,
    Location,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Record,
    ReplayError,
    SharesOf,
    TraceDocument,
    choice,
)
from perwiz.trace.trace import Trace
from perwiz.whatif.limits.bound import COMBINATIONS, PARTS, QUESTIONS, Bound, Bounds

_PROCESSES = 16
"""Rows of the longest table of processes."""
_NAME = 28
"""Columns of a region."""
_SHORT = ("Q1", "Q2", "Q3")
_MEANING = (
    ("longest", "the largest sum of a process, from its first instant to its last, as recorded"),
    ("Q1", "nobody waits: what a process waits for its partners is left out"),
    ("Q2", "balanced time: every process computes for the mean (calls without partner are computation)"),
    ("Q3", "balanced messages: every process sends, receives and takes part in collectives for the mean"),
    ("", "without Q1 recorded waits stay, so Q2 and Q3 can lie above the recorded time: only bounds with Q1 are lower bounds"),
)


class LowerBound(Record):
    """What a process takes at least under some questions."""

    questions: Annotated[list[Annotated[str, choice(*QUESTIONS)]], Meta(min_length=1)]
    """Asked together."""
    time_ns: Natural
    """Largest sum of a process under them; without zero-wait recorded waits stay, and it can exceed longest_ns."""


class Breakdown(Location):
    """What the time of a process goes into."""

    computation_ns: Natural
    other_ns: Natural
    sending_ns: Natural
    receiving_ns: Natural
    collective_ns: Natural
    waiting_ns: Natural

    @property
    def parts(self) -> list[int]:
        """The same in the order of PARTS, ns."""
        return [getattr(self, f"{part}_ns") for part in PARTS]


class Region(Record):
    """The bounds of a region, or of the whole program."""

    region: str | None
    """Null: the whole program."""
    parallel: bool
    """Marked as a parallel region."""
    steps: Natural
    """Largest number of instances on a process."""
    longest_ns: Natural
    """Largest sum of a process, as recorded."""
    bounds: Annotated[list[LowerBound], Meta(min_length=7)]
    """As in Table 1 of the PerWiz paper."""
    processes: list[Breakdown]
    """Those that take part."""


class BoundDocument(TraceDocument, kw_only=True):
    """Lower bounds on regions. Times are whole nanoseconds."""

    command: Literal["bound"] = "bound"
    recorded_ns: Makespan
    shares_of_ns: SharesOf
    replay_error_ns: ReplayError
    regions: Annotated[list[Region], Meta(min_length=1)]
    """The whole program first."""
    user_regions: Natural
    """Names of user regions in the trace."""
    misfit: Misfit
    model: Model
    machine: Machine
    health: Health


def document(bounds: Bounds) -> BoundDocument:
    """Return the bounds as a document."""
    trace = bounds.run.trace
    return BoundDocument(
        **blocks.head(trace),
        recorded_ns=trace.timeline.makespan,
        shares_of_ns=blocks.shares_of(trace, trace.timeline.makespan),
        regions=[_region(trace, bound) for bound in bounds.regions],
        user_regions=len(trace.names),
        **misfit.modelled(bounds.run),
    )


def _region(trace: Trace, bound: Bound) -> Region:
    """Return what is said of one region."""
    bounds = [LowerBound(questions=[QUESTIONS[q] for q in asked], time_ns=bound.time(asked)) for asked in COMBINATIONS[1:]]
    processes = [
        Breakdown(**asdict(blocks.location(trace, location)), **{f"{part}_ns": ns for part, ns in zip(PARTS, row, strict=True)})
        for location, row in zip(bound.location.tolist(), np.transpose(bound.parts).tolist(), strict=True)
    ]
    return Region(
        region=bound.name or None,
        parallel=bound.parallel,
        steps=bound.steps,
        longest_ns=bound.time(),
        bounds=bounds,
        processes=processes,
    )


def text(bound: BoundDocument) -> str:
    """Return the document as text for a terminal."""
    regions = bound.regions
    lines = [*blocks.title(bound.trace, "lower bounds", bound.health), "", *words.facts(_answer(bound)), ""]
    lines += [*_bound_lines(regions), "", *words.facts(_MEANING), ""]
    lines += ["where the time goes, mean of a process", *_part_lines(regions), ""]
    shown = regions[1] if len(regions) == 2 else regions[0]
    lines += [f"processes, {_name(shown)}", *_process_lines(shown.processes), ""]
    return "\n".join([*lines[:-1], *misfit.sure(bound, bound.shares_of_ns), "", *misfit.closing(bound)])


def _answer(bound: BoundDocument) -> Facts:
    """Return the bounds of the whole program, and what they are."""
    recorded = bound.recorded_ns
    times = {tuple(row.questions): row.time_ns for row in bound.regions[0].bounds}
    facts = blocks.recorded(recorded, bound.health)
    nobody = f"if nobody waited{blocks.as_recorded(bound.health)}"
    for asked, meaning in ((QUESTIONS[:1], nobody), (QUESTIONS, "if computation and messages were balanced, too")):
        less = f"{words.duration(recorded - times[asked])} ({words.percent(recorded - times[asked], bound.shares_of_ns)}) less"
        facts.append(("at least", f"{words.duration(times[asked])}, {less}, {meaning}"))
    facts += [*blocks.share_facts(bound.shares_of_ns, recorded, bound.part), *blocks.left_out(bound.health)]
    facts += blocks.unrecorded_waits(bound.health)
    facts.append(("", "bounds, no predictions: they sum recorded times and know no order of calls; see perwiz predict"))
    facts = misfit.beside(facts, bound, bound.shares_of_ns)
    if not bound.user_regions:
        marked = "PRGN_BEGIN and PRGN_END (perwiz record --print-include), or let other tools record functions,"
        facts.append(("regions", f"none: mark some with {marked} to get bounds for them"))
    return facts


def _bound_lines(regions: list[Region]) -> list[str]:
    """Return the table of bounds: a row per region, a column per combination of questions, as in Table 1 of PerWiz."""
    head = ["at least", "steps", "longest", *("+".join(_SHORT[q] for q in asked) for asked in COMBINATIONS[1:])]
    rows = [
        [
            *(_name(region), str(region.steps) if region.region else "", words.duration(region.longest_ns)),
            *(words.duration(row.time_ns) for row in region.bounds),
        ]
        for region in regions
    ]
    return words.table(head, rows)


def _part_lines(regions: list[Region]) -> list[str]:
    rows = []
    for region in regions:
        sums = [sum(parts) for parts in zip(*(process.parts for process in region.processes), strict=True)] or [0] * len(PARTS)
        count = max(1, len(region.processes))
        rows.append([_name(region), *(words.duration(ns // count) for ns in sums)])
    return words.table(["region", *PARTS], rows)


def _process_lines(processes: list[Breakdown]) -> list[str]:
    """Return the table of processes: all, or those of the longest sums."""
    rows = [
        [words.rank(process.rank, process.thread), *map(words.duration, (sum(process.parts), *process.parts))]
        for process in blocks.foremost(processes, _PROCESSES, lambda process: -sum(process.parts))
    ]
    return [*words.table(["rank", "time", *PARTS], rows), *blocks.more(processes, len(rows), ", which take less")]


def _name(region: Region) -> str:
    return "whole program" if region.region is None else words.shown(region.region, _NAME)
