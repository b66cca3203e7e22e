"""Ranks on other nodes: what exchanges bytes and messages most should be on one node.

Candidates are ranks dealt out in blocks and one by one, and exchanges of pairs (Kernighan and Lin, Bell System Technical Journal 49, 1970):
again and again the pair of ranks on two nodes changes places that takes most off the time that messages spend between nodes, no rank
twice, as long as that falls. That time leaves out who waits for whom, so the best candidates are predicted.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels.names import METAHOST, NODE
from perwiz.loggps.model import Sent
from perwiz.trace.arrays import F8, I8
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.hypotheses.placement import of_ranks
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
    home = of_ranks(trace)
    if len(set(home)) < 2:
        raise NoneThereError("all ranks are on one node; perwiz predict --placement cyclic:4x8 puts them on others")
    if len(home) > _RANKS or run.graph.edges > _EDGES:
        raise NotTriedError(f"more than {_RANKS} ranks or {_EDGES} edges; see perwiz predict --placement")
    node = np.unique(home, return_inverse=True)[1]
    if not told_apart(run.weighted.network):
        raise NotTriedError(_ALIKE)
    pairs = exchanges(_cost(asker, len(home)), node)
    asked = {"block": "ranks in blocks on the nodes", "cyclic": "ranks one by one on the nodes"}
    for count in sorted({min(count, len(pairs)) for count in _SWAPS} - {0}):
        text = ",".join(f"{one}-{other}" for one, other in pairs[:count])
        which = f"ranks {pairs[0][0]} and {pairs[0][1]}" if count == 1 else f"{count} pairs of ranks"
        asked[f"swap:{text}"] = f"{which} change places"
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


def exchanges(cost: F8, node: I8) -> list[tuple[int, int]]:
    """Return the pairs of ranks that change places, in order, no rank twice, as long as less is between nodes.

    Of ranks 0 1 on one node and 2 3 on another, of which 0 and 2, and 1 and 3, exchange most: [(0, 3)].
    """
    node = node.copy()
    cost = cost.copy()
    np.fill_diagonal(cost, 0)
    free, out = np.ones(len(node), bool), list[tuple[int, int]]()
    rows = np.arange(len(node))
    while True:
        to_node = np.stack([cost[:, node == number].sum(1) for number in range(int(node.max()) + 1)], 1)
        toward = to_node[:, node] - to_node[rows, node][:, None]
        gain = toward + toward.T - 2 * cost
        gain[(node[:, None] == node) | ~free[:, None] | ~free] = 0
        one, other = divmod(int(np.argmax(gain)), len(node))
        if gain[one, other] <= 0:
            return out
        out.append((one, other))
        free[[one, other]] = False
        node[[one, other]] = node[[other, one]]
