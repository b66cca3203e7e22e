"""The communicators of a DUMPI trace. Every process numbers its own; which are the same, their history tells.

All members make a communicator by the n-th such call on the same parent (MPI 3.1, 6.4). So each process goes on until it makes one, and
waits there for the others; where some never come, as their files are missing or cut off, those that did make it alone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from perwiz.formats.dumpi.definitions import Definitions, Making, Members, Ranks
from perwiz.kernels import dumpi_rows as rows
from perwiz.trace.arrays import I4
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Communicators, Topology

_FEW = 1 << 18
"""Ranks of communicators of small files."""
_DIMENSIONS = 64
"""Most dimensions of a Cartesian arrangement that is kept: numpy counts through no more."""
_Key = tuple[int, int]
_Half = dict[int, Making]


class Comms(Members):
    """Gives every communicator a row, and an entry per row and own group. Row 0 is the world, as is entry 0."""

    def __init__(self, size: int, bytes: int) -> None:
        """`size` of the world; `bytes` of all files: there are not so many ranks in all communicators but the world."""
        world, self._left_over = range(size), bytes + _FEW
        self._rows: list[Ranks] = [world]
        self._names = ["MPI_COMM_WORLD"]
        self._entries: list[tuple[int, Ranks, Ranks]] = [(0, world, world)]
        self._shapes: dict[int, tuple[tuple[int, ...], tuple[bool, ...]]] = {}
        self._alone: dict[int, int] = {}
        self._left: dict[Any, tuple[Ranks, Ranks, list[int]]] = {}

    def of(self, entry: int) -> Ranks:
        """Return the world ranks that peers on it mean."""
        return self._entries[entry][1] if entry >= 0 else ()

    def own(self, entry: int) -> Ranks:
        """Return the world ranks of the own group."""
        return self._entries[entry][2] if entry >= 0 else ()

    def alone(self, rank: int) -> int:
        """Return the entry of MPI_COMM_SELF of a process."""
        if rank not in self._alone:
            self._alone[rank] = self._add((rank,), name="MPI_COMM_SELF")
        return self._alone[rank]

    def affords(self, ranks: int) -> bool:
        """Return whether so many more ranks may be looked at: all together no more than files of these sizes can be about."""
        self._left_over -= ranks
        return self._left_over >= 0

    def _add(self, members: Ranks, name: str = "") -> int:
        """Return the entry of a new row, -1 where there would be too many ranks."""
        if not self.affords(len(members)):
            return NONE
        self._rows.append(members)
        self._names.append(name or f"communicator {len(self._names)}")
        self._entries.append((len(self._rows) - 1, members, members))
        return len(self._entries) - 1

    def resolve(self, processes: list[Definitions]) -> None:
        """Let every process note what it defines, and give those that make a communicator together one."""
        self._running: dict[int, Generator[Making, int, None]] = {part.process.rank: part.run(self) for part in processes}
        self._waiting: dict[_Key, _Half] = {}
        self._times: defaultdict[_Key, int] = defaultdict(int)
        self._ready: deque[tuple[int, int | None]] = deque((rank, None) for rank in self._running)
        while self._ready or self._waiting or self._left:
            while self._ready:
                self._resume(*self._ready.popleft())
            if self._waiting:
                self._make(min(self._waiting))
            elif self._left:
                for _, _, ranks in self._left.values():
                    self._ready.extend((rank, NONE) for rank in ranks)
                self._left = {}

    def _resume(self, rank: int, entry: int | None) -> None:
        """Let a process go on, with the entry it waited for, until it waits again."""
        steps = self._running[rank]
        try:
            making = next(steps) if entry is None else steps.send(entry)
            while making.parent < 0:
                making = steps.send(NONE)
        except StopIteration:
            del self._running[rank]
            return
        row = self._entries[making.parent][0]
        key = row, self._times[rank, row]
        self._times[rank, row] += 1
        waiting = self._waiting.setdefault(key, {})
        waiting[rank] = making
        group = self._entries[making.parent][2] if making.name == "Intercomm_create" else self._rows[row]
        gone = len(self._rows[0]) - len(self._running)
        if len(waiting) >= len(group) - gone and len(waiting) == self._still(group):
            self._make(key)

    def _still(self, group: Ranks) -> int:
        """Return how many of a group are not at their end."""
        return (
            sum(other in group for other in self._running) if isinstance(group, range) else sum(other in self._running for other in group)
        )

    def _make(self, key: _Key) -> None:
        """Make the communicators for which these processes wait, and let them go on."""
        waiting = self._waiting.pop(key)
        name = waiting[min(waiting)].name
        alike = {rank: making for rank, making in sorted(waiting.items()) if making.name == name}
        if name == "Intercomm_create":
            self._meet(alike)
            found = dict.fromkeys(set(waiting) - set(alike), NONE)
        else:
            makers = {
                "Comm_dup": self._dup,
                "Comm_split": self._split,
                "Comm_create": self._create,
                "Cart_create": self._cart,
                "Cart_sub": self._sub,
                "Graph_create": self._graph,
                "Intercomm_merge": self._merge,
            }
            found = dict.fromkeys(waiting, NONE) | (makers[name](alike) if name in makers else {})
        self._ready.extend(found.items())

    def _grouped(self, groups: Mapping[Any, Ranks], of: dict[int, Any]) -> dict[int, int]:
        """Return per process the entry of its group, each made once."""
        entries = {key: self._add(members) for key, members in groups.items() if members}
        return {rank: entries.get(key, NONE) for rank, key in of.items()}

    def _dup(self, making: _Half) -> dict[int, int]:
        first = next(iter(making.values()))
        row, peers, own = self._entries[first.parent]
        entry = self._add(self._rows[row])
        shape = self._shapes.get(row)
        if entry < 0:
            return {}
        if shape:
            self._shapes[self._entries[entry][0]] = shape
        if peers == own:
            return dict.fromkeys(making, entry)
        return self._sided(self._entries[entry][0], {rank: self._entries[one.parent] for rank, one in making.items()})

    def _sided(self, row: int, of: dict[int, tuple[int, Ranks, Ranks]]) -> dict[int, int]:
        """Return the entries of an intercommunicator: each group means the other."""
        sides: dict[Any, int] = {}
        for _, peers, own in of.values():
            if (peers, own) not in sides:
                self._entries.append((row, peers, own))
                sides[peers, own] = len(self._entries) - 1
        return {rank: sides[peers, own] for rank, (_, peers, own) in of.items()}

    def _split(self, making: _Half) -> dict[int, int]:
        first = next(iter(making.values()))
        parent = self._rows[self._entries[first.parent][0]]
        if not self.affords(0 if isinstance(parent, range) else len(parent)):
            return {}
        place = {} if isinstance(parent, range) else {rank: k for k, rank in enumerate(parent)}
        colours: dict[int, list[int]] = {}
        for rank, one in making.items():
            if one.made:
                colours.setdefault(one.arguments[1], []).append(rank)
        groups = {
            colour: tuple(sorted(ranks, key=lambda rank: (making[rank].arguments[2], place.get(rank, rank))))
            for colour, ranks in colours.items()
        }
        return self._grouped(groups, {rank: one.arguments[1] for rank, one in making.items() if one.made})

    def _create(self, making: _Half) -> dict[int, int]:
        of = {rank: one.members for rank, one in making.items() if one.made}
        return self._grouped({group: group for group in of.values()}, of)

    def _cart(self, making: _Half) -> dict[int, int]:
        first = next((one for one in making.values() if one.made), None)
        if first is None:
            return {}
        sizes = tuple(first.arguments[2])
        count = int(np.prod([min(max(size, 0), 1 << 20) for size in sizes], dtype="f8"))
        parent = self.of(first.parent)
        entry = self._add(parent[:count])
        if entry >= 0 and 0 < len(sizes) <= _DIMENSIONS and count == len(parent[:count]):
            self._shapes[self._entries[entry][0]] = sizes, tuple(map(bool, [*first.arguments[3], *sizes][: len(sizes)]))
        return {rank: entry for rank, one in making.items() if one.made}

    def _sub(self, making: _Half) -> dict[int, int]:
        first = next(iter(making.values()))
        row, members, _ = self._entries[first.parent]
        remain = first.arguments[2]
        if row not in self._shapes or len(remain) < len(self._shapes[row][0]) or not self.affords(len(members)):
            return {}
        sizes, periods = self._shapes[row]
        places = np.array(np.unravel_index(np.arange(len(members)), sizes)).T
        kept, gone = ([k for k in range(len(sizes)) if bool(remain[k]) == want] for want in (True, False))
        groups: dict[Any, list[int]] = {}
        of: dict[int, Any] = {}
        for rank, place in zip(members, places.tolist(), strict=True):
            key = tuple(place[k] for k in gone)
            groups.setdefault(key, []).append(rank)
            if rank in making and making[rank].made:
                of[rank] = key
        wanted = set(of.values())
        found = self._grouped({key: tuple(ranks) for key, ranks in groups.items() if key in wanted}, of)
        for entry in set(found.values()) - {NONE} if kept else ():
            self._shapes[self._entries[entry][0]] = tuple(sizes[k] for k in kept), tuple(periods[k] for k in kept)
        return found

    def _graph(self, making: _Half) -> dict[int, int]:
        first = next((one for one in making.values() if one.made), None)
        if first is None:
            return {}
        entry = self._add(self.of(first.parent)[: max(0, first.arguments[2])])
        return {rank: entry for rank, one in making.items() if one.made}

    def _merge(self, making: _Half) -> dict[int, int]:
        """Return the union of both groups: that which says it is low first, else that of the lowest rank."""
        sides = {self.own(one.parent): bool(one.arguments[1]) for one in making.values()}
        others = {self.of(one.parent) for one in making.values()}
        groups = sorted({*sides, *others}, key=lambda group: (sides.get(group, not all(sides.values())), tuple(group)))
        entry = self._add(tuple(dict.fromkeys(rank for group in groups for rank in group)))
        return dict.fromkeys(making, entry)

    def _meet(self, making: _Half) -> None:
        """Let a group wait for that of its remote leader, or both go on, if that waits already."""
        first = next(iter(making.values()))
        own = self.own(first.parent)
        leader = own[first.arguments[1]] if 0 <= first.arguments[1] < len(own) else NONE
        says = making.get(leader)
        if says is None or not says.members:
            self._ready.extend((rank, NONE) for rank in making)
            return
        key = frozenset({leader, *says.members}), says.arguments[4]
        other = self._left.pop(key, None)
        if other is None:
            self._left[key] = own, own, list(making)
            return
        entry = self._add(tuple(dict.fromkeys(rank for group in sorted([tuple(own), tuple(other[0])]) for rank in group)))
        if entry < 0:
            self._ready.extend((rank, NONE) for rank in (*making, *other[2]))
            return
        row = self._entries[entry][0]
        of = dict.fromkeys(making, (row, other[0], own)) | dict.fromkeys(other[2], (row, own, other[0]))
        self._ready.extend(self._sided(row, of).items())

    def known(self, part: Definitions) -> tuple[np.recarray[Any, Any], I4]:
        """Return a COMMUNICATOR per entry that a process knows, and the members that its peers mean."""
        table = np.zeros(len(part.entries), rows.COMMUNICATOR).view(np.recarray)
        peers: list[I4] = []
        begins: dict[Ranks, int] = {}
        first = 0
        for number, entry in enumerate(part.entries):
            if entry < 0:
                table[number] = NONE, 0, 0, 0, NONE
                continue
            row, means, own = self._entries[entry]
            if means not in begins:
                begins[means] = first
                peers.append(_array(means))
                first += len(means)
            rank = part.process.rank
            table[number] = row, begins[means], len(means), len(means), own.index(rank) if own is means and rank in own else NONE
        return table, np.concatenate([np.empty(0, "i4"), *peers])

    def table(self) -> Communicators:
        """Return all communicators."""
        first = np.concatenate([[0], np.cumsum([len(members) for members in self._rows])]).astype("i8")
        return Communicators(tuple(self._names), first, np.concatenate([_array(members) for members in self._rows]))

    def topologies(self) -> tuple[Topology, ...]:
        """Return the Cartesian arrangements."""
        out = []
        for row, (sizes, periods) in sorted(self._shapes.items()):
            places = np.array(np.unravel_index(np.arange(len(self._rows[row])), sizes), "i4").T.reshape(-1, len(sizes))
            names = tuple(f"dimension {k}" for k in range(len(sizes)))
            out.append(Topology(self._names[row], row, sizes, periods, names, places))
        return tuple(out)


def _array(ranks: Ranks) -> I4:
    return np.arange(ranks.start, ranks.stop, ranks.step, dtype="i4") if isinstance(ranks, range) else np.array(ranks, "i4")
