"""A store that is larger than what may be held: its long columns are read piece by piece."""

from __future__ import annotations

import dataclasses
import os
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.store import MARKER
from perwiz.formats.store.bounds import check_bounds
from perwiz.formats.store.columns import Columns, Unfit
from perwiz.formats.store.records import EMPTY, Unpacker
from perwiz.formats.store.store import content, unfit
from perwiz.trace.table import Table, dtypes
from perwiz.trace.tables import Times
from perwiz.trace.trace import Trace
from perwiz.trace.windows.large import LEFT_OUT, LONG, TIMES, Column, Large


def read_large(path: str) -> Large:
    """Return the trace of a store, its long columns to be read by pieces; each was read once and fits. Raises TraceError."""
    found = content(path)
    try:
        packed = found["trace"]["fields"]
        sums = found.get("sums")
        columns = Columns(path, sums if isinstance(sums, dict) else {})
        long = {name: _columns(columns, kind, packed[name]) for name, kind in LONG.items()}
        timeline = packed["timeline"]["fields"]
        long |= {name: _columns(columns, Times, timeline[name.removeprefix("times.")]) for name in TIMES}
        if not packed["site"].startswith(EMPTY):
            long["calls"]["site"] = columns.pieces(packed["site"], np.dtype("i4"))
        trace = Unpacker(columns, {Trace: {"path": path, "format": "perwiz store"}}).unpacked(Trace, _without_rows(found["trace"]))
    except Unfit as error:
        raise unfit(path, found, error) from None
    except (KeyError, TypeError, AttributeError):
        raise TraceError(f"{os.path.join(path, MARKER)}: no trace in it, must be what perwiz wrote") from None
    _check(trace, long)
    return Large(trace, long)


def _columns(columns: Columns, kind: type[Table], packed: dict[str, Any]) -> dict[str, Column]:
    """Return the columns of a table; those without rows are there."""
    return {
        name: np.empty(0, dtype)
        if packed["fields"][name].startswith(EMPTY)
        else cast("Column", columns.pieces(packed["fields"][name], dtype))
        for name, dtype in dtypes(kind).items()
    }


def _without_rows(packed: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for a trace as JSON, its long tables without rows."""
    fields = dict(packed["fields"])
    fields |= {name: _empty(kind) for name, kind in (LONG | LEFT_OUT).items()}
    times = fields["timeline"]["fields"]
    fields["timeline"] = {"fields": times | {name: _empty(Times) for name in ("calls", "regions")}}
    return {"fields": fields | {"site": f"{EMPTY}site"}}


def _empty(kind: type[Table]) -> dict[str, Any]:
    return {"fields": {name: f"{EMPTY}{kind.__name__}.{name}" for name in dtypes(kind)}}


def _check(trace: Trace, long: dict[str, dict[str, Column]]) -> None:
    """Raise TraceError as `check_bounds`, or for columns of a table that are not equally long."""
    tables: dict[str, Any] = {}
    for name, columns in long.items():
        if len({len(column) for column in columns.values()}) > 1:
            raise TraceError(f"{trace.path}: columns of {name} of other lengths, all must be equally long")
        tables[name] = _Rows(columns)
    fields = {field.name: getattr(trace, field.name) for field in dataclasses.fields(trace)}
    times = SimpleNamespace(calls=tables.pop(TIMES[0]), regions=tables.pop(TIMES[1]), locations=trace.timeline.locations)
    site = long["calls"].get("site", trace.site)
    check_bounds(cast("Trace", SimpleNamespace(**fields | tables | {"timeline": times, "site": site})))


class _Rows(SimpleNamespace):
    """A table whose columns are read by pieces."""

    def __init__(self, columns: dict[str, Column]) -> None:
        super().__init__(**columns)
        self._count = len(next(iter(columns.values())))

    def __len__(self) -> int:
        return self._count
