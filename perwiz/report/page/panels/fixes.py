"""The panel of fixes: the ranked list of what to change, made from the document of `perwiz domino`."""

from __future__ import annotations

import shlex

import numpy as np

from perwiz import words
from perwiz.report import blocks, spans
from perwiz.report.domino import document as domino
from perwiz.report.domino.records import Change, ChangedSet, DominoDocument, PathStep
from perwiz.report.domino.text import pace
from perwiz.report.page.analyses import Report
from perwiz.report.page.tables import PanelData
from perwiz.report.records import Span
from perwiz.whatif import selectors

_ROWS = 20
_NAME = 80


def document(report: Report) -> PanelData:
    """Return the calls and call sites that pay, and the domino path; times in ns, `id` the number of a call to show."""
    ranked = domino.document(report.domino, _ROWS)
    path = ranked.path
    return {
        "answer": _answer(ranked),
        "changes": [_place(row) | _worth(row) | {"wait": row.wait_ns} for row in ranked.changes],
        "sets": [_set(report, row) for row in ranked.sets],
        "steps": [_step(row, path.trigger) for row in path.steps],
        "path_note": f"Calls in the order of time, each waiting for one before it; `then`: when {path.trigger} (*) is changed.",
    }


def _answer(ranked: DominoDocument) -> list[list[str]]:
    """Return labels and facts: what gains most, how far all of it goes, and how good the model is."""
    now, bound, whole = ranked.replayed_ns, ranked.bound_ns, ranked.shares_of_ns
    call = f"{ranked.changes[0].change} gains {_gain(ranked.changes[0], whole)}" if ranked.changes else "none gains anything"
    best = ranked.sets[ranked.best_set] if ranked.best_set is not None else None
    site = f"{words.shown(best.change or best.name, _NAME)} gains {_gain(best, whole)}" if best else "none gains anything"
    least = f"{words.duration(bound)}, {words.percent(now - bound, whole)} less, if no call waited{blocks.as_recorded(ranked.health)}"
    waiting = f"{ranked.waiting_calls} of {words.several(ranked.calls, 'call')} wait, {words.duration(ranked.waiting_ns)} in all"
    return [
        ["best single call", call],
        *_span(ranked.best_span, ranked.changes[0].makespan_ns if ranked.changes else 0),
        ["best call site", site],
        *_span(ranked.set_span, best.makespan_ns if best else 0),
        ["at best", f"{least}; {waiting}, {ranked.gaining_calls} of them would gain alone"],
        *_span(ranked.bound_span, bound),
        *([label, fact] for label, fact in pace(ranked)),
        ["error", _error(ranked.replay_error_ns)],
    ]


def _gain(row: Change | ChangedSet, whole: int) -> str:
    return f"{words.duration(row.gain_ns)} ({words.percent(row.gain_ns, whole)})"


def _span(span: Span | None, makespan: int) -> list[list[str]]:
    """Return between which times an answer lies, as a fact."""
    return [list(fact) for fact in spans.facts(span, makespan)]


def _error(error: int) -> str:
    off = f"at most {words.duration(error)} off the recorded one" if error else "exactly the recorded one"
    return f"the unchanged run, replayed, is {off}"


def _worth(row: Change | ChangedSet) -> PanelData:
    return {"gain": row.gain_ns, "makespan": row.makespan_ns}


def _place(row: Change) -> PanelData:
    partner = row.partner
    return {
        "id": int(row.call[1:]),
        "call": row.call,
        "rank": words.rank(row.rank, row.thread),
        "routine": row.routine,
        "partner": f"{partner.call}, rank {words.rank(partner.rank, partner.thread)}" if partner else "-",
        "where": words.shown(row.site or row.region, _NAME) or "-",
    }


def _set(report: Report, row: ChangedSet) -> PanelData:
    change = words.shown(row.change or row.name, 300)
    return _worth(row) | {"id": _longest(report, row.change), "wait": row.wait_ns, "calls": row.calls, "change": change}


def _longest(report: Report, change: str | None) -> int | None:
    """Return the call of a set that waits longest; None if no short text says which calls it has."""
    if change is None:
        return None
    chosen = selectors.calls(report.run.trace, shlex.split(change)[1])
    return int(np.where(chosen, report.run.waits.time, -1).argmax())


def _step(row: PathStep, trigger: str | None) -> PanelData:
    mark = " *" if row.call == trigger else ""
    return _place(row) | {
        "number": f"{row.number}{mark}",
        "wait": row.wait_ns,
        "wait_then": row.wait_then_ns,
        "gain": row.gain_ns,
        "less": row.less_ns,
        "fewer": row.fewer_calls,
    }
