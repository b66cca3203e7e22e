"""Time-independent traces of SimGrid, as `smpirun -trace-ti` writes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.formats.format import MODEL, SOME, YES, Format, Holds, Progress

if TYPE_CHECKING:
    from perwiz.trace.trace import Trace


class TimeIndependent(Format):
    """A time-independent trace, read alone: SimGrid writes it. It may be followed by its platform: `trace:platform.xml`."""

    name = "time-independent trace"
    holds = Holds(times=MODEL, requests=YES, wildcards=SOME, roots=YES, sizes=YES, sites=YES)

    def looks_like(self, path: str) -> bool:
        """Return whether there are actions, an index of files of actions, or a directory that holds either."""
        from perwiz.formats.timeindependent import files

        return bool(files.entry(files.split(path)[0]))

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return what every process calls, at the times at which it would if calls took none.

        Raises TraceError naming the line that cannot be used, and where there is no platform, several, or one that is not understood.
        """
        from perwiz.formats.timeindependent import files, platform
        from perwiz.formats.timeindependent.read import read

        trace, given = files.split(path)
        entry = files.entry(trace)
        return read(entry, platform.read(given or files.beside(entry)), progress)

    def sources(self, path: str) -> list[str]:
        """Return the index, the files that it names, and the platform."""
        from perwiz.errors import TraceError
        from perwiz.formats.timeindependent import files

        trace, given = files.split(path)
        entry = files.entry(trace)
        if not entry:
            return []
        try:
            return [entry, *files.parts(entry), given or files.beside(entry)]
        except (TraceError, OSError):
            return [entry] if not given else [entry, os.path.abspath(given)]


TIME_INDEPENDENT = TimeIndependent()
