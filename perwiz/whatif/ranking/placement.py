"""Ranks on other nodes: what exchanges bytes and messages most should be on one node.

Candidates are ranks dealt out in blocks and one by one, and exchanges of pairs (Kernighan and Lin, Bell System Technical Journal 49, 1970):
again and again the pair of ranks on two nodes changes places that takes most off the time that messages spend between nodes, no rank
twice, as long as that falls. Where nodes have links, that time counts more the more of them, and the narrower, are between two nodes, and
all ranks of two nodes change places, too. It leaves out who waits for whom, so the best candidates are predicted.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels.names import METAHOST, NODE
from perwiz.loggps.links.topology import Topology
from perwiz.loggps.model import Sent
from perwiz.trace.arrays import F8, I8
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.placement import nodes_of, of_ranks, ranks_of
from perwiz.whatif.ranking.change import Asker, Change, NoneThereError, NotTriedError
from perwiz.whatif.sharing import told_apart

_RANKS, _EDGES = 1024, 20_000_000
"""Ranks of the largest matrix; edges of the largest graph that is tried."""
_SWAPS = (1, 4, 16, 64, 512)
"""So many exchanges are predicted, of as many as there are."""
_LEAST = 0.001
"""Part of the makespan that is worth naming."""
_ALIKE = (
    "messages cost the same within a node and between nodes by this model, so no placement can gain: perwiz calibrate measures both, or"
    " give a model that has both (--model)"
)


def changes(asker: Asker) -> list[Change]:
    """Return what gains if ranks were on other nodes. Raises NoneThereError if the trace tells of one, NotTriedError for many, and if the
    model has the same costs within and between them.
    """
    run, trace = asker.run, asker.run.trace
    if len(nodes_of(trace)) < 2:
        raise NoneThereError("all ranks are on one node; perwiz predict --placement cyclic:4x8 puts them on others")
    if ranks_of(trace) > _RANKS or run.graph.edges > _EDGES:
        raise NotTriedError(f"more than {_RANKS} ranks or {_EDGES} edges; see perwiz predict --placement")
    if not told_apart(run.weighted.network):
        raise NotTriedError(_ALIKE)
    home = of_ranks(trace)
    asked = {"block": "ranks in blocks on the nodes", "cyclic": "ranks one by one on the nodes", **_swaps(asker, home)}
    out = []
    for argument, what in asked.items():
        question = f"placement {argument}"
        try:
            makespan = asker.makespan(parse(question))
        except UsageError:
            continue  # as many slots as that needs there are not
        if run.makespan - makespan >= _LEAST * run.makespan:
            out.append(Change("placement", "node", question, what, makespan))
    return sorted(out, key=lambda change: change.makespan)[:2]


def _swaps(asker: Asker, home: list[str]) -> dict[str, str]:
    """Return what `placement` takes for pairs of ranks, and of nodes with all their ranks, that change places, and a line for each."""
    names, cost = nodes_of(asker.run.trace), _cost(asker, len(home))
    node = np.array([names.index(name) for name in home])
    apart, on = _apart(asker.run.weighted.network.topology, names), np.eye(len(names))[node]
    ranks = [np.flatnonzero(column).tolist() for column in on.T]
    swaps = exchanges(cost, node, apart)
    out = _told([[swap] for swap in swaps], "ranks", [str(rank) for rank in swaps[0]] if swaps else [])
    swaps = exchanges(on.T @ cost @ on, np.arange(len(names)), apart) if len(home) > len(names) else []
    of_nodes = [[*zip(ranks[one], ranks[other], strict=False)] for one, other in swaps]
    return out | _told(of_nodes, "nodes", [names[node] for node in swaps[0]] if swaps else [])


def _told(swaps: list[list[tuple[int, int]]], what: str, first: list[str]) -> dict[str, str]:
    """Return what `placement` takes for so many first swaps as are predicted, each of some pairs of ranks, and a line for each."""
    out = {}
    for count in sorted({min(count, len(swaps)) for count in _SWAPS} - {0}):
        text = ",".join(f"{one}-{other}" for swap in swaps[:count] for one, other in swap)
        which = f"{what} {' and '.join(first)}" if count == 1 else f"{count} pairs of {what}"
        out[f"swap:{text}"] = f"{which} change places"
    return out


def _cost(asker: Asker, ranks: int) -> F8:
    """Return by how much longer the messages between two ranks take between nodes than within one, all together, ns, both directions."""
    trace, network = asker.run.trace, asker.run.weighted.network
    table = trace.messages
    process = trace.processes_of_calls
    ends = process[table.send], process[table.receive_done]
    cost = [network.ready(Sent(table.bytes, pairs=np.full(len(table), pair, "u1"))) for pair in (METAHOST, NODE)]
    more = np.maximum(cost[0] - cost[1], 0) + (network.occupancy(Sent(table.bytes, pairs=np.full(len(table), METAHOST, "u1"))))
    out = np.zeros((ranks, ranks))
    np.add.at(out, ends, more)
    return out + out.T


def _apart(topology: Topology | None, names: list[str]) -> F8:
    """Return what a byte takes of the links between two nodes, in parts of what it takes of their own, by rows of these."""
    out = 1 - np.eye(len(names))
    if topology is not None:
        place, busy = topology.places(names), 1 / np.array(topology.capacities())
        for one, other in zip(*np.triu_indices(len(names), 1), strict=True):
            way = busy[topology.route(place[one], place[other])]
            out[one, other] = out[other, one] = way.sum() / (way[0] + way[-1])
    return out


def exchanges(cost: F8, node: I8, apart: F8) -> list[tuple[int, int]]:
    """Return the pairs of ranks that change places, in order, no rank twice, as long as the cost between nodes falls.

    `apart` is by how much more it counts between two nodes. Of ranks 0 1 on one node and 2 3 on another, of which 0 and 2, and 1 and 3,
    exchange most: [(0, 3)].
    """
    node, cost = node.copy(), cost.copy()
    np.fill_diagonal(cost, 0)
    free, out = np.ones(len(node), bool), list[tuple[int, int]]()
    rows, least = np.arange(len(node)), 1e-9 * cost.sum()
    while True:
        to_node = np.stack([cost[:, node == number].sum(1) for number in range(len(apart))], 1)
        there = (to_node @ apart)[:, node]
        here = there[rows, rows]
        gain = here[:, None] + here - there - there.T - 2 * cost * apart[node][:, node]
        gain[(node[:, None] == node) | ~free[:, None] | ~free] = 0
        one, other = divmod(int(np.argmax(gain)), len(node))
        if gain[one, other] <= least:
            return out
        out.append((one, other))
        free[[one, other]] = False
        node[[one, other]] = node[[other, one]]
