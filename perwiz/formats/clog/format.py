"""CLOG-2, as MPE2 writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import Format, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class Clog(Format):
    """CLOG-2, a single binary file."""

    name = "CLOG-2"
    noun = "a CLOG-2 log"

    def looks_like(self, path: str) -> bool:
        """Return whether a file begins as logs of MPE2 do."""
        import os

        from perwiz.formats.clog.records import MAGIC

        if not os.path.isfile(path):
            return False
        try:
            with open(path, "rb") as file:
                return file.read(len(MAGIC)) == MAGIC
        except OSError:
            return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace in a file. Raises TraceError for one without events, or of another version."""
        from perwiz.formats.alog.tables import Builder
        from perwiz.formats.clog.read import record
        from perwiz.formats.clog.records import Log

        return Builder(record(Log(path, progress)), path).trace()


CLOG = Clog()
