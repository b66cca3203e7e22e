"""The algebra of cubes: difference, mean and merge of cubes are cubes again, and can be operands (Song et al., ICPP 2004)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from perwiz import __version__
from perwiz.errors import UsageError
from perwiz.formats.cube.cube import DOUBLE, DTYPES, GAIN, INCOMPLETE, PERCENT, SECONDS, SIGNED, TIME, Cells, Cube, compact, signed
from perwiz.formats.cube.join import Joined, join
from perwiz.words import shown

_SHORTEST = 1e-9
"""Less time, s, is none."""


def diff(first: Cube, second: Cube) -> Cube:
    """Return first - second. Whole numbers stay whole, and become signed."""
    joined = join([first, second])
    return _weighted(joined, [1, -1], {metric.name: _difference(joined, metric.name) for metric in joined.cube.metrics})


def mean(cubes: Sequence[Cube]) -> Cube:
    """Return the mean of cubes: that of 1 and 2 visits is 1.5. Raises UsageError for no cube."""
    if not cubes:
        raise UsageError("mean of no cube, must be of one or more")
    joined = join(cubes)
    total = _weighted(joined, [1] * len(cubes), dict.fromkeys((metric.name for metric in joined.cube.metrics), DOUBLE))
    return dataclasses.replace(total, cells={name: Cells(c.node, c.value / len(cubes)) for name, c in total.cells.items()})


def merge(cubes: Sequence[Cube]) -> Cube:
    """Return a cube with the metrics of all; of a metric in several it has the values of the first, and `faults` if others differ."""
    joined, cells, kept = join(cubes), dict[str, Cells | None](), list[str]()
    for metric in joined.cube.metrics:
        having = [number for number, cube in enumerate(cubes) if metric.name in cube.metric]
        first = cells[metric.name] = joined.moved(having[0], metric.name, DTYPES[metric.type])
        if any(first != joined.moved(number, metric.name, DTYPES[metric.type]) for number in having[1:]):
            kept.append(metric.name)
    values = compact({name: stored for name, stored in cells.items() if stored is not None})
    several = f"in several operands, with other values, kept as in the first: {', '.join(map(shown, kept))}"
    return _cube(joined, {}, values, [several] if kept else [])


def percent(cube: Cube) -> Cube:
    """Return a cube whose times are percentages of all its time; counts, bytes and gains stay. Raises UsageError if it has no time."""
    whole = cube.total(TIME)
    if not whole >= _SHORTEST:
        raise UsageError(f"a cube without any '{TIME}', must have it to be put in percent")
    timed = {metric.name for metric in cube.metrics if metric.unit == SECONDS and not metric.name.startswith(GAIN)}
    metrics = (dataclasses.replace(m, unit=PERCENT, type=DOUBLE) if m.name in timed else m for m in cube.metrics)
    cells = {name: Cells(stored.node, stored.value * (100 / whole)) if name in timed else stored for name, stored in cube.cells.items()}
    return dataclasses.replace(cube, metrics=tuple(metrics), cells=cells)


def differences(first: Cube, second: Cube) -> list[str]:
    """Return in what two cubes differ, in words; nothing if they have the same metrics, call paths, locations and values."""
    joined, between = join([first, second]), diff(first, second)
    out = [text for text in joined.warnings if text.startswith("metric")]
    for cube, missing, which in ((first, second.metric, "first"), (second, first.metric, "second")):
        only = [shown(name) for name in cube.metric if name not in missing]
        out += [f"metrics only in the {which}: {', '.join(only)}"] if only else []
    for noun, rows, whole in (("call paths", joined.paths, joined.cube.paths), ("locations", joined.locations, joined.cube.locations)):
        counts = [len(set(row.tolist())) for row in rows]
        if min(counts) < len(whole):
            out.append(f"{noun}: {counts[0]} and {counts[1]} of {len(whole)}")
    both = [name for name in between.cells if name in first.metric and name in second.metric]
    return out + [_unequal(between, name) for name in both]


def _unequal(between: Cube, name: str) -> str:
    value = between.cells[name].value
    most = np.abs(value).max().item()
    return f"metric '{shown(name)}': {np.count_nonzero(value)} cells differ, by at most {most:g} {shown(between.metric[name].unit)}"


def _difference(joined: Joined, name: str) -> str:
    """Return the type of a difference."""
    parts = [cube.cells[name].value for cube in joined.operands if name in cube.cells]
    double = any(cube.metric[name].type == DOUBLE for cube in joined.operands if name in cube.metric)
    return DOUBLE if double or any(signed(part).dtype.kind == "f" for part in parts) else SIGNED


def _weighted(joined: Joined, factors: Sequence[int], types: Mapping[str, str]) -> Cube:
    """Return the sum of the operands, each times its factor."""
    cells = {}
    for metric in joined.cube.metrics:
        moved = [joined.moved(number, metric.name, DTYPES[types[metric.name]]) for number in range(len(factors))]
        cells[metric.name] = _sum([(cells, factor) for cells, factor in zip(moved, factors, strict=True) if cells is not None])
    return _cube(joined, types, compact({name: values for name, values in cells.items() if values is not None}), [])


def _sum(parts: Sequence[tuple[Cells, int]]) -> Cells | None:
    if not parts:
        return None
    node = np.unique(np.concatenate([cells.node for cells, _ in parts]))
    out = np.zeros((len(node), parts[0][0].value.shape[1]), parts[0][0].value.dtype)
    for cells, factor in parts:
        out[np.searchsorted(node, cells.node)] += factor * cells.value
    return Cells(node, out)


def _cube(joined: Joined, types: Mapping[str, str], cells: Mapping[str, Cells], warnings: Sequence[str]) -> Cube:
    metrics = tuple(dataclasses.replace(metric, type=types.get(metric.name, metric.type)) for metric in joined.cube.metrics)
    incomplete = any(cube.incomplete for cube in joined.operands)
    attributes = {"Creator": f"perwiz {__version__}"} | ({INCOMPLETE: "true"} if incomplete else {})
    faults = (*joined.warnings, *warnings)
    return dataclasses.replace(
        joined.cube, metrics=metrics, cells=cells, attributes={**joined.cube.attributes, **attributes}, faults=faults
    )
