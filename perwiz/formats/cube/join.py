"""Cubes of several runs over one set of metrics, call paths and locations (Song et al., ICPP 2004: metadata integration).

Equal are: metrics of one unique name and unit; call paths whose parents are equal and whose regions have one name and file name, called
from one line with the same parameters (lines of regions do not count: they move when a program changes), and all roots; locations of
one rank and kind in processes of one rank and kind.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from perwiz.formats.cube.cube import CallPath, Cells, Cube, Group, Location, Metric, Place, Region
from perwiz.trace.arrays import Ints
from perwiz.words import shown


@dataclasses.dataclass(frozen=True, eq=False)
class Joined:
    """Several cubes over one set of names."""

    cube: Cube
    """The names, without cells; the attributes that all have in common."""
    operands: tuple[Cube, ...]
    paths: tuple[Ints, ...]
    """Per operand and call path of it the row in `cube`."""
    locations: tuple[Ints, ...]
    """Per operand and location of it the row in `cube`."""
    warnings: tuple[str, ...]
    """What was left out or moved, in words."""

    def moved(self, operand: int, name: str, dtype: str) -> Cells | None:
        """Return the values of a metric of an operand at their place in the joined cube, None if it has none."""
        cells = self.operands[operand].cells.get(name)
        if cells is None:
            return None
        node, row = np.unique(self.paths[operand][cells.node], return_inverse=True)
        out = np.zeros((len(node), len(self.cube.locations)), dtype)
        for place, values in zip(row.tolist(), cells.value.astype(dtype), strict=True):
            out[place, self.locations[operand]] += values
        return Cells(node.astype("i4"), out)


def join(cubes: Sequence[Cube]) -> Joined:
    """Return cubes over one set of metrics, call paths and locations.

    The system is that of the first operand that has all locations of the others, with its topologies; if none has, all processes stand
    in one machine that does not exist. Metrics stand where the first operand that has them puts them.
    """
    warnings = list[str]()
    metrics = _metrics(cubes, warnings)
    regions, paths, path_rows = _paths(cubes)
    system, location_rows = _system(cubes, warnings)
    common = dict(set.intersection(*(set(cube.attributes.items()) for cube in cubes)))
    attributes = {key: value for key, value in cubes[0].attributes.items() if key in common}
    mirrors = tuple(dict.fromkeys(mirror for cube in cubes for mirror in cube.mirrors))
    cube = dataclasses.replace(system, metrics=metrics, regions=regions, paths=paths, cells={}, attributes=attributes, mirrors=mirrors)
    return Joined(cube, tuple(cubes), path_rows, location_rows, tuple(warnings))


def _metrics(cubes: Sequence[Cube], warnings: list[str]) -> tuple[Metric, ...]:
    by_name: dict[str, Metric] = {}
    clashing = dict[str, str]()
    for metric in (metric for cube in cubes for metric in cube.metrics):
        first = by_name.setdefault(metric.name, metric)
        if first.unit != metric.unit:
            clashing[metric.name] = f"metric '{shown(metric.name)}' left out: is in '{shown(first.unit)}' and in '{shown(metric.unit)}'"
    warnings += clashing.values()
    below: dict[str, list[str]] = {}
    for metric in by_name.values():
        below.setdefault(_above(metric, by_name, clashing), []).append(metric.name)
    out, stack = list[Metric](), below.get("", [])[::-1]
    while stack:
        name = stack.pop()
        stack += reversed(below.get(name, []))
        if name not in clashing:
            out.append(dataclasses.replace(by_name[name], parent=_above(by_name[name], by_name, clashing)))
    return tuple(out)


def _above(metric: Metric, by_name: dict[str, Metric], clashing: dict[str, str]) -> str:
    """Return the name of the next metric above that stays, empty if there is none."""
    while metric.parent in clashing:
        metric = by_name[metric.parent]
    return metric.parent


def _paths(cubes: Sequence[Cube]) -> tuple[tuple[Region, ...], tuple[CallPath, ...], tuple[Ints, ...]]:
    """Return (regions, call paths depth first, per operand and call path of it the row among these)."""
    region_row, regions = dict[Hashable, int](), list[Region]()
    path_row, paths, rows = dict[Hashable, int](), list[CallPath](), list[list[int]]()
    for cube in cubes:
        of_region = [_row(region_row, (region.name, os.path.basename(region.module)), regions, region) for region in cube.regions]
        row: list[int] = []
        for path in cube.paths:
            parent = row[path.parent] if path.parent >= 0 else -1
            key = (parent, of_region[path.region], path.line, path.module, path.parameters) if parent >= 0 else ()
            row.append(_row(path_row, key, paths, dataclasses.replace(path, parent=parent, region=of_region[path.region])))
        rows.append(row)
    order = _depth_first([path.parent for path in paths])
    place = np.empty(len(order), "i8")
    place[order] = np.arange(len(order))
    moved = (dataclasses.replace(paths[old], parent=int(place[paths[old].parent]) if paths[old].parent >= 0 else -1) for old in order)
    return tuple(regions), tuple(moved), tuple(place[row] for row in rows)


def _row(rows: dict[Hashable, int], key: Hashable, items: list[Any], item: Any) -> int:
    """Return the row of a key; a new one is put behind, with its item."""
    if key not in rows:
        rows[key] = len(items)
        items.append(item)
    return rows[key]


def _depth_first(parents: Sequence[int]) -> list[int]:
    """Return the rows of a tree depth first."""
    below: list[list[int]] = [[] for _ in parents]
    for row, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(row)
    order, stack = [], [0]
    while stack:
        row = stack.pop()
        order.append(row)
        stack += reversed(below[row])
    return order


def _system(cubes: Sequence[Cube], warnings: list[str]) -> tuple[Cube, tuple[Ints, ...]]:
    """Return (a cube with the system, per operand and location of it the row there)."""
    keys = [_keys(cube) for cube in cubes]
    everything = set().union(*keys)
    whole = [number for number, held in enumerate(keys) if len(held) == len(everything)]
    if whole:
        system, order = cubes[whole[0]], keys[whole[0]]
    else:
        order = sorted(everything)
        system = _collapsed(cubes[0], order)
        warnings.append("no operand has all processes: all are put into one virtual machine, without topologies")
    for number, held in enumerate(keys, start=1):
        if len(held) < len(everything):
            warnings.append(f"operand {number} has {len(held)} of {len(everything)} locations: it is 0 on the others")
    row = {key: place for place, key in enumerate(order)}
    return system, tuple(np.array([row[key] for key in held]) for held in keys)


Key = tuple[int, str, int, str, int]
"""Rank and kind of the process, rank and kind of the location, and the number of this one among equal ones."""


def _keys(cube: Cube) -> list[Key]:
    seen: collections.Counter[tuple[int, str, int, str]] = collections.Counter()
    keys = []
    for location in cube.locations:
        group = cube.groups[location.group]
        key = group.rank, group.kind, location.rank, "thread" if location.kind == "CPU thread" else location.kind
        keys.append((*key, seen[key]))
        seen[key] += 1
    return keys


def _collapsed(cube: Cube, keys: Sequence[Key]) -> Cube:
    """Return a cube with all processes in one machine."""
    row, groups, locations = dict[Hashable, int](), list[Group](), list[Location]()
    for process, group_kind, rank, kind, _ in keys:
        group = _row(row, (process, group_kind), groups, Group(f"MPI Rank {process}", process, 1, group_kind))
        locations.append(Location(f"thread {rank}" if rank else "Master thread", rank, group, kind))
    places = Place("virtual machine", "machine"), Place("virtual node", "node", 0)
    return dataclasses.replace(cube, places=places, groups=tuple(groups), locations=tuple(locations), carts=())
