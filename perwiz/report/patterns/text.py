"""The text of `perwiz patterns`, made from its JSON document: what the waiting is worth comes first."""

from __future__ import annotations

from msgspec.structs import replace

from perwiz import words
from perwiz.patterns.analysis.causes import NAMES
from perwiz.patterns.metrics import NS
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import Facts
from perwiz.report.patterns import causes, hybrid, tables
from perwiz.report.patterns.records import PatternsDocument, WaitingPath

_PATH = 50
"""Columns of a call path in a table."""
_OPTION = 80
"""Columns of an option."""
_UNTOLD = "asked by several processes together, a run does not tell how sure this is"
_WAITS = 3
"""Longest waits that are listed if not more are asked for."""
_PROCESSES = 16
"""Rows of the table of processes."""


def text(document: PatternsDocument, locations: bool, statistics: bool = False, regions: bool = False, short: bool = False) -> str:
    """Return the document as text: the answer, the tree of metrics, gains, causes, efficiencies, the longest waits, what was asked for.

    A `short` one lists causes that matter and few waits, for a screen or two.
    """
    document = _shortened(document) if short else document
    lines = [*blocks.title(document.trace, "wait states", document.health), "", *words.facts(_answer(document)), ""]
    lines += _metric_lines(document)
    if document.call_paths:
        lines += ["", "call paths, by gain: how much shorter the run would be, replayed, if no call waited there, in any pattern"]
        lines += [*_path_lines(document), *causes.more(document.more_call_paths, len(document.call_paths))]
    lines += causes.lines(document.causes, document.titles, _who(document), document.part)
    if document.efficiencies:
        lines += ["", "parallel efficiencies", *causes.efficiency_lines(document.efficiencies, regions)]
        lines += [causes.reference_line(document.reference)] if document.reference else []
    lines += hybrid.lines(document.hybrid) if document.hybrid else []
    if document.instances:
        lines += ["", "longest waits", *_instance_lines(document), *causes.more(document.more_instances, len(document.instances))]
    if document.metahosts and document.metahosts.patterns:
        lines += ["", "who waits for whom, by metahost", *tables.metahost_lines(document.metahosts)]
    if statistics and document.instances:
        lines += ["", "instances", *tables.statistics_lines(document.statistics)]
    if locations:
        lines += ["", *_location_lines(document)]
    return "\n".join([*lines, *misfit.sure(document, document.shares_of_ns), "", *misfit.closing(document)])


def _shortened(document: PatternsDocument) -> PatternsDocument:
    """Return a document without causes that cost little, but for the first, and all but the longest waits; how many they are is told."""
    kept = document.instances[:_WAITS]
    more = document.more_instances + len(document.instances) - len(kept)
    of_waits = causes.shortened(document.causes) if document.causes else None
    return replace(document, instances=kept, more_instances=more, causes=of_waits)


def _answer(document: PatternsDocument) -> Facts:
    """Return what is waited, and what the waits are worth."""
    now, state, known = document.makespan_ns, document.health, blocks.as_recorded(document.health)
    if not document.waiting_ns and document.bound_ns == document.makespan_ns:
        return [*blocks.recorded(now, state, f"no wait states{known}"), *blocks.left_out(state)]
    waits, by_model = words.duration(document.waiting_ns), words.duration(document.model_waiting_ns)
    facts = [
        *blocks.recorded(now, state),
        (
            "waiting",
            f"{waits} in these patterns, {by_model} under the model{words.together([row['thread'] for row in document.processes])}",
        ),
    ]
    shares = blocks.share_facts(document.shares_of_ns, document.makespan_ns, document.part)
    facts += [(label, text if document.part else f"{text}; `of all` is of that of all processes") for label, text in shares]
    facts += blocks.left_out(state)
    gain = _gain(document, document.makespan_ns - document.bound_ns)
    facts.append(("no waits", f"{words.duration(document.bound_ns)}, {gain}, if no call waited{known}: --zero-wait all"))
    facts += spans.facts(document.bound_span, document.bound_ns) if document.bound_span else [("", _UNTOLD)]
    best = document.call_paths[0] if document.call_paths else None
    if best and best.gain_ns:
        name = f"{words.shown(best.title)} in {words.shown(best.call_path, _PATH)}"
        waits = f"waiting {words.duration(best.severity_ns)} in {words.several(best.instances, 'call')}"
        there = best.sites_wait_ns or 0
        every = f", of {words.duration(there)} that all calls there wait" if there > best.severity_ns else ""
        facts.append(("best pattern", f"{name}: {_gain(document, best.gain_ns)} if no call there waited; {waits}{every}"))
        if document.best_span != document.bound_span:
            facts += spans.facts(document.best_span, document.makespan_ns - best.gain_ns)
    facts += causes.answer(document.causes, _who(document))
    return [*misfit.beside(facts, document, document.shares_of_ns), *_eager(document)]


def _who(document: PatternsDocument) -> str:
    return words.location(row["thread"] for row in document.processes)


