"""Parts of the report of `perwiz patterns`: statistics of the instances of each pattern, and which metahost waits for which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.patterns.library import grid
from perwiz.patterns.search import Findings
from perwiz.report import blocks
from perwiz.report.patterns.records import Metahosts, MetahostWaits, Statistics
from perwiz.trace.arrays import I8, chunks
from perwiz.trace.spread.share import Share
from perwiz.trace.spread.team import texts

_METAHOSTS = 8
"""Rows and columns of a matrix in the text."""


def statistics(findings: Findings, names: list[str]) -> list[Statistics]:
    """Return how severe the instances of each pattern are: exact, of all instances; the variance is over their number, ns squared."""
    share = findings.severity.trace.share
    return [_summary(name, _title(findings, name), findings.instances[name].severity, findings.counts[name], share) for name in names]


def _summary(pattern: str, title: str, severity: I8, count: int, share: Share) -> Statistics:
    if not count:
        return Statistics(pattern=pattern, title=title, count=0, sum_ns=0)
    low, middle, high = (share.quantile(severity, part) for part in (0.25, 0.5, 0.75))
    total, squares = share.total(int(severity.sum())), _squares(severity, share)
    return Statistics(
        pattern=pattern,
        title=title,
        count=count,
        sum_ns=total,
        mean_ns=total / count,
        median_ns=middle,
        min_ns=share.ranked(severity, 0),
        max_ns=share.ranked(severity, count - 1),
        variance_ns2=(count * squares - total**2) / count**2,
        q25_ns=low,
        q75_ns=high,
    )


def _squares(values: I8, share: Share) -> int:
    """Return the sum of the squares of times from 0 to 2^60, of all processes, exactly: 20 bits by 20 bits."""
    out, shifts = 0, (0, 20, 40)
    for piece in chunks(len(values)):
        parts = [values[piece] >> shift & 0xFFFFF for shift in shifts]
        out += sum(int(one @ other) << a + b for one, a in zip(parts, shifts, strict=True) for other, b in zip(parts, shifts, strict=True))
    return out if share.team is None else sum(map(int, texts(share.team, str(out))))


def metahosts(findings: Findings) -> Metahosts | None:
    """Return who waits for whom, by metahost, in each pattern that has a late process; None if there is one metahost."""
    trace = findings.severity.trace
    if not grid.several(trace):
        return None
    twins = {twin.name for twin in grid.TWINS}
    matrices = {name: grid.matrix(trace, instances) for name, instances in findings.instances.items() if name not in twins}
    return Metahosts(
        names=[grid.name(trace, number) for number in np.unique(trace.locations.metahost).tolist()],
        patterns=[
            MetahostWaits(
                pattern=name,
                title=_title(findings, name),
                severity_ns=matrix.severity.tolist(),
                instances=matrix.instances.tolist(),
            )
            for name, matrix in matrices.items()
            if matrix.instances.any()
        ],
    )


def _title(findings: Findings, name: str) -> str:
    return next(metric.title for metric in findings.severity.metrics if metric.name == name)


def statistics_lines(rows: Sequence[Statistics]) -> list[str]:
    """Return the table of statistics; patterns without instances are left out."""
    cells = [
        [
            words.shown(row.title),
            str(row.count),
            *(_time(ns) for ns in (row.sum_ns, row.mean_ns, row.min_ns, row.q25_ns, row.median_ns, row.q75_ns, row.max_ns)),
            _time((row.variance_ns2 or 0) ** 0.5),
        ]
        for row in rows
        if row.count
    ]
    return words.table(["pattern", "instances", "sum", "mean", "least", "25 %", "median", "75 %", "most", "deviation"], cells)


def _time(ns: float | None) -> str:
    return words.duration(round(ns or 0))


def metahost_lines(metahosts: Metahosts) -> list[str]:
    """Return a table per pattern: a row per metahost that waits, a column per metahost of the late process."""
    names = [words.shown(name, 20) for name in metahosts.names[:_METAHOSTS]]
    cells = [
        [words.shown(row.title), name, *(words.duration(value) for value in waits[: len(names)])]
        for row in metahosts.patterns
        for name, waits in zip(names, row.severity_ns, strict=False)
        if any(waits)
    ]
    lines = words.table(["pattern", "who waits", *(f"for {name}" for name in names)], cells, left=(0, 1))
    return [*lines, *blocks.more(metahosts.names, len(names), " metahosts")]
