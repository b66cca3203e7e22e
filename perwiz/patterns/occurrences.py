"""How often each pattern occurs: a metric under its name and `_count`, and under Scalasca's names where it counts instances too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from perwiz.patterns.metrics import TIMES, Metric
from perwiz.patterns.pattern import Instances
from perwiz.patterns.severity import Cells, added
from perwiz.trace.tables import Messages

COUNT = "_count"
"""Behind the name of a pattern: the metric of its occurrences."""
_ALL = Metric("instances", "Instances", "", TIMES, "occurrences of patterns, at the calls whose time is lost")
_SCALASCA = {"mpi_latesender": "ls_count", "mpi_latesender_wo": "lswo_count", "mpi_latereceiver": "lr_count"}
"""Scalasca's names of occurrences, behind `mpi_s` for messages without bytes, behind `mpi_c` for others."""


def metrics(patterns: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of occurrences, given those of severity: the same tree, what is a special case of no pattern under one root.

    mpi_latesender of mpi_point2point, mpi_latesender_wo of it       instances { mpi_latesender_count { mpi_latesender_wo_count } }
    """
    names = {metric.name for metric in patterns}
    above = {metric.name: metric.parent + COUNT if metric.parent in names else _ALL.name if metric.parent else "" for metric in patterns}
    return [_ALL, *(dataclasses.replace(m, name=m.name + COUNT, parent=above[m.name], unit=TIMES) for m in patterns)]


def occurrences(counted: dict[str, Cells], patterns: Sequence[Metric], locations: int) -> dict[str, Cells]:
    """Return the cells of these metrics, given how often each pattern occurs."""
    top = [counted[metric.name[: -len(COUNT)]] for metric in metrics(patterns) if metric.parent == _ALL.name]
    return {_ALL.name: added(top, locations), **{name + COUNT: cells for name, cells in counted.items()}}


def by_bytes(instances: dict[str, Instances], messages: Messages, book: Callable[[Instances], Cells]) -> dict[str, Cells]:
    """Return the metrics that Scalasca has: late senders and receivers by whether their message has bytes; `book` counts instances."""
    out = {}
    for name, behind in _SCALASCA.items():
        full = messages.bytes[instances[name].message] > 0
        out[f"mpi_s{behind}"], out[f"mpi_c{behind}"] = book(instances[name].where(~full)), book(instances[name].where(full))
    return out
