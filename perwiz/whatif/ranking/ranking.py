"""Everything that could be changed, by what it gains: what somebody can do, and what there is to gain at best; what says the same is one
line, its cause first, and of regions inside of each other the innermost: what it is called says most.

Of two changes A and B, B gaining no more, B says the same as A if both together gain hardly more than A alone: less than a tenth of what
B gains alone, the cause asked first, of two orders of calls that of more; beside anything else an order is that which is found alone.
That costs a sweep; where one holds the other, nothing.

A bound (no wait, no time in calls, a network that costs nothing) that says the same as a change which gains as much is in the line of
that. Any other has a line of its own, and beside it the changes that gain a part of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module

import numpy as np

from perwiz.engines.sweep import sweep
from perwiz.errors import TraceError, UsageError
from perwiz.trace.arrays import I8
from perwiz.trace.resources import graphs_at_once, of_graphs, remembered
from perwiz.trace.spread.share import Share
from perwiz.trace.trace import Trace
from perwiz.whatif import ranking, selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.order.reorder import Reordered
from perwiz.whatif.ranking import steps
from perwiz.whatif.ranking.change import CLOSE, Asker, Change, NoneThereError, NotTriedError
from perwiz.whatif.ranking.computation import OF_STAGES
from perwiz.whatif.ranking.serving import HALF
from perwiz.whatif.rematch.turned import chooses, most, turned
from perwiz.whatif.run import Run, run_of
from perwiz.whatif.sure.alone import alone
from perwiz.whatif.sure.swept import passed
from perwiz.whatif.waits import waiting_time
from perwiz.whatif.worth.families import FAMILIES

BY = ("call", *FAMILIES, "program", "stretch", "class", "node", "pairs", "setting")
"""What a change can be about."""
_PLAIN = ("setting", "call", "site", "lock", "routine", "region", "program", "stretch", "step", "pair", "rank", "class", "node", "pairs")
"""The same: of changes that say the same and gain about as much, what comes first here says best where to look in the source."""
_CLOSE = {"serving": HALF}
"""Part of the largest gain from which on a change of a kind heads a line, if it is no less of a cause; CLOSE of others."""
_SAME = 0.1
"""Part of what a change gains that it may add to another that says the same."""
_PAIRS, _EDGES = 60, 20_000_000
"""Pairs of changes that are compared by a sweep at most, of those of one list or of both; edges that all these sweeps may pass."""
ANEW = 5
"""Lines of what somebody can do, so many of the first, that are asked again where receives take other messages; of bounds one."""
_BESIDE = 4
"""Lines of bounds that changes are looked for beside."""


_ALONE = ("wait",)
"""Kinds of changes that are asked first: they take long, and nothing of what others make once for several of them."""
_OF_PROGRAM = ("serving", "threads", "balance", "slowest", "order", "protocol")
"""Kinds of changes of a program that are looked for once more where processes shared processors."""
_UNSHARED, _LEAST = 4, 100
"""Lines of what gains without that which are told; the part of the run from which on, its inverse."""


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """A change, and those that say the same, largest gain first."""

    change: Change
    includes: tuple[Change, ...]
    """Those that gain no more than it."""
    more: tuple[Change, ...] = ()
    """Those that gain more: it is their cause, and gains about as much."""
    part: tuple[Change, ...] = ()
    """Of a bound: the changes that somebody can make and that gain a part of it, of the first lines."""


@dataclasses.dataclass(frozen=True)
class Fall:
    """The call site whose waiting falls most with a change."""

    site: tuple[str, str, str]
    """Routine, region path and place in the source, as of `selectors.sites`."""
    before: int
    """ns its calls wait, together."""
    after: int


@dataclasses.dataclass(frozen=True, eq=False)
class Ranking:
    """What could be changed in a run, largest gain first; of equal gain the cause, then the plainer."""

    asker: Asker
    changes: tuple[Change, ...]
    lines: tuple[Line, ...]
    """Of them what somebody can do, what says the same in one line."""
    bounds: tuple[Line, ...]
    """What else there is to gain at best, likewise."""
    not_tried: Mapping[str, str]
    """Kind -> why it was not tried."""
    kinds: Sequence[str]
    """Those that were asked for."""
    by: str | None
    """What all is about, if that was asked for."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.asker.recorded

    @property
    def answerable(self) -> bool:
        """Whether waits were recorded: if none was they count as computation, and what any change is worth nobody can tell."""
        return bool(self.run.waits.time.any()) or not self.run.trace.counts.bare

    def best(self) -> list[Change]:
        """Return the best change of each kind, largest gain first."""
        first: dict[str, Change] = {}
        for change in self.changes:
            first.setdefault(change.kind, change)
        return list(first.values())

    def fall(self, change: Change) -> Fall | None:
        """Return where calls wait less with a change; None if they do nowhere."""
        weighted = self.asker.changed([change.hypothesis])
        waits = waiting_time(weighted, sweep(weighted.graph, weighted.weight))
        if isinstance(weighted, Reordered):
            waits = waits[weighted.call]
        before, after = _waits(self.asker.run), _by_site(self.asker.run, waits)
        most = int((before - after).argmax()) if len(before) else 0
        if not len(before) or before[most] <= after[most]:
            return None
        return Fall(selectors.sites(self.run.trace)[1][most], int(before[most]), int(after[most]))


