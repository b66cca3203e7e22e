"""The report of `perwiz cube`: a JSON document, and the text made from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from perwiz import words
from perwiz.errors import UsageError
from perwiz.formats.cube.cube import GAIN, OPERATION, PERCENT, SECONDS, TIME, Cube
from perwiz.report.records import Document, Positive, Record, choice

_PATH = 60
"""Columns of a call path in a table."""
_VERBS = {"diff": "{} less {}", "mean": "mean of {}", "merge": "merge of {}", "cmp": "{} beside {}", "show": "{}"}
_LONG = 1e9
"""Seconds that are shown in full."""
_NAMED = 4
"""Operands that the first line names."""


class MetricTotal(Record):
    """A metric, and what it adds up to."""

    name: str
    """Unique name."""
    title: str
    parent: str | None
    unit: str
    meaning: str
    total: float
    """Over all call paths and locations."""
    operands: list[float | None]
    """Totals of the operands, null where one does not have the metric; empty for show."""


class CallPathValue(Record):
    """A call path with much of the metric, whichever sign."""

    call_path: str
    value: float
    with_below: float
    """With all call paths below."""
    rank: int
    """Process with most of it there."""
    thread: int
    most: float
    """Its value there."""


class CubeDocument(Document, kw_only=True):
    """Values are in the unit of their metric, times in seconds.

    Call paths contain nothing of those below them, metrics contain those below them.
    """

    command: Literal["cube"] = "cube"
    action: Annotated[str, choice(*_VERBS)]
    operands: Annotated[list[str], Meta(min_length=1)]
    """Paths as given."""
    attributes: dict[str, str]
    """Of the cube shown or made."""
    incomplete: bool
    """Whether a trace it comes from is incomplete."""
    call_paths: Positive
    processes: Positive
    locations: Positive
    metrics: list[MetricTotal]
    """In the order of their tree; those that are 0 everywhere left out."""
    metric: str | None
    """The metric asked for."""
    rows: list[CallPathValue]
    """Call paths with most of that metric, whichever sign."""
    differences: list[str] | None
    """Of cmp: in what the two differ, empty if they are equal."""


def document(
    action: str,
    names: Sequence[str],
    cube: Cube,
    operands: Sequence[Cube],
    metric: str | None = None,
    rows: int = 0,
    differences: list[str] | None = None,
) -> CubeDocument:
    """Return a cube, and the operands it comes from; of a metric, if asked for, the `rows` largest call paths.

    Values are in the units of their metrics, times in s. Raises UsageError if there is no metric of that name.
    """
    if metric is not None and metric not in cube.metric:
        known = [name for name in cube.metric if name in cube.cells]
        raise UsageError(f"metric '{metric}': must be one of {', '.join(known) or 'none'}{words.meant(metric, known)}")
    return CubeDocument(
        action=action,
        operands=list(names),
        attributes=dict(cube.attributes),
        incomplete=cube.incomplete,
        call_paths=len(cube.paths),
        processes=len(cube.groups),
        locations=len(cube.locations),
        metrics=[_metric(cube, operands, name) for name in cube.metric if _seen(name, cube, *operands)],
        metric=metric,
        rows=_rows(cube, metric, rows) if metric is not None else [],
        differences=differences,
    )


def _seen(name: str, *cubes: Cube) -> bool:
    return any(name in cube.cells for cube in cubes)


def _metric(cube: Cube, operands: Sequence[Cube], name: str) -> MetricTotal:
    metric = cube.metric[name]
    return MetricTotal(
        name=name,
        title=metric.title,
        parent=metric.parent or None,
        unit=metric.unit,
        meaning=metric.meaning,
        total=cube.total(name),
        operands=[operand.total(name) if name in operand.metric else None for operand in operands],
    )


def _rows(cube: Cube, metric: str, most: int) -> list[CallPathValue]:
    """Return the call paths with most of a metric, whichever sign, and the location that has most of it there."""
    own = cube.by_path(metric)
    below = cube.inclusive(own)
    order = np.argsort(-np.abs(own), kind="stable")
    return [_row(cube, metric, path, own[path].item(), below[path].item()) for path in order[:most].tolist() if own[path]]


def _row(cube: Cube, metric: str, path: int, own: float, below: float) -> CallPathValue:
    cells = cube.cells[metric]
    value = cells.value[np.searchsorted(cells.node, path)].astype("f8")
    worst = int(np.abs(value).argmax())
    location = cube.locations[worst]
    return CallPathValue(
        call_path=cube.full_name(path),
        value=own,
        with_below=below,
        rank=cube.groups[location.group].rank,
        thread=location.rank,
        most=value[worst].item(),
    )


def amount(value: float, unit: str) -> str:
    """Return a value with its unit as a report shows it."""
    if unit == SECONDS:
        return words.duration(round(value * 1e9)) if abs(value) < _LONG else f"{value:.4g} s"
    if unit == PERCENT:
        return f"{round(value, 2) + 0.0:.2f} %"
    if unit == "bytes" and float(value).is_integer():
        return words.size(int(value))
    if unit == "occ":
        return f"{value:.12g}"
    return f"{value:.6g} {words.shown(unit)}".rstrip()


def text(document: CubeDocument) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if document.incomplete else ""
    lines = words.wrapped(f"{_named(document)}{mark}", 2)
    if document.differences is not None:
        return "\n".join([*lines, "", *(line for text in document.differences or ["equal"] for line in words.wrapped(text, 2))])
    counted = ((document.call_paths, "call path"), (document.locations, "location"), (len(document.metrics), "metric"))
    counts = ", ".join(words.several(number, noun) for number, noun in counted)
    lines += [f"{counts} that are not 0", ""]
    near = _near(document)
    lines += _diff_lines(near) if document.action == "diff" else _total_lines(near)
    if document.metric is not None:
        lines += ["", f"call paths with most of {words.shown(document.metric)}", *_path_lines(document)]
    return "\n".join(lines)


def _named(document: CubeDocument) -> str:
    names = [words.shown(name) for name in document.operands]
    if document.action in ("diff", "cmp"):
        return _VERBS[document.action].format(*names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return _VERBS[document.action].format(", ".join(names[:_NAMED]) + more)


def _near(document: CubeDocument) -> CubeDocument:
    """Return the document with those metrics that contain the one asked for, or are contained in it; with all if none is asked for."""
    if document.metric is None:
        return document
    parent = {row.name: row.parent for row in document.metrics}
    kept, above = {document.metric}, parent.get(document.metric)
    for row in document.metrics:
        kept |= {row.name} if row.parent in kept else set()
    while above is not None:
        kept.add(above)
        above = parent.get(above)
    return replace(document, metrics=[row for row in document.metrics if row.name in kept or row.name == TIME])


def _titles(document: CubeDocument) -> list[str]:
    """Return the titles of the metrics, indented as their tree."""
    depth: dict[str | None, int] = {None: -1}
    for row in document.metrics:
        depth[row.name] = depth.get(row.parent, -1) + 1
    return ["  " * depth[row.name] + words.shown(row.title, 40) for row in document.metrics]


def _total_lines(document: CubeDocument) -> list[str]:
    whole = next((row.total for row in document.metrics if row.name == TIME), 0)
    whole = 0 if document.attributes.get(OPERATION, "").startswith("diff ") else whole
    rows = []
    for title, row in zip(_titles(document), document.metrics, strict=True):
        timed = row.unit == SECONDS and not row.name.startswith(GAIN)
        share = words.percent(row.total, whole) if timed and whole > 0 else ""
        rows.append([title, words.shown(row.name, 40), amount(row.total, row.unit), share])
    return words.table(["metric", "name", "total", "of all time" if whole > 0 else ""], rows, left=(0, 1))


def _diff_lines(document: CubeDocument) -> list[str]:
    rows = []
    for title, row in zip(_titles(document), document.metrics, strict=True):
        values = ["-" if value is None else amount(value, row.unit) for value in (*row.operands, row.total)]
        rows.append([title, words.shown(row.name, 40), *values])
    return words.table(["metric", "name", "first", "second", "difference"], rows, left=(0, 1))


def _path_lines(document: CubeDocument) -> list[str]:
    unit = next(row.unit for row in document.metrics if row.name == document.metric) if document.rows else ""
    rows = [
        [
            words.shown(row.call_path, _PATH),
            amount(row.value, unit),
            amount(row.with_below, unit),
            f"{words.rank(row.rank, row.thread)}: {amount(row.most, unit)}",
        ]
        for row in document.rows
    ]
    return words.table(["call path", "value", "with those below", "most on rank"], rows)
