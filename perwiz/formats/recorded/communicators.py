"""The communicators of a recorded run. Every process numbers its own; which are the same, their history tells.

All members make a communicator by the same call on the same parent, and calls on one communicator come in one order (MPI 3.1, 6.4): the
parent, the number of communicators made from it before, and the members identify it. Where not all members of the parent take part
(MPI_Comm_create_group, MPI_Intercomm_create), its members, the tag and the number of such calls before do.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.recorded.definitions import Communicator, Named
from perwiz.formats.recorded.files import Process, Rows
from perwiz.kernels.recorded import COMMUNICATOR
from perwiz.trace.arrays import I4
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators, Topology

_NOT_BY_PARENT = (
    *("Comm_create_group", "Intercomm_create", "Comm_create_from_group", "Intercomm_create_from_groups"),
    *("Comm_accept", "Comm_join", "parent", "found"),
)
_NAMES = {"world": "MPI_COMM_WORLD", "self": "MPI_COMM_SELF"}


@functools.lru_cache(16)
def ranks_of(runs: tuple[int, ...]) -> I4:
    """Return the ranks that runs (first, step, count, first, step, count ...) stand for; nobody may write to them."""
    parts = [first + step * np.arange(count) for first, step, count in zip(runs[::3], runs[1::3], runs[2::3], strict=True)]
    return np.concatenate([np.empty(0, "i8"), *parts]).astype("i4")


def _groups(definition: Communicator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the runs of both groups, that of no ranks first, in an order that all members have."""
    ranks, remote = definition.ranks, definition.remote
    return (remote, ranks) if remote <= ranks else (ranks, remote)


@functools.lru_cache(16)
def _known(one: tuple[int, ...], other: tuple[int, ...]) -> I4:
    """Return the ranks of two groups that are of this world."""
    members = np.concatenate([ranks_of(one), ranks_of(other)])
    return members[members >= 0]


class Comms:
    """Gives every communicator a row; row 0 is the world, or the processes that only have sessions in it."""

    def __init__(self, size: int) -> None:
        self._row: dict[Any, int] = {("world", 0): 0}
        self._members: list[I4] = [np.arange(size, dtype="i4")]
        self._names = ["MPI_COMM_WORLD"]
        self._shape: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._places: dict[int, dict[int, tuple[int, ...]]] = {}

    def add(self, process: Process) -> tuple[Rows, I4]:
        """Add those of one process; return a COMMUNICATOR per number it uses, and the members that its peers mean."""
        definitions = process.of(Communicator)
        peers: list[I4] = [np.empty(0, "i4")]
        rows: list[int] = []
        keys: list[Any] = []
        times: Counter[Any] = Counter()
        for number, definition in enumerate(definitions):
            keys.append(self._key(definition, keys, times, process.rank))
            row = self._row_of(keys[-1], definition)
            rows.append(row)
            peers.append(ranks_of(definition.remote or definition.ranks))
            if definition.sizes:
                shape = definition.sizes, definition.periodic
                if self._shape.setdefault(row, shape) != shape:
                    raise TraceError(f"{process.path}: communicator {number} is not arranged as other processes say, must be")
                self._places.setdefault(row, {})[process.rank] = definition.place
        for line in process.of(Named):
            if line.named < len(keys):
                self._names[self._row[keys[line.named]]] = line.name
        table = np.recarray(len(definitions), COMMUNICATOR)
        count = np.array([len(members) for members in peers[1:]], "i8")
        table["row"], table["first"], table["ranks"] = rows, np.cumsum(count) - count, count
        return table, np.concatenate(peers)

    def _key(self, definition: Communicator, keys: list[Any], times: Counter[Any], rank: int) -> Any:
        if definition.how == "world":
            return "world", definition.ranks[0]
        if definition.how == "self":
            return "self", rank
        groups = _groups(definition)
        if definition.how in _NOT_BY_PARENT:
            key = definition.how, definition.nth, groups
            times[key] += 1
            return *key, times[key]
        parent = self._row[keys[definition.parent]] if definition.parent >= 0 else NONE
        return definition.how, parent, definition.nth, groups

    def _row_of(self, key: Any, definition: Communicator) -> int:
        row = self._row.get(key)
        if row is None:
            row = self._row[key] = len(self._names)
            self._members.append(_known(*_groups(definition)))
            self._names.append(_NAMES.get(definition.how, f"communicator {row}"))
        return row

    def table(self) -> Communicators:
        """Return all communicators."""
        first = np.concatenate([[0], np.cumsum([len(members) for members in self._members])])
        return Communicators(tuple(self._names), first, np.concatenate(self._members))

    def topologies(self) -> tuple[Topology, ...]:
        """Return the Cartesian arrangements."""
        return tuple(self._topology(row) for row in sorted(self._shape))

    def _topology(self, row: int) -> Topology:
        sizes, periodic = self._shape[row]
        members = self._members[row].tolist()
        unknown = [NONE] * len(sizes)
        places = np.array([self._places[row].get(rank, unknown) for rank in members], "i4").reshape(len(members), len(sizes))
        names = tuple(f"dimension {k}" for k in range(len(sizes)))
        return Topology(self._names[row], row, tuple(sizes), tuple(bool(flag) for flag in periodic), names, places)
