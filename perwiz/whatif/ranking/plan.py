"""The fewest changes found, of every kind, that make a run as fast as is wanted: what somebody can do, and only then bounds.

One change after the other is taken: of those that reach the target the cause first, else what gains most in the program that the
changes before it make, asked anew there. A bound is taken only where nothing that somebody can do gains any more. What the target is
reached without is left out again, but for what can be done before the first bound: that is worth doing in any case. Of more than two
changes every pair of those that gain most alone is tried. There may be a shorter list: finding the shortest takes exponential time.
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
from perwiz.whatif.ranking.change import CLOSE, Asker, Change
from perwiz.whatif.ranking.ranking import Ranking, find, simple
from perwiz.whatif.run import run_of

MOST = 10
"""Changes that somebody can do, and bounds, after which the search ends: nobody makes more at once."""
_LITTLE = 1000
"""What gains less than such a part of the run is in no plan, unless it reaches the target."""
_TRIED, _PAIRED, _PAIR = 16, 12, 2
"""Changes that are tried behind those before them, and of which pairs are tried: those that gain most. Changes of a pair."""
_SWEEPS, _EDGES = 130, 2_000_000_000
"""Sweeps that finding what to change next takes, some; edges that all sweeps of a search may pass."""
_ONCE = ("slowest", "threads")
"""Kinds of changes that are told for the recorded run: two of them may make the same computation faster twice."""
_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The changes that reach a target, or how far they go."""

    target: int
    """Makespan, ns."""
    changes: tuple[Change, ...]
    """In turn, what somebody can do before the first bound; the makespan of each is that with it and those before it."""
    reached: bool
    """By all of them."""
    ended: bool
    """Whether nothing that was tried gains behind them."""
    stopped: bool = False
    """Whether the search ended before that and before MOST, for the size of the trace."""

    @property
    def feasible(self) -> tuple[Change, ...]:
        """The changes before the first bound: what somebody can do."""
        return tuple(itertools.takewhile(lambda change: not change.bound, self.changes))


