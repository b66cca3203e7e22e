"""A picture of one or more runs over the same calls: a lane per process, panels one above the other with one time axis.

The amount drawn is bounded by the size of the picture, not by the size of the trace; `lanes` decides what, this module draws it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz.errors import UsageError
from perwiz.report import lanes, words
from perwiz.report import timeline_marks as marks
from perwiz.trace.trace import Timeline, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

_SOLID: dict[str, Any] = {"color": "black", "linewidth": 1.4}
_DASHED: dict[str, Any] = {"color": "black", "linewidth": 1.2, "linestyle": (0, (4, 3))}
_BREAK: dict[str, Any] = {"color": "black", "marker": [(-1, -2), (1, 2)], "markersize": 9, "markeredgewidth": 1}
_DPI, _WIDTH, _LEFT, _RIGHT = 150, 12.0, 0.95, 0.3
_TOP, _HEAD, _AXIS, _LEGEND_ROW, _NOTE = 0.4, 0.5, 0.5, 0.22, 0.17
_LEGEND_COLUMNS, _TEXT = 6, 0.15
_LANE, _LOWEST, _HIGHEST = 0.32, 0.8, 14.0
_FEWEST, _MOST_BOXES = 100, 400_000


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One panel of the picture: a timeline over the calls of the trace, and what to call it."""

    title: str
    timeline: Timeline
    rival: bool = True
    """Whether its makespan is compared with that of the first one."""


class Curves(Protocol):
    """A panel of curves below the lanes, over the same axis."""

    height: float
    """Inches."""

    def draw(self, axes: Axes, scene: lanes.Scene) -> None:
        """Draw into a panel whose time axis is set up."""

    def notes(self) -> list[str]:
        """Return what the panel leaves out."""


