"""CLOG-2, as MPE2 writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import INFERRED, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class Clog(Format):
    """CLOG-2, a single binary file."""

    name = "CLOG-2"
    noun = "a CLOG-2 log"
    holds = Holds(times=YES, wildcards=INFERRED, communicators=YES, roots=INFERRED, regions=YES)

    def looks_like(self, path: str) -> bool:
        """Return whether a file begins as logs of MPE2 do, packed or not."""
        from perwiz.formats.clog.records import MAGIC
        from perwiz.formats.source import head_of

        return head_of(path).startswith(MAGIC)

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace in a file, its clocks as MPE2 compared them.

        Raises TraceError for one without events, of another version, or whose preamble does not tell its blocks.
        """
        from perwiz.formats.alog.tables import Builder
        from perwiz.formats.clog.read import record
        from perwiz.formats.clog.records import Log
        from perwiz.formats.source import Source

        with Source(path, progress) as source:
            return Builder(record(Log(source)), path).trace()


CLOG = Clog()
