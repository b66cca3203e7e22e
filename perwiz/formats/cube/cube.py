"""A cube as a Cube file holds it: a number per metric, call path and location, with names for all three (Geimer et al. 2007).

Values are exclusive along the call tree (a call path without those below it) and inclusive along the tree of metrics (a metric contains
those below it), as CUBE has kept them since 2004. Cells that are not there are 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import Ints

DOUBLE, SIGNED, UNSIGNED = "DOUBLE", "INT64", "UINT64"
DTYPES = {DOUBLE: "f8", SIGNED: "i8", UNSIGNED: "u8"}
"""Types of values, and how numpy calls them."""
SECONDS, PERCENT = "sec", "%"
TIME = "time"
"""Unique name of the metric that is the time of all locations."""
INCOMPLETE = "perwiz::incomplete"
"""Attribute of a cube: "true" if a trace it comes from is incomplete."""
OPERATION = "perwiz::operation"
"""Attribute of a cube that is made of others: how, and of which."""
GAIN = "gain_"
"""Before the name of a pattern: the metric of what its waits are worth. A part of the makespan, not of the time of all locations."""
_EXACT = 1 << 62
"""Whole numbers up to here can be added and subtracted as int64."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric."""

    name: str
    """Unique."""
    title: str
    parent: str = ""
    """Name of the metric that contains it, empty at the top."""
    unit: str = SECONDS
    type: str = DOUBLE
    meaning: str = ""
    url: str = ""


@dataclasses.dataclass(frozen=True)
class Region:
    """A function, or another piece of program."""

    name: str
    mangled: str = ""
    module: str = ""
    """File, or library."""
    begin: int = -1
    """First line, -1 unknown."""
    end: int = -1
    paradigm: str = "unknown"
    role: str = "unknown"
    url: str = ""
    meaning: str = ""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A value that tells call paths of one region apart, such as the number of an iteration."""

    kind: str
    key: str
    value: str


@dataclasses.dataclass(frozen=True)
class CallPath:
    """A node of the call tree."""

    region: int
    """Row of Cube.regions."""
    parent: int = -1
    """Row of Cube.paths, -1 of the root."""
    line: int = -1
    """Line of the call, -1 unknown."""
    module: str = ""
    """File of the call."""
    parameters: tuple[Parameter, ...] = ()


@dataclasses.dataclass(frozen=True)
class Place:
    """A machine, a node, or another part of the system that is no process."""

    name: str
    kind: str
    parent: int = -1
    """Row of Cube.places, -1 of the root."""
    meaning: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Group:
    """A process, or what else holds locations."""

    name: str
    rank: int
    place: int
    """Row of Cube.places."""
    kind: str = "process"
    attributes: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Location:
    """A thread, or another stream of events."""

    name: str
    rank: int
    group: int
    """Row of Cube.groups."""
    kind: str = "thread"
    attributes: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Cart:
    """A Cartesian arrangement of locations."""

    name: str
    dimensions: tuple[tuple[str, int, bool], ...]
    """Name, size and whether it is periodic, per dimension."""
    coordinates: tuple[tuple[int, tuple[int, ...]], ...]
    """Row of Cube.locations, and its place."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The values of a metric on the call paths where it is not 0 everywhere."""

    node: Ints
    """Rows of Cube.paths, ascending."""
    value: NDArray[Any]
    """One row per node, one column per location."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        return self.value.dtype == other.value.dtype and np.array_equal(self.node, other.node) and np.array_equal(self.value, other.value)


@dataclasses.dataclass(frozen=True)
class Cube:
    """A cube. Everything stands in the order of its tree: paths and places depth first, groups by place, locations by group."""

    metrics: tuple[Metric, ...]
    """Parents before those below them."""
    regions: tuple[Region, ...]
    paths: tuple[CallPath, ...]
    """The root first; there is one root."""
    places: tuple[Place, ...]
    """Likewise."""
    groups: tuple[Group, ...]
    locations: tuple[Location, ...]
    cells: Mapping[str, Cells]
    """Per name of a metric; one without is 0 everywhere."""
    carts: tuple[Cart, ...] = ()
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mirrors: tuple[str, ...] = ()
    """Addresses that `@mirror@` in an url may stand for."""
    faults: tuple[str, ...] = dataclasses.field(default=(), compare=False)
    """What of a file could not be used, in words."""

    def __repr__(self) -> str:
        return f"<Cube of {len(self.metrics)} metrics, {len(self.paths)} call paths, {len(self.locations)} locations>"

    @cached_property
    def metric(self) -> dict[str, Metric]:
        """Each metric by its name."""
        return {metric.name: metric for metric in self.metrics}

    @cached_property
    def end(self) -> Ints:
        """Per call path the row behind its last descendant, int64."""
        return ends([path.parent for path in self.paths])

    @property
    def incomplete(self) -> bool:
        """Whether a trace it comes from is incomplete."""
        return self.attributes.get(INCOMPLETE) == "true"

    def total(self, name: str) -> float | int:
        """Return the sum of a metric over call paths and locations; exact for whole numbers."""
        return summed(self.cells[name].value) if name in self.cells else 0

    def by_path(self, name: str) -> NDArray[Any]:
        """Return a metric per call path, exclusive, summed over locations; whole numbers as int64 where that holds them."""
        if name not in self.cells:
            return np.zeros(len(self.paths), DTYPES[self.metric[name].type])
        cells = self.cells[name]
        value = signed(cells.value).sum(axis=1)
        out = np.zeros(len(self.paths), value.dtype)
        out[cells.node] = value
        return out

    def inclusive(self, value: NDArray[Any]) -> NDArray[Any]:
        """Return values per call path with those of all descendants added."""
        total = np.concatenate((np.zeros(1, value.dtype), np.cumsum(value)))
        return np.asarray(total[self.end] - total[:-1])

    def full_name(self, path: int) -> str:
        """Return the names from below the root down to a call path, joined by slashes; of the root its own."""
        names = []
        while path > 0:
            names.append(self.regions[self.paths[path].region].name)
            path = self.paths[path].parent
        return "/".join(reversed(names)) or self.regions[self.paths[0].region].name


def ends(parents: list[int]) -> Ints:
    """Return, per row of a tree in depth-first order, the row behind its last descendant, int64."""
    end = np.arange(1, len(parents) + 1)
    for row in range(len(parents) - 1, 0, -1):
        if parents[row] >= 0:
            end[parents[row]] = max(end[parents[row]], end[row])
    return end


def compact(cells: Mapping[str, Cells]) -> dict[str, Cells]:
    """Return cells without the call paths where all are 0, and without the metrics where no call path is left."""
    out = {}
    for name, part in cells.items():
        rows = part.value.any(axis=1)
        if rows.any():
            out[name] = part if rows.all() else Cells(part.node[rows], part.value[rows])
    return out


def signed(value: NDArray[Any]) -> NDArray[Any]:
    """Return values that can be added and subtracted: float64, or int64 if they are whole and no sum of them overflows."""
    if value.dtype.kind == "f" or not value.size:
        return value.astype("f8" if value.dtype.kind == "f" else "i8", copy=False)
    most = max(int(value.max()), -int(value.min())) * value.size
    return value.astype("i8" if most < _EXACT else "f8", copy=False)


def summed(value: NDArray[Any]) -> float | int:
    """Return the sum of values, an int if they are whole and few enough."""
    total: float | int = signed(value).sum().item()
    return total
