"""The report of `perwiz cube`: a JSON document, and the text made from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import UsageError
from perwiz.formats.cube.cube import GAIN, OPERATION, PERCENT, SECONDS, TIME, Cube
from perwiz.report.blocks import Document

VERSION = 1
"""Version of the document; cube.schema.json describes it."""
_PATH = 60
"""Columns of a call path in a table."""
_VERBS = {"diff": "{} less {}", "mean": "mean of {}", "merge": "merge of {}", "cmp": "{} beside {}", "show": "{}"}
_LONG = 1e9
"""Seconds that are shown in full."""
_NAMED = 4
"""Operands that the first line names."""


def document(action: str, names: Sequence[str], cube: Cube, operands: Sequence[Cube], metric: str | None, rows: int) -> Document:
    """Return a cube, and the operands it comes from, as a JSON document; of a metric, if asked for, the `rows` largest call paths.

    Values are in the units of their metrics, times in s. Raises UsageError if there is no metric of that name.
    """
    if metric is not None and metric not in cube.metric:
        raise UsageError(f"metric '{metric}': must be one of {', '.join(name for name in cube.metric if name in cube.cells) or 'none'}")
    return {
        "version": VERSION,
        "command": "cube",
        "action": action,
        "operands": list(names),
        "attributes": dict(cube.attributes),
        "incomplete": cube.incomplete,
        "call_paths": len(cube.paths),
        "processes": len(cube.groups),
        "locations": len(cube.locations),
        "metrics": [_metric(cube, operands, name) for name in cube.metric if _seen(name, cube, *operands)],
        "metric": metric,
        "rows": _rows(cube, metric, rows) if metric is not None else [],
        "differences": None,
    }


def _seen(name: str, *cubes: Cube) -> bool:
    return any(name in cube.cells for cube in cubes)


def _metric(cube: Cube, operands: Sequence[Cube], name: str) -> Document:
    metric = cube.metric[name]
    return {
        "name": name,
        "title": metric.title,
        "parent": metric.parent or None,
        "unit": metric.unit,
        "meaning": metric.meaning,
        "total": cube.total(name),
        "operands": [operand.total(name) if name in operand.metric else None for operand in operands],
    }


def _rows(cube: Cube, metric: str, most: int) -> list[Document]:
    """Return the call paths with most of a metric, whichever sign, and the location that has most of it there."""
    own = cube.by_path(metric)
    below = cube.inclusive(own)
    order = np.argsort(-np.abs(own), kind="stable")
    return [_row(cube, metric, int(at), own[at].item(), below[at].item()) for at in order[:most] if own[at]]


def _row(cube: Cube, metric: str, at: int, own: float, below: float) -> Document:
    cells = cube.cells[metric]
    value = cells.value[np.searchsorted(cells.node, at)].astype("f8")
    worst = int(np.abs(value).argmax())
    location = cube.locations[worst]
    return {
        "call_path": cube.full_name(at),
        "value": own,
        "with_below": below,
        "rank": cube.groups[location.group].rank,
        "thread": location.rank,
        "most": value[worst].item(),
    }


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


def text(block: Document) -> str:
    """Return the document as text for a terminal."""
    mark = "  (INCOMPLETE trace)" if block["incomplete"] else ""
    lines = words.wrapped(f"{_named(block)}{mark}", 2)
    if block["differences"] is not None:
        return "\n".join([*lines, *(line for text in block["differences"] or ["equal"] for line in words.wrapped(text, 2))])
    counted = ((block["call_paths"], "call path"), (block["locations"], "location"), (len(block["metrics"]), "metric"))
    counts = ", ".join(words.several(number, noun) for number, noun in counted)
    lines += [f"{counts} that are not 0", ""]
    near = _near(block)
    lines += _diff_lines(near) if block["action"] == "diff" else _total_lines(near)
    if block["metric"] is not None:
        lines += ["", f"call paths with most of {words.shown(block['metric'])}", *_path_lines(block)]
    return "\n".join(lines)


def _named(block: Document) -> str:
    names = [words.shown(name) for name in block["operands"]]
    if block["action"] in ("diff", "cmp"):
        return _VERBS[block["action"]].format(*names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return _VERBS[block["action"]].format(", ".join(names[:_NAMED]) + more)


def _near(block: Document) -> Document:
    """Return the document with those metrics that contain the one asked for, or are contained in it; with all if none is asked for."""
    if block["metric"] is None:
        return block
    parent = {row["name"]: row["parent"] for row in block["metrics"]}
    kept, above = {block["metric"]}, parent.get(block["metric"])
    for row in block["metrics"]:
        kept |= {row["name"]} if row["parent"] in kept else set()
    while above is not None:
        kept.add(above)
        above = parent.get(above)
    return {**block, "metrics": [row for row in block["metrics"] if row["name"] in kept or row["name"] == TIME]}


def _titles(block: Document) -> list[str]:
    """Return the titles of the metrics, indented as their tree."""
    depth: dict[str | None, int] = {None: -1}
    for row in block["metrics"]:
        depth[row["name"]] = depth.get(row["parent"], -1) + 1
    return ["  " * depth[row["name"]] + words.shown(row["title"], 40) for row in block["metrics"]]


def _total_lines(block: Document) -> list[str]:
    whole = next((row["total"] for row in block["metrics"] if row["name"] == TIME), 0)
    whole = 0 if block["attributes"].get(OPERATION, "").startswith("diff ") else whole
    rows = []
    for title, row in zip(_titles(block), block["metrics"], strict=True):
        timed = row["unit"] == SECONDS and not row["name"].startswith(GAIN)
        share = words.percent(row["total"], whole) if timed and whole > 0 else ""
        rows.append([title, words.shown(row["name"], 40), amount(row["total"], row["unit"]), share])
    return words.table(["metric", "name", "total", "of all time" if whole > 0 else ""], rows, left=(0, 1))


def _diff_lines(block: Document) -> list[str]:
    rows = []
    for title, row in zip(_titles(block), block["metrics"], strict=True):
        values = ["-" if value is None else amount(value, row["unit"]) for value in (*row["operands"], row["total"])]
        rows.append([title, words.shown(row["name"], 40), *values])
    return words.table(["metric", "name", "first", "second", "difference"], rows, left=(0, 1))


def _path_lines(block: Document) -> list[str]:
    unit = next(row["unit"] for row in block["metrics"] if row["name"] == block["metric"]) if block["rows"] else ""
    rows = [
        [
            words.shown(row["call_path"], _PATH),
            *(amount(row[key], unit) for key in ("value", "with_below")),
            f"{words.rank(row['rank'], row['thread'])}: {amount(row['most'], unit)}",
        ]
        for row in block["rows"]
    ]
    return words.table(["call path", "value", "with those below", "most on rank"], rows)