def _eager(document: PatternsDocument) -> Facts:
    """Return why late receivers are worth less than they wait."""
    row = next((row for row in document.metrics if row.name == "mpi_latereceiver"), None)
    if row is None or not document.eager_late_receivers:
        return []
    eager = f"{document.eager_late_receivers} of {row.instances} late receivers"
    held = "by the model their messages (up to S_bytes) hold up no sender, so their waits count as work and removing them gains nothing"
    moves = "; what gains if such messages moved on while processes compute, --progress always says"
    return [("eager", f"{eager}: {held}{moves * (document.model.parameters.progress == 'in calls')}")]


def _gain(document: PatternsDocument, gain: int) -> str:
    return f"gain {words.duration(gain)} ({words.percent(gain, document.shares_of_ns)})"


def _metric_lines(document: PatternsDocument) -> list[str]:
    """Return the tree of time metrics, indented, with shares of all processes' time."""
    depth: dict[str | None, int] = {None: 0}
    lines = []
    for row in document.metrics:
        if row.unit != NS or row.name in NAMES:
            continue
        depth[row.name] = depth.get(row.parent, 0) + 1
        indent = "  " * (depth[row.name] - 1)
        count = "" if row.instances is None else str(row.instances)
        gain = "" if row.gain_ns is None else words.duration(row.gain_ns)
        share = "-" if row.share is None else words.percent(row.share, 1)
        lines.append([indent + words.shown(row.title), words.duration(row.total), share, count, gain])
    return words.table(["metric", "time", "of all", "instances", "gain"], lines)


def _path_lines(document: PatternsDocument) -> list[str]:
    """Return the table of call paths; what the calls of a site wait and gain in all is told in the first row of it."""
    rows, told = list[list[str]](), set[str]()
    for row, path in zip(document.call_paths, words.apart([row.call_path for row in document.call_paths], _PATH), strict=True):
        rows.append(
            [
                words.shown(row.title),
                path,
                words.duration(row.severity_ns),
                str(row.instances or "-"),
                f"{words.rank(row.worst.rank, row.worst.thread)}: {words.duration(row.worst_ns)}",
                *(_as_above() if row.change in told else _worth(document, row)),
            ]
        )
        told |= {row.change} if row.change else set()
    head = ["pattern", "call path", "waiting", "instances", "worst rank", "waits there", "gain", "", "change"]
    return words.table(head, rows, left=(0, 1, 8), spare=(4, 3, 5))


def _as_above() -> list[str]:
    return ["as above", "", "", ""]


def _worth(document: PatternsDocument, row: WaitingPath) -> list[str]:
    """Return how long all calls of the sites wait, what they gain without, and what asks for that."""
    if row.gain_ns is None or row.sites_wait_ns is None:
        return ["-", "-", "-", ""]
    gain = words.duration(row.gain_ns), words.percent(row.gain_ns, document.shares_of_ns)
    return [words.duration(row.sites_wait_ns), *gain, _option(row) or "(--json)"]


def _option(row: WaitingPath) -> str:
    """Return the option of `perwiz predict` that has the gain of a call path; nothing if it is long, or not to be printed."""
    return row.change if row.change and words.shown(row.change, _OPTION) == row.change else ""


def _instance_lines(document: PatternsDocument) -> list[str]:
    title = document.titles
    rows = []
    for row, region in zip(document.instances, words.apart([row.region for row in document.instances], _PATH), strict=True):
        cause = row.cause
        rows.append(
            [
                words.shown(title[row.pattern]),
                row.call,
                words.rank(row.rank, row.thread),
                row.routine,
                region or "-",
                f"{cause.call} (rank {words.rank(cause.rank, cause.thread)}, {cause.routine})" if cause else "-",
                words.duration(row.severity_ns),
            ]
        )
    head = ["pattern", "call", "rank", "routine", "region", "because of", "waiting"]
    return words.table(head, rows, left=(0, 1, 3, 4, 5), spare=(4, 3, 5))


def _location_lines(document: PatternsDocument) -> list[str]:
    """Return the table of processes: all, or those that wait most."""
    titles, processes = document.titles, document.processes
    columns = next(iter(processes), {})
    names = [column.removesuffix("_ns") for column in columns if column not in ("time_ns", "mpi_ns")]
    waits = [f"{name}_ns" for name in names if name in titles and not name.startswith(("grid_", "ngrid_"))]
    shown = sorted(waits, key=lambda column: -sum(times[column] for times in processes))[:5]
    rows = [
        [words.rank(times["rank"], times["thread"]), *(words.duration(times[column]) for column in ("time_ns", "mpi_ns", *shown))]
        for times in blocks.foremost(processes, _PROCESSES, lambda times: -sum(times[column] for column in shown))
    ]
    heads = [words.shown(titles[column.removesuffix("_ns")]) for column in shown]
    return [*words.table(["rank", "time", "MPI", *heads], rows), *blocks.more(processes, len(rows))]
