"""The report of `perwiz critical`: a JSON document, and the text made from it. The answer comes first."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.report import blocks, plain
from perwiz.report.blocks import Document, Facts
from perwiz.trace import operations
from perwiz.trace.arrays import Ints
from perwiz.whatif.limits.critical import KINDS, Critical

VERSION = 1
"""Version of the document; critical.schema.json describes it."""
SHARES = (0.0, 0.001, 0.01, 0.05, 0.1)
"""Parts of the makespan; how many calls have no more slack is counted for each."""
_ROWS = 10
"""Rows of the longest table."""
_NAME = 28
"""Columns of a region in a table."""
_HEADS = {"start": "start", "computation": "computation", "calls": "in calls", "transfer": "transfer"}


def document(critical: Critical, pieces: int, slacks: bool = False) -> Document:
    """Return the critical path as a JSON document with at most `pieces` of its pieces, on request with the slack of every call; in ns."""
    run, path = critical.run, critical.pieces
    trace, slack, base = run.trace, critical.slack, blocks.shares_of(run.trace, run.makespan)
    whole = path.sums(np.zeros(len(path), "i8"), 1)[0]
    return {
        "version": VERSION,
        "command": "critical",
        "trace": trace.path,
        "format": trace.format,
        "made_by": trace.timeline.made_by,
        "makespan_ns": run.makespan,
        "shares_of_ns": base,
        "changes": critical.changes,
        "path": _kinds(whole),
        "processes": _processes(critical),
        "regions": _regions(critical),
        "routines": _routines(critical),
        "pieces": len(path),
        "longest": [_piece(critical, row) for row in _longest(path.length, pieces)],
        "slack": {
            "calls": len(slack),
            "within": [{"share": share, "calls": int((slack <= share * base).sum())} for share in SHARES],
        },
        "slacks_ns": slack.tolist() if slacks else None,
        "replay_error_ns": run.replay_error,
        "model": plain.model(run.weighted.model),
        "misfit": plain.misfit(run),
        "health": plain.health(run.health()),
    }


def _kinds(sums: Ints) -> Document:
    return {f"{kind}_ns": int(value) for kind, value in zip(KINDS, sums, strict=True)} | {"total_ns": int(sums.sum())}


def _processes(critical: Critical) -> list[Document]:
    """Return, per location, its part of the path and the slack of its calls."""
    trace, path = critical.run.trace, critical.pieces
    sums = path.sums(path.location, len(trace.locations))
    slack = _slack(critical, trace.calls.location, len(trace.locations))
    return [plain.location(trace, k) | _kinds(sums[k]) | slack[k] for k in range(len(trace.locations))]


def _regions(critical: Critical) -> list[Document]:
    """Return, per region path on which something was recorded, the same; what is outside of any comes first."""
    trace, path = critical.run.trace, critical.pieces
    count = len(trace.paths) + 1
    sums = path.sums(path.path + 1, count)
    slack = _slack(critical, trace.calls.path + 1, count)
    rows = [{"region": plain.region_path(trace, k - 1)} | _kinds(sums[k]) | slack[k] for k in range(count)]
    return [row for row in rows if row["calls"] or row["total_ns"]]


def _routines(critical: Critical) -> list[Document]:
    """Return, per routine that was called, the same."""
    calls, path = critical.run.trace.calls, critical.pieces
    inside = path.call >= 0
    sums = np.zeros((len(operations.OPS), len(KINDS)), "i8")
    np.add.at(sums, (calls.op[path.call[inside]], path.kind[inside]), path.length[inside])
    slack = _slack(critical, calls.op, len(operations.OPS))
    return [{"routine": operations.OPS[k]} | _kinds(sums[k]) | slack[k] for k in np.unique(calls.op).tolist()]


def _slack(critical: Critical, group: Ints, groups: int) -> list[Document]:
    """Return, per group of calls, how many there are, how many have no slack or less than 1 %, the least and the median."""
    slack, close = critical.slack, blocks.shares_of(critical.run.trace, critical.run.makespan) // 100
    order = np.lexsort((slack, group))
    count = np.bincount(group, minlength=groups)
    first = np.cumsum(count) - count
    tight, near = (np.bincount(group[slack <= limit], minlength=groups) for limit in (0, close))
    sorted_slack = slack[order]
    return [
        {
            "calls": int(count[k]),
            "calls_without_slack": int(tight[k]),
            "calls_within_1_percent": int(near[k]),
            "least_slack_ns": int(sorted_slack[first[k]]) if count[k] else None,
            "median_slack_ns": int(sorted_slack[first[k] + (count[k] - 1) // 2]) if count[k] else None,
        }
        for k in range(groups)
    ]


def _longest(length: Ints, most: int) -> list[int]:
    """Return the rows of the longest pieces, in the order of time."""
    order = np.lexsort((np.arange(len(length)), -length))[:most]
    return np.sort(order).tolist()


def _piece(critical: Critical, row: int) -> Document:
    trace, path = critical.run.trace, critical.pieces
    call = int(path.call[row])
    return {
        "kind": KINDS[path.kind[row]],
        **plain.location(trace, int(path.location[row])),
        "region": plain.region_path(trace, int(path.path[row])),
        "call": f"e{call}" if call >= 0 else None,
        "routine": operations.OPS[trace.calls.op[call]] if call >= 0 else None,
        "begin_ns": int(path.begin[row]),
        "length_ns": int(path.length[row]),
    }


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    title = words.wrapped(f"{words.shown(block['trace'])}: critical path{mark}", 2)
    lines = [*title, "", *words.facts(_answer(block))]
    names = [words.rank(row["rank"], row["thread"]) for row in block["processes"]]
    for head, rows, labels in (
        ("rank", block["processes"], names),
        ("region", block["regions"], [words.shown(row["region"], _NAME) or "(outside)" for row in block["regions"]]),
        ("routine", block["routines"], [row["routine"] for row in block["routines"]]),
    ):
        if head != "region" or len(rows) > 1:
            lines += ["", *_table(block, head, rows, labels)]
    if block["longest"]:
        lines += ["", *_piece_lines(block)]
    facts = [*plain.model_facts(block["model"]), *plain.misfit_facts(block)]
    return "\n".join([*lines, "", *words.facts(facts), "", *plain.health_lines(block["health"])])


def _answer(block: Document) -> Facts:
    makespan, path = block["makespan_ns"], block["path"]
    said = {
        "computation": "between calls",
        "calls": "work inside MPI calls, no waiting",
        "transfer": "messages under way, from the entry of the call that sends",
        "start": "until the first process on the path began",
    }
    facts = [("recorded", f"{plain.recorded(makespan, block['health'])}; along {words.several(block['pieces'], 'piece')}")]
    for kind, meaning in said.items():
        if path[f"{kind}_ns"]:
            facts.append(("", f"{_of(path[f'{kind}_ns'], makespan)} {_HEADS[kind]}: {meaning}"))
    facts.append(("path", f"goes {words.several(block['changes'], 'time')} from one process to another"))
    slack = block["slack"]
    counts = ", ".join(
        f"{row['calls']} at most {100 * row['share']:g} %" if row["share"] else f"{row['calls']} none" for row in slack["within"]
    )
    base = block["shares_of_ns"]
    of = f"{words.duration(base)} after MPI_Init" if base != makespan else "makespan"
    return [*facts, ("slack", f"of {words.several(slack['calls'], 'call')} {counts} of the {of}")]


def _of(part: int, whole: int) -> str:
    return f"{words.duration(part)} ({words.percent(part, whole)})"


def _table(block: Document, head: str, rows: list[Document], labels: list[str]) -> list[str]:
    """Return the table of parts of the path, largest first, and of slack; kinds that do not occur have no column."""
    order = sorted(range(len(rows)), key=lambda k: (-rows[k]["total_ns"], _slackless(rows[k]), k))[:_ROWS]
    kinds = [kind for kind in KINDS if any(row[f"{kind}_ns"] for row in rows)]
    heads = [head, "on the path", "share", *(_HEADS[kind] for kind in kinds), "calls", "no slack", "< 1 %", "least slack", "median"]
    cells = []
    for k in order:
        row = rows[k]
        slack = ["-" if row[key] is None else words.duration(row[key]) for key in ("least_slack_ns", "median_slack_ns")]
        times = [words.duration(row["total_ns"]), words.percent(row["total_ns"], block["makespan_ns"])]
        times += [words.duration(row[f"{kind}_ns"]) for kind in kinds]
        counts = (str(row[f"calls{key}"]) for key in ("", "_without_slack", "_within_1_percent"))
        cells.append([labels[k], *times, *counts, *slack])
    more = [f"and {len(rows) - _ROWS} more (--json lists all)"] if len(rows) > _ROWS else []
    return [*words.table(heads, cells), *more]


def _slackless(row: Document) -> float:
    return np.inf if row["least_slack_ns"] is None else row["least_slack_ns"]


def _piece_lines(block: Document) -> list[str]:
    """Return the table of the longest pieces."""
    rows = [
        [
            words.duration(row["begin_ns"]),
            words.rank(row["rank"], row["thread"]),
            f"{row['routine']} {row['call']}" if row["call"] else row["kind"],
            _HEADS[row["kind"]] if row["call"] else "",
            words.shown(row["region"], _NAME) or "-",
            *(words.duration(row["length_ns"]), words.percent(row["length_ns"], block["makespan_ns"])),
        ]
        for row in block["longest"]
    ]
    rest = block["pieces"] - len(rows)
    more = [f"and {words.several(rest, 'shorter piece')}"] if rest else []
    return [
        "longest pieces, in the order of time",
        *words.table(["begin", "rank", "what", "", "region", "length", "share"], rows, left=(2, 3, 4)),
        *more,
    ]
