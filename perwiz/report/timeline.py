"""A picture of one or more runs over the same calls: a lane per process, panels one above the other with one time axis.

The amount drawn is bounded by the size of the picture, not by the size of the trace; `lanes` decides what, this module draws it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.report import lanes
from perwiz.trace.tables import Times
from perwiz.trace.trace import Timeline, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

_COLOURS = ("#0072B2", "#56B4E9", "#CC79A7", "#E69F00", "#009E73", "#6E6E6E")
_COMPUTATION, _MESSAGE, _ZEROED = "#C6C6C6", "#222222", "#D4002A"
_SOLID: dict[str, Any] = {"color": "black", "linewidth": 1.4}
_DASHED: dict[str, Any] = {"color": "black", "linewidth": 1.2, "linestyle": (0, (4, 3))}
_SHADES = ("#F3F3FA", "#E0E4F4")
_BAND, _BAR, _THIN = 1.0, 0.66, 0.2
_DPI, _WIDTH, _LEFT, _RIGHT = 150, 12.0, 0.95, 0.3
_TOP, _HEAD, _AXIS, _LEGEND_ROW, _NOTE = 0.4, 0.5, 0.5, 0.22, 0.22
_LEGEND_COLUMNS, _TEXT = 6, 0.15
_LANE, _LOWEST, _HIGHEST = 0.32, 0.8, 14.0
_FINE = 4
"""In lanes of so few dots calls fill the lane from top to bottom."""
_FEWEST, _MOST_BOXES, _MOST_MARKERS, _MOST_VECTORS = 100, 400_000, 400, 5000


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One panel of the picture: a timeline over the calls of the trace, and what to call it."""

    title: str
    timeline: Timeline


