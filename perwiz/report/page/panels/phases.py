"""The panel of behaviour over time: phases, efficiencies and where the time goes, over iterations or windows."""

from __future__ import annotations

from perwiz.patterns.overtime.overtime import over_time
from perwiz.patterns.overtime.split import hosts
from perwiz.report.page.analyses import WaitStates
from perwiz.report.page.tables import PanelData, fewer, table
from perwiz.report.phases import document as report
from perwiz.report.phases import text
from perwiz.report.phases.document import Part, PhaseOf

_ROWS = 30
"""Phases in the table."""
_FACTORS = {"load_balance": "mark", "serialisation": "wait", "transfer": "calls", "parallel": "other"}
_WAITS = ("wait", "collective", "transfer")


def document(states: WaitStates) -> PanelData:
    """Return what is said, lines of efficiencies, and areas of what a process does on average in an iteration or window, ns."""
    if not len(hosts(states.run.trace)):
        return {"facts": [["phases", "none: there are no processes"]], "edges": []}
    told = report.document(over_time(states.run, states.findings))
    parts = report.drawn(told)
    head, rows, names = text.table(told, _ROWS)
    last, go = len(head), [_go(phase) for phase in told.phases[:_ROWS]]
    cells = table(head, rows, (0, *range(last - names, last)), fewer(len(rows), len(told.phases)), go)
    lines = [
        {"name": "parallel efficiency" if name == "parallel" else text.TITLES[name], "colour": colour, "values": _percents(parts, name)}
        for name, colour in _FACTORS.items()
    ]
    areas = report.areas(told, len(_WAITS))
    colours = ["idle", *_WAITS[: len(areas) - 2], *["gap"] * (len(areas) - 2 - len(_WAITS)), "receive"]
    return {
        "facts": [[label, fact] for label, fact in text.answer(told) if label != "recorded"],
        "by": told.by[:-1],
        "edges": [*(part.first for part in parts), parts[-1].last + 1] if parts else [],
        "bounds": [phase.first for phase in told.phases if phase.kind in ("warm-up", "phase")][1:],
        "lines": lines,
        "areas": [
            {"name": name, "colour": colour, "values": [round(ns) for ns in values]}
            for (name, values), colour in zip(areas, colours, strict=True)
        ],
        "note": text.NOTE if told.processes > 1 else text.ALONE,
        "tables": [cells],
    }


def _percents(parts: list[Part], name: str) -> list[float]:
    return [round(100 * float(getattr(part, name)), 1) for part in parts]


def _go(phase: PhaseOf) -> PanelData:
    return {"from": phase.begin_ns, "to": phase.end_ns}