@remembered(1)
def _waits(run: Run) -> I8:
    """Return how long the calls of each site wait, ns."""
    return _by_site(run, run.waits.time)


def _by_site(run: Run, value: I8) -> I8:
    which, sites = selectors.sites(run.trace)
    out, own = np.zeros(len(sites), "i8"), run.trace.share.calls
    np.add.at(out, which[own], value[own])
    return run.trace.share.reduced(out, "sum")


def rank(
    run: Run, kinds: Sequence[str] = ranking.WORDS, by: str | None = None, tell: Callable[[int, int], object] | None = None
) -> Ranking:
    """Return what could be changed in a run, of some kinds, and if `by` is given only what is about that (BY).

    `tell` is told how many kinds of how many are done. Raises UsageError for unknown words, and those that do not go together.
    """
    check(kinds, by)
    asker = Asker(run)
    changes, not_tried = find(asker, kinds, by, tell)
    lines, bounds = _lines(asker, changes, apart=by == "step")
    for line in _unshared(asker, [kind for kind in _OF_PROGRAM if kind in kinds], by):
        lines = _chosen(lines, line)
    if chooses(run.trace):
        again = dict[Change, Change]()
        lines, bounds = (_as_matched(run, some, first, again) for some, first in ((lines, ANEW), (bounds, 1)))
        changes = sorted((again.get(change, change) for change in changes), key=lambda change: (change.makespan, *simple(change)))
    return Ranking(asker, tuple(changes), tuple(lines), tuple(bounds), not_tried, kinds, by)


def _unshared(asker: Asker, kinds: Sequence[str], by: str | None) -> list[Line]:
    """Return the first lines of what gains if each process had a processor of its own, where processes shared some; their changes have the
    makespan as recorded, in which they may gain nothing.
    """
    run = asker.recorded
    weighted = alone(run) if kinds and run.trace.share.team is None else None
    if weighted is None:
        return []
    other = Asker(run_of(run.clocks, run.machine, weighted, run.origin))
    found = _lines(other, find(other, kinds, by)[0], apart=by == "step")[0][:_UNSHARED]
    lines = [line for line in found if _LEAST * (other.run.makespan - line.change.makespan) >= other.run.makespan]
    return [dataclasses.replace(line, change=_asked(asker, line.change)) for line in lines]


def _asked(asker: Asker, change: Change) -> Change:
    """Return a change with what it is worth in the run of an asker."""
    return dataclasses.replace(change, makespan=asker.makespan(change.hypothesis))


def _chosen(lines: list[Line], other: Line) -> list[Line]:
    """Return lines of what gains as recorded, with one of what gains more if processes share no processor: it takes the place of those that
    say the same then, if it gains at all as recorded.
    """
    asked, same = other.change.question, {change.question for change in (*other.includes, *other.more)}
    if any(_of_what(line.change) == _of_what(other.change) for line in lines):
        return lines
    gains = any(asked == change.question for line in lines for change in (*line.includes, *line.more))
    held = [line for line in lines if gains and line.change.question in same]
    beside = [change for line in held for change in (line.change, *line.more, *line.includes)]
    left = [_without(line, asked) for line in lines if line not in held]
    return [*left, _around(other.change, [change for change in beside if change.question != asked])]