def plot(trace: Trace, rows: Sequence[Row], path: str, zeroed: NDArray[np.integer[Any]] | Sequence[int] = ()) -> None:
    """Write a picture of the timelines of one trace, the first on top; the suffix of `path` (.png, .svg, .pdf) says which format.

    Each panel begins at the first instant of its run, and later ones are compared with the end of the first. `zeroed` are
    rows of calls, marked in every panel. The file appears complete or not at all.
    Raises UsageError for another suffix, no rows, a call that is not there, or a place that cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a picture of type '{suffix}', must be one of {' '.join(SUFFIXES)}")
    if not rows:
        raise UsageError(f"{path}: no timeline to draw, must be one or more")
    scene = lanes.scene(trace, [row.timeline for row in rows], np.asarray(zeroed, np.int64), *_size(len(trace.locations), len(rows)))
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "perwiz"
        _write(_draw(trace, rows, scene), path, suffix[1:])


def _size(lanes_drawn: int, panels: int) -> tuple[float, int]:
    """Return the height of a panel in inches and the columns of the time axis, one and a half pixels wide or, with many lanes, more."""
    height = min(max(_LANE * lanes_drawn, _LOWEST), _HIGHEST / panels)
    pixels = int((_WIDTH - _LEFT - _RIGHT) * _DPI)
    return height, max(_FEWEST, min(pixels * 2 // 3, _MOST_BOXES // max(1, lanes_drawn)))


def _write(figure: Figure, path: str, kind: str) -> None:
    """Write the figure beside its place first and then move it there; leave nothing behind when that fails."""
    target = Path(path)
    temporary = target.with_name(f".perwiz-{os.urandom(6).hex()}.{kind}")
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    try:
        with temporary.open("xb") as file:
            figure.savefig(file, format=kind, dpi=_DPI, metadata=undated[kind])
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _draw(trace: Trace, rows: Sequence[Row], scene: lanes.Scene) -> Figure:
    """Return the whole picture; places are reckoned in inches from the top, so nothing overlaps at any height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    handles = _handles(trace, rows, scene)
    lines = -(-len(handles) // _LEGEND_COLUMNS)
    bottom = _AXIS + lines * _LEGEND_ROW + 0.1
    total = _TOP + len(rows) * (_HEAD + scene.height) + bottom + _NOTE
    figure = Figure(figsize=(_WIDTH, total))
    FigureCanvasAgg(figure)
    inches = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    figure.text(_LEFT / _WIDTH, 1 - 0.14 / total, lanes.title(trace), size=12, weight="bold", va="top", parse_math=False)
    merged = 0
    for number, row in enumerate(rows):
        low = total - _TOP - (number + 1) * (_HEAD + scene.height)
        axes = figure.add_axes((_LEFT / _WIDTH, low / total, inches, scene.height / total))
        _frame(axes, row, scene, last=number == len(rows) - 1)
        merged = max(merged, _panel(axes, trace, row.timeline, scene))
        _ends(axes, row.timeline.makespan, scene, number)
    _legend(figure, handles, (_LEFT / _WIDTH, _NOTE / total, inches, lines * _LEGEND_ROW / total))
    figure.text(_LEFT / _WIDTH, 0.08 / total, lanes.notes(trace, scene, merged), size=7.5, color="#555555", parse_math=False)
    return figure


def _frame(axes: Axes, row: Row, scene: lanes.Scene, last: bool) -> None:
    """Set up one panel: limits, labels of lanes and of time, its title."""
    scale, unit = lanes.unit(scene.span)
    right = scene.span / scale
    axes.set_xlim(-0.004 * right, 1.004 * right)
    count = max(1, len(scene.labels))
    axes.set_ylim(count - 0.4, -0.6)
    step = lanes.label_step(scene.height / count, _TEXT)
    axes.set_yticks(range(0, len(scene.labels), step), scene.labels[::step], size=8)
    axes.tick_params("y", length=0)
    axes.tick_params("x", labelsize=8, labelbottom=last)
    axes.ticklabel_format(axis="x", useOffset=False, style="plain")
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.annotate(
        lanes.shorten(row.title, 120), (0, 1), (0, 17), "axes fraction", "offset points", size=10, weight="bold", parse_math=False
    )
    if last:
        axes.set_xlabel(f"time since the start of the run [{unit}]", size=9)


def _panel(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene) -> int:
    """Draw what happened in one run, from back to front; return the number of calls too narrow to be drawn on their own."""

    def bars(times: Times, rows: NDArray[np.int64], location: NDArray[np.int32], group: NDArray[np.integer[Any]]) -> lanes.Bars:
        left, right = ((moments[rows] - lanes.start(timeline)) / scene.span * scene.columns for moments in (times.enter, times.leave))
        return lanes.bars(scene.lane[location[rows]], group[rows], left, right, scene.columns)

    calls, regions, every = trace.calls, trace.regions, np.arange(len(trace.locations))
    _boxes(axes, bars(timeline.regions, scene.bands, regions.location, regions.instance % 2), scene, _BAND, _SHADES)
    _boxes(axes, bars(timeline.locations, every, every.astype(np.int32), every * 0), scene, _THIN, (_COMPUTATION,))
    drawn = bars(timeline.calls, np.arange(len(calls)), calls.location, lanes.GROUP[calls.op])
    _boxes(axes, drawn, scene, _BAR, _COLOURS)
    _messages(axes, trace, timeline, scene)
    _mark(axes, bars(timeline.calls, scene.zeroed, calls.location, np.zeros(len(calls), np.int64)), scene)
    return drawn.merged


def _boxes(axes: Axes, bars: lanes.Bars, scene: lanes.Scene, height: float, colours: Sequence[str]) -> None:
    """Draw bars as one artist, each in the colour of its group."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba_array

    dots = scene.height / max(1, len(scene.lane)) * _DPI
    height = _BAND if dots <= _FINE and height > _THIN else height
    corners: Any = lanes.boxes(bars.lane, bars.left * scene.column, bars.right * scene.column, height)
    faces = to_rgba_array(list(colours))[bars.group]
    many = len(bars) > _MOST_VECTORS
    drawn = PolyCollection(corners, facecolors=faces, linewidths=0, antialiaseds=dots <= _FINE, rasterized=many, zorder=2)
    axes.add_collection(drawn, autolim=False)


def _messages(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene) -> None:
    """Draw a line per chosen message, from the enter of the sending call to the leave of the call that completes the receive."""
    from matplotlib.collections import LineCollection

    send, done = trace.messages.send[scene.messages], trace.messages.receive_done[scene.messages]
    scale = lanes.unit(scene.span)[0]
    x = np.stack([timeline.calls.enter[send], timeline.calls.leave[done]], 1) - lanes.start(timeline)
    y = scene.lane[np.stack([trace.calls.location[send], trace.calls.location[done]], 1)]
    alpha = float(np.clip(150 / max(1, len(send)), 0.45, 0.8))
    ends: Any = np.stack([x / scale, y], 2)
    lines = LineCollection(ends, colors=_MESSAGE, linewidths=0.6, alpha=alpha, zorder=3)
    axes.add_collection(lines, autolim=False)


def _mark(axes: Axes, bars: lanes.Bars, scene: lanes.Scene) -> None:
    """Outline the zeroed waits and, unless there are very many, put a triangle on top of each."""
    from matplotlib.collections import PolyCollection

    left, right = bars.left * scene.column, bars.right * scene.column
    corners: Any = lanes.boxes(bars.lane, left, right, _BAR + 0.08)
    points = scene.height / max(1, len(scene.lane)) * 72
    width, many = float(np.clip(points / 9, 0.2, 1.3)), len(bars) > _MOST_VECTORS
    outlines = PolyCollection(corners, facecolors="none", edgecolors=_ZEROED, linewidths=width, rasterized=many, zorder=4)
    axes.add_collection(outlines, autolim=False)
    if len(bars) <= _MOST_MARKERS:
        size, top = float(np.clip(points / 4, 3, 6)), bars.lane - (_BAR + 0.08) / 2
        axes.plot((left + right) / 2, top, "v", color=_ZEROED, markersize=size, markeredgecolor="white", markeredgewidth=0.5, zorder=5)


def _ends(axes: Axes, makespan: int, scene: lanes.Scene, number: int) -> None:
    """Draw the end of the run and its makespan; below the first panel also the end of the first run and the gain."""
    from matplotlib.transforms import ScaledTranslation

    scale = lanes.unit(scene.span)[0]
    beside = axes.get_xaxis_transform() + ScaledTranslation(1 / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot([makespan / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_SOLID)
    text = f"makespan {lanes.duration(makespan)}"
    if number:
        axes.plot([scene.recorded / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_DASHED)
        text = ", ".join(filter(None, [text, lanes.gain(scene.recorded, makespan)]))
    late = makespan > scene.span / 2
    axes.annotate(
        text,
        (makespan / scale, 1),
        (3 if late else -3, 3),
        ("data", "axes fraction"),
        "offset points",
        ha="right" if late else "left",
        size=9,
    )


def _handles(trace: Trace, rows: Sequence[Row], scene: lanes.Scene) -> list[tuple[Any, str]]:
    """Return a sample and its meaning for all that occurs in the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    present = np.unique(lanes.GROUP[trace.calls.op])
    handles: list[tuple[Any, str]] = [(Patch(color=_COLOURS[group]), lanes.GROUPS[group]) for group in present]
    if len(trace.locations):
        handles.append((Line2D([], [], color=_COMPUTATION, linewidth=3), "computation"))
    if len(scene.bands):
        names = {trace.names[name] for name in trace.paths.region[trace.regions.path[scene.bands]]}
        meaning = f"region {lanes.shorten(names.pop(), 24)}" if len(names) == 1 else "parallel regions"
        handles.append((tuple(Patch(color=shade) for shade in _SHADES), meaning))
    if len(scene.messages):
        handles.append((Line2D([], [], color=_MESSAGE, linewidth=0.8), "message"))
    if len(scene.zeroed):
        handles.append((Line2D([], [], color=_ZEROED, marker="v", linewidth=0, markersize=7), "zeroed wait"))
    handles.append((Line2D([], [], **_SOLID), "end of the run"))
    if len(rows) > 1:
        first = lanes.shorten(rows[0].title, 20)
        handles.append((Line2D([], [], **_DASHED), f"end of {first}"))
    return handles


def _legend(figure: Figure, handles: list[tuple[Any, str]], box: tuple[float, float, float, float]) -> None:
    """Draw the legend into a box of the figure, below all lanes."""
    from matplotlib.legend_handler import HandlerTuple

    legend = figure.legend(
        [sample for sample, _ in handles],
        [meaning for _, meaning in handles],
        loc="center left",
        bbox_to_anchor=box,
        ncols=_LEGEND_COLUMNS,
        fontsize=8.5,
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        handler_map={tuple: HandlerTuple(None, pad=0)},
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
