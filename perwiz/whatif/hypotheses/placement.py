"""Ranks on other nodes, and other links between nodes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.errors import TraceError, UsageError
from perwiz.formats.source import content
from perwiz.loggps.links.topology import Topology, load
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace, listed_ranks
from perwiz.whatif.hypotheses.base import PLACES, Hypothesis
from perwiz.whatif.hypotheses.network import Messages, changed_weights

_DEALT = re.compile(r"(block|cyclic)(?::([1-9][0-9]{0,6})x([1-9][0-9]{0,6}))?")
_SWAP = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_RANKFILE = re.compile(r"rank\s+([0-9]{1,9})\s*=\s*(\S+?)(?:\s+slots?\s*=\s*([0-9]{1,9}))?")
_PLAIN = re.compile(r"(\S+)(?:\s+([0-9]{1,9}))?")
_LARGEST_FILE = 1 << 26
_FULL = "full"


@dataclasses.dataclass(frozen=True)
class _Place:
    where: str
    """Line of the file."""
    rank: int
    node: str
    core: str


class Placement(Hypothesis):
    """`block`, `cyclic`, both `block:4x8` on 4 nodes of 8 slots; `swap:3-17,5-9`; or a file with the node of each rank.

    A line of the file is a node, and perhaps a core, for each rank in turn, or of an Open MPI rankfile, `rank 3=node1 slot=2`.
    """

    word, stage, keeps_calls = "placement", PLACES, True

    def change(self, weighted: Weighted) -> Weighted:
        """Return the graph whose messages are between the nodes where the ranks are now."""
        placed = self.placed(weighted.placed)
        if placed is weighted.placed:
            return weighted
        weight = changed_weights(weighted, weighted.network, weighted.size, placed)
        return dataclasses.replace(weighted, weight=weight, places=placed.locations, nodes=placed.nodes)

    def placed(self, trace: Trace) -> Trace:
        """Return the trace with its ranks on other nodes. Raises UsageError."""
        ranks = listed_ranks(trace, "a placement")
        if match := _DEALT.fullmatch(self.argument):
            return _moved(trace, _dealt(self, trace, ranks, match))
        if self.argument.startswith("swap:"):
            return _moved(trace, _swapped(self, trace, ranks))
        return _moved(trace, _given(self, ranks))


def of_ranks(trace: Trace) -> list[str]:
    """Return the node of each rank; of one without any, and of those that are not there, the empty name."""
    node = _recorded(trace)
    return [node.get(rank, "") for rank in range(ranks_of(trace))]


def ranks_of(trace: Trace) -> int:
    """Return one more than the largest rank: a damaged trace may name any, so no list of them is made before that is looked at."""
    return int(trace.locations.process.max(initial=-1)) + 1


def nodes_of(trace: Trace) -> list[str]:
    """Return the nodes of a run, by their first ranks; the empty name where the first one is that is without any, or not there."""
    node = _recorded(trace)
    gap = next((rank for rank in range(len(node)) if rank not in node), None)
    named = sorted((node | ({} if gap is None else {gap: ""})).items())
    return list(dict.fromkeys(name for _, name in named))


def _recorded(trace: Trace) -> dict[int, str]:
    """Return the node of each rank that is there."""
    places = zip(trace.locations.process.tolist(), trace.locations.node.tolist(), strict=True)
    return {process: trace.nodes[node] if node >= 0 else "" for process, node in places}


def _moved(trace: Trace, nodes: Sequence[str]) -> Trace:
    """Return the trace with each rank on a node, by name; a node that is new is in the first metahost. Where all are, it comes back."""
    if list(nodes) == of_ranks(trace):
        return trace
    names = list(dict.fromkeys([*trace.nodes, *nodes]))
    row = {name: number for number, name in enumerate(names)}
    places = trace.locations
    node = np.array([row[name] for name in nodes], "i4")[places.process] if len(places) else places.node
    metahost = np.full(len(names), places.metahost.min(initial=0) if len(places) else 0, "i4")
    known = places.node >= 0
    metahost[places.node[known]] = places.metahost[known]
    return dataclasses.replace(trace, nodes=tuple(names), locations=dataclasses.replace(places, node=node, metahost=metahost[node]))


def _dealt(asked: Placement, trace: Trace, ranks: int, match: re.Match[str]) -> list[str]:
    """Return the node of each rank if they are dealt out to nodes in blocks or one by one."""
    now, names = of_ranks(trace), nodes_of(trace)
    slots = max((now.count(name) for name in names), default=1)
    if match[2]:
        count, slots = int(match[2]), int(match[3])
        if count * slots < ranks:
            holds = f"{words.several(count, 'node')} of {words.several(slots, 'slot')} hold {count * slots} ranks"
            raise UsageError(f"{asked}: {holds}, must hold {ranks}")
        count = min(count, ranks)
        names = list(dict.fromkeys([*names, *(f"node{number}" for number in range(count))]))[:count]
    elif len(names) < 2:
        raise UsageError(f"{asked}: the trace tells of one node, must say on how many nodes of how many slots, such as {match[1]}:4x8")
    if match[1] == "block":
        return [names[rank // slots] for rank in range(ranks)]
    free = dict.fromkeys(names, slots)
    out: list[str] = []
    while len(out) < ranks:
        for name in [name for name in names if free[name]][: ranks - len(out)]:
            free[name] -= 1
            out.append(name)
    return out


def _swapped(asked: Placement, trace: Trace, ranks: int) -> list[str]:
    """Return the node of each rank if pairs of them change places."""
    out, seen = of_ranks(trace), dict[int, str]()
    for part in asked.argument.removeprefix("swap:").split(","):
        match = _SWAP.fullmatch(part.strip())
        if not match:
            raise UsageError(f"{asked}: {words.shown(part.strip(), 40)!r}, must be two ranks such as 3-17")
        pair = int(match[1]), int(match[2])
        for rank in pair:
            if rank >= ranks:
                raise UsageError(f"{asked}: rank {rank} is not there, must be one of 0 to {ranks - 1}")
            if rank in seen:
                raise UsageError(f"{asked}: rank {rank} is in {seen[rank]} and {part.strip()}, must be in one")
            seen[rank] = part.strip()
        out[pair[0]], out[pair[1]] = out[pair[1]], out[pair[0]]
    return out


def _given(asked: Placement, ranks: int) -> list[str]:
    """Return the node of each rank by a file."""
    path = asked.argument
    out: list[str | None] = [None] * ranks
    cores: dict[tuple[str, str], int] = {}
    for place in _places(path):
        where = f"{path}:{place.where}"
        if place.rank >= ranks:
            raise UsageError(f"{where}: rank {place.rank} is not there, must be one of 0 to {ranks - 1}")
        if out[place.rank] is not None:
            raise UsageError(f"{where}: rank {place.rank} has a node already, must have one")
        first = cores.setdefault((place.node, place.core), place.rank) if place.core else place.rank
        if first != place.rank:
            raise UsageError(
                f"{where}: rank {place.rank} is on core {place.core} of {place.node} as rank {first}, must be on one of its own"
            )
        out[place.rank] = place.node
    lacking = [rank for rank, node in enumerate(out) if node is None]
    if lacking:
        some = ", ".join(map(str, lacking[:3])) + (", ..." if len(lacking) > 3 else "")
        raise UsageError(f"{path}: no node for {words.several(len(lacking), 'rank')} ({some}), must have one for each of {ranks}")
    return [node or "" for node in out]


def _places(path: str) -> list[_Place]:
    """Return what the lines of a file say; empty ones and those that begin with # say nothing."""
    out: list[_Place] = []
    try:
        text = content(path, _LARGEST_FILE, "block, cyclic, swap:3-17, or a file with the node of each rank")
    except TraceError as error:
        raise UsageError(str(error)) from None
    for number, raw in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if match := _RANKFILE.fullmatch(line):
            out.append(_Place(str(number), int(match[1]), match[2], match[3] or ""))
        elif match := _PLAIN.fullmatch(line):
            out.append(_Place(str(number), len(out), match[1], match[2] or ""))
        else:
            must = "must be a node, perhaps with a core, or rank R=NODE slot=CORE"
            raise UsageError(f"{path}:{number}: {words.shown(line, 40)!r}, {must}")
    return out


