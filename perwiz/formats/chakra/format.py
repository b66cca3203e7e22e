"""Execution traces of Chakra. They are written by perwiz.loggps.schedules, which knows the model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from perwiz.errors import UsageError
from perwiz.formats.format import INFERRED, MODEL, SOME, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Timeline, Trace


class Chakra(Format):
    """The files of one job: those named, joined by colons, or all in a directory."""

    name = "Chakra"
    noun = "a job of Chakra execution traces"
    suffixes = (".et",)
    holds = Holds(times=MODEL, communicators=SOME, roots=INFERRED, sizes=YES, threads=YES, devices=YES, regions=YES)
    written = MODEL
    is_folder = True

    def looks_like(self, path: str) -> bool:
        """Return whether this is such a file, a directory with some, or several joined by colons."""
        from perwiz.formats.chakra import files

        return bool(files.parts(path))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of all ranks whose files there are, with the times that it tells, or those of computation alone.

        Raises TraceError for two files of a rank, a node twice, nodes that need each other in a circle, and where there is no node.
        """
        from perwiz.formats.chakra.read import read

        return read(path)

    def sources(self, path: str) -> list[str]:
        """Return the files of ranks, and their directory."""
        from perwiz.formats.chakra import files

        return [file for file in (*files.parts(path), *([path] if os.path.isdir(path) else [])) if file != path or os.path.isdir(path)]

    def check(self, path: str) -> None:
        """Raise UsageError if something else than a directory of such files is in the way."""
        if os.path.lexists(path) and not (os.path.isdir(path) and self.looks_like(path)):
            raise UsageError(f"{path}: no directory with a job of Chakra execution traces, must be one to be replaced")

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return nothing: what is lost depends on the model, and perwiz.loggps.schedules tells it."""
        return []

    def write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        """Raise UsageError."""
        self.refuse(path)

    def refuse(self, path: str) -> NoReturn:
        """Raise UsageError."""
        raise UsageError(f"{path}: Chakra execution traces are made under a model, must be written by perwiz convert")


CHAKRA = Chakra()
