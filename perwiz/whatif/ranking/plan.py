"""The fewest changes found, of every kind, that make a run as fast as is wanted.

One change after the other is taken: of those that reach the target the cause first, else what gains most in the program that the
changes before it make, asked anew there. What the target is reached without is left out again, and of more than two changes every pair
of those that gain most alone is tried. There may be a shorter list: finding the shortest takes exponential time.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Sequence

from perwiz.errors import UsageError
from perwiz.trace.origin import Origin
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.ranking.change import Asker, Change
from perwiz.whatif.ranking.ranking import CLOSE, Ranking, find, simple
from perwiz.whatif.run import run_of

MOST = 10
"""Changes after which the search ends: nobody makes more at once."""
_TRIED, _PAIRED, _PAIR = 16, 12, 2
"""Changes that are tried behind those before them, and of which pairs are tried: those that gain most. Changes of a pair."""
_SWEEPS, _EDGES = 130, 2_000_000_000
"""Sweeps that finding what to change next takes, some; edges that all sweeps of a search may pass."""
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The changes that reach a target, or how far they go."""

    target: int
    """Makespan, ns."""
    changes: tuple[Change, ...]
    """In turn; the makespan of each is that with it and those before it."""
    reached: bool
    ended: bool
    """Whether nothing that was tried gains behind them."""
    stopped: bool = False
    """Whether the search ended before that and before MOST, for the size of the trace."""


def plan(ranking: Ranking, wanted: int, tell: Callable[[int, int], object] | None = None) -> Plan:
    """Return the changes, of the kinds of a ranking, that make its run take at most `wanted` ns, or as far as they go.

    No single one of a plan that reaches its target is spare. Of a large trace there are fewer than MOST: each takes as many sweeps over
    its graph. `tell` is told how many of at most how many there are.
    """
    sweeps = _EDGES // max(ranking.run.graph.edges, 1)
    most = min(MOST, max(1, sweeps // _SWEEPS))
    asker, chosen = ranking.asker, list[Change]()
    now, changes = asker.run.makespan, list(ranking.changes) if ranking.answerable else []
    while now > wanted and len(chosen) < most:
        change = _next(asker, chosen, changes, wanted, now)
        if change is None:
            return Plan(wanted, tuple(chosen), reached=False, ended=True)
        chosen, now = [*chosen, change], change.makespan
        if tell is not None:
            tell(len(chosen), most)
        changes = _anew(ranking, chosen) if now > wanted and len(chosen) < most else []
    if now > wanted:
        return Plan(wanted, tuple(chosen), reached=False, ended=False, stopped=most < MOST)
    needed = _needed(asker, chosen, wanted)
    fewer = _pair(asker, ranking.changes[:_PAIRED], wanted, sweeps) if len(needed) > _PAIR else ()
    return Plan(wanted, fewer or needed, reached=True, ended=False)


def _next(asker: Asker, chosen: Sequence[Change], changes: Sequence[Change], target: int, now: int) -> Change | None:
    """Return what to change behind what was chosen, with the makespan that it gives; None if nothing gains."""
    tried = [change for change in _behind(asker, chosen, changes) if change.makespan < now]
    if not tried:
        return None
    most = now - min(change.makespan for change in tried)
    reaching = [change for change in tried if change.makespan <= target]
    close = [change for change in tried if now - change.makespan >= CLOSE * most]
    return min(reaching or close, key=lambda change: (*simple(change), change.makespan))


def _behind(asker: Asker, chosen: Sequence[Change], changes: Sequence[Change]) -> Sequence[Change]:
    """Return changes with the makespans they give behind what was chosen; those that do not go together with that are left out."""
    if not chosen:
        return changes
    makespans = [(change, _makespan(asker, [*chosen, change])) for change in changes]
    return [dataclasses.replace(change, makespan=makespan) for change, makespan in makespans if makespan is not None]


def _makespan(asker: Asker, changes: Sequence[Change]) -> int | None:
    """Return the makespan under several changes, ns; None if they do not go together."""
    try:
        return asker.makespan(*(change.hypothesis for change in changes))
    except UsageError:
        return None


def _anew(ranking: Ranking, chosen: Sequence[Change]) -> list[Change]:
    """Return what may gain behind what was chosen: the first of what gains in the run that this makes, and the best of each kind of before.

    Behind another order of calls only the latter, and the first of the ranking.
    """
    asker, best = ranking.asker, ranking.best()
    weighted = asker.changed([change.hypothesis for change in chosen])
    if isinstance(weighted, Reordered):
        return [*ranking.changes[:_TRIED], *best]
    origin = Origin("predicted", hypotheses=tuple(change.question for change in chosen), effects_may_precede_causes=True)
    run = run_of(asker.run.clocks, asker.run.machine, weighted, origin)
    return [*find(Asker(run), ranking.kinds, ranking.by)[0][:_TRIED], *best]


def _needed(asker: Asker, chosen: Sequence[Change], target: int) -> tuple[Change, ...]:
    """Return the changes without those that the target is reached without."""
    kept = list(chosen)
    for change in reversed(chosen[:-1]):
        others = [other for other in kept if other is not change]
        makespan = _makespan(asker, others)
        if makespan is not None and makespan <= target:
            kept = others
    return _in_turn(asker, kept)


def _pair(asker: Asker, changes: Sequence[Change], target: int, sweeps: int) -> tuple[Change, ...]:
    """Return the first two changes that reach the target together; nothing if no two of the first do, so many `sweeps`."""
    for pair in itertools.islice(itertools.combinations(changes, 2), sweeps):
        makespan = _makespan(asker, pair)
        if makespan is not None and makespan <= target:
            return _in_turn(asker, pair)
    return ()


def _in_turn(asker: Asker, changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return changes with the makespans of each with those before it."""
    asked = [change.hypothesis for change in changes]
    return tuple(dataclasses.replace(change, makespan=asker.makespan(*asked[:number])) for number, change in enumerate(changes, 1))


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
