"""The communicators of a liballprof trace. A line names one by a handle, and says which rank of how many its process is in it.

All members make a communicator by the n-th such call on the same parent (MPI 3.1, 6.4). What a duplicate or a split has for members, its
arguments tell; of others the members tell it themselves as they use it, each its rank. A handle that is new stands for the oldest
communicator that its process made, did not free and has not used yet, and in which it has that rank of so many.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from perwiz.formats.allprof import functions
from perwiz.formats.allprof.lines import Lines
from perwiz.kernels import records
from perwiz.trace import operations
from perwiz.trace.arrays import I4
from perwiz.trace.numbers import distinct_pairs
from perwiz.trace.tables import ANY, NONE
from perwiz.trace.trace import Communicators

_SPLIT, _DUP = operations.OP["MPI_Comm_split"], operations.OP["MPI_Comm_dup"]
_FEW = 1 << 18
"""Members of communicators beside the world of small files: those of more than files of their size can be about stay unknown."""
_LOOKED = 100
"""Communicators that a handle which is new may stand for, the oldest."""


class _Group:
    """Who is in a communicator: `members`, ranks of the world in order, or None where those who use it tell."""

    def __init__(self, members: Sequence[int] | None) -> None:
        self.members = members
        self._claims: dict[int, int] = {}
        self._size = NONE
        self._bad = False

    def fits(self, process: int, rank: int, size: int) -> bool:
        """Return whether a process may be this rank of so many in it. Two that are the same one are in several groups: none is known."""
        if rank >= size:
            return False
        if self.members is not None:
            return size == len(self.members) and self.members[rank] == process
        if self._size not in (NONE, size):
            return False
        self._bad |= self._claims.setdefault(rank, process) != process
        self._size = size
        return not self._bad

    def known(self) -> Sequence[int] | None:
        """Return the members, None where it is not known of all who they are."""
        if self.members is None and not self._bad and len(self._claims) == self._size and len({*self._claims.values()}) == self._size:
            return [self._claims[rank] for rank in range(self._size)]
        return self.members


class _Making(NamedTuple):
    """A call that makes a communicator: of which one, by which routine, with which color and key."""

    parent: int
    op: int
    color: int
    key: int


class Comms:
    """The communicators; row 0 is the world."""

    def __init__(self, lines: list[Lines], rank: list[int], size: int, world: list[int | None], bytes: int) -> None:
        """`rank` of each process, and the handle of the world; `bytes` of all files."""
        self._size, self._left = size, bytes + _FEW
        self._groups = [_Group(range(size))]
        self._names = ["MPI_COMM_WORLD"]
        self._number = {process: row for row, process in enumerate(rank)}
        self._of = [np.full(len(one), NONE, "i4") for one in lines]
        """Group of each line."""
        self._resolve([self._run(*args) for args in zip(lines, rank, world, self._of, strict=True)], rank)
        self._settle()

    def _add(self, members: Sequence[int] | None, name: str = "") -> int:
        self._groups.append(_Group(members))
        self._names.append(name or f"communicator {len(self._names)}")
        return len(self._groups) - 1

    def _run(self, lines: Lines, rank: int, world: int | None, out: I4) -> Generator[_Making, int, None]:
        """Note which group each line names; yield what makes one, and be told that."""
        value = lines.value
        _, handle = distinct_pairs(lines.wide["comm"], value["rank"].astype("i8") * (1 << 31) + value["of"])
        changes = np.flatnonzero(np.isin(lines.does, (functions.MAKES, functions.FREES)))
        told = value["of"] > 0
        era = np.searchsorted(changes, np.arange(len(lines)))
        _, first, use = np.unique(era * (1 << 31) + np.where(told, handle, -1), return_index=True, return_inverse=True)
        group = np.full(len(first), NONE, "i4")
        stands, made, waiting, handles = dict[int, int](), dict[int, int](), dict[int, None](), dict[int, list[int]]()
        uses = [(int(first[k]), 0, int(k)) for k in np.flatnonzero(told[first]).tolist()]
        for line, changing, k in sorted(uses + [(line, 1, 0) for line in changes.tolist()]):
            own, size, address = int(value["rank"][line]), int(value["of"][line]), int(lines.wide["request"][line])
            if not changing:
                known = stands.get(int(handle[line]))
                if known is None:
                    known = self._first_use(rank, own, size, world is not None and int(lines.wide["comm"][line]) == world, waiting)
                    stands[int(handle[line])] = known
                    handles.setdefault(known, []).append(int(handle[line]))
                group[k] = known
            elif lines.does[line] == functions.FREES:
                gone = made.pop(address, NONE)
                waiting.pop(gone, None)
                for one in handles.pop(gone, ()) if gone != NONE else ():
                    del stands[one]
            else:
                parent = stands.get(int(handle[line]), NONE)
                color, key = int(value["peer"][line]), int(value["tag"][line])
                number = (yield _Making(parent, int(lines.op[line]), color, key)) if parent != NONE else NONE
                if number != NONE:
                    made[address] = number
                    waiting[number] = None
        out[:] = np.where(told, group[use.reshape(-1)], NONE)

    def _first_use(self, process: int, own: int, size: int, of_world: bool, waiting: dict[int, None]) -> int:
        """Return the group that a handle stands for which was not used before, -1 for none that is known; it waits no longer."""
        if of_world and (own, size) == (process, self._size):
            return 0
        for number in itertools.islice(waiting, _LOOKED):
            if self._groups[number].fits(process, own, size):
                del waiting[number]
                return number
        return self._add((process,), "MPI_COMM_SELF") if size == 1 else NONE

    def _resolve(self, running: list[Generator[_Making, int, None]], rank: list[int]) -> None:
        """Let every process go on until it makes a communicator, and wait there for those who make it, too."""
        ready: deque[tuple[int, int | None]] = deque((row, None) for row in range(len(running)))
        halves: dict[tuple[int, int], dict[int, _Making]] = {}
        times: dict[tuple[int, int], int] = {}
        while ready or halves:
            while ready:
                row, told = ready.popleft()
                try:
                    making = next(running[row]) if told is None else running[row].send(told)
                except StopIteration:
                    continue
                nth = times[making.parent, row] = times.get((making.parent, row), 0) + 1
                here = halves.setdefault((making.parent, nth), {})
                here[row] = making
                members = self._groups[making.parent].members
                if members is not None and len(here) == min(len(members), len(running)):
                    ready.extend(self._make(halves.pop((making.parent, nth)), rank).items())
            if halves:
                ready.extend(self._make(halves.pop(min(halves)), rank).items())

    def _make(self, halves: dict[int, _Making], rank: list[int]) -> dict[int, int]:
        """Return the group that each process gets, by its row; -1 for none."""
        makings = [*halves.values()]
        parent, op = self._groups[makings[0].parent], makings[0].op
        if any(making.op != op for making in makings):
            return dict.fromkeys(halves, NONE)
        if op == _DUP:
            number = self._add(parent.members)
            self._groups[number] = parent
            return dict.fromkeys(halves, number)
        if op != _SPLIT:
            return dict.fromkeys(halves, self._add(None))
        whole = parent.members is not None and len(parent.members) == len(halves)
        place = {process: k for k, process in enumerate(parent.members)} if whole and parent.members is not None else {}
        colors: dict[int, list[int]] = {}
        for row, making in halves.items():
            colors.setdefault(making.color, []).append(row)
        out = dict.fromkeys(halves, NONE)
        for color, rows in sorted(colors.items()):
            rows.sort(key=lambda row: (halves[row].key, place.get(rank[row], 0)))
            out |= dict.fromkeys(rows, NONE if color < 0 else self._add([rank[row] for row in rows] if whole else None))
        return out

    def _settle(self) -> None:
        """Make rows of the groups that are known and named."""
        used = np.unique(np.concatenate([[0], *(np.unique(one) for one in self._of)]))
        row = np.full(len(self._groups) + 1, NONE, "i4")
        names, members = list[str](), list[I4]()
        for number in used[used >= 0].tolist():
            known = self._groups[number].known()
            self._left -= len(known) if known is not None and number else 0
            if known is not None and (self._left >= 0 or not number):
                row[number] = len(names)
                names.append(self._names[number])
                members.append(np.arange(self._size, dtype="i4") if isinstance(known, range) else np.array(known, "i4"))
        self._of = [row[one] for one in self._of]
        self.table = Communicators(tuple(names), np.cumsum([0, *map(len, members)]), np.concatenate(members))

    def of(self, process: int) -> I4:
        """Return the row of the communicator that each line of a process names, -1 for none and for one that is not known."""
        return self._of[process]

    def peers(self, process: int, peer: I4, mpich: bool) -> I4:
        """Return partners as ranks of the world, -1 for nobody, ANY, or that of a stranger."""
        anybody, nobody = (-2, -1) if mpich else (-1, -2)
        row, first = self._of[process], self.table.first
        begin = first[np.maximum(row, 0)]
        known = (row >= 0) & (peer >= 0) & (peer < first[np.maximum(row, 0) + 1] - begin)
        world = self.table.ranks[np.where(known, begin + peer, 0)]
        cases = [known, peer == anybody, peer == nobody]
        return np.select(cases, [world, np.int32(ANY), np.int32(NONE)], np.int32(records.STRANGER))
