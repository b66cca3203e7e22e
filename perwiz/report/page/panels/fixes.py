"""The panel of fixes: the ranked list of what to change, made from the document of `perwiz domino`."""

from __future__ import annotations

from perwiz import words
from perwiz.report import blocks, spans
from perwiz.report.domino import lists
from perwiz.report.domino.answer import for_devices, hot_spots, limits, pipeline
from perwiz.report.domino.change import between, gained
from perwiz.report.domino.records import Change, DominoDocument, Line, PathStep, Ranked
from perwiz.report.domino.sure import limited
from perwiz.report.domino.text import pace
from perwiz.report.page.analyses import Report
from perwiz.report.page.tables import PanelData
from perwiz.report.records import Span
from perwiz.whatif.ranking.change import Change as RankedChange

_NAME = 80


def document(report: Report) -> PanelData:
    """Return what could be changed, the calls that pay, and the domino path; times in ns, `id` the number of a call to show."""
    ranked = report.ranked
    path = ranked.path
    return {
        "answer": _answer(ranked),
        "changes": [_place(row) | _worth(row) | {"wait": row.wait_ns} for row in ranked.changes],
        "ranked": [
            {"number": lists.numbered(number, row)} | _line(report, row, line.change) | _ends(ranked, row)
            for number, (row, line) in enumerate(zip(ranked.ranked, report.lines, strict=False), 1)
        ],
        "ranked_notes": [f"{note[0].upper()}{note[1:]}." for note in lists.order(ranked, ranked.ranked)],
        "at_best": [_line(report, row, line.change) for row, line in zip(ranked.at_best, report.bounds, strict=False)],
        "at_best_note": "A wait goes only as far as what it waits for comes earlier, and calls always take some time.",
        "steps": [_step(row, path.trigger) for row in path.steps],
        "path_note": f"Calls in the order of time, each waiting for one before it; `waits then`: when {path.trigger} (*) is changed.",
    }


def _answer(ranked: DominoDocument) -> list[list[str]]:
    """Return labels and facts: what limits the run, what all waits are worth, and how good the model is."""
    bound = ranked.bound_ns
    least = f"{gained(ranked, bound)}, if no call waited{blocks.as_recorded(ranked.health)}"
    waiting = f"{ranked.waiting_calls} of {words.several(ranked.calls, 'call')} wait, {words.duration(ranked.waiting_ns)} in all"
    return [
        *([label, fact] for label, fact in (limits(ranked.limits) if ranked.limits else [])),
        *([label, fact] for label, fact in [*hot_spots(ranked), *for_devices(ranked), *pipeline(ranked)]),
        ["no waits", f"{least}; {waiting}, {ranked.gaining_calls} of them would gain alone"],
        *_span(ranked.bound_span, bound),
        *([label, fact] for label, fact in [*pace(ranked), *limited(ranked)]),
        ["replay", _error(ranked.replay_error_ns)],
    ]


def _span(span: Span | None, makespan: int) -> list[list[str]]:
    """Return between which times an answer lies, as a fact."""
    return [list(fact) for fact in spans.facts(span, makespan)]


def _error(error: int) -> str:
    off = f"at most {words.duration(error)} off the recorded one" if error else "exactly the recorded one"
    return f"the unchanged run is {off}"


def _worth(row: Change | Ranked) -> PanelData:
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


def _line(report: Report, line: Line, change: RankedChange) -> PanelData:
    """Return a line of the list; the call to show is that of it that waits longest."""
    head, calls = line.head, change.calls
    longest = int(calls[report.run.waits.time[calls].argmax()]) if calls is not None and len(calls) else None
    shown = words.shown(head.change, 300)
    return _worth(head) | {"id": longest, "kind": head.kind, "change": shown, "what": words.shown(head.what, 300), "remedy": head.remedy}


def _ends(ranked: DominoDocument, line: Line) -> PanelData:
    """Return what a line gains with a processor for each process, and at least and at most, ns; null if nothing tells."""
    found = spans.worth(line.span, ranked.replayed_ns, line.head.makespan_ns) if line.span and between(ranked, line)[0] else None
    unshared = line.span.alone_ns if line.span else None
    return {"unshared": unshared} | ({"least": found.least, "most": found.most} if found else {"least": None, "most": None})


def _step(row: PathStep, trigger: str | None) -> PanelData:
    mark = " *" if row.single.call == trigger else ""
    return _place(row.single) | {
        "number": f"{row.number}{mark}",
        "wait": row.single.wait_ns,
        "wait_then": row.wait_then_ns,
        "gain": row.single.gain_ns,
        "less": row.less_ns,
        "fewer": row.fewer_calls,
    }
