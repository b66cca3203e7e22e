"""Several steps of a region, or several calls, changed at once: what gains in many is one change of the program, not as many."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.engines.sweep import swept_makespan
from perwiz.errors import UsageError
from perwiz.trace import operations
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.order import NAMED, ROOM, gaining

_SINGLE = re.compile("(zero-wait|advance) e[0-9]+")
"""Questions about one call that may be asked of several."""


def region(change: Change) -> str:
    """Return the question about the region whose step, or steps, a change is about: `zero-wait step:item` of `zero-wait step:item#3`."""
    return change.question.rpartition("#")[0]


def named(change: Change) -> str:
    """Return the name of the region that a change is about, itself or steps of it: `item` of `balance-time item#3`, `scale item=0`."""
    about = (region(change) if change.by == "step" else change.question).partition(" ")[2]
    return about.rpartition("=")[0] if change.word == "scale" else about


def of_one(change: Change, other: Change) -> bool:
    """Return whether both change steps of one region alike: they are one line of the list.

    True of `zero-wait step:item#3` and `zero-wait step:item#1..7`.
    """
    return change.by == other.by == "step" and region(change) == region(other)


def joined(asker: Asker, changes: Sequence[Change]) -> list[Change]:
    """Return, for each region of which several single steps gain, the same change of the steps from the first to the last of these."""
    gaining: dict[str, list[int]] = {}
    for change in changes:
        if change.by == "step":
            gaining.setdefault(region(change), []).append(int(change.question.rpartition("#")[2]))
    out = [_range(asker, asked, min(steps), max(steps)) for asked, steps in gaining.items() if len(steps) > 1]
    return [change for change in out if change.makespan < asker.run.makespan]


def _range(asker: Asker, asked: str, first: int, last: int) -> Change:
    trace, question = asker.run.trace, f"{asked}#{first}..{last}"
    word, _, steps = question.partition(" ")
    if word == "balance-time":
        return asker.change("balance", "step", question, f"computation of steps {first} to {last} of {steps.rpartition('#')[0]}")
    calls = trace.share.chosen(selectors.calls(trace, steps))
    count = trace.share.total(len(calls))
    what = f"the {words.several(count, 'call')} of steps {first} to {last} of {steps.rpartition('#')[0].removeprefix('step:')}"
    return Change("wait", "step", question, what, asker.makespan(parse(question)), calls, total=count)


def alike(trace: Trace, change: Change) -> tuple[str, int] | None:
    """Return (question, routine) of a change of one call, which those of its like may share a line with; None of any other change."""
    if change.by != "call" or change.calls is None or change.count != 1 or not _SINGLE.fullmatch(change.question):
        return None
    return change.word, trace.share.most(int(trace.calls.op[change.calls].max(initial=0)))


def together(asker: Asker, changes: Sequence[Change]) -> Change | None:
    """Return the change of all calls that changes which are `alike` are about; None where that gains no more than each of them, or so many
    would move that nobody could read which: their site names them.
    """
    trace, share, first = asker.run.trace, asker.run.trace.share, changes[0]
    calls = np.unique(np.concatenate([change.calls for change in changes if change.calls is not None]))
    numbers = np.sort(share.rows(share.named(calls))).tolist()
    many = f"the {words.several(len(numbers), 'call')} of {operations.OPS[share.most(int(trace.calls.op[calls].max(initial=0)))]}"
    question = f"{first.word} {','.join(f'e{number}' for number in numbers)}"
    most = min(change.makespan for change in changes) - 1
    if first.kind != "order":
        joined = Change(first.kind, "call", question, many, 0, calls, total=len(numbers))
        found = [dataclasses.replace(joined, makespan=asker.makespan(joined.hypothesis))]
    elif len(calls) > NAMED or len(calls) * asker.run.graph.vertices > ROOM:
        return None
    else:
        try:
            weighted = asker.changed([parse(question)])
        except UsageError:
            return None  # they would wait for each other
        what = f"what {many} wait for runs earlier"
        found = gaining(asker.run, weighted, Change("order", "call", question, what, swept_makespan(weighted), calls))
    return next((change for change in found if change.makespan <= most), None)
