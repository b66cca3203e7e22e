"""The page of `perwiz report`: the answer on top, below it the panels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import structs

from perwiz import words
from perwiz.report import blocks, misfit, spans
from perwiz.report.compare.document import of_calls, unasked
from perwiz.report.compare.text import called, otherwise
from perwiz.report.domino.answer import best, goes_to, sure_to_gain
from perwiz.report.domino.first import untold
from perwiz.report.domino.records import DominoDocument
from perwiz.report.domino.sure import reasons
from perwiz.report.page import html
from perwiz.report.page.analyses import Report, Tell, silent
from perwiz.report.page.html import Panel
from perwiz.report.page.panels import OF_OTHERS, PANELS, timeline_runs
from perwiz.report.page.panels.timeline import BUDGET, Answered
from perwiz.report.page.serve import Answers, Server
from perwiz.report.page.tables import PanelData, size
from perwiz.report.picture.lanes import noun
from perwiz.trace.tables import STREAM

_LINE = ("first change", "what to do")
"""Labels of what stands in the line that is printed beside the page."""


def page(report: Report, tabs: Sequence[Panel] = ()) -> str:
    """Return the page of a report, made of its panels, which are made now if they are not given."""
    return _page(report, tabs or panels(report))


def server(report: Report, tabs: Sequence[Panel]) -> Server:
    """Return what serves the page of a report on this machine and answers its questions, however large the run is."""
    shown, overlays = timeline_runs.shown(report)
    answers = Answers(report.run, Answered(shown[0], overlays, tabs[0].data["unit"]))
    return Server(_page(report, tabs, served=True), answers.answer)


def _page(report: Report, tabs: Sequence[Panel], served: bool = False) -> str:
    return html.page(f"perwiz: {words.shown(report.run.trace.path)}", head(report), tabs, served)


def panels(report: Report, tell: Tell = silent) -> list[Panel]:
    """Return the panels of the page, the timeline first, which is no tab but always there; `tell` is told how many of how many are done.

    Those that show runs under other changes are made last: what those runs take is not there while the others are made.
    """
    made = dict[str, Panel]()
    for number, (name, title, make) in enumerate(sorted(PANELS, key=lambda panel: panel[0] in OF_OTHERS)):
        tell(number, len(PANELS) + 1)
        made[name] = Panel(name, title, make(report))
    tabs = [made[name] for name, *_ in PANELS]
    room = BUDGET - sum(size(tab.data) for tab in tabs)
    return [Panel("timeline", "Timeline", timeline_runs.document(report, room)), *tabs]


def head(report: Report) -> PanelData:
    """Return the top of the page: the answer first."""
    trace, prediction = report.run.trace, report.prediction
    streams = int((trace.locations.kind == STREAM).sum())
    state = report.ranked.health
    first = [*best(report.ranked), *goes_to(report.ranked), *blocks.stands_for(state), *blocks.left_out(state)]
    return {
        "trace": words.shown(trace.path, 300),
        "lanes": words.lanes(len(np.unique(trace.locations.process)), len(trace.locations) - streams, streams),
        "calls": len(trace.calls),
        "noun": noun(trace),
        "messages": len(trace.messages),
        "asked": [words.shown(str(hypothesis), 300) for hypothesis in prediction.hypotheses] if prediction and report.asked else [],
        "best": [[label, words.shown(fact, 1000)] for label, fact in first],
        "sure": [[label, words.shown(fact, 1000)] for label, fact in reasons(report.ranked)],
        "by": _by(report),
        "untold": f"which change pays is not known {blocks.before(report.ranked.health)}" if untold(report.ranked) else None,
        "recorded": report.run.trace.timeline.makespan,
        "part": report.run.trace.part,
        "shares_of": (whole := blocks.shares_of(trace, report.run.makespan)),
        "shares": blocks.share_notes(whole, report.run.makespan, report.run.trace.part),
        "predicted": prediction.predicted.makespan if prediction else None,
        "span": spans.text(spans.span(prediction.span), prediction.predicted.makespan) if prediction and report.asked else None,
        "doubts": [[label.capitalize(), text] for label, text in misfit.doubts(_modelled(report), whole)],
        "waiting": int(report.run.waits.time.sum()),
        "comparison": _comparison(report),
        "incomplete": report.incomplete,
        "holes": [
            *(words.shown(line, 300) for health in report.healths for line in blocks.missing(blocks.health(health))),
            *(f"{words.shown(name)}: {number}" for health in report.healths for name, number in health.holes.items()),
            *(words.shown(fault) for health in report.healths for fault in health.faults),
        ],
        "repairs": [f"{words.shown(name)}: {number}" for health in report.healths for name, number in health.repairs.items()],
    }


def _by(report: Report) -> str | None:
    """Return what gives the run that is shown where nothing was asked; None if it is what there is to gain at best: no change pays."""
    if not report.pays:
        return None
    return "by the first change" if sure_to_gain(report.ranked, report.ranked.ranked[0]) else "by the first change, not sure to gain"


def _modelled(report: Report) -> DominoDocument:
    """Return the document of the ranked list, about what was asked if anything was: that is what the page predicts."""
    prediction, ranked = report.prediction, report.ranked
    if not prediction or not report.asked:
        return ranked
    return structs.replace(ranked, misfit=misfit.misfit(prediction.misfit, prediction.held, prediction.doubts))


def _comparison(report: Report) -> PanelData | None:
    comparison = report.comparison
    if comparison is None:
        return None
    changed = [*called(of_calls(comparison)), *([otherwise(unasked(comparison, report.unasked))] if report.unasked else [])]
    return {
        "asked": report.asked,
        "whole": comparison.second.timeline.makespan,
        "off": comparison.first.makespan - comparison.second.makespan,
        "of": comparison.reference.makespan,
        "reference": "measured run" if comparison.reference is comparison.second else "recorded run",
        "from": comparison.begin.word,
        "trace": words.shown(comparison.second.trace.path, 300),
        "chance": "" if report.chance is None else "which may be all chance" if report.chance.within else "more than chance",
        "unasked": "; ".join(changed) if changed else None,
    }


def line(report: Report, written: str) -> str:
    """Return one line with the answer, behind what was written and what an incomplete trace lacks."""
    prediction, now = report.prediction, report.run.makespan
    if prediction and report.asked:
        asked = "; ".join(words.shown(str(hypothesis)) for hypothesis in prediction.hypotheses)
        then = f", {words.duration(prediction.predicted.makespan)} under {asked}"
    else:
        then = "".join(f"; {label}: {fact}" for label, fact in best(report.ranked) if label in _LINE)
    mark = next(filter(None, map(blocks.mark, report.healths)), "")
    lacks = [fact for health in report.healths for _, fact in blocks.lacking(blocks.health(health))]
    incomplete = f"incomplete: {'; '.join(lacks)}; recorded " if lacks else ""
    part = f" in {report.run.trace.part}" * bool(report.run.trace.part)
    return f"{written}{incomplete}{words.duration(now)}{part}{then}{mark}"
