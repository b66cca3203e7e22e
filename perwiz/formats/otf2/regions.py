"""The user regions of an OTF2 archive: names, where they are defined, paths and instances."""

from __future__ import annotations

import os

import numpy as np

from perwiz.formats.devices import COPIES
from perwiz.formats.otf2.columns import Columns
from perwiz.formats.otf2.definitions import Definitions
from perwiz.formats.otf2.library.codes import PARALLEL, USER
from perwiz.formats.otf2.read_extras import Extras
from perwiz.trace.arrays import I4, I8, chunks
from perwiz.trace.numbers import paths, running
from perwiz.trace.spread.matched import paths_alike
from perwiz.trace.spread.team import Team, gathered
from perwiz.trace.tables import NONE, Paths, Regions, Times

_PREFIX = "PRGN "
"""So begin the names of user regions that the program calls parallel regions."""


class Names:
    """The user regions that occur: one row per name and place of definition, however often defined."""

    def __init__(self, definitions: Definitions, used: I4, extras: Extras) -> None:
        """`used` are numbers of regions: places in the sorted references of all, behind them the undefined one and copies of devices."""
        self._definitions, self._refs = definitions, sorted(definitions.regions)
        self._written = extras.written
        self.row = np.full(len(self._refs) + 1 + len(COPIES), NONE, "i4")
        """Row of names per number of a region."""
        self.names: list[str] = []
        self.sources: list[str] = []
        parallel: list[bool] = []
        row_of: dict[tuple[str, str], int] = {}
        for number in used.tolist():
            name, source, marked = self._region(number)
            row = row_of.setdefault((name, source), len(self.names))
            if row == len(self.names):
                self.names.append(self._unique(name, source))
                self.sources.append(source)
                parallel.append(marked)
            self.row[number] = row
        self.parallel = np.array(parallel, bool)
        if not any(self.sources):
            self.sources = []

    def _region(self, number: int) -> tuple[str, str, bool]:
        """Return the name, the `file:line` and the mark of parallel regions of one region."""
        if number == len(self._refs):
            return "undefined region", "", False
        if number > len(self._refs):
            return COPIES[number - len(self._refs) - 1], "", False
        region = self._definitions.regions[self._refs[number]]
        name, file = self._definitions.string(region.name), self._definitions.string(region.file)
        marked = (region.role == PARALLEL and region.paradigm == USER) or (not self._written and name.startswith(_PREFIX))
        return name, f"{file}:{region.begin_line}" if file else "", marked

    def _unique(self, name: str, source: str) -> str:
        if name not in self.names:
            return name
        name = f"{name} ({os.path.basename(source) or len(self.names)})"
        return name if name not in self.names else f"{name} #{len(self.names)}"


class RegionInstances:
    """The table of regions, their times and paths."""

    def __init__(self, columns: Columns, definitions: Definitions, extras: Extras, first: I8, leave: I8, team: Team | None = None) -> None:
        """`first` is the first call of each location, `leave` when calls return, ns. All of a team have the same names and paths."""
        location = columns.locations("region")
        number = columns.take("region.name")
        occurring = _occurring(number)
        self.known = Names(definitions, np.unique(np.concatenate(gathered(team, occurring))) if team else occurring, extras)
        name = self.known.row[number]
        del number
        parent = columns.shifted("region.parent", columns.starts("region"))
        path, *above = paths(parent, name)
        if team:
            new, *above = paths_alike(team, *above)
            path = new[path]
        self.paths = Paths(*above)
        begin, end = (columns.shifted(f"region.{key}", first) for key in ("first_call", "end_call"))
        instance = running(location, name)
        instance += 1
        self.times = Times(
            *(_outside(columns.times(f"region.{key}"), call, first, location, leave) for key, call in (("enter", begin), ("leave", end)))
        )
        self.table = Regions(location, path, parent, instance, begin, end)

    def path_of(self, rows: I4) -> I4:
        """Return the path of each instance, -1 for -1."""
        return np.append(self.table.path, np.int32(NONE))[rows]


def _occurring(numbers: I4) -> I4:
    """Return the different ones of small numbers, sorted."""
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    seen[numbers] = True
    return np.flatnonzero(seen).astype("i4")


def _outside(times: I8, call: I4, first: I8, location: I4, leave: I8) -> I8:
    """Return the times of region boundaries, each before `call`; one inside the call before that moves to its return."""
    for piece in chunks(len(times)):
        has = np.flatnonzero(call[piece] > first[location[piece]]) + piece.start
        times[has] = np.maximum(times[has], leave[call[has] - 1])
    return times
