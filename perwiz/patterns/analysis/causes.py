"""What findings come from: delay costs, the splits of waits for messages, the critical path, imbalance; as metrics beside the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.patterns.analysis import delays, impact
from perwiz.patterns.analysis.delays import Causes
from perwiz.patterns.analysis.impact import Impact
from perwiz.patterns.intervals import intervals
from perwiz.patterns.metrics import cause_metrics, in_order
from perwiz.patterns.pattern import View
from perwiz.patterns.search import Findings
from perwiz.patterns.severity import Cells, Severity, added, dense, full, summed
from perwiz.trace.arrays import Mask

NAMES = frozenset(metric.name for metric in cause_metrics(shmem=True, threads=True))
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
    report = tell or (lambda done, steps: None)
    severity = findings.severity
    view, tree = View(severity.trace), severity.tree
    waits = delays.wait_states(findings.instances)
    done = intervals(view, tree, waits.instances)
    report(1, _STEPS)
    causes = delays.causes(view, tree, waits, done)
    report(2, _STEPS)
    path = impact.find_impact(view, len(tree), waits, done)
    locations = len(severity.trace.locations)
    metrics = cause_metrics(view.has_shmem, view.has_threads)
    values = summed([*delays.metrics(causes).items(), *_splits(view, severity, causes).items()], metrics, locations)
    values |= _partitions(impact.metrics(path), locations)
    values |= impact.imbalance_metrics(full(severity, "comp"), _visited(severity))
    whole = Severity(severity.trace, tree, in_order([*severity.metrics, *metrics]), {**severity.cells, **values})
    return Explained(dataclasses.replace(findings, severity=whole), causes, path)


def _splits(view: View, severity: Severity, causes: Causes) -> dict[str, Cells]:
    """Return waits for messages split by what explains them, and by what they cause."""
    out, size = {}, len(severity.trace.locations)
    for name, (short, long) in _SPLITS.items():
        if name not in causes.waits.kinds:
            continue
        chosen = causes.waits.of_patterns(name)
        call = causes.waits.instances.call[chosen]
        for part, rest, value in (
            (f"mpi_wait_indirect_{long}", f"mpi_wait_direct_{long}", causes.indirect[chosen]),
            (f"mpi_wait_propagating_{short}", f"mpi_wait_terminal_{short}", causes.propagating[chosen]),
        ):
            booked = np.zeros((len(severity.tree), size))
            np.add.at(booked, (severity.tree.of_calls(severity.trace, call), view.location[call]), value)
            out[part] = dense(booked)
            out[rest] = added([severity.cells[name], Cells(out[part].node, -out[part].value)], size)
    return out


def _partitions(values: dict[str, Cells], locations: int) -> dict[str, Cells]:
    """Return the metrics of the impact with those that are made of others."""
    inter, whole = values["inter_partition_imbalance"], values["critical_imbalance_impact"]
    on_path = added([values["critical_path_activities"], whole], locations)
    intra = added([whole, Cells(inter.node, -inter.value)], locations)
    out = {"performance_impact_criticalpath": on_path, "intra_partition_imbalance": intra}
    return {**values, **out, "performance_impact": added([on_path, values["non_critical_path_activities"]], locations)}


def _visited(severity: Severity) -> Mask:
    """Return which locations are ever in a node, by (node, location); at the root all are."""
    visited = full(severity, "visits") > 0
    visited[0] = True
    return visited
