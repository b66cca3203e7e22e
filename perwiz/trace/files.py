"""One reader per format, told by content; one writer per format, told by the file's name."""

from __future__ import annotations

from collections.abc import Callable

from perwiz.trace.alog_read import record
from perwiz.trace.alog_tables import Builder
from perwiz.trace.source import Source
from perwiz.trace.trace import Timeline, Trace


def read(path: str, progress: Callable[[int, int], None] | None = None) -> Trace:
    """Return the trace in a file: ALOG of any writer, plain, `.gz` or `.zst`; `-` is standard input.

    `progress` is called with the bytes read and the bytes there are, 0 if unknown, from time to time.
    Records that cannot be used become rows of `Trace.defects` and do not stop the reading.
    Raises TraceError for a file that is missing, empty, a directory or no trace.
    """
    with Source(path, progress) as source:
        return Builder(record(source), path).trace()


def write(trace: Trace, path: str, timeline: Timeline | None = None) -> None:
    """Write a trace as ALOG with perwiz-ext 1, under its measured or another timeline; `.gz` and `.zst` names are packed.

    The file appears whole or not at all.
    """
    from perwiz.trace import alog_write

    alog_write.write(trace, timeline or trace.timeline, path)
