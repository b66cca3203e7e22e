"""Communicators of an OTF2 archive: who belongs to them, and which process a rank in one is."""

from __future__ import annotations

import numpy as np

from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.library.codes import ACCELERATOR, COMM_GROUP, COMM_LOCATIONS, COMM_SELF, MPI
from perwiz.trace.arrays import I4, Ints, chunks
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators

ROOT_SELF = -2
"""Root in inter-communicators: the caller."""


def world(definitions: Definitions) -> list[int]:
    """Return the location of each process in MPI_COMM_WORLD order; without such a definition, the first of each process.

    Accelerators are no processes, unless there is nothing else.
    """
    for group in definitions.groups:
        if group.type == COMM_LOCATIONS and group.paradigm == MPI and group.members:
            return list(group.members)
    groups, first = definitions.location_groups, dict[int, int]()
    for location in definitions.locations:
        first.setdefault(location.group, location.ref)
    processes = [ref for group, ref in first.items() if group not in groups or groups[group].type != ACCELERATOR]
    return processes or list(first.values())


class Comms:
    """Gives every communicator that occurs a row; row 0 is the world. `processes` is the number of ranks in it."""

    def __init__(self, definitions: Definitions, locations: list[int]) -> None:
        """`locations` as `world` returns them."""
        self.processes = len(locations)
        self._members: list[list[int]] = [list(range(self.processes))]
        self._names = ["MPI_COMM_WORLD"]
        self._split: dict[int, int] = {}
        self._row_of: dict[int, int] = {}
        self._self: dict[int, str] = {}
        groups = self._groups(definitions, locations)
        self.groups = {ref: members or [] for ref, members in groups.items()}
        """World ranks of the groups of MPI, -1 for locations outside the world."""
        for ref, comm in definitions.comms.items():
            members = groups.get(comm.group, [])
            if members is None:
                self._self[narrow(ref)] = definitions.string(comm.name)
            elif comm.group in groups:
                self._add(narrow(ref), definitions.string(comm.name), members)
        for ref, inter in definitions.inter_comms.items():
            near, remote = (groups.get(group) or [] for group in (inter.group_a, inter.group_b))
            self._add(narrow(ref), definitions.string(inter.name), near + remote)
            self._split[self._row_of[narrow(ref)]] = len(near)
        self._refs = np.array(sorted(self._row_of), "i4")
        self._rows = np.array([self._row_of[ref] for ref in self._refs.tolist()], "i4")

    def _groups(self, definitions: Definitions, locations: list[int]) -> dict[int, list[int] | None]:
        """Return the world ranks per group of MPI (-1 for locations outside the world), None for a group of oneself."""
        rank = {ref: number for number, ref in enumerate(locations)}
        out: dict[int, list[int] | None] = {}
        for group in definitions.groups:
            if group.paradigm != MPI:
                continue
            if group.type == COMM_SELF:
                out[group.ref] = None
            elif group.type == COMM_LOCATIONS and group.ref not in out:
                out[group.ref] = [rank.get(member, NONE) for member in group.members]
            elif group.type == COMM_GROUP:
                out[group.ref] = [int(member) if member < self.processes else NONE for member in group.members]
        return out

    def _add(self, ref: int, name: str, members: list[int]) -> None:
        if ref in self._row_of:
            return
        if members == self._members[0] and 0 not in self._row_of.values():
            self._row_of[ref], self._names[0] = 0, name
            return
        self._row_of[ref] = len(self._names)
        self._names.append(name)
        self._members.append(members)

    def rows(self, ref: Ints, rank: Ints) -> I4:
        """Return the row of each communicator as the process `rank` sees it, -1 for one that is not defined, int32."""
        out = np.full(len(ref), NONE, "i4")
        for piece in chunks(len(ref) if len(self._refs) else 0):
            nearest = np.minimum(np.searchsorted(self._refs, ref[piece]), len(self._refs) - 1)
            out[piece] = np.where(self._refs[nearest] == ref[piece], self._rows[nearest], NONE)
        for self_ref, name in self._self.items():
            own = np.flatnonzero(ref == self_ref)
            if len(own):
                out[own] = self._own(name, rank[own])
        return out

    def _own(self, name: str, rank: Ints) -> I4:
        """Return the row of each process's communicator of itself."""
        ranks, back = np.unique(rank, return_inverse=True)
        rows = []
        for process in ranks.tolist():
            rows_known = (row for row, members in enumerate(self._members) if row and members == [process] and self._names[row] == name)
            row = next(rows_known, None)
            if row is None:
                row = len(self._names)
                self._names.append(name)
                self._members.append([process])
            rows.append(row)
        return np.array(rows, "i4")[back]

    def table(self) -> Communicators:
        """Return all communicators met so far."""
        sizes = [len(members) for members in self._members]
        ranks = np.array([rank for members in self._members for rank in members], "i4")
        return Communicators(tuple(self._names), np.concatenate([[0], np.cumsum(sizes)]), ranks)

    def processes_of(self, comms: Communicators, row: Ints, peer: Ints, rank: Ints, roots: bool = False) -> I4:
        """Return the process that `peer` means to the process `rank` in each communicator, -1 where there is none, int32.

        In an inter-communicator a peer is one of the other group; among `roots`, ROOT_SELF is the caller.
        """
        out = np.empty(len(row), "i4")
        for piece in chunks(len(row)):
            out[piece] = self._piece(comms, row[piece], peer[piece], rank[piece])
        if roots:
            own = np.flatnonzero(peer == ROOT_SELF)
            out[own] = rank[own]
        return out

    def _piece(self, comms: Communicators, row: Ints, peer: Ints, rank: Ints) -> I4:
        member = peer.astype("i8")
        for split, size in self._split.items():
            others = np.flatnonzero((row == split) & (peer >= 0))
            of_first = np.isin(rank[others], comms.members(split)[:size])
            member[others] = np.where(of_first, member[others] + size, np.where(member[others] < size, member[others], NONE))
        sizes, first = comms.sizes(), comms.first
        defined = (row >= 0) & (member >= 0)
        defined[defined] = member[defined] < sizes[row[defined]]
        out = np.full(len(row), NONE, "i4")
        out[defined] = comms.ranks[first[row[defined]] + member[defined]]
        return out


def narrow(ref: int) -> int:
    """Return an unsigned number of 32 bits as the columns of int32 hold it."""
    return ref - (1 << 32) if ref >= 1 << 31 else ref
