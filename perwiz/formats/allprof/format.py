"""Traces of liballprof, which Schedgen of LogGOPSim takes: a text file a process. They are read, not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import INFERRED, SOME, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class Liballprof(Format):
    """A liballprof trace: named by the file of one of its processes, or by the directory around them."""

    name = "liballprof"
    noun = "a liballprof trace"
    holds = Holds(times=YES, requests=INFERRED, wildcards=YES, communicators=SOME, roots=YES, sizes=YES)

    def looks_like(self, path: str) -> bool:
        """Return whether there is a file of a process, or a directory with such."""
        from perwiz.formats.allprof import files

        return bool(files.parts(path))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace. Processes whose files are missing are silent, those whose files are cut off are read as far as they go.

        Raises TraceError for files without a call.
        """
        from perwiz.formats.allprof import read

        return read.read(path, progress)

    def sources(self, path: str) -> list[str]:
        """Return the files of the other processes."""
        from perwiz.formats.allprof import files

        return [file for file in files.parts(path).values() if file != path]


ALLPROF = Liballprof()
