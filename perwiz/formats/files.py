"""One reader per format, told by content; one writer per format, told by the file's name."""

from __future__ import annotations

from collections.abc import Callable

from perwiz.errors import UsageError
from perwiz.formats.alog import read as alog_read
from perwiz.formats.alog import tables as alog_tables
from perwiz.formats.otf2 import read as otf2_read
from perwiz.formats.otf2 import tables as otf2_tables
from perwiz.formats.paraver.files import is_paraver
from perwiz.formats.recorded import files as recorded_files
from perwiz.formats.recorded import read as recorded
from perwiz.formats.source import Source
from perwiz.trace.trace import Timeline, Trace


def read(path: str, progress: Callable[[int, int], None] | None = None) -> Trace:
    """Return the trace in a file: ALOG, plain, `.gz` or `.zst`, `-` for standard input; or an OTF2 archive, or a recorded run.

    An archive is named by its anchor file, that without `.otf2`, or the folder around it; a run by its directory, several by `a:b`.
    `progress` is called with the bytes read and the bytes there are, 0 if unknown, from time to time.
    Records that cannot be used become rows of `Trace.defects` and do not stop the reading.
    Raises TraceError for a file that is missing, empty or no trace, LibraryError for OTF2 without its library.
    """
    if folders := recorded_files.folders(path):
        return recorded.read(*folders)
    if otf2_read.looks_like(path):
        return otf2_tables.Builder(otf2_read.record(path, progress), path).trace()
    with Source(path, progress) as source:
        return alog_tables.Builder(alog_read.record(source), path).trace()


def format_of(path: str) -> str:
    """Return the format that a name stands for: OTF2 if it ends in `.otf2`, Paraver if in `.prv` or `.prv.gz`, else ALOG."""
    return "OTF2" if path.endswith(".otf2") else "Paraver" if is_paraver(path) else "ALOG"


def is_view(path: str) -> bool:
    """Return whether a name asks for Trace Event JSON, which perwiz.report.perfetto writes: it ends in .json, .json.gz or .json.zst."""
    return path.endswith((".json", ".json.gz", ".json.zst"))


def write(trace: Trace, path: str, timeline: Timeline | None = None) -> int:
    """Write a trace under its measured or another timeline in the format of the name: `.otf2`, `.prv`, else ALOG.

    ALOG is written with perwiz-ext 1, `.gz` and `.zst` names packed; beside the anchor `x.otf2` stand `x.def` and the folder `x`,
    beside `x.prv` (or `x.prv.gz`) `x.pcf` and `x.row`.
    The file or archive appears whole or not at all. Returns how many events do not have their time, so that none runs backwards.
    Raises UsageError for a file that cannot be written, and for local times without their clock offsets: files hold global ones.
    """
    if timeline is None and not trace.offsets_applied and (len(trace.offsets) or len(trace.readings)):
        raise UsageError(f"{trace.path}: its clock offsets are not applied, must be written with a timeline they are applied to")
    if is_view(path):
        raise UsageError(f"{path}: Trace Event JSON shows runs side by side, must be written by perwiz.report.perfetto")
    if format_of(path) == "OTF2":
        from perwiz.formats.otf2 import write as otf2_write

        return otf2_write.write(trace, timeline or trace.timeline, path)
    if format_of(path) == "Paraver":
        from perwiz.formats.paraver import write as paraver_write

        paraver_write.write(trace, timeline or trace.timeline, path)
        return 0
    from perwiz.formats.alog import write as alog_write

    alog_write.write(trace, timeline or trace.timeline, path)
    return 0


def missing(trace: Trace, format: str) -> list[tuple[str, int]]:
    """Return what a file of a format, ALOG, OTF2 or Paraver, does not hold of a trace, and how many of each."""
    if format == "OTF2":
        from perwiz.formats.otf2 import write as otf2_write

        return otf2_write.missing(trace)
    if format == "Paraver":
        from perwiz.formats.paraver import write as paraver_write

        return paraver_write.missing(trace)
    from perwiz.formats.alog import write as alog_write

    return alog_write.missing(trace)
