"""The report of `perwiz compare`: a JSON document, and the text made from it. The error of the makespan comes first."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from perwiz import words
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.trace import operations
from perwiz.trace.arrays import Ints
from perwiz.whatif.compare import sums
from perwiz.whatif.compare.compare import Comparison, Side, Spans, share

VERSION = 1
"""Version of the document; compare.schema.json describes it."""
_LONGEST = 16
"""Rows of the longest table but that of calls."""
_REGION = 30
Label = Callable[[Document], str]


def document(found: Comparison, calls: int, most: float | None = None) -> Document:
    """Return the comparison as a JSON document with at most so many calls, those that differ most; all times in ns.

    `most` is the largest error of the makespan asked for, as a part of the measured one.
    """
    pairs = found.alignment
    only = [len(side.trace.calls) - len(pairs.first) for side in found.sides]
    both = len(pairs.locations[0])
    names = ("enter", "leave", "duration")
    return {
        "version": VERSION,
        "command": "compare",
        "predicted": _side(found.predicted),
        "measured": _side(found.measured),
        "hypotheses": [str(hypothesis) for hypothesis in found.hypotheses],
        "model": plain.model(found.model) if found.model else None,
        "from": found.start,
        "error_ns": found.error,
        "error": finite(found.share),
        "max_error": None if most is None else {"asked": most, "missed": missed(found, most)},
        "locations": {"both": both, **{f"only_{n}": len(s.trace.locations) - both for n, s in zip(_RUNS, found.sides, strict=True)}},
        "calls": {
            "same": len(pairs.first),
            "moved": int(pairs.moved.sum()),
            "elsewhere": int(pairs.elsewhere.sum()),
            **{f"only_{name}": number for name, number in zip(_RUNS, only, strict=True)},
            "compared": len(found.compared),
            **{name: _spread(spans) for name, spans in zip(names, found.calls(), strict=True)},
        },
        "processes": _processes(found),
        "regions": _regions(found),
        "steps": _steps(found),
        "routines": _routines(found),
        "furthest": furthest(found, calls),
    }


_RUNS = ("predicted", "measured")


def missed(found: Comparison, most: float) -> bool:
    """Return whether the makespan is further off than that part of the measured one."""
    return abs(found.share) > most


def too_far(block: Document) -> str:
    """Return in one line that the makespan is further off than asked for."""
    one, other = block["predicted"], block["measured"]
    names = f"{words.shown(one['trace'])}, {words.shown(other['trace'])}"
    part = share(block["error_ns"], other["makespan_ns"])
    off = f"{signed(block['error_ns'])} ({100 * part:+.2f} %)"
    return f"{names}: the makespan is off by {off}, must be at most {100 * block['max_error']['asked']:g} %"


def finite(value: float) -> float | None:
    """Return a share with six decimals, None for an infinite one."""
    return round(value, 6) if math.isfinite(value) else None


def _side(side: Side) -> Document:
    trace = side.trace
    begin = int(trace.timeline.locations.enter.min(initial=side.start)) if len(trace.locations) else side.start
    return {
        "trace": trace.path,
        "format": trace.format,
        "made_by": trace.timeline.made_by,
        "makespan_ns": side.makespan,
        "whole_ns": trace.timeline.makespan,
        "start_ns": side.start - begin,
        "processes": len(np.unique(trace.locations.process)),
        "calls": len(trace.calls),
        "health": plain.health(side.health),
    }


def _spread(spans: Spans) -> Document:
    """Return the middle, the 95th of a hundred and the largest of the absolute errors; those that occur, none between two."""
    off = np.sort(np.abs(spans.error))
    picks = {"median_ns": 0.5, "percentile_95_ns": 0.95, "worst_ns": 1.0}
    return {name: int(off[max(0, math.ceil(part * len(off)) - 1)]) if len(off) else 0 for name, part in picks.items()}


def _row(spans: Spans, k: int) -> Document:
    return {"predicted_ns": int(spans.predicted[k]), "measured_ns": int(spans.measured[k]), "error_ns": int(spans.error[k])}


def _processes(found: Comparison) -> list[Document]:
    end, span = found.ends()
    return [
        {
            **plain.location(found.predicted.trace, row),
            **{f"end_{key}": value for key, value in _row(end, k).items()},
            **{f"span_{key}": value for key, value in _row(span, k).items()},
        }
        for k, row in enumerate(found.alignment.locations[0].tolist())
    ]


def _regions(found: Comparison) -> list[Document]:
    """Return, per region path, the time in it, all locations together and one by one."""
    sum_of, many, names = sums.regions(found), sums.places(found), found.alignment.path_names
    where = [plain.location(found.predicted.trace, k) for k in range(len(found.predicted.trace.locations))]
    strange = np.flatnonzero(found.alignment.places[1] >= len(where))
    where += [{}] * (many - len(where))
    for k in strange.tolist():
        where[int(found.alignment.places[1][k])] = plain.location(found.measured.trace, k)
    rows: dict[int, Document] = {}
    for k, key in enumerate(sum_of.key.tolist()):
        path, place = divmod(key, many)
        row = rows.setdefault(path, {"region": "/".join(names[path]), **dict.fromkeys(_SUMMED, 0), "processes": []})
        one = _row(sum_of.time, k) | {f"{name}_instances": int(getattr(sum_of.count, name)[k]) for name in _RUNS}
        row |= {name: row[name] + one[name] for name in _SUMMED}
        row["processes"].append(where[place] | one)
    return list(rows.values())


_SUMMED = ("predicted_ns", "measured_ns", "error_ns", "predicted_instances", "measured_instances")


def _steps(found: Comparison) -> list[Document]:
    names, sum_of = sums.steps(found)
    rows = []
    for k, key in enumerate(sum_of.key.tolist()):
        row = {"region": names[key >> 32], "step": key & 0xFFFFFFFF, **_row(sum_of.time, k)}
        lacking = [name for name in _RUNS if not getattr(sum_of.count, name)[k]]
        rows.append(row | {f"{name}_ns": None for name in (*lacking, *(["error"] if lacking else []))})
    return rows


def _routines(found: Comparison) -> list[Document]:
    sum_of = sums.routines(found)
    counts = zip(sum_of.count.predicted.tolist(), sum_of.count.measured.tolist(), strict=True)
    return [
        {"routine": operations.OPS[op], "predicted_calls": one, "measured_calls": other, **_row(sum_of.time, k)}
        for k, (op, (one, other)) in enumerate(zip(sum_of.key.tolist(), counts, strict=True))
    ]


def furthest(found: Comparison, most: int) -> list[Document]:
    """Return the calls whose durations differ most, largest difference first, ties by call; those that do not differ left out."""
    enter, leave, duration = found.calls()
    pairs, rows = found.alignment, []
    for k in differing(duration, most).tolist():
        pair = int(found.compared[k])
        rows.append(
            {
                **plain.call(found.predicted.trace, int(pairs.first[pair])),
                "measured_call": f"e{pairs.second[pair]}",
                "moved": bool(pairs.moved[pair]),
                **_row(duration, k),
                **{f"enter_{key}": value for key, value in _row(enter, k).items()},
                "leave_error_ns": int(leave.error[k]),
            }
        )
    return rows


def differing(spans: Spans, most: int) -> Ints:
    """Return the rows of the largest errors, at most so many, largest first, ties by row."""
    off = np.abs(spans.error)
    rows = np.flatnonzero(off > 0)
    if 0 < most < len(rows):
        rows = rows[off[rows] >= np.partition(off[rows], -most)[-most]]
    return np.asarray(rows[np.lexsort((rows, -off[rows]))][:most])


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    heads = _heads(block)
    lines = [*_title(block), "", *words.facts(_answer(block, heads))]
    lines += ["", *_call_errors(block["calls"])] if block["calls"]["compared"] else []
    lines += _table("rank", block["processes"], heads, lambda row: words.rank(row["rank"], row["thread"]), "end_", "processes")
    lines += _table("region", block["regions"], heads, lambda row: words.shown(row["region"], 50), "", "regions, time of all processes")
    steps = [row for row in block["steps"] if row["error_ns"] is not None]
    lines += _table("step", steps, heads, lambda row: f"{words.shown(row['region'], 50)}#{row['step']}", "", "parallel steps")
    lines += _table("routine", block["routines"], heads, lambda row: row["routine"], "", "routines, time of all processes")
    lines += _furthest(block["furthest"], heads)
    lines += ["", *words.facts(plain.model_facts(block["model"]))] if block["model"] else []
    return "\n".join([*lines, *_health(block, heads)])


def _heads(block: Document) -> tuple[str, str]:
    """Return what the two runs are called: only a prediction is called one."""
    return _RUNS if block["predicted"]["made_by"].startswith("predicted") else ("first", "second")


def _title(block: Document) -> list[str]:
    one, other = block["predicted"], block["measured"]
    made = f" ({words.shown(one['made_by'])})" if one["made_by"].startswith("predicted") else ""
    mark = "  (INCOMPLETE trace)" if one["health"]["incomplete"] or other["health"]["incomplete"] else ""
    return words.wrapped(f"{words.shown(one['trace'])}{made} against {words.shown(other['trace'])}{mark}", 2)


def _answer(block: Document, heads: tuple[str, str]) -> Facts:
    one, other, calls, there = block["predicted"], block["measured"], block["calls"], block["locations"]
    off = error(block["error_ns"], other["makespan_ns"])
    facts = [(heads[0], words.duration(one["makespan_ns"])), (heads[1], f"{words.duration(other['makespan_ns'])}, error {off}")]
    if block["max_error"]:
        verdict = "missed" if block["max_error"]["missed"] else "kept"
        facts.append(("", f"the error asked for, at most {100 * block['max_error']['asked']:g} %, is {verdict}"))
    starts = f"{words.duration(one['start_ns'])} and {words.duration(other['start_ns'])} after the first instant of each run"
    begin = {"start": "the first instant of each run", "init": f"where the last process has left MPI_Init, {starts}"}
    facts.append(("from", begin.get(block["from"], f"the return of {block['from']}, {starts}")))
    if block["from"] != "start":
        whole = error(one["whole_ns"] - other["whole_ns"], other["whole_ns"])
        facts.append(("", f"whole runs {words.duration(one['whole_ns'])} and {words.duration(other['whole_ns'])}, error {whole}"))
    kinds = (("moved", "at another place"), ("elsewhere", "in another region"))
    unlike = " and ".join(f"{calls[key]} {meaning}" for key, meaning in kinds if calls[key])
    moved = f", of which {unlike}" if unlike else ""
    only = [f"{calls[f'only_{run}']} only in the {head} run" for run, head in zip(_RUNS, heads, strict=True)]
    facts.append(("calls", f"{calls['same']} the same{moved}; {', '.join(only)}"))
    if there["only_predicted"] or there["only_measured"]:
        facts.append(("processes", f"{one['processes']} and {other['processes']}: calls are the same only on those of both"))
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


def _call_errors(block: Document) -> list[str]:
    names, keys = ("enter", "leave", "duration"), ("median_ns", "percentile_95_ns", "worst_ns")
    rows = [[name, *(words.duration(block[name][key]) for key in keys)] for name in names]
    return [f"errors of {words.several(block['compared'], 'call')}", *words.table(["", "median", "95 %", "worst"], rows)]


def _table(name: str, rows: list[Document], heads: tuple[str, str], label: Label, prefix: str, title: str) -> list[str]:
    """Return the table of what is furthest off, in the order of `rows`; none without rows."""
    if not rows:
        return []
    keys = [f"{prefix}{key}_ns" for key in (*_RUNS, "error")]
    kept = sorted(sorted(range(len(rows)), key=lambda k: (-abs(rows[k][keys[2]]), k))[:_LONGEST])
    cells = [[label(rows[k]), *(words.duration(rows[k][key]) for key in keys[:2]), error(rows[k][keys[2]], rows[k][keys[1]])] for k in kept]
    more = [f"and {len(rows) - len(kept)} more, which differ less (--json lists all)"] if len(kept) < len(rows) else []
    return ["", title, *words.table([name, *heads, "error"], cells), *more]


def _furthest(rows: list[Document], heads: tuple[str, str]) -> list[str]:
    if not rows:
        return []
    head = ["call", f"{heads[1]} as", "rank", "routine", "region", heads[0], heads[1], "error", f"{heads[0]} at", f"{heads[1]} at"]
    keys = ("predicted_ns", "measured_ns", "error_ns", "enter_predicted_ns", "enter_measured_ns")
    cells = [
        [
            *(row["call"], row["measured_call"] + (" moved" if row["moved"] else ""), words.rank(row["rank"], row["thread"])),
            *(row["routine"], words.shown(row["region"], _REGION) or "-"),
            *((signed if key == "error_ns" else words.duration)(row[key]) for key in keys),
        ]
        for row in rows
    ]
    return ["", "calls whose durations differ most", *words.table(head, cells, left=(0, 1, 3, 4))]


def _health(block: Document, heads: tuple[str, str]) -> list[str]:
    """Return the health of both runs; that of complete ones is one line."""
    if not any(block[run]["health"]["incomplete"] for run in _RUNS):
        return ["", *words.facts([("health", "both traces complete")])]
    lines = []
    for run, head in zip(_RUNS, heads, strict=True):
        lines += ["", f"{head}: {words.shown(block[run]['trace'])}", *plain.health_lines(block[run]["health"])]
    return lines
