"""Parts of the report of `perwiz patterns`: what the waiting comes from, and the parallel efficiencies."""

from __future__ import annotations

import numpy as np

from perwiz import words
from perwiz.patterns.analysis import efficiency
from perwiz.patterns.analysis.causes import Explained
from perwiz.patterns.analysis.efficiency import Efficiency
from perwiz.report import plain
from perwiz.report.blocks import Document, Facts
from perwiz.trace.arrays import F8, Ints
from perwiz.whatif.run import Run

_PATH = 56
"""Columns of a call path in a table."""
_ENOUGH = 0.8
"""An efficiency that counts as good."""
_MOST_LEFT = 0.001
"""Share of the waiting that need not be explained."""
_SHORT = 0.01
"""Share of the program's time below which a region is not shown."""


def causes(explained: Explained | None, rows: int) -> Document | None:
    """Return what the waiting comes from: the `rows` call paths that cost most, and the critical path; None if nobody asked."""
    if explained is None:
        return None
    found, cube = explained.causes, explained.findings.severity
    cost = found.cost.sum(axis=2)
    whole, longest = float(cost.sum()), np.argsort(-cost.sum(axis=(0, 1)), kind="stable")[:rows]
    path = explained.impact
    return {
        "waiting_ns": int(found.waits.instances.severity.sum()),
        "explained_ns": round(whole),
        "call_paths": [_costly(explained, node) for node in longest.tolist() if cost[:, :, node].sum() > 0],
        "critical_path_ns": path.length,
        "critical_path_changes": path.changes,
        "critical_path_imbalance_ns": cube.total("critical_path_imbalance"),
        "indirect_ns": cube.total("mpi_wait_indirect"),
        "propagating_ns": cube.total("mpi_wait_propagating"),
    }


def _costly(explained: Explained, node: int) -> Document:
    """Return what a call path costs others."""
    found, cube = explained.causes, explained.findings.severity
    here: F8 = found.cost[:, :, :, node]
    by_location, by_kind = here.sum(axis=(0, 1)), here.sum(axis=(1, 2))
    worst = int(by_location.argmax())
    return {
        "call_path": cube.tree.full_name(node),
        "cost_ns": round(float(here.sum())),
        "short_term_ns": round(float(here[:, 0].sum())),
        "long_term_ns": round(float(here[:, 1].sum())),
        "worst": plain.location(cube.trace, worst),
        "worst_ns": round(float(by_location[worst])),
        "patterns": {name: round(float(cost)) for name, cost in zip(found.waits.kinds, by_kind, strict=True) if cost},
    }


def cause_lines(block: Document, titles: dict[str, str]) -> list[str]:
    """Return the table of what the waiting comes from; `titles` of patterns."""
    rows = []
    for row in block["call_paths"]:
        most = max(row["patterns"], key=row["patterns"].__getitem__)
        rows.append(
            [
                words.shown(row["call_path"], _PATH),
                words.duration(row["cost_ns"]),
                words.percent(row["cost_ns"], block["waiting_ns"]),
                words.duration(row["short_term_ns"]),
                words.duration(row["long_term_ns"]),
                f"{words.rank(row['worst']['rank'], row['worst']['thread'])}: {words.duration(row['worst_ns'])}",
                f"{words.shown(titles[most])} {words.percent(row['patterns'][most], row['cost_ns'])}",
            ]
        )
    head = ["call path, on the late side", "delay cost", "of waiting", "short term", "long term", "worst rank", "mostly as"]
    return words.table(head, rows, left=(0, 6))


def answer(block: Document | None) -> Facts:
    """Return where most of the waiting comes from."""
    if block is None or not block["call_paths"]:
        return []
    row = block["call_paths"][0]
    cost = f"{words.duration(row['cost_ns'])} ({words.percent(row['cost_ns'], block['waiting_ns'])}) of the waiting"
    return [("main cause", f"{words.shown(row['call_path'], _PATH)}: {cost} is for a process that spends more time there than others")]


