"""Draws what happened in one run into a panel: bars, message lines, marks of zeroed waits; lanes say what and where."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.report import palette
from perwiz.report.picture import bars as lanes_bars
from perwiz.report.picture import lanes
from perwiz.trace.arrays import F8
from perwiz.trace.trace import Timeline, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = tuple(palette.LIGHT[group] for group in (*palette.GROUPS, "wait"))
"""One per group of `lanes.GROUPS`."""
COMPUTATION, MESSAGE, ZEROED, EARLY, SHADES = palette.LIGHT["idle"], palette.MESSAGE, palette.CHOSEN, palette.CHOSEN, palette.SHADES
MESSAGE_STROKE, MESSAGE_ALPHA = 0.5, 0.65
LINK: dict[str, Any] = {"linewidths": 0.6, "linestyles": "dotted", "alpha": 0.8}
_BAND, _BAR, _THIN = 1.0, 0.66, 0.2
_FRAME, _STRIP, _ABOVE = 0.74, 0.1, 0.42
_NAMED, _MOST_NAMES = 20, 200
"""Lanes of so many dots have room for names, and so many are written at most."""
_NAME, _LETTER, _SHORTEST, _LONGEST = 6.5, 0.62, 10, 40
"""Points of a name, and width of a letter in parts of that; letters that a longer one is shortened to
at least, and that are written at most."""
_MOST_VECTORS = 5000
"""More bars than this are pixels even in an SVG or PDF."""
_POINT = 72 / 150
"""Points per dot."""


def panel(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene, calls: lanes_bars.Bars) -> None:
    """Draw what happened in one run, from back to front; `calls` are the bars of its calls."""
    regions, every = trace.regions, np.arange(len(trace.locations))
    bands = lanes.bars(scene, timeline, timeline.regions, scene.bands, regions.location, regions.instance % 2)
    _boxes(axes, bands, scene, _BAND, SHADES)
    _boxes(axes, lanes.bars(scene, timeline, timeline.locations, every, every.astype(np.int32), every * 0), scene, _THIN, (COMPUTATION,))
    kernels = lanes.bars(scene, timeline, timeline.regions, scene.kernels, regions.location, regions.instance * 0)
    _boxes(axes, kernels, scene, _shares(kernels), (COMPUTATION,))
    _boxes(axes, calls, scene, _shares(calls), COLOURS)
    between = calls.take((calls.group == lanes.IDLE) & (calls.share < 1))
    _boxes(axes, dataclasses.replace(between, group=between.group * 0), scene, _THIN, (COMPUTATION,))
    _names(axes, trace, timeline, scene)
    _messages(axes, trace, timeline, scene)
    _links(axes, trace, timeline, scene)
    if scene.marks == "none":
        return
    none = np.zeros(len(trace.calls), np.int64)
    zeroed = lanes.bars(scene, timeline, timeline.calls, scene.zeroed, trace.calls.location, none)
    (_frames if scene.marks == "frames" else _strips)(axes, zeroed, scene)


def _shares(calls: lanes_bars.Bars) -> F8:
    """Return the heights of bars: thin where calls cover little of the columns, but higher than the bar of computation."""
    return _THIN + (_BAR - _THIN) * calls.share


def _boxes(axes: Axes, bars: lanes_bars.Bars, scene: lanes.Scene, height: F8 | float, colours: Sequence[str]) -> None:
    """Draw bars as one artist, each in the colour of its group; in fine lanes they are full and pale where calls cover little."""
    from matplotlib.colors import to_rgb

    fine = scene.size.lane <= lanes.FINE
    faces = np.array([to_rgb(colour) for colour in colours])[bars.group]
    if fine and isinstance(height, np.ndarray):
        faces += (1 - bars.share[:, None]) * (np.array(to_rgb(COMPUTATION)) - faces)
    corners = _corners(bars, scene, bars.lane, _BAND if fine else height)
    _add(axes, corners, facecolors=faces, linewidths=0, antialiaseds=fine, zorder=2)


def _corners(bars: lanes_bars.Bars, scene: lanes.Scene, middle: NDArray[Any], height: F8 | float) -> F8:
    return lanes_bars.boxes(middle, scene.times(bars.left), scene.times(bars.right), height)


def _add(axes: Axes, corners: Any, **look: Any) -> None:
    """Draw boxes as one artist."""
    from matplotlib.collections import PolyCollection

    axes.add_collection(PolyCollection(corners, rasterized=len(corners) > _MOST_VECTORS, **look), autolim=False)


def _names(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene) -> None:
    """Write the names of what streams do into their bars where there is room, the longest first."""
    if scene.size.lane < _NAMED:
        return
    regions, times, rows = trace.regions, timeline.regions, scene.kernels
    left, right = scene.columns(timeline, times.enter[rows]).clip(0), scene.columns(timeline, times.leave[rows])
    middle, dots = scene.times((left + right) / 2), (right - left) * scene.size.width / scene.size.columns
    look: dict[str, Any] = {"size": _NAME, "ha": "center", "va": "center", "zorder": 3, "parse_math": False, "clip_on": True}
    for k in np.argsort(-dots, kind="stable")[:_MOST_NAMES].tolist():
        room = min(int(dots[k] * _POINT / (_LETTER * _NAME)), _LONGEST)
        name = words.shown(trace.names[trace.region_names[rows[k]]], max(room, _SHORTEST))
        if len(name) <= room:
            axes.text(middle[k], scene.lane[regions.location[rows[k]]], name, **look)


def _links(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene) -> None:
    """Draw a dotted line per link, from the entry of the call that lets another go on to the return of that one."""
    from matplotlib.collections import LineCollection

    cause, effect, location = trace.links.cause[scene.links], trace.links.effect[scene.links], trace.calls.location
    x = np.stack([scene.columns(timeline, timeline.calls.enter[cause]), scene.columns(timeline, timeline.calls.leave[effect])], 1)
    ends: Any = np.stack([scene.times(x), scene.lane[np.stack([location[cause], location[effect]], 1)]], 2)
    axes.add_collection(LineCollection(ends, colors=MESSAGE, zorder=3, **LINK), autolim=False)


def _messages(axes: Axes, trace: Trace, timeline: Timeline, scene: lanes.Scene) -> None:
    """Draw a line per chosen message, from the enter of the sending call to the leave of the call that completes the receive."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    send, done = trace.messages.send[scene.messages], trace.messages.receive_done[scene.messages]
    x = np.stack([scene.columns(timeline, timeline.calls.enter[send]), scene.columns(timeline, timeline.calls.leave[done])], 1)
    y = scene.lane[np.stack([trace.calls.location[send], trace.calls.location[done]], 1)]
    ends: Any = np.stack([scene.times(x), y], 2)
    colours = np.array([to_rgb(MESSAGE), to_rgb(EARLY)])[np.isin(scene.messages, lanes.early(trace, timeline, scene.messages)).astype(int)]
    lines = LineCollection(ends, colors=colours, linewidths=MESSAGE_STROKE, alpha=MESSAGE_ALPHA, zorder=3)
    axes.add_collection(lines, autolim=False)


def _frames(axes: Axes, bars: lanes_bars.Bars, scene: lanes.Scene) -> None:
    """Outline the zeroed waits and put a triangle on top of each."""
    points = scene.size.lane * _POINT
    width, size = float(np.clip(points / 9, 0.2, 1.2)), float(np.clip(points / 4, 3, 6))
    _add(axes, _corners(bars, scene, bars.lane, _FRAME), facecolors="none", edgecolors=ZEROED, linewidths=width, zorder=4)
    x, top = scene.times((bars.left + bars.right) / 2), bars.lane - _FRAME / 2
    axes.plot(x, top, "v", color=ZEROED, markersize=size, markeredgecolor="white", markeredgewidth=0.5, zorder=5)


def _strips(axes: Axes, bars: lanes_bars.Bars, scene: lanes.Scene) -> None:
    """Draw a strip above the bars where zeroed waits are, pale where they cover little of the columns."""
    from matplotlib.colors import to_rgba

    faces = np.tile(to_rgba(ZEROED), (len(bars), 1))
    faces[:, 3] = 0.15 + 0.85 * bars.share
    _add(axes, _corners(bars, scene, bars.lane - _ABOVE, _STRIP), facecolors=faces, linewidths=0, antialiaseds=False, zorder=4)
