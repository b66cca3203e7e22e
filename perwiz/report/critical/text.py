"""The text of `perwiz critical`, made from its JSON document. The answer comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from perwiz import words
from perwiz.report import blocks, misfit
from perwiz.report.blocks import Facts
from perwiz.report.critical.document import CriticalDocument, Part, RegionPart
from perwiz.whatif.limits.critical import KINDS

_PartOf = TypeVar("_PartOf", bound=Part)
_ROWS = 10
"""Rows of the longest table."""
_NAME = 28
"""Columns of a region in a table."""
_HEADS = {"start": "start", "computation": "computation", "calls": "in calls", "transfer": "transfer", "gap": "gap"}
_MEANINGS = {
    "computation": "between calls",
    "calls": "work inside MPI calls, no waiting",
    "transfer": "messages under way, from the entry of the call that sends",
    "gap": "between sends of one process, which the model keeps apart",
    "start": "until the first process on the path began",
}
_INIT = "until the last process has left MPI_Init"


def text(critical: CriticalDocument) -> str:
    """Return the document as text for a terminal."""
    lines = [*blocks.title(critical.trace, "critical path", critical.health), "", *words.facts(_answer(critical))]
    lines += ["", *_table(critical, "rank", critical.processes, lambda rows: [words.rank(row.rank, row.thread) for row in rows])]
    if len(critical.regions) > 1:
        lines += ["", *_table(critical, "region", critical.regions, _regions)]
    lines += ["", *_table(critical, "routine", critical.routines, lambda rows: [row.routine for row in rows])]
    if critical.longest:
        lines += ["", *_piece_lines(critical)]
    return "\n".join([*lines, *misfit.sure(critical, critical.shares_of_ns), "", *misfit.closing(critical)])


def _answer(critical: CriticalDocument) -> Facts:
    makespan, whole, slack = critical.makespan_ns, critical.shares_of_ns, critical.slack
    who = words.location(row.thread for row in critical.processes)
    facts = blocks.recorded(makespan, critical.health, f"along {words.several(critical.pieces, 'piece')}")
    for kind, meaning in _MEANINGS.items():
        spent = critical.path.of(kind)
        if kind == "start" and whole != makespan:
            facts.append(("", f"{words.duration(spent)} {'as processes begin the part at different times' if critical.part else _INIT}"))
        elif spent:
            told = meaning if who == "process" else meaning.replace("MPI calls", "calls of MPI, threads and devices")
            facts.append(("", f"{words.duration(spent)} ({words.percent(spent, whole)}) {_HEADS[kind]}: {told}"))
    facts += blocks.share_facts(whole, makespan, critical.part) + blocks.left_out(critical.health)
    facts += blocks.unrecorded_waits(critical.health)
    facts.append(("path", f"goes {words.several(critical.changes, 'time')} from one {who} to another"))
    counts = ", ".join(f"{row.calls} at most {100 * row.share:g} %" if row.share else f"{row.calls} none" for row in slack.within)
    facts.append(("slack", f"of {words.several(slack.calls, 'call')} {counts}{'' if whole != makespan else ' of the makespan'}"))
    return misfit.beside(facts, critical, whole)


def _regions(rows: Sequence[RegionPart]) -> list[str]:
    return [region or "(outside)" for region in words.apart([row.region for row in rows], _NAME)]


def _table(critical: CriticalDocument, head: str, parts: Sequence[_PartOf], labels: Callable[[Sequence[_PartOf]], list[str]]) -> list[str]:
    """Return the table of the largest parts of the path, called by `labels`, and of slack; kinds that do not occur have no column."""
    order = sorted(parts, key=lambda part: (-part.total_ns, _slackless(part)))[:_ROWS]
    kinds = [kind for kind in KINDS if any(part.of(kind) for part in parts)]
    heads = [head, "on the path", "share", *(_HEADS[kind] for kind in kinds), "calls", "no slack", "< 1 %", "least slack", "median"]
    cells = []
    for part, label in zip(order, labels(order), strict=True):
        times = [words.duration(part.total_ns), words.percent(part.total_ns, critical.shares_of_ns)]
        times += [words.duration(part.of(kind)) for kind in kinds]
        counts = map(str, (part.calls, part.calls_without_slack, part.calls_within_1_percent))
        slack = ("-" if ns is None else words.duration(ns) for ns in (part.least_slack_ns, part.median_slack_ns))
        cells.append([label, *times, *counts, *slack])
    return [*words.table(heads, cells), *blocks.more(parts, len(cells))]


def _slackless(part: Part) -> float:
    return np.inf if part.least_slack_ns is None else part.least_slack_ns


def _piece_lines(critical: CriticalDocument) -> list[str]:
    """Return the table of the longest pieces."""
    rows = [
        [
            *(words.duration(piece.begin_ns), words.rank(piece.rank, piece.thread)),
            *((f"{piece.routine} {piece.call}", _HEADS[piece.kind]) if piece.call else (piece.kind, "")),
            region or "-",
            *(words.duration(piece.length_ns), words.percent(piece.length_ns, critical.shares_of_ns)),
        ]
        for piece, region in zip(critical.longest, words.apart([piece.region for piece in critical.longest], _NAME), strict=True)
    ]
    rest = critical.pieces - len(rows)
    more = [f"and {words.several(rest, 'shorter piece')}"] if rest else []
    table = words.table(["begin", "rank", "what", "", "region", "length", "share"], rows, left=(2, 3, 4))
    return ["longest pieces, in the order of time", *table, *more]
