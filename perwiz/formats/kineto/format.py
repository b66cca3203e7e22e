"""Traces of the PyTorch profiler, a file of Trace Event JSON per rank. They are read, not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import INFERRED, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class Kineto(Format):
    """The traces of one job: those named, joined by colons, or all in a directory."""

    name = "PyTorch profiler"
    noun = "a trace of the PyTorch profiler"
    holds = Holds(times=YES, communicators=YES, roots=INFERRED, sizes=YES, threads=INFERRED, devices=YES, regions=YES)

    def looks_like(self, path: str) -> bool:
        """Return whether this is such a trace, a directory with some, or several joined by colons."""
        from perwiz.formats.kineto import files

        return bool(files.parts(path))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of all ranks whose files there are. Those that are cut off are read as far as they go.

        Raises TraceError for files of different jobs, of the same rank twice, and where no file has an event.
        """
        from perwiz.formats.kineto.read import read

        return read(path, progress)

    def unread(self, path: str) -> list[str]:
        """Return the files of a directory that are named like those of ranks and are none."""
        from perwiz.formats.kineto import files

        return files.unread(path)

    def sources(self, path: str) -> list[str]:
        """Return the files of the other ranks."""
        from perwiz.formats.kineto import files

        return [file for file in files.parts(path) if file != path]


KINETO = Kineto()
