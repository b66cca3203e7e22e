"""The text of `perwiz compare`, made from its JSON document. What the makespan differs by comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from perwiz import words
from perwiz.report import blocks
from perwiz.report import machine as machines
from perwiz.report.blocks import Facts
from perwiz.report.compare.records import Calls, CompareDocument, FurthestCall, Run
from perwiz.whatif.compare.compare import share

_LONGEST = 16
"""Rows of the longest table but that of calls."""
_REGION = 30
Row = tuple[str, int, int, int]
"""What is compared, its time in both runs, and the difference, ns."""


class _Words(NamedTuple):
    """What is said of two runs: an error of a prediction, or a change from one to the other."""

    first: str
    second: str
    difference: str
    reference: int
    """Which of both, 0 or 1, differences are parts of."""


def text(comparison: CompareDocument) -> str:
    """Return the document as text for a terminal."""
    said = _words(comparison)
    lines = [*_title(comparison), "", *words.facts(_answer(comparison, said))]
    lines += ["", *_call_differences(comparison.calls, said)] if comparison.calls.compared else []
    ends = [(words.rank(row.rank, row.thread), row.end_first_ns, row.end_second_ns, row.end_difference_ns) for row in comparison.processes]
    lines += _table("rank", ends, said, "processes")
    regions = [(words.shown(row.region, 50), row.first_ns, row.second_ns, row.difference_ns) for row in comparison.regions]
    lines += _table("region", regions, said, "regions, time of all processes")
    steps = [
        (f"{words.shown(row.region, 50)}#{row.step}", row.first_ns, row.second_ns, row.difference_ns)
        for row in comparison.steps
        if row.first_ns is not None and row.second_ns is not None and row.difference_ns is not None
    ]
    lines += _table("step", steps, said, "parallel steps")
    routines = [(row.routine, row.first_ns, row.second_ns, row.difference_ns) for row in comparison.routines]
    lines += _table("routine", routines, said, "routines, time of all processes")
    lines += _furthest(comparison.furthest, said)
    lines += ["", *words.facts(machines.facts(comparison.machine, comparison.model))] if comparison.machine and comparison.model else []
    return "\n".join([*lines, *_health(comparison, said)])


def too_far(comparison: CompareDocument, most: float) -> str:
    """Return in one line that the makespan is further off than asked for."""
    runs = (comparison.first, comparison.second)
    part = share(comparison.difference_ns, runs[_words(comparison).reference].makespan_ns)
    names = ", ".join(words.shown(run.trace) for run in runs)
    return f"{names}: the makespan is off by {signed(comparison.difference_ns)} ({100 * part:+.2f} %), must be at most {100 * most:g} %"


def _words(comparison: CompareDocument) -> _Words:
    if comparison.difference_is == "change":
        return _Words("first", "second", "change", 0)
    if comparison.reference == "second":
        return _Words("predicted", "measured", "error", 1)
    return _Words("measured", "predicted", "error", 0)


def _title(comparison: CompareDocument) -> list[str]:
    first, second = comparison.first, comparison.second
    mark = blocks.mark(first.health) or blocks.mark(second.health)
    return words.wrapped(f"{_name(first)} against {_name(second)}{mark}", 2)


def _name(run: Run) -> str:
    made = f" ({words.shown(run.made_by)})" if run.made_by.startswith("predicted") else ""
    return f"{words.shown(run.trace)}{made}"


def _answer(comparison: CompareDocument, said: _Words) -> Facts:
    first, second, calls = comparison.first, comparison.second, comparison.calls
    off = relative(comparison.difference_ns, (first, second)[said.reference].makespan_ns)
    facts = [(said.first, words.duration(first.makespan_ns))]
    facts.append((said.second, f"{words.duration(second.makespan_ns)}, {said.difference} {off}"))
    if comparison.max_error:
        verdict = "missed" if comparison.max_error.missed else "kept"
        facts.append(("", f"the error asked for, at most {100 * comparison.max_error.asked:g} %, is {verdict}"))
    begin = beginning(comparison.start)
    if comparison.start == "start":
        facts.append(("from", begin))
    else:
        starts = f"{words.duration(first.start_ns)} and {words.duration(second.start_ns)} after {beginning('start')}"
        facts.append(("from", f"{begin}, {starts}"))
        reference, other = (first, second) if said.reference == 0 else (second, first)
        whole = f"{said.difference} {relative(other.whole_ns - reference.whole_ns, reference.whole_ns)}"
        facts.append(("", f"whole runs {words.duration(first.whole_ns)} and {words.duration(second.whole_ns)}, {whole}"))
    kinds = ((calls.moved, "at another place"), (calls.elsewhere, "in another region"))
    unlike = " and ".join(f"{number} {meaning}" for number, meaning in kinds if number)
    moved = f", of which {unlike}" if unlike else ""
    only = f"{calls.only_first} only in the {said.first} run, {calls.only_second} only in the {said.second} run"
    facts.append(("calls", f"{calls.same} the same{moved}; {only}"))
    if comparison.locations.only_first or comparison.locations.only_second:
        facts.append(("processes", f"{first.processes} and {second.processes}: calls are the same only on those of both"))
    return facts


def relative(value: int, whole: int) -> str:
    """Return a difference with its sign, and as a part of the whole: `+3.100 ms (+0.8 %)`, `-2 ns (<0.1 %)`, `0 ns`."""
    part = share(value, whole)
    if not value or not math.isfinite(part):
        return signed(value)
    return f"{signed(value)} ({f'{100 * part:+.1f}' if abs(part) >= 0.0005 else '<0.1'} %)"


def beginning(start: str) -> str:
    """Return in words the instant from which both runs are compared."""
    return {"start": "the first instant of each run", "init": "the end of the last MPI_Init"}.get(start, f"the return of {start}")


def signed(ns: int) -> str:
    """Return a time with its sign, none for 0."""
    return f"{'+' if ns > 0 else ''}{words.duration(ns)}"


def _call_differences(calls: Calls, said: _Words) -> list[str]:
    spreads = {"enter": calls.enter, "leave": calls.leave, "duration": calls.duration}
    rows = [[name, *map(words.duration, (row.median_ns, row.percentile_95_ns, row.worst_ns))] for name, row in spreads.items()]
    title = f"{said.difference}s of {words.several(calls.compared, 'call')}"
    return [title, *words.table(["", "median", "95 %", "worst" if said.difference == "error" else "largest"], rows)]


def _table(name: str, rows: Sequence[Row], said: _Words, title: str) -> list[str]:
    """Return the table of what differs most, in the order of `rows`; none without rows."""
    if not rows:
        return []
    cells = [
        [label, words.duration(first), words.duration(second), relative(off, (first, second)[said.reference])]
        for label, first, second, off in blocks.foremost(rows, _LONGEST, lambda row: -abs(row[3]))
    ]
    head = [name, said.first, said.second, said.difference]
    return ["", title, *words.table(head, cells), *blocks.more(rows, len(cells), ", which differ less")]


def _furthest(calls: list[FurthestCall], said: _Words) -> list[str]:
    if not calls:
        return []
    first, second, difference, _ = said
    head = ["call", f"{second} as", "rank", "routine", "region", first, second, difference, f"{first} at", f"{second} at"]
    cells = [
        [
            *(call.call, call.second_call + (" moved" if call.moved else ""), words.rank(call.rank, call.thread)),
            *(call.routine, words.shown(call.region, _REGION) or "-"),
            *(words.duration(call.first_ns), words.duration(call.second_ns), signed(call.difference_ns)),
            *(words.duration(call.enter_first_ns), words.duration(call.enter_second_ns)),
        ]
        for call in calls
    ]
    return ["", "calls whose durations differ most", *words.table(head, cells, left=(0, 1, 3, 4))]


def _health(comparison: CompareDocument, said: _Words) -> list[str]:
    """Return the health of both runs; that of complete ones is one line."""
    runs = (comparison.first, comparison.second)
    if not any(run.health.incomplete for run in runs):
        return ["", *words.facts([("health", "both traces complete")])]
    lines = []
    for run, head in zip(runs, (said.first, said.second), strict=True):
        lines += ["", f"{head}: {words.shown(run.trace)}", *blocks.health_lines(run.health)]
    return lines