def _of_what(change: Change) -> str:
    """Return what a change is about, without by how much: a process is as fast as others by a factor that differs where it is unshared."""
    return change.question.rpartition("=")[0] if change.word in ("scale", "speed") else change.question


def _without(line: Line, asked: str) -> Line:
    """Return a line without what is asked so."""
    includes, more = (tuple(change for change in some if change.question != asked) for some in (line.includes, line.more))
    return dataclasses.replace(line, includes=includes, more=more)


def check(kinds: Sequence[str], by: str | None) -> None:
    """Raise UsageError for an unknown word, and if no change of these kinds is about `by`."""
    for what, words, known in (("kind", kinds, ranking.WORDS), ("by", (by,) if by is not None else (), BY)):
        if unknown := [word for word in words if word not in known]:
            raise UsageError(f"{what} '{unknown[0]}': must be one of {', '.join(known)}")
    about = {row.word: row.by for row in ranking.KINDS if row.word in kinds}
    if by is not None and not any(by in known for known in about.values()):
        fits = "; ".join(f"{', '.join(known)} (--kind {word})" for word, known in about.items())
        raise UsageError(f"--by {by}: no change of the kinds asked for is about that, must be one of {fits}")


def find(
    asker: Asker, kinds: Sequence[str], by: str | None, tell: Callable[[int, int], object] | None = None
) -> tuple[list[Change], dict[str, str]]:
    """Return (what gains in a run, largest gain first; kind -> why it was not tried); arguments as of `rank`."""
    rows, done = [row for row in ranking.KINDS if row.word in kinds], list[ranking.Kind]()
    large = not of_graphs(asker.run.trace.share.most(asker.run.graph.edges))

    def ask(row: ranking.Kind) -> _Found:
        if tell is not None:
            tell(len(done), len(rows))
        out = _found(asker, row, len(rows) < len(ranking.KINDS))
        done.append(row)
        if large:
            asker.let_go()  # nobody asks beside
        return out

    first = sorted(rows, key=lambda row: row.word not in _ALONE)
    spread = asker.run.trace.share.team is not None
    of = dict(zip(first, graphs_at_once([partial(ask, row) for row in first], asker.run.graph.edges, in_order=spread), strict=True))
    found = [change for row in rows for change in of[row].changes]
    not_tried = {row.word: of[row].why for row in rows if of[row].why}
    if by is None:
        found += steps.joined(asker, found)
    wanted = _distinct(asker.run.trace.share, [change for change in found if by in (None, change.by)])
    return sorted(wanted, key=lambda change: (change.makespan, *simple(change))), not_tried


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What gains of a kind of change, and why it, or a part of it, was not tried, if that is told; else empty."""

    changes: Sequence[Change]
    why: str = ""


def _found(asker: Asker, row: ranking.Kind, named: bool) -> _Found:
    """Return what gains in a run of a kind of change; of one that nothing could be about is told only where kinds were `named`."""
    file, _, function = row.home.partition(":")
    try:
        return _Found(getattr(import_module(f"{ranking.__name__}.{file}"), function)(asker))
    except NotTriedError as why:
        return _Found(why.found, str(why) if named or not isinstance(why, NoneThereError) else "")
    except TraceError as why:
        if asker.run.trace.share.team is None:
            raise
        return _Found((), str(why).removeprefix(f"{asker.run.trace.path}: "))


def _distinct(share: Share, changes: Sequence[Change]) -> list[Change]:
    """Return changes, of those that ask the same of the same calls the first."""
    out, known = list[Change](), dict[object, list[Change]]()
    for change in changes:
        key = (change.word, change.count) if change.calls is not None and change.kind != "order" else id(change)
        alike = known.setdefault(key, [])
        if not any(_about_same(share, change, other) for other in alike):
            alike.append(change)
            out.append(change)
    return out


def _about_same(share: Share, change: Change, other: Change) -> bool:
    """Return whether two changes of as many calls are about the same ones."""
    return not share.any(change.calls is None or other.calls is None or not np.array_equal(change.calls, other.calls))


def _place(change: Change) -> int:
    """Return the place of its kind, causes first; an order that may need what it passes comes behind what it would remove, a safe one
    before all.
    """
    if change.safe:
        return -1
    kind = "collective" if change.receives_passed else change.kind
    return ranking.WORDS.index(kind)


def simple(change: Change) -> tuple[int, int, int]:
    """Return what is less of a cause than of what it causes, of what is plainer, and of fewer calls than of more."""
    return _place(change), _PLAIN.index(change.by), change.count


def _lines(asker: Asker, changes: Sequence[Change], apart: bool) -> tuple[list[Line], list[Line]]:
    """Return (the lines of what somebody can do, those of bounds), largest gain first; `apart` keeps the steps of one region apart."""
    lines = _folded(asker, _grouped(_Pairs(asker, apart), [change for change in changes if not change.bound]))
    pairs, left, out = _Pairs(asker, apart), [change for change in changes if change.bound], list[Line]()
    for line in lines:
        less = [bound for bound in left if line.change.makespan <= bound.makespan]
        held = [bound for bound, same in zip(less, pairs.same(line.change, less), strict=True) if same]
        left = [bound for bound in left if bound not in held]
        includes = sorted((*line.includes, *held), key=lambda change: change.makespan)
        out.append(dataclasses.replace(line, includes=tuple(includes)))
    bounds, pairs = _folded(asker, _grouped(_Pairs(asker, apart), left)), _Pairs(asker, apart)
    for row, bound in enumerate(bounds[:_BESIDE]):
        less = [line.change for line in lines if line.change.makespan > bound.change.makespan]
        part = tuple(change for change, same in zip(less, pairs.same(bound.change, less), strict=True) if same)
        bounds[row] = dataclasses.replace(bound, part=part)
    return out, bounds


class _Pairs:
    """Says of pairs of changes whether they say the same, as long as it may: each costs a sweep."""

    def __init__(self, asker: Asker, apart: bool) -> None:
        self.now, self.trace = asker.run.makespan, asker.run.trace
        self._asker, self._apart = asker, apart
        self._left = min(_PAIRS, _EDGES // passed(asker.run.graph, self.trace.share))

    def same(self, top: Change, others: Sequence[Change]) -> list[bool]:
        """Return of each of some changes, which gain no more than the first, whether it says the same; False where that is not asked any
        more.
        """
        said = [self._said(top, other) for other in others]
        asked = [row for row, known in enumerate(said) if known is None][: max(self._left, 0)]
        self._left -= len(asked)
        together = self._asker.makespans_together([self._both(top, others[row]) for row in asked])
        for row, makespan in zip(asked, together, strict=True):
            gained = None if makespan is None else top.makespan - makespan  # None: they do not go together
            said[row] = gained is not None and gained < _SAME * (self.now - others[row].makespan)
        return [bool(known) for known in said]

    def _said(self, top: Change, other: Change) -> bool | None:
        """Return whether two changes say the same, by what they are; None where a sweep tells.

        Who moves layers from one stage of a pipeline to another does what nothing else does; and what may need receives that it passes does
        not stand for what needs no such thing; nor does another eager limit, which may be that of the library already, for messages that
        hold nobody, unless these gain about as much.
        """
        if top.kind == other.kind == "protocol" and top.by == "setting" != other.by and not self._close(top, other):
            return False
        if any(change.by == "program" and change.question == OF_STAGES for change in (top, other)):
            return False
        if top.receives_passed and not other.bound and other.kind != "order":
            return False
        if _holds(self.trace.share, top, other) or (not self._apart and steps.of_one(top, other)):
            return True
        return True if top.makespan == other.makespan and _holds(self.trace.share, other, top) else None

    def _both(self, top: Change, other: Change) -> list[Hypothesis]:
        """Return what two changes ask, in the order in which it is asked together."""
        orders = top.kind == other.kind == "order"  # of which the one of many calls is found once
        return [change.hypothesis for change in sorted((top, other), key=lambda one: -one.count if orders else _place(one))]

    def _close(self, top: Change, other: Change) -> bool:
        """Return whether the second gains about as much as the first."""
        return self.now - other.makespan >= CLOSE * (self.now - top.makespan)


def _grouped(pairs: _Pairs, changes: Sequence[Change]) -> list[Line]:
    """Return the lines of changes, which stand by their gain, largest gain first."""
    now, rest, lines = pairs.now, list(changes), []
    while rest:
        top, others, alike = rest[0], list[Change](), list[Change]()
        for other, same in zip(rest[1:], pairs.same(top, rest[1:]), strict=True):
            (alike if same else others).append(other)
        close = [change for change in (top, *alike) if now - change.makespan >= _CLOSE.get(change.kind, CLOSE) * (now - top.makespan)]
        first = _innermost(pairs.trace, min(close, key=lambda change: (*simple(change), change.makespan)), close)
        even = {change.question for change in (top, *alike) if change.kind == "balance"}
        steps_of = [other for other in others if other.kind == "balance" and steps.region(other) in even]
        lines.append(_around(first, (top, *alike, *steps_of)))
        rest = [other for other in others if other not in steps_of]
    return _by_gain(lines)


def _folded(asker: Asker, lines: Sequence[Line]) -> list[Line]:
    """Return lines, those of single calls of one routine that are asked alike as one: of all these calls, if together they gain more."""
    of: dict[object, list[Line]] = {}
    for line in lines:
        of.setdefault(steps.alike(asker.run.trace, line.change) or line, []).append(line)
    out = list[Line]()
    for several in of.values():
        change = steps.together(asker, [line.change for line in several]) if len(several) > 1 else None
        out += [_around(change, [other for line in several for other in (line.change, *line.more, *line.includes)])] if change else several
    return _by_gain(out)


def _around(first: Change, same: Sequence[Change]) -> Line:
    """Return the line of a change with what says the same."""
    held = sorted((change for change in same if change is not first), key=lambda change: change.makespan)
    includes = tuple(change for change in held if change.makespan >= first.makespan)
    return Line(first, includes, tuple(change for change in held if change.makespan < first.makespan))


def _by_gain(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.change.makespan, *simple(line.change)))


def _as_matched(run: Run, lines: Sequence[Line], first: int, again: dict[Change, Change]) -> list[Line]:
    """Return lines, the first of them, so many, asked again where receives take other messages under them, those that then gain nothing
    left out; `again` gets what each change becomes.
    """
    left, out = most(run), list(lines)
    while line := next((line for line in out[:first] if line.change not in again.values()), None):
        change, found = line.change, turned(run, (line.change.hypothesis,), anew=left > 0)
        if found is not None:
            change = dataclasses.replace(change, turned=True)
            if found.anew is not None:
                change = dataclasses.replace(change, makespan=found.anew, kept=found.kept)
        again[line.change] = change
        left -= change.kept is not None
        same = [each for each in (*line.includes, *line.more) if change.kept is None or each.makespan >= change.makespan]
        rest = [other for other in out if other is not line]
        out = _by_gain([*rest, *([dataclasses.replace(_around(change, same), part=line.part)] if change.makespan < run.makespan else [])])
    return out


def _innermost(trace: Trace, first: Change, close: Sequence[Change]) -> Change:
    """Return, of changes that ask the same of regions as the first, that of a region inside of its own with no other of them in it; the
    first itself if none is, or if it is about no region.
    """
    about = not first.bound and first.calls is None and first.by in ("region", "step")
    alike = [change for change in close if about and (change.word, change.by) == (first.word, first.by)]
    while inner := [change for change in alike if _lies_in(trace, change, first)]:
        first = min(inner, key=lambda change: change.makespan)
    return first


def _lies_in(trace: Trace, change: Change, other: Change) -> bool:
    """Return whether the region that a change is about, or its steps, is entered nowhere but inside that of another."""
    return selectors.lies_in(trace, *(selectors.region(trace, steps.named(each)) for each in (change, other)))


def _holds(share: Share, change: Change, other: Change) -> bool:
    """Return whether the first change does what the other does, and perhaps more, by what they say."""
    if change.kind == other.kind == "balance":
        return steps.region(other) == change.question
    if change.kind == other.kind == "protocol":
        return change.by == "program" and other.by == "site"
    if change.kind == other.kind == "threads":
        return change.word == other.word and "program" in (change.by, other.by)  # done twice it would gain twice
    said = ("advance", "zero-wait") if change.kind == "order" else (change.word,)  # what is waited for comes earlier: nobody waits
    if (
        (other.word not in said and change.word != "zero-time")  # a call without its time has no wait either
        or (other.kind == "order" != change.kind)
        or change.calls is None
        or other.calls is None
        or other.count > change.count
    ):
        return False
    place = np.searchsorted(change.calls, other.calls)
    here = place < len(change.calls)
    return not share.any(not here.all() or (change.calls[place[here]] != other.calls[here]).any())
