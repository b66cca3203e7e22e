"""The formats that perwiz reads and writes: the one to read is told by content, the one to write by the file's name."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

from perwiz.errors import TraceError, UsageError
from perwiz.formats import foreign
from perwiz.formats.allprof.format import ALLPROF
from perwiz.formats.alog.format import ALOG
from perwiz.formats.chakra.format import CHAKRA
from perwiz.formats.clog.format import CLOG
from perwiz.formats.dumpi.format import DUMPI
from perwiz.formats.format import Format, Progress
from perwiz.formats.goal.format import GOAL
from perwiz.formats.jobtable.format import JOB_TABLE
from perwiz.formats.kineto.format import KINETO
from perwiz.formats.otf2.format import OTF2
from perwiz.formats.paraver.format import PARAVER
from perwiz.formats.recorded import MARKER
from perwiz.formats.recorded.format import RECORDED
from perwiz.formats.store.format import STORE
from perwiz.formats.timeindependent.format import TIME_INDEPENDENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perwiz.trace.spread.team import Team
    from perwiz.trace.trace import Timeline, Trace


class TraceEvents(Format):
    """Trace Event JSON, which shows runs side by side: perwiz.report.perfetto writes it."""

    name = noun = "Trace Event JSON"
    suffixes = (".json", ".json.gz", ".json.zst")

    def write(self, trace: Trace, timeline: Timeline, path: str) -> int:
        """Raise UsageError."""
        raise UsageError(f"{path}: Trace Event JSON shows runs side by side, must be written by perwiz.report.perfetto")


TRACE_EVENTS = TraceEvents()
FORMATS: tuple[Format, ...] = (
    *(STORE, RECORDED, OTF2, PARAVER, KINETO, JOB_TABLE, TRACE_EVENTS),
    *(TIME_INDEPENDENT, GOAL, CHAKRA, CLOG, DUMPI, ALLPROF, ALOG),
)
"""The first that a file looks like reads it, the first that its name is one of writes it."""


_MOST, _NAMES = 1000, 8
"""Files in a directory beyond which no trace is looked for among them; runs in it that are named."""


def read(path: str, progress: Progress | None = None) -> Trace:
    """Return the trace in a file: ALOG, plain, `.gz` or `.zst`, `-` for standard input; or an OTF2 archive, a recorded run,
    a Paraver, DUMPI or liballprof trace, or a time-independent trace of SimGrid, whose times are not yet made (perwiz.whatif.timed).

    An archive is named by its anchor file, that without `.otf2`, or the folder around it; a run by its directory, several by `a:b`. Of any
    other directory the only trace in it is read.
    `progress` is called with the bytes read and the bytes there are, 0 if unknown, from time to time.
    Records that cannot be used become rows of `Trace.defects` and do not stop the reading.
    Raises TraceError for a file that is missing, empty or no trace, LibraryError for OTF2 without its library.
    """
    path = _named(path)
    return next(form for form in FORMATS if form.looks_like(path)).read(path, progress)


def calls_of(path: str) -> int:
    """Return about how many calls the trace in a file has, as its size tells; 0 if that does not tell."""
    path = _named(path)
    form = next(form for form in FORMATS if form.looks_like(path))
    if not form.call_bytes or path == "-":
        return 0
    files = {path, *form.sources(path)}
    for folder in [file for file in files if os.path.isdir(file)]:
        files |= {entry.path for entry in os.scandir(folder)}
    files = {file for file in files if os.path.basename(file).startswith(form.counted)}
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file)) // form.call_bytes


def _named(path: str) -> str:
    """Return what to read: a path as it is, but of a directory that is no trace the only trace in it, if there is just one.

    Raises TraceError if there are others inside that are of runs.
    """
    if not os.path.isdir(path) or not os.access(path, os.R_OK | os.X_OK) or _is_trace(path):
        return path
    with os.scandir(path) as entries:
        inside = [entry.path for entry in itertools.islice(entries, _MOST + 1)]
    if len(inside) > _MOST:
        return path
    traces = [one for one in inside if (_is_trace(one) or foreign.ALOG_NAMED.search(one)) and os.access(one, os.R_OK)]
    if len(traces) == 1:
        return traces[0]
    folders = [one for one in inside if os.path.isdir(one) and (one in traces or _is_begun(one))]
    if folders:
        runs = sorted(os.path.basename(one) for one in inside if one in folders or _is_trace(one))
        hold = "holds a run" if len(runs) == 1 else "hold runs"
        raise TraceError(f"{path}: a directory, with {len(runs)} inside that {hold}, {_listed(runs)}: must be one of these")
    if lost := KINETO.unread(path):
        there = f"whose {os.path.basename(lost[0])} {'is empty' if os.path.getsize(lost[0]) == 0 else 'is none'}"
        raise TraceError(f"{path}: a directory, {there}, must hold traces of the PyTorch profiler (rank*.json.gz)")
    return path


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words, of many the first."""
    *first, last = names if len(names) <= _NAMES else [*names[:_NAMES], f"{len(names) - _NAMES} more"]
    return f"{', '.join(first)} and {last}" if first else last


