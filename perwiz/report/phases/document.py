"""The document of `perwiz phases`: what a run does over time, its phases first."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

import numpy as np
from msgspec.structs import asdict

from perwiz.patterns.analysis.efficiency import Efficiency
from perwiz.patterns.overtime.overtime import Drift, OverTime, Phase, compared, differences, slowest, times_of
from perwiz.report import blocks, misfit
from perwiz.report.info.iterations import TrendOf, trend_of
from perwiz.report.records import (
    Cost,
    Health,
    Location,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Positive,
    Record,
    ReplayError,
    Share,
    SharesOf,
    TraceDocument,
    choice,
)
from perwiz.trace.parts.course import Course
from perwiz.trace.trace import Trace

_FACTOR = ("load_balance", "serialisation", "transfer")


class Part(Record):
    """An iteration or a window, or several neighbours as one."""

    first: Natural
    """Number of its first iteration or window, from 1; 0 of what is before the first or behind the last."""
    last: Natural
    begin_ns: Natural
    """When the first process begins it, since the first instant of the run."""
    time_ns: Natural
    """The longest of all processes."""
    ideal_ns: Natural
    """The same on an ideal network."""
    parallel: Cost
    """load_balance x serialisation x transfer."""
    load_balance: Cost
    """Computation of a process on average / the most of any."""
    serialisation: Cost
    """Most computation of any process / ideal."""
    transfer: Cost
    """ideal / time."""
    ipc: Cost | None
    """Instructions per cycle of computation; null where these were not counted."""
    instructions: Cost | None
    """Of computation, all processes together."""
    slowest: Location
    """Which computes longest."""
    slowest_share: Cost
    """What it computes / what a process computes on average."""
    computation_ns: Natural
    """All processes together, and so are these."""
    calls_ns: Natural
    waiting_ns: Natural
    """Of calls, of several waits of one the longest."""
    waits_ns: dict[str, Natural]
    """By pattern; titles are beside the phases."""
    balanced_gain_ns: int
    """How much shorter the run would be if all processes computed as long as they do here on average."""
    unwaiting_gain_ns: int
    """How much shorter it would be if no call that begins here waited."""


class Change(Record):
    """What differs between a phase and the one before it."""

    of: Annotated[str, choice("time", *_FACTOR, "who")]
    """time: of one iteration, ns; who: which process computes longest, by its rank."""
    before: Cost
    after: Cost


class Trending(Record):
    """What goes up or down inside of a phase."""

    of: Annotated[str, choice("time", *_FACTOR)]
    slope: float
    """Each iteration or window more than the one before: ns, or parts of 1."""
    begins: float
    """The median of the first tenth, three at least, and of the last."""
    ends: float
    p: Share
    """How often chance would order them as much or more."""


class CourseOf(Record):
    """How the times of iterations go on, as perwiz info --iterations has it: mean of the processes."""

    warm_up: Natural
    """The first so many take another time than the others, longer or shorter."""
    warm_up_ns: Natural
    """What these take on average; 0 of none."""
    median_ns: Natural
    """Of the others, as far as they are known."""
    trend: TrendOf | None
    """Null of fewer than four."""


class PhaseOf(Part, kw_only=True):
    """A phase: iterations or windows that behave alike."""

    kind: Literal["before", "warm-up", "phase", "after"]
    """before and after: what is not in iterations."""
    end_ns: Natural
    """When the last process ends it, since the first instant of the run."""
    region: str
    """In which most is computed; empty if no region tells."""
    changes: list[Change]
    """From the phase before, what differs most first; empty of the first."""
    trends: list[Trending]
    """What changes most first."""
    exceptions: dict[str, Natural]
    """Iterations that take far longer than the others, by number, ns: mean of the processes; neighbours as one by the first."""
    median_ns: Natural
    """What an iteration takes by the median of all in it, mean of the processes; 0 of windows."""


class PhasesDocument(TraceDocument, kw_only=True):
    """What a run does over time, and where that changes. Times are whole nanoseconds."""

    command: Literal["phases"] = "phases"
    recorded_ns: Makespan
    shares_of_ns: SharesOf
    replay_error_ns: ReplayError
    by: Literal["iterations", "windows"]
    """What is looked at: iterations of the program, or windows of equal time."""
    why: str
    """Why windows, though nobody asked for them; empty else."""
    shown: bool
    """Whether windows lie between MPI_Init and MPI_Finalize, as the trace shows both; else in the whole run."""
    body: list[str]
    """What an iteration of the first process consists of, in order, what follows itself once."""
    count: Natural
    """Iterations or windows."""
    open: bool
    """Whether the last iteration ends with its last call: what it computes behind that counts as behind all."""
    together: Positive
    """So many neighbours are one in `parts`."""
    processes: Positive
    """Processes, or threads, that compute."""
    course: CourseOf | None
    """Null of windows."""
    phases: list[PhaseOf]
    parts: list[Part]
    """All iterations or windows, with what is before and behind them."""
    titles: dict[str, str]
    """Of the patterns."""
    next: str
    """What to ask about the phase that gains most; empty if none gains or it is in windows."""
    misfit: Misfit
    model: Model
    machine: Machine
    health: Health


def document(over: OverTime) -> PhasesDocument:
    """Return what a run does over time."""
    run, parts = over.run, over.split
    phases = [_phase(over, k) for k in range(len(over.phases))]
    titles = {metric.name: metric.title for metric in over.metrics if metric.name in over.waits}
    return PhasesDocument(
        **blocks.head(run.trace),
        recorded_ns=run.makespan,
        shares_of_ns=blocks.shares_of(run.trace, run.makespan),
        by=parts.by,
        why=parts.why,
        shown=parts.shown,
        body=list(parts.names),
        count=int(parts.number[-1]) - 1,
        open=parts.open,
        together=int(np.diff(parts.number).max(initial=1)),
        processes=len(over.hosts),
        course=_course(parts.course) if parts.course else None,
        phases=phases,
        parts=[_part(over, k, k + 1, over.efficiency[k], int(over.balanced[k]), int(over.unwaiting[k])) for k in range(len(parts))],
        titles=titles,
        next=_next(run.trace, parts.by, phases),
        **misfit.modelled(run),
    )


def _part(over: OverTime, first: int, end: int, efficiency: Efficiency, balanced: int, unwaiting: int) -> Part:
    """Return what some parts are as one."""
    parts, run, which = over.split, over.run, slowest(efficiency)
    start = int(run.trace.timeline.locations.enter.min())
    inner = parts.counted.start <= first and end <= parts.counted.stop
    number = parts.number[[first - parts.counted.start, end - parts.counted.start]].tolist() if inner else (0, 1)
    mean = float(efficiency.useful.mean())
    counted = efficiency.work.instructions
    return Part(
        first=number[0],
        last=number[1] - 1,
        begin_ns=int(parts.cuts[first, over.hosts].min()) - start,
        time_ns=efficiency.time,
        ideal_ns=efficiency.ideal,
        parallel=round(efficiency.parallel, 6),
        load_balance=round(efficiency.load_balance, 6),
        serialisation=round(efficiency.serialisation, 6),
        transfer=round(efficiency.transfer, 6),
        ipc=None if efficiency.work.ipc is None else round(efficiency.work.ipc, 6),
        instructions=None if counted is None else round(float(counted.sum())),
        slowest=blocks.location(run.trace, int(over.hosts[which])),
        slowest_share=round(float(efficiency.useful[which]) / mean, 6) if mean else 1.0,
        computation_ns=int(efficiency.useful.sum()),
        calls_ns=int(over.calls[first:end].sum()),
        waiting_ns=int(over.waiting[first:end].sum()),
        waits_ns={name: total for name, ns in over.waits.items() if (total := int(ns[first:end].sum()))},
        balanced_gain_ns=run.makespan - balanced,
        unwaiting_gain_ns=run.makespan - unwaiting,
    )


def _phase(over: OverTime, k: int) -> PhaseOf:
    """Return a phase, and what differs from the one before."""
    phase, parts = over.phases[k], over.split
    before = over.phases[k - 1] if k and phase.kind == "phase" and over.phases[k - 1].kind == "phase" else None
    start = int(over.run.trace.timeline.locations.enter.min())
    part = _part(over, phase.first, phase.end, phase.efficiency, phase.balanced, phase.unwaiting)
    fields: dict[str, Any] = asdict(part)
    times = times_of(parts)
    return PhaseOf(
        **fields,
        kind=phase.kind,
        end_ns=int(parts.cuts[phase.end, over.hosts].max()) - start,
        region=phase.region,
        changes=_changes(over, before, phase) if before else [],
        trends=[_trending(drift) for drift in phase.drifts],
        exceptions={str(int(parts.number[k])): round(times[k]) for k in (part - parts.counted.start for part in phase.exceptions)},
        median_ns=_median(over, phase),
    )


def _median(over: OverTime, phase: Phase) -> int:
    """Return the median time of the iterations of a phase, ns, the lower of two; 0 of what has none."""
    start = over.split.counted.start
    times = np.sort(times_of(over.split)[max(0, phase.first - start) : max(0, phase.end - start)])
    return round(float(times[(len(times) - 1) // 2])) if phase.kind in ("phase", "warm-up") and len(times) else 0


def _course(its: Course) -> CourseOf:
    return CourseOf(
        warm_up=its.warm_up,
        warm_up_ns=round(float(its.time[: its.warm_up].mean())) if its.warm_up else 0,
        median_ns=round(its.median),
        trend=trend_of(its),
    )


def _changes(over: OverTime, before: Phase, after: Phase) -> list[Change]:
    """Return what differs between two phases."""
    out, both = list[Change](), [compared(over, phase.first, phase.end) for phase in (before, after)]
    ends, counts = [one for one, _ in both], [count for _, count in both]
    for name in differences(ends[0], ends[1], counts[0], counts[1]):
        if name == "time":
            values = [one.time / many for one, many in zip(ends, counts, strict=True)]
        elif name == "who":
            values = [blocks.location(over.run.trace, int(over.hosts[slowest(one)])).rank for one in ends]
        else:
            values = [getattr(one, name) for one in ends]
        out.append(Change(name, *(round(float(value), 6) for value in values)))
    return out


def _trending(drift: Drift) -> Trending:
    found = drift.trend
    return Trending(drift.of, round(found.slope, 9), round(found.begins, 6), round(found.ends, 6), round(found.p, 6))


def drawn(document: PhasesDocument) -> list[Part]:
    """Return the iterations or windows to draw: not the last, if it ends with its last call."""
    parts = [part for part in document.parts if part.first]
    return parts[: len(parts) - (document.open and len(parts) > 1)]


def areas(document: PhasesDocument, kinds: int) -> list[tuple[str, list[float]]]:
    """Return what a process does on average in one iteration or window, ns: in those drawn computation, so many kinds of waits, the longest
    first, and if there are, other waits, then other calls; each with its name."""
    parts = drawn(document)
    total = {name: sum(part.waits_ns.get(name, 0) for part in parts) for name in document.titles}
    names = sorted((name for name in total if total[name]), key=lambda name: -total[name])
    out = [("computation", [part.computation_ns for part in parts])]
    out += [(document.titles[name], [part.waits_ns.get(name, 0) for part in parts]) for name in names[:kinds]]
    rest = names[kinds:]
    out += [("other waits", [sum(part.waits_ns.get(name, 0) for name in rest) for part in parts])] * bool(rest)
    out.append(("calls without waiting", [max(0, part.calls_ns - sum(part.waits_ns.values())) for part in parts]))
    each = [(part.last - part.first + 1) * document.processes for part in parts]
    return [(name, [ns / many for ns, many in zip(values, each, strict=True)]) for name, values in out]


def best(phases: list[PhaseOf]) -> PhaseOf | None:
    """Return the phase whose computation balanced, or waits taken away, gain most; None if none gains."""
    gaining = [phase for phase in phases if max(phase.balanced_gain_ns, phase.unwaiting_gain_ns) > 0]
    return max(gaining, key=lambda phase: max(phase.balanced_gain_ns, phase.unwaiting_gain_ns), default=None)


def _next(trace: Trace, by: str, phases: list[PhaseOf]) -> str:
    """Return the command that asks about the phase that gains most."""
    found = best([phase for phase in phases if phase.kind == "phase"])
    if found is None or by == "windows":
        return ""
    only = sum(phase.kind == "phase" for phase in phases) == 1 and not trace.part
    path = trace.path.removesuffix(f" {trace.part}")
    return f"perwiz domino {shlex.quote(path)}" + ("" if only else f" --iterations {found.first}..{found.last}")
