"""Parts of the report of `perwiz patterns`: statistics of the instances of each pattern, and which metahost waits for which."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.patterns.library import grid
from perwiz.patterns.pattern import Instances
from perwiz.patterns.search import Findings
from perwiz.report.blocks import Document

_METAHOSTS = 8
"""Rows and columns of a matrix in the text."""


def statistics(findings: Findings, names: list[str]) -> list[Document]:
    """Return how severe the instances of each pattern are: exact, of all instances; the variance is over their number, ns squared."""
    return [{"pattern": name, "title": _title(findings, name), **_summary(findings.instances[name])} for name in names]


def _summary(some: Instances) -> Document:
    if not len(some):
        keys = ("mean_ns", "median_ns", "min_ns", "max_ns", "variance_ns2", "q25_ns", "q75_ns")
        return {"count": 0, "sum_ns": 0, **dict.fromkeys(keys)}
    value = some.severity
    low, middle, high = (float(part) for part in np.quantile(value, (0.25, 0.5, 0.75)))
    return {
        "count": len(some),
        "sum_ns": int(value.sum()),
        "mean_ns": float(value.mean()),
        "median_ns": middle,
        "min_ns": int(value.min()),
        "max_ns": int(value.max()),
        "variance_ns2": float(value.var()),
        "q25_ns": low,
        "q75_ns": high,
    }


def metahosts(findings: Findings) -> Document | None:
    """Return who waits for whom, by metahost, in each pattern that has a late process; None if there is one metahost."""
    trace = findings.severity.trace
    if not grid.several(trace):
        return None
    numbers = np.unique(trace.locations.metahost).tolist()
    twins = {twin.name for twin in grid.TWINS}
    rows = []
    for name, some in findings.instances.items():
        found = grid.matrix(trace, some)
        if name not in twins and found.instances.any():
            waits = {"severity_ns": found.severity.tolist(), "instances": found.instances.tolist()}
            rows.append({"pattern": name, "title": _title(findings, name), **waits})
    return {"names": [grid.name(trace, number) for number in numbers], "patterns": rows}


def _title(findings: Findings, name: str) -> str:
    return next(metric.title for metric in findings.severity.metrics if metric.name == name)


def statistics_lines(rows: list[Document]) -> list[str]:
    """Return the table of statistics; patterns without instances are left out."""
    keys = ("sum_ns", "mean_ns", "min_ns", "q25_ns", "median_ns", "q75_ns", "max_ns")
    cells = [
        [words.shown(row["title"]), str(row["count"]), *(words.duration(round(row[key])) for key in keys), _deviation(row)]
        for row in rows
        if row["count"]
    ]
    return words.table(["pattern", "instances", "sum", "mean", "least", "25 %", "median", "75 %", "most", "deviation"], cells)


def _deviation(row: Document) -> str:
    return words.duration(round(row["variance_ns2"] ** 0.5))


def metahost_lines(block: Document) -> list[str]:
    """Return a table per pattern: a row per metahost that waits, a column per metahost of the late process."""
    names = [words.shown(name, 20) for name in block["names"][:_METAHOSTS]]
    more = len(block["names"]) - len(names)
    cells = [
        [words.shown(row["title"]), name, *(words.duration(value) for value in waits[: len(names)])]
        for row in block["patterns"]
        for name, waits in zip(names, row["severity_ns"], strict=False)
        if any(waits)
    ]
    lines = words.table(["pattern", "who waits", *(f"for {name}" for name in names)], cells, left=(0, 1))
    return [*lines, *([f"and {more} more metahosts (--json lists all)"] if more else [])]
