"""Small Paraver traces as text: a header, and the lines of a test."""

from __future__ import annotations

import pathlib

from perwiz.formats import files
from perwiz.trace import operations
from perwiz.trace.defects import REASONS
from perwiz.trace.tables import LINKS


def header(tasks, applications=1, comms=1, unit="_ns"):
    """Return the first line of a trace whose application has `tasks`, a text such as `2(1:1,1:1)`."""
    return f"#Paraver (21/11/2026 at 09:23):1000{unit}:1(4):{applications}:{tasks},{comms}\n"


def reading(body, tasks="2(1:1,1:1)", pcf="", row="", path="a.prv", **more):
    """Return the trace of some lines behind a header, in the current directory."""
    pathlib.Path(path).write_text(header(tasks, **more) + body, encoding="latin-1")
    base = path.removesuffix(".prv")
    for text, suffix in ((pcf, "pcf"), (row, "row")):
        pathlib.Path(f"{base}.{suffix}").write_text(text, encoding="utf-8")
    return files.read(path)


def calls(trace):
    """Return (location, routine, enter, leave) of each call."""
    table, times = trace.calls, trace.timeline.calls
    columns = (table.location, table.op, times.enter, times.leave)
    return [(where, operations.OPS[op], *at) for where, op, *at in zip(*(column.tolist() for column in columns), strict=True)]


def reasons(trace):
    """Return (line, reason) of each defect."""
    return [(line, REASONS[reason]) for line, reason in zip(trace.defects.line.tolist(), trace.defects.reason.tolist(), strict=True)]


def links(trace):
    """Return (kind, cause, effect) of each link."""
    table = trace.links
    columns = (table.kind, table.cause, table.effect)
    return [(LINKS[kind], *ends) for kind, *ends in zip(*(column.tolist() for column in columns), strict=True)]
