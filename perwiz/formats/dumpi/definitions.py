"""What a process defines, in program order: sizes of datatypes, groups, communicators and windows, by records found by the kernel."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from perwiz.formats.dumpi import functions
from perwiz.formats.dumpi.files import Process
from perwiz.kernels import dumpi_rows as rows

_WIDTHS = {"b": 1, "h": 2, "i": 4, "q": 8, "B": 1, "c": 1, "H": 2, "I": 4, "+": 4}
_LARGEST = 1 << 40
"""Bytes of a datatype; what a file says beyond is damaged."""
_EXCLUSIVE = 2
Arguments = list[Any]
Ranks = tuple[int, ...] | range
"""Ranks of the world; those of all are a range."""


class Making(NamedTuple):
    """A communicator that is being made."""

    name: str
    parent: int
    """Entry of Comms, -1 unknown."""
    arguments: Arguments
    members: Ranks
    """World ranks of the group it is made of, or what its remote leader is, where it has such."""

    @property
    def made(self) -> bool:
        """Whether the process is in it."""
        return bool(self.arguments[-1] > 1)


@dataclasses.dataclass
class Definitions:
    """What one process defines: how its handles change, and what its windows are opened for."""

    process: Process
    places: list[int]
    """Bytes where the records begin."""
    changes: list[tuple[int, int, int, int, int]] = dataclasses.field(default_factory=list)
    """As rows.CHANGE without its call."""
    entries: list[int] = dataclasses.field(default_factory=list)
    """Entries of Comms that the process knows: a value of COMM_OF and WINDOW_OF is a row of this."""
    opens: list[tuple[int, Ranks]] = dataclasses.field(default_factory=list)
    """Changes that are calls which open an epoch of a window, and the world ranks of the group."""
    exclusive: list[int] = dataclasses.field(default_factory=list)
    shared: list[int] = dataclasses.field(default_factory=list)
    """Changes that are calls which lock a window."""
    unknown: int = 0
    """Communicators that nobody knows."""

    def table(self) -> np.recarray[Any, Any]:
        """Return the changes."""
        out = np.zeros(len(self.changes), rows.CHANGE).view(np.recarray)
        for number, change in enumerate(self.changes):
            out[number] = (*change, -1)
        return out

    def run(self, members: Members) -> Generator[Making, int, None]:
        """Yield the communicators that are made, and take the entry of each, -1 unknown or none; note what else is defined."""
        handles = {rows.WORLD: 0, rows.SELF: 1}
        groups: dict[int, Ranks] = {}
        sizes = self.process.sizes.tolist()
        windows: dict[int, int] = {}
        of_window: dict[int, int] = {}
        for at in self.places:
            name, arguments = record(self.process, at)
            if name in functions.TYPES:
                size = _size(name, arguments, sizes)
                kind = arguments[0] if name == "Type_size" else arguments[-1]
                if 0 <= size <= _LARGEST:
                    sizes[kind] = size
                    self.changes.append((at, size, rows.SIZE_OF, kind, 0))
            elif name in functions.GROUPS:
                entry = self._entry(of_window if name == "Win_get_group" else handles, arguments[0])
                groups[arguments[-1]] = _group(name, arguments, groups, members, entry)
            elif name in functions.WINDOWS:
                self._window(at, name, arguments, (handles, groups, windows, of_window))
            else:
                entry = self._entry(handles, _parent(name, arguments))
                group: Ranks = ()
                if name == "Comm_create":
                    group = groups.get(arguments[1], ())
                elif name == "Intercomm_create":
                    remote = members.of(self._entry(handles, arguments[2]))
                    group = (remote[arguments[3]],) if 0 <= arguments[3] < len(remote) else ()
                made = Making(name, entry, arguments, group)
                found = yield made
                self._made(at, int(arguments[-1]), found, handles, made.made)

    def _made(self, at: int, handle: int, found: int, handles: dict[int, int], is_in: bool) -> None:
        if handle < rows.FIRST_MADE:
            return
        self.unknown += is_in and found < 0
        if found >= 0:
            self.entries.append(found)
        handles[handle] = len(self.entries) - 1 if found >= 0 else -1
        self.changes.append((at, handles[handle], rows.COMM_OF, handle, 0))

    def _entry(self, handles: dict[int, int], handle: int) -> int:
        local = handles.get(handle, -1)
        return self.entries[local] if local >= 0 else -1

    def _window(self, at: int, name: str, arguments: Arguments, known: tuple[dict[int, int], Any, dict[int, int], dict[int, int]]) -> None:
        """Note a window that is made, or what opens an epoch."""
        handles, groups, windows, of_window = known
        number = 0
        local, handle = -1, arguments[-1]
        what = rows.NOTHING
        if name == "Win_create":
            local, what = handles.get(arguments[3], -1), rows.WINDOW_OF
            number = windows[local] = windows.get(local, -1) + 1
            of_window[handle] = local
        elif name == "Win_lock":
            (self.exclusive if arguments[0] == _EXCLUSIVE else self.shared).append(len(self.changes))
        else:
            self.opens.append((len(self.changes), groups.get(arguments[0], ())))
        self.changes.append((at, local, what, handle, number))


class Members:
    """The members of entries of Comms, as a group of them has them. Subclassed there."""

    def of(self, entry: int) -> Ranks:
        """Return the world ranks that peers on it mean."""
        raise NotImplementedError

    def affords(self, ranks: int) -> bool:
        """Return whether so many more ranks may be looked at: all together no more than files of these sizes can be about."""
        raise NotImplementedError

    def own(self, entry: int) -> Ranks:
        """Return the world ranks of the own group."""
        raise NotImplementedError


def record(process: Process, at: int) -> tuple[str, Arguments]:
    """Return the function and the arguments of the record at a byte, which the kernel found whole."""
    data = process.data.data
    name = functions.NAMES[int.from_bytes(data[at : at + 2], "big")]
    mask = data[at + 2]
    at += 3 + (2 if mask & 64 else 0) + (12 if mask & 4 else 0) + (12 if mask & 8 else 0)
    if mask & 128:
        at += 1 + 16 * data[at]
    out: Arguments = []
    for word in functions.layout(name, process.version).split():
        form = word.lstrip("?")[0]
        if word.startswith("?") and out[0] != out[1]:
            continue
        value, at = _argument(data, at, form)
        out.append(value)
    return name, _handed(name, out)


def _argument(data: memoryview, at: int, form: str) -> tuple[Any, int]:
    """Return an argument, and the byte behind it: a number, a list of numbers, or lists of those."""
    if form in "bhiq":
        width = _WIDTHS[form]
        return int.from_bytes(data[at : at + width], "big", signed=form in "iq"), at + width
    count = int.from_bytes(data[at : at + 4], "big")
    at += 4
    if form in _WIDTHS:
        behind = at + count * _WIDTHS[form]
        return np.frombuffer(data[at:behind], f">{'u' if form in 'BcH' else 'i'}{_WIDTHS[form]}").tolist(), behind
    inner = {"J": "I", "C": "c", "D": "C"}[form]
    lists = []
    for _ in range(count):
        value, at = _argument(data, at, inner)
        lists.append(value)
    return lists, at


def _handed(name: str, arguments: Arguments) -> Arguments:
    """Return the arguments with the handle that is made last."""
    if name in ("Comm_spawn", "Comm_spawn_multiple"):
        first = 2 if name == "Comm_spawn" else 3
        return arguments[: first + 2]
    return arguments


def _parent(name: str, arguments: Arguments) -> int:
    """Return the handle of the communicator that another is made from."""
    where = {"Cart_sub": 1, "Graph_create": 1, "Comm_spawn": 2, "Comm_spawn_multiple": 3, "Comm_accept": 3, "Comm_connect": 3}.get(name, 0)
    return -1 if name in ("Comm_get_parent", "Comm_join") else int(arguments[where])


def _size(name: str, arguments: Arguments, sizes: list[int]) -> int:
    """Return the bytes of a datatype that is made, -1 unknown."""
    if name == "Type_size":
        return int(arguments[1])
    if name in ("Type_struct", "Type_create_struct"):
        each = [sizes[kind] for kind in arguments[-2]]
        pairs = list(zip(arguments[1], each, strict=False))
        return -1 if any(size < 0 or count < 0 for count, size in pairs) else sum(count * size for count, size in pairs)
    old = sizes[arguments[0 if name in ("Type_dup", "Type_create_resized") else -2]]
    count = 1
    if name == "Type_contiguous":
        count = arguments[0]
    elif name.endswith("vector") or name == "Type_create_indexed_block":
        count = arguments[0] * arguments[1]
    elif name.endswith("indexed"):
        count = sum(arguments[1])
    elif name == "Type_create_subarray":
        count = math.prod(arguments[2])
    return -1 if old < 0 or count < 0 else count * old


def _group(name: str, arguments: Arguments, groups: dict[int, Ranks], members: Members, entry: int) -> Ranks:
    """Return the world ranks of a group that is made; none of one that is too large to be meant."""
    if name in ("Comm_group", "Win_get_group"):
        return members.own(entry)
    if name == "Comm_remote_group":
        return members.of(entry)
    first = groups.get(arguments[0], ())
    if name in ("Group_union", "Group_intersection", "Group_difference"):
        second = groups.get(arguments[1], ())
        if not members.affords(len(first) + len(second)):
            return ()
        if name == "Group_union":
            return tuple(dict.fromkeys((*first, *second)))
        keep = set(second)
        return tuple(rank for rank in first if (rank in keep) == (name == "Group_intersection"))
    ranks = arguments[2]
    if name.startswith("Group_range"):
        ranks = [rank for row in ranks if len(row) == 3 and row[2] for rank in _run(row, len(first))]
    inside = [rank for rank in ranks if 0 <= rank < len(first)]
    if name.endswith("incl"):
        return tuple(first[rank] for rank in inside)
    if not members.affords(len(first)):
        return ()
    out = set(inside)
    return tuple(world for rank, world in enumerate(first) if rank not in out)


def _run(row: list[int], most: int) -> range:
    """Return the ranks of a range, as far as there are so many."""
    first, last, stride = row
    return range(first, last + (1 if stride > 0 else -1), stride)[: most + 1]
