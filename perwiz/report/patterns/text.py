"""The text of `perwiz patterns`, made from its JSON document: what the waiting is worth comes first."""

from __future__ import annotations

from perwiz import words
from perwiz.patterns.analysis.causes import NAMES
from perwiz.patterns.metrics import NS
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.report.patterns import causes, tables

_PATH = 50
"""Columns of a call path in a table."""
_PROCESSES = 16
"""Rows of the table of processes."""


def text(block: Document, locations: bool, statistics: bool = False, regions: bool = False) -> str:
    """Return the document as text: the answer, the tree of metrics, gains, causes, efficiencies, the longest waits, what was asked for."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [*words.wrapped(f"{words.shown(block['trace'])}: wait states{mark}", 2), "", *words.facts(_answer(block)), ""]
    lines += _metric_lines(block)
    if block["call_paths"]:
        lines += ["", "call paths, by gain: how much shorter the run would be, replayed, if these calls waited for nobody"]
        lines += _path_lines(block)
    lines += causes.lines(block["causes"], _titles(block))
    if block["efficiencies"]:
        lines += ["", "parallel efficiencies", *causes.efficiency_lines(block["efficiencies"], regions)]
        lines += [causes.reference_line(block["reference"])] if block["reference"] else []
    if block["instances"]:
        lines += ["", "longest waits", *_instance_lines(block)]
    if block["metahosts"] and block["metahosts"]["patterns"]:
        lines += ["", "who waits for whom, by metahost", *tables.metahost_lines(block["metahosts"])]
    if statistics and block["instances"]:
        lines += ["", "instances", *tables.statistics_lines(block["statistics"])]
    if locations:
        lines += ["", *_location_lines(block)]
    facts = [*plain.model_facts(block["model"]), *plain.misfit_facts(block)]
    return "\n".join([*lines, "", *words.facts(facts), "", *plain.health_lines(block["health"])])


def _answer(block: Document) -> Facts:
    """Return what is waited, and what the waits are worth."""
    recorded = plain.recorded(block["makespan_ns"], block["health"])
    if not block["waiting_ns"]:
        return [("recorded", f"{recorded}; no wait states")]
    waits, by_model = words.duration(block["waiting_ns"]), words.duration(block["model_waiting_ns"])
    facts = [("recorded", recorded), ("waiting", f"{waits} in these patterns, {by_model} under the model, all processes together")]
    facts += [(label, f"{text}; `of all` leaves MPI_Init out") for label, text in plain.share_facts(block, block["makespan_ns"])]
    gain = _gain(block, block["makespan_ns"] - block["bound_ns"])
    facts.append(("no waits", f"{words.duration(block['bound_ns'])}, {gain}, if none of these calls waited"))
    best: Document | None = block["call_paths"][0] if block["call_paths"] else None
    if best and best["gain_ns"]:
        name = f"{words.shown(best['title'])} in {words.shown(best['call_path'], _PATH)}"
        waits = f"waiting {words.duration(best['severity_ns'])} in {words.several(best['instances'], 'call')}"
        facts.append(("best pattern", f"{name}: {_gain(block, best['gain_ns'])}; {waits}"))
    return [*facts, *causes.answer(block["causes"]), *_eager(block)]


def _eager(block: Document) -> Facts:
    """Return why late receivers are worth less than they wait."""
    row = next((row for row in block["metrics"] if row["name"] == "mpi_latereceiver"), None)
    if row is None or not block["eager_late_receivers"]:
        return []
    of = f"{block['eager_late_receivers']} of {row['instances']} late receivers"
    return [
        ("eager", f"{of}: by the model their messages (up to S_bytes) hold up no sender, so their waits count as work and gain nothing")
    ]


def _gain(block: Document, gain: int) -> str:
    return f"gain {words.duration(gain)} ({words.percent(gain, block['shares_of_ns'])})"


def _titles(block: Document) -> dict[str, str]:
    return {row["name"]: row["title"] for row in block["metrics"]}


def _metric_lines(block: Document) -> list[str]:
    """Return the tree of time metrics, indented, with shares of all processes' time."""
    depth: dict[str | None, int] = {None: 0}
    lines = []
    for row in block["metrics"]:
        if row["unit"] != NS or row["name"] in NAMES:
            continue
        depth[row["name"]] = depth.get(row["parent"], 0) + 1
        indent = "  " * (depth[row["name"]] - 1)
        count = "" if row["instances"] is None else str(row["instances"])
        gain = "" if row["gain_ns"] is None else words.duration(row["gain_ns"])
        share = "-" if row["share"] is None else words.percent(row["share"], 1)
        lines.append([indent + words.shown(row["title"]), words.duration(row["total"]), share, count, gain])
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
            "-" if row["gain_ns"] is None else words.percent(row["gain_ns"], block["shares_of_ns"]),
        ]
        for row in block["call_paths"]
    ]
    return words.table(["pattern", "call path", "waiting", "instances", "worst rank", "gain", ""], rows, left=(0, 1))


def _instance_lines(block: Document) -> list[str]:
    title = _titles(block)
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
    title = _titles(block)
    waits = [
        key
        for key in (block["processes"] or [{}])[0]
        if key.removesuffix("_ns") in title and key not in ("time_ns", "mpi_ns") and not key.startswith(("grid_", "ngrid_"))
    ]
    shown = sorted(waits, key=lambda key: -sum(row[key] for row in block["processes"]))[:5]
    order = sorted(range(len(block["processes"])), key=lambda at: -sum(block["processes"][at][key] for key in shown))
    kept = [block["processes"][at] for at in sorted(order[:_PROCESSES])]
    rows = [[words.rank(row["rank"], row["thread"]), *(words.duration(row[key]) for key in ("time_ns", "mpi_ns", *shown))] for row in kept]
    more = len(block["processes"]) - len(kept)
    names = [words.shown(title[key.removesuffix("_ns")]) for key in shown]
    return [*words.table(["rank", "time", "MPI", *names], rows), *([f"and {more} more (--json lists all)"] if more else [])]
