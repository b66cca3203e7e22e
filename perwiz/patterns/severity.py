"""Severity: a number for every metric, call path and location, as KOJAK and Cube keep it (Wolf et al. 2006, section 4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.metrics import Metric
from perwiz.trace.arrays import Ints
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The values of one metric that are not 0 on some call paths; they are exclusive along the call tree."""

    node: Ints
    """Rows of the call tree, ascending."""
    value: Ints
    """One row per node, one column per location; ns, bytes or occurrences as the metric says."""

    @property
    def total(self) -> int:
        """Sum of all values."""
        return int(self.value.sum())


@dataclasses.dataclass(frozen=True, eq=False)
class Severity:
    """The severity cube of a run. A metric contains those below it in the tree of metrics."""

    trace: Trace
    tree: CallTree
    metrics: tuple[Metric, ...]
    """Parents before children."""
    cells: dict[str, Cells]
    """Per name of a metric; one without cells is 0 everywhere."""

    def total(self, name: str) -> int:
        """Return the sum of a metric over all call paths and locations."""
        return self.cells[name].total if name in self.cells else 0

    def by_node(self, name: str, inclusive: bool = False) -> Ints:
        """Return a metric per call path, int64, summed over locations; with all call paths below on request."""
        out = np.zeros(len(self.tree), "i8")
        if name in self.cells:
            out[self.cells[name].node] = self.cells[name].value.sum(axis=1)
        return self.tree.inclusive(out) if inclusive else out

    def by_location(self, name: str) -> Ints:
        """Return a metric per location, int64, summed over call paths."""
        locations = len(self.trace.locations)
        return self.cells[name].value.sum(axis=0) if name in self.cells else np.zeros(locations, "i8")


def cells(node: Ints, location: Ints, value: Ints, size: tuple[int, int]) -> Cells:
    """Return the sums of values by (node, location); `size` is the number of nodes and of locations."""
    used = np.zeros(size[0], bool)
    used[node] = True
    rows = np.flatnonzero(used).astype("i4")
    place = np.cumsum(used) - 1
    out = np.zeros(len(rows) * size[1], "i8")
    np.add.at(out, place[node] * size[1] + location, value)
    return Cells(rows, out.reshape(len(rows), size[1]))


def added(parts: Iterable[Cells], locations: int) -> Cells:
    """Return the sum of cells."""
    several = list(parts)
    if len(several) == 1:
        return several[0]
    rows = np.unique(np.concatenate([part.node for part in several])) if several else np.empty(0, "i4")
    out = np.zeros((len(rows), locations), "i8")
    for part in several:
        out[np.searchsorted(rows, part.node)] += part.value
    return Cells(rows.astype("i4"), out)
