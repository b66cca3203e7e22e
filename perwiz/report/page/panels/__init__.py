"""The panels of the page: whoever adds one writes `<id>.py`, which makes its data, `<id>.js`, which draws it, and its line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perwiz.report.page.analyses import Report
from perwiz.report.page.panels import curve, efficiency, fixes, health, live, messages, phases, states, stragglers, waits

PANELS: tuple[tuple[str, str, Callable[[Report], Any]], ...] = (
    ("fixes", "Fixes", fixes.document),
    ("live", "What if", lambda report: live.document(report.run, report.ask, report.others)),
    ("states", "Wait states", lambda report: states.document(report.states)),
    ("waits", "Waits", lambda report: waits.document(report.run)),
    ("messages", "Who waits for whom", lambda report: messages.document(report.run)),
    ("efficiency", "Efficiency", lambda report: efficiency.document(report.states, report.critical)),
    ("phases", "Over time", lambda report: phases.document(report.states)),
    ("stragglers", "Stragglers", lambda report: stragglers.document(report.run)),
    ("curve", "Network", lambda report: curve.document(report.run)),
    ("health", "Health", health.document),
)
"""Id, title and data of each tab, in their order; the timeline, which is always there, has `timeline_runs.py`."""
OF_OTHERS = frozenset({"live"})
"""Ids of tabs that show what runs become under further changes, as the timeline does."""
