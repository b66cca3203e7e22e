"""Groups of calls that pay: the sets of one family, with the calls they hold, those first that gain most."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from perwiz.trace.arrays import I8
from perwiz.whatif.run import Run
from perwiz.whatif.worth.families import Family
from perwiz.whatif.worth.sets import rank_sets


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """What can be changed at once: a call, or a set of calls."""

    name: str
    """What a person calls it."""
    hypothesis: str | None
    """As `predict` takes it: zero-wait e12; None if there is no short text."""
    calls: I8
    """Rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Group:
    """A set of calls, and what changing all of them at once is worth."""

    choice: Choice
    wait: int
    """ns its calls wait, together."""
    makespan: int
    """ns, if they are changed."""


def gaining(run: Run, word: str, question: str, most: int, tell: Callable[[int, int], object] | None = None, tried: int = 0) -> list[Group]:
    """Return the sets of a family that gain, at most so many, those with the largest gain first.

    With `tried` only so many are, those that wait or take longest. `tell` is told how many sets of how many are done. Raises UsageError
    for an unknown family.
    """
    ranking = rank_sets(run, word, question, tell=tell, most=tried)
    order = ranking.order()
    order = order[ranking.makespan[order] < ranking.now][:most]
    told = zip(order.tolist(), ranking.names(order), ranking.hypotheses(order), strict=True)
    return [
        Group(Choice(name, asked, _rows(ranking.sets, int(ranking.row[k]))), int(ranking.waiting[k]), int(ranking.makespan[k]))
        for k, name, asked in told
    ]


def _rows(sets: Family, row: int) -> I8:
    """Return the calls of a set."""
    inside = np.zeros(sets.classes + 1, bool)
    inside[sets.member[sets.row == row]] = True
    inside[-1] = False
    return np.flatnonzero(inside[sets.class_of])
