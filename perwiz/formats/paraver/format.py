"""Paraver, as Extrae and the tools of BSC write, read and show it: the records, the configuration and the names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.errors import UsageError
from perwiz.formats.format import INFERRED, SOME, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Timeline, Trace

_MAGIC = {".prv": b"#Paraver", ".prv.gz": b"\x1f\x8b"}


class Paraver(Format):
    """Paraver, three files of one name."""

    name = "Paraver"
    noun = "a Paraver trace"
    suffixes = (".prv", ".prv.gz")
    call_bytes = 130
    holds = Holds(
        times=YES,
        requests=SOME,
        wildcards=INFERRED,
        communicators=YES,
        roots=YES,
        sizes=YES,
        threads=YES,
        devices=YES,
        regions=YES,
        sites=YES,
        counters=YES,
    )
    written = YES

    def looks_like(self, path: str) -> bool:
        """Return whether there is a file that begins as records of Paraver do, packed or not."""
        from perwiz.errors import TraceError
        from perwiz.formats.paraver.header import MAGIC
        from perwiz.formats.source import Source

        if not os.path.isfile(path):
            return False
        try:
            with Source(path) as source:
                return source.head().startswith(MAGIC)
        except TraceError:
            return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace whose records are in `path`; the files beside it tell what its numbers mean, if they are there.

        Raises TraceError for records without a header or without events, and for a file beside them that cannot be read.
        """
        from perwiz.formats.paraver import read, tables
        from perwiz.formats.paraver.labels import Labels
        from perwiz.formats.source import Source

        _, *others = self.files(path)
        labels = Labels(*others)
        with Source(path, progress) as source:
            return tables.Builder(read.record(source, labels), path).trace()

    def sources(self, path: str) -> list[str]:
        """Return the configuration and the names, if they are there."""
        return [file for file in self.files(path)[1:] if os.path.exists(file)]

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return what a Paraver trace does not hold of a trace, and how many of each."""
        from perwiz.formats.paraver.write import missing

        return missing(trace)

    def files(self, path: str) -> tuple[str, ...]:
        """Return the records, the configuration and the names of the trace whose records are in `path`."""
        base = path.removesuffix(".gz").removesuffix(".prv")
        return path, f"{base}.pcf", f"{base}.row"

    def check(self, path: str) -> None:
        """Raise UsageError if something else than a trace of that name is in the way of one."""
        records, *others = self.files(os.path.realpath(path))
        if os.path.basename(others[0]) == ".pcf":
            raise UsageError(f"{path}: no name of a Paraver trace, must be one that ends in .prv or .prv.gz")
        replaced = os.path.lexists(records)
        if replaced and not _is_trace(records):
            raise UsageError(f"{path}: no Paraver trace, must be one to be replaced")
        for file in others:
            if os.path.lexists(file) and not (replaced and os.path.isfile(file) and not os.path.islink(file)):
                raise UsageError(f"{file}: no part of the Paraver trace {path}, must not be there")

    def _write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        from perwiz.formats.paraver.write import write

        write(trace, timeline, self.files(path))
        return 0


def _is_trace(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(8).startswith(_MAGIC[".prv.gz" if path.endswith(".gz") else ".prv"])


PARAVER = Paraver()
