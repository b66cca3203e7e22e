"""The panel of waits: how long they are, in bins of 1, 2 and 5 times a power of ten, by routine; and the longest of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perwiz import words
from perwiz.report import blocks
from perwiz.report.page.tables import PanelData, table
from perwiz.report.palette import GROUPS
from perwiz.report.picture.lanes import GROUP
from perwiz.report.records import Wait
from perwiz.trace import operations
from perwiz.trace.arrays import I8, U2
from perwiz.whatif.run import Run

ROUTINES = 6
"""Routines with a colour of their own; the others are put together."""
EDGES = np.array([step * 10**power for power in range(13) for step in (1, 2, 5)], "i8")
"""Where bins begin, ns; the last has no end."""
_ROWS = 25


def document(run: Run) -> PanelData:
    """Return the answer, two charts (waits and ns, per bin a number for each routine) and two tables."""
    time = run.waits.time
    names, edges, count, total = histogram(run)
    whole, number = int(total.sum()), int(count.sum())
    return {
        "answer": f"{number} of {words.several(len(time), 'call')} wait, {words.duration(whole)} in all",
        "routines": names,
        "colours": [GROUPS[GROUP[operations.OP[name]]] if name in operations.OP else "other" for name in names],
        "edges": [_round(edge) for edge in edges.tolist()],
        "charts": [
            _chart("number of waits, by how long they are", names, edges, count, str),
            _chart("time waited, by how long the waits are", names, edges, total, words.duration),
        ],
        "tables": [_bins(edges, count.sum(axis=1), total.sum(axis=1)), _longest(run)],
    }


def histogram(run: Run) -> tuple[list[str], I8, I8, I8]:
    """Return the routines that wait most, where bins begin (ns), and the number and ns of waits, each (bins, routines)."""
    rows = np.flatnonzero(run.waits.time > 0)
    time, op = run.waits.time[rows], run.trace.calls.op[rows]
    names, group = _routines(op, time)
    edge = np.searchsorted(EDGES, time, side="right") - 1
    first, last = (int(edge.min()), int(edge.max())) if len(rows) else (0, -1)
    count, total = np.zeros((2, last - first + 1, len(names)), "i8")
    np.add.at(count, (edge - first, group), 1)
    np.add.at(total, (edge - first, group), time)
    return names, EDGES[first : last + 1], count, total


def _routines(op: U2, time: I8) -> tuple[list[str], I8]:
    """Return the names of the routines that wait most, and the row of these names of each wait."""
    total = np.zeros(len(operations.OPS), "i8")
    np.add.at(total, op, time)
    order = np.argsort(-total, kind="stable")
    place = np.minimum(np.argsort(order), ROUTINES)
    names = [operations.OPS[k] for k in order[: np.count_nonzero(total)].tolist()]
    return names if len(names) <= ROUTINES else [*names[:ROUTINES], words.several(len(names) - ROUTINES, "other")], place[op]


def _chart(title: str, names: list[str], edges: I8, value: I8, write: Callable[[int], str]) -> PanelData:
    """Return what is drawn, parts of the highest bar, and what is said of each bin."""
    lines = []
    for k, row in enumerate(value.tolist()):
        each = ", ".join(f"{name} {write(part)}" for name, part in zip(names, row, strict=True) if part)
        lines.append(f"{_span(edges, k)}: {write(sum(row))}{f' ({each})' if each else ''}")
    most = max(1, int(value.sum(axis=1).max(initial=0)))
    return {"title": title, "bars": np.round(value / most, 5).tolist(), "said": lines, "most": write(most)}


def _round(ns: int) -> str:
    """Return the edge of a bin: 5 us, not 5.000 us."""
    number, unit = words.duration(ns).split()
    return f"{float(number):g} {unit}"


def _span(edges: I8, k: int) -> str:
    return f"{_round(int(edges[k]))} " + (f"to {_round(int(edges[k + 1]))}" if k + 1 < len(edges) else "and more")


def _bins(edges: I8, count: I8, total: I8) -> PanelData:
    rows = [
        [_span(edges, k), str(count[k]), words.duration(int(total[k])), words.duration(int(total[k:].sum()))] for k in range(len(edges))
    ]
    return table(["wait", "calls", "time", "and longer"], rows, caption="the histogram in numbers")


def _longest(run: Run) -> PanelData:
    waits = blocks.longest(run.trace, run.waits, _ROWS)
    head = ["waits", "call", "rank", "routine", "for", "where"]
    return table(
        head, [_cells(wait) for wait in waits], (1, 3, 4, 5), "the longest waits", [{"call": int(wait.call[1:])} for wait in waits]
    )


def _cells(wait: Wait) -> list[str]:
    partner = wait.partner
    return [
        words.duration(wait.wait_ns),
        wait.call,
        words.rank(wait.rank, wait.thread),
        wait.routine,
        f"{partner.call}, rank {words.rank(partner.rank, partner.thread)}" if partner else "-",
        words.shown(wait.region, 80) or "-",
    ]
