"""A picture of one or more runs over the same calls: a lane per process, panels one above the other with one time axis.

The amount drawn is bounded by the size of the picture, not by the size of the trace; `lanes` decides what, this module draws it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.errors import UsageError
from perwiz.report import blocks
from perwiz.report.picture import lanes, marks
from perwiz.report.picture.bars import Bars
from perwiz.report.picture.figure import DPI, Line, beside, inches, save, sheet
from perwiz.trace.arrays import I8
from perwiz.trace.tables import LINKS
from perwiz.trace.trace import Timeline, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SOLID: dict[str, Any] = {"color": "black", "linewidth": 1.4}
_DASHED: dict[str, Any] = {"color": "black", "linewidth": 1.2, "linestyle": (0, (4, 3))}
_BREAK: dict[str, Any] = {"color": "black", "marker": [(-1, -2), (1, 2)], "markersize": 9, "markeredgewidth": 1}
_WIDTH, _LEFT, _RIGHT = 12.0, 0.75, 0.3
_NARROW, _NARROW_LEFT = 6.0, 0.12
"""Inches of a picture whose texts begin at its edge, and where that is."""
_HEAD, _TITLE, _AXIS, _LEGEND_ROW, _LEGEND_COLUMN = 0.5, 0.17, 0.5, 0.22, 1.75
_LEGEND_COLUMNS, _TEXT, _LABEL = 6, 0.15, 10
"""Columns; inches of a label, and letters that it has room for at its full size."""
_LANE, _LOWEST, _HIGHEST, _TALLEST = 0.32, 0.8, 14.0, 2.5
_FEWEST, _MOST_BOXES = 100, 400_000


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One panel of the picture: a timeline over the calls of the trace, and what to call it."""

    title: str
    timeline: Timeline
    rival: bool = True
    """Whether its makespan is compared with that of the first one."""
    trace: Trace | None = None
    """What it is the timeline of; None: of the trace that `plot` is given."""
    marked: NDArray[np.integer[Any]] | Sequence[int] = ()
    """Rows of calls to mark, if it has a trace of its own."""
    wait: I8 | None = None
    """ns that each of its calls waits, if that is known."""
    whole: int | None = None
    """Makespan of the run, ns, where the timeline is only the rest of it."""


class Curves(Protocol):
    """A panel of curves below the lanes, over the same axis."""

    height: float
    """Inches."""

    def draw(self, axes: Axes, scene: lanes.Scene) -> None:
        """Draw into a panel whose time axis is set up."""

    def notes(self) -> list[str]:
        """Return what the panel leaves out."""


class Overlay(Protocol):
    """Marks in front of the lanes, in every panel."""

    def draw(self, axes: Axes, timeline: Timeline, scene: lanes.Scene) -> None:
        """Draw into a panel that shows a timeline."""

    def handles(self) -> list[tuple[Any, str]]:
        """Return a sample and its meaning for each kind of mark."""

    def notes(self) -> list[str]:
        """Return what the marks leave out."""


def plot(
    trace: Trace,
    rows: Sequence[Row],
    path: str,
    zeroed: NDArray[np.integer[Any]] | Sequence[int] = (),
    curves: Curves | None = None,
    overlay: Overlay | None = None,
    meaning: str = "zeroed wait",
    since: str = "the start of the run",
    width: float | None = None,
) -> None:
    """Write a picture of the timelines of one or more traces, the first on top; the suffix of `path` (.png, .svg, .pdf) says which format.

    Each panel begins at the first instant of its run, and later ones are compared with the end of the first. `zeroed` are
    rows of calls, marked in every panel as what `meaning` says. `curves` come below, `overlay` in front; times count from `since`.
    `width` in inches. The first row has no trace of its own. The file appears complete or not at all.
    Raises UsageError for another suffix, no rows, a call that is not there, or a place that cannot be written.
    """
    if not rows:
        raise UsageError(f"{path}: no timeline to draw, must be one or more")
    wide = width or _WIDTH
    scenes = [dataclasses.replace(scene, since=since) for scene in _scenes(trace, rows, np.asarray(zeroed, np.int64), meaning, wide)]
    save(lambda: _draw(trace, rows, scenes, curves, overlay, wide), path)


def _scenes(trace: Trace, rows: Sequence[Row], zeroed: I8, meaning: str, width: float) -> list[lanes.Scene]:
    """Return what each panel shows; panels of one trace share it."""
    size = _size(max(len((row.trace or trace).locations) for row in rows), len(rows), width)
    shared = lanes.scene(trace, [row.timeline for row in rows if row.trace is None], zeroed, size)
    shared = dataclasses.replace(shared, meaning=meaning)
    own = [shared if row.trace is None else lanes.scene(row.trace, [row.timeline], np.asarray(row.marked, np.int64), size) for row in rows]
    return lanes.joined(own)


