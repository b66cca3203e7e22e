"""What perwiz knows of a format of files. Each declares it in its own folder, and stands in the list of perwiz.formats.files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from perwiz.errors import UsageError
from perwiz.formats.whole import replacing

if TYPE_CHECKING:
    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Timeline, Trace

Progress = Callable[[int, int], None]
"""Told bytes read and bytes there are, 0 if unknown."""


NO, YES = "-", "yes"
INFERRED = "inferred"
"""Not in the file; perwiz infers it from times and order, and says how often."""
SOME = "some"
"""Of some calls or files, not of others: docs/formats.md says of which."""
MODEL = "model"
"""Not in the file; a model that is named beside it makes it."""


class Holds(NamedTuple):
    """What files of a format tell, each NO, YES, INFERRED, SOME or MODEL: it bounds what can be answered. The fields are the columns of
    the table in docs/formats.md.
    """

    times: str = NO
    requests: str = NO
    """Which calls post and complete which operation that does not block."""
    wildcards: str = NO
    """Which receives take any source."""
    communicators: str = NO
    roots: str = NO
    sizes: str = NO
    """Of collectives."""
    threads: str = NO
    """Who of the threads of a process waits for whom."""
    devices: str = NO
    one_sided: str = NO
    """Who waits for whom on windows."""
    regions: str = NO
    sites: str = NO
    """Where in the program calls were made."""
    counters: str = NO


ALL = Holds(*[YES] * len(Holds._fields))


class Format:
    """A format. Its methods import what they need when they are called; a format that is not written has no suffixes."""

    name = ""
    noun = ""
    """The name of one such file, with its article."""
    holds = Holds()
    """What its files tell."""
    call_bytes = 0
    """Bytes of its files per call, as measured on halo exchanges; 0: not known."""
    counted = ""
    """Of a directory the files count whose names begin so."""
    written = NO
    """Whether traces are written in it, and whether that needs a model."""
    is_folder = False
    """Whether what is written is a directory."""
    suffixes: tuple[str, ...] = ()
    """A file to be written is of this format if its name ends in one of these."""

    def __init__(self) -> None:
        if self.is_read:
            _READ.add(self.name)

    @property
    def is_read(self) -> bool:
        """Whether traces are read in it."""
        return type(self).read is not Format.read

    def looks_like(self, path: str) -> bool:
        """Return whether there is something of this format to read at `path`."""
        return False

    def read(self, path: str, progress: Progress | None) -> Trace:
        """Return the trace at `path`, which looks like one of this format."""
        raise NotImplementedError

    def read_part(self, path: str, team: Team, progress: Progress | None) -> Trace | None:
        """Return the part of the trace at `path` that this process of a team has, having read no more; None if all read it whole."""
        return None

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
            raise UsageError(f"{path}: no name for {self.noun}, must end in {join(list(self.suffixes))}")

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


_READ: set[str] = set()


def readable() -> str:
    """Return in words what can be read, by the names of formats: all that are loaded, and perwiz.formats.files loads all."""
    return f"a trace: {join(sorted(_READ))} (perwiz info --help)"


def join(words: list[str], last: str = "or") -> str:
    """Return words as a list in words: `a, b or c`."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def table(formats: tuple[Format, ...]) -> list[str]:
    """Return the lines of a table in Markdown: what files of each format that is read tell, and whether it is written."""
    columns = [name.replace("one_sided", "one-sided") for name in Holds._fields]
    rows = [[form.name, *form.holds, form.written] for form in formats if form.is_read]
    head = ["format", *columns, "written"]
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *sorted(rows))]
