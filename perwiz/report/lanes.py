"""What a timeline picture shows, as numbers: lanes, groups of routines, bars no narrower than a column of pixels, times as text.

Everything here is numpy only and bounded by the size of the picture: a lane never has more than two bars per column,
however many calls the trace has.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.trace import ops
from perwiz.trace.tables import Locations
from perwiz.trace.trace import Timeline, Trace

GROUPS = ("send", "receive", "send-receive", "wait, test, probe", "collective", "other MPI")
"""Groups of MPI routines that share a colour."""

_GROUP_OF_KIND = {
    ops.SEND: 0,
    ops.ISEND: 0,
    ops.RECV: 1,
    ops.IRECV: 1,
    ops.SENDRECV: 2,
    ops.COMPLETE: 3,
    ops.TEST: 3,
    ops.PROBE: 3,
    ops.N_TO_N: 4,
    ops.ONE_TO_N: 4,
    ops.N_TO_ONE: 4,
    ops.PREFIX: 4,
    ops.OTHER: 5,
}
GROUP = np.array([_GROUP_OF_KIND[int(kind)] for kind in ops.KIND], "u1")
"""Row of GROUPS per op."""

MOST_MESSAGES, FEWER_MESSAGES = 4000, 2000
"""With more messages than the first number, only the second number of them is drawn."""

_GOLDEN = 0.6180339887498949


@dataclasses.dataclass(frozen=True, eq=False)
class Bars:
    """Bars in drawing order, later ones on top; their ends are in columns from the left edge of the picture."""

    lane: NDArray[np.int64]
    group: NDArray[np.int64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    merged: int
    """Intervals narrower than a column, which were put together column by column."""

    def __len__(self) -> int:
        return len(self.lane)


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """What all panels of one picture share."""

    lane: NDArray[np.int64]
    """Lane per location."""
    labels: list[str]
    """Text per lane."""
    zeroed: NDArray[np.int64]
    """Rows of calls, ascending."""
    bands: NDArray[np.int64]
    """Rows of regions: the instances of parallel regions."""
    messages: NDArray[np.int64]
    """Rows of the messages to draw."""
    recorded: int
    """Makespan of the first panel, ns."""
    span: int
    """Length of the time axis, ns; never 0."""
    height: float
    """Height of a panel, inches."""
    columns: int
    """Columns of the time axis."""

    @property
    def column(self) -> float:
        """Width of a column in units of the time axis."""
        return self.span / unit(self.span)[0] / self.columns


def scene(trace: Trace, timelines: Sequence[Timeline], zeroed: NDArray[np.int64], height: float, columns: int) -> Scene:
    """Return what the panels share; the first timeline, one of at least one, decides which messages are drawn.

    Raises UsageError for a row of `zeroed` that is not a call.
    """
    outside = zeroed[(zeroed < 0) | (zeroed >= len(trace.calls))]
    if len(outside):
        raise UsageError(f"{trace.path}: no call e{outside[0]}, must be one of the {len(trace.calls)} calls from e0 on")
    calls, done = timelines[0].calls, trace.messages.receive_done
    return Scene(
        lane=lanes(trace.locations),
        labels=labels(trace.locations),
        zeroed=np.unique(zeroed),
        bands=np.flatnonzero(trace.parallel[trace.paths.region[trace.regions.path]]),
        messages=choose(calls.leave[done] - calls.enter[done]),
        recorded=timelines[0].makespan,
        span=max(timeline.makespan for timeline in timelines) or 1000,
        height=height,
        columns=columns,
    )


def start(timeline: Timeline) -> int:
    """Return the first instant of a run, ns."""
    return int(timeline.locations.enter.min()) if len(timeline.locations) else 0


def lanes(locations: Locations) -> NDArray[np.int64]:
    """Return the lane per location, from 0 on top, in the order of ranks and their threads."""
    lane = np.empty(len(locations), np.int64)
    lane[np.lexsort((locations.thread, locations.process))] = np.arange(len(locations))
    return lane


def labels(locations: Locations) -> list[str]:
    """Return the text per lane: `rank 3`, or `rank 3.1` for thread 1 when any process has threads."""
    order = np.lexsort((locations.thread, locations.process))
    threads = bool(locations.thread.any())
    pairs = zip(locations.process[order].tolist(), locations.thread[order].tolist(), strict=True)
    return [f"rank {process}.{thread}" if threads else f"rank {process}" for process, thread in pairs]


def label_step(lane_height: float, text_height: float) -> int:
    """Return the smallest power of two n such that labels on every n-th lane do not touch; both heights in one unit, above 0."""
    step = 1
    while step * lane_height < text_height:
        step *= 2
    return step


def bars(
    lane: NDArray[np.int64],
    group: NDArray[np.integer],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    columns: int,
) -> Bars:
    """Return what to draw for many intervals, at most two bars per lane and column.

    Intervals of at least one column stay as they are. Of the narrower ones each column keeps the group that covers most of
    it (the smaller number on a tie), and neighbouring columns of one lane and group become one bar. Those come last.
    lane, group: rows of an interval; left, right: its ends in columns, 0 to `columns`. Order does not matter.
    """
    wide = np.flatnonzero(right - left >= 1)
    narrow = np.flatnonzero(right - left < 1)
    some = _columnwise(lane[narrow], group[narrow], left[narrow], right[narrow], columns)
    return Bars(
        lane=np.concatenate([lane[wide], some.lane]),
        group=np.concatenate([group[wide].astype(np.int64), some.group]),
        left=np.concatenate([left[wide], some.left]),
        right=np.concatenate([right[wide], some.right]),
        merged=some.merged,
    )


def _columnwise(
    lane: NDArray[np.int64], group: NDArray[np.integer], left: NDArray[np.float64], right: NDArray[np.float64], columns: int
) -> Bars:
    """Return runs of columns whose dominant group is the same; an interval counts in the column of its middle."""
    column = np.clip((left + right) / 2, 0, columns - 1).astype(np.int64)
    winner = _dominant(lane * columns + column, group, right - left)
    cell = np.flatnonzero(winner >= 0)
    kind = winner[cell]
    new = np.ones(len(cell), np.bool_)
    new[1:] = (np.diff(cell) != 1) | (np.diff(kind) != 0) | (cell[1:] % columns == 0)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(cell))[: len(first)] - 1
    return Bars(
        lane=cell[first] // columns,
        group=kind[first],
        left=(cell[first] % columns).astype(np.float64),
        right=(cell[last] % columns + 1).astype(np.float64),
        merged=len(lane),
    )


def _dominant(cell: NDArray[np.int64], group: NDArray[np.integer], width: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return per cell the group with the largest sum of widths, or -1 where nothing is; a width of zero still counts a little."""
    if not len(cell):
        return np.empty(0, np.int64)
    groups = int(group.max()) + 1
    cover = np.bincount(cell * groups + group, width + 1e-9, (int(cell.max()) + 1) * groups).reshape(-1, groups)
    return np.where(cover.any(axis=1), cover.argmax(axis=1), -1)


