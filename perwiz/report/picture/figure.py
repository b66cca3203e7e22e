"""Figures of matplotlib that are the same on every machine, and the files they are written to."""

from __future__ import annotations

import dataclasses
import os
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perwiz.errors import UsageError
from perwiz.formats.whole import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
_POINTS, _LETTER, _BOLD, _MARGIN = 72, 0.55, 0.65, 0.12
"""Points of an inch; width of a letter, and of a bold one, in parts of its size; inches around texts."""
_UNDATED: dict[str, dict[str, Any]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Per suffix of a file, the metadata that leave out when it was made."""


def suffix(path: str) -> str:
    """Return the suffix of a picture's file, which says in which format it is. Raises UsageError for another than .png, .svg, .pdf."""
    ending = os.path.splitext(path)[1]
    if ending.lower() not in _UNDATED:
        raise UsageError(f"{path}: a picture of type '{ending}', must be one of {' '.join(_UNDATED)}")
    return ending.lower()


class Line(NamedTuple):
    """A text above or below what is drawn."""

    text: str
    points: float
    colour: str = "black"
    weight: str = "normal"

    def wrapped(self, width: float) -> list[str]:
        """Return its lines in so many inches."""
        letter = self.points * (_BOLD if self.weight == "bold" else _LETTER)
        return textwrap.wrap(self.text, max(8, int(width * _POINTS / letter))) or [""]

    @property
    def height(self) -> float:
        """Inches from one of its lines to the next."""
        return 1.45 * self.points / _POINTS


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A figure whose places are in inches from the lower left corner of what is drawn, between the texts above and below."""

    figure: Figure
    width: float
    foot: float
    """Inches of the texts below."""

    def box(self, left: float, low: float, width: float, height: float) -> tuple[float, float, float, float]:
        """Return a place in parts of the figure."""
        total = self.figure.get_figheight()
        return left / self.width, (self.foot + low) / total, width / self.width, height / total

    def axes(self, left: float, low: float, width: float, height: float) -> Axes:
        """Return new axes at a place."""
        return self.figure.add_axes(self.box(left, low, width, height))


def sheet(width: float, height: float, above: Sequence[Line], below: Sequence[Line], left: float = _MARGIN) -> Sheet:
    """Return a figure of so many inches in width, with room of a height between its texts, which begin at `left` and are wrapped."""
    parts = [[(line, text) for line in lines for text in line.wrapped(width - left - _MARGIN)] for lines in (above, below)]
    top, foot = (sum(line.height for line, _ in part) + 2 * _MARGIN for part in parts)
    figure = empty(width, top + height + foot)
    for part, y in zip(parts, (top + height + foot - _MARGIN, foot - _MARGIN), strict=True):
        for line, text in part:
            place = (left / width, y / (top + height + foot))
            figure.text(*place, text, size=line.points, color=line.colour, weight=line.weight, va="top", parse_math=False)
            y -= line.height
    return Sheet(figure, width, foot)


def beside(axes: Axes, line: Line) -> str:
    """Return a text in lines as long as axes are wide."""
    return "\n".join(line.wrapped(axes.get_position().width * inches(axes)))


def inches(axes: Axes) -> float:
    """Return how wide the picture is that axes are in."""
    figure: Any = axes.figure
    return float(figure.get_figwidth())


def empty(width: float, height: float) -> Figure:
    """Return a figure of so many inches with nothing in it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def save(draw: Callable[[], Figure], path: str) -> None:
    """Write the figure that `draw` returns, whole or not at all. Raises UsageError for another suffix, or when it cannot be written.

    Settings of the user do not count. A PDF embeds its fonts as TrueType: publishers refuse the Type 3 fonts that matplotlib writes
    otherwise.
    """
    import matplotlib

    ending = suffix(path)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": "perwiz", "pdf.fonttype": 42})
        figure = draw()
        with writing(path) as file:
            figure.savefig(file, format=ending[1:], dpi=DPI, metadata=_UNDATED[ending])
