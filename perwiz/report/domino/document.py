"""The report of `perwiz domino` as a JSON document: what to change first, what falls with it, and what else could be changed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

import numpy as np

from perwiz.report import blocks, plain
from perwiz.report.blocks import Document
from perwiz.trace.trace import Trace
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import Domino
from perwiz.whatif.worth.greedy import Fix, Plan
from perwiz.whatif.worth.groups import Group, gaining

VERSION = 1
"""Version of the document; domino.schema.json describes it."""


def document(found: Domino, most: int, family: str = "site", tell: Callable[[int, int], object] | None = None) -> Document:
    """Return what to change first as a JSON document, at most `most` rows a list; all times in ns.

    `family` says which sets of calls are ranked beside single calls, `tell` is told how many of how many sets are done.
    """
    run, trace = found.run, found.run.trace
    calls = found.ranked(most).tolist()
    groups = gaining(run, family, found.question, most, tell) if found.question in worth.QUESTIONS else []
    rows = [*(np.array([call]) for call in calls), *(group.choice.calls for group in groups)]
    now = [*found.value[calls].tolist(), *(group.makespan for group in groups)]
    ranges = worth.spreads(run, found.question, rows, now)
    return {
        "version": VERSION,
        "command": "domino",
        "trace": trace.path,
        "format": trace.format,
        "made_by": trace.timeline.made_by,
        **dict(zip(("question", "block"), worth.parts(found.question), strict=True)),
        "recorded_ns": trace.timeline.makespan,
        "replayed_ns": run.makespan,
        "shares_of_ns": blocks.shares_of(trace, run.makespan, run.makespan - found.bound),
        "replay_error_ns": run.replay_error,
        "bound_ns": found.bound,
        "calls": len(trace.calls),
        "waiting_calls": int((run.waits.time > 0).sum()),
        "waiting_ns": int(run.waits.time.sum()),
        "gaining_calls": int((found.value < run.makespan).sum()),
        "changes": [change(found, call) | {"range_ns": list(both)} for call, both in zip(calls, ranges[: len(calls)], strict=True)],
        "longest_wait": _longest(found),
        "path": _path(found, most),
        "family": family,
        "sets": [_set(found, group) | {"range_ns": list(both)} for group, both in zip(groups, ranges[len(calls) :], strict=True)],
        "fixes": None,
        "target": None,
        "model": plain.model(run.weighted.model),
        "misfit": plain.misfit(run),
        "health": plain.health(run.health()),
    }


def _set(found: Domino, group: Group) -> Document:
    return {
        "change": option(group.choice.hypothesis),
        "name": group.choice.name,
        "members": None if group.choice.hypothesis else [f"e{call}" for call in group.choice.calls.tolist()],
        "calls": len(group.choice.calls),
        "wait_ns": group.wait,
        **_worth(found.run.makespan, group.makespan),
    }


def option(hypothesis: str | None) -> str | None:
    """Return a hypothesis as an option of `perwiz predict`, ready for a shell; None of None."""
    word, _, argument = (hypothesis or "").partition(" ")
    return f"--{word} {shlex.quote(argument)}" if hypothesis else None


def change(found: Domino, call: int) -> Document:
    """Return what changing a call alone is worth."""
    run, times = found.run, found.run.trace.timeline.calls
    return {
        "change": option(worth.hypothesis(found.question, f"e{call}")),
        **place(run.trace, call, int(run.waits.partner[call])),
        "time_ns": int(times.leave[call] - times.enter[call]),
        "wait_ns": int(run.waits.time[call]),
        **_worth(run.makespan, int(found.value[call])),
        "receives_passed": int(found.passed[call]),
        "zero_wait_ns": int(found.promise[call]),
    }


def _worth(before: int, then: int) -> Document:
    return {"makespan_ns": then, "gain_ns": before - then}


def place(trace: Trace, call: int, partner: int) -> Document:
    """Return what a report says of a call, where in the program it was made, and of the call it waits for."""
    known = partner >= 0
    other = {"call": f"e{partner}", **plain.location(trace, int(trace.calls.location[partner]))} if known else None
    return plain.call(trace, call) | {"site": site(trace, call), "partner": other}


def site(trace: Trace, call: int) -> str:
    """Return where in the program a call was made; empty if the trace does not tell."""
    row = int(trace.site[call]) if len(trace.site) else -1
    return trace.sites[row] if row >= 0 else ""


def _longest(found: Domino) -> Document | None:
    """Return the call that waits longest; None if none waits."""
    waits = found.run.waits.time
    return change(found, int(waits.argmax())) if waits.any() else None


def _path(found: Domino, most: int) -> Document:
    paths = found.paths
    steps = [
        {
            "number": step.number,
            **change(found, step.call),
            "wait_then_ns": step.wait_then,
            "fewer_calls": step.fewer,
            "less_ns": step.less,
            "more_ns": step.more,
        }
        for step in found.steps(most)
    ]
    return {
        "makespan_ns": paths.makespan,
        "trigger": f"e{paths.trigger}" if paths.listed else None,
        "paths": paths.count,
        "calls": len(found.path),
        "steps": steps,
        "listed": [[f"e{call}" for call in path] for path in paths.listed],
    }


def fixes(found: Domino, by_gain: Sequence[Fix], by_wait: Sequence[Fix] | None) -> Document:
    """Return fixes one after the other: those that gain most, and for contrast those of the longest waits."""
    return {"by_gain": _fixes(found, by_gain), "by_wait": None if by_wait is None else _fixes(found, by_wait)}


def _fixes(found: Domino, several: Sequence[Fix]) -> list[Document]:
    before, out = found.run.makespan, []
    for fix in several:
        out.append(
            {
                "change": option(fix.hypothesis),
                "name": fix.name,
                "calls": len(fix.calls),
                "wait_ns": fix.waited,
                **_worth(before, fix.makespan),
                "waiting_ns": fix.waiting,
            }
        )
        before = fix.makespan
    return out


def target(found: Domino, asked: str, plan: Plan) -> Document:
    """Return how a target is reached, or how far the fixes go."""
    spread = None
    if plan.fixes:
        now = worth.under(found.run, found.question, plan.calls)
        spread = worth.spreads(found.run, found.question, [plan.calls], [now])[0]
    return {
        "asked": asked,
        "makespan_ns": plan.target,
        "reached": plan.reached,
        "fixes": _fixes(found, plan.fixes),
        "range_ns": list(spread) if spread else None,
    }
