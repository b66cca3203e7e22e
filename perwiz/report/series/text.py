"""The text of `perwiz series`, made from its JSON document: what was reached comes first, then where the rest is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perwiz import words
from perwiz.patterns.analysis.series import COUNTED, HISTORY, MULTIPLIED, STRONG
from perwiz.patterns.analysis.threshold import TIME
from perwiz.patterns.callpaths import ROOT
from perwiz.report.blocks import Facts
from perwiz.report.compare.text import relative
from perwiz.report.series.document import LITTLE
from perwiz.report.series.records import Check, Factor, Point, SeriesDocument

NAMES = {
    TIME: "time",
    "load_balance": "load balance",
    "serialisation": "serialisation",
    "transfer": "transfer",
    "computation": "computation",
    "instructions": "instructions",
    "ipc": "IPC",
    "frequency": "frequency",
}
"""What figures are called."""
_ROWS = 40
"""Rows of the longest table of points."""
_PATH = 60
_PARALLEL = "parallel"
"""Head of the column that goes first where there is no room: others make it up."""
_SOME = 3
"""Names of a list that are said."""


class Table(NamedTuple):
    """A table of the report."""

    title: str
    head: list[str]
    rows: list[list[str]]


def text(document: SeriesDocument) -> str:
    """Return the document as text: the answer, the table of runs, where the last one loses, and call paths."""
    lines = [*title(document), "", *words.facts(answer(document))]
    for table in tables(document):
        hidden = len(table.rows) - _ROWS
        rows: list[words.Line] = [*table.rows]
        if hidden > 0:
            rows[1 : hidden + 1] = [f"and {hidden} more (--json lists all)"]
        spare = [k for k, name in enumerate(table.head) if name == _PARALLEL]
        lines += ["", table.title, *words.table(table.head, rows, spare=spare)]
    return "\n".join([*lines, "", *words.facts(notes(document))])


def title(document: SeriesDocument) -> list[str]:
    """Return the title: what the series is of."""
    first, last = document.points[0], document.points[-1]
    incomplete = any(each.incomplete for point in document.points for each in point.recordings)
    shown = f"{words.shown(first.trace)} to {words.shown(last.trace)}: {document.kind}, {words.several(len(document.points), 'run')}"
    return words.wrapped(f"{shown}{'  (INCOMPLETE traces)' if incomplete else ''}", 2)


def too_much(document: SeriesDocument) -> str:
    """Return in one line which thresholds were missed and by how much; nothing if none was."""
    last, told = document.points[-1], []
    if document.max_loss and document.max_loss.missed:
        missed = ", ".join(_missed(document, row) for row in document.max_loss.checks if row.missed)
        told.append(f"{missed}, must be at most {_percent(document.max_loss.asked)}")
    if document.min_efficiency and document.min_efficiency.missed:
        told.append(f"parallel efficiency is {_share(last.parallel)}, must be at least {_percent(document.min_efficiency.asked)}")
    return f"{words.shown(last.trace)} against {words.shown(reference(document).trace)}: {'; '.join(told)}" if told else ""


def _missed(document: SeriesDocument, row: Check) -> str:
    if row.figure == TIME:
        ideal = "" if document.kind == HISTORY else " than ideal"
        return f"{_percent(row.longer)} longer{ideal}"
    return f"{_percent(row.longer)} longer for {NAMES[row.figure]}"


def reference(document: SeriesDocument) -> Point:
    """Return the point that all are compared with."""
    return next(point for point in document.points if point.label == document.reference)


def answer(document: SeriesDocument) -> Facts:
    """Return what was reached, what is noise, where most is lost, what to ask next, and which thresholds were kept."""
    before, last = reference(document), document.points[-1]
    ends = f"{words.duration(before.time_ns)} and {words.duration(last.time_ns)}"
    if document.kind == HISTORY:
        facts = [("time", f"{longer(last.time_ns / before.time_ns - 1)} than {_name(before)}: {ends}")]
    else:
        done = "" if document.kind == STRONG else " of the work done"
        reached = f"{last.speedup:.4g}{done} where {last.ideal_speedup:g} is ideal ({_share(last.speedup / last.ideal_speedup)})"
        facts = [("speed-up", f"{reached}, from {_size(before)} to {_size(last)}: {ends}")]
    facts = [("doubtful", document.doubt), *facts] if document.doubt else facts
    facts.append(("noise", _noise(document)))
    facts += _lost(document)
    facts += [("ask next", document.next)] if document.next else []
    return [*facts, *_thresholds(document)]


def _name(point: Point) -> str:
    return words.shown(point.label, 40)


def _size(point: Point) -> str:
    processes = words.several(point.processes, "process")
    return processes if point.threads == point.processes else f"{processes} of {point.threads} threads"


def longer(share: float) -> str:
    """Return how much longer a run is in words: 5.1 % longer, 3.0 % shorter, as long."""
    return f"{_percent(abs(share))} {'longer' if share > 0 else 'shorter'}" if f"{100 * abs(share):.1f}" != "0.0" else "as long"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _noise(document: SeriesDocument) -> str:
    """Return how much of a difference is chance, and what tells that."""
    if document.noise_from == "not drawn":
        return "not asked for, with --draws 0"
    if document.noise is None:
        return "not known: recorded too seldom, and too little repeats in one recording"
    if document.noise_from == "recordings":
        return f"{_percent(document.noise)}, by how far recordings of one run lie apart"
    return f"{_percent(document.noise)}, by runs drawn of one recording each; other recordings may lie further apart"


def _lost(document: SeriesDocument) -> Facts:
    """Return the largest gain and the largest loss, and the call path that loses most."""
    best, worst = (pick((row for row in document.factors if row.name in MULTIPLIED), key=lambda row: row.longer) for pick in (min, max))
    facts = [("gained most", _factor(document, best))] if best.longer <= -LITTLE else []
    if worst.longer < LITTLE:
        return facts or [("lost most", "nothing: no factor costs half a percent of the time")]
    within = ", which noise may be" if document.noise is not None and worst.longer < document.noise else ""
    facts.append(("lost most", f"{_factor(document, worst)}{within}"))
    path = document.call_paths[0] if document.call_paths else None
    if path and path.lost_ns > 0:
        before = "before" if document.kind == HISTORY else "with the ideal speed-up"
        times = f"{words.duration(round(path.time_ns))} of a process, {words.duration(round(path.expected_ns))} {before}"
        where = "outside of regions and calls" if path.call_path == ROOT else words.shown(path.call_path, _PATH)
        facts.append(("most in", f"{where}: {times}"))
    return facts


def _factor(document: SeriesDocument, row: Factor) -> str:
    """Return what a factor became, that of computation with what it is made of."""
    counted = [f"{NAMES[each.name]} {each.factor:.3f}" for each in document.factors if each.name in COUNTED]
    made = f", of which {', '.join(counted)}" if row.name == "computation" and counted else ""
    return f"{NAMES[row.name]} {row.factor:.3f}{made}: the run is {longer(row.longer)} for it"


def _thresholds(document: SeriesDocument) -> Facts:
    """Return which thresholds were kept and which missed, and what would have been without noise."""
    facts = []
    if document.max_loss:
        verdict = "missed" if document.max_loss.missed else "kept"
        facts.append(("threshold", f"the loss asked for, at most {_percent(document.max_loss.asked)}, is {verdict}"))
        for row in document.max_loss.checks:
            if row.missed:
                chance = "" if row.noise is None else f", beyond noise of {_percent(row.noise)}"
                facts.append(("", f"{_missed(document, row)}{chance}"))
            elif row.longer > document.max_loss.asked:
                facts.append(("", f"{_missed(document, row)}, within noise of {_percent(row.noise or 0)}: record more often to tell"))
    if document.min_efficiency:
        verdict, least = "missed" if document.min_efficiency.missed else "kept", _percent(document.min_efficiency.asked)
        told = f"the parallel efficiency asked for, at least {least}, is {verdict}: {_share(document.points[-1].parallel)}"
        facts.append(("" if facts else "threshold", told))
    return facts


def tables(document: SeriesDocument) -> list[Table]:
    """Return the tables: the runs, what the last one loses by factor, and by call path, if that is asked for."""
    return [_runs(document), _factors(document), *([_call_paths(document)] if document.call_paths else [])]


def _runs(document: SeriesDocument) -> Table:
    history, points = document.kind == HISTORY, document.points
    counted, repeated = any(point.ipc for point in points), any(len(point.recordings) > 1 for point in points)
    threads = any(point.threads != point.processes for point in points)
    head = ["run" if history else "processes", *["threads"] * threads, "time", *["recorded"] * repeated]
    head += ["longer by" if history else "speed-up"]
    head += ["global", _PARALLEL, "balance", "serialis.", "transfer", "comput.", *["instr.", "IPC", "freq."] * counted]
    return Table("runs, and their efficiencies", head, [_cells(point, history, threads, repeated, counted) for point in points])


def _cells(point: Point, history: bool, threads: bool, repeated: bool, counted: bool) -> list[str]:
    reached = point.speedup / point.ideal_speedup
    cells = [_name(point) if history else str(point.processes), *[str(point.threads)] * threads, words.duration(point.time_ns)]
    cells += [_spread(point)] * repeated
    cells += [f"{100 * (1 / reached - 1):+.1f} %" if history else f"{point.speedup:.3f}"]
    shares: list[float | None] = [point.global_efficiency, point.parallel, point.load_balance, point.serialisation, point.transfer]
    shares.append(point.computation_scaling)
    shares += [point.instruction_scaling, point.ipc_scaling, point.frequency_scaling] if counted else []
    return [*cells, *("-" if share is None else _share(share) for share in shares)]


def _spread(point: Point) -> str:
    """Return how often a run was recorded, and how far these lie apart."""
    apart = (point.most_ns - point.least_ns) / point.time_ns
    number = len(point.recordings)
    return f"{number} in {_percent(apart)}" if number > 1 else "1"


def _factors(document: SeriesDocument) -> Table:
    before, last = reference(document), document.points[-1]
    names = (_name(before), _name(last)) if document.kind == HISTORY else (_size(before), _size(last))
    cells = [
        [f"{'  ' * (row.name in COUNTED)}{NAMES[row.name]}", *_sides(row, before, last), f"{row.factor:.3f}", f"{100 * row.longer:+.1f} %"]
        for row in document.factors
    ]
    reached = last.speedup / last.ideal_speedup
    whole = [words.duration(point.time_ns) for point in (before, last)]
    cells.append(["product", *whole, f"{reached:.3f}", f"{100 * (1 / reached - 1):+.1f} %"])
    than = f"than {_name(before)}" if document.kind == HISTORY else "than with the ideal speed-up"
    return Table(f"where the last run loses, and how much longer it is {than}", ["", *names, "factor", "longer by"], cells)


def _sides(row: Factor, before: Point, last: Point) -> list[str]:
    """Return what both runs have of a factor."""
    if row.name in MULTIPLIED[:-1]:
        return [_share(getattr(point, row.name)) for point in (before, last)]
    if row.name == "frequency":
        return [f"{point.frequency_ghz:.3f} GHz" for point in (before, last)]
    if row.name == "computation":
        return [words.duration(point.useful_ns) for point in (before, last)]
    return [f"{getattr(point, row.name):.4g}" for point in (before, last)]


def _call_paths(document: SeriesDocument) -> Table:
    last = document.points[-1]
    shown = words.apart([row.call_path for row in document.call_paths], _PATH)
    cells = [
        [name, words.duration(round(row.expected_ns)), words.duration(round(row.time_ns)), relative(round(row.lost_ns), last.time_ns)]
        for name, row in zip(shown, document.call_paths, strict=True)
    ]
    head = "expected" if document.kind != HISTORY else "before"
    title = f"call paths that lose most, time of a process on average; percent of the {words.duration(last.time_ns)} of the last run"
    return Table(title, ["call path", head, "is", "longer by"], cells)


def notes(document: SeriesDocument) -> Facts:
    """Return how the runs were measured, how they differ, and which are incomplete or could not be read."""
    facts = [("measured", "from the return of the last MPI_Init to the last entry of MPI_Finalize")]
    if any(len(point.recordings) > 1 for point in document.points):
        facts.append(("", "of several recordings the one of median time stands for all"))
    facts += _threads(document)
    counted = [point for point in document.points if point.ipc]
    if 0 < len(counted) < len(document.points):
        lacking = [_name(point) for point in document.points if not point.ipc]
        facts.append(("counters", f"not both instructions and cycles counted in {_some(lacking)}: their factors are unknown there"))
    differ, names = document.differences, (_name(reference(document)), _name(document.points[-1]))
    kinds = (("region", differ.regions_reference, differ.regions_last), ("routine", differ.routines_reference, differ.routines_last))
    for noun, *sides in kinds:
        for name, only in zip(names, sides, strict=True):
            if only:
                facts.append(("differ", f"{words.several(len(only), noun)} only in {name}: {_some(only)}"))
    for each in (each for point in document.points for each in point.recordings if each.incomplete):
        holes = ", ".join(f"{name}: {number}" for name, number in each.holes.items())
        facts.append(("incomplete", f"{words.shown(each.trace)}: {holes or 'what is inferred may be otherwise'}"))
    facts += [("not read", words.shown(each.why, 300)) for each in document.unread]
    return facts


def _threads(document: SeriesDocument) -> Facts:
    """Return which runs have threads that hardly compute: all are counted, in ideal speed-up and efficiencies."""
    idle = [point for point in document.points if point.threads > point.processes and point.idle]
    told = [f"{point.idle} of {point.threads} in {_name(point)} compute less than a tenth of the busiest" for point in idle[:_SOME]]
    told += [f"and in {len(idle) - _SOME} more"] * (len(idle) > _SOME)
    if not told:
        return []
    return [("threads", f"all are counted, whatever teams they form: {', '.join(told)}"), ("", "runs of one number of threads: --labels")]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SOME} more" if len(names) > _SOME else ""
    return f"{', '.join(words.shown(name, 40) for name in names[:_SOME])}{more}"
