"""Severity: a number for every metric, call path and location, as KOJAK and Cube keep it (Wolf et al. 2006, section 4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from perwiz.patterns.callpaths import CallTree
from perwiz.patterns.metrics import Metric, ancestors
from perwiz.trace.arrays import F8, I4, I8
from perwiz.trace.spread.share import Part, Share
from perwiz.trace.spread.team import gathered
from perwiz.trace.trace import Trace


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The values of one metric that are not 0 on some call paths; they are exclusive along the call tree."""

    node: I4
    """Rows of the call tree, ascending."""
    value: I8
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

    def by_node(self, name: str, inclusive: bool = False) -> I8:
        """Return a metric per call path, int64, summed over locations; with all call paths below on request."""
        out = np.zeros(len(self.tree), "i8")
        if name in self.cells:
            out[self.cells[name].node] = self.cells[name].value.sum(axis=1)
        return self.tree.inclusive(out) if inclusive else out

    def by_location(self, name: str) -> I8:
        """Return a metric per location, int64, summed over call paths."""
        locations = len(self.trace.locations)
        return self.cells[name].value.sum(axis=0) if name in self.cells else np.zeros(locations, "i8")


def cells(node: I4, location: I4, value: I8, size: tuple[int, int]) -> Cells:
    """Return the sums of values by (node, location); `size` is the number of nodes and of locations.

    node 3 1 3, location 0 1 0, value 5 6 7, size (4, 2)      node 1 3, value (0 6) (12 0)
    """
    used = np.zeros(size[0], bool)
    used[node] = True
    rows = np.flatnonzero(used).astype("i4")
    out = np.zeros((len(rows), size[1]), "i8")
    np.add.at(out, ((np.cumsum(used) - 1)[node], location), value)
    return Cells(rows, out)


def added(summands: Iterable[Cells], locations: int) -> Cells:
    """Return the sum of cells."""
    several = list(summands)
    if len(several) == 1:
        return several[0]
    rows = np.unique(np.concatenate([cells.node for cells in several])) if several else np.empty(0, "i4")
    out = np.zeros((len(rows), locations), "i8")
    for cells in several:
        out[np.searchsorted(rows, cells.node)] += cells.value
    return Cells(rows.astype("i4"), out)


def summed(leaves: Iterable[tuple[str, Cells]], metrics: Iterable[Metric], locations: int) -> dict[str, Cells]:
    """Return metrics and those that contain them: the sums of some cells by the name of the metric they belong to."""
    tree = {metric.name: metric for metric in metrics}
    summands: dict[str, list[Cells]] = {}
    for leaf, part in leaves:
        for name in ancestors(leaf, tree):
            summands.setdefault(name, []).append(part)
    return {name: added(several, locations) for name, several in summands.items()}


def of_all(values: dict[str, Cells], metrics: Iterable[Metric], share: Share) -> dict[str, Cells]:
    """Return metrics over all processes, of which each knows the columns of its locations; told at once. A process alone knows all."""
    if not isinstance(share, Part):
        return values
    nothing, names = Cells(np.zeros(0, "i4"), np.zeros((0, int(share.bounds[-1])), "i8")), [metric.name for metric in metrics]
    known = [values.get(name, nothing) for name in names]
    node = np.concatenate([cells.node.astype("i8") + (k << 32) for k, cells in enumerate(known)])
    every, own = share.distinct(node), np.concatenate([cells.value[:, share.locations] for cells in known])
    place, width = np.searchsorted(every, node), np.diff(share.bounds)
    here = np.zeros((len(every), own.shape[1]), "i8")
    here[place] = own
    columns = [each.reshape(len(every), count) for each, count in zip(gathered(share.team, here.ravel()), width.tolist(), strict=True)]
    value, metric = np.concatenate(columns, axis=1), every >> 32
    rows = [slice(*np.searchsorted(metric, [k, k + 1])) for k in range(len(names))]
    return {name: Cells((every[row] & 0xFFFFFFFF).astype("i4"), value[row]) for name, row in zip(names, rows, strict=True)}


def full(severity: Severity, name: str) -> I8:
    """Return a metric by (node, location), also where it is 0."""
    out = np.zeros((len(severity.tree), len(severity.trace.locations)), "i8")
    if name in severity.cells:
        out[severity.cells[name].node] = severity.cells[name].value
    return out


def dense(value: F8 | I8) -> Cells:
    """Return values by (node, location) as cells, rounded; nodes without any left out."""
    whole = np.rint(value).astype("i8")
    rows = np.flatnonzero(whole.any(axis=1)).astype("i4")
    return Cells(rows, whole[rows])
