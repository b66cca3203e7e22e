"""The picture of `perwiz phases`: efficiencies over iterations or windows, where the time goes, and the phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perwiz import words
from perwiz.report import palette
from perwiz.report.phases.document import PhasesDocument, areas, drawn
from perwiz.report.phases.text import TITLES, changes, phases_found
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, inches, save, sheet
from perwiz.trace.arrays import F8
from perwiz.trace.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _LEFT, _RIGHT, _AXIS, _FACTORS, _TIME, _BETWEEN, _LEGEND = 9.0, 0.75, 0.2, 0.5, 2.2, 1.9, 0.4, 0.25
_NARROW, _NARROWER = 8.0, 5.5
_COLOURS = {"parallel": "black", "load_balance": palette.SERIES[0], "serialisation": palette.SERIES[5], "transfer": palette.SERIES[2]}
_WAITS = (palette.LIGHT["wait"], palette.SERIES[1], palette.SERIES[3], palette.SERIES[8])
_OTHER, _CALLS = palette.SERIES[9], palette.LIGHT["receive"]
_SHADE = "#F0F0F4"


def plot(trace: Trace, document: PhasesDocument, path: str, width: float | None = None) -> None:
    """Write the picture; the suffix of `path` (.png, .svg, .pdf) says in which format; `width` in inches."""
    save(lambda: _draw(trace, document, width or _WIDTH), path)


def _draw(trace: Trace, document: PhasesDocument, width: float) -> Figure:
    above = [Line(lanes.title(trace), 10, weight="bold"), Line(f"phases: {phases_found(document)}", 8, "#444444")]
    told = [phase for phase in document.phases if phase.changes][:3]
    below = [Line(f"from {phase.first}: {changes(document, phase)}", 8, "#444444") for phase in told]
    last = f"iteration {document.count} is not drawn: what it computes behind its last call is not known"
    below += [Line(last, 8, "#444444")] * document.open
    shown = len(TITLES) + 1, len(areas(document, len(_WAITS)))
    factors, times = (_LEGEND * -(-number // columns) for number, columns in zip(shown, _columns(width), strict=True))
    between = _BETWEEN + times - _LEGEND
    drawing = sheet(width, _AXIS + _TIME + between + _FACTORS + factors, above, below)
    inner = width - _LEFT - _RIGHT
    lower = drawing.axes(_LEFT, _AXIS, inner, _TIME)
    upper = drawing.axes(_LEFT, _AXIS + _TIME + between, inner, _FACTORS)
    parts = drawn(document)
    edges = np.array([part.first - 0.5 for part in parts] + [parts[-1].last + 0.5])
    for axes in (upper, lower):
        _phases(axes, document)
    _factors(upper, document, edges)
    _times(lower, document, edges)
    for axes in (upper, lower):
        axes.set_xlim(edges[0], edges[-1])
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    upper.tick_params(labelbottom=False)
    lower.set_xlabel(document.by[:-1], size=9)
    return drawing.figure


def _columns(width: float) -> tuple[int, int]:
    """Return how many names stand beside each other in the legends of factors and of times."""
    return (4, 5) if width > _NARROW else (4, 3) if width > _NARROWER else (2, 2)


def _phases(axes: Axes, document: PhasesDocument) -> None:
    """Shade every second phase, and draw where each begins."""
    inner = [phase for phase in document.phases if phase.kind in ("warm-up", "phase")]
    for k, phase in enumerate(inner):
        if k % 2:
            axes.axvspan(phase.first - 0.5, phase.last + 0.5, color=_SHADE, linewidth=0, zorder=0)
        if k:
            axes.axvline(phase.first - 0.5, color=palette.CHOSEN, linewidth=1.0, linestyle=(0, (4, 3)), zorder=4)


def _factors(axes: Axes, document: PhasesDocument, edges: F8) -> None:
    """Draw parallel efficiency and its factors."""
    parts = drawn(document)
    for name, title in {**TITLES, "parallel": "parallel efficiency"}.items():
        value = 100 * np.array([getattr(part, name) for part in parts])
        strong = name == "parallel"
        axes.stairs(value, edges, color=_COLOURS[name], linewidth=1.8 if strong else 1.0, baseline=None, label=title, zorder=3 - strong)
    axes.set_ylim(0, 103)
    axes.set_ylabel("efficiency [%]", size=9)
    axes.grid(axis="y", color="#E4E4E4", linewidth=0.6)
    axes.set_axisbelow(True)
    columns = _columns(inches(axes))[0]
    axes.legend(fontsize=8, frameon=False, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)


def _times(axes: Axes, document: PhasesDocument, edges: F8) -> None:
    """Draw where the time of a process goes on average: computation, waits by kind, other calls."""
    found = areas(document, len(_WAITS))
    others = len(found) - 2 - len(_WAITS)
    colours = [palette.LIGHT["idle"], *_WAITS[: len(found) - 2], *[_OTHER] * others, _CALLS]
    scale, unit = lanes.unit(round(max(part.time_ns / (part.last - part.first + 1) for part in drawn(document))))
    base = np.zeros(len(edges) - 1)
    for (name, values), colour in zip(found, colours, strict=True):
        top = base + np.array(values) / scale
        axes.stairs(top, edges, baseline=base, fill=True, color=colour, label=words.shown(name, 30), linewidth=0, zorder=2)
        base = top
    axes.set_ylim(0, None)
    axes.set_ylabel(f"time of a process\nin one {document.by[:-1]} [{unit}]", size=9)
    columns = _columns(inches(axes))[1]
    axes.legend(fontsize=7.5, frameon=False, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.2)
