"""The report of `perwiz domino` by several processes: a JSON document, and the text made from it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from perwiz import words
from perwiz.engines.sweep import sweep
from perwiz.report import blocks, misfit
from perwiz.report.blocks import negligible
from perwiz.report.domino.change import between, gain_of, gains_of, named, shown, unshared
from perwiz.report.domino.document import small, told_of, worth_of
from perwiz.report.domino.lists import further, table
from perwiz.report.domino.records import NotTried, Told, Worth
from perwiz.report.domino.sureness import ORDERED, Sureness, sureness
from perwiz.report.records import (
    Health,
    Machine,
    Makespan,
    Misfit,
    Model,
    Natural,
    Positive,
    ReplayError,
    SharesOf,
    Span,
    TraceDocument,
    choice,
)
from perwiz.whatif.ranking import WORDS
from perwiz.whatif.ranking.ranking import Line, Ranking
from perwiz.whatif.sure.doubts import doubts_of
from perwiz.whatif.sure.noise import DRAWS
from perwiz.whatif.worth.worth import bound

_SITE = 60
"""Columns of a call site."""
_INDENT = "     "
_UNTOLD = "asked by several processes; what to do, hot spots, the domino path, and who gets which message, one alone tells"


class Row(Told[Worth]):
    """A change, and others that say the same."""


class DominoTogetherDocument(TraceDocument, kw_only=True):
    """What to change first, by several processes, each of its part of the run. What it has of the document of one is equal."""

    command: Literal["domino"] = "domino"
    report: Literal["together"] = "together"
    team: Positive
    """Processes that made it."""
    predict: str
    """The command that asks for a change, the change left out."""
    recorded_ns: Makespan
    replayed_ns: Natural
    """Replayed unchanged."""
    shares_of_ns: SharesOf
    bound_ns: Natural
    """If no call waited."""
    bound_span: Span
    calls: Natural
    waiting_calls: Natural
    waiting_ns: Natural
    """Of all calls together."""
    ranked: list[Row]
    """What somebody can do, as one process orders it: of nearly the same gain what is sure to gain most first."""
    lines: Natural
    """How many there are."""
    small_lines: Natural
    """Of them those that gain less than a thousandth."""
    at_best: list[Row]
    """What else there is to gain at best."""
    at_best_lines: Natural
    small_at_best: Natural
    draws: Natural
    """Runs drawn of which `place` tells; 0 if too little repeats, or none are drawn."""
    kinds: list[Annotated[str, choice(*WORDS)]]
    """The kinds of changes that were asked for."""
    not_asked: list[Annotated[str, choice(*WORDS)]]
    """Those that one process alone asks for."""
    not_tried: list[NotTried]
    answerable: bool
    """Whether waits were recorded."""
    model: Model
    machine: Machine
    misfit: Misfit
    replay_error_ns: ReplayError
    health: Health


def document(ranking: Ranking, most: int, team: int, draws: int = DRAWS, predict: str = "") -> DominoTogetherDocument:
    """Return what so many processes found to change first, at most `most` rows a list; so many runs are drawn to tell how much gains vary.

    `predict` is the command that asks for a change.
    """
    run, trace, share = ranking.run, ranking.run.trace, ranking.run.trace.share
    best, lines, bounds = (ranking.best(), ranking.lines, ranking.bounds) if ranking.answerable else ([], (), ())
    shares_of, waits = blocks.shares_of(trace, run.makespan), run.waits.time[share.calls]
    doubts = doubts_of(run)
    known = sureness(ranking, "zero-wait", best, (lines[: max(most, ORDERED)], bounds[:most]), doubts, draws)
    listed, at_best = known.lists[0][:most], known.lists[1]
    first = [line.change.hypothesis for line in (*listed[:1], *at_best[:1])][:1]
    weighted = ranking.asker.changed(first) if first else None
    return DominoTogetherDocument(
        **blocks.head(trace),
        team=team,
        predict=predict or shlex.join(["perwiz", "predict", trace.path]),
        recorded_ns=trace.timeline.makespan,
        replayed_ns=run.makespan,
        shares_of_ns=shares_of,
        bound_ns=bound(run, "zero-wait"),
        bound_span=known.bound,
        calls=share.in_all("calls", len(trace.calls)),
        waiting_calls=share.total(int((waits > 0).sum())),
        waiting_ns=share.total(int(waits.sum())),
        ranked=[_row(ranking, line, known) for line in listed],
        lines=len(lines),
        small_lines=small(run, lines, shares_of),
        at_best=[_row(ranking, line, known) for line in at_best],
        at_best_lines=len(bounds),
        small_at_best=small(run, bounds, shares_of),
        draws=known.draws if known.places else 0,
        kinds=list(ranking.kinds),
        not_asked=[word for word in WORDS if word not in ranking.kinds],
        not_tried=[NotTried(kind, why) for kind, why in ranking.not_tried.items()],
        answerable=ranking.answerable,
        **misfit.modelled(run, doubts, (weighted, sweep(weighted.graph, weighted.weight)) if weighted else None),
    )


def _row(ranking: Ranking, line: Line, known: Sureness) -> Row:
    worth = partial(worth_of, ranking.run)
    return Row(head=worth(line.change), **told_of(ranking, line, known, worth))


def text(told: DominoTogetherDocument) -> str:
    """Return the document as text for a terminal. The answer comes first."""
    waits = f"{words.duration(told.waiting_ns)} in {told.waiting_calls} of {words.several(told.calls, 'call')}"
    facts = [
        *blocks.recorded(told.recorded_ns, told.health),
        *blocks.share_facts(told.shares_of_ns, told.recorded_ns, told.part),
        *blocks.left_out(told.health),
        ("first change", _first(told, told.ranked, "nothing of these kinds that somebody can do as it stands gains anything")),
        ("at best", _first(told, told.at_best, "nothing of these kinds gains anything more")),
        ("waiting", f"{waits}; without any: {words.duration(told.bound_ns)}{blocks.as_recorded(told.health)}"),
        *blocks.unrecorded_waits(told.health),
        ("", _UNTOLD),
        *([("", f"kinds of changes that one process alone tries: {', '.join(told.not_asked)}")] if told.not_asked else []),
        *[("not tried", f"{row.kind}: {row.why}") for row in told.not_tried],
    ]
    lists = (
        ("what could be changed", told.ranked, told.lines, told.small_lines),
        ("what there is to gain at best", told.at_best, told.at_best_lines, told.small_at_best),
    )
    facts = [*blocks.lacking(told.health), *misfit.beside(facts, told, told.shares_of_ns)]
    lines = [*blocks.title(told.trace, "what to change first", told.health), "", *words.facts(facts)]
    for title, rows, total, little in lists:
        lines += ["", *_list(told, title, rows, total - little, little)] if rows else []
    return "\n".join([*lines, "", *misfit.closing(told)])


def _first(told: DominoTogetherDocument, rows: Sequence[Row], none: str) -> str:
    """Return the first change of a list and what it gains, or why there is none."""
    if not told.answerable:
        return "cannot be answered: the waits were not recorded, they count as computation; see perwiz record"
    if not rows:
        return f"none: {none}"
    return f"{shown(rows[0].head)}: {gains_of(told, rows[0])}"


def _list(told: DominoTogetherDocument, title: str, rows: Sequence[Row], worth: int, small: int) -> list[str]:
    """Return a list: of `worth` lines those there are, and how many more, also of `small` others."""
    lasting = [row for row in rows if not negligible(row.head.gain_ns, told.shares_of_ns)]
    lines = list[words.Line]()
    for number, row in enumerate(lasting, 1):
        head = row.head
        lines.append([str(number), *gain_of(told, head), unshared(row), *between(told, row), head.kind, shown(head)])
        lines += [part for text in _below(told, row) for part in words.wrapped(f"{_INDENT}{text}", len(_INDENT) + 2)]
    return [title, *table(lines), *further(len(lasting), worth, small)]


def _below(told: DominoTogetherDocument, row: Row) -> list[str]:
    """Return in words what a change does, where calls then wait less, and what says the same."""
    before, then = words.duration(row.waiting_ns), words.duration(row.waiting_then_ns)
    fall = f"; waiting in {words.shown(row.waits_less, _SITE)} falls from {before} to {then}" if row.waits_less and before != then else ""
    same = (("a little more", row.more), ("includes", row.includes), ("a part of it", row.part))
    return [f"{row.head.what}{fall}", *(f"{label}: {named(told, rows)}" for label, rows in same if rows)]
