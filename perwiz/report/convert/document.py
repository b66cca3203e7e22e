"""The report of `perwiz convert`."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz import words
from perwiz.report import blocks
from perwiz.trace.trace import Trace
from perwiz.whatif.health import Health


def text(trace: Trace, path: str, format: str, missing: Sequence[tuple[str, int]], moved: int, health: Health) -> str:
    """Return what was written to `path` as text for a terminal: the tables, what the format does not hold, the health of the trace."""
    facts = [(label, str(number)) for label, number in _tables(trace) if number]
    facts += [("not written", f"{what}: {number}") for what, number in missing]
    if moved:
        facts.append(("moved", f"{words.several(moved, 'event')}, region boundaries or records, so that no time runs backwards"))
    head = f"{words.shown(path)}: {format}, from {words.shown(trace.path)} ({trace.format})"
    return "\n".join([head, "", *words.facts(facts), "", *blocks.health_lines(blocks.health(health))])


def _tables(trace: Trace) -> list[tuple[str, int]]:
    return [
        ("locations", len(trace.locations)),
        ("calls", len(trace.calls)),
        ("messages", len(trace.messages)),
        ("collectives", len(trace.collectives)),
        ("requests", len(trace.requests)),
        ("regions", len(trace.regions)),
        ("counters", len(trace.counters)),
        ("parameters", len(trace.parameters)),
        ("records", len(trace.records)),
    ]
