"""Fixes one after the other, each chosen in the program that the ones before it make (the procedure of the PerWiz paper's Table 2)."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace.arrays import I8
from perwiz.whatif.run import Run
from perwiz.whatif.worth import worth
from perwiz.whatif.worth.domino import ranked
from perwiz.whatif.worth.groups import Choice, gaining

MOST = 100
"""Fixes after which a search for a target ends: nobody does more."""
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class Fix(Choice):
    """A choice made, and the run behind it."""

    waited: int
    """ns that the calls waited before it, together."""
    makespan: int
    """ns, with this fix and those before it."""
    waiting: int
    """ns that all calls wait then."""


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The fixes that lead to a target, or as far as they go."""

    target: int
    """Makespan, ns."""
    fixes: tuple[Fix, ...]
    reached: bool

    @property
    def calls(self) -> I8:
        """The calls that are changed, rows, ascending."""
        return np.unique(np.concatenate([np.empty(0, "i8"), *(fix.calls for fix in self.fixes)]).astype("i8"))


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


def plan(
    run: Run,
    target: int,
    question: str = "zero-wait",
    choose: Chooser | None = None,
    most: int = MOST,
    tell: Callable[[int, int], object] | None = None,
) -> Plan:
    """Return the fixes, each the one that gains most, until the makespan is at most `target` ns, nothing gains any more, or `most`.

    When the target is reached, those are left out again, the last but one first, that it is reached without: no single one of the
    fixes returned is spare. There may be a shorter list; finding the shortest takes exponential time. `tell` is told how many there are.
    """
    done: list[Fix] = []
    if run.makespan > target:
        for fix in islice(fixes(run, choose or by_gain(question), question), most):
            done.append(fix)
            if tell is not None:
                tell(len(done), 0)
            if fix.makespan <= target:
                return Plan(target, tuple(fixes(run, _in_turn(_needed(run, done, target, question)), question)), True)
    return Plan(target, tuple(done), run.makespan <= target)


def _needed(run: Run, done: list[Fix], target: int, question: str) -> list[Fix]:
    """Return the fixes without those that the target is reached without."""
    kept = list(done)
    for fix in reversed(done[:-1]):
        others = [choice for choice in kept if choice is not fix]
        if worth.makespan_after(run, question, np.concatenate([choice.calls for choice in others])) <= target:
            kept = others
    return kept


def _in_turn(choices: Sequence[Choice]) -> Chooser:
    """Return what chooses these, one after the other."""
    left = iter(choices)
    return lambda _: next(left, None)


def target(text: str, makespan: int) -> int:
    """Return the makespan, ns, that `1.3x` (so many times as fast), `80%` (of the makespan) or `2.5s` (s, ms, us, ns) asks for.

    Raises UsageError for other texts, and for what is not above 0.
    """
    match = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+) ?(x|%|s|ms|us|ns)", text)
    number = float(match[1]) if match else math.nan
    if not match or not 0 < number < 1e18:
        raise UsageError(f"target '{text}': must be like 1.3x (times as fast), 80% (of the recorded time) or 2.5s (s, ms, us, ns)")
    if match[2] == "x":
        return math.floor(makespan / number)
    return math.floor(makespan * number / 100) if match[2] == "%" else math.floor(number * _UNITS[match[2]])