def plan(ranking: Ranking, wanted: int, tell: Callable[[int, int], object] | None = None) -> Plan:
    """Return the changes, of the kinds of a ranking, that make its run take at most `wanted` ns, or as far as they go.

    Of a plan that reaches its target no single one is spare; of one with bounds none from the first bound on. Of a large trace there are
    fewer than MOST of both: each takes as many sweeps over its graph. `tell` is told how many of at most how many there are.
    """
    sweeps = _EDGES // max(ranking.run.graph.edges, 1)
    most = min(MOST, max(1, sweeps // _SWEEPS))
    asker, chosen, ended = ranking.asker, list[Change](), False
    now, changes = asker.run.makespan, list(ranking.changes) if ranking.answerable else []
    while now > wanted:
        sides = [bound for bound in (False, True) if sum(change.bound == bound for change in chosen) < most]
        tried = ([change for change in changes if change.bound == bound] for bound in sides)
        change = next(filter(None, (_next(asker, chosen, several, wanted, now) for several in tried)), None)
        if change is None:
            ended = len(sides) > 1
            break
        chosen, now = [*chosen, change], change.makespan
        if tell is not None:
            tell(len(chosen), 2 * most)
        changes = [] if now <= wanted else _anew(ranking, chosen) if len(chosen) < most else _first(ranking, chosen)
    reached = now <= wanted
    if ranking.answerable and (not reached or any(change.bound for change in chosen)):
        other = _otherwise(ranking, wanted, sweeps, reached)
        chosen, reached = other or chosen, reached or bool(other)
    if not reached:
        return Plan(wanted, tuple(chosen), reached=False, ended=ended, stopped=not ended and most < MOST)
    return Plan(wanted, _fewest(ranking, chosen, wanted, sweeps), reached=True, ended=False)


def _next(asker: Asker, chosen: Sequence[Change], changes: Sequence[Change], target: int, now: int) -> Change | None:
    """Return what to change behind what was chosen, with the makespan that it gives; None if nothing gains more than a little."""
    little = asker.run.makespan / _LITTLE
    tried = [change for change in _behind(asker, chosen, changes) if change.makespan < now]
    tried = [change for change in tried if change.makespan <= target or now - change.makespan >= little]
    if not tried:
        return None
    most = now - min(change.makespan for change in tried)
    reaching = [change for change in tried if change.makespan <= target]
    close = [change for change in tried if now - change.makespan >= CLOSE * most]
    return min(reaching or close, key=lambda change: (*simple(change), change.makespan))


def _behind(asker: Asker, chosen: Sequence[Change], changes: Sequence[Change]) -> Sequence[Change]:
    """Return changes with the makespans they give behind what was chosen; those that do not go together with that are left out, and what
    one process computes alone behind a call where computation is even already: to share that makes it uneven again.
    """
    if not chosen:
        return changes
    asked, even = {change.question for change in chosen}, any(change.kind == "balance" for change in chosen)
    fits = [change for change in changes if change.question not in asked and not (even and (change.kind, change.by) == ("balance", "site"))]
    makespans = [(change, _makespan(asker, [*chosen, change])) for change in fits]
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
    asker = ranking.asker
    asked = [change.hypothesis for change in chosen]
    weighted = asker.changed(asked)
    if isinstance(weighted, Reordered):
        return _first(ranking, chosen)
    origin = Origin("predicted", hypotheses=tuple(change.question for change in chosen), effects_may_precede_causes=True)
    run = run_of(asker.run.clocks, asker.run.machine, weighted, origin)
    return [*_tried(find(Asker(run, asked=asked, whole=asker), ranking.kinds, ranking.by)[0]), *_once(ranking.best(), chosen)]


def _first(ranking: Ranking, chosen: Sequence[Change]) -> list[Change]:
    """Return the first changes of a ranking, and the best of each kind, behind what was chosen."""
    return _once([*_tried(ranking.changes), *ranking.best()], chosen)


def _once(changes: Sequence[Change], chosen: Sequence[Change]) -> list[Change]:
    """Return changes of the recorded run without those of kinds that, chosen already, would be done twice: as fast as the mean is once."""
    done = {change.kind for change in chosen if change.kind in _ONCE}
    return [change for change in changes if change.kind not in done]


def _tried(changes: Sequence[Change]) -> list[Change]:
    """Return the first of what somebody can do, and the first bounds."""
    return [change for bound in (False, True) for change in [change for change in changes if change.bound == bound][:_TRIED]]


def _otherwise(ranking: Ranking, target: int, sweeps: int, reached: bool) -> list[Change]:
    """Return what reaches a target where one change after the other did not, or did with bounds: two changes that somebody can do; else,
    if it was not `reached`, a single bound, which does not go together with what was chosen before it; nothing if nothing does.
    """
    feasible = [change for change in ranking.changes if not change.bound]
    pair = _pair(ranking.asker, [], feasible[:_PAIRED], target, sweeps)
    alone = [] if reached else [change for change in ranking.changes if change.makespan <= target]
    return list(pair) or sorted(alone, key=lambda change: (*simple(change), change.makespan))[:1]


def _fewest(ranking: Ranking, chosen: Sequence[Change], target: int, sweeps: int) -> tuple[Change, ...]:
    """Return changes that reach the target, none of them spare, in turn: those chosen or two others behind what somebody can do."""
    asker, before = ranking.asker, list(itertools.takewhile(lambda change: not change.bound, chosen))
    if len(before) == len(chosen):
        before = []
    needed = _needed(asker, before, chosen[len(before) :], target)
    if len(needed) <= _PAIR:
        return _in_turn(asker, [*before, *needed])
    asked, bounds = {change.question for change in before}, any(change.bound for change in needed)
    others = [change for change in ranking.changes if change.question not in asked and (bounds or not change.bound)]
    return _in_turn(asker, [*before, *(_pair(asker, before, others[:_PAIRED], target, sweeps) or needed)])


def _needed(asker: Asker, before: Sequence[Change], chosen: Sequence[Change], target: int) -> list[Change]:
    """Return the changes chosen behind some others without those that the target is reached without."""
    kept = list(chosen)
    for change in reversed(chosen[:-1]):
        others = [other for other in kept if other is not change]
        makespan = _makespan(asker, [*before, *others])
        if makespan is not None and makespan <= target:
            kept = others
    return kept


def _pair(asker: Asker, before: Sequence[Change], changes: Sequence[Change], target: int, sweeps: int) -> Sequence[Change]:
    """Return the first two changes that reach the target together behind some others, what somebody can do first; nothing if no two of the
    first do, so many `sweeps`.
    """
    pairs = (pair for pair in itertools.combinations(changes, 2) if pair[1] in _once(pair[1:], pair[:1]))
    for pair in itertools.islice(pairs, sweeps):
        makespan = _makespan(asker, [*before, *pair])
        if makespan is not None and makespan <= target:
            return sorted(pair, key=lambda change: change.bound)
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
