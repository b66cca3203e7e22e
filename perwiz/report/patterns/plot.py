"""The picture of `perwiz patterns`: where a pattern's waiting is, over the process topology, or by call path and rank without one.

The amount drawn is bounded: neighbouring processes share a cell when there are too many, which then shows their mean.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from perwiz import words
from perwiz.patterns import topology
from perwiz.patterns.analysis.worth import Worth
from perwiz.patterns.search import Findings
from perwiz.report import blocks
from perwiz.report.picture import lanes
from perwiz.report.picture.figure import Line, Sheet, save, sheet
from perwiz.trace.arrays import F8
from perwiz.trace.trace import Topology
from perwiz.whatif.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_SLICES, MOST_CELLS, MOST_PATHS, MOST_RANKS = 16, 512, 12, 1024
"""Panels of a topology, cells along a side of one, rows and columns without a topology."""
_TEXT, _ROOM = 44, (40, 20)
"""Characters of a call path, at most; width and height, in hundredths of an inch, from which on a cell carries its number."""
_WIDTH, _LEFT, _RIGHT, _ROW, _AXIS, _TEXT_PER_INCH = 10.0, 0.6, 0.9, 0.3, 0.5, 6


def plot(run: Run, findings: Findings, worth: Worth, pattern: str | None, path: str, width: float | None = None) -> None:
    """Write the picture of a pattern, by default of the one worth most; the suffix of `path` (.png, .svg, .pdf) says in which format.

    `width` in inches.
    """
    name = pattern or worth_most(findings, worth)
    save(lambda: _draw(findings, name, _gain(run, worth, name, pattern is None), width or _WIDTH), path)


def worth_most(findings: Findings, worth: Worth) -> str:
    """Return the pattern that is worth most, of several the one that waits longest."""
    gaining = {name: sites.makespan for name, sites in worth.whole.items()}
    return max(findings.waits, key=lambda name: (-gaining.get(name, 2**63), findings.severity.total(name), name))


def _gain(run: Run, worth: Worth, name: str, most: bool) -> str:
    """Return in words what a pattern is worth."""
    if name not in worth.whole:
        return "nothing waits there"
    whole = blocks.shares_of(run.trace, run.makespan)
    gain = f"{blocks.gained(run.makespan, worth.whole[name].makespan, whole)} if no call of its sites waited"
    base = f" ({note})" if (note := "".join(blocks.share_notes(whole, run.makespan, run.trace.part))) else ""
    return f"{'worth most of all patterns: ' if most else ''}{gain}{base}"


def slices(field: F8) -> tuple[F8, list[str]]:
    """Return a field as a stack of planes of its last two dimensions, and what each plane is: `0, 3` are its leading coordinates."""
    if field.ndim < 2:
        return field.reshape(1, 1, -1), [""]
    planes = field.reshape(-1, *field.shape[-2:])
    names = [", ".join(map(str, place)) for place in np.ndindex(*field.shape[:-2])]
    return planes, names


def coarser(plane: F8, most: tuple[int, int]) -> F8:
    """Return a plane of at most so many rows and columns: the mean of cells merged, NaN where there is none."""
    size = [-(-length // limit) for length, limit in zip(plane.shape, most, strict=True)]
    if size == [1, 1]:
        return plane
    shape = [-(-length // width) for length, width in zip(plane.shape, size, strict=True)]
    wide = np.full([count * width for count, width in zip(shape, size, strict=True)], np.nan)
    wide[: plane.shape[0], : plane.shape[1]] = plane
    blocks = wide.reshape(shape[0], size[0], shape[1], size[1])
    count = (~np.isnan(blocks)).sum(axis=(1, 3))
    return np.where(count > 0, np.nansum(blocks, axis=(1, 3)) / np.maximum(count, 1), np.nan)


def _draw(findings: Findings, name: str, gain: str, width: float) -> Figure:
    grid = topology.main(findings.severity.trace)
    return _over_paths(findings, name, gain, width) if grid is None else _over_topology(findings, name, gain, width, grid)


def _figure(findings: Findings, name: str, gain: str, width: float, height: float, note: str) -> Sheet:
    """Return a picture with its title and a note at its foot, with room of so many inches between them."""
    cube = findings.severity
    title = next(metric.title for metric in cube.metrics if metric.name == name)
    heading = f"{words.shown(title)} ({words.shown(name, 40)}): {words.duration(cube.total(name))} in all"
    above = [Line(heading, 12, weight="bold"), Line(gain, 9), Line(lanes.title(cube.trace), 9, "#444444")]
    return sheet(width, height, above, [Line(note, 8, "#444444")])


def _over_topology(findings: Findings, name: str, gain: str, wide: float, grid: Topology) -> Figure:
    """Return one panel per plane of the last two dimensions."""
    cube = findings.severity
    planes, names = slices(topology.field(cube.trace, grid, cube.by_location(name)))
    drawn = min(len(planes), MOST_SLICES)
    columns = math.ceil(math.sqrt(drawn))
    rows = math.ceil(drawn / columns)
    width = (wide - _LEFT - _RIGHT) / columns
    tall = min(max(width * planes.shape[1] / planes.shape[2], 0.5), 7.0 / rows)
    empty = bool(np.isnan(planes).any())
    note = _topology_note(grid, len(planes) - drawn, planes.shape[1:], empty)
    drawing = _figure(findings, name, gain, wide, rows * (tall + _AXIS), note)
    scale, unit, most = _scale(planes)
    for k in range(drawn):
        row, column = divmod(k, columns)
        low = (rows - row) * (tall + _AXIS) - tall
        axes = drawing.axes(_LEFT + column * width, low, width - 0.35 * (columns > 1), tall)
        image = _heat(axes, planes[k] / scale, most / scale, (MOST_CELLS, MOST_CELLS))
        _name_axes(axes, grid, names[k], row == rows - 1, column == 0)
    return _barred(drawing, image, unit, rows * (tall + _AXIS))


def _topology_note(grid: Topology, left_out: int, plane: tuple[int, ...], empty: bool) -> str:
    note = f"topology {words.shown(grid.name, 30)}: {' x '.join(map(str, grid.sizes))}; a cell is a process"
    if max(plane) > MOST_CELLS:
        note = note.replace("a cell is a process", "a cell is the mean of several processes")
    note += "; white: none is there" if empty else ""
    return note + (f"; planes left out: {left_out}" if left_out else "")


def _name_axes(axes: Axes, grid: Topology, plane: str, lowest: bool, leftmost: bool) -> None:
    if plane:
        axes.set_title(f"{', '.join(grid.dimensions[:-2])} = {plane}", size=8, pad=3, parse_math=False)
    if lowest:
        axes.set_xlabel(words.shown(grid.dimensions[-1], 30), size=8, parse_math=False)
    if leftmost and len(grid.sizes) > 1:
        axes.set_ylabel(words.shown(grid.dimensions[-2], 30), size=8, parse_math=False)
    if len(grid.sizes) == 1:
        axes.set_yticks([])


def _over_paths(findings: Findings, name: str, gain: str, wide: float) -> Figure:
    """Return one row per call path, those with most of it, and one column per process or thread."""
    cube = findings.severity
    cells = cube.cells[name]
    order = np.argsort(-cells.value.sum(axis=1), kind="stable")[:MOST_PATHS]
    lane = lanes.lanes(cube.trace.locations)
    value = np.zeros((max(len(order), 1), len(lane)))
    value[: len(order), lane] = cells.value[order]
    texts = [words.shown(cube.tree.full_name(node), int(min(_TEXT, wide * _TEXT_PER_INCH))) for node in cells.node[order].tolist()] or [""]
    left_out = len(cells.node) - len(order)
    many = "a cell is the mean of several; " if len(lane) > MOST_RANKS else ""
    note = f"{many}call paths left out that have less: {left_out}" if left_out else f"{many}all call paths that have it"
    height = max(_ROW * len(value), 0.6)
    drawing, left = _figure(findings, name, gain, wide, height + _AXIS, note), 0.2 + 0.068 * max(len(text) for text in texts)
    scale, unit, most = _scale(value)
    axes = drawing.axes(left, _AXIS, wide - left - _RIGHT, height)
    image = _heat(axes, value / scale, most / scale, (MOST_PATHS, MOST_RANKS), stretch=True)
    axes.set_yticks(range(len(value)), texts, size=8, parse_math=False)
    threads = bool(cube.trace.locations.thread.any())
    axes.set_xlabel("processes and their threads, in order of ranks" if threads else "rank", size=8)
    return _barred(drawing, image, unit, height + _AXIS)


def _scale(value: F8) -> tuple[int, str, float]:
    """Return (nanoseconds of the unit, the unit, the greatest value in ns)."""
    most = float(np.nanmax(value, initial=0))
    return *lanes.unit(int(most)), most


def _heat(axes: Axes, value: F8, most: float, cells: tuple[int, int], stretch: bool = False) -> Any:
    """Draw a plane, with numbers if there is room; return the image."""
    drawn = coarser(value, cells)
    extent = (-0.5, value.shape[1] - 0.5, value.shape[0] - 0.5, -0.5)
    square = not stretch and 0.2 < value.shape[0] / value.shape[1] < 5
    image = axes.imshow(
        drawn, cmap="viridis_r", aspect="equal" if square else "auto", interpolation="nearest", extent=extent, vmin=0, vmax=most or 1
    )
    axes.tick_params(labelsize=8)
    axes.locator_params(integer=True)
    if drawn.shape == value.shape and _room(axes, drawn.shape):
        for (row, column), number in np.ndenumerate(drawn):
            if not np.isnan(number):
                dark = "white" if number > most / 2 else "black"
                axes.text(column, row, f"{number:.3g}", size=7, ha="center", va="center", color=dark)
    return image


def _room(axes: Axes, cells: tuple[int, ...]) -> bool:
    box = axes.get_window_extent()
    return bool(box.width / cells[1] >= _ROOM[0] and box.height / cells[0] >= _ROOM[1])


def _barred(drawing: Sheet, image: Any, unit: str, height: float) -> Figure:
    """Return the figure with the scale of colours beside what is drawn."""
    bar = drawing.figure.colorbar(image, cax=drawing.axes(drawing.width - _RIGHT + 0.25, _AXIS, 0.15, height - _AXIS))
    bar.set_label(unit, size=8)
    bar.ax.tick_params(labelsize=8)
    return drawing.figure
