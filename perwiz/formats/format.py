"""What perwiz knows of a format of files. Each declares it in its own folder, and stands in the list of perwiz.formats.files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from perwiz.errors import UsageError
from perwiz.formats.whole import replacing

if TYPE_CHECKING:
    from perwiz.trace.trace import Timeline, Trace

Progress = Callable[[int, int], None]
"""Told bytes read and bytes there are, 0 if unknown."""


class Format:
    """A format. Its methods import what they need when they are called; a format that is not written has no suffixes."""

    name = ""
    noun = ""
    """The name of one such file, with its article."""
    suffixes: tuple[str, ...] = ()
    """A file to be written is of this format if its name ends in one of these."""

    def looks_like(self, path: str) -> bool:
        """Return whether there is something of this format to read at `path`."""
        return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace at `path`, which looks like one of this format."""
        raise NotImplementedError

    def missing(self, trace: Trace) -> list[tuple[str, int]]:
        """Return what a file of this format does not hold of a trace, and how many of each."""
        raise NotImplementedError

    def files(self, path: str) -> tuple[str, ...]:
        """Return all files that are written for one named `path`, that first."""
        return (path,)

    def sources(self, path: str) -> list[str]:
        """Return the files beside `path` that are read for it."""
        return []

    def check(self, path: str) -> None:
        """Raise UsageError if something else than a file of this format is in the way of one named `path`."""

    def check_name(self, path: str) -> None:
        """Raise UsageError for a name that is almost one of this format."""
        stems = {suffix.removesuffix(".gz").removesuffix(".zst") for suffix in self.suffixes}
        almost = any(path.lower().endswith((stem, f"{stem}.gz", f"{stem}.zst")) for stem in stems)
        if almost and not path.endswith(self.suffixes):
            endings = " or ".join(filter(None, (", ".join(self.suffixes[:-1]), self.suffixes[-1])))
            raise UsageError(f"{path}: no name for {self.noun}, must end in {endings}")

    def write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        """Return how many events do not have their time, after writing a trace with the times of `timeline`; whole, or not at all.

        What has that name is replaced. A timeline with instants before 0 is written later by as much, so that the file begins at 0.
        Raises TraceError when the timeline belongs to another trace, UsageError when it cannot be written.
        """
        from perwiz.formats.message_ends import check

        check(trace, timeline)
        self.check(path)
        with replacing(path, self.files) as made:
            return self._write(trace, timeline, made)

    def _write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        """Write to a new `path`; else as `write`."""
        raise NotImplementedError
