"""What a timeline picture shows, as numbers and words: lanes, groups of routines, the part of the run that is drawn, what is left out.

Everything here is numpy only. What is drawn is bounded by the size of the picture: see `bars` and `choice`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.errors import UsageError
from perwiz.report import blocks
from perwiz.report.picture import bars as lanes_bars
from perwiz.report.picture import choice
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.tables import STREAM, THREAD, Locations, Times
from perwiz.trace.trace import Timeline, Trace

GROUPS = ("send", "receive", "send-receive", "calls that wait or test", "collective", "other calls", "idle thread or device", "waiting")
"""What shares a colour: groups of routines, threads and devices that have nothing to do, and what of any other call is waiting."""
IDLE, WAITING = GROUPS.index("idle thread or device"), GROUPS.index("waiting")

_GROUP_OF_KIND = {
    operations.SEND: 0,
    operations.ISEND: 0,
    operations.RECV: 1,
    operations.IRECV: 1,
    operations.SENDRECV: 2,
    operations.COMPLETE: 3,
    operations.TEST: 3,
    operations.PROBE: 3,
    operations.N_TO_N: 4,
    operations.ONE_TO_N: 4,
    operations.N_TO_ONE: 4,
    operations.PREFIX: 4,
    operations.OTHER: 5,
    operations.LETS: 5,
    operations.AWAITS: 3,
}
GROUP = np.array([_GROUP_OF_KIND[int(kind)] for kind in operations.KIND], "u1")
GROUP[[operations.OP[name] for name in ("omp_idle", "pthread_idle", "thread_idle", "device_idle")]] = IDLE
"""Row of GROUPS per op."""

_ARCHIVE = "traces.otf2"
"""The name that Score-P gives every archive; only its folder tells them apart."""
_INIT = np.isin(operations.OPS, ("MPI_Init", "MPI_Init_thread"))
_LONG_INIT = 0.1
"""An MPI_Init that ends after more than this share of the makespan is not drawn."""
FINE = 4
"""In lanes of so few dots calls fill the lane from top to bottom."""
_THINNEST_MARKED = 8
"""Lanes of fewer dots have no room for marks of zeroed waits beside the bar."""
_FIRST = 1 << 61
"""A wait longer than any, ns."""


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a panel is."""

    width: float
    """Length of the time axis, dots."""
    lane: float
    """Height of a lane, dots."""
    columns: int
    """Columns of the time axis."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """What all panels of one picture share."""

    lane: I8
    """Lane per location."""
    labels: list[str]
    """Text per lane."""
    zeroed: I8
    """Rows of calls, ascending."""
    bands: I8
    """Rows of regions: the instances of parallel regions."""
    messages: I8
    """Rows of the messages to draw."""
    kernels: I8
    """Rows of regions: what streams of devices do."""
    links: I8
    """Rows of the links to draw: all between two lanes, or none of too many."""
    early: bool
    """Whether messages are received before they are sent in the first panel."""
    marks: str
    """How the zeroed waits are marked: `frames`, many as `strips` above the bars, in very thin lanes `none`."""
    recorded: int
    """Makespan of the first panel, ns."""
    shares_of: int
    """What percentages are of, ns."""
    origin: int
    """Where the time axis begins, ns since the start of the run; above 0 if a long MPI_Init is cut off."""
    span: int
    """Length of the time axis, ns; never 0."""
    size: Size
    meaning: str = "zeroed wait"
    """What one of the marked calls is."""
    since: str = "the start of the run"
    """What the time axis counts from."""

    @property
    def unit(self) -> tuple[int, str]:
        """Return the nanoseconds and the name of the unit of the time axis."""
        return unit(self.origin + self.span)

    def columns(self, timeline: Timeline, moments: I8) -> F8:
        """Return where moments of a run lie, in columns from the left edge; what is cut off is below 0."""
        return (moments - (start(timeline) + self.origin)) / self.span * self.size.columns

    def times(self, columns: F8) -> F8:
        """Return where columns lie, in units of the time axis."""
        return (self.origin + columns / self.size.columns * self.span) / self.unit[0]


def scene(trace: Trace, timelines: Sequence[Timeline], zeroed: I8, size: Size) -> Scene:
    """Return what the panels share; the first timeline, one of at least one, decides which messages are drawn.

    Raises UsageError for a row of `zeroed` that is not a call.
    """
    outside = zeroed[(zeroed < 0) | (zeroed >= len(trace.calls))]
    if len(outside):
        raise UsageError(f"{trace.path}: no call e{outside[0]}, must be one of the {len(trace.calls)} calls from e0 on")
    cut = origin(trace, timelines)
    links = _links(trace)
    bare = Scene(
        lane=lanes(trace.locations),
        labels=labels(trace.locations),
        zeroed=np.unique(zeroed),
        bands=np.flatnonzero(trace.parallel[trace.region_names]),
        messages=np.empty(0, np.int64),
        kernels=kernels(trace),
        links=links[: len(links) * (len(links) <= choice.FEW_MESSAGES)],
        early=bool(len(early(trace, timelines[0], np.arange(len(trace.messages))))),
        marks="none",
        recorded=timelines[0].makespan,
        shares_of=blocks.shares_of(trace, timelines[0].makespan),
        origin=cut,
        span=max(timeline.makespan - cut for timeline in timelines) or 1000,
        size=size,
    )
    return dataclasses.replace(bare, messages=_messages(trace, timelines, bare), marks=_marks(trace, timelines[0], bare))


def joined(scenes: Sequence[Scene]) -> list[Scene]:
    """Return the scenes of several traces, at least one, with one time axis, and the end of the first to compare with."""
    cut = min(scene.origin for scene in scenes)
    span = max(scene.origin + scene.span for scene in scenes) - cut
    shared = {name: getattr(scenes[0], name) for name in ("recorded", "shares_of", "meaning")}
    return [dataclasses.replace(scene, origin=cut, span=span, **shared) for scene in scenes]


def origin(trace: Trace, timelines: Iterable[Timeline]) -> int:
    """Return where the axis begins, ns since the start: where the last process leaves MPI_Init if that is late, else 0."""
    rows = np.flatnonzero(_INIT[trace.calls.op])
    if not len(rows):
        return 0
    ends, spans = zip(*((int(one.calls.leave[rows].max()) - start(one), one.makespan) for one in timelines), strict=True)
    late = ends[0] > _LONG_INIT * spans[0]
    return min(ends) if late and min(ends) < max(spans) else 0


def _messages(trace: Trace, timelines: Sequence[Timeline], drawn: Scene) -> I8:
    """Return the messages to draw: as many as leave the lanes visible in every panel, those received too early first."""
    send, done = trace.messages.send, trace.messages.receive_done
    width, lane, first = drawn.size.width / drawn.size.columns, drawn.size.lane, timelines[0]
    up = (drawn.lane[trace.calls.location[send]] - drawn.lane[trace.calls.location[done]]) * lane
    length = np.zeros(len(send))
    for timeline in timelines:
        left, right = drawn.columns(timeline, timeline.calls.enter[send]), drawn.columns(timeline, timeline.calls.leave[done])
        length = np.maximum(length, np.hypot((right.clip(0) - left.clip(0)) * width, up))
    place = drawn.columns(first, first.calls.leave[done]) / drawn.size.columns
    wait = first.calls.leave[done] - first.calls.enter[done]
    late = early(trace, first, np.arange(len(send)))
    wait[late] = _FIRST + first.calls.enter[send[late]] - first.calls.leave[done[late]]
    return choice.messages(wait, length, place, drawn.size.width * lane * len(drawn.lane))


def _links(trace: Trace) -> I8:
    """Return the rows of links between two locations."""
    links, location = trace.links, trace.calls.location
    return np.flatnonzero(location[links.cause] != location[links.effect])


def kernels(trace: Trace) -> I8:
    """Return the rows of the regions that lie in no other, on streams of devices."""
    return np.flatnonzero((trace.locations.kind[trace.regions.location] == STREAM) & (trace.regions.parent < 0))


def early(trace: Trace, timeline: Timeline, messages: I8) -> I8:
    """Return those of some messages that are received before they are sent, as rows of the table of messages."""
    send, done = trace.messages.send[messages], trace.messages.receive_done[messages]
    return messages[timeline.calls.leave[done] < timeline.calls.enter[send]]


def _marks(trace: Trace, timeline: Timeline, drawn: Scene) -> str:
    """Return how zeroed waits are marked, so that the marks do not bury the lanes."""
    middle = (timeline.calls.enter[drawn.zeroed] + timeline.calls.leave[drawn.zeroed]) // 2
    dots = drawn.columns(timeline, middle) / drawn.size.columns * drawn.size.width
    if not choice.crowded(drawn.lane[trace.calls.location[drawn.zeroed]], dots):
        return "frames"
    return "strips" if drawn.size.lane >= _THINNEST_MARKED else "none"


def bars(
    scene: Scene,
    timeline: Timeline,
    times: Times,
    rows: I8,
    location: I4,
    group: NDArray[np.integer],
) -> lanes_bars.Bars:
    """Return the bars of some rows of a table, whose times are part of a timeline; location and group: one per row of the table."""
    left, right = (scene.columns(timeline, moments[rows]) for moments in (times.enter, times.leave))
    return lanes_bars.bars(scene.lane[location[rows]], group[rows], left, right, scene.size.columns)


def calls(trace: Trace, timeline: Timeline, scene: Scene, wait: I8 | None = None) -> lanes_bars.Bars:
    """Return the bars of all calls, each in its group of routines; with `wait`, ns per call, each begins with one of waiting."""
    times, location, group = timeline.calls, trace.calls.location, GROUP[trace.calls.op]
    whole = bars(scene, timeline, times, np.arange(len(group)), location, group)
    wait = None if wait is None else waiting(trace, wait)
    if wait is None or not wait.any():
        return whole
    until = np.minimum(times.enter + wait, times.leave)
    waits, rest = np.flatnonzero(wait), np.flatnonzero((wait == 0) | (until < times.leave))
    parts = Times(np.concatenate((times.enter[waits], until[rest])), np.concatenate((until[waits], times.leave[rest])))
    place, kind = location[np.concatenate((waits, rest))], np.concatenate((np.full(len(waits), WAITING), group[rest]))
    return dataclasses.replace(bars(scene, timeline, parts, np.arange(len(kind)), place, kind), merged=whole.merged)


def waiting(trace: Trace, wait: I8) -> I8:
    """Return what of the waits of calls, ns, is shown as such: that of threads and devices that have nothing to do is not."""
    return np.where(GROUP[trace.calls.op] == IDLE, 0, wait)


def start(timeline: Timeline) -> int:
    """Return the first instant of a run, ns."""
    return int(timeline.locations.enter.min()) if len(timeline.locations) else 0


def lanes(locations: Locations) -> I8:
    """Return the lane per location, from 0 on top, in the order of ranks and their threads."""
    lane = np.empty(len(locations), np.int64)
    lane[np.lexsort((locations.thread, locations.process))] = np.arange(len(locations))
    return lane


def labels(locations: Locations) -> list[str]:
    """Return the text per lane: `rank 3`, `rank 3.1` for another of its threads, `stream 3.2` for a stream of its device."""
    order = np.lexsort((locations.thread, locations.process))
    rows = zip(*(column[order].tolist() for column in (locations.process, locations.thread, locations.kind)), strict=True)
    return [f"{'stream' if kind == STREAM else 'rank'} {words.rank(process, thread)}" for process, thread, kind in rows]


def label_step(lane_height: float, text_height: float) -> int:
    """Return the smallest power of two n such that labels on every n-th lane do not touch; both heights in one unit, above 0."""
    step = 1
    while step * lane_height < text_height:
        step *= 2
    return step


def unit(time: int) -> tuple[int, str]:
    """Return the nanoseconds and the name of the unit in which to write a time of so many nanoseconds."""
    if time >= 1_000_000_000:
        return 1_000_000_000, "s"
    return (1_000_000, "ms") if time >= 1_000_000 else (1_000, "us")


def title(trace: Trace) -> str:
    """Return the name of the trace and its size: `ring.alog: 4 processes, 80 MPI calls`; of a Score-P archive also the folder.

    Threads and streams are told where there are some: `2 processes, 2 more threads, 19 calls`.
    """
    folder, name = os.path.split(os.path.abspath(trace.path))
    if name == _ARCHIVE:
        name = os.path.join(os.path.basename(folder), name)
    count = np.bincount(trace.locations.kind, minlength=3).tolist()
    told = [words.several(number, noun) for number, noun in zip(count[THREAD:], ("more thread", "stream"), strict=True) if number]
    sizes = [words.several(len(np.unique(trace.locations.process)), "process"), *told, words.several(len(trace.calls), noun(trace))]
    return f"{words.shown(name, 70)}: {', '.join(sizes)}"


def noun(trace: Trace) -> str:
    """Return what one of the calls of a trace is called."""
    return "MPI call" if operations.MPI[trace.calls.op].all() else "call"


def notes(trace: Trace, drawn: Scene, merged: int) -> list[str]:
    """Return what the picture leaves out or changes, given the number of calls too short to be drawn on their own."""
    lines = []
    if drawn.origin:
        lines.append(f"0 to {words.duration(drawn.origin)}, until the last process left MPI_Init, is not drawn")
    if len(drawn.messages) < len(trace.messages):
        first = "those received before they were sent, then " if drawn.early else ""
        lines.append(f"{len(drawn.messages)} of {len(trace.messages)} messages drawn, {first}those with the longest waits")
    if len(drawn.links) < len(links := _links(trace)):
        lines.append(f"{len(links)} links of threads, devices and windows are not drawn")
    if drawn.marks == "strips":
        lines.append(
            f"{words.several(len(drawn.zeroed), drawn.meaning)} marked by strips above the bars, pale where they cover little of a dot"
        )
    if drawn.marks == "none":
        lines.append(f"{words.several(len(drawn.zeroed), drawn.meaning)} not marked, as lanes are too thin")
    if merged:
        measure = "height" if drawn.size.lane > FINE else "strength"
        short = f"{merged} of {len(trace.calls)} calls are shorter than a dot: per dot"
        lines.append(f"{short} the colour is the kind that lasts longest, the {measure} the share of time in calls")
    return lines
