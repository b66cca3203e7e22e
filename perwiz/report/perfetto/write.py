"""One or more runs over the same calls as Trace Event JSON, which Perfetto and chrome://tracing show.

Every run is a group of tracks, or one per node, or one per process that has threads. A track shows the user regions, calls and waits of a
location as slices in each other; arrows lead from the call that sends a message to the call that completes its receive, and from a call
that lets another go on to that one. Times are those of the run, to the nanosecond.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import IO

from perwiz import __version__
from perwiz.errors import UsageError
from perwiz.formats import losses
from perwiz.formats.message_ends import check
from perwiz.formats.templates import ROWS_AT_ONCE
from perwiz.formats.whole import writing
from perwiz.report.perfetto.events import batches
from perwiz.report.perfetto.text import Calls, Rows, quoted
from perwiz.report.perfetto.tracks import Tracks
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.waits import Waits


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A run to be shown: what to call it, a timeline over the calls of a trace, and what else is known of it."""

    title: str
    timeline: Timeline
    waits: Waits | None = None
    bytes: I8 | None = None
    """Bytes per message; None: those of the trace."""
    trace: Trace | None = None
    """What it is the timeline of, of the same locations; None: of the trace that `write` is given."""


def write(trace: Trace, views: Sequence[View], path: str) -> None:
    """Write some runs over the calls of a trace to `path`, packed if that ends in .gz or .zst; whole, or not at all.

    All runs keep their own times; if any has instants before 0, all are written later by as much.
    Raises TraceError when a timeline belongs to another trace, UsageError when the file cannot be written or there is no run.
    """
    if not views:
        raise UsageError(f"{path}: no timeline to write, must be one or more")
    for view in views:
        check(view.trace or trace, view.timeline)
    tracks, calls = Tracks(trace, len(views)), Calls(trace)
    later = -min(_first(view.timeline) for view in views)
    with writing(path) as file:
        file.write(_head(trace, views, tracks).encode("ascii"))
        for run, view in enumerate(views):
            shown = view.trace or trace
            size = shown.messages.bytes if view.bytes is None else view.bytes
            rows = Rows(shown, Calls(shown) if view.trace else calls, tracks, run, view.waits, size)
            _write(file, shown, view, rows, tracks, run, later)
        file.write(b"\n]}\n")


def _write(file: IO[bytes], trace: Trace, view: View, rows: Rows, tracks: Tracks, run: int, later: int) -> None:
    """Write the events of one run, then the names of further tracks that it needs."""
    more = 0
    for events in batches(trace, view.timeline, view.waits):
        more = max(more, int(events.track.max(initial=0)))
        for begin in range(0, len(events), ROWS_AT_ONCE):
            file.write(rows.text(events[begin : begin + ROWS_AT_ONCE], later))
    for track in range(1, more + 1):
        file.write("".join(f",\n{line}" for line in _track_names(tracks, run, track)).encode("ascii"))


def missing(trace: Trace) -> list[tuple[str, int]]:
    """Return what Trace Event JSON does not hold of a trace, and how many of each."""
    others = (
        ("lists of the ranks of communicators", len(trace.communicators)),
        ("names that are shortened or escaped", sum(json.loads(quoted(name)) != name for name in losses.names(trace))),
    )
    return losses.counted(trace, losses.SHOWN_BY_NO_VIEWER, others)


def _first(timeline: Timeline) -> int:
    """Return the first instant of a run, ns, or 0 if that is later."""
    return min(0, *(int(times.enter.min(initial=0)) for times in (timeline.locations, timeline.calls, timeline.regions)))


def _head(trace: Trace, views: Sequence[View], tracks: Tracks) -> str:
    """Return what stands before the first event: what the file is, then the names and the order of all groups and tracks."""
    about = f'{{"written_by":"perwiz {__version__}","source":{quoted(trace.path)}}}'
    lines = [line for run, view in enumerate(views) for line in (*_group_names(tracks, run, view.title), *_track_names(tracks, run, 0))]
    return f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":[\n' + ",\n".join(lines)


def _record(name: str, pid: int, tid: int, key: str, value: str) -> str:
    return f'{{"ph":"M","name":"{name}","pid":{pid},"tid":{tid},"ts":0,"args":{{"{key}":{value}}}}}'


def _group_names(tracks: Tracks, run: int, title: str) -> Iterator[str]:
    """Yield the records that name the groups of a run."""
    for pid, name in tracks.groups(run):
        yield _record("process_name", pid, 0, "name", quoted(f"{title}, {name}" if name else title))
        yield _record("process_sort_index", pid, 0, "sort_index", str(pid))


def _track_names(tracks: Tracks, run: int, track: int) -> Iterator[str]:
    """Yield the records that name a track of each location."""
    for order, (pid, tid, name) in enumerate(tracks.names(run, track)):
        yield _record("thread_name", pid, tid, "name", quoted(name))
        yield _record("thread_sort_index", pid, tid, "sort_index", str(order))
