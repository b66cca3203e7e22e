"""The communicators of a recorded run. Every process numbers its own; which are the same, their history tells.

All members make a communicator by the same call on the same parent, and calls on one communicator come in one order (MPI 3.1, 6.4): the
parent, the number of communicators made from it before, and the members identify it. Where not all members of the parent take part
(MPI_Comm_create_group, MPI_Intercomm_create), its members, the tag and the number of such calls before do.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from perwiz.formats.recorded.files import Process, Rows
from perwiz.kernels.recorded import COMMUNICATOR
from perwiz.trace.arrays import I4
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators, Topology

_NOT_BY_PARENT = ("Comm_create_group", "Intercomm_create", "found")


def ranks_of(runs: list[int]) -> I4:
    """Return the ranks that runs (first, step, count, first, step, count ...) stand for."""
    parts = [first + step * np.arange(count) for first, step, count in zip(runs[::3], runs[1::3], runs[2::3], strict=True)]
    return np.concatenate([np.empty(0, "i8"), *parts]).astype("i4")


class Comms:
    """Gives every communicator a row; row 0 is the world."""

    def __init__(self, size: int) -> None:
        self._row: dict[Any, int] = {"world": 0}
        self._members: list[I4] = [np.arange(size, dtype="i4")]
        self._names = ["MPI_COMM_WORLD"]
        self._shape: dict[int, tuple[list[int], list[int]]] = {}
        self._places: dict[int, dict[int, list[int]]] = {}

    def add(self, process: Process) -> tuple[Rows, I4]:
        """Add those of one process; return a COMMUNICATOR per number it uses, and the members that its peers mean."""
        definitions = process.of("how")
        table = np.recarray(len(definitions), COMMUNICATOR)
        peers: list[I4] = [np.empty(0, "i4")]
        keys: list[Any] = []
        times: Counter[Any] = Counter()
        for number, definition in enumerate(definitions):
            keys.append(self._key(definition, keys, times, process.rank))
            row = self._row_of(keys[-1], definition)
            peers.append(ranks_of(definition.get("remote", definition["ranks"])))
            table[number] = row, sum(map(len, peers[:-1])), len(peers[-1])
            if "place" in definition:
                self._shape[row] = definition["sizes"], definition["periodic"]
                self._places.setdefault(row, {})[process.rank] = definition["place"]
        for definition in process.of("named"):
            if definition["named"] < len(keys):
                self._names[self._row[keys[definition["named"]]]] = definition["name"]
        return table, np.concatenate(peers)

    def _key(self, definition: dict[str, Any], keys: list[Any], times: Counter[Any], rank: int) -> Any:
        if definition["how"] == "world":
            return "world"
        if definition["how"] == "self":
            return "self", rank
        groups = tuple(sorted([tuple(definition["ranks"]), tuple(definition.get("remote", ()))]))
        if definition["how"] in _NOT_BY_PARENT:
            key = definition["how"], definition["nth"], groups
            times[key] += 1
            return *key, times[key]
        return definition["how"], self._row[keys[definition["parent"]]], definition["nth"], groups

    def _row_of(self, key: Any, definition: dict[str, Any]) -> int:
        row = self._row.get(key)
        if row is None:
            row = self._row[key] = len(self._names)
            both = sorted([definition["ranks"], *([definition["remote"]] if "remote" in definition else [])])
            members = np.concatenate([ranks_of(runs) for runs in both])
            self._members.append(members[members >= 0])
            self._names.append("MPI_COMM_SELF" if definition["how"] == "self" else f"communicator {row}")
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
