"""Other links between nodes."""

from __future__ import annotations

import dataclasses

from perwiz.errors import UsageError
from perwiz.loggps.links.topology import Topology, load
from perwiz.loggps.machine import Machine
from perwiz.loggps.model import Model
from perwiz.trace.arrays import I8
from perwiz.trace.trace import Trace
from perwiz.whatif.hypotheses.network import Messages
from perwiz.whatif.hypotheses.placement import nodes_of

_FULL = "full"


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
