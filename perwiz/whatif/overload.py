"""What becomes of messages on links: which of these are overloaded, and what shares none."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.loggps import interfaces
from perwiz.loggps.algorithms.play import Instances
from perwiz.loggps.links import flows
from perwiz.loggps.links.load import Overloaded, overloaded
from perwiz.loggps.model import Model
from perwiz.loggps.weigh import Passes, Weighted
from perwiz.trace import operations
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif.rounds import matter, share, shared, unchanged


@dataclasses.dataclass(frozen=True)
class OnLinks:
    """What becomes of messages on links."""

    overloaded: list[Overloaded]
    """The longest first."""
    passes: Passes | None
    """In which their delays were found; None: they are those of the recorded times."""
    nodes: int = 0
    """On which there are ranks; 0 where no links are said."""
    left_alone: bool = False
    """Whether nothing is slowed down there: other messages than the recorded ones are sent."""
    collectives: int = 0
    """Of several nodes, and of bytes enough, whose messages share no links or interfaces: not blocking, or who takes part is not known."""
    beyond: int = 0
    """That are left out as there are too many messages inside of them."""
    shared: int = 0
    """Whose messages share links or interfaces."""
    guessed: tuple[str, ...] = ()
    """Routines of these of which nothing tells how they were made."""


def on_links(weighted: Weighted, time: I8, recorded: Trace | None = None) -> OnLinks:
    """Return which links are overloaded in the run whose vertices have these times, how their delays were found, and what shares none.

    `recorded` is the trace in the order of the recorded run, if that is another one.
    """
    topology = weighted.network.topology
    if topology is None and not interfaces.shared(weighted.network):
        return OnLinks([], None)
    apart = matter(Instances(weighted.placed), weighted.network)
    nodes = 0 if topology is None else len(np.unique(weighted.places.node))
    if not share(weighted):
        return OnLinks([], None, nodes, topology is not None, int(apart.sum()))
    if weighted.rounds is None:  # the recorded run
        weighted = unchanged(weighted)
        time = time if weighted.rounds is None else sweep(weighted.graph, weighted.weight)
    instances, there = Instances(weighted.placed), np.zeros(len(apart), bool)
    if weighted.rounds is not None:
        there[weighted.rounds.collective] = True
    apart &= ~there
    beyond, longest = apart & instances.playable, list[Overloaded]()
    if topology is not None:
        longest = overloaded(topology, flows.flows(weighted.placed, weighted.graph, weighted.network, weighted.size, weighted.rounds), time)
    return OnLinks(
        longest,
        weighted.passes,
        nodes,
        False,
        int(np.sum(apart & ~beyond)),
        int(beyond.sum()),
        int(there.sum()),
        _guessed(recorded or weighted.trace, weighted.model, weighted.places is not weighted.trace.locations) if there.any() else (),
    )


def _guessed(trace: Trace, model: Model, anywhere: bool) -> tuple[str, ...]:
    """Return the routines of collectives whose messages share links or interfaces of which nothing tells how they were made."""
    found, ops = shared(trace, model, anywhere), Instances(trace).kinds.op
    return tuple(dict.fromkeys(operations.OPS[int(ops[kind])] for kind, one in found.ways.items() if not one.told))
