"""The report of `perwiz domino` as a JSON document: what to change first, what falls with it, and what else could be changed."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import asdict

from perwiz.engines.sweep import sweep
from perwiz.loggps.weigh import Weighted
from perwiz.report import blocks, misfit, spans
from perwiz.report.blocks import negligible
from perwiz.report.critical.document import program, spent
from perwiz.report.domino import limits
from perwiz.report.domino.records import Change as SingleChange
from perwiz.report.domino.records import (
    DominoDocument,
    Fixes,
    HotSpot,
    Late,
    Launches,
    Line,
    NextFix,
    NotTried,
    Pace,
    Path,
    PathStep,
    Ranked,
    Target,
    W,
    Worth,
)
from perwiz.report.domino.remedies import remedy
from perwiz.report.domino.sureness import ORDERED, Sureness, sureness
from perwiz.report.pipelines import pipeline
from perwiz.report.records import Span
from perwiz.trace.arrays import I8
from perwiz.trace.resources import graphs_at_once
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.limits.critical import KINDS, critical_of
from perwiz.whatif.limits.late import late
from perwiz.whatif.ranking import WORDS
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.computation import without_launches
from perwiz.whatif.ranking.plan import Plan
from perwiz.whatif.ranking.ranking import Line as RankedLine
from perwiz.whatif.ranking.ranking import Ranking
from perwiz.whatif.ranking.situations import cured, freed, moved, posted, situation
from perwiz.whatif.run import Run
from perwiz.whatif.sure import span as sure
from perwiz.whatif.sure.doubts import doubts_of
from perwiz.whatif.sure.noise import DRAWS
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import Domino, Step
from perwiz.whatif.worth.greedy import Fix
from perwiz.whatif.worth.hotspots import HotSpot as FoundSpot
from perwiz.whatif.worth.hotspots import hot_spots

_SPOTS = 5
"""Regions of which is told what their computation is worth."""
_LITTLE = 0.05
"""Part of what shares are of: if zero waits gain less, the report says what sets the pace."""


def document(domino: Domino, ranking: Ranking, most: int, draws: int = DRAWS, predict: str = "") -> DominoDocument:
    """Return what to change first, at most `most` rows a list; so many runs are drawn to tell how much gains vary.

    `predict` is the command that asks for a change as it was asked here, the change left out; by default that of the trace alone.
    """
    run, trace, question = domino.run, domino.run.trace, domino.question
    calls = domino.ranked(most).tolist()
    asked, region = worth.parts(question)
    best, lines, bounds = (ranking.best(), ranking.lines, ranking.bounds) if ranking.answerable else ([], (), ())
    doubts, critical = doubts_of(run), critical_of(run)
    path = program(critical)
    spots = hot_spots(ranking.asker, path, _SPOTS) if _asks_all(ranking) else []
    known = sureness(ranking, question, [*best, *spots], (lines[: max(most, ORDERED)], bounds[:most]), doubts, draws)
    listed, at_best = known.lists[0][:most], known.lists[1]
    shares_of = blocks.shares_of(trace, run.makespan)
    told = graphs_at_once([partial(_line, ranking, line, known) for line in (*listed, *at_best)], run.graph.edges)
    limited = limits.limits(critical, shares_of) if len(trace.locations) else None
    little = question != "zero-time" and run.makespan - domino.bound < _LITTLE * shares_of
    return DominoDocument(
        **blocks.head(trace),
        predict=predict or shlex.join(["perwiz", "predict", trace.path]),
        question=asked,
        block=region,
        recorded_ns=trace.timeline.makespan,
        replayed_ns=run.makespan,
        shares_of_ns=shares_of,
        bound_ns=domino.bound,
        bound_span=known.bound,
        pace=_pace(domino) if little and len(trace.calls) else None,
        calls=len(trace.calls),
        waiting_calls=int((run.waits.time > 0).sum()),
        waiting_ns=int(run.waits.time.sum()),
        waiting_of=limits.waiting_of(run),
        limits=limited,
        hidden=limits.hidden(ranking, limited) if limited and _asks_all(ranking) else None,
        stands_out=limits.stands_out(trace),
        spending=limits.spending(run),
        hot_spots=[_spot(run, spot, known.spans[spot]) for spot in spots],
        outside_ns=max(int(path.length[(path.kind == KINDS.index("computation")) & (path.path == NONE)].sum()), 0),
        for_devices=limits.for_devices(ranking.asker),
        handed_out=limits.tasks(trace),
        serving=limits.served(ranking.asker),
        pipeline=pipeline(trace),
        launches=_launches(ranking, listed),
        best=[_told(ranking.asker, change) for change in best],
        best_spans=[known.spans[change] for change in best],
        ranked=told[: len(listed)],
        lines=len(lines),
        small_lines=small(run, lines, shares_of),
        at_best=told[len(listed) :],
        at_best_lines=len(bounds),
        small_at_best=small(run, bounds, shares_of),
        draws=known.draws if known.places else 0,
        kinds=list(ranking.kinds),
        not_tried=[NotTried(kind, why) for kind, why in ranking.not_tried.items()],
        answerable=ranking.answerable,
        gaining_calls=int((domino.value < run.makespan).sum()),
        changes=[_change(domino, call) for call in calls],
        longest_wait=_change(domino, int(run.waits.time.argmax())) if run.waits.time.any() else None,
        path=_path(domino, most),
        **misfit.modelled(run, doubts, _answer(ranking, (*listed[:1], *at_best[:1]))),
    )


def ordered(ranking: Ranking, domino: DominoDocument) -> Ranking:
    """Return a ranking whose lines stand as its document has them, the first change first; those that are not in it behind them."""
    place = {line.head.change: row for row, line in enumerate(domino.ranked)}
    lines = sorted(ranking.lines, key=lambda line: place.get(blocks.option(line.change.question), len(place)))
    return dataclasses.replace(ranking, lines=tuple(lines))


def _answer(ranking: Ranking, lines: Sequence[RankedLine]) -> tuple[Weighted, I8] | None:
    """Return the graph with the change of the first of these lines, and when all happens in it; None without any."""
    if not lines:
        return None
    weighted = ranking.asker.changed([lines[0].change.hypothesis])
    return weighted, sweep(weighted.graph, weighted.weight)


def small(run: Run, lines: Sequence[RankedLine], shares_of: int) -> int:
    """Return how many lines gain so little that they are only counted."""
    return sum(negligible(run.makespan - line.change.makespan, shares_of) for line in lines)


def _asks_all(ranking: Ranking) -> bool:
    """Return whether what to change was asked without naming kinds, or what it is about, and can be answered."""
    return ranking.answerable and ranking.by is None and len(ranking.kinds) == len(WORDS)


def _spot(run: Run, spot: FoundSpot, span: Span) -> HotSpot:
    return HotSpot(
        region=spot.region,
        rank=spot.rank,
        on_path_ns=spot.on_path,
        change=blocks.option(str(spot.hypothesis)),
        makespan_ns=spot.makespan,
        gain_ns=run.makespan - spot.makespan,
        span=span,
    )


def _launches(ranking: Ranking, lines: Sequence[RankedLine]) -> Launches | None:
    """Return what a straggler costs if no launch is late, where that is more than the first change gains; None if nobody asks for it."""
    asks = ranking.answerable and ranking.by is None and "slowest" in ranking.kinds
    now, found = ranking.run.makespan, without_launches(ranking.asker) if asks else None
    if found is None or found[2] >= min((line.change.makespan for line in lines[:1]), default=now):
        return None
    *asked, makespan = found
    return Launches(changes=[blocks.option(one) for one in asked], makespan_ns=makespan, gain_ns=now - makespan)


def _line(ranking: Ranking, line: RankedLine, known: Sureness) -> Line:
    head = _told(ranking.asker, line.change, (*line.includes, *line.part), _freed(ranking) if line.change.kind == "wait" else None)
    return Line(head=head, **told_of(ranking, line, known, partial(_ranked, ranking.asker)))


def _freed(ranking: Ranking) -> int | None:
    """Return what it gains at most, ns, if messages move while their receivers compute; None if that was not asked."""
    asked = "protocol" in ranking.kinds and "protocol" not in ranking.not_tried
    return freed(ranking.run.makespan, ranking.changes) if asked else None


def told_of(ranking: Ranking, line: RankedLine, known: Sureness, worth: Callable[[Change], W]) -> dict[str, Any]:
    """Return what is told of a line but for its head, by name; `worth` says what a change is worth."""
    fall = None if line.change.kept is not None else ranking.fall(line.change)
    return {
        "span": known.spans.get(line.change),
        "place": known.places.get(line),
        **{name: [worth(change) for change in getattr(line, name)] for name in ("includes", "more", "part")},
        "turned": line.change.turned,
        "kept_ns": line.change.kept,
        "waits_less": selectors.site(*fall.site) if fall else None,
        "waiting_ns": fall.before if fall else 0,
        "waiting_then_ns": fall.after if fall else 0,
    }


def worth_of(run: Run, change: Change) -> Worth:
    """Return what a change of a run is worth."""
    return Worth(
        kind=change.kind,
        by=change.by,
        change=blocks.option(change.question),
        what=change.what,
        calls=None if change.calls is None else change.count,
        makespan_ns=change.makespan,
        gain_ns=run.makespan - change.makespan,
        bound=change.bound,
    )


def _ranked(asker: Asker, change: Change, beside: Sequence[Change] = (), alone: int | None = None) -> Ranked:
    run = asker.run
    found = cured(situation(run, change), beside)
    found = found if alone is None else moved(found, run.makespan - change.makespan, alone)
    return Ranked(
        **asdict(worth_of(run, change)),
        receives_passed=change.receives_passed,
        posted=posted(run, change),
        uneven=limits.uneven(asker, change),
        late=None,
        remedy=remedy(run.trace, found),
    )


def _told(asker: Asker, change: Change, beside: Sequence[Change] = (), alone: int | None = None) -> Ranked:
    """Return what a change is worth, and what its calls wait for; `alone` is what it gains, ns, if messages move meanwhile."""
    out = _ranked(asker, change, beside, alone)
    out.late = _late(asker, change)
    return out


def _late(asker: Asker, change: Change) -> Late | None:
    """Return what the calls of a change wait for; None if it is not about waits."""
    found = late(asker.run, asker.segments, change.calls) if change.word == "zero-wait" and change.calls is not None else None
    return Late(found.computes, found.where, found.process, round(found.part, 6), found.chained) if found else None


def _pace(domino: Domino) -> Pace:
    """Return what the run without waits spends its time with."""
    run = domino.run
    found = critical_of(worth.after(run, "zero-wait", np.arange(len(run.trace.calls))))
    path, gaps = program(found), found.gaps()
    one = np.zeros(len(path), "i8")
    longest = int(path.sums(path.location, len(run.trace.locations)).sum(axis=1).argmax())
    return Pace(
        **asdict(blocks.location(run.trace, longest)),
        **spent(path.sums(one, 1)[0]),
        without_gaps_ns=worth.without_gaps(run),
        gap=max(gaps, key=gaps.__getitem__) if any(gaps.values()) else None,
    )


def _change(domino: Domino, call: int) -> SingleChange:
    """Return what changing a call alone is worth."""
    run, times = domino.run, domino.run.trace.timeline.calls
    makespan = int(domino.value[call])
    return SingleChange(
        change=blocks.option(worth.hypothesis(domino.question, f"e{call}")),
        **asdict(blocks.call(run.trace, call)),
        site=_site(run.trace, call),
        partner=blocks.place(run.trace, int(run.waits.partner[call])),
        time_ns=int(times.leave[call] - times.enter[call]),
        wait_ns=int(run.waits.time[call]),
        makespan_ns=makespan,
        gain_ns=run.makespan - makespan,
        receives_passed=int(domino.passed[call]),
        zero_wait_ns=int(domino.promise[call]),
    )


def _site(trace: Trace, call: int) -> str:
    """Return where in the program a call was made; empty if the trace does not tell."""
    row = int(trace.site[call]) if len(trace.site) else -1
    return trace.sites[row] if row >= 0 else ""


def _path(domino: Domino, most: int) -> Path:
    paths = domino.paths
    return Path(
        makespan_ns=paths.makespan,
        trigger=f"e{paths.trigger}" if paths.listed else None,
        paths=paths.count,
        calls=len(domino.path),
        steps=[_step(domino, step) for step in domino.steps(most)],
        listed=[[f"e{call}" for call in path] for path in paths.listed],
    )


def _step(domino: Domino, step: Step) -> PathStep:
    return PathStep(
        number=step.number,
        single=_change(domino, step.call),
        wait_then_ns=step.wait_then,
        fewer_calls=step.fewer,
        less_ns=step.less,
        more_ns=step.more,
    )


def fixes(domino: Domino, by_gain: Sequence[Fix], by_wait: Sequence[Fix]) -> Fixes:
    """Return fixes one after the other: those that gain most, and for contrast those of the longest waits."""
    return Fixes(by_gain=_fixes(domino, by_gain), by_wait=_fixes(domino, by_wait))


def _fixes(domino: Domino, fixes: Sequence[Fix]) -> list[NextFix]:
    before = [domino.run.makespan, *(fix.makespan for fix in fixes)]
    return [
        NextFix(
            change=blocks.option(fix.hypothesis) if fix.hypothesis else None,
            name=fix.name,
            calls=len(fix.calls),
            wait_ns=fix.waited,
            makespan_ns=fix.makespan,
            gain_ns=makespan - fix.makespan,
            waiting_ns=fix.waiting,
        )
        for fix, makespan in zip(fixes, before[:-1], strict=True)
    ]


def target(ranking: Ranking, asked: str, plan: Plan) -> Target:
    """Return how a target is reached, or how far the changes go."""
    run, changes = ranking.run, [_ranked(ranking.asker, change) for change in plan.changes]
    before = [run.makespan, *(change.makespan_ns for change in changes)]
    for change, makespan in zip(changes, before, strict=False):
        change.gain_ns = makespan - change.makespan_ns
    feasible = plan.feasible
    return Target(
        asked=asked,
        makespan_ns=plan.target,
        reached=plan.reached and len(feasible) == len(changes),
        reached_at_best=plan.reached,
        ended=plan.ended,
        stopped=plan.stopped,
        changes=changes,
        feasible=len(feasible),
        feasible_span=_span_of(run, feasible) if len(feasible) < len(changes) else None,
        span=_span_of(run, plan.changes),
    )


def _span_of(run: Run, changes: Sequence[Change]) -> Span | None:
    """Return between which makespans the true one lies with all of some changes; None without any."""
    return spans.span(sure.span_under(run, [change.hypothesis for change in changes])) if changes else None
