"""Fat trees, dragonflies and tori: the links of each, and those on the way from node to node.

Nodes have places 0 to n - 1. Link k leads out of the node at place k, link n + k into it; those behind are between switches. Capacities
are bytes per ns, which are GB per s.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

NO_SWITCH = -1


@dataclasses.dataclass(frozen=True)
class Tree:
    """A fat tree. All links between a switch and those above are one trunk: messages are spread evenly over them."""

    leaf: tuple[int, ...]
    """Switch of each node."""
    above: tuple[int, ...]
    """Switch above each, NO_SWITCH at the top."""
    trunk: tuple[float, ...]
    """Capacity of the trunk above each switch, one way."""
    names: tuple[str, ...] = ()
    """Of each switch; none: their numbers."""

    @property
    def nodes(self) -> int:
        """Number of places."""
        return len(self.leaf)

    def capacities(self) -> list[float]:
        """Return the capacity of each link between switches: all upward, then all downward."""
        return [*self.trunk, *self.trunk]

    def name(self, link: int) -> str:
        """Return the name of a link between switches."""
        down, switch = divmod(link, len(self.above))
        return f"{'down to' if down else 'up from'} switch {self.names[switch] if self.names else switch}"

    def way(self, source: int, target: int) -> list[int]:
        """Return the links between switches that a message passes, by number from 0."""
        up, down = self._to_top(self.leaf[source]), self._to_top(self.leaf[target])
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        return [*up, *(len(self.above) + switch for switch in reversed(down))]

    def _to_top(self, switch: int) -> list[int]:
        out = []
        while switch != NO_SWITCH:
            out.append(switch)
            switch = self.above[switch]
        return out


def tree(leaf: Sequence[int], above: Sequence[int], node: float, oversubscription: Sequence[float], names: Sequence[str] = ()) -> Tree:
    """Return a fat tree whose trunks carry what comes from below divided by the oversubscription of their level, the lowest first."""
    level, below = [0] * len(above), [0.0] * len(above)
    for switch in leaf:
        below[switch] += node
    waiting = [above.count(switch) for switch in range(len(above))]
    ready, trunk = [switch for switch, count in enumerate(waiting) if not count], [0.0] * len(above)
    for switch in ready:
        over = oversubscription[level[switch]] if level[switch] < len(oversubscription) else 1.0
        trunk[switch] = below[switch] / over
        upper = above[switch]
        if upper != NO_SWITCH:
            below[upper] += trunk[switch]
            level[upper] = max(level[upper], level[switch] + 1)
            waiting[upper] -= 1
            if not waiting[upper]:
                ready.append(upper)
    return Tree(tuple(leaf), tuple(above), tuple(trunk), tuple(names))


def fat_tree(ports: Sequence[int], node: float, oversubscription: Sequence[float]) -> Tree:
    """Return a fat tree whose switches have so many ports downward, by level, the lowest first.

    Of ports 4 2: two switches of four nodes each, and one above them.
    """
    total = math.prod(ports)
    leaf = [place // ports[0] for place in range(total)]
    above, first, count = list[int](), 0, total // ports[0]
    for port in ports[1:]:
        above += [first + count + number // port for number in range(count)]
        first, count = first + count, count // port
    return tree(leaf, [*above, NO_SWITCH], node, oversubscription)


@dataclasses.dataclass(frozen=True)
class Dragonfly:
    """Groups of routers: those of a group are all linked (local), and each two groups once (global). Routes are minimal.

    The link from group a to group b begins at the router of a that stands for b, dealt out in turn.
    """

    groups: int
    routers: int
    """Of each group."""
    attached: int
    """Nodes of each router."""
    local: float
    global_: float

    @property
    def nodes(self) -> int:
        """Number of places."""
        return self.groups * self.routers * self.attached

    def capacities(self) -> list[float]:
        """Return the capacity of each link: local ones by group, from router, to router, then global ones from group, to group."""
        return [self.local] * (self.groups * self.routers**2) + [self.global_] * self.groups**2

    def name(self, link: int) -> str:
        """Return the name of a link between switches."""
        inner = self.groups * self.routers**2
        if link >= inner:
            one, other = divmod(link - inner, self.groups)
            return f"group {one} to group {other}"
        at, other = divmod(link, self.routers)
        group, one = divmod(at, self.routers)
        return f"group {group}, router {one} to {other}"

    def way(self, source: int, target: int) -> list[int]:
        """Return the links that a message passes: at most one local one, a global one and another local one."""
        (a, x), (b, y) = (divmod(place // self.attached, self.routers) for place in (source, target))
        if a == b:
            return self._local(a, x, y)
        out, into = self._gateway(a, b), self._gateway(b, a)
        return [*self._local(a, x, out), self.groups * self.routers**2 + a * self.groups + b, *self._local(b, into, y)]

    def _gateway(self, group: int, other: int) -> int:
        return (other - (other > group)) % self.routers

    def _local(self, group: int, one: int, other: int) -> list[int]:
        return [(group * self.routers + one) * self.routers + other] if one != other else []


@dataclasses.dataclass(frozen=True)
class Torus:
    """A router per node, in rings along each dimension. Messages go along one dimension after the other, the first first, the short way."""

    dims: tuple[int, ...]
    link: float

    @property
    def nodes(self) -> int:
        """Number of places; the first dimension changes fastest."""
        return math.prod(self.dims)

    def capacities(self) -> list[float]:
        """Return the capacity of each link: two per router and dimension, forward and backward."""
        return [self.link] * (2 * len(self.dims) * self.nodes)

    def name(self, link: int) -> str:
        """Return the name of a link between switches."""
        at, backward = divmod(link, 2)
        router, axis = divmod(at, len(self.dims))
        return f"{'backward' if backward else 'forward'} from router {router} in dimension {axis}"

    def way(self, source: int, target: int) -> list[int]:
        """Return the links that a message passes; of two ways as short the forward one."""
        out, at = list[int](), source
        strides = [1, *itertools.accumulate(self.dims, lambda a, b: a * b)]
        for axis, (size, stride) in enumerate(zip(self.dims, strides, strict=False)):
            here, there = at // stride % size, target // stride % size
            ahead = (there - here) % size
            backward = ahead > size - ahead
            for _ in range(size - ahead if backward else ahead):
                out.append((at * len(self.dims) + axis) * 2 + backward)
                here_next = (here + (-1 if backward else 1)) % size
                at += (here_next - here) * stride
                here = here_next
        return out


Shape = Tree | Dragonfly | Torus