def on_links(machine: Machine, topology: Topology) -> Machine:
    """Return a machine with these links between its nodes."""
    return dataclasses.replace(machine, model=machine.model.on(topology), off=tuple(other.on(topology) for other in machine.off))


def where_recorded(machine: Machine, trace: Trace) -> Machine:
    """Return a machine whose links lead to the nodes of a recorded run as they came there, if nothing else says where these are."""
    topology = machine.model.topology
    return machine if topology is None else on_links(machine, topology.of(nodes_of(trace)))


class Links(Messages):
    """A topology file, or `full`: full bisection, where only the links of nodes are ever overloaded.

    Of a run whose machine has no topology the recorded one has the same with full bisection.
    """

    word, keeps_calls = "links", True

    def starting(self, machine: Machine) -> Machine:
        """Return the machine with full bisection, if nothing is said of its links. Raises UsageError for `full` then."""
        if machine.model.topology is not None:
            return machine
        if self.argument == _FULL:
            raise UsageError(f"{self}: the run has that if nothing else is said, must be asked with --topology")
        return on_links(machine, load(self.argument).without_contention)

    def protocol(self, trace: Trace, network: Model, size: I8) -> tuple[Model, I8]:
        """Return the network with the other links, and the sizes as they are. Raises ModelError for a file that cannot be used."""
        if self.argument != _FULL:
            return network.on(load(self.argument).of(nodes_of(trace))), size
        if network.topology is None:
            raise UsageError(f"{self}: the run has that if nothing else is said, must be asked with --topology")
        return network.on(network.topology.without_contention), size
