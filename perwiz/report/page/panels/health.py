"""The panel of health: what the answers rest on, as facts."""

from __future__ import annotations

import platform

import numpy as np

from perwiz import __version__, words
from perwiz.clock.figures import Figures, figures
from perwiz.report import blocks as parts
from perwiz.report import machine as machines
from perwiz.report import misfit as misfits
from perwiz.report.page.analyses import Report
from perwiz.report.page.tables import PanelData
from perwiz.report.records import Health


def document(report: Report) -> PanelData:
    """Return blocks of facts, each with a title."""
    run = report.run
    shown = parts.model(run.weighted.model)
    found = misfits.of_run(run)
    model = machines.facts(machines.machine(run.machine), shown, found.messages)
    misfit = misfits.facts(found, shown, run.replay_error, "sweep")
    blocks = [_health("Trace", report.run.trace.path, parts.health(run.health()))]
    if report.comparison:
        side = report.comparison.second
        blocks.append(_health("Re-measured trace", side.trace.path, parts.health(side.health)))
    if run.clocks.correction:
        blocks.append(_block("Clocks", _clocks(figures(run.clocks.correction))))
    blocks.append(_block("Model and misfit", [*model, *misfit]))
    blocks.append(_block("Made by", _made(report)))
    return {"blocks": blocks}


def _block(title: str, facts: parts.Facts) -> PanelData:
    return {"title": title, "facts": [[label, text] for label, text in facts]}


def _health(title: str, path: str, health: Health) -> PanelData:
    return _block(title, [("file", words.shown(path, 300)), *parts.health_facts(health)])


def _clocks(quality: Figures) -> parts.Facts:
    """Return how good the correction of the clocks is, as `perwiz correct` has it."""
    messages = ("messages", quality.messages_before, quality.messages_after)
    records = ("by their records", quality.records_before, quality.records_after)
    collectives = ("collectives", quality.collectives_before, quality.collectives_after)
    links = ("threads, streams, windows", quality.links_before, quality.links_after)
    facts = [
        (name, f"{before.reversed} of {before.pairs} reversed before, {after.reversed} after")
        for name, before, after in (
            messages,
            *([records] if records[1:] != messages[1:] else []),
            collectives,
            *([links] if quality.links_before.pairs else []),
        )
    ]
    moved = f"{quality.moved} of {quality.events} events, {words.duration(round(quality.average_displacement))} on average"
    facts.append(("moved", f"{moved}, {words.duration(quality.largest_displacement)} at most"))
    changes = (("positions", quality.position), ("distances", quality.distance))
    return [*facts, *((name, f"changed by {100 * by.average:.3g} % on average, {100 * by.maximum:.3g} % at most") for name, by in changes)]


def _made(report: Report) -> parts.Facts:
    versions = f"perwiz {__version__}, Python {platform.python_version()}, numpy {np.__version__}"
    return [("command", words.shown(report.command, 4000)), ("versions", versions)]
