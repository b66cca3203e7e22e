"""Parts of the report of `perwiz patterns`: what the waiting comes from, and the parallel efficiencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from perwiz import words
from perwiz.patterns.analysis import counters, efficiency
from perwiz.patterns.analysis.causes import Explained
from perwiz.patterns.analysis.counters import Work
from perwiz.patterns.analysis.efficiency import Efficiency
from perwiz.patterns.idle import routines
from perwiz.patterns.library.collectives import START
from perwiz.report import blocks, counts
from perwiz.report.blocks import Facts, Part
from perwiz.report.patterns.hybrid import shown
from perwiz.report.patterns.records import Causes, CostlyPath, Efficiencies, Reference
from perwiz.trace.arrays import F8, I8
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

_PATH = 56
"""Columns of a call path in a table."""
_MOST_LEFT = 0.001
"""Share of the waiting that need not be explained."""
_MOSTLY = 2 / 3
"""Part of a cost from which on the location that has most of it is named."""
_LITTLE, _FEW = 0.02, 3
"""Share of the waiting below which a cause is listed only if more rows are asked for, and how many are listed in any case."""
_OF_TEAMS = "omp_idle_threads"
_IDLE = (_OF_TEAMS, "device_idle")
_SHORT = 0.01
"""Share of the program's time below which a region is not shown."""


def causes(explained: Explained | None, rows: int) -> Causes | None:
    """Return what the waiting comes from: the `rows` call paths that cost most, and the critical path; None if nobody asked."""
    if explained is None:
        return None
    waits, cube, path = explained.causes.waits, explained.findings.severity, explained.impact
    teams = _OF_TEAMS not in waits.kinds or in_teams(cube.trace)
    kinds = np.array([place for place, kind in enumerate(waits.kinds) if teams or kind != _OF_TEAMS], "i8")
    cost = explained.causes.cost[kinds].sum(axis=2)
    idle = [place for place in kinds.tolist() if waits.kinds[place] in _IDLE]
    inits = np.flatnonzero(START[cube.tree.op] & (cube.tree.op >= 0))
    total = cost.sum(axis=(0, 1))
    longest, costly = np.argsort(-total, kind="stable")[:rows], int((total > 0).sum())
    return Causes(
        waiting_ns=int(waits.instances.severity[np.isin(waits.kind, kinds)].sum()),
        explained_ns=round(float(cost.sum())),
        idle_in_init_ns=round(float(explained.causes.cost[idle].sum(axis=(1, 2))[:, inits].sum())),
        call_paths=[_costly(explained, kinds, node) for node in longest.tolist() if total[node] > 0],
        more_call_paths=max(0, costly - rows),
        critical_path_ns=path.length,
        critical_path_changes=path.changes,
        critical_path_imbalance_ns=cube.total("critical_path_imbalance"),
        indirect_ns=cube.total("mpi_wait_indirect"),
        propagating_ns=cube.total("mpi_wait_propagating"),
    )


def in_teams(trace: Trace) -> bool:
    """Return whether threads that idle may be given any work: not those of libraries that do one thing each, as of a training job."""
    return trace.share.any(routines("omp_idle", "pthread_idle")[trace.calls.op[trace.share.calls]].any())


def _costly(explained: Explained, kinds: I8, node: int) -> CostlyPath:
    """Return what a call path costs others in waits of some kinds."""
    cube, names = explained.findings.severity, [explained.causes.waits.kinds[place] for place in kinds.tolist()]
    delay: F8 = explained.causes.cost[kinds][:, :, :, node]
    by_location, by_kind = delay.sum(axis=(0, 1)), delay.sum(axis=(1, 2))
    worst = int(by_location.argmax())
    return CostlyPath(
        call_path=cube.tree.full_name(node),
        cost_ns=round(float(delay.sum())),
        short_term_ns=round(float(delay[:, 0].sum())),
        long_term_ns=round(float(delay[:, 1].sum())),
        worst=blocks.location(cube.trace, worst),
        worst_ns=round(float(by_location[worst])),
        patterns={name: round(float(cost)) for name, cost in zip(names, by_kind, strict=True) if cost},
    )