def boxes(lane: NDArray[np.int64], left: NDArray[np.float64], right: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    """Return the corners (n, 4, 2) of boxes centred on their lanes; `height` is in lanes."""
    low, high = lane - height / 2, lane + height / 2
    return np.stack([np.stack([left, left, right, right], 1), np.stack([low, high, high, low], 1)], 2)


def choose(wait: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the messages to draw, ascending rows: all, or of many those with the longest waits, spread evenly among equal ones."""
    rows = np.arange(len(wait))
    if len(wait) <= MOST_MESSAGES:
        return rows
    return np.sort(np.lexsort((rows * _GOLDEN % 1, -wait))[:FEWER_MESSAGES])


def unit(time: int) -> tuple[int, str]:
    """Return the nanoseconds and the name of the unit in which to write a time of so many nanoseconds."""
    if time >= 1_000_000_000:
        return 1_000_000_000, "s"
    return (1_000_000, "ms") if time >= 1_000_000 else (1_000, "us")


def duration(time: int) -> str:
    """Return nanoseconds as text with four digits or more: `1.250 s`, `12.34 ms`, `0.040 us`."""
    scale, name = unit(time)
    value = time / scale
    return f"{value:.{max(0, 4 - len(str(int(value))))}f} {name}"


def gain(recorded: int, predicted: int) -> str:
    """Return how much shorter the second makespan is: `gain 12.5 %`, `loss 3.0 %`, or nothing if the first one is zero."""
    if recorded <= 0:
        return ""
    share = 100 * (recorded - predicted) / recorded
    return f"{'gain' if share >= 0 else 'loss'} {abs(share):.1f} %"


def shorten(text: str, most: int) -> str:
    """Return the text, its end replaced by three dots if it has more than `most` characters."""
    return text if len(text) <= most else text[: most - 3].rstrip() + "..."


def title(trace: Trace) -> str:
    """Return the name of the trace and its size: `ring.alog: 4 processes, 80 MPI calls`."""
    processes, calls = len(np.unique(trace.locations.process)), len(trace.calls)
    size = f"{processes} process{'' if processes == 1 else 'es'}, {calls} MPI call{'' if calls == 1 else 's'}"
    return f"{shorten(os.path.basename(trace.path), 70)}: {size}"


def notes(trace: Trace, drawn: Scene, merged: int) -> str:
    """Return what the picture leaves out or changes, given the number of calls too short to be drawn on their own."""
    said = []
    if len(drawn.messages) < len(trace.messages):
        said.append(f"{len(drawn.messages)} of {len(trace.messages)} messages drawn, those with the longest waits")
    if merged:
        said.append(f"{merged} of {len(trace.calls)} calls, shorter than a dot, drawn one dot wide (per dot the kind that lasts longest)")
    return "; ".join(said)
