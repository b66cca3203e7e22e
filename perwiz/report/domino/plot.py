"""A picture of what to change first: the recorded run, what it becomes by that, and by the domino path, whose calls are numbered in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from perwiz import words
from perwiz.report import blocks, palette
from perwiz.report.picture import bars as lanes_bars
from perwiz.report.picture import lanes
from perwiz.report.picture.timeline import Row
from perwiz.report.picture.timeline import plot as draw
from perwiz.trace.trace import Timeline, Trace
from perwiz.whatif.ranking.change import Change
from perwiz.whatif.run import changed
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import Domino

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR = palette.CHOSEN
_FRAME = 0.8
_NUMBER, _APART = 7.5, 22
"""Points of a number, and dots between two on one lane."""
MOST = 60
"""Steps drawn."""


def plot(domino: Domino, path: str, width: float | None = None, first: Change | None = None) -> None:
    """Write a picture of a first change and of the first domino path of a run, so many inches wide, into a file (.png, .svg, .pdf).

    The recorded run on top, below it the one under the change, if there is one, and that in which all calls of the path are changed.
    Raises UsageError as `timeline.plot` does.
    """
    run, recorded = domino.run, domino.run.trace.timeline
    title = "recorded, its clocks corrected" if run.clocks.correction else "recorded"
    rows = [Row(title, recorded, wait=run.waits.time)]
    if first:
        then = changed(run, [first.hypothesis])
        name = f"predicted under the first change: {blocks.option(first.question)}"
        rows.append(Row(name, then.recorded_rows(), wait=then.waits.time))
    if domino.path:
        steps = words.several(len(domino.path), "call")
        then = worth.after(run, domino.question, domino.path, f"of the {steps} of the domino path")
        rows.append(Row(str(then.origin), then.recorded_rows(), wait=then.waits.time))
    overlay = _Path(run.trace, domino.path, run.waits.partner[list(domino.path)]) if domino.path else None
    draw(run.trace, rows, path, overlay=overlay, width=width)


class _Path:
    """The calls of a domino path: framed, numbered in the order of time, with an arrow from the call each waits for."""

    def __init__(self, trace: Trace, path: Sequence[int], partner: NDArray[np.integer]) -> None:
        self._trace, self._steps = trace, len(path)
        self._call, self._partner = np.array(path[:MOST], "i8"), partner[:MOST].astype("i8")

    def draw(self, axes: Axes, timeline: Timeline, scene: lanes.Scene) -> None:
        """Draw the path into a panel."""
        lane = scene.lane[self._trace.calls.location]
        left, right = (scene.columns(timeline, moments[self._call]) for moments in (timeline.calls.enter, timeline.calls.leave))
        thin = right - left < 2
        left, right = np.where(thin, left - 1, left), np.where(thin, right + 1, right)
        self._frames(axes, scene, lane[self._call], left, right)
        tied = self._partner >= 0
        ends = scene.columns(timeline, timeline.calls.leave[self._call[tied]])
        starts = scene.columns(timeline, timeline.calls.enter[self._partner[tied]])
        self._arrows(axes, scene, (starts, lane[self._partner[tied]]), (ends, lane[self._call[tied]]))
        self._numbers(axes, scene, lane[self._call], (left + right) / 2)

    def _frames(self, axes: Axes, scene: lanes.Scene, lane: Any, left: Any, right: Any) -> None:
        from matplotlib.collections import PolyCollection

        boxes: Any = lanes_bars.boxes(lane, scene.times(left), scene.times(right), _FRAME)
        axes.add_collection(PolyCollection(boxes, facecolors="none", edgecolors=_COLOUR, linewidths=1.1, zorder=7), autolim=False)

    def _arrows(self, axes: Axes, scene: lanes.Scene, tails: tuple[Any, Any], heads: tuple[Any, Any]) -> None:
        look = {"arrowstyle": "-|>", "color": _COLOUR, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
        for x, y, u, v in zip(scene.times(tails[0]), tails[1], scene.times(heads[0]), heads[1], strict=True):
            if x >= axes.get_xlim()[0]:
                axes.annotate("", (u, v), (x, y), arrowprops=look, zorder=8)

    def _numbers(self, axes: Axes, scene: lanes.Scene, lane: Any, middle: Any) -> None:
        """Write the numbers of the calls above them, as far as they do not cover each other."""
        dots, taken = middle / scene.size.columns * scene.size.width, dict[int, float]()
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": _COLOUR, "linewidth": 0.8}
        for number, (row, dot, x) in enumerate(zip(lane.tolist(), dots.tolist(), scene.times(middle).tolist(), strict=True), 1):
            if dot >= 0 and abs(dot - taken.get(row, -_APART)) >= _APART:
                taken[row] = dot
                axes.text(x, row - _FRAME / 2, str(number), size=_NUMBER, ha="center", va="center", bbox=box, color=_COLOUR, zorder=9)

    def handles(self) -> list[tuple[Any, str]]:
        """Return a sample of the path and its meaning."""
        from matplotlib.lines import Line2D

        return [(Line2D([], [], color=_COLOUR, linewidth=1.4), "domino path")]

    def notes(self) -> list[str]:
        """Return what of the path is not drawn, and how to read it."""
        lines = ["domino path: calls numbered in the order of time, arrows from the call that each waits for"]
        return lines if self._steps <= MOST else [f"{lines[0]}; the first {MOST} of {self._steps} steps drawn"]
