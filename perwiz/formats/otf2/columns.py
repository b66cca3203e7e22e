"""What all locations of an OTF2 archive recorded, as whole columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.otf2 import location as local
from perwiz.formats.otf2.locations import RecordedLocations
from perwiz.formats.otf2.read import Recorded
from perwiz.kernels import ragged as kernel
from perwiz.trace.arrays import I4, I8, U1
from perwiz.trace.resources import at_once


class Columns:
    """Takes the arrays of the locations, in their order, and gives each away once, joined."""

    def __init__(self, locations: RecordedLocations) -> None:
        self._locations = locations
        self._runs = [*_runs(locations)]

    def state(self, name: str) -> I8:
        """Return one number of the state of each location that was read here."""
        return self._locations.own[name]

    def sizes(self, prefix: str) -> I8:
        """Return how many rows of a kind each location has."""
        return self.state(f"{prefix}s")

    def starts(self, prefix: str) -> I8:
        """Return where the rows of each location begin, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.sizes(prefix))]).astype("i8")

    def each(self, prefix: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return what each row of a kind has of its location, given one value per location."""
        return np.repeat(values, self.sizes(prefix))

    def locations(self, prefix: str) -> I4:
        """Return the location of each row of a kind."""
        return self.each(prefix, np.arange(len(self._locations), dtype="i4"))

    def take(self, name: str) -> NDArray[Any]:
        """Return a column of all locations."""
        out = self._column(name)
        for run, rows, recorded in self._recorded(name):
            recorded.arrays.put(name, recorded.place, recorded.place + run.stop - run.start, out[rows])
        return out

    def several(self, names: Sequence[str], times: Sequence[str] = (), shifted: Mapping[str, I8] = {}) -> dict[str, NDArray[Any]]:
        """Return columns of all locations by name: as they are, as times, or shifted by so much; in threads if they are long."""
        made = {
            **{name: partial(self.take, name) for name in names},
            **{name: partial(self.times, name) for name in times},
            **{name: partial(self.shifted, name, by) for name, by in shifted.items()},
        }
        rows = sum(int(self.sizes(name.partition(".")[0]).sum()) for name in made)
        return dict(zip(made, at_once([*made.values()], rows), strict=True))

    def shifted(self, name: str, by: I8) -> I4:
        """Return a column of rows that count from 0 on each location, as rows of the whole; -1 stays. `by` as `starts` returns it."""
        shift, sizes = by.astype("i4"), self.sizes(name.partition(".")[0])
        return self._joined(name, lambda part, run: part + np.repeat(shift[run], sizes[run]) * (part >= 0))

    def times(self, name: str) -> I8:
        """Return a column of ticks as ns since the start of the trace."""
        return self._joined(name, lambda part, run: self._locations.times(part, run.start))

    def ragged(self, prefix: str, names: Iterable[str], size: U1) -> tuple[I8, I8]:
        """Return where the values of each row begin, and the values, row by row: as many as its size, in the order of these columns."""
        first = np.cumsum(size, dtype="i8")
        out = np.zeros(int(first[-1]) if len(first) else 0, "i8")
        first -= size
        for place, name in enumerate(names):
            for _, rows, part in self._parts(f"{prefix}.{name}"):
                kernel.put(np.ascontiguousarray(part), size[rows], place, first[rows], out)
        return first, out

    def _joined(self, name: str, made: Callable[[NDArray[Any], slice], NDArray[Any]]) -> NDArray[Any]:
        """Return a column of all locations, the part of each run of them made into another."""
        out = self._column(name)
        for run, rows, part in self._parts(name):
            out[rows] = made(part, run)
        return out

    def _column(self, name: str) -> NDArray[Any]:
        prefix, _, column = name.partition(".")
        return np.zeros(int(self.sizes(prefix).sum()), local.TABLES[prefix][column])

    def _parts(self, name: str) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        """Yield locations, rows and values of each part of a column, but those that are 0 throughout and left out."""
        for run, rows, recorded in self._recorded(name):
            yield run, rows, recorded.arrays.take(name, recorded.place, recorded.place + run.stop - run.start)

    def _recorded(self, name: str) -> Iterator[tuple[slice, slice, Recorded]]:
        """Yield locations, rows and the first of the locations of each of these parts."""
        starts = self.starts(name.partition(".")[0])
        for run in self._runs:
            recorded, rows = self._locations.recorded[run.start], slice(*starts[[run.start, run.stop]].tolist())
            if rows.stop > rows.start and name in recorded.arrays:
                yield run, rows, recorded


def _runs(locations: RecordedLocations) -> Iterator[slice]:
    """Yield locations that follow each other as they were read, and whose clocks are those of their processes; else each alone."""
    begin = 0
    for row, (one, other) in enumerate(itertools.pairwise(locations.recorded), 1):
        follows = other.arrays is one.arrays and other.place == one.place + 1
        if not follows or row in locations.lines or row - 1 in locations.lines:
            yield slice(begin, row)
            begin = row
    if locations.recorded:
        yield slice(begin, len(locations.recorded))
