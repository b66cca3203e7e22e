"""Loops that are interrupted now and then, by an output, a query, a check: all iterations of them, as if they were not.

    a b c a b c a b x c a b c a b c y ...     a b c is repeated five times, though only a stretch of two and another of two repeat

What a program does seldom makes a loop of its own of it: the iterations from one output to the next. That of the program is the one inside,
if nearly nothing else is in the other, and if what interrupts it are calls that it does not make itself. So the inner iterations of a
solver are no iterations of the program if others stand between them that send the same messages.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz.trace.arrays import I8, Mask
from perwiz.trace.numbers import Numbers
from perwiz.trace.parts.loops import Folded, Loop, Tokens, folded, outermost
from perwiz.trace.spread.share import Share
from perwiz.trace.tables import Times

_LITTLE = 0.1
"""Part of the time of a loop that interruptions may take."""
_SELDOM = 0.1
"""Part of the iterations that may be interrupted."""


@dataclasses.dataclass(frozen=True, eq=False)
class Finer:
    """A loop without its interruptions."""

    folded: Folded
    """Of the tokens without those that interrupt."""
    chosen: dict[int, Loop]
    """Per location."""


def finer(whole: Folded, chosen: dict[int, Loop], share: Share) -> Finer | None:
    """Return the loop that is nearly all of the chosen one of each location: one inside it, or itself; None if there is none.

    Of a part of a trace the locations are those of this process, and all are asked.
    """
    inside = _inside(whole, chosen)
    itself = {at: loop.rows for at, loop in chosen.items()}
    several = share.any(any(len(loop.rows) > 1 for loop in chosen.values()))
    for rows in (None if share.any(inside is None) else inside, itself if several else None):
        if rows is not None and (out := _without(whole, chosen, rows, share)):
            return out
    return None


def _inside(whole: Folded, chosen: dict[int, Loop]) -> dict[int, I8] | None:
    """Return, per location, the rows of what repeats that are the loop in the chosen one with most of its time; None if one has none."""
    given, found = whole.given, whole.found
    begin, end = found.begin[found.first[:-1]], found.end
    outer = np.concatenate([found.word[:0], *(loop.rows for loop in chosen.values())])
    outer = outer[np.argsort(begin[outer])]
    within = np.searchsorted(begin[outer], begin, "right") - 1
    inside = (within >= 0) & (end <= end[outer][within])
    inside[outer] = False
    rows = np.flatnonzero(inside)
    rows = rows[outermost(begin[rows], end[rows], found.words[rows])]
    numbers = Numbers()
    group = numbers.number(given.location[begin[rows]], found.word[rows])
    lasts = np.bincount(group, given.times.leave[end[rows] - 1] - given.times.enter[begin[rows]], numbers.count)
    often = np.bincount(group, found.words[rows], numbers.count)
    location = numbers.pairs[:, 0]
    out = {}
    for at, loop in chosen.items():
        its = np.flatnonzero((location == at) & (often > len(loop.first)))
        if not len(its) or lasts[best := its[lasts[its].argmax()]] < (1 - 2 * _LITTLE) * loop.lasts:
            return None
        mine = rows[group == best]
        out[at] = mine[np.argsort(begin[mine])]
    return out


def _without(whole: Folded, chosen: dict[int, Loop], rows: dict[int, I8], share: Share) -> Finer | None:
    """Return the loop that some rows of each location are, if others of its tokens do not count; None if it is not nearly all."""
    given, found = whole.given, whole.found
    often = {at: int(found.words[its].sum()) for at, its in rows.items()}
    kept = _kept(whole, chosen, rows)
    if not share.any(not kept.all()):
        return None
    place = np.flatnonzero(kept)
    alone = folded(_some(given, place))
    if share.any(not all(at in alone.loops and len(alone.loops[at][0].first) >= often[at] for at in chosen)):
        return None
    its = {at: alone.loops[at][0] for at in chosen}
    longer, interrupted = np.zeros(len(its)), 0
    for row, (at, loop) in enumerate(its.items()):
        has, _ = interruptions(given, alone.given, loop, at)
        interrupted += int(has.sum())
        time = loop.stop - loop.begin
        if not has.all():
            longer[row] = np.maximum(time[has] - np.median(time[~has]), 0).sum()
    more = sum(share.rows(longer).tolist())
    whole_lasts, lasts = (share.total(sum(loop.lasts for loop in loops.values())) for loops in (chosen, its))
    interrupted, count = share.total(interrupted), share.total(sum(len(loop.first) for loop in its.values()))
    enough = lasts >= (1 - _LITTLE) * whole_lasts
    return Finer(alone, its) if enough and interrupted <= _SELDOM * count and more <= _LITTLE * lasts else None


def interruptions(before: Tokens, after: Tokens, loop: Loop, at: int) -> tuple[Mask, I8]:
    """Return which iterations of a loop at a location have tokens of `before` in them that `after`, of which the loop is, does not have.

    And the rows of these tokens, of regions or calls.
    """
    every, kept = (given.row[slice(*np.searchsorted(given.location, (at, at + 1)))] for given in (before, after))
    first, end = after.row[loop.place], after.row[loop.behind - 1] + 1
    follows = loop.behind[:-1] == loop.place[1:]
    end[:-1][follows] = first[1:][follows]
    inside = [np.searchsorted(rows, end) - np.searchsorted(rows, first) for rows in (every, kept)]
    return inside[0] > inside[1], np.setdiff1d(every[(every >= first[0]) & (every < end[-1])], kept)


def _kept(whole: Folded, chosen: dict[int, Loop], rows: dict[int, I8]) -> Mask:
    """Return which tokens are of no kind that is in the chosen loop of their location, but not in the first word of these rows of it."""
    given, found = whole.given, whole.found
    numbers = Numbers()
    pair = numbers.number(given.location, given.letter)
    extra = np.zeros(numbers.count, bool)
    for at, its in rows.items():
        low = found.first[its[0]]
        ends = found.begin[low + 1] if found.words[its[0]] > 1 else found.end[its[0]]
        extra[pair[chosen[at].place[0] : chosen[at].behind[-1]]] = True
        extra[pair[found.begin[low] : ends]] = False
    return ~extra[pair]


def _some(given: Tokens, place: I8) -> Tokens:
    """Return some of the tokens."""
    columns = {name: getattr(given, name)[place] for name in ("letter", "late", "location", "row", "first", "end")}
    return Tokens(kind=given.kind, times=Times(given.times.enter[place], given.times.leave[place]), **columns)
