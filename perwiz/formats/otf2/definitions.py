"""What an OTF2 archive defines: processes, regions, communicators ..., as plain tuples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple


class Node(NamedTuple):
    """A machine, a node ... of the system tree. As everywhere: names and classes are numbers of strings, -1 is none."""

    ref: int
    name: int
    class_name: int
    parent: int


class NodeProperty(NamedTuple):
    """A property of a node; its value is the bits of an OTF2 value of that type, 11 for a string's number."""

    node: int
    name: int
    type: int
    value: int


class LocationGroup(NamedTuple):
    """A process (type 1) or an accelerator (2), and the node it ran on; `creator` is the location group that started it."""

    ref: int
    name: int
    type: int
    node: int
    creator: int


class Location(NamedTuple):
    """A location: a thread (type 1), an accelerator's stream (2) or one for metrics (3); how many events its file has."""

    ref: int
    name: int
    type: int
    events: int
    group: int


class Region(NamedTuple):
    """A function, loop, ... and its source; paradigm 4 is MPI."""

    ref: int
    name: int
    canonical_name: int
    description: int
    role: int
    paradigm: int
    flags: int
    file: int
    begin_line: int
    end_line: int


class Group(NamedTuple):
    """A list of things. Type 4: locations, in the order of the world; 5: numbers of members of that list; 6: one's own."""

    ref: int
    name: int
    type: int
    paradigm: int
    flags: int
    members: list[int]


class Comm(NamedTuple):
    """A communicator over a group."""

    ref: int
    name: int
    group: int
    parent: int
    flags: int


class InterComm(NamedTuple):
    """A communicator between two groups, made from `common`."""

    ref: int
    name: int
    group_a: int
    group_b: int
    common: int
    flags: int


class Attribute(NamedTuple):
    """The name of what records may say beside their arguments; type 13 is a location."""

    ref: int
    name: int
    description: int
    type: int


class Parameter(NamedTuple):
    """The name and type of parameters: 0 string, 1 signed, 2 unsigned."""

    ref: int
    name: int
    type: int


class MetricMember(NamedTuple):
    """One counter: its values are of `value_type`, times `base` (0 is 2, 1 is 10) to the power of `exponent`, in `unit`."""

    ref: int
    name: int
    description: int
    type: int
    mode: int
    value_type: int
    base: int
    exponent: int
    unit: int


class MetricClass(NamedTuple):
    """Counters that are recorded together, in the order of their values."""

    ref: int
    members: list[int]
    occurrence: int
    recorder: int


class MetricInstance(NamedTuple):
    """A metric class recorded by one location on behalf of others."""

    ref: int
    metric_class: int
    recorder: int
    scope_type: int
    scope: int


class Dimension(NamedTuple):
    """One direction of a Cartesian topology."""

    ref: int
    name: int
    size: int
    periodic: int


class Topology(NamedTuple):
    """A Cartesian topology of a communicator."""

    ref: int
    name: int
    comm: int
    dimensions: list[int]


class Coordinates(NamedTuple):
    """Where a rank is in a topology."""

    topology: int
    rank: int
    values: list[int]


class Window(NamedTuple):
    """A window for one-sided communication."""

    ref: int
    name: int
    comm: int
    flags: int


_LOW, _ALL = (1 << 32) - 1, (1 << 64) - 1
_MASKS = {1: 0xFF, 2: 0xFFFF, 4: _ALL, 5: 0xFF, 6: 0xFFFF, 8: _ALL, 10: _ALL, 13: _ALL}
"""The bits of a value that count, by its type; for other types the low ones."""
Found = dict[str, list[list[Any]]]
"""The definitions by kind, arguments as they came: plain enough for JSON."""


@dataclasses.dataclass(frozen=True)
class Definitions:
    """All an archive defines, by number where that is unique; the first of several with one number counts, but groups keep all."""

    creator: str
    description: str
    machine: str
    version: list[int]
    """Of the library that wrote it."""
    substrate: int
    properties: dict[str, str]
    resolution: int
    """Ticks per second; 0 if it is not defined."""
    global_offset: int
    """The first tick."""
    trace_length: int
    """Ticks."""
    realtime: int
    """When the run began: ns since 1970, -1 if not known."""
    strings: dict[int, str]
    nodes: dict[int, Node]
    node_properties: list[NodeProperty]
    location_groups: dict[int, LocationGroup]
    locations: list[Location]
    """In the order of their definition."""
    regions: dict[int, Region]
    groups: list[Group]
    comms: dict[int, Comm]
    inter_comms: dict[int, InterComm]
    attributes: dict[int, Attribute]
    parameters: dict[int, Parameter]
    metric_members: dict[int, MetricMember]
    metric_classes: dict[int, MetricClass]
    metric_instances: dict[int, MetricInstance]
    dimensions: dict[int, Dimension]
    topologies: dict[int, Topology]
    coordinates: list[Coordinates]
    windows: dict[int, Window]

    def string(self, ref: int) -> str:
        """Return a string by its number, an empty one if there is none."""
        return self.strings.get(ref, "")


class Texts:
    """Gives every text a number; the first ones are known."""

    def __init__(self, first: tuple[str, ...]) -> None:
        self._all = list(first)
        self._number = {text: number for number, text in reversed(list(enumerate(first)))}

    def of(self, text: str) -> int:
        """Return the number of a text."""
        if text not in self._number:
            self._number[text] = len(self._all)
            self._all.append(text)
        return self._number[text]

    def all(self) -> tuple[str, ...]:
        """Return all texts in order of their numbers."""
        return tuple(self._all)


def definitions(anchor: dict[str, Any], listed: Found) -> Definitions:
    """Return what an archive says of itself and its global definitions, perhaps after a journey as JSON."""

    def table(kind: str, make: Callable[..., Any]) -> dict[int, Any]:
        rows: dict[int, Any] = {}
        for line in listed[kind]:
            rows.setdefault(line[0], make(*line))
        return rows

    resolution, offset, length, realtime = (listed["ClockProperties"] or [[0, 0, 0, -1]])[0]
    return Definitions(
        **anchor,
        resolution=resolution,
        global_offset=offset,
        trace_length=length,
        realtime=-1 if realtime == _ALL else realtime,
        strings=table("String", lambda _, text: text),
        nodes=table("SystemTreeNode", Node),
        node_properties=[
            NodeProperty(node, name, kind, value & _MASKS.get(kind, _LOW)) for node, name, kind, value in listed["SystemTreeNodeProperty"]
        ],
        location_groups=table("LocationGroup", LocationGroup),
        locations=list(table("Location", Location).values()),
        regions=table("Region", Region),
        groups=[Group(*line) for line in listed["Group"]],
        comms=table("Comm", Comm),
        inter_comms=table("InterComm", InterComm),
        attributes=table("Attribute", Attribute),
        parameters=table("Parameter", Parameter),
        metric_members=table("MetricMember", MetricMember),
        metric_classes=table("MetricClass", MetricClass),
        metric_instances=table("MetricInstance", MetricInstance),
        dimensions=table("CartDimension", Dimension),
        topologies=table("CartTopology", Topology),
        coordinates=[Coordinates(*line) for line in listed["CartCoordinate"]],
        windows=table("RmaWin", Window),
    )
