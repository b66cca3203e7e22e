"""A trace whose long columns are read piece by piece."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from perwiz.trace.arrays import Ints
from perwiz.trace.table import Table
from perwiz.trace.tables import (
    Calls,
    Collectives,
    Counters,
    Labels,
    Links,
    Members,
    Messages,
    Parameters,
    RegionCounters,
    Regions,
    Requests,
    Times,
    Unfinished,
)
from perwiz.trace.trace import Timeline, Trace

LONG: dict[str, type[Table]] = {
    "calls": Calls,
    "requests": Requests,
    "regions": Regions,
    "messages": Messages,
    "collectives": Collectives,
    "members": Members,
    "links": Links,
}
"""The tables that windows have rows of."""
LEFT_OUT: dict[str, type[Table]] = {
    "labels": Labels,
    "unfinished": Unfinished,
    "counters": Counters,
    "region_counters": RegionCounters,
    "parameters": Parameters,
}
"""Those that no question on windows looks at."""
TIMES = ("times.calls", "times.regions")
"""What the times of calls and of regions are called among the columns."""
PIECE = 1 << 17
"""Rows read at a time."""
_NEAR = 256
"""Rows between two wanted ones that are rather read than passed over."""


class Column(Protocol):
    """What a long column can do: what a numpy array can."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Large:
    """A trace whose long tables have their columns beside it."""

    trace: Trace
    """All but these: they have no rows in it."""
    columns: Mapping[str, Mapping[str, Column]]
    """By table, those of `LONG` and `TIMES`, and by name; call sites are the column `site` of calls, if there are any."""

    def rows(self, table: str) -> int:
        """Return how many rows a table has."""
        return len(next(iter(self.columns[table].values())))

    def pieces(self, table: str, *names: str) -> Iterator[tuple[int, list[NDArray[Any]]]]:
        """Yield columns of a table, piece by piece, and the first row of each piece."""
        columns = [self.columns[table][name] for name in names]
        for begin in range(0, self.rows(table), PIECE):
            yield begin, [column[begin : begin + PIECE] for column in columns]


def large(trace: Trace) -> Large:
    """Return a trace that is there as one whose columns are read."""
    columns = {name: _columns(getattr(trace, name)) for name in LONG}
    columns |= zip(TIMES, (_columns(trace.timeline.calls), _columns(trace.timeline.regions)), strict=True)
    if len(trace.site):
        columns["calls"]["site"] = trace.site
    return Large(without_rows(trace), columns)


def without_rows(trace: Trace) -> Trace:
    """Return a trace without the rows of its long tables."""
    empty = {name: kind.empty() for name, kind in (LONG | LEFT_OUT).items()}
    timeline = Timeline(Times.empty(), Times.empty(), trace.timeline.locations, trace.timeline.origin)
    return dataclasses.replace(trace, timeline=timeline, site=trace.site[:0], **empty)


def _columns(table: Table) -> dict[str, Column]:
    return {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}


def taken(column: Column, rows: Ints) -> NDArray[Any]:
    """Return some rows of a column, ascending: those near each other are read at once."""
    if not len(rows):
        return column[0:0]
    begins = np.flatnonzero(np.diff(rows, prepend=rows[0] - 2 * _NEAR) > _NEAR)
    ends = np.append(begins[1:], len(rows))
    pieces = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        first = int(rows[begin])
        pieces.append(column[first : int(rows[end - 1]) + 1][rows[begin:end] - first])
    return np.concatenate(pieces)
