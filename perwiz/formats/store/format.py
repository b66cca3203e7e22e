"""The store of perwiz itself: all that is known of a run, ready for the next question."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from perwiz.errors import UsageError
from perwiz.formats.format import ALL, YES, Format, Progress
from perwiz.formats.store import MARKER

if TYPE_CHECKING:
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Timeline, Trace


class StoreFormat(Format):
    """A directory of columns that are mapped; `perwiz.whatif.stages` keeps more than the trace in it."""

    name = "perwiz store"
    noun = "a store of perwiz"
    holds = ALL
    call_bytes = 92
    counted = "trace."
    written = YES
    is_folder = True
    suffixes = (".perwiz",)

    def looks_like(self, path: str) -> bool:
        """Return whether this is the directory of a store."""
        try:
            return os.path.isfile(os.path.join(path, MARKER))
        except ValueError:
            return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace of a store."""
        from perwiz.formats.store.store import read

        return read(path)

    def read_part(self, path: str, team: Team, progress: Progress | None) -> Trace | None:
        """Return the part of a process, cut out of the columns, which are mapped."""
        from perwiz.trace.spread.cut import cut
        from perwiz.trace.spread.team import agreed
        from perwiz.trace.tied import tied_part

        return cut(tied_part(agreed(team, lambda: self.read(path, progress))), team)

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return nothing: all of a trace is held."""
        return []

    def sources(self, path: str) -> list[str]:
        """Return the directory and its files."""
        return [path, *(os.path.join(path, name) for name in os.listdir(path))] if self.looks_like(path) else []

    def check(self, path: str) -> None:
        """Raise UsageError if something else than a store is in the way."""
        if os.path.lexists(path) and not self.looks_like(path):
            raise UsageError(f"{path}: no store of perwiz, must be one to be replaced")

    def _write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        import dataclasses

        from perwiz.formats.store.store import write

        write(trace if timeline is trace.timeline else dataclasses.replace(trace, timeline=timeline), path)
        return 0


STORE = StoreFormat()
