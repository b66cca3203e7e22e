"""The panel of ranks over steps: a map of how long each computes by the mean of all, and who is slow."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.patterns.analysis.devices import devices
from perwiz.report.info.devices import DevicesOf, devices_of
from perwiz.report.info.heat import span
from perwiz.report.info.stragglers import RowOf, StragglersOf, by_mean, facts
from perwiz.report.page.tables import PanelData, column
from perwiz.trace.parts.iterations import Iterations, find
from perwiz.trace.trace import Trace
from perwiz.whatif.run import Run

ROWS = 256
"""Rows of the map; of more ranks, neighbours are one, in each step that which computes longest."""
_SCALE = 1000
"""Parts of the mean that a cell is told in."""


def document(run: Run) -> PanelData:
    """Return what is said, the map by rows, and when each step begins and ends."""
    found = find(run.trace)
    used = devices(run.trace, found)
    told = devices_of(run.trace, used) if used is not None else None
    if told is None or not told.stragglers:
        why = found.why or "no steps of several ranks"
        return {"facts": [["stragglers", f"none can be told: {why}"]], "first": []}
    over = told.stragglers
    ranks, groups = _rows(over, over.ranks), _rows(over, over.groups)
    what = "kernels" if told.devices else "computation"
    return {
        "facts": [[label, fact] for label, fact in facts(over, told.steps, what)],
        "what": what,
        "first": over.first,
        "last": [*(number - 1 for number in over.first[1:]), told.steps],
        "far": span(over),
        "parts": [ranks, groups] if over.groups else [ranks],
        **_times(run.trace, found, over, told),
    }


def _rows(over: StragglersOf, rows: list[RowOf]) -> PanelData:
    """Return the names of some rows, and the parts of the mean in thousandths, row by row; how many ranks make a row."""
    part = by_mean(over, rows)
    block = max(1, -(-len(rows) // ROWS))
    names = [words.shown(row.name, 40) for row in rows]
    if block > 1:
        first = np.arange(0, len(rows), block)
        part = np.maximum.reduceat(part, first, axis=0)
        ends = np.minimum(first + block, len(rows)) - 1
        names = [f"{names[a]} to {names[b]}" for a, b in zip(first.tolist(), ends.tolist(), strict=True)]
    return {"names": names, "block": block, "cells": column(np.rint(_SCALE * part).astype("i8").ravel())}


def _times(trace: Trace, found: Iterations, over: StragglersOf, told: DevicesOf) -> PanelData:
    """Return when the first rank begins the steps of each column, and when the last ends them, ns since the start of the run."""
    start = int(trace.timeline.locations.enter.min())
    first = np.array(over.first) - 1
    last = np.append(first[1:], told.steps) - 1
    own = found.processes
    begin, end = found.begin[first][:, own].min(axis=1) - start, found.stop[last][:, own].max(axis=1) - start
    return {"begin": column(begin), "end": column(end)}
