"""The locations of an OTF2 archive as processes and threads, where they ran, and their clocks."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from perwiz.formats.otf2.communicators import world
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.hybrid import clocks
from perwiz.formats.otf2.library.codes import ACCELERATOR, ACCELERATOR_STREAM, CPU_THREAD
from perwiz.formats.otf2.read import Recorded, Recording
from perwiz.kernels.otf2_rows import STATE
from perwiz.kernels.records import FROM_START
from perwiz.trace.arrays import I8
from perwiz.trace.tables import NONE, PROCESS, STREAM, THREAD, Locations, Offsets, Times

_GIGA = 10**9


_COMPUTING = (CPU_THREAD, ACCELERATOR_STREAM)
"""Types of locations that are no metrics alone."""


def ranks(definitions: Definitions) -> dict[int, int]:
    """Return the rank of the process of each group of locations that has one."""
    masters = world(definitions)
    group = {location.ref: location.group for location in definitions.locations}
    rank = {group[ref]: number for number, ref in reversed(list(enumerate(masters))) if ref in group}
    beyond = itertools.count(len(masters))
    for location_group in group.values():
        host = _host(definitions, location_group)
        if location_group not in rank:
            rank[location_group] = rank[host] if host in rank else next(beyond)
    return rank


def arranged(definitions: Definitions) -> list[tuple[int, int]]:
    """Return (location, rank of its process) in the order of (process, thread), those of metrics alone left out."""
    rank, master = ranks(definitions), set(world(definitions))
    rows = [(location.ref, rank[location.group]) for location in definitions.locations if location.type in _COMPUTING]
    return sorted(rows, key=lambda row: (row[1], row[0] not in master))


class RecordedLocations:
    """The locations in order of (process, thread), and what each recorded."""

    def __init__(self, recording: Recording, begin: int = 0) -> None:
        """`begin` is the time of the first record, ns."""
        definitions, self._begin = recording.definitions, begin
        self.world = world(definitions)
        group = {location.ref: location.group for location in definitions.locations}
        kind = {location.ref: location.type for location in definitions.locations}
        master, in_order = set(self.world), arranged(definitions)
        by_ref = {recorded.ref: recorded for recorded in recording.locations}
        rows = [by_ref[ref] for ref, _ in in_order]
        self.recorded: list[Recorded] = rows
        self.other: list[Recorded] = [recorded for recorded in recording.locations if kind[recorded.ref] not in _COMPUTING]
        """Locations of metrics alone."""
        self.process = np.array([rank for _, rank in in_order], "i4")
        first = np.searchsorted(self.process, self.process)
        self.thread = (np.arange(len(rows)) - first).astype("i4")
        streams = np.array([kind[recorded.ref] == ACCELERATOR_STREAM for recorded in rows], bool)
        self.kind = np.where(streams, STREAM, THREAD).astype("u1")
        own = np.flatnonzero(~streams | np.array([recorded.ref in master for recorded in rows], bool))
        self.kind[own[np.unique(self.process[own], return_index=True)[1]]] = PROCESS
        self._group = [group[recorded.ref] for recorded in rows]
        self.lines = clocks.lines(definitions, rows, self.process, streams)
        """What puts the times of some of them on the clock of their process."""
        self.state = np.concatenate([np.empty(0, "i8"), *(recorded.column("state") for recorded in rows)]).view(STATE)
        """The state of each."""
        placed = [row for row in self.lines if self.state["records"][row]]
        self.placed = len(placed)
        """How many of these have records."""
        before = self.state[["first", "clock"]].copy()
        for row in placed:
            for name in ("first", "clock"):
                self.state[name][row] = self.lines[row].of(self.state[name][row])
        moved = max(int(abs(self.state[name] - before[name]).max(initial=0)) for name in ("first", "clock"))
        self._begin_with_process()
        self.own = self.state
        """The state of those that were read here, nothing of others."""
        self.state = recording.told(self.state, rows)
        first = self.state["first"][self.state["records"] > 0]
        self.start = int(first.min()) if len(first) else 0
        """Ticks of the first record of all."""
        self._per_tick = Fraction(_GIGA, max(recording.definitions.resolution, 1))
        self.moved = round(moved * self._per_tick)
        """By how much at most, ns, their first and last instants were moved."""

    def _begin_with_process(self) -> None:
        """Let threads and streams that had nothing to do before they first had something do nothing from the first instant on."""
        heard = np.flatnonzero(self.state["records"] > 0)
        first = np.full(int(self.process.max(initial=-1)) + 1, np.iinfo("i8").max)
        np.minimum.at(first, self.process[heard], self.state["first"][heard])
        for row, recorded in enumerate(self.recorded):
            if (recorded.column("call.bits")[:1] & FROM_START).any():
                self.state["first"][row] = first[self.process[row]]

    def __len__(self) -> int:
        return len(self.recorded)

    def times(self, ticks: I8, row: int) -> I8:
        """Return ticks of one of the locations as ns since the start of the trace, on the clock of its process."""
        return self.nanoseconds(self.lines[row].of(ticks) if row in self.lines else ticks)

    def nanoseconds(self, ticks: I8) -> I8:
        """Return ticks as ns since the start of the trace, rounded once, to the nearest."""
        return nanoseconds(ticks - self.start, self._per_tick) + self._begin

    def instants(self) -> Times:
        """Return the first and last instant of each location; 0 for one that recorded nothing."""
        enter, leave = self.state["first"], self.state["clock"]
        silent = self.state["records"] == 0
        return Times(*(np.where(silent, 0, self.nanoseconds(np.where(silent, self.start, times))) for times in (enter, leave)))

    def table(self, definitions: Definitions) -> tuple[Locations, tuple[str, ...], tuple[str, ...]]:
        """Return the locations, the names of the nodes and those of the metahosts."""
        tree = Tree(definitions)
        parents = [
            tree.place(definitions.location_groups[group].node) if group in definitions.location_groups else (0, NONE)
            for group in self._group
        ]
        metahost, node = (
            (np.array(column, "i4") for column in zip(*parents, strict=True)) if parents else (np.empty(0, "i4"), np.empty(0, "i4"))
        )
        table = Locations(metahost, node, self.process, self.thread, np.full(len(self), NONE, "i4"), self.kind)
        return table, tuple(tree.nodes), tuple(tree.metahosts)

    def offsets(self, recording: Recording) -> Offsets:
        """Return the clock measurements that the library has applied."""
        row = {recorded.ref: number for number, recorded in enumerate(self.recorded)}
        measured = sorted((row[ref], time, offset, error) for ref, time, offset, error in recording.offsets if ref in row)
        micro = float(self._per_tick) / 1e3
        time = self.nanoseconds(np.array([time for _, time, _, _ in measured], "i8"))
        offset, error = (np.array([values[k] for values in measured], "f8") * micro for k in (2, 3))
        return Offsets(np.array([location for location, *_ in measured], "i4"), time, offset, np.zeros(len(measured)), error)


def _host(definitions: Definitions, group: int) -> int:
    """Return the location group that a process or accelerator belongs to: an accelerator to the process that started it."""
    definition = definitions.location_groups.get(group)
    return definition.creator if definition is not None and definition.type == ACCELERATOR else group


def nanoseconds(ticks: I8, per_tick: Fraction) -> I8:
    """Return `ticks * per_tick`, rounded to the nearest, int64; exact as long as a tick is longer than about 0.1 ns."""
    if per_tick.denominator == 1:
        return ticks * per_tick.numerator
    above, below = per_tick.numerator, per_tick.denominator
    whole, rest = np.divmod(ticks, below)
    if above * below + below // 2 >= 1 << 63:
        return whole * above + np.rint(rest * (above / below)).astype("i8")
    return whole * above + (rest * above + below // 2) // below


class Tree:
    """The machines of an archive: which metahost and which node a process runs on, numbered in order of need."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self.nodes: list[str] = []
        self.metahosts: list[str] = []
        self._node: dict[int, int] = {}
        self._metahost: dict[int, int] = {}

    def place(self, ref: int) -> tuple[int, int]:
        """Return the metahost and node (or -1) of what hangs below a tree node: the uppermost, and the nearest called a node."""
        above = self._above(ref)
        if not above:
            return 0, NONE
        node = next((level for level in above if self._string(level, "class_name") == "node"), above[0] if len(above) > 1 else None)
        host = self._number(self._metahost, self.metahosts, above[-1])
        return host, NONE if node is None else self._number(self._node, self.nodes, node)

    def _above(self, ref: int) -> list[int]:
        out: list[int] = []
        nodes = self._definitions.nodes
        while ref in nodes and ref not in out:
            out.append(ref)
            ref = nodes[ref].parent
        return out

    def _string(self, ref: int, what: str) -> str:
        return self._definitions.string(getattr(self._definitions.nodes[ref], what))

    def _number(self, numbers: dict[int, int], names: list[str], ref: int) -> int:
        if ref not in numbers:
            numbers[ref] = len(names)
            names.append(self._string(ref, "name"))
        return numbers[ref]
