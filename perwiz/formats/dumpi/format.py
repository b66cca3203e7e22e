"""DUMPI, the traces of SST's libdumpi: a list (.meta), and a binary file a process. They are read, not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perwiz.formats.format import SOME, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class Dumpi(Format):
    """A DUMPI trace: named by its list, by the file of one of its processes, or by the directory around them."""

    name = "DUMPI"
    noun = "a DUMPI trace"
    holds = Holds(times=YES, requests=YES, wildcards=YES, communicators=YES, roots=YES, sizes=YES, one_sided=SOME)

    def looks_like(self, path: str) -> bool:
        """Return whether there is a list, a file of a process, or a directory with such."""
        from perwiz.formats.dumpi import files

        return bool(files.entry(path))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace. Processes whose files are missing are silent, those whose files are cut off are read as far as they go.

        Raises TraceError for a list that cannot be used, and for files without a record.
        """
        from perwiz.formats.dumpi import files, read

        return read.read(files.entry(path), progress)

    def sources(self, path: str) -> list[str]:
        """Return the files of the processes."""
        from perwiz.errors import TraceError
        from perwiz.formats.dumpi import files

        entry = files.entry(path)
        try:
            return [file for file in files.parts(entry)[0].values() if file != path] if entry else []
        except TraceError:
            return []


DUMPI = Dumpi()
