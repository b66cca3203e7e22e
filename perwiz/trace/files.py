"""One reader per format, told by content; one writer per format, told by the file's name."""

from __future__ import annotations

from perwiz.trace.alog_read import record
from perwiz.trace.alog_tables import Builder
from perwiz.trace.source import Source
from perwiz.trace.tables import Timeline, Trace


def read(path: str) -> Trace:
    """Return the trace in a file: ALOG of any writer, plain, `.gz` or `.zst`; `-` is standard input.

    Records that cannot be used become rows of `Trace.defects` and do not stop the reading.
    Raises TraceError for a file that is missing, empty, a directory or no trace.
    """
    with Source(path) as source:
        return Builder(record(source), path).trace()


def write(trace: Trace, path: str, timeline: Timeline | None = None) -> None:
    """Write a trace as ALOG with perwiz-ext 1, under its measured or another timeline; `.gz` and `.zst` names are packed.

    The file appears whole or not at all.
    """
    from perwiz.trace import alog_write

    alog_write.write(trace, timeline or trace.timeline, path)
