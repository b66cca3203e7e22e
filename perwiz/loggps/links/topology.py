"""Topology files: which links there are between nodes, in a few lines of TOML.

kind = "fat tree"            # or "dragonfly", "torus"
ports = [8, 4]               # fat tree: ports downward of the switches of each level, the lowest first;
switches = "topology.txt"    #   or what `scontrol show topology` prints
oversubscription = 4         #   what comes from below in parts of what goes up, one for each level or for the lowest
groups = 4                   # dragonfly, with routers = 4 and nodes = 2: of each group, of each router
dims = [4, 4]                # torus
node_GB_per_s = 1.25         # of the link of a node, each way
local_GB_per_s = 2.5         # dragonfly, with global_GB_per_s; torus: link_GB_per_s; those of nodes if not said
hop_ns = 100                 # latency of each link more than two nodes at one switch have between them
reverse = 0.05               # part of what a message takes that its acknowledgements take the other way; 0 if not said
hosts = ["n[001-016,020]"]   # nodes by place; if not said those of the trace, in the order of their first ranks
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from perwiz import words
from perwiz.errors import ModelError, TraceError
from perwiz.formats.source import content
from perwiz.formats.typed import NoToml, toml
from perwiz.loggps.keys import shown, unknown
from perwiz.loggps.links import slurm
from perwiz.loggps.links.shapes import Dragonfly, Shape, Torus, fat_tree, tree

_LARGEST_FILE = 1 << 24
_MOST_NODES, _MOST_LINKS = 1 << 18, 1 << 22
_MOST_SPEED = 1e6
_COMMON = ("kind", "node_GB_per_s", "hop_ns", "reverse", "hosts")
Table = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Topology:
    """The links between the nodes of a machine."""

    name: str
    shape: Shape
    node: float
    """Bytes per ns of the link of a node, each way."""
    hop: float
    """ns."""
    reverse: float
    """What the acknowledgements of a message take of the links the other way, part of what it takes itself."""
    hosts: tuple[str, ...]
    """Name of the node at each place; none: those of a trace in their order."""
    full: bool = False
    """Whether only the links of nodes are ever overloaded."""
    ports: int = 1
    """Links of a node, each way, over which its messages are spread evenly."""
    recorded: tuple[str, ...] = ()
    """Without `hosts`: name of the node at each of the first places, as the run was recorded."""

    def of(self, nodes: Sequence[str]) -> Topology:
        """The same with the nodes of a recorded run, by their first ranks, at the first places, if nothing says where they are."""
        alike = self.hosts or len(set(nodes)) < len(nodes)
        return self if alike else dataclasses.replace(self, recorded=tuple(nodes))

    @property
    def without_contention(self) -> Topology:
        """The same with full bisection: only the links of nodes are ever overloaded."""
        return dataclasses.replace(self, full=True)

    def capacities(self) -> list[float]:
        """Return the capacity of each link, bytes per ns: those out of nodes, into nodes, and between switches."""
        between = self.shape.capacities()
        return [self.node * self.ports] * (2 * self.shape.nodes) + ([math.inf] * len(between) if self.full else between)

    def link(self, number: int) -> str:
        """Return the name of a link."""
        count = self.shape.nodes
        if number < 2 * count:
            place = number % count
            node = self.hosts[place] if place < len(self.hosts) else f"{place}"
            return f"{'out of' if number < count else 'into'} node {node}"
        return self.shape.name(number - 2 * count)

    def route(self, source: int, target: int) -> list[int]:
        """Return the links that a message passes from the node at one place to that at another."""
        count = self.shape.nodes
        return [source, *(2 * count + link for link in self.shape.way(source, target)), count + target]

    def places(self, names: list[str]) -> list[int]:
        """Return the places of nodes, given the names of all, by their first ranks. Raises ModelError if it does not cover them.

        Where nothing says where they are, those of the recorded run come first.
        """
        count = self.shape.nodes
        order = self.hosts or (tuple(dict.fromkeys([*self.recorded, *names])) if self.recorded else ())
        place = {name: number for number, name in enumerate(order)}
        lacking = [name for name in names if name not in place] if self.hosts else []
        if lacking:
            told = f"no place for {words.several(len(lacking), 'node')} of the run ({shown(lacking[0])}{', ...' if lacking[1:] else ''})"
            raise ModelError(f"{self.name}: {told}, must have one for each")
        several = len(order) or len(names)
        if several > count:
            raise ModelError(f"{self.name}: places for {count} nodes, must be for {several}: so many the run has")
        return [place[name] for name in names] if order else [*range(len(names))]


def load(file: str) -> Topology:
    """Return the topology in a file. Raises ModelError naming the file, the key, what is there and what must be."""
    text = _text(file)
    try:
        parsed = toml(text)
    except NoToml as error:
        if text.lstrip().startswith("SwitchName="):
            raise ModelError(f'{file}: text of scontrol, must be named in a file of TOML, switches = "{os.path.basename(file)}"') from None
        raise ModelError(f"{file}: {error}, must be TOML") from error
    try:
        return _Reader(file, parsed).topology()
    except ModelError as error:
        raise ModelError(f"{file}: {error}") from None


def _text(file: str) -> str:
    try:
        return content(file, _LARGEST_FILE, "a topology").decode("utf-8")
    except TraceError as error:
        raise ModelError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{file}: {error.reason} at byte {error.start}, must be UTF-8") from None


class _Reader:
    """Reads one parsed file; errors name keys."""

    def __init__(self, file: str, table: Table) -> None:
        self.file, self.table = file, table

    def topology(self) -> Topology:
        """Return the topology."""
        kinds: dict[str, tuple[tuple[str, ...], Callable[[float], tuple[Shape, tuple[str, ...]]]]] = {
            "fat tree": (("ports", "switches", "oversubscription"), self._tree),
            "dragonfly": (("groups", "routers", "nodes", "local_GB_per_s", "global_GB_per_s"), self._dragonfly),
            "torus": (("dims", "link_GB_per_s"), self._torus),
        }
        kind = self._said("kind")
        if not isinstance(kind, str) or kind not in kinds:
            raise ModelError(f"kind is {unknown(kind, kinds)}")
        keys, made = kinds[kind]
        for key in self.table:
            if key not in (*_COMMON, *keys):
                raise ModelError(f"{kind} has {unknown(key, (*_COMMON, *keys))}")
        node = self._number("node_GB_per_s")
        shape, names = made(node)
        hosts = self._hosts(names, shape.nodes)
        return Topology(
            os.path.basename(self.file), shape, node, self._number("hop_ns", 0.0, 0.0, 1e9), self._number("reverse", 0.0, 0.0, 1.0), hosts
        )

    def _tree(self, node: float) -> tuple[Shape, tuple[str, ...]]:
        if ("ports" in self.table) == ("switches" in self.table):
            raise ModelError("a fat tree has both or none of ports and switches, must have one")
        if "ports" in self.table:
            ports = self._sizes("ports")
            over = self._oversubscription(len(ports))
            return fat_tree(ports, node, over), ()
        path = self.table["switches"]
        if not isinstance(path, str):
            raise ModelError(f"switches is {shown(path)}, must be a file of what scontrol show topology prints")
        found = slurm.switches(os.path.join(os.path.dirname(self.file), path), _text, _MOST_NODES)
        return tree(found.leaf, found.above, node, self._oversubscription(found.levels), found.names), found.hosts

    def _oversubscription(self, levels: int) -> list[float]:
        given = self.table.get("oversubscription", 1)
        several = given if isinstance(given, list) else [given]
        if isinstance(given, list) and len(given) != levels - 1:
            raise ModelError(
                f"oversubscription has {words.several(len(given), 'number')}, must have {levels - 1}: one per level but the top"
            )
        return [self._checked("oversubscription", value, 1.0, _MOST_SPEED) for value in several]

    def _dragonfly(self, node: float) -> tuple[Shape, tuple[str, ...]]:
        groups, routers, nodes = (self._size(key, self._said(key)) for key in ("groups", "routers", "nodes"))
        self._bounded(groups * routers * nodes, groups * routers**2 + groups**2)
        return Dragonfly(groups, routers, nodes, self._number("local_GB_per_s", node), self._number("global_GB_per_s", node)), ()

    def _torus(self, node: float) -> tuple[Shape, tuple[str, ...]]:
        dims = self._sizes("dims")
        for size in dims:
            if size < 2:
                raise ModelError(f"dims has {size}, must be from 2: one node is no ring")
        return Torus(dims, self._number("link_GB_per_s", node)), ()

    def _sizes(self, key: str) -> tuple[int, ...]:
        given = self._said(key)
        if not isinstance(given, list) or not 1 <= len(given) <= 16:
            raise ModelError(f"{key} is {shown(given)}, must be a list of 1 to 16 numbers")
        out = tuple(self._size(key, value) for value in given)
        self._bounded(math.prod(out), 2 * len(out) * math.prod(out))
        return out

    def _size(self, key: str, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_NODES:
            raise ModelError(f"{key} is {shown(value)}, must be a whole number from 1 to {_MOST_NODES}")
        return value

    def _bounded(self, nodes: int, links: int) -> None:
        if nodes > _MOST_NODES or links > _MOST_LINKS:
            raise ModelError(f"{nodes} nodes and {links} links, must be at most {_MOST_NODES} and {_MOST_LINKS}")

    def _hosts(self, names: tuple[str, ...], count: int) -> tuple[str, ...]:
        """Return the nodes by place, those of the switches or of `hosts`."""
        if "hosts" not in self.table:
            return names
        given = self.table["hosts"]
        if names:
            raise ModelError("has hosts and switches, must have one: switches name their nodes")
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            raise ModelError(f"hosts is {shown(given)}, must be a list of names such as n[001-016,020]")
        hosts = tuple(host for text in given for host in slurm.expanded("hosts", text, _MOST_NODES))
        if len(hosts) > count:
            raise ModelError(f"hosts are {len(hosts)}, must be at most {count}: so many places there are")
        twice = next((host for host in hosts if hosts.count(host) > 1), None) if len(set(hosts)) < len(hosts) else None
        if twice is not None:
            raise ModelError(f"hosts has {shown(twice)} twice, must have each once")
        return hosts

    def _said(self, key: str) -> Any:
        if key not in self.table:
            raise ModelError(f"lacks {key}, must have it")
        return self.table[key]

    def _number(self, key: str, default: float | None = None, least: float = 1e-6, most: float = _MOST_SPEED) -> float:
        if default is not None and key not in self.table:
            return default
        return self._checked(key, self._said(key), least, most)

    def _checked(self, key: str, value: object, least: float, most: float) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise ModelError(f"{key} is {shown(value)}, must be a number from {least:g} to {most:g}")
        return float(value)
