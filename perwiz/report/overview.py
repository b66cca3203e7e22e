"""The report of `perwiz info`: a JSON document, and the text made from it."""

from __future__ import annotations

import numpy as np

from perwiz.report import parts, words
from perwiz.report.parts import Document
from perwiz.trace import ops
from perwiz.trace.tables import Trace
from perwiz.whatif.health import Health
from perwiz.whatif.predict import Waits

VERSION = 1


def document(trace: Trace, health: Health, waits: Waits, most: int) -> Document:
    """Return what a trace is as a JSON document, with at most `most` waits; all times in ns."""
    return {
        "version": VERSION,
        "command": "info",
        "trace": trace.path,
        "format": trace.format,
        "makespan_ns": trace.timeline.makespan,
        "processes": len(np.unique(trace.locations.process)),
        "locations": len(trace.locations),
        "communicators": [
            {"name": name, "ranks": int(size)} for name, size in zip(trace.communicators.names, trace.communicators.sizes(), strict=True)
        ],
        "calls": len(trace.calls),
        "routines": _routines(trace, waits),
        "messages": {"matched": len(trace.messages), "bytes": int(trace.messages.bytes.sum())},
        "collectives": len(trace.collectives),
        "regions": _regions(trace),
        "health": parts.health(health),
        "properties": dict(trace.properties),
        "waiting_ns": int(waits.time.sum()),
        "waits": parts.longest(trace, waits, most),
    }


def _routines(trace: Trace, waits: Waits) -> list[Document]:
    """Return the routines, those with most time first."""
    times, op = trace.timeline.calls, trace.calls.op
    number = np.bincount(op, minlength=len(ops.OPS))
    sums = [_sum_by(op, values, len(ops.OPS)) for values in (times.leave - times.enter, waits.time, trace.calls.bytes_sent)]
    order = sorted(np.flatnonzero(number).tolist(), key=lambda k: (-sums[0][k], k))
    keys = ("time_ns", "wait_ns", "bytes_sent")
    return [
        {"routine": ops.OPS[k], "calls": int(number[k])} | {key: int(total[k]) for key, total in zip(keys, sums, strict=True)}
        for k in order
    ]


def _regions(trace: Trace) -> list[Document]:
    """Return the user regions by name: instances, inclusive time, how uneven it is over the processes."""
    names = trace.paths.region[trace.regions.path]
    times = trace.timeline.regions
    spent = np.zeros((len(trace.names), len(trace.locations)), "i8")
    np.add.at(spent, (names, trace.regions.location), times.leave - times.enter)
    number = np.bincount(names, minlength=len(trace.names))
    steps = np.zeros(len(trace.names), "i8")
    np.maximum.at(steps, names, trace.regions.instance)
    return [
        {
            "region": name,
            "parallel": bool(trace.parallel[k]),
            "instances": int(number[k]),
            "steps": int(steps[k]),
            "time_ns": int(spent[k].sum()),
            "largest_ns": int(spent[k].max(initial=0)),
            "mean_ns": int(spent[k].mean()) if len(trace.locations) else 0,
        }
        for k, name in enumerate(trace.names)
    ]


def _sum_by(key: np.ndarray, value: np.ndarray, size: int) -> np.ndarray:
    out = np.zeros(size, "i8")
    np.add.at(out, key, value)
    return out


def text(block: Document, regions: bool) -> str:
    """Return the document as text for a terminal; with the table of regions, if asked for."""
    total = block["makespan_ns"] * block["locations"]
    mark = "  (INCOMPLETE trace)" if block["health"]["incomplete"] else ""
    lines = [
        f"{block['trace']}: {block['format']}{mark}",
        "",
        f"makespan     {words.duration(block['makespan_ns'])}",
        f"processes    {block['processes']}" + (f", {block['locations']} threads" if block["locations"] != block["processes"] else ""),
        f"calls        {block['calls']}",
        f"waiting      {words.duration(block['waiting_ns'])} ({words.percent(block['waiting_ns'], total)} of all processes' time)",
        f"messages     {block['messages']['matched']} matched, {block['messages']['bytes']} bytes",
        f"collectives  {block['collectives']}",
        f"regions      {len(block['regions'])}, {sum(r['instances'] for r in block['regions'])} instances",
        "",
        "health",
        *parts.health_lines(block["health"]),
    ]
    if block["routines"]:
        lines += ["", *_routine_lines(block["routines"], total)]
    if regions:
        lines += ["", *_region_lines(block["regions"])]
    if block["waits"]:
        lines += ["", "longest waits", *parts.wait_lines(block["waits"], "wait")]
    return "\n".join(lines)


def _routine_lines(rows: list[Document], total: int) -> list[str]:
    cells = [
        [
            r["routine"],
            str(r["calls"]),
            words.duration(r["time_ns"]),
            words.percent(r["time_ns"], total),
            words.duration(r["wait_ns"]),
            str(r["bytes_sent"]),
        ]
        for r in rows
    ]
    return words.table(["routine", "calls", "time", "of all", "waiting", "bytes sent"], cells, indent="")


def _region_lines(rows: list[Document]) -> list[str]:
    if not rows:
        return ["no user regions"]
    cells = [
        [
            *(r["region"] + (" (parallel)" if r["parallel"] else ""), str(r["instances"]), str(r["steps"])),
            *(words.duration(r["time_ns"]), words.duration(r["mean_ns"]), words.duration(r["largest_ns"])),
        ]
        for r in rows
    ]
    return words.table(["region", "instances", "steps", "time", "mean per process", "largest"], cells, indent="")
