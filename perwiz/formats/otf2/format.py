"""OTF2, as Score-P writes it and Vampir and Scalasca read it: an archive of an anchor file, definitions and a folder of events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.errors import UsageError
from perwiz.formats.format import INFERRED, YES, Format, Holds, Progress
from perwiz.formats.otf2.files import anchor_of, is_anchor, is_part

if TYPE_CHECKING:
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Timeline, Trace


class Otf2(Format):
    """OTF2, named by the anchor file; to read also by that without `.otf2`, or by a folder that holds just one."""

    name = "OTF2"
    noun = "an OTF2 archive"
    suffixes = (".otf2",)
    call_bytes = 40
    holds = Holds(
        times=YES,
        requests=YES,
        wildcards=INFERRED,
        communicators=YES,
        roots=YES,
        sizes=YES,
        threads=YES,
        devices=YES,
        one_sided=YES,
        regions=YES,
        counters=YES,
    )
    written = YES

    def looks_like(self, path: str) -> bool:
        """Return whether there is the anchor file of an OTF2 archive."""
        try:
            return is_anchor(anchor_of(path))
        except (OSError, ValueError):
            return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of an archive."""
        from perwiz.formats.otf2 import read, tables

        return tables.Builder(read.record(path, progress), path).trace()

    def read_part(self, path: str, team: Team, progress: Progress | None) -> Trace | None:
        """Return the part of a process, having read its locations alone; None for an archive that all read whole."""
        from perwiz.formats.otf2.spread.read import read

        return read(path, team, progress)

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return what an archive of a trace does not hold, and how many of each."""
        from perwiz.formats.otf2.write import missing

        return missing(trace)

    def files(self, path: str) -> tuple[str, ...]:
        """Return the anchor file, the definitions and the folder of the archive whose anchor is `path`."""
        base = path.removesuffix(".otf2")
        return path, f"{base}.def", base

    def sources(self, path: str) -> list[str]:
        """Return all parts of the archives that `path` may stand for."""
        anchors = [path] if path.endswith(".otf2") else [f"{path}.otf2"] if os.path.isfile(f"{path}.otf2") else []
        if os.path.isdir(path) and not anchors:
            anchors = [os.path.join(path, name) for name in os.listdir(path) if name.endswith(".otf2")]
        return [file for anchor in anchors for file in self.files(anchor)]

    def check(self, path: str) -> None:
        """Raise UsageError if something else than an archive of that name is in the way."""
        anchor, definitions, folder = self.files(os.path.realpath(path))
        if os.path.basename(folder) == "" or folder == anchor:
            raise UsageError(f"{path}: no name of an archive, must be one that ends in .otf2")
        replaced = os.path.lexists(anchor)
        if replaced and not (os.path.isfile(anchor) and is_anchor(anchor)):
            raise UsageError(f"{path}: no OTF2 archive, must be one to be replaced")
        for file in (definitions, folder):
            if os.path.lexists(file) and not (replaced and is_part(file, is_folder=file == folder)):
                raise UsageError(f"{file}: no part of the archive {path}, must not be there")

    def _write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        from perwiz.formats.otf2.write import write

        return write(trace, timeline, path)


OTF2 = Otf2()
