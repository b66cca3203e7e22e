"""Fixes one after the other, each chosen in the program that the ones before it make (the procedure of the PerWiz paper's Table 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from perwiz.trace.arrays import I8
from perwiz.whatif.run import Run
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import ranked
from perwiz.whatif.worth.groups import Choice, gaining


@dataclasses.dataclass(frozen=True, eq=False)
class Fix(Choice):
    """A choice made, and the run behind it."""

    waited: int
    """ns that the calls waited before it, together."""
    makespan: int
    """ns, with this fix and those before it."""
    waiting: int
    """ns that all calls wait then."""


Chooser = Callable[[Run], Choice | None]
"""Returns what to change next in a run; None if nothing is left that helps."""


def by_gain(question: str, family: str | None = None) -> Chooser:
    """Return what chooses the call that gains most, of equal ones that which waits least; with a family also from its sets.

    It ends where nothing gains alone. Raises UsageError for an unknown family when it is asked.
    """

    def choose(run: Run) -> Choice | None:
        value, _ = worth.values(run, question)
        best = ranked(run, value, 1)
        call = _call(question, best) if len(best) else None
        least = value[best[0]] if len(best) else run.makespan
        groups = gaining(run, family, question, 1) if family else []
        return groups[0].choice if groups and groups[0].makespan < least else call

    return choose


def _call(question: str, row: I8) -> Choice:
    return Choice(f"e{row[0]}", worth.hypothesis(question, f"e{row[0]}"), row)


def by_wait(run: Run) -> Choice | None:
    """Return the call that waits longest, of equal ones the first row; None if none waits (the paper's LWT approach)."""
    call = int(run.waits.time.argmax()) if len(run.waits.time) else -1
    return _call("zero-wait", np.array([call])) if call >= 0 and run.waits.time[call] > 0 else None


def fixes(run: Run, choose: Chooser, question: str = "zero-wait") -> Iterator[Fix]:
    """Yield one fix after the other, each chosen in the run that those before it leave; it ends where `choose` finds none."""
    while (choice := choose(run)) is not None:
        waited = int(run.waits.time[choice.calls].sum())
        run = worth.after(run, question, choice.calls)
        yield Fix(choice.name, choice.hypothesis, choice.calls, waited, run.makespan, int(run.waits.time.sum()))


def greedy(run: Run, most: int, question: str = "zero-wait", choose: Chooser | None = None) -> list[Fix]:
    """Return the first fixes, at most so many, each the one that gains most in the program that those before it make.

    Fewer where nothing gains any more. `choose` chooses otherwise.
    """
    return list(islice(fixes(run, choose or by_gain(question), question), most))