def lines(block: Document | None, titles: dict[str, str]) -> list[str]:
    """Return the section of causes: what it shows, the table and what the table leaves out; nothing if there are none."""
    if block is None or not block["call_paths"]:
        return []
    title = "causes, by delay cost: others waited so long because a process spent more time here than they (long term: via others)"
    left, above, length = block["waiting_ns"] - block["explained_ns"], block["critical_path_imbalance_ns"], block["critical_path_ns"]
    out = ["", title, *cause_lines(block, titles)]
    if left > _MOST_LEFT * block["waiting_ns"]:
        out.append(f"{words.duration(left)} of waiting is for nothing recorded: for processes that began late, or clocks are wrong")
    path = f"critical path as Scalasca defines it: {words.duration(length)}"
    changes = f"goes {words.several(block['critical_path_changes'], 'time')} to another process"
    return [*out, f"{path}, {changes}, {words.percent(above, length)} of it above the mean of all"]


def efficiencies(run: Run, explained: Explained | None) -> list[Document]:
    """Return the efficiencies of the program and of its regions; none if nobody asked for causes."""
    if explained is None or not len(run.trace.locations):
        return []
    cube = explained.findings.severity
    out = [_efficiency(found) for found in efficiency.efficiencies(run, cube)]
    out.sort(key=lambda row: (row["region"], -row["time_ns"]))
    out[0]["estimated_ideal_ns"] = efficiency.estimate(cube)
    return out


def reference(run: Run, rows: list[Document], path: str, computation: Ints) -> Document:
    """Return how a run scales from a reference run, whose computation per process is given; `rows` are the efficiencies."""
    share = efficiency.scaling(efficiency.computation(run.trace), computation)
    return {
        "trace": path,
        "processes": len(computation),
        "computation_ns": int(computation.sum()),
        "computation_scaling": share,
        "global_efficiency": share * rows[0]["parallel"],
    }


def reference_line(block: Document) -> str:
    """Return what a reference run says."""
    scaled, whole = _shown(block["computation_scaling"]).rstrip(), _shown(block["global_efficiency"]).rstrip()
    of = words.several(block["processes"], "process")
    return f"against {words.shown(block['trace'])} of {of}: computation scaling {scaled}, global efficiency {whole}"


def _efficiency(found: Efficiency) -> Document:
    return {
        "name": found.name,
        "region": found.region,
        "time_ns": found.time,
        "ideal_ns": found.ideal,
        "mean_useful_ns": float(found.useful.mean()),
        "max_useful_ns": int(found.useful.max()),
        "load_balance": found.load_balance,
        "serialisation": found.serialisation,
        "transfer": found.transfer,
        "communication": found.communication,
        "parallel": found.parallel,
        "estimated_ideal_ns": None,
    }


def efficiency_lines(rows: list[Document], regions: bool) -> list[str]:
    """Return the table of efficiencies: of the program, and of its regions on request."""
    least = _SHORT * rows[0]["time_ns"]
    kept = [row for row in rows if not row["region"] or (regions and row["time_ns"] >= least)]
    short = sum(row["region"] for row in rows) - sum(row["region"] for row in kept)
    keys = ("load_balance", "serialisation", "transfer", "communication", "parallel")
    lines = [
        [
            words.shown(row["name"], _PATH),
            *(words.duration(row[f"{key}_ns"]) for key in ("time", "ideal")),
            *(_shown(row[key]) for key in keys),
        ]
        for row in kept
    ]
    whole = rows[0]
    guess = f"ideal: replayed, with calls and messages that take no time; Cube's estimate: {words.duration(whole['estimated_ideal_ns'])}"
    more = [f"and {words.several(short, 'region')} shorter than 1 % of it (--json lists all)"] if regions and short else []
    return [
        *words.table(["part", "time", "ideal", "balance", "serialisation", "transfer", "communication", "parallel"], lines),
        *more,
        guess,
    ]


def _shown(value: float) -> str:
    """Return an efficiency in percent, marked if it is low."""
    return f"{100 * value:.1f} %{' !' if value < _ENOUGH else '  '}"
