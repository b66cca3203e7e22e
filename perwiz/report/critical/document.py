"""The report of `perwiz critical` as a JSON document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from perwiz.report import blocks, misfit
from perwiz.report.records import (
    RESERVED,
    CallId,
    Health,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Record,
    RegionPath,
    ReplayError,
    Share,
    SharesOf,
    TraceDocument,
    choice,
)
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.limits.critical import KINDS, Critical, Pieces

SHARES = (0.0, 0.001, 0.01, 0.05, 0.1)
"""Parts of the makespan; how many calls have no more slack is counted for each."""


class Spent(Record, kw_only=True):
    """Parts of the path by kind. An effect recorded before its cause makes a part that is below 0."""

    rank: Annotated[int | UnsetType, RESERVED] = UNSET
    thread: Annotated[int | UnsetType, RESERVED] = UNSET
    region: Annotated[str | UnsetType, RESERVED] = UNSET
    routine: Annotated[str | UnsetType, RESERVED] = UNSET
    start_ns: Natural
    """Until the last process has left MPI_Init, if the trace shows it; else until the first process on the path began."""
    computation_ns: Natural
    calls_ns: int
    """Work in calls."""
    transfer_ns: int
    """Lags of messages."""
    gap_ns: int
    """Between sends that the model keeps apart."""
    total_ns: int

    def of(self, kind: str) -> int:
        """Return the part of a kind, ns."""
        return int(getattr(self, f"{kind}_ns"))


class Part(Spent, kw_only=True):
    """A part of the path, and the slack of calls: those that were made there."""

    calls: Natural
    calls_without_slack: Natural
    calls_within_1_percent: Natural
    least_slack_ns: Natural | None
    median_slack_ns: Natural | None


class ProcessPart(Part, kw_only=True):
    """The part of a process or thread."""

    rank: Natural
    thread: Natural


class RegionPart(Part, kw_only=True):
    """The part of a region path."""

    region: RegionPath


class RoutinePart(Part, kw_only=True):
    """The part of a routine."""

    routine: str


class Piece(Record):
    """A piece of the path."""

    kind: Annotated[str, choice(*KINDS)]
    rank: Natural
    thread: Natural
    region: RegionPath
    call: CallId | None
    routine: str | None
    begin_ns: int
    length_ns: int


class Within(Record):
    """Calls whose slack is at most a share of shares_of_ns."""

    share: Share
    calls: Natural


class Slack(Record):
    """How much later calls may return without delaying the end."""

    calls: Natural
    within: list[Within]


class CriticalDocument(TraceDocument, kw_only=True):
    """Where the makespan is spent, from the end of MPI_Init on if the trace shows it. Times are whole nanoseconds."""

    command: Literal["critical"] = "critical"
    makespan_ns: Makespan
    shares_of_ns: SharesOf
    changes: Natural
    """How many times the path goes from one process to another."""
    path: Spent
    """The total is the makespan. Parts and pieces are those after MPI_Init."""
    processes: list[ProcessPart]
    regions: list[RegionPart]
    """What is outside of any comes first."""
    routines: list[RoutinePart]
    pieces: Natural
    """Pieces of the path."""
    longest: list[Piece]
    """The longest pieces, in the order of time."""
    slack: Slack
    slacks_ns: list[Natural] | None
    """Slack of every call, by its number; null unless asked for."""
    replay_error_ns: ReplayError
    model: Model
    machine: Machine
    misfit: Misfit
    health: Health


def document(critical: Critical, pieces: int, slacks: bool = False) -> CriticalDocument:
    """Return the critical path with at most `pieces` of its pieces, on request with the slack of every call."""
    run, path = critical.run, program(critical)
    trace, slack, whole = run.trace, critical.slack, blocks.shares_of(run.trace, run.makespan)
    within = [Within(share=share, calls=int((slack <= share * whole).sum())) for share in SHARES]
    return CriticalDocument(
        **blocks.head(trace),
        makespan_ns=run.makespan,
        shares_of_ns=whole,
        changes=critical.changes,
        path=Spent(**spent(path.sums(np.zeros(len(path), "i8"), 1)[0] + np.array([run.makespan - whole, 0, 0, 0, 0]))),
        processes=_processes(critical, path),
        regions=_regions(critical, path),
        routines=_routines(critical, path),
        pieces=len(path),
        longest=[_piece(trace, path, row) for row in _longest(path.length, pieces)],
        slack=Slack(calls=len(slack), within=within),
        slacks_ns=slack.tolist() if slacks else None,
        **misfit.modelled(run),
    )


def program(critical: Critical) -> Pieces:
    """Return the pieces of the path that shares are of: those behind the end of the last MPI_Init, if the trace shows it, else all."""
    run, path = critical.run, critical.pieces
    begin = int(run.time[run.graph.begun].min(initial=2**62))
    before = run.makespan - blocks.shares_of(run.trace, run.makespan)
    return path.between(begin + before, begin + run.makespan) if before else path


def spent(sums: I8) -> dict[str, Any]:
    """Return the fields of Spent, given the ns per kind."""
    return {f"{kind}_ns": int(value) for kind, value in zip(KINDS, sums, strict=True)} | {"total_ns": int(sums.sum())}


def _processes(critical: Critical, path: Pieces) -> list[ProcessPart]:
    """Return, per location, its part of the path and the slack of its calls."""
    trace = critical.run.trace
    count = len(trace.locations)
    parts = _parts(critical, path.sums(path.location, count), trace.calls.location)
    return [ProcessPart(**asdict(blocks.location(trace, row)), **part) for row, part in enumerate(parts)]


def _regions(critical: Critical, path: Pieces) -> list[RegionPart]:
    """Return, per region path on which something was recorded, the same; what is outside of any comes first."""
    trace = critical.run.trace
    parts = _parts(critical, path.sums(path.path + 1, len(trace.paths) + 1), trace.calls.path + 1)
    paths = selectors.paths(trace)
    regions = [RegionPart(region=paths[row - 1], **part) for row, part in enumerate(parts)]
    return [region for region in regions if region.calls or region.total_ns]


def _routines(critical: Critical, path: Pieces) -> list[RoutinePart]:
    """Return, per routine that was called, the same."""
    calls = critical.run.trace.calls
    inside = path.call >= 0
    sums = np.zeros((len(operations.OPS), len(KINDS)), "i8")
    np.add.at(sums, (calls.op[path.call[inside]], path.kind[inside]), path.length[inside])
    parts = _parts(critical, sums, calls.op)
    return [RoutinePart(routine=operations.OPS[row], **parts[row]) for row in np.unique(calls.op).tolist()]


def _parts(critical: Critical, sums: I8, group: Ints) -> list[dict[str, Any]]:
    """Return, per group of calls, its part of the path; how many calls it has, without slack, with less than 1 %, the least and the median.

    `sums` is the ns per group and kind, `group` that of each call.
    """
    slack, close, groups = critical.slack, blocks.shares_of(critical.run.trace, critical.run.makespan) // 100, len(sums)
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    tight, near = (np.bincount(group[slack <= limit], minlength=groups) for limit in (0, close))
    ascending = slack[np.lexsort((slack, group))]
    return [
        {
            **spent(sums[k]),
            "calls": int(count[k]),
            "calls_without_slack": int(tight[k]),
            "calls_within_1_percent": int(near[k]),
            "least_slack_ns": int(ascending[first[k]]) if count[k] else None,
            "median_slack_ns": int(ascending[first[k] + (count[k] - 1) // 2]) if count[k] else None,
        }
        for k in range(groups)
    ]


def _longest(length: I8, most: int) -> list[int]:
    """Return the rows of the longest pieces, in the order of time."""
    order = np.lexsort((np.arange(len(length)), -length))[:most]
    return np.sort(order).tolist()


def _piece(trace: Trace, path: Pieces, row: int) -> Piece:
    call = int(path.call[row])
    return Piece(
        kind=KINDS[path.kind[row]],
        **asdict(blocks.location(trace, int(path.location[row]))),
        region=blocks.region_path(trace, int(path.path[row])),
        call=f"e{call}" if call >= 0 else None,
        routine=operations.OPS[trace.calls.op[call]] if call >= 0 else None,
        begin_ns=int(path.begin[row]),
        length_ns=int(path.length[row]),
    )
