"""The report of `perwiz patterns`: a JSON document, and the text made from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz.errors import UsageError
from perwiz.patterns import grid
from perwiz.patterns.causes import NAMES, Explained
from perwiz.patterns.metrics import NS
from perwiz.patterns.pattern import Pattern
from perwiz.patterns.search import Findings
from perwiz.patterns.worth import Worth
from perwiz.report import parts, patterns_causes, patterns_parts, words
from perwiz.report.parts import Document
from perwiz.whatif.run import Run

VERSION = 1
"""Version of the document; patterns.schema.json describes it."""
_PATH = 50
"""Columns of a call path in a table."""
_PROCESSES = 16


def known(name: str | None, patterns: Sequence[type[Pattern]]) -> str | None:
    """Return the name of a pattern. Raises UsageError if there is none of that name."""
    names = [pattern.name for pattern in patterns]
    if name is not None and name not in names:
        raise UsageError(f"pattern '{name}': must be one of {', '.join(names)}")
    return name


def document(run: Run, findings: Findings, worth: Worth, of: str | None, rows: int, explained: Explained | None = None) -> Document:
    """Return the findings as a JSON document: the tree of metrics, per metric the `rows` call paths with most of it; times in ns."""
    findings = findings if explained is None else explained.findings
    cube = findings.severity
    chosen = _below(findings, of)
    return {
        "version": VERSION,
        "command": "patterns",
        "trace": run.trace.path,
        "format": run.trace.format,
        "made_by": run.trace.timeline.made_by,
        "makespan_ns": run.makespan,
        "replay_error_ns": run.replay_error,
        "of": of,
        "metrics": [_metric(findings, worth, run.makespan, metric.name) for metric in cube.metrics if cube.total(metric.name)],
        "call_paths": _call_paths(findings, worth, run.makespan, chosen, rows),
        "instances": _instances(run, findings, chosen, rows),
        "statistics": patterns_parts.statistics(findings, list(findings.instances) if of is None else chosen),
        "causes": patterns_causes.causes(explained, rows),
        "efficiencies": patterns_causes.efficiencies(run, explained),
        "reference": None,
        "processes": _processes(run, findings, of),
        "metahosts": patterns_parts.metahosts(findings),
        "failures": list(findings.failures),
        "model": parts.model(run.weighted.model),
        "health": parts.health(run.health()),
    }


def _below(findings: Findings, of: str | None) -> list[str]:
    """Return the patterns to list: that one and its special cases, by default those that are a special case of none."""
    if of is None:
        return [
            metric.name
            for metric in findings.severity.metrics
            if metric.name in findings.instances and not _refines(findings, metric.parent)
        ]
    out: list[str] = []
    for metric in findings.severity.metrics:
        if metric.name == of or metric.parent in out:
            out.append(metric.name)
    return [name for name in out if name in findings.instances]


def _refines(findings: Findings, parent: str) -> bool:
    return parent in findings.instances or parent in (grid.BETWEEN, grid.WITHIN)


def _metric(findings: Findings, worth: Worth, makespan: int, name: str) -> Document:
    cube = findings.severity
    metric = next(metric for metric in cube.metrics if metric.name == name)
    searched = name in findings.instances
    return {
        "name": name,
        "title": metric.title,
        "parent": metric.parent or None,
        "unit": metric.unit,
        "meaning": metric.meaning,
        "total": cube.total(name),
        "instances": len(findings.instances[name]) if searched else None,
        "gain_ns": makespan - worth.whole[name] if name in worth.whole else None,
    }


def _call_paths(findings: Findings, worth: Worth, makespan: int, names: list[str], rows: int) -> list[Document]:
    """Return the (pattern, call path) with most gain, then most severity."""
    cube, out = findings.severity, list[Document]()
    for name in names:
        some = findings.instances[name]
        node = cube.tree.of_calls(cube.trace, some.call)
        count = np.bincount(node, minlength=len(cube.tree))
        severity = cube.by_node(name)
        for at in np.flatnonzero(severity).tolist():
            by_location = cube.cells[name].value[np.searchsorted(cube.cells[name].node, at)]
            out.append(
                {
                    "pattern": name,
                    "title": next(metric.title for metric in cube.metrics if metric.name == name),
                    "call_path": cube.tree.full_name(at),
                    "severity_ns": int(severity[at]),
                    "instances": int(count[at]),
                    "worst": words.location(cube.trace, int(by_location.argmax())),
                    "worst_ns": int(by_location.max()),
                    "gain_ns": makespan - worth.by_node[name, at] if (name, at) in worth.by_node else None,
                }
            )
    out.sort(key=lambda row: (-(row["gain_ns"] or 0), -row["severity_ns"]))
    return out[:rows]


def _instances(run: Run, findings: Findings, names: list[str], rows: int) -> list[Document]:
    """Return the most severe instances."""
    out = list[Document]()
    for name in names:
        some = findings.instances[name]
        for at in np.argsort(-some.severity, kind="stable")[:rows].tolist():
            cause = int(some.cause[at])
            row = words.call(run.trace, int(some.call[at])) | {"pattern": name, "severity_ns": int(some.severity[at])}
            out.append(row | {"cause": words.call(run.trace, cause) if cause >= 0 else None})
    return sorted(out, key=lambda row: -row["severity_ns"])[:rows]


def _processes(run: Run, findings: Findings, of: str | None) -> list[Document]:
    """Return, per location, its time, its time in MPI, and the severity of every pattern there."""
    cube = findings.severity
    names = [name for name in findings.instances if cube.total(name)] if of is None else _below(findings, of)
    columns = {name: cube.by_location(name) for name in ("time", "mpi", *names)}
    return [
        {**words.location(run.trace, at), **{f"{name}_ns": int(values[at]) for name, values in columns.items()}}
        for at in range(len(run.trace.locations))
    ]


def text(block: Document, locations: bool, statistics: bool = False, regions: bool = False) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [*words.wrapped(f"{words.shown(block['trace'])}: wait states{mark}", 2), ""]
    lines += _metric_lines(block)
    if block["efficiencies"]:
        lines += ["", "parallel efficiencies", *patterns_causes.efficiency_lines(block["efficiencies"], regions)]
        lines += [patterns_causes.reference_line(block["reference"])] if block["reference"] else []
    if block["call_paths"]:
        lines += ["", "call paths, by what their waiting is worth", *_path_lines(block)]
    if block["causes"] and block["causes"]["call_paths"]:
        titles = {row["name"]: row["title"] for row in block["metrics"]}
        lines += ["", "causes, by delay cost", *patterns_causes.cause_lines(block["causes"], titles)]
    if block["instances"]:
        lines += ["", "most severe instances", *_instance_lines(block)]
    if block["metahosts"] and block["metahosts"]["patterns"]:
        lines += ["", "who waits for whom, by metahost", *patterns_parts.metahost_lines(block["metahosts"])]
    if statistics and block["instances"]:
        lines += ["", "instances", *patterns_parts.statistics_lines(block["statistics"])]
    if locations:
        lines += ["", *_location_lines(block)]
    meanings = [("gain", "of the makespan, replayed, if those calls waited for nobody"), *patterns_causes.facts(block["causes"])]
    lines += ["", *words.facts([*meanings, *_base(block)])]
    return "\n".join([*lines, "", *parts.health_lines(block["health"])])


def _base(block: Document) -> parts.Facts:
    off = block["replay_error_ns"]
    replayed = f"is at most {words.duration(off)} off the recorded one" if off else "is exactly the recorded one"
    return [
        ("makespan", words.duration(block["makespan_ns"])),
        ("replay", f"the unchanged run {replayed}"),
        *parts.model_facts(block["model"]),
    ]


def _metric_lines(block: Document) -> list[str]:
    """Return the tree of time metrics, indented, with shares of all processes' time."""
    timed = [row for row in block["metrics"] if row["unit"] == NS and row["name"] not in NAMES]
    depth: dict[str | None, int] = {None: 0}
    whole = next((row["total"] for row in timed if row["name"] == "time"), 0)
    lines = []
    for row in timed:
        depth[row["name"]] = depth.get(row["parent"], 0) + 1
        indent = "  " * (depth[row["name"]] - 1)
        count = "" if row["instances"] is None else str(row["instances"])
        gain = "" if row["gain_ns"] is None else words.duration(row["gain_ns"])
        lines.append([indent + words.shown(row["title"]), words.duration(row["total"]), words.percent(row["total"], whole), count, gain])
    return words.table(["metric", "time", "of all", "instances", "gain"], lines)


