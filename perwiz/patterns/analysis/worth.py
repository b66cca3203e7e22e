"""What findings are worth: the makespan, replayed, if the calls of a pattern did not wait, on one call path or on all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.patterns.library import BUILT_IN
from perwiz.patterns.search import Findings
from perwiz.trace.tables import NONE
from perwiz.whatif.run import Run
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.sets import makespans
from perwiz.whatif.worth.worth import makespan_after


@dataclasses.dataclass(frozen=True, eq=False)
class Worth:
    """Makespans, ns, each as exact as `perwiz predict --zero-wait` with those calls."""

    whole: dict[str, int]
    """Per pattern: if no call of it waited."""
    by_node: dict[tuple[str, int], int]
    """Per pattern and call path (a row of the call tree): if no call of it on that path waited."""
    every: int
    """If no call of any built-in pattern waited."""
    waiting: int
    """ns that these calls wait, all together: of several waits in one call the longest."""


def worth(run: Run, findings: Findings, tell: Callable[[int, int], object] | None = None) -> Worth:
    """Return what the waits of every pattern that has some are worth; `tell` is told how many patterns of how many are done."""
    named = [name for name, instances in findings.instances.items() if len(instances) and name in findings.waits]
    lost = np.zeros(len(run.trace.calls), "i8")
    for pattern in BUILT_IN:
        if pattern.name in named:
            instances = findings.instances[pattern.name]
            np.maximum.at(lost, instances.call, instances.severity)
    out = Worth({}, {}, makespan_after(run, "zero-wait", np.flatnonzero(lost)), int(lost.sum()))
    for number, name in enumerate(named, start=1):
        family, nodes = _family(run, findings, name)
        remaining = makespans(run.weighted, run.time, family, "zero-wait")
        out.whole[name] = int(remaining[-1])
        out.by_node.update({(name, node): int(value) for node, value in zip(nodes, remaining[:-1], strict=True)})
        if tell is not None:
            tell(number, len(named))
    return out


def _family(run: Run, findings: Findings, name: str) -> tuple[Family, list[int]]:
    """Return the calls of a pattern, one set per call path and one of all, and the call paths."""
    call, tree = findings.instances[name].call, findings.severity.tree
    nodes, place = np.unique(tree.of_calls(run.trace, call), return_inverse=True)
    node_of_call = np.full(len(run.trace.calls), NONE, "i4")
    node_of_call[call] = place
    count = len(nodes)
    row = np.concatenate((np.arange(count), np.full(count, count))).astype("i4")
    member = np.tile(np.arange(count, dtype="i4"), 2)
    texts = tuple(tree.full_name(node) for node in nodes.tolist())
    return Family((*texts, name), (None,) * (count + 1), node_of_call, row, member), nodes.tolist()
