"""The report of `perwiz patterns` as a JSON document."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from perwiz import words
from perwiz.errors import UsageError
from perwiz.loggps.weigh import synchronous
from perwiz.patterns.analysis.causes import NAMES, Explained
from perwiz.patterns.analysis.worth import Sites, Worth
from perwiz.patterns.library import grid
from perwiz.patterns.library.basics import metric_of
from perwiz.patterns.library.threads import IdleThreads
from perwiz.patterns.metrics import NS, Metric, ancestors
from perwiz.patterns.pattern import Pattern
from perwiz.patterns.search import Findings
from perwiz.patterns.severity import full
from perwiz.report import blocks, misfit, spans
from perwiz.report.patterns import causes, hybrid, tables
from perwiz.report.patterns.records import Instance, MetricTotal, PatternsDocument, ProcessTimes, WaitingPath
from perwiz.report.records import Span
from perwiz.trace import operations
from perwiz.trace.spread.team import texts
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.run import Run
from perwiz.whatif.worth import worth as fixes

_TWINS = frozenset(twin.name for twin in grid.TWINS)


def known(name: str | None, patterns: Sequence[type[Pattern]]) -> str | None:
    """Return the name of a pattern. Raises UsageError if there is none of that name."""
    names = [pattern.name for pattern in patterns]
    if name is not None and name not in names:
        plain = ", ".join(name for name in names if name not in _TWINS)
        raise UsageError(f"pattern '{name}': must be one of {plain}, or grid_ or ngrid_ before such a name{words.meant(name, names)}")
    return name


def document(
    run: Run, findings: Findings, worth: Worth, pattern: str | None, rows: int, explained: Explained | None = None
) -> PatternsDocument:
    """Return the findings: the tree of metrics, per metric the `rows` call paths with most of it."""
    findings = findings if explained is None else explained.findings
    cube = findings.severity
    chosen = [name for name in _below(findings, pattern) if pattern or name != IdleThreads.name or causes.in_teams(run.trace)]
    base = blocks.shares_of(run.trace, run.makespan)
    part = _shares(run, findings)
    mpi = run.trace.share.any(operations.MPI[run.trace.calls.op[run.trace.share.calls]].any())
    every = _call_paths(findings, worth, run.makespan, chosen)
    listed = [name for name in chosen if name in findings.waits] if pattern is None else chosen[:1]
    paths, severe = every[:rows], _instances(run, findings, listed, rows)
    bound, best = (None, None) if run.trace.share.team else _spans(run, paths)
    return PatternsDocument(
        **blocks.head(run.trace),
        makespan_ns=run.makespan,
        shares_of_ns=base,
        waiting_ns=worth.waiting,
        model_waiting_ns=run.trace.share.total(int(run.waits.time[run.trace.share.calls].sum())),
        bound_ns=worth.every,
        bound_span=bound,
        best_span=best,
        of=pattern,
        metrics=[_metric(findings, worth, run.makespan, metric, part, mpi) for metric in cube.metrics if cube.total(metric.name)],
        call_paths=paths,
        more_call_paths=len(every) - len(paths),
        instances=severe,
        more_instances=sum(findings.counts[name] for name in listed) - len(severe),
        statistics=tables.statistics(findings, list(findings.instances) if pattern is None else chosen),
        causes=causes.causes(explained, rows),
        efficiencies=causes.efficiencies(run, explained),
        hybrid=hybrid.document(run) if explained else None,
        talp=hybrid.talp_document(run) if explained else None,
        teams=hybrid.teams_document(run) if explained else None,
        reference=None,
        processes=_processes(run, findings, pattern),
        metahosts=tables.metahosts(findings),
        failures=list(findings.failures),
        eager_late_receivers=_eager(run, findings),
        **misfit.modelled(run),
    )


def _spans(run: Run, paths: Sequence[WaitingPath]) -> tuple[Span, Span | None]:
    """Return between which makespans the true ones lie if no call waited, and if none of the first call path did."""
    first = [path.change for path in paths[:1] if path.change and path.gain_ns]
    named = [np.flatnonzero(selectors.calls(run.trace, shlex.split(change)[1])).astype("i4") for change in first]
    calls = [np.broadcast_to(np.True_, len(run.trace.calls)), *named]
    found = [spans.span(span) for span in fixes.spans(run, "zero-wait", calls)]
    return found[0], found[1] if len(found) > 1 else None


def _below(findings: Findings, pattern: str | None) -> list[str]:
    """Return the patterns to list: that one and its special cases, by default those that are a special case of none."""
    if pattern is None:
        return [
            metric.name
            for metric in findings.severity.metrics
            if metric.name in findings.instances and not _refines(findings, metric.parent)
        ]
    out: list[str] = []
    for metric in findings.severity.metrics:
        if metric.name == pattern or metric.parent in out:
            out.append(metric.name)
    return [name for name in out if name in findings.instances]


def _refines(findings: Findings, parent: str) -> bool:
    return parent in findings.instances or parent in (grid.BETWEEN, grid.WITHIN)


def _shares(run: Run, findings: Findings) -> dict[str, float]:
    """Return what part each time is of all processes' time (`selectors.since_inits`); of what is told of them the same is left out.

    What threads and streams are idle while their process is in MPI_Init is left out as well: nothing could be given to them.
    """
    cube, inits = findings.severity, findings.severity.tree.of_calls(run.trace, selectors.init_calls(run.trace))
    inits = run.trace.share.distinct(inits)
    after = {metric.name: cube.total(metric.name) for metric in cube.metrics if metric.unit == NS and metric.name not in NAMES}
    begin = selectors.inits_left(run.trace)
    if begin is not None:
        after.pop("mpi_init_completion", None)
        after = {name: total - int(full(cube, name)[inits].sum()) for name, total in after.items()}
        tree = {metric.name: metric for metric in cube.metrics}
        for leaf, time in _before(run.trace, begin, cube.total("time") - after["time"]):
            for name in ancestors(leaf, tree):
                after[name] -= time
        after["time"] += selectors.since_inits(run.trace)[1]
    return {name: total / after["time"] for name, total in after.items() if after["time"] > 0}


def _before(trace: Trace, begin: int, in_init: int) -> list[tuple[str, int]]:
    """Return (metric, ns) of what processes and threads did before an instant, but for the ns that they were in MPI_Init."""
    ends, stream = trace.timeline.locations, trace.locations.kind == STREAM
    calls = np.zeros(len(trace.calls), bool)
    calls[trace.share.calls] = True
    calls &= ~stream[trace.calls.location] & ~np.isin(trace.calls.op, operations.INITS)
    sums = np.bincount(trace.calls.op[calls], selectors.before_inits_left(trace)[calls], len(operations.OPS)).astype("i8")
    sums = trace.share.reduced(sums, "sum")
    outside = int(np.maximum(np.minimum(ends.leave, begin) - ends.enter, 0)[~stream].sum()) - in_init - int(sums.sum())
    by_metric = [(metric_of(op), int(sums[op])) for op in np.flatnonzero(sums).tolist()]
    return [("comp", max(outside, 0)), *((name, time) for name, time in by_metric if name)]


def _eager(run: Run, findings: Findings) -> int:
    """Return how many late receivers hold up nobody by the model: their messages are eager."""
    late = findings.instances.get("mpi_latereceiver")
    if late is None:
        return 0
    eager = ~synchronous(run.trace, run.weighted.model)[late.message]
    return run.trace.share.total(int(eager.sum()))


def _metric(findings: Findings, worth: Worth, makespan: int, metric: Metric, part: dict[str, float], mpi: bool) -> MetricTotal:
    name = metric.name
    return MetricTotal(
        name=name,
        title=metric.shown(mpi),
        parent=metric.parent or None,
        unit=metric.unit,
        meaning=metric.meaning,
        total=findings.severity.total(name),
        share=part.get(name),
        instances=findings.counts.get(name),
        **_gain(makespan, worth.whole.get(name)),
    )


def _gain(makespan: int, sites: Sites | None) -> dict[str, Any]:
    """Return the fields of a gain: what waits it is of, how large it is, and the option of `perwiz predict` that has it."""
    if sites is None:
        return {"sites_wait_ns": None, "gain_ns": None, "change": None}
    change = sites.hypothesis and blocks.option(sites.hypothesis)
    return {"sites_wait_ns": sites.waiting, "gain_ns": makespan - sites.makespan, "change": change}


def _call_paths(findings: Findings, worth: Worth, makespan: int, names: list[str]) -> list[WaitingPath]:
    """Return the (pattern, call path) with most gain, then most severity; those that do not wait come last."""
    cube = findings.severity
    titles = {metric.name: metric.title for metric in cube.metrics}
    paths = []
    for name in names:
        nodes = cube.tree.of_calls(cube.trace, findings.instances[name].call)
        count = cube.trace.share.reduced(np.bincount(nodes, minlength=len(cube.tree)), "sum")
        severity = cube.by_node(name)
        for node in np.flatnonzero(severity).tolist():
            by_location = cube.cells[name].value[np.searchsorted(cube.cells[name].node, node)]
            paths.append(
                WaitingPath(
                    pattern=name,
                    title=titles[name],
                    call_path=cube.tree.full_name(node),
                    severity_ns=int(severity[node]),
                    instances=int(count[node]),
                    worst=blocks.location(cube.trace, int(by_location.argmax())),
                    worst_ns=int(by_location.max()),
                    **_gain(makespan, worth.by_node.get((name, node))),
                )
            )
    paths.sort(key=lambda path: (path.gain_ns is None, -(path.gain_ns or 0), -path.severity_ns))
    return paths


def _instances(run: Run, findings: Findings, names: list[str], rows: int) -> list[Instance]:
    """Return the most severe instances."""
    severe = []
    for name in names:
        instances = findings.instances[name]
        for row in np.argsort(-instances.severity, kind="stable")[:rows].tolist():
            cause = int(instances.cause[row])
            severe.append(
                Instance(
                    **asdict(blocks.call(run.trace, int(instances.call[row]))),
                    pattern=name,
                    severity_ns=int(instances.severity[row]),
                    cause=blocks.call(run.trace, cause) if cause >= 0 else None,
                )
            )
    return sorted(_of_all(run, severe, names), key=lambda instance: -instance.severity_ns)[:rows]


def _of_all(run: Run, severe: list[Instance], names: list[str]) -> list[Instance]:
    """Return the most severe instances of all processes, pattern by pattern in the order of their calls, given those of this one."""
    team = run.trace.share.team
    if team is None:
        return severe
    every = [each for told in texts(team, msgspec.json.encode(severe).decode()) for each in msgspec.json.decode(told, type=list[Instance])]
    return sorted(every, key=lambda instance: names.index(instance.pattern))


def _processes(run: Run, findings: Findings, pattern: str | None) -> list[ProcessTimes]:
    """Return, per location, its time, its time in MPI, and the severity of every pattern there."""
    cube = findings.severity
    names = [name for name in findings.instances if cube.total(name)] if pattern is None else _below(findings, pattern)
    columns = {f"{name}_ns": cube.by_location(name) for name in ("time", "mpi", *names)}
    return [
        asdict(blocks.location(run.trace, row)) | {name: int(values[row]) for name, values in columns.items()}
        for row in range(len(run.trace.locations))
    ]
