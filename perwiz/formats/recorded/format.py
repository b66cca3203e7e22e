"""A recorded run: the directory that `perwiz record` writes, or several that hold parts of one run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.formats.format import YES, Format, Holds, Progress
from perwiz.formats.recorded import MARKER

if TYPE_CHECKING:
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Trace


class Recorded(Format):
    """A recorded run, read alone: perwiz record writes it."""

    name = "recorded run"
    holds = Holds(
        times=YES,
        requests=YES,
        wildcards=YES,
        communicators=YES,
        roots=YES,
        sizes=YES,
        threads=YES,
        one_sided=YES,
        regions=YES,
        sites=YES,
        counters=YES,
    )

    def looks_like(self, path: str) -> bool:
        """Return whether this is the directory of a recorded run, or several joined by colons."""
        return bool(folders(path))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of a run, its clocks not yet made one.

        Raises TraceError for directories of different runs, and for files that cannot be read.
        """
        from perwiz.formats.recorded.read import read

        return read(*folders(path))

    def read_part(self, path: str, team: Team, progress: Progress | None) -> Trace | None:
        """Return the part of a process, having read the calls of its locations alone; None for a run that all read whole."""
        from perwiz.formats.recorded.spread import read

        return read(team, folders(path))


def folders(path: str) -> list[str]:
    """Return the directories of a recorded run: the one of that name, or all of several joined by colons; none if it is no such run."""
    for names in ([path], path.split(os.pathsep)):
        if all(os.path.isfile(os.path.join(folder, MARKER)) for folder in names):
            return names
    return []


RECORDED = Recorded()
