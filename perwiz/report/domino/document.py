"""The report of `perwiz domino` as a JSON document: what to change first, what falls with it, and what else could be changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import asdict

from perwiz.report import blocks, misfit, spans
from perwiz.report.critical.document import spent
from perwiz.report.domino.records import Change, ChangedSet, DominoDocument, Fixes, NextFix, Pace, Path, PathStep, Target
from perwiz.trace.trace import Trace
from perwiz.whatif.limits.critical import critical_of
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import Domino, Step
from perwiz.whatif.worth.greedy import Fix, Plan
from perwiz.whatif.worth.groups import Group, gaining

_LITTLE = 0.05
"""Part of what shares are of: if zero waits gain less, the report says what sets the pace."""


def document(domino: Domino, most: int, family: str = "site", tell: worth.Tell | None = None) -> DominoDocument:
    """Return what to change first, at most `most` rows a list.

    `family` says which sets of calls are ranked beside single calls, `tell` is told how many of how many sets are done.
    """
    run, trace, question = domino.run, domino.run.trace, domino.question
    calls = domino.ranked(most).tolist()
    groups = gaining(run, family, question, most, tell) if question in worth.QUESTIONS else []
    waiting = int(run.waits.time.sum())
    best_set = best_of([group.wait for group in groups], waiting)
    every = np.arange(len(trace.calls))
    best = [np.array(calls[:1], "i8")] if calls else []
    best += [groups[best_set].choice.calls] if best_set is not None else []
    found = [spans.span(span) for span in worth.spans(run, question, best)]
    bound = spans.span(worth.spans(run, "zero-time" if question == "zero-time" else "zero-wait", [every])[0])
    asked, region = worth.parts(question)
    shares_of = blocks.shares_of(trace, run.makespan)
    little = question != "zero-time" and run.makespan - domino.bound < _LITTLE * shares_of
    return DominoDocument(
        **blocks.head(trace),
        question=asked,
        block=region,
        recorded_ns=trace.timeline.makespan,
        replayed_ns=run.makespan,
        shares_of_ns=shares_of,
        bound_ns=domino.bound,
        bound_span=bound,
        pace=_pace(domino) if little and len(trace.calls) else None,
        calls=len(trace.calls),
        waiting_calls=int((run.waits.time > 0).sum()),
        waiting_ns=waiting,
        gaining_calls=int((domino.value < run.makespan).sum()),
        changes=[_change(domino, call) for call in calls],
        best_span=found[0] if calls else None,
        longest_wait=_change(domino, int(run.waits.time.argmax())) if run.waits.time.any() else None,
        path=_path(domino, most),
        family=family,
        sets=[_set(run.makespan, group) for group in groups],
        best_set=best_set,
        set_span=found[-1] if best_set is not None else None,
        **misfit.modelled(run),
    )


def best_of(waits: Sequence[int], waiting: int) -> int | None:
    """Return which of some sets, largest gain first, to name: the first whose calls do not wait for all that is waited, if there is one.

    Sets that wait 600 and 62 ns of 600 -> 1.
    """
    return next((k for k, wait in enumerate(waits) if wait < waiting), 0) if waits else None


def _pace(domino: Domino) -> Pace:
    """Return what the run without waits spends its time with."""
    run = domino.run
    found = critical_of(worth.after(run, "zero-wait", np.arange(len(run.trace.calls))))
    path, gaps = found.pieces, found.gaps()
    one = np.zeros(len(path), "i8")
    longest = int(path.sums(path.location, len(run.trace.locations)).sum(axis=1).argmax())
    return Pace(
        **asdict(blocks.location(run.trace, longest)),
        **spent(path.sums(one, 1)[0]),
        without_gaps_ns=worth.without_gaps(run),
        gap=max(gaps, key=gaps.__getitem__) if any(gaps.values()) else None,
    )


def _change(domino: Domino, call: int) -> Change:
    """Return what changing a call alone is worth."""
    run, times = domino.run, domino.run.trace.timeline.calls
    makespan = int(domino.value[call])
    return Change(
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
        **asdict(_change(domino, step.call)) | {"number": step.number},
        wait_then_ns=step.wait_then,
        fewer_calls=step.fewer,
        less_ns=step.less,
        more_ns=step.more,
    )


def _set(before: int, group: Group) -> ChangedSet:
    return ChangedSet(
        change=blocks.option(group.choice.hypothesis) if group.choice.hypothesis else None,
        name=group.choice.name,
        members=None if group.choice.hypothesis else [f"e{call}" for call in group.choice.calls.tolist()],
        calls=len(group.choice.calls),
        wait_ns=group.wait,
        makespan_ns=group.makespan,
        gain_ns=before - group.makespan,
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


def target(domino: Domino, asked: str, plan: Plan) -> Target:
    """Return how a target is reached, or how far the fixes go."""
    span = spans.span(worth.spans(domino.run, domino.question, [plan.calls])[0]) if plan.fixes else None
    return Target(asked=asked, makespan_ns=plan.target, reached=plan.reached, fixes=_fixes(domino, plan.fixes), span=span)