def _size(lanes_drawn: int, panels: int, width: float) -> lanes.Size:
    """Return the size of a panel; columns of the time axis are one and a half dots wide or, with many lanes, more."""
    height = min(max(_LANE * lanes_drawn, _LOWEST), min(_HIGHEST, _TALLEST * width) / panels)
    dots = (width - _LEFT - _RIGHT) * DPI
    columns = max(_FEWEST, min(int(dots) * 2 // 3, _MOST_BOXES // max(1, lanes_drawn)))
    return lanes.Size(width=dots, lane=height / max(1, lanes_drawn) * DPI, columns=columns)


def _draw(
    trace: Trace, rows: Sequence[Row], scenes: Sequence[lanes.Scene], curves: Curves | None, overlay: Overlay | None, width: float
) -> Figure:
    """Return the whole picture; places are reckoned in inches, so nothing overlaps at any height."""
    traces = [row.trace or trace for row in rows]
    calls = [lanes.calls(shown, row.timeline, scene, row.wait) for shown, row, scene in zip(traces, rows, scenes, strict=True)]
    handles, lines = _handles(traces, rows, scenes), _notes(traces, scenes, calls)
    if any(row.rival for row in rows[1:]):
        lines += blocks.share_notes(scenes[0].shares_of, scenes[0].recorded, trace.part)
    lines += curves.notes() if curves else []
    if overlay:
        handles += overlay.handles()
        lines += overlay.notes()
    columns, inner = min(_LEGEND_COLUMNS, max(1, int(width / _LEGEND_COLUMN))), width - _LEFT - _RIGHT
    legend = -(-len(handles) // columns) * _LEGEND_ROW
    heights = [scene.size.lane * max(1, len(scene.labels)) / DPI for scene in scenes]
    titles = [Line(words.shown(row.title, 300), 10, weight="bold").wrapped(inner) for row in rows]
    heads = [_HEAD + _TITLE * (len(title) - 1) for title in titles]
    below = _HEAD + (2 * _TITLE if width < _NARROW else 0) + curves.height if curves else 0
    low = sum(heads) + sum(heights) + below + _AXIS + legend
    above, notes = [Line(lanes.title(trace), 12, weight="bold")], [Line(line, 8, "#444444") for line in lines]
    drawing = sheet(width, low, above, notes, _LEFT if width > _NARROW else _NARROW_LEFT)
    for number, (row, scene, height, head) in enumerate(zip(rows, scenes, heights, heads, strict=True)):
        low -= head + height
        axes = drawing.axes(_LEFT, low, inner, height)
        _frame(axes, "\n".join(titles[number]), scene, last=number == len(rows) - 1 and not curves)
        marks.panel(axes, traces[number], row.timeline, scene, calls[number])
        if overlay:
            overlay.draw(axes, row.timeline, scene)
        _ends(axes, row, scene, first=number == 0)
    if curves:
        axes = drawing.axes(_LEFT, _AXIS + legend, inner, curves.height)
        _time_axis(axes, scenes[0], last=True)
        curves.draw(axes, scenes[0])
    _legend(drawing.figure, handles, columns, drawing.box(_LEFT if width > _NARROW else _NARROW_LEFT, 0, inner, legend))
    return drawing.figure


def _frame(axes: Axes, title: str, scene: lanes.Scene, last: bool) -> None:
    """Set up one panel of lanes: limits, labels of lanes and of time, its title."""
    _time_axis(axes, scene, last)
    count = max(1, len(scene.labels))
    axes.set_ylim(count - 0.4, -0.6)
    step = lanes.label_step(scene.size.lane / DPI, _TEXT)
    longest = max(map(len, scene.labels), default=0)
    axes.set_yticks(range(0, len(scene.labels), step), scene.labels[::step], size=8 * min(1, _LABEL / max(longest, 1)))
    axes.tick_params("y", length=0)
    axes.annotate(title, (0, 1), (0, 17), "axes fraction", "offset points", size=10, weight="bold", parse_math=False)


def _time_axis(axes: Axes, scene: lanes.Scene, last: bool) -> None:
    """Set up the time axis of a panel, with numbers below the last one."""
    scale, unit = scene.unit
    left, right, margin = scene.origin / scale, (scene.origin + scene.span) / scale, 0.004 * scene.span / scale
    axes.set_xlim(left if scene.origin else left - margin, right + margin)
    axes.tick_params("x", labelsize=8, labelbottom=last)
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.spines[["top", "left", "right"]].set_visible(False)
    if scene.origin:
        axes.plot([0, 0.004], [0, 0], transform=axes.transAxes, clip_on=False, linewidth=0, zorder=7, **_BREAK)
    if last:
        axes.set_xlabel(beside(axes, Line(f"time since {scene.since} [{unit}]", 9)), size=9)


def _ends(axes: Axes, row: Row, scene: lanes.Scene, first: bool) -> None:
    """Draw the end of the run and its makespan; below the first panel also the end of the first run and the gain."""
    from matplotlib.transforms import ScaledTranslation

    scale, makespan = scene.unit[0], row.timeline.makespan
    beside = axes.get_xaxis_transform() + ScaledTranslation(1 / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot([makespan / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_SOLID)
    text = f"makespan {words.duration(makespan)}"
    if row.whole is not None:
        text = f"{words.duration(makespan)} of a makespan of {words.duration(row.whole)}"
    if not first:
        axes.plot([scene.recorded / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_DASHED)
        text = ", ".join(filter(None, [text, blocks.gained(scene.recorded, makespan, scene.shares_of) if row.rival else ""]))
    late = makespan - scene.origin > scene.span / 2
    axes.annotate(
        text,
        (makespan / scale, 1),
        (3 if late else -3, 3),
        ("data", "axes fraction"),
        "offset points",
        ha="right" if late else "left",
        size=9 if inches(axes) > _NARROW else 7.5,
    )


def _notes(traces: Sequence[Trace], scenes: Sequence[lanes.Scene], calls: Sequence[Bars]) -> list[str]:
    """Return what the picture leaves out, of one trace, or panel by panel."""
    if all(shown is traces[0] for shown in traces):
        return lanes.notes(traces[0], scenes[0], max(bars.merged for bars in calls))
    lines = [lanes.notes(shown, scene, bars.merged) for shown, scene, bars in zip(traces, scenes, calls, strict=True)]
    return [f"panel {number}: {text}" for number, notes in enumerate(lines, 1) for text in notes]


def _seen(trace: Trace, row: Row, scene: lanes.Scene) -> NDArray[np.integer[Any]]:
    """Return the groups of routines that a panel shows."""
    drawn = row.timeline.calls.leave > lanes.start(row.timeline) + scene.origin if scene.origin else slice(None)
    waiting = [lanes.WAITING] if row.wait is not None and lanes.waiting(trace, row.wait)[drawn].any() else []
    return np.append(np.unique(lanes.GROUP[trace.calls.op[drawn]]), waiting).astype("i8")


def _handles(traces: Sequence[Trace], rows: Sequence[Row], scenes: Sequence[lanes.Scene]) -> list[tuple[Any, str]]:
    """Return a sample and its meaning for all that occurs in the picture; what is no routine as in the first panel."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    trace, scene, panels = traces[0], scenes[0], list(zip(traces, rows, scenes, strict=True))
    seen = np.unique(np.concatenate([_seen(*panel) for panel in panels]))
    handles: list[tuple[Any, str]] = [(Patch(color=marks.COLOURS[group]), lanes.GROUPS[group]) for group in seen]
    if len(trace.locations):
        handles.append((Line2D([], [], color=marks.COMPUTATION, linewidth=3), "computation"))
    if len(scene.bands):
        names = {trace.names[name] for name in trace.region_names[scene.bands]}
        meaning = f"region {words.shown(names.pop(), 24)}" if len(names) == 1 else "parallel regions"
        handles.append((tuple(Patch(color=shade) for shade in marks.SHADES), meaning))
    if len(scene.messages):
        handles.append((Line2D([], [], color=marks.MESSAGE, linewidth=0.8), "message"))
    if len(scene.links):
        kinds = ", ".join(LINKS[kind] for kind in np.unique(trace.links.kind[scene.links]))
        handles.append((Line2D([], [], color=marks.MESSAGE, linewidth=0.8, linestyle="dotted"), kinds))
    if any(len(lanes.early(shown, row.timeline, drawn.messages)) for shown, row, drawn in panels):
        handles.append((Line2D([], [], color=marks.EARLY, linewidth=0.8), "received before it was sent"))
    if len(scene.zeroed) and scene.marks != "none":
        sample = {"marker": "v", "linewidth": 0, "markersize": 7} if scene.marks == "frames" else {"linewidth": 3}
        handles.append((Line2D([], [], color=marks.ZEROED, **sample), scene.meaning))
    handles.append((Line2D([], [], **_SOLID), "end of the run"))
    if len(rows) > 1:
        handles.append((Line2D([], [], **_DASHED), "end of the upper run"))
    return handles


def _legend(figure: Figure, handles: list[tuple[Any, str]], columns: int, box: tuple[float, float, float, float]) -> None:
    """Draw the legend into a box of the figure, below all lanes."""
    from matplotlib.legend_handler import HandlerTuple

    legend = figure.legend(
        [sample for sample, _ in handles],
        [meaning for _, meaning in handles],
        loc="center left",
        bbox_to_anchor=box,
        ncols=columns,
        fontsize=8.5 if figure.get_figwidth() > _NARROW else 7,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        handler_map={tuple: HandlerTuple(None, pad=0)},
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
