"""What collectives of NCCL take: its tuning table, and the bandwidth at which that gives back the recorded times.

NCCL adds a latency and the bytes over a bandwidth for each algorithm and protocol, and takes the way that is soonest (ncclTopoTuneModel
and ncclTopoGetAlgoTime in src/graph/tuning.cc and enqueue.cc of NCCL 2.19 to 2.28). The figures are those published there, of Ampere
where they differ by device; limits per channel are left out, as no trace has the channels. What links give is found in the trace.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from perwiz.loggps import instances
from perwiz.trace import operations
from perwiz.trace.arrays import F8, I8
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace

ALGORITHMS, PROTOCOLS = ("tree", "ring"), ("LL", "LL128", "Simple")
ROUTINES = {
    "allreduce": "dist_all_reduce",
    "allgather": "dist_all_gather",
    "reducescatter": "dist_reduce_scatter",
    "broadcast": "dist_broadcast",
    "reduce": "dist_reduce",
}
"""Those that the table has."""
_BEGIN = np.array([[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]])
"""us, by algorithm and protocol."""
_HOP = {
    "NVLink": np.array([[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]]),
    "PCI": np.array([[1.0, 1.9, 4.0], [1.0, 2.5, 5.7]]),
    "network": np.array([[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]]),
}
"""us of one step from device to device, likewise."""
_MOST_LL = (87.7, 22.5, 19.0)
"""GB/s of the protocol LL at most: on one node, two, more."""
_PLATEAU = 1.4
"""So many times as long begin long sums over several nodes by rings of the protocol Simple."""
_NVLINK = 32.0
"""GB/s from which on links inside of a node are NVLink: 16 lanes of PCI of the fourth generation have as much."""
_TREE = np.array(
    [
        [1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0],
        [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9],
    ]
)
"""Part of the bandwidth that trees reach, by protocol and powers of two of the bytes, from 64 on."""
_TELLING = 1 << 20
"""Bytes from which on a collective tells the bandwidth."""
ASSUMED = {False: 100.0, True: 20.0}
"""GB/s inside of a node, and between nodes, where no collective is as long."""
_TRIED = np.geomspace(0.5, 2000.0, 400)
"""Bandwidths, GB/s."""


class Way(NamedTuple):
    """Rows of ALGORITHMS and PROTOCOLS."""

    algorithm: int
    protocol: int

    def __str__(self) -> str:
        return f"{ALGORITHMS[self.algorithm]}:{PROTOCOLS[self.protocol]}"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A collective as the table looks at it."""

    routine: str
    ranks: int
    nodes: int
    bytes: int


def ways(kind: Kind) -> list[Way]:
    """Return the ways by which one can be made: trees make sums of all alone."""
    algorithms = range(2) if kind.routine == "allreduce" else (1,)
    return [Way(*one) for one in itertools.product(algorithms, range(len(PROTOCOLS)))]


def time_ns(kind: Kind, way: Way, bandwidth: float, latency: float = 1.0) -> float:
    """Return how long a collective takes, ns, over links of a bandwidth (GB/s of a ring), with latencies so many times as in the table."""
    return 1000 * (latency * _latency(kind, way, bandwidth) + kind.bytes / (1000 * _bandwidth(kind, way, bandwidth)))


def _steps(kind: Kind) -> int:
    once = kind.ranks - 1
    return {"allreduce": 2 * once, "allgather": once, "reducescatter": once}.get(kind.routine, kind.ranks)


