"""Several steps of a region changed at once: what gains in many steps is one change of the program, not as many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perwiz import words
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import parse
from perwiz.whatif.ranking.change import Asker, Change


def region(change: Change) -> str:
    """Return the question about the region whose step, or steps, a change is about: `zero-wait step:item` of `zero-wait step:item#3`."""
    return change.question.rpartition("#")[0]


def named(change: Change) -> str:
    """Return the name of the region that a change is about, itself or steps of it: `item` of `balance-time item#3`."""
    return (region(change) if change.by == "step" else change.question).partition(" ")[2]


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
    calls = np.flatnonzero(selectors.calls(trace, steps))
    what = f"the {words.several(len(calls), 'call')} of steps {first} to {last} of {steps.rpartition('#')[0].removeprefix('step:')}"
    return Change("wait", "step", question, what, asker.makespan(parse(question)), calls)
