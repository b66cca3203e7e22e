"""The user regions of a recorded run: names, instances, paths."""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.formats.recorded.columns import BEGIN, END, Columns
from perwiz.formats.recorded.definitions import Region
from perwiz.formats.recorded.files import Rows
from perwiz.kernels import recorded as kernel
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import paths, running
from perwiz.trace.spread.assembled import alike
from perwiz.trace.spread.matched import paths_alike
from perwiz.trace.spread.team import Team
from perwiz.trace.tables import NONE, Paths, Regions, Times


@dataclasses.dataclass
class _LocationInstances:
    """The instances of one location, in the order in which they begin."""

    name: I4
    parent: I4
    begin: I8
    end: I8
    enter: I8
    leave: I8
    inner: I4
    """Per call of the location: the innermost one it lies in, or -1."""


class RegionInstances:
    """The table of regions, their times and paths, the path of every call, and what did not nest."""

    def __init__(self, columns: Columns, start: int, team: Team | None = None) -> None:
        """`start` is the time that is 0 in the trace. All of a team have the same names and paths."""
        self._team = team
        self.names: list[str] = []
        self._parallel: list[bool] = []
        self.never_end: list[int] = []
        self.not_open: list[int] = []
        """Locations of such records, one per record."""
        self.ends: list[tuple[I8, I4]] = []
        """Per location the records that begin its instances and end them, among those that begin or end one; -1 none."""
        parts = [self._of(columns, location) for location in range(len(columns.rest))]
        if team:
            self._name_alike(team, parts)
        self.parallel = np.array(self._parallel, bool)
        self._join(columns, parts, start)

    def _name_alike(self, team: Team, parts: list[_LocationInstances]) -> None:
        """Number names as all processes do."""
        marked = tuple(f"{int(parallel)}{name}" for name, parallel in zip(self.names, self._parallel, strict=True))
        number, every = alike(team, marked)
        self.names, self._parallel = [name[1:] for name in every], [name[0] == "1" for name in every]
        for part in parts:
            part.name = number[part.name].astype("i4")

    def _of(self, columns: Columns, location: int) -> _LocationInstances:
        process = columns.processes[columns.process[location]]
        operations = process.about.operations
        rest, before = columns.rest[location]
        begins, ends = (rest["op"] == operations.index(name) for name in (BEGIN, END))
        boundaries = np.flatnonzero(begins | ends)
        calls = int(columns.first[location + 1] - columns.first[location])
        defined = {region.region: region for region in process.of(Region)}
        opened = rest[begins]
        pairs, which = np.unique(np.stack([opened["peer"].astype("u8"), opened["site"]]), axis=1, return_inverse=True)
        texts = columns.sites.of(process, pairs[1])
        numbers = [self._named(defined.get(int(k)), text) for k, text in zip(pairs[0].tolist(), texts, strict=True)]
        name = np.array(numbers, "i4")[which.reshape(-1)]
        return self._nested(location, rest[boundaries], before[boundaries], begins[boundaries], (calls, int(columns.last[location])), name)

    def _named(self, region: Region | None, place: str) -> int:
        if not region:
            return self._number("undefined region", False)
        line, _, function = place.partition(" ")
        where = f" {line if ':' in line else function or line}".rstrip() if region.placed else ""
        return self._number(region.name + where, region.parallel)

    def _number(self, name: str, parallel: bool) -> int:
        for k, region in enumerate(zip(self.names, self._parallel, strict=True)):
            if region == (name, parallel):
                return k
        self.names.append(name)
        self._parallel.append(parallel)
        return len(self.names) - 1

    def _nested(self, location: int, rows: Rows, before: I8, begins: Mask, last: tuple[int, int], name: I4) -> _LocationInstances:
        """`last`: number of calls of the location, and the time of its last record; `name`: a row of names per instance."""
        opening = np.flatnonzero(begins)
        parent, end = np.empty(len(opening), "i4"), np.empty(len(opening), "i4")
        lost = kernel.nest(begins.astype("u1"), np.empty(len(opening) + 1, "i4"), parent, end)
        self.not_open += [location] * int(lost)
        self.never_end += [location] * int((end < 0).sum())
        self.ends.append((opening, end))
        time = np.append(rows["enter"], last[1])
        return _LocationInstances(
            name=name,
            parent=parent,
            begin=before[opening],
            end=np.append(before, last[0])[end],
            enter=time[opening],
            leave=time[end],
            inner=_innermost(begins, end, parent, before, last[0]),
        )

    def _join(self, columns: Columns, parts: list[_LocationInstances], start: int) -> None:
        counts = np.array([len(part.name) for part in parts], "i8")
        first = np.cumsum(counts) - counts
        location = np.repeat(np.arange(len(parts), dtype="i4"), counts)

        def joined(name: str, shift: I8 | None = None) -> I4:
            shifts = np.zeros(len(parts), "i8") if shift is None else shift
            values = [getattr(part, name) for part in parts]
            moved = [np.where(column >= 0, column + more, column) for column, more in zip(values, shifts.tolist(), strict=True)]
            return np.concatenate([np.empty(0, "i8"), *moved]).astype("i4")

        name, parent = joined("name"), joined("parent", first)
        path, *above = paths(parent, name)
        if self._team:
            new, *above = paths_alike(self._team, *above)
            path = new[path]
        self.paths = Paths(*above)
        calls = columns.first[:-1]
        instance = (running(location, name) + 1).astype("i4")
        self.table = Regions(location, path, parent, instance, joined("begin", calls), joined("end", calls))
        enter, leave = (np.concatenate([np.empty(0, "i8"), *(getattr(part, key) for part in parts)]) - start for key in ("enter", "leave"))
        self.times = Times(enter, leave)
        inner = joined("inner", first) if len(name) else None
        self.path_of_calls = np.full(int(columns.first[-1]), NONE, "i4") if inner is None else np.append(path, np.int32(NONE))[inner]


def _innermost(begins: Mask, end: I4, parent: I4, before: I8, calls: int) -> I4:
    """Return per call the innermost instance, -1 none.

    Of two nested regions { call 0 { call 1 } } call 2:
    begins  1 1 0 0   before  0 1 2 2   end  3 2   parent  -1 0   calls  3
    out     0 1 -1
    """
    if not len(begins):
        return np.full(calls, NONE, "i4")
    after = np.full(len(begins) + 1, NONE, "i4")
    """Innermost instance behind each boundary; the last is that before all."""
    after[np.flatnonzero(begins)] = np.arange(len(parent), dtype="i4")
    ended = np.flatnonzero(end >= 0)
    after[end[ended]] = parent[ended]
    return np.repeat(np.append(after[-1:], after[:-1]), np.diff(np.concatenate([[0], before, [calls]])))
