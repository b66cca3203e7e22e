"""The panel of wait states: the severity cube as three trees that choose each other's values, metric, call path and process.

What is written of a metric is what it has beside those it contains, sparse: a row for each call path that is not 0, with its sum over all
processes, and cells for how that is spread over them. Rows of which there is too much lose their cells, smallest first; what these were
worth per process is kept as one row of the metric, so that a metric as a whole is always told by process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perwiz import words
from perwiz.patterns import topology
from perwiz.patterns.metrics import Metric
from perwiz.patterns.severity import Cells, Severity, added
from perwiz.report import blocks
from perwiz.report.page.analyses import WaitStates
from perwiz.report.page.tables import PanelData, column, size
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.tables import STREAM
from perwiz.trace.trace import Trace

BUDGET = 1_000_000
"""Characters of all columns of the panel."""
PLACES = 1024
"""Rows of the tree of processes; more locations are put together in blocks of as many as it takes."""
_NAME = 120
_PER_CELL = 3
"""Characters of a cell, about."""


def document(states: WaitStates, budget: int = BUDGET) -> PanelData:
    """Return the data of the panel: metrics, call tree, places, and the rows and cells of the cube."""
    cube = states.findings.severity
    kept = _present(cube)
    order, block = _order(cube.trace)
    owns = [_blocks(_own(cube, metric), order, block) for metric in kept]
    makespan = states.run.makespan
    whole = blocks.shares_of(states.run.trace, makespan)
    most = budget // _PER_CELL
    while True:
        packed = _packed(cube, kept, owns, most)
        if size(packed) <= budget or not most:
            break
        most = most * 3 // 4
    return {
        "whole": whole,
        "note": f" of {blocks.whole_of(whole, states.run.trace.part)}" if whole != makespan else "",
        "metrics": _metrics(kept, bool(operations.MPI[cube.trace.calls.op].any())),
        "tree": _tree(cube),
        "system": _system(cube.trace, order, block),
        "ranks": cube.trace.locations.process[order].tolist() if cube.trace.topologies else [],
        "topologies": _topologies(cube.trace, order) if block == 1 else [],
        "gains": _gains(states, kept),
        "start": _start(states, kept),
        **packed,
    }


def _present(cube: Severity) -> list[Metric]:
    """Return the metrics that are not 0 everywhere, and those that contain them."""
    above = {metric.name: metric.parent for metric in cube.metrics}
    used: set[str] = set()
    for name, cells in cube.cells.items():
        while cells.value.any() and name and name not in used:
            used.add(name)
            name = above.get(name, "")
    return [metric for metric in cube.metrics if metric.name in used]


def _own(cube: Severity, metric: Metric) -> Cells:
    """Return what a metric has beside those that it contains."""
    parts = [cube.cells[metric.name]] if metric.name in cube.cells else []
    parts += [
        Cells(cube.cells[part.name].node, -cube.cells[part.name].value)
        for part in cube.metrics
        if part.parent == metric.name and part.name in cube.cells
    ]
    return added(parts, len(cube.trace.locations))


def _order(trace: Trace) -> tuple[I8, int]:
    """Return the rows of locations in the order of the tree of processes, and how many make a place."""
    places = trace.locations
    order = np.lexsort((places.thread, places.process, places.node, places.metahost))
    return order, max(1, -(-len(order) // PLACES))


def _blocks(cells: Cells, order: I8, block: int) -> Cells:
    """Return cells with a column per place."""
    value = cells.value[:, order]
    if block > 1:
        value = np.add.reduceat(value, np.arange(0, len(order), block), axis=1)
    rows = np.flatnonzero(value.any(axis=1))
    return Cells(cells.node[rows], value[rows])


def _packed(cube: Severity, kept: list[Metric], owns: list[Cells], most: int) -> PanelData:
    """Return rows and cells, with at most so many cells beside those of whole metrics."""
    told = _told(cube, kept, owns, most)
    node, total, count, location, value, left = [], [], [], [], [], 0
    rows = []
    for own, keep in zip(owns, told, strict=True):
        rest = own.value[~keep].sum(axis=0, keepdims=True) if not keep.all() else np.zeros((0, own.value.shape[1]), "i8")
        cells = np.concatenate([np.where(keep[:, None], own.value, 0), rest])
        where, place = np.nonzero(cells)
        node += [own.node + 1, np.zeros(len(rest), "i8")]
        total += [own.value.sum(axis=1), np.zeros(len(rest), "i8")]
        count.append(np.bincount(where, minlength=len(cells)))
        location.append(place)
        value.append(cells[where, place])
        rows.append(len(cells))
        left += int((~keep).sum())
    return {
        "rows": {"count": column(np.array(rows, "i8")), "node": _column(node), "total": _column(total), "cells": _column(count)},
        "cells": {"place": _column(location), "value": _column(value)},
        "all_rows": sum(map(len, (own.node for own in owns))),
        "left": left,
    }


def _column(parts: list[Ints]) -> dict[str, Any]:
    return column(np.concatenate([*parts, np.empty(0, "i8")]).astype("i8"))


def _told(cube: Severity, kept: list[Metric], owns: list[Cells], most: int) -> list[Any]:
    """Return, per metric, which of its rows keep their cells: those with the largest part of their tree of metrics."""
    whole = {metric.name: max(1, abs(cube.total(_top(cube, metric)))) for metric in kept}
    weight = [np.abs(own.value).sum(axis=1) / whole[metric.name] for own, metric in zip(owns, kept, strict=True)]
    count = [np.count_nonzero(own.value, axis=1) for own in owns]
    flat = np.concatenate([*weight, np.empty(0)])
    order = np.argsort(-flat, kind="stable")
    keep = np.zeros(len(flat), bool)
    keep[order] = np.cumsum(np.concatenate([*count, np.empty(0, "i8")])[order]) <= most
    return np.split(keep, np.cumsum([len(own.node) for own in owns])[:-1]) if owns else []


def _top(cube: Severity, metric: Metric) -> str:
    above = {row.name: row.parent for row in cube.metrics}
    name = metric.name
    while above.get(name) in above:
        name = above[name]
    return name


def _metrics(kept: list[Metric], mpi: bool) -> list[PanelData]:
    """Return what is told of metrics, without words of MPI where no call is one of MPI."""
    row = {metric.name: k for k, metric in enumerate(kept)}
    return [
        {
            "title": words.shown(metric.shown(mpi), _NAME),
            "meaning": words.shown(metric.meaning, 300),
            "unit": metric.unit,
            "parent": row.get(metric.parent, -1),
        }
        for metric in kept
    ]


def _tree(cube: Severity) -> PanelData:
    names, name = np.unique(np.array(cube.tree.name, dtype=object), return_inverse=True)
    return {"names": [words.shown(text, _NAME) for text in names.tolist()], "name": column(name), "parent": column(cube.tree.parent)}


def _system(trace: Trace, order: I8, block: int) -> PanelData:
    """Return the tree of processes: metahosts and nodes where there are several, then ranks, and threads where a process has several."""
    table = trace.locations
    levels = [(table.metahost, trace.metahosts, "metahost"), (table.node, trace.nodes, "node")]
    levels = [level for level in levels if len(np.unique(level[0])) > 1]
    made: list[tuple[str, int, int]] = [("all processes", -1, -1)]
    row_of: dict[tuple[str, ...], int] = {}
    for place, row in enumerate(order[::block].tolist()):
        path = [_named(names, word, int(key[row])) for key, names, word in levels]
        path += [f"rank {table.process[row]}"] if block == 1 and table.thread.any() else []
        above = 0
        for depth in range(len(path)):
            key = tuple(path[: depth + 1])
            if key not in row_of:
                row_of[key] = len(made)
                made.append((path[depth], above, -1))
            above = row_of[key]
        last = int(table.process[order[min(place * block + block, len(order)) - 1]])
        word = "stream" if table.kind[row] == STREAM else "thread"
        label = f"{word} {table.thread[row]}" if table.thread.any() else f"rank {table.process[row]}"
        made.append((f"ranks {table.process[row]} to {last}" if block > 1 else label, above, place))
    names, parent, places = zip(*made, strict=True)
    return {"names": names, "parent": parent, "place": places, "row": order[::block].tolist(), "block": block}


def _named(names: tuple[str, ...], word: str, row: int) -> str:
    name = names[row] if 0 <= row < len(names) else ""
    return words.shown(name, _NAME) or f"{word} {row if row >= 0 else 'unknown'}"


def _topologies(trace: Trace, order: I8) -> list[PanelData]:
    """Return the topology of the most processes: its sizes, and the coordinates of each place, one dimension after the other."""
    main = topology.main(trace)
    if main is None or not main.sizes:
        return []
    return [
        {
            "name": words.shown(main.name, _NAME),
            "sizes": list(main.sizes),
            "at": column(topology.coordinates(trace, main)[order].T.ravel()),
        }
    ]


def _gains(states: WaitStates, kept: list[Metric]) -> PanelData:
    """Return, per pattern whose calls wait, call path and (in the row behind the last) all together: what its waits are worth, ns, and the
    most severe call.
    """
    tree, makespan, instances = states.findings.severity.tree, states.run.makespan, states.findings.instances
    rows: list[tuple[int, int, int, int]] = []
    for k, metric in enumerate(kept):
        if metric.name not in states.worth.whole:
            continue
        waits = instances[metric.name]
        node = tree.of_calls(states.run.trace, waits.call)
        order = np.lexsort((-waits.call, waits.severity, node))
        last = order[np.flatnonzero(np.append(np.diff(node[order]), 1))]
        for path, call in zip(node[last].tolist(), waits.call[last].tolist(), strict=True):
            rows.append((k, path, makespan - states.worth.by_node[metric.name, path].makespan, call))
        rows.append((k, len(tree), makespan - states.worth.whole[metric.name].makespan, int(waits.call[waits.severity.argmax()])))
    table = np.array(rows, "i8").reshape(-1, 4).T
    return dict(zip(("metric", "node", "gain", "call"), map(column, table), strict=True))


def _start(states: WaitStates, kept: list[Metric]) -> list[int]:
    """Return the metric and the call path chosen first: those worth most, else MPI or computation, and where there is most of it."""
    names = [metric.name for metric in kept]
    whole = {name: sites.makespan for name, sites in states.worth.whole.items()}
    gaining = [name for name in whole if whole[name] < states.run.makespan]
    if gaining:
        best = min(gaining, key=whole.__getitem__)
        paths = {node: sites.makespan for (name, node), sites in states.worth.by_node.items() if name == best}
        return [names.index(best), min(paths, key=paths.__getitem__)]
    best = next((name for name in ("mpi", "comp") if name in names), "")
    return [names.index(best), int(np.abs(states.findings.severity.by_node(best)).argmax())] if best else [0, 0]
