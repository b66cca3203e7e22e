"""The report of `perwiz info`: a JSON document, and the text made from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.report import blocks
from perwiz.report.blocks import Document, Facts
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.waits import Waits

VERSION = 1
"""Version of the document; info.schema.json describes it."""
_NAME = 40
"""Columns of the name of a region."""


def document(trace: Trace, health: Health, waits: Waits, most: int, model: str) -> Document:
    """Return what a trace is as a JSON document, with at most `most` waits, told from work under a model; all times in ns."""
    times = trace.timeline.calls
    sizes = trace.communicators.sizes().tolist()
    return {
        "version": VERSION,
        "command": "info",
        "trace": trace.path,
        "format": trace.format,
        "made_by": trace.timeline.made_by,
        "properties": dict(trace.properties),
        "makespan_ns": trace.timeline.makespan,
        "processes_ns": int((trace.timeline.locations.leave - trace.timeline.locations.enter).sum()),
        "processes": len(np.unique(trace.locations.process)),
        "locations": len(trace.locations),
        "communicators": [{"name": name, "ranks": size} for name, size in zip(trace.communicators.names, sizes, strict=True)],
        "calls": len(trace.calls),
        "time_ns": int((times.leave - times.enter).sum()),
        "waiting_ns": int(waits.time.sum()),
        "model": model,
        "messages": {"matched": len(trace.messages), "bytes": int(trace.messages.bytes.sum())},
        "collectives": len(trace.collectives),
        "health": blocks.health(health),
        "routines": _routines(trace, waits),
        "regions": _regions(trace),
        "waits": blocks.longest(trace, waits, most),
    }


def _routines(trace: Trace, waits: Waits) -> list[Document]:
    """Return the routines, those with most time first."""
    times, op = trace.timeline.calls, trace.calls.op
    number = np.bincount(op, minlength=len(operations.OPS))
    sums = [_sum_by(op, values, len(operations.OPS)) for values in (times.leave - times.enter, waits.time, trace.calls.bytes_sent)]
    order = sorted(np.flatnonzero(number).tolist(), key=lambda k: (-sums[0][k], k))
    keys = ("time_ns", "waiting_ns", "bytes_sent")
    return [
        {"routine": operations.OPS[k], "calls": int(number[k])} | {key: int(total[k]) for key, total in zip(keys, sums, strict=True)}
        for k in order
    ]


def _regions(trace: Trace) -> list[Document]:
    """Return the user regions by name, those with most time first: instances, inclusive time, how uneven it is over the processes.

    Of instances inside others of the same name the outermost counts.
    """
    names = trace.paths.region[trace.regions.path]
    times = np.where(_nested(trace)[trace.regions.path], 0, trace.timeline.regions.leave - trace.timeline.regions.enter)
    spent = np.zeros((len(trace.names), len(trace.locations)), "i8")
    np.add.at(spent, (names, trace.regions.location), times)
    number = np.bincount(names, minlength=len(trace.names))
    steps = np.zeros(len(trace.names), "i8")
    np.maximum.at(steps, names, trace.regions.instance)
    return [
        {
            "region": trace.names[k],
            "parallel": bool(trace.parallel[k]),
            "instances": int(number[k]),
            "steps": int(steps[k]),
            "time_ns": int(spent[k].sum()),
            "mean_ns": int(spent[k].sum()) // max(1, len(trace.locations)),
            "largest_ns": int(spent[k].max(initial=0)),
        }
        for k in sorted(range(len(trace.names)), key=lambda k: (-int(spent[k].sum()), k))
    ]


def _nested(trace: Trace) -> NDArray[np.bool_]:
    """Return which paths lead through their own region before, bool per path."""
    nested = np.zeros(len(trace.paths), bool)
    through: list[frozenset[int]] = []
    for path, (parent, region) in enumerate(zip(trace.paths.parent.tolist(), trace.paths.region.tolist(), strict=True)):
        above = through[parent] if parent >= 0 else frozenset()
        nested[path] = region in above
        through.append(above | {region})
    return nested


def _sum_by(key: NDArray[np.uint8], value: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    out = np.zeros(size, "i8")
    np.add.at(out, key, value)
    return out


def text(block: Document, regions: bool, waits: bool) -> str:
    """Return the document as text for a terminal, with the tables of regions and of waits if asked for."""
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    made = "" if block["made_by"] == "measured" else f", {words.shown(block['made_by'])}"
    lines = [f"{words.shown(block['trace'])}: {block['format']}{made}{mark}", "", *words.facts(_facts(block, regions))]
    lines += ["", *blocks.health_lines(block["health"])]
    if block["routines"]:
        lines += ["", *_routine_lines(block)]
    if regions:
        lines += ["", *_region_lines(block["regions"])]
    if waits:
        lines += ["", *(["longest waits", *blocks.wait_lines(block["waits"], "wait")] if block["waits"] else ["no call waits"])]
    return "\n".join(lines)


def _facts(block: Document, regions: bool) -> Facts:
    maker, locations, communicators = block["properties"].get("made_by", "measured"), block["locations"], len(block["communicators"])
    return [
        *([("made by", words.shown(maker))] if maker != "measured" else []),
        ("makespan", words.duration(block["makespan_ns"])),
        ("processes", f"{block['processes']}{f', {locations} threads' if locations != block['processes'] else ''}"),
        *_traffic(block),
        ("regions", _region_fact(block["regions"], regions)),
        *([("communicators", str(communicators))] if communicators > 1 else []),
    ]


def _traffic(block: Document) -> Facts:
    """Return what is said of calls, messages and collectives."""
    if not block["calls"]:
        return [("calls", "none of MPI, so nothing waits; only regions can be asked about")]
    total, messages, model = block["processes_ns"], block["messages"], words.shown(block["model"])
    share, waiting = (words.percent(block[key], total) for key in ("time_ns", "waiting_ns"))
    return [
        ("calls", f"{block['calls']}, {words.duration(block['time_ns'])} in them ({share} of the processes' time)"),
        ("waiting", f"{words.duration(block['waiting_ns'])} ({waiting}) under model {model}"),
        ("messages", f"{messages['matched']}, {words.size(messages['bytes'])}" if messages["matched"] else "none"),
        ("collectives", str(block["collectives"] or "none")),
    ]


def _region_fact(rows: list[Document], listed: bool) -> str:
    if not rows:
        return "none"
    instances = words.several(sum(row["instances"] for row in rows), "instance")
    return f"{len(rows)}, {instances}{'' if listed else '; --regions lists them'}"


def _routine_lines(block: Document) -> list[str]:
    total = block["processes_ns"]
    cells = [
        [
            *(row["routine"], str(row["calls"]), words.duration(row["time_ns"]), words.percent(row["time_ns"], total)),
            *(words.duration(row["waiting_ns"]), words.size(row["bytes_sent"])),
        ]
        for row in block["routines"]
    ]
    return words.table(["routine", "calls", "time", "of all", "waiting", "sent"], cells)


def _region_lines(rows: list[Document]) -> list[str]:
    """Return the table of regions; mean and largest are times of one process."""
    if not rows:
        return ["no user regions"]
    cells = [
        [
            *(words.shown(row["region"], _NAME), "yes" if row["parallel"] else "-", str(row["instances"]), str(row["steps"])),
            *(words.duration(row[key]) for key in ("time_ns", "mean_ns", "largest_ns")),
            f"{row['largest_ns'] / row['mean_ns']:.2f}" if row["mean_ns"] else "-",
        ]
        for row in rows
    ]
    head = ["region", "parallel", "instances", "steps", "time", "mean of a process", "largest", "largest/mean"]
    return words.table(head, cells, left=(0, 1))
