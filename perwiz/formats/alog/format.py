"""ALOG, the text format of upshot and Jumpshot, plain or packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import INFERRED, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Timeline, Trace


class Alog(Format):
    """ALOG. Whatever looks like no other format is read as this, and any name will do."""

    name = "ALOG"
    suffixes = ("",)
    call_bytes = 92
    holds = Holds(times=YES, wildcards=INFERRED, roots=INFERRED, regions=YES)
    """Of whoever writes it; what perwiz-ext 1 adds is none of this."""
    written = YES

    def looks_like(self, path: str) -> bool:
        """Return true: what is no ALOG file is refused when it is read."""
        return True

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace in a file, `-` for standard input."""
        from perwiz.formats.alog import read, tables
        from perwiz.formats.source import Source

        with Source(path, progress) as source:
            return tables.Builder(read.record(source), path).trace()

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return what ALOG does not hold of a trace, and how many of each."""
        from perwiz.formats import losses
        from perwiz.formats.alog.write import cut_labels
        from perwiz.formats.alog.writing.headers import lost

        kinds = (
            losses.COUNTERS,
            losses.SAMPLED,
            losses.PARAMETERS,
            losses.RECORDS,
            losses.TOPOLOGIES,
            losses.SITES,
            losses.SOURCES,
            losses.METAHOSTS,
            losses.UNFINISHED,
            losses.CANCELLED,
            losses.NEVER_ENTERED,
            losses.DEFECTS,
        )
        others = [("operations and datatypes that are not one word of printable ASCII", cut_labels(trace)), *lost(trace)]
        return losses.counted(trace, kinds, others)

    def _write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        from perwiz.formats.alog.write import write

        write(trace, timeline, path)
        return 0


ALOG = Alog()