def _latency(kind: Kind, way: Way, bandwidth: float) -> float:
    """Return the us before the first byte, all steps together."""
    inside, between = (float(_HOP[link][way]) for link in ("NVLink" if bandwidth >= _NVLINK else "PCI", "network"))
    begin, nodes = float(_BEGIN[way]), kind.nodes
    if ALGORITHMS[way.algorithm] == "tree":
        return begin + 2 * ((kind.ranks // nodes - 1) * inside + (nodes.bit_length() - 1) * between)
    if kind.routine in ("broadcast", "reduce"):
        return begin + (inside if nodes == 1 else between)
    crossing = 0 if nodes == 1 else (2 if kind.routine == "allreduce" else 1) * (nodes - 1)
    if nodes == kind.ranks:
        between = float(_HOP["network"][0, way.protocol])
    if nodes > 1:
        inside = max(inside, 3.0 if PROTOCOLS[way.protocol] == "Simple" else 1.0)
    taken = begin + (_steps(kind) - crossing) * inside + crossing * between
    flat = nodes > 1 and kind.routine == "allreduce" and PROTOCOLS[way.protocol] == "Simple" and kind.bytes >= 64 * kind.ranks
    return taken * (_PLATEAU if flat else 1)


def _bandwidth(kind: Kind, way: Way, bandwidth: float) -> float:
    """Return the GB/s at which its bytes go."""
    most, protocol, alone = _MOST_LL[min(kind.nodes, 3) - 1], PROTOCOLS[way.protocol], kind.nodes == 1
    if ALGORITHMS[way.algorithm] == "tree":
        reached = bandwidth * 0.92
        part = {"LL": min(reached / 3.8, most), "LL128": reached * (7 / 9 if alone else 120 / 128), "Simple": reached}[protocol]
        power = max(kind.bytes >> 6, 1).bit_length() - 1
        return part * 0.5 * (float(_TREE[way.protocol, power]) if power < _TREE.shape[1] else 1.0)
    part = {"LL": min(bandwidth * 0.5, most), "LL128": bandwidth * 0.92, "Simple": bandwidth}[protocol]
    return part * kind.ranks / _steps(kind)


def soonest(kind: Kind, bandwidth: float, latency: float = 1.0) -> Way:
    """Return the way that NCCL takes: the soonest."""
    return min(ways(kind), key=lambda way: time_ns(kind, way, bandwidth, latency))


@dataclasses.dataclass(frozen=True, eq=False)
class Collectives:
    """The collectives of a trace that the table has: of streams, whole, of two ranks or more, whose bytes are known."""

    row: I8
    """Of the collectives of the trace."""
    kind: I8
    """Row of `kinds`."""
    kinds: list[Kind]
    took: I8
    """ns from the last member that begins to the last that ends."""


def collectives(trace: Trace) -> Collectives:
    """Return the collectives of a trace."""
    table, members, times = trace.collectives, trace.members, trace.timeline.calls
    routine = {operations.OP[op]: name for name, op in ROUTINES.items()}
    first = table.first_member.astype("i8")
    count = np.diff(np.append(first, len(members)))
    ranks, size = instances.processes(trace), instances.sizes(trace)
    on_stream = trace.locations.kind[trace.calls.location[members.call]] == STREAM
    whole = np.isin(table.op, list(routine)) & (count == ranks) & (count > 1) & (size > 0)
    if len(first):
        whole &= np.logical_and.reduceat(on_stream, first)
    row = np.flatnonzero(whole)
    place = trace.locations.node[trace.calls.location[members.call]]
    nodes = [len(np.unique(place[first[one] : first[one] + count[one]])) for one in row.tolist()]
    known, kinds = dict[Kind, int](), []
    for one, many in zip(row.tolist(), nodes, strict=True):
        kind = Kind(routine[int(table.op[one])], int(ranks[one]), many, int(size[one]))
        kinds.append(known.setdefault(kind, len(known)))
    began, ended = times.enter[members.call], times.leave[members.call]
    took = np.zeros(len(table), "i8")
    if len(first):
        took = np.maximum.reduceat(ended, first) - np.maximum.reduceat(began, first)
    return Collectives(row, np.array(kinds, "i8"), list(known), took[row])


class Links(NamedTuple):
    """What links give."""

    bandwidth: float
    """GB/s of a ring."""
    told: bool
    """Whether the trace tells it."""


def links(found: Collectives, was: dict[int, Way]) -> dict[bool, Links]:
    """Return what links give, per whether collectives cross nodes: where the table is nearest to what was recorded.

    Collectives of a MiB or more tell it: of shorter ones what begins them is most. Kinds that are said to have been made some way (`was`,
    by row of kinds) are, others the soonest; near is the mean of the logarithms' distances, each kind by its median time and by how much
    time its collectives take. What nothing tells is ASSUMED.
    """
    out = {}
    for crossing in {kind.nodes > 1 for kind in found.kinds}:
        rows = [k for k, kind in enumerate(found.kinds) if (kind.nodes > 1) == crossing and kind.bytes >= _TELLING]
        if not rows:
            out[crossing] = Links(ASSUMED[crossing], told=False)
            continue
        took = [found.took[found.kind == k] for k in rows]
        told: F8 = np.array([max(float(np.median(one)), 1.0) for one in took])
        weight = np.array([max(float(one.sum()), 1.0) for one in took])
        off = []
        for bandwidth in _TRIED.tolist():
            made = [was.get(k) or soonest(found.kinds[k], bandwidth) for k in rows]
            said = np.array([time_ns(found.kinds[k], way, bandwidth) for k, way in zip(rows, made, strict=True)])
            off.append(float(weight @ np.abs(np.log(said / told))))
        out[crossing] = Links(float(_TRIED[int(np.argmin(off))]), told=True)
    return out
