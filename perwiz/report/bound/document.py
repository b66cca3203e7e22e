"""The report of `perwiz bound`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.trace.trace import Trace
from perwiz.whatif.limits.bound import COMBINATIONS, PARTS, QUESTIONS, Bound, Bounds

VERSION = 1
"""Version of the document; bound.schema.json describes it."""
_PROCESSES = 16
"""Rows of the longest table of processes."""
_NAME = 28
"""Columns of a region."""
_SHORT = ("Q1", "Q2", "Q3")
_MEANING = (
    ("longest", "the largest sum of a process, from its first instant to its last, as recorded"),
    ("Q1", "nobody waits: what a process waits for its partners is left out"),
    ("Q2", "balanced time: every process computes for the mean (calls without partner are computation)"),
    ("Q3", "balanced messages: every process sends, receives and takes part in collectives for the mean"),
    ("", "without Q1 recorded waits stay, so Q2 and Q3 can lie above the recorded time: only bounds with Q1 are lower bounds"),
)


def document(bounds: Bounds) -> Document:
    """Return the bounds as a JSON document; all times in ns."""
    run = bounds.run
    return {
        "version": VERSION,
        "command": "bound",
        "trace": run.trace.path,
        "format": run.trace.format,
        "made_by": run.trace.timeline.made_by,
        "recorded_ns": run.trace.timeline.makespan,
        "replay_error_ns": run.replay_error,
        "regions": [_region(run.trace, bound) for bound in bounds.regions],
        "user_regions": len(run.trace.names),
        "misfit": plain.misfit(run),
        "model": plain.model(run.weighted.model),
        "health": plain.health(run.health()),
    }


def _region(trace: Trace, bound: Bound) -> Document:
    """Return what is said of one region."""
    rows = np.transpose(bound.parts).tolist()
    return {
        "region": bound.name or None,
        "parallel": bound.parallel,
        "steps": bound.steps,
        "longest_ns": bound.time(),
        "bounds": [{"questions": [QUESTIONS[q] for q in asked], "time_ns": bound.time(asked)} for asked in COMBINATIONS[1:]],
        "processes": [
            {**plain.location(trace, location), **{f"{part}_ns": ns for part, ns in zip(PARTS, row, strict=True)}}
            for location, row in zip(bound.location.tolist(), rows, strict=True)
        ],
    }


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    regions = block["regions"]
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [*words.wrapped(f"{words.shown(block['trace'])}: lower bounds{mark}", 2), "", *words.facts(_answer(block)), ""]
    lines += [*_bound_lines(regions), "", *words.facts(_MEANING), ""]
    lines += ["where the time goes, mean of a process", *_part_lines(regions), ""]
    shown = regions[1] if len(regions) == 2 else regions[0]
    lines += [f"processes, {_name(shown)}", *_process_lines(shown["processes"]), ""]
    lines += [*words.facts([*plain.model_facts(block["model"]), *plain.misfit_facts(block)]), "", *plain.health_lines(block["health"])]
    return "\n".join(lines)


def _answer(block: Document) -> Facts:
    """Return the bounds of the whole program, and what they are."""
    whole, recorded = block["regions"][0], block["recorded_ns"]
    times = {tuple(row["questions"]): row["time_ns"] for row in whole["bounds"]}
    facts = [("recorded", plain.recorded(recorded, block["health"]))]
    for asked, meaning in ((QUESTIONS[:1], "if nobody waited"), (QUESTIONS, "if computation and messages were balanced, too")):
        facts.append(("at least", f"{words.duration(times[asked])} ({words.percent(times[asked], recorded)}) {meaning}"))
    facts.append(("", "bounds, no predictions: they sum recorded times and know no order of calls; see perwiz predict"))
    if not block["user_regions"]:
        facts.append(("regions", "none: mark some with PRGN_BEGIN and PRGN_END (perwiz record --print-include) to get bounds for them"))
    return facts


def _bound_lines(regions: list[Document]) -> list[str]:
    """Return the table of bounds: a row per region, a column per combination of questions, as in Table 1 of PerWiz."""
    head = ["at least", "steps", "longest", *("+".join(_SHORT[q] for q in asked) for asked in COMBINATIONS[1:])]
    rows = [
        [
            *(_name(region), str(region["steps"]) if region["region"] else "", words.duration(region["longest_ns"])),
            *(words.duration(row["time_ns"]) for row in region["bounds"]),
        ]
        for region in regions
    ]
    return words.table(head, rows)


def _part_lines(regions: list[Document]) -> list[str]:
    rows = []
    for region in regions:
        count = max(1, len(region["processes"]))
        sums = [sum(row[f"{part}_ns"] for row in region["processes"]) for part in PARTS]
        cells = (f"{words.duration(ns // count)} {words.percent(ns, sum(sums)):>7}" for ns in sums)
        rows.append([_name(region), *cells])
    return words.table(["region", *PARTS], rows)


def _process_lines(processes: list[Document]) -> list[str]:
    """Return the table of processes: all, or those of the longest sums."""
    total = [sum(row[f"{part}_ns"] for part in PARTS) for row in processes]
    kept = sorted(sorted(range(len(total)), key=lambda k: (-total[k], k))[:_PROCESSES])
    rows = [
        [
            *(words.rank(processes[k]["rank"], processes[k]["thread"]), words.duration(total[k])),
            *(words.duration(processes[k][f"{part}_ns"]) for part in PARTS),
        ]
        for k in kept
    ]
    more = [f"and {len(total) - len(kept)} more, which take less (--json lists all)"] if len(kept) < len(total) else []
    return [*words.table(["rank", "time", *PARTS], rows), *more]


def _name(region: Document) -> str:
    return "whole program" if region["region"] is None else words.shown(region["region"], _NAME)
