"""The lists of `perwiz domino`: what could be changed, and what there is to gain at best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perwiz import words
from perwiz.report import spans
from perwiz.report.blocks import negligible
from perwiz.report.domino.answer import below, far_bound, in_short, sure_to_gain
from perwiz.report.domino.change import (
    CURE,
    INDENT,
    WHOLE,
    between,
    counted,
    descheduled,
    falls,
    gain_of,
    if_shared,
    most_above,
    named,
    only_if,
    parts_of,
    shown,
    unshared,
    who_is_late,
)
from perwiz.report.domino.first import first_line, little, pays
from perwiz.report.domino.records import DominoDocument, Line

_FEW, _ENOUGH = 4, 20
"""Rows of a list, unless more are asked for, and how many to ask for at least if some are not listed."""
_AT_BEST = "what there is to gain at best"
"""Title of the list of bounds, where how sure a gain is says little."""
_HEAD = ("", "gain", "", "unshared", "least", "most", "kind", "change")
_BETWEEN = ("least", "most")
_OPEN = ("unshared", *_BETWEEN)
"""Columns of a list; those of between what a gain lies; those that may say nothing."""


def lists(domino: DominoDocument, rows: int | None) -> list[str]:
    """Return what somebody can do, and what there is to gain at best, each with what to paste behind `perwiz predict TRACE`, what says
    the same, and once what to do; so many rows each. By default few, one where none pays, and what there is at best only where nothing
    can be done.
    """
    said, out, told = set[str](), list[str](), list[Line]()
    lists = [("what could be changed", domino.ranked, domino.lines, domino.small_lines, first_line(domino) if pays(domino) else None)]
    if rows or not domino.ranked:
        lists.append((_AT_BEST, domino.at_best, domino.at_best_lines, domino.small_at_best, far_bound(domino)))
    for title, lines, total, small, above in lists:
        if total:
            shown_lines = lines[:rows] if rows else _foremost(lines, _FEW if above else 1)
            out += ["", *_list(domino, title, shown_lines, total - small, small, above, said)]
            told += [line for line in shown_lines if not little(domino, line)]
    return [*out, *(_legend(domino, told) if told else [])]


def _foremost(lines: Sequence[Line], most: int) -> list[Line]:
    """Return the first lines that gain a good part of what the first one does, as recorded or with a processor for each process."""
    return [line for line in lines[:most] if max(line.head.gain_ns, counted(line)) >= CURE * counted(lines[0])]


def _list(
    domino: DominoDocument, title: str, lines: Sequence[Line], worth: int, small: int, above: Line | None, said: set[str]
) -> list[str]:
    """Return a list: of `worth` lines those there are, and how many more, also of `small` others; `above` and the remedies `said` are told
    already. Of the small ones those are listed that gain more with a processor for each process.
    """
    lines = [line for line in lines if not little(domino, line)]
    rows = list[words.Line]()
    for number, line in enumerate(lines, 1):
        told = (
            [falls(domino, line)]
            if line is above
            else ["; ".join(filter(None, (line.head.what, most_above(domino, line.head), who_is_late(line.head))))]
        )
        told += [if_shared(domino, line)] if line is not above else []
        told += [only_if(line.head).removeprefix("; ")] if line is not above else []
        told += [_below(domino, line, lines[: number - 1])] if title != _AT_BEST else []
        told += _same(domino, line)
        remedy = line.head.remedy if line is above else in_short(line.head.remedy)
        told += [] if line.head.remedy in said or (line is above and in_short(remedy) == remedy) else [f"do: {remedy}"]
        said.add(line.head.remedy)
        numbers = *gain_of(domino, line.head), unshared(line), *between(domino, line)
        rows.append([numbered(number, line), *numbers, line.head.kind, shown(line.head)])
        rows += [part for text in filter(None, told) for part in words.wrapped(f"{INDENT}{text}", len(INDENT) + 2)]
    alone = sum(negligible(line.head.gain_ns, domino.shares_of_ns) for line in lines)
    return [title, *table(rows, _BETWEEN if title == _AT_BEST else ()), *further(len(lines), worth + alone, small - alone)]


def _below(domino: DominoDocument, line: Line, before: Sequence[Line]) -> str:
    """Return why a change stands below another that gains less, the first of them; empty if it stands below none."""
    for number, first in enumerate(before, 1):
        why = below(domino, line, first) if line.head.gain_ns > first.head.gain_ns else ""
        if why:
            return f"gains more than line {number}, but {why}"
    return "most of that is waiting for a processor" if descheduled(line) else ""


def table(rows: Sequence[words.Line], without: Sequence[str] = ()) -> list[str]:
    """Return rows of a list below their head, without some columns and those that say nothing."""
    cells = [row for row in rows if not isinstance(row, str)]
    kept = [k for k, name in enumerate(_HEAD) if name not in without and (name not in _OPEN or any(row[k] for row in cells))]
    head, last = [_HEAD[k] for k in kept], len(kept) - 1
    some = [row if isinstance(row, str) else [row[k] for k in kept] for row in rows]
    spare = [place for place in range(last, -1, -1) if head[place] in _BETWEEN]
    return words.table(head, some, (0, last - 1, last), spare) if cells else []


def further(listed: int, worth: int, small: int) -> list[str]:
    """Return how many lines are not listed: those of `worth` that `-n` shows, and `small` that gain too little; nothing if none is left."""
    gain = "gains less than 0.1 %" if small == 1 else "gain less than 0.1 % each"
    left, shows = worth - listed, f"-n {max(worth + small, _ENOUGH)} shows"
    count = words.several(left + small, "further line" if listed else "line")
    if left and small:
        return [f"{count}: {small} {gain}, {shows} the {'other' if left == 1 else f'other {left}'}"]
    if left:
        return [f"{count}: {shows} {'it' if left == 1 else 'them'}"]
    return [f"{count} {gain}"] if small else []


def numbered(number: int, line: Line) -> str:
    """Return the number of a line, marked if it may gain more than the line before it."""
    return f"{'=' if line.place and line.place.tied else ''}{number}"


def _legend(domino: DominoDocument, lines: Sequence[Line]) -> list[str]:
    """Return how to ask for a line, and in which order they stand."""
    asked = f"to ask for one: {words.shown(domino.predict, WHOLE)} CHANGE"
    return [line for text in [asked, *order(domino, lines)] for line in words.wrapped(text, 2)]


def order(domino: DominoDocument, lines: Sequence[Line]) -> list[str]:
    """Return in which order lines stand, and what their columns and marks mean."""
    shared = any(map(unshared, lines))
    told = [f"unshared: what it gains {spans.OWN}, as far as what repeats tells"] if shared else []
    if len(lines) > 1 and any(between(domino, line)[0] for line in lines):
        by = "the largest unshared gain" if shared else "the largest gain"
        behind = any(counted(line) > counted(before) and not sure_to_gain(domino, line) for before, line in pairwise(lines))
        unsure = "; what may gain nothing behind what surely gains" if behind else ""
        told.append(f"order: {by}; where each of two lies between least and most of the other, the larger least{unsure}")
    if any(line.place and line.place.tied for line in lines):
        told.append("=: it may gain more than the line before it, in more than one of twenty resampled runs")
    return told


def _same(domino: DominoDocument, line: Line) -> list[str]:
    """Return what says the same and gains more; of what gains no more a larger eager limit that gains a good part: of a held sender it is
    a cure of its own.
    """
    cures = [row for row in line.includes if row.kind == "protocol" and row.gain_ns >= CURE * line.head.gain_ns]
    includes = cures[:1] if line.head.kind != "protocol" else []
    told = (("a little more", line.more), ("includes", includes), ("a part of it", parts_of(line)))
    return [f"{label}: {named(domino, rows)}" for label, rows in told if rows]