def _is_begun(path: str) -> bool:
    """Return whether a directory is that of a recorded run, or one of an OTF2 archive, whole or not."""
    return os.access(path, os.R_OK) and any(name == MARKER or name.endswith(".otf2") for name in os.listdir(path))


def _is_trace(path: str) -> bool:
    """Return whether a path looks like a trace of any format but ALOG, which every file may be."""
    return any(form.looks_like(path) for form in FORMATS if form is not ALOG)


def read_part(path: str, team: Team, progress: Progress | None = None) -> Trace | None:
    """Return the part of the trace in a file that this process of a team has, having read no more of it; None if all must read it whole."""
    from perwiz.trace.spread.team import agreed, texts

    path = _named(path)
    form = agreed(team, lambda: next(form for form in FORMATS if form.looks_like(path)))
    seen = texts(team, form.name if form is not ALOG or os.path.exists(path) else "nothing")
    if other := next((rank for rank, name in enumerate(seen) if name != seen[0]), 0):
        paths = texts(team, path)
        there = f"{paths[other]}: {seen[other]} as process {other} sees it"
        raise TraceError(f"{there}, {paths[0]} {seen[0]} as process 0 does; must be parts of one run")
    return form.read_part(path, team, progress)


def format_of(path: str) -> Format:
    """Return the format that a name stands for: OTF2 if it ends in `.otf2`, Paraver if in `.prv` or `.prv.gz`, ... else ALOG."""
    return next(form for form in FORMATS if path.endswith(form.suffixes))


def is_view(path: str) -> bool:
    """Return whether a name asks for Trace Event JSON, which perwiz.report.perfetto writes: it ends in .json, .json.gz or .json.zst."""
    return format_of(path) is TRACE_EVENTS


def write(trace: Trace, path: str, timeline: Timeline | None = None) -> int:
    """Write a trace under its measured or another timeline in the format of the name: `.otf2`, `.prv`, else ALOG.

    ALOG is written with perwiz-ext 1, `.gz` and `.zst` names packed; beside the anchor `x.otf2` stand `x.def` and the folder `x`,
    beside `x.prv` (or `x.prv.gz`) `x.pcf` and `x.row`.
    The file or archive appears whole or not at all. Returns how many events do not have their time, so that none runs backwards.
    Raises UsageError for a file that cannot be written, and for local times without their clock offsets: files hold global ones.
    """
    if timeline is None and not trace.offsets_applied and (len(trace.offsets) or len(trace.readings)):
        raise UsageError(f"{trace.path}: its clock offsets are not applied, must be written with a timeline they are applied to")
    return format_of(path).write(trace, timeline or trace.timeline, path)
