"""The text of `perwiz compare`, made from its JSON document. The error of the makespan comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Facts
from perwiz.report.compare.records import Calls, CompareDocument, FurthestCall
from perwiz.whatif.compare.compare import share

_LONGEST = 16
"""Rows of the longest table but that of calls."""
_REGION = 30
Heads = tuple[str, str]
"""What the two runs are called."""
Row = tuple[str, int, int, int]
"""What is compared, its time in both runs, and the error, ns."""


def text(comparison: CompareDocument) -> str:
    """Return the document as text for a terminal."""
    heads = _heads(comparison)
    lines = [*_title(comparison), "", *words.facts(_answer(comparison, heads))]
    lines += ["", *_call_errors(comparison.calls)] if comparison.calls.compared else []
    ends = [(words.rank(row.rank, row.thread), row.end_predicted_ns, row.end_measured_ns, row.end_error_ns) for row in comparison.processes]
    lines += _table("rank", ends, heads, "processes")
    regions = [(words.shown(row.region, 50), row.predicted_ns, row.measured_ns, row.error_ns) for row in comparison.regions]
    lines += _table("region", regions, heads, "regions, time of all processes")
    steps = [
        (f"{words.shown(row.region, 50)}#{row.step}", row.predicted_ns, row.measured_ns, row.error_ns)
        for row in comparison.steps
        if row.predicted_ns is not None and row.measured_ns is not None and row.error_ns is not None
    ]
    lines += _table("step", steps, heads, "parallel steps")
    routines = [(row.routine, row.predicted_ns, row.measured_ns, row.error_ns) for row in comparison.routines]
    lines += _table("routine", routines, heads, "routines, time of all processes")
    lines += _furthest(comparison.furthest, heads)
    lines += ["", *words.facts(blocks.model_facts(comparison.model))] if comparison.model else []
    return "\n".join([*lines, *_health(comparison, heads)])


def too_far(comparison: CompareDocument, most: float) -> str:
    """Return in one line that the makespan is further off than asked for."""
    predicted, measured = comparison.predicted, comparison.measured
    off = f"{signed(comparison.error_ns)} ({100 * share(comparison.error_ns, measured.makespan_ns):+.2f} %)"
    names = f"{words.shown(predicted.trace)}, {words.shown(measured.trace)}"
    return f"{names}: the makespan is off by {off}, must be at most {100 * most:g} %"


def _heads(comparison: CompareDocument) -> Heads:
    """Return what the two runs are called: only a prediction is called one."""
    return ("predicted", "measured") if comparison.predicted.made_by.startswith("predicted") else ("first", "second")


def _title(comparison: CompareDocument) -> list[str]:
    predicted, measured = comparison.predicted, comparison.measured
    made = f" ({words.shown(predicted.made_by)})" if predicted.made_by.startswith("predicted") else ""
    mark = blocks.mark(predicted.health) or blocks.mark(measured.health)
    return words.wrapped(f"{words.shown(predicted.trace)}{made} against {words.shown(measured.trace)}{mark}", 2)


def _answer(comparison: CompareDocument, heads: Heads) -> Facts:
    predicted, measured, calls = comparison.predicted, comparison.measured, comparison.calls
    off = error(comparison.error_ns, measured.makespan_ns)
    facts = [(heads[0], words.duration(predicted.makespan_ns)), (heads[1], f"{words.duration(measured.makespan_ns)}, error {off}")]
    if comparison.max_error:
        verdict = "missed" if comparison.max_error.missed else "kept"
        facts.append(("", f"the error asked for, at most {100 * comparison.max_error.asked:g} %, is {verdict}"))
    starts = f"{words.duration(predicted.start_ns)} and {words.duration(measured.start_ns)} after the first instant of each run"
    begin = {"start": "the first instant of each run", "init": f"where the last process has left MPI_Init, {starts}"}
    facts.append(("from", begin.get(comparison.start, f"the return of {comparison.start}, {starts}")))
    if comparison.start != "start":
        whole = error(predicted.whole_ns - measured.whole_ns, measured.whole_ns)
        facts.append(("", f"whole runs {words.duration(predicted.whole_ns)} and {words.duration(measured.whole_ns)}, error {whole}"))
    kinds = ((calls.moved, "at another place"), (calls.elsewhere, "in another region"))
    unlike = " and ".join(f"{number} {meaning}" for number, meaning in kinds if number)
    moved = f", of which {unlike}" if unlike else ""
    only = f"{calls.only_predicted} only in the {heads[0]} run, {calls.only_measured} only in the {heads[1]} run"
    facts.append(("calls", f"{calls.same} the same{moved}; {only}"))
    if comparison.locations.only_predicted or comparison.locations.only_measured:
        facts.append(("processes", f"{predicted.processes} and {measured.processes}: calls are the same only on those of both"))
    return facts


def error(value: int, whole: int) -> str:
    """Return an error with its sign, and as a part of the whole: `+3.100 ms (+0.8 %)`, `-2 ns (<0.1 %)`, `0 ns`."""
    part = share(value, whole)
    if not value or not math.isfinite(part):
        return signed(value)
    return f"{signed(value)} ({f'{100 * part:+.1f}' if abs(part) >= 0.0005 else '<0.1'} %)"


def signed(ns: int) -> str:
    """Return a time with its sign, none for 0."""
    return f"{'+' if ns > 0 else ''}{words.duration(ns)}"


def _call_errors(calls: Calls) -> list[str]:
    spreads = {"enter": calls.enter, "leave": calls.leave, "duration": calls.duration}
    rows = [[name, *map(words.duration, (row.median_ns, row.percentile_95_ns, row.worst_ns))] for name, row in spreads.items()]
    return [f"errors of {words.several(calls.compared, 'call')}", *words.table(["", "median", "95 %", "worst"], rows)]


def _table(name: str, rows: Sequence[Row], heads: Heads, title: str) -> list[str]:
    """Return the table of what is furthest off, in the order of `rows`; none without rows."""
    if not rows:
        return []
    cells = [
        [label, words.duration(predicted), words.duration(measured), error(off, measured)]
        for label, predicted, measured, off in blocks.foremost(rows, _LONGEST, lambda row: -abs(row[3]))
    ]
    return ["", title, *words.table([name, *heads, "error"], cells), *blocks.more(rows, len(cells), ", which differ less")]


def _furthest(calls: list[FurthestCall], heads: Heads) -> list[str]:
    if not calls:
        return []
    head = ["call", f"{heads[1]} as", "rank", "routine", "region", heads[0], heads[1], "error", f"{heads[0]} at", f"{heads[1]} at"]
    cells = [
        [
            *(call.call, call.measured_call + (" moved" if call.moved else ""), words.rank(call.rank, call.thread)),
            *(call.routine, words.shown(call.region, _REGION) or "-"),
            *(words.duration(call.predicted_ns), words.duration(call.measured_ns), signed(call.error_ns)),
            *(words.duration(call.enter_predicted_ns), words.duration(call.enter_measured_ns)),
        ]
        for call in calls
    ]
    return ["", "calls whose durations differ most", *words.table(head, cells, left=(0, 1, 3, 4))]


def _health(comparison: CompareDocument, heads: Heads) -> list[str]:
    """Return the health of both runs; that of complete ones is one line."""
    runs = (comparison.predicted, comparison.measured)
    if not any(run.health.incomplete for run in runs):
        return ["", *words.facts([("health", "both traces complete")])]
    lines = []
    for run, head in zip(runs, heads, strict=True):
        lines += ["", f"{head}: {words.shown(run.trace)}", *blocks.health_lines(run.health)]
    return lines