def plot(
    trace: Trace,
    rows: Sequence[Row],
    path: str,
    zeroed: NDArray[np.integer[Any]] | Sequence[int] = (),
    curves: Curves | None = None,
) -> None:
    """Write a picture of the timelines of one trace, the first on top; the suffix of `path` (.png, .svg, .pdf) says which format.

    Each panel begins at the first instant of its run, and later ones are compared with the end of the first. `zeroed` are
    rows of calls, marked in every panel. `curves` come below. The file appears complete or not at all.
    Raises UsageError for another suffix, no rows, a call that is not there, or a place that cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: a picture of type '{suffix}', must be one of {' '.join(SUFFIXES)}")
    if not rows:
        raise UsageError(f"{path}: no timeline to draw, must be one or more")
    scene = lanes.scene(trace, [row.timeline for row in rows], np.asarray(zeroed, np.int64), _size(len(trace.locations), len(rows)))
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "perwiz"
        _write(_draw(trace, rows, scene, curves), path, suffix[1:])


def _size(lanes_drawn: int, panels: int) -> lanes.Size:
    """Return the size of a panel; columns of the time axis are one and a half dots wide or, with many lanes, more."""
    height = min(max(_LANE * lanes_drawn, _LOWEST), _HIGHEST / panels)
    width = (_WIDTH - _LEFT - _RIGHT) * _DPI
    columns = max(_FEWEST, min(int(width) * 2 // 3, _MOST_BOXES // max(1, lanes_drawn)))
    return lanes.Size(width=width, lane=height / max(1, lanes_drawn) * _DPI, columns=columns)


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


def _draw(trace: Trace, rows: Sequence[Row], scene: lanes.Scene, curves: Curves | None) -> Figure:
    """Return the whole picture; places are reckoned in inches from the top, so nothing overlaps at any height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    calls = [lanes.calls(trace, row.timeline, scene) for row in rows]
    handles, said = _handles(trace, rows, scene), lanes.notes(trace, scene, max(bars.merged for bars in calls))
    said += curves.notes() if curves else []
    legend, notes = -(-len(handles) // _LEGEND_COLUMNS) * _LEGEND_ROW, len(said) * _NOTE + 0.12
    height = scene.size.lane * max(1, len(scene.labels)) / _DPI
    lowest = _AXIS + legend + 0.1 + notes
    below = _HEAD + curves.height if curves else 0
    total = _TOP + len(rows) * (_HEAD + height) + below + lowest
    figure = Figure(figsize=(_WIDTH, total))
    FigureCanvasAgg(figure)
    left, width = _LEFT / _WIDTH, (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    figure.text(left, 1 - 0.14 / total, lanes.title(trace), size=12, weight="bold", va="top", parse_math=False)
    for number, row in enumerate(rows):
        low = total - _TOP - (number + 1) * (_HEAD + height)
        axes = figure.add_axes((left, low / total, width, height / total))
        _frame(axes, row, scene, last=number == len(rows) - 1 and not curves)
        marks.panel(axes, trace, row.timeline, scene, calls[number])
        _ends(axes, row, scene, first=number == 0)
    if curves:
        axes = figure.add_axes((left, lowest / total, width, curves.height / total))
        _time_axis(axes, scene, last=True)
        curves.draw(axes, scene)
    _legend(figure, handles, (left, notes / total, width, legend / total))
    for line, text in enumerate(said):
        figure.text(left, (notes - (line + 1) * _NOTE) / total, text, size=8, color="#444444", parse_math=False)
    return figure


def _frame(axes: Axes, row: Row, scene: lanes.Scene, last: bool) -> None:
    """Set up one panel of lanes: limits, labels of lanes and of time, its title."""
    _time_axis(axes, scene, last)
    count = max(1, len(scene.labels))
    axes.set_ylim(count - 0.4, -0.6)
    step = lanes.label_step(scene.size.lane / _DPI, _TEXT)
    axes.set_yticks(range(0, len(scene.labels), step), scene.labels[::step], size=8)
    axes.tick_params("y", length=0)
    axes.annotate(words.shown(row.title, 120), (0, 1), (0, 17), "axes fraction", "offset points", size=10, weight="bold", parse_math=False)


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
        axes.set_xlabel(f"time since the start of the run [{unit}]", size=9)


def _ends(axes: Axes, row: Row, scene: lanes.Scene, first: bool) -> None:
    """Draw the end of the run and its makespan; below the first panel also the end of the first run and the gain."""
    from matplotlib.transforms import ScaledTranslation

    scale, makespan = scene.unit[0], row.timeline.makespan
    beside = axes.get_xaxis_transform() + ScaledTranslation(1 / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot([makespan / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_SOLID)
    text = f"makespan {words.duration(makespan)}"
    if not first:
        axes.plot([scene.recorded / scale] * 2, [0, 1], transform=beside, clip_on=False, zorder=6, **_DASHED)
        text = ", ".join(filter(None, [text, lanes.gain(scene.recorded, makespan) if row.rival else ""]))
    late = makespan - scene.origin > scene.span / 2
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

    seen = trace.calls.op[rows[0].timeline.calls.leave > lanes.start(rows[0].timeline) + scene.origin if scene.origin else slice(None)]
    handles: list[tuple[Any, str]] = [(Patch(color=marks.COLOURS[group]), lanes.GROUPS[group]) for group in np.unique(lanes.GROUP[seen])]
    if len(trace.locations):
        handles.append((Line2D([], [], color=marks.COMPUTATION, linewidth=3), "computation"))
    if len(scene.bands):
        names = {trace.names[name] for name in trace.paths.region[trace.regions.path[scene.bands]]}
        meaning = f"region {words.shown(names.pop(), 24)}" if len(names) == 1 else "parallel regions"
        handles.append((tuple(Patch(color=shade) for shade in marks.SHADES), meaning))
    if len(scene.messages):
        handles.append((Line2D([], [], color=marks.MESSAGE, linewidth=0.8), "message"))
    if any(len(lanes.early(trace, row.timeline, scene.messages)) for row in rows):
        handles.append((Line2D([], [], color=marks.EARLY, linewidth=0.8), "received before it was sent"))
    if len(scene.zeroed) and scene.marks != "none":
        sample = {"marker": "v", "linewidth": 0, "markersize": 7} if scene.marks == "frames" else {"linewidth": 3}
        handles.append((Line2D([], [], color=marks.ZEROED, **sample), "zeroed wait"))
    handles.append((Line2D([], [], **_SOLID), "end of the run"))
    if len(rows) > 1:
        first = words.shown(rows[0].title, 20)
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