def cause_lines(causes: Causes, titles: dict[str, str]) -> list[str]:
    """Return the table of what the waiting comes from; `titles` of patterns."""
    rows = []
    for row, path in zip(causes.call_paths, words.apart([row.call_path for row in causes.call_paths], _PATH), strict=True):
        most = max(row.patterns, key=lambda name: row.patterns[name])
        rows.append(
            [
                path,
                words.duration(row.cost_ns),
                _of_waiting(causes, row),
                words.duration(row.short_term_ns),
                words.duration(row.long_term_ns),
                f"{words.rank(row.worst.rank, row.worst.thread)}: {words.duration(row.worst_ns)}",
                f"{words.shown(titles[most])} {words.percent(row.patterns[most], row.cost_ns)}",
            ]
        )
    head = ["call path, on the late side", "delay cost", "of waiting", "short term", "long term", "worst rank", "mostly as"]
    return words.table(head, rows, left=(0, 6))


def _of_waiting(causes: Causes, row: CostlyPath) -> str:
    """Return what part of the waiting, MPI_Init left out, a call path costs."""
    init = causes.idle_in_init_ns and row.call_path.rpartition("/")[2].startswith("MPI_Init")
    return "-" if init else words.percent(row.cost_ns, causes.waiting_ns - causes.idle_in_init_ns)


def answer(causes: Causes | None, who: str) -> Facts:
    """Return where most of the waiting comes from, MPI_Init left out; `who` is what a location is called."""
    rows = causes.call_paths if causes else []
    row = next((row for row in rows if not row.call_path.rpartition("/")[2].startswith("MPI_Init")), None)
    if causes is None or row is None:
        return []
    of = "waits and idle threads" if any(name in _IDLE for row in rows for name in row.patterns) else "the waiting"
    cost = f"{words.duration(row.cost_ns)} ({_of_waiting(causes, row)}) of {of}"
    most = ", mostly" if row.worst_ns < row.cost_ns else ""
    where = f"{most} on rank {words.rank(row.worst.rank, row.worst.thread)}" if row.worst_ns >= _MOSTLY * row.cost_ns else ""
    return [("main cause", f"{words.shown(row.call_path, _PATH)}{where}: {cost} is for a {who} that spends more time there than others")]


def shortened(causes: Causes) -> Causes:
    """Return causes without those that cost little, but for the first; how many are left out is told."""
    count = sum(row.cost_ns >= _LITTLE * causes.waiting_ns for row in causes.call_paths)
    kept = causes.call_paths[: max(count, _FEW)]
    return replace(causes, call_paths=kept, more_call_paths=causes.more_call_paths + len(causes.call_paths) - len(kept))


def more(left: int, shown: int) -> list[str]:
    """Return the line below a list that leaves rows out: how many, and how to see them."""
    return [f"and {left} more (-n {left + shown} lists all)"] if left else []


def lines(causes: Causes | None, titles: dict[str, str], who: str, part: Part) -> list[str]:
    """Return the section of causes: what it shows, the table and what the table leaves out; nothing if there are none.

    `who` is what a location is called, `part` that of the run that is asked about, if not all is.
    """
    if causes is None or not causes.call_paths:
        return []
    title = f"causes, by delay cost: others waited so long because a {who} spent more time here than they (long term: via others)"
    left, above, length = causes.waiting_ns - causes.explained_ns, causes.critical_path_imbalance_ns, causes.critical_path_ns
    out = ["", title, *cause_lines(causes, titles), *more(causes.more_call_paths, len(causes.call_paths))]
    if left > _MOST_LEFT * causes.waiting_ns:
        idle = "" if who == "process" else ", threads that get no more work"
        why = f"what was before the {part}" if part else f"nothing recorded: for processes that began late{idle}, or clocks are wrong"
        out.append(f"{words.duration(left)} of waiting is for {why}")
    path = f"critical path, recorded times: {words.duration(length)}"
    changes = f"goes {words.several(causes.critical_path_changes, 'time')} to another {who}"
    return [*out, f"{path}, {changes}, {words.percent(above, length)} of it above the mean of all"]


