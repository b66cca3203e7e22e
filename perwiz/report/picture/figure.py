"""Figures of matplotlib that are the same on every machine, and the files they are written to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from perwiz.errors import UsageError
from perwiz.formats.whole import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
_UNDATED: dict[str, dict[str, Any]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Per suffix of a file, the metadata that leave out when it was made."""


def suffix(path: str) -> str:
    """Return the suffix of a picture's file, which says in which format it is. Raises UsageError for another than .png, .svg, .pdf."""
    ending = os.path.splitext(path)[1]
    if ending.lower() not in _UNDATED:
        raise UsageError(f"{path}: a picture of type '{ending}', must be one of {' '.join(_UNDATED)}")
    return ending.lower()


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