def _path_lines(block: Document) -> list[str]:
    rows = [
        [
            words.shown(row["title"]),
            words.shown(row["call_path"], _PATH),
            words.duration(row["severity_ns"]),
            str(row["instances"]),
            f"{words.rank(row['worst']['rank'], row['worst']['thread'])}: {words.duration(row['worst_ns'])}",
            "-" if row["gain_ns"] is None else words.duration(row["gain_ns"]),
            "-" if row["gain_ns"] is None else words.percent(row["gain_ns"], block["makespan_ns"]),
        ]
        for row in block["call_paths"]
    ]
    return words.table(["pattern", "call path", "waiting", "instances", "worst rank", "gain", ""], rows, left=(0, 1))


def _instance_lines(block: Document) -> list[str]:
    title = {row["name"]: row["title"] for row in block["metrics"]}
    rows = []
    for row in block["instances"]:
        cause = row["cause"]
        rows.append(
            [
                words.shown(title[row["pattern"]]),
                *(row["call"], words.rank(row["rank"], row["thread"]), row["routine"], words.shown(row["region"], _PATH) or "-"),
                f"{cause['call']} (rank {words.rank(cause['rank'], cause['thread'])}, {cause['routine']})" if cause else "-",
                words.duration(row["severity_ns"]),
            ]
        )
    return words.table(["pattern", "call", "rank", "routine", "region", "because of", "waiting"], rows, left=(0, 1, 3, 4, 5))


def _location_lines(block: Document) -> list[str]:
    """Return the table of processes: all, or those that wait most."""
    waits = [
        key
        for key in (block["processes"] or [{}])[0]
        if key.endswith("_ns") and key not in ("time_ns", "mpi_ns") and not key.startswith(("grid_", "ngrid_"))
    ]
    title = {row["name"]: row["title"] for row in block["metrics"]}
    shown = sorted(waits, key=lambda key: -sum(row[key] for row in block["processes"]))[:5]
    order = sorted(range(len(block["processes"])), key=lambda at: -sum(block["processes"][at][key] for key in shown))
    kept = [block["processes"][at] for at in sorted(order[:_PROCESSES])]
    rows = [[words.rank(row["rank"], row["thread"]), *(words.duration(row[key]) for key in ("time_ns", "mpi_ns", *shown))] for row in kept]
    more = len(block["processes"]) - len(kept)
    names = [words.shown(title.get(key.removesuffix("_ns"), key)) for key in shown]
    return [*words.table(["rank", "time", "MPI", *names], rows), *([f"and {more} more (--json lists all)"] if more else [])]