def efficiencies(run: Run, explained: Explained | None) -> list[Efficiencies]:
    """Return the efficiencies of the program and of its regions; none if nobody asked for causes."""
    if explained is None or not len(run.trace.locations):
        return []
    cube = explained.findings.severity
    rows = [_efficiencies(part) for part in efficiency.efficiencies(run, cube)]
    rows.sort(key=lambda row: (row.region, row.name == efficiency.PROGRAM, -row.time_ns))
    _program(rows).estimated_ideal_ns = efficiency.estimate(cube)
    return rows


def _program(rows: Sequence[Efficiencies]) -> Efficiencies:
    """Return the row of the whole program."""
    return next(row for row in rows if row.name == efficiency.PROGRAM)


def reference(run: Run, rows: Sequence[Efficiencies], path: str, computation: I8, work: Work) -> Reference:
    """Return how a run scales from a reference run, whose computation per process, and what it took, is given; `rows` are efficiencies."""
    share = efficiency.scaling(efficiency.computation(run.trace), computation)
    return Reference(
        trace=path,
        processes=len(computation),
        computation_ns=int(computation.sum()),
        computation_scaling=share,
        global_efficiency=share * _program(rows).parallel,
        counted=counters.scaling(efficiency.work(run.trace), work),
    )


def reference_line(reference: Reference) -> str:
    """Return what a reference run says."""
    scaled, whole = shown(reference.computation_scaling).rstrip(), shown(reference.global_efficiency).rstrip()
    processes = words.several(reference.processes, "process")
    counted = f" ({counts.factors(reference.counted)})" if reference.counted else ""
    return f"against {words.shown(reference.trace)} of {processes}: computation scaling {scaled}{counted}, global efficiency {whole}"


def _efficiencies(part: Efficiency) -> Efficiencies:
    return Efficiencies(
        name=part.name,
        region=part.region,
        time_ns=part.time,
        ideal_ns=part.ideal,
        mean_useful_ns=float(part.useful.mean()),
        max_useful_ns=int(part.useful.max()),
        load_balance=part.load_balance,
        serialisation=part.serialisation,
        transfer=part.transfer,
        communication=part.communication,
        parallel=part.parallel,
        ipc=part.work.ipc,
        frequency_ghz=part.work.frequency_ghz,
        instruction_balance=part.work.instruction_balance,
    )


def part_name(name: str, region: bool, first: str) -> str:
    """Return what a part is called in a table whose first row is `first`: the program has MPI_Init in it, which that may leave out."""
    return "program, MPI_Init in it" if not region and (name, first) == (efficiency.PROGRAM, efficiency.BETWEEN) else name


def efficiency_lines(rows: Sequence[Efficiencies], regions: bool) -> list[str]:
    """Return the table of efficiencies: of the program, without MPI_Init first if that is shown, and of its regions on request."""
    least = _SHORT * _program(rows).time_ns
    kept = [row for row in rows if not row.region or (regions and row.time_ns >= least)]
    short = sum(row.region for row in rows) - sum(row.region for row in kept)
    lines = [
        [
            words.shown(part_name(row.name, row.region, rows[0].name), _PATH),
            words.duration(row.time_ns),
            words.duration(row.ideal_ns),
            *map(shown, (row.load_balance, row.serialisation, row.transfer, row.communication, row.parallel)),
            *counts.rates(row, kept[0]),
        ]
        for row in kept
    ]
    estimate = words.duration(_program(rows).estimated_ideal_ns or 0)
    guess = f"ideal: replayed, with calls and messages that take no time; estimated from sums: {estimate}"
    more = [f"and {words.several(short, 'region')} shorter than 1 % of it (--json lists all)"] if regions and short else []
    head = ["part", "time", "ideal", "balance", "serialisation", "transfer", "communication", "parallel", *counts.heads(kept[0])]
    return [*words.table(head, lines, spare=(2, 1, 6)), *more, guess]
