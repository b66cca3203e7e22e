"""What findings come from: delay costs, the splits of waits for messages, the critical path, imbalance; as metrics beside the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.patterns.analysis import delays, impact
from perwiz.patterns.analysis.delays import Causes, dense
from perwiz.patterns.analysis.impact import Impact
from perwiz.patterns.metrics import CAUSE_METRICS, ancestors
from perwiz.patterns.pattern import View
from perwiz.patterns.search import Findings
from perwiz.patterns.severity import Cells, Severity, added
from perwiz.trace.arrays import Ints, Mask

_KNOWN = {metric.name: metric for metric in CAUSE_METRICS}
NAMES = frozenset(_KNOWN)
"""Names of the metrics added."""
_STEPS = 3
_SPLITS = {"mpi_latesender": ("ls", "latesender"), "mpi_latereceiver": ("lr", "latereceiver")}


@dataclasses.dataclass(frozen=True, eq=False)
class Explained:
    """Findings with their causes."""

    findings: Findings
    """With the metrics of the causes beside the others."""
    causes: Causes
    impact: Impact


def explain(findings: Findings, tell: Callable[[int, int], object] | None = None) -> Explained:
    """Return findings with what they come from; `tell` is told how many steps of how many are done."""
    told = tell or (lambda done, of: None)
    severity = findings.severity
    view, tree = View(severity.trace), severity.tree
    waits = delays.wait_states(findings.instances)
    intervals = delays.intervals(view, tree, waits)
    told(1, _STEPS)
    found = delays.causes(view, tree, waits, intervals)
    told(2, _STEPS)
    path = impact.impact(view, len(tree), waits, intervals)
    values = _summed({**delays.metrics(found), **_splits(view, severity, found)}, len(severity.trace.locations))
    values |= _partitions(impact.metrics(path), len(severity.trace.locations))
    values |= impact.imbalance_metrics(_whole(severity, "comp"), _visited(severity))
    whole = Severity(severity.trace, tree, (*severity.metrics, *CAUSE_METRICS), {**severity.cells, **values})
    return Explained(dataclasses.replace(findings, severity=whole), found, path)


def _splits(view: View, severity: Severity, found: Causes) -> dict[str, Cells]:
    """Return waits for messages split by what explains them, and by what they cause."""
    out, size = {}, len(severity.trace.locations)
    for name, (short, long) in _SPLITS.items():
        if name not in found.waits.kinds:
            continue
        mine = found.waits.of(name)
        call = found.waits.instances.call[mine]
        for part, rest, value in (
            (f"mpi_wait_indirect_{long}", f"mpi_wait_direct_{long}", found.indirect[mine]),
            (f"mpi_wait_propagating_{short}", f"mpi_wait_terminal_{short}", found.propagating[mine]),
        ):
            booked = np.zeros((len(severity.tree), size))
            np.add.at(booked, (severity.tree.of_calls(severity.trace, call), view.location[call]), value)
            out[part] = dense(booked)
            out[rest] = added([severity.cells[name], Cells(out[part].node, -out[part].value)], size)
    return out


def _summed(leaves: dict[str, Cells], locations: int) -> dict[str, Cells]:
    """Return metrics and those that contain them."""
    parts: dict[str, list[Cells]] = {}
    for name, cells in leaves.items():
        for above in ancestors(name, _KNOWN):
            parts.setdefault(above, []).append(cells)
    return {name: added(some, locations) for name, some in parts.items()}


def _partitions(values: dict[str, Cells], locations: int) -> dict[str, Cells]:
    """Return the metrics of the impact with those that are made of others."""
    inter, whole = values["inter_partition_imbalance"], values["critical_imbalance_impact"]
    on_path = added([values["critical_path_activities"], whole], locations)
    intra = added([whole, Cells(inter.node, -inter.value)], locations)
    out = {"performance_impact_criticalpath": on_path, "intra_partition_imbalance": intra}
    return {**values, **out, "performance_impact": added([on_path, values["non_critical_path_activities"]], locations)}


def _whole(severity: Severity, name: str) -> Ints:
    """Return a metric by (node, location)."""
    out = np.zeros((len(severity.tree), len(severity.trace.locations)), "i8")
    if name in severity.cells:
        out[severity.cells[name].node] = severity.cells[name].value
    return out


def _visited(severity: Severity) -> Mask:
    """Return which locations are ever in a node, by (node, location); at the root all are."""
    visited = _whole(severity, "visits") > 0
    visited[0] = True
    return visited
