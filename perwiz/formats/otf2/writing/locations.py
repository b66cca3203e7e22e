"""The locations of an OTF2 archive that is written: machines, nodes, processes and threads, and what they do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from perwiz.formats.otf2.definitions import Texts
from perwiz.formats.otf2.library.codes import ACCELERATOR_STREAM, COMM_GROUP, COMM_LOCATIONS, CPU_THREAD, MPI, PROCESS, UNKNOWN
from perwiz.formats.otf2.writing.archive import UNDEFINED, numbers
from perwiz.trace import tables
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace, listed_ranks

_MACHINE = "machine"


class WrittenLocations:
    """The tree of machines, the location groups, and a location for each process, also for those that recorded nothing.

    Raises UsageError for a rank that is large for the number of processes.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        table, comms = trace.locations, trace.communicators
        process = table.process
        self.world = np.full(listed_ranks(trace, "OTF2", int(comms.ranks.max(initial=NONE))), NONE)
        """Location of each process."""
        self.world[process[::-1]] = np.arange(len(table))[::-1]
        silent = np.flatnonzero(self.world < 0)
        self.world[silent] = len(table) + np.arange(len(silent))
        self.silent = silent.tolist() or ([] if len(table) else [0])
        """Processes without location; an archive has one at least."""
        pairs = list(zip(table.metahost.tolist(), table.node.tolist(), strict=True))
        masters = {int(rank): pairs[place] for rank, place in enumerate(self.world) if place < len(table)}
        self._place = [masters[rank] for rank in process.tolist()]
        self._machines = {host: number for number, host in enumerate(dict.fromkeys([host for host, _ in self._place] or [0]))}
        self._nodes = {pair: number for number, pair in enumerate(dict.fromkeys(pair for pair in self._place if pair[1] >= 0))}
        self._masters = masters

    def _machine(self, host: int) -> str:
        names = self._trace.metahosts
        return names[host] if 0 <= host < len(names) else _MACHINE

    def tree(self, strings: Texts) -> Iterator[tuple[Any, ...]]:
        """Yield the definitions of machines, nodes and location groups."""
        for host, number in self._machines.items():
            yield "SystemTreeNode", number, strings.of(self._machine(host)), strings.of(_MACHINE), UNDEFINED
        for (host, node), number in self._nodes.items():
            name = strings.of(self._trace.nodes[node])
            yield "SystemTreeNode", len(self._machines) + number, name, strings.of("node"), self._machines[host]
        for rank in range(max(len(self.world), 1)):
            host, node = self._masters.get(rank, (next(iter(self._machines)), NONE))
            place = len(self._machines) + self._nodes[host, node] if node >= 0 else self._machines[host]
            yield "LocationGroup", rank, strings.of(f"MPI Rank {rank}"), PROCESS, place, UNDEFINED

    def locations(self, strings: Texts, events: list[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the definitions of locations; `events` are their numbers of events. Silent processes are of no known type."""
        table = self._trace.locations
        for ref, (rank, thread) in enumerate(zip(table.process.tolist(), table.thread.tolist(), strict=True)):
            noun, kind = ("Stream", ACCELERATOR_STREAM) if table.kind[ref] == tables.STREAM else ("Thread", CPU_THREAD)
            name = "Master thread" if self.world[rank] == ref else f"{noun} {thread}"
            yield "Location", ref, strings.of(name), kind, events[ref], rank
        for ref, rank in enumerate(self.silent, len(table)):
            yield "Location", ref, strings.of("Master thread"), UNKNOWN, 0, rank

    def comms(self, strings: Texts) -> Iterator[tuple[Any, ...]]:
        """Yield the definitions of the world and of the communicators; communicator c has group c + 1."""
        yield "Group", 0, strings.of("MPI"), COMM_LOCATIONS, MPI, 0, *numbers(self.world.tolist(), wide=True)
        comms = self._trace.communicators
        for comm in range(len(comms)):
            yield "Group", comm + 1, strings.of(""), COMM_GROUP, MPI, 0, *numbers(comms.members(comm).tolist(), wide=True)
        for comm, name in enumerate(comms.names):
            yield "Comm", comm, strings.of(name), comm + 1, 0 if comm else UNDEFINED, 0


def ordered_otherwise(trace: Trace) -> int:
    """Return how many locations have another number or kind than their place among those of their process gives."""
    table = trace.locations
    first = np.searchsorted(table.process, table.process)
    place = np.arange(len(table)) - first
    kind = np.where(place == 0, tables.PROCESS, np.maximum(table.kind, tables.THREAD))
    return int(np.count_nonzero((table.thread != place) | (table.kind != kind)))
