"""The lists of `perwiz domino`: what could be changed, what there is to gain at best, and hot spots."""

from __future__ import annotations

from collections.abc import Sequence

from perwiz import words
from perwiz.report.blocks import negligible
from perwiz.report.domino.answer import far_bound, in_short
from perwiz.report.domino.change import CURE, INDENT, WHOLE, between, falls, gain_of, meaning, named, parts_of, shown, worth_of
from perwiz.report.domino.records import DominoDocument, Line, first_line, pays

_AT_BEST, _MUCH = "what there is to gain at best", 0.05
"""Title of the list of bounds, where how sure a gain is says little; part of what shares are of: what is less is not told."""


def hot_spots(domino: DominoDocument) -> list[str]:
    """Return the table of hot spots, each with what to paste behind `perwiz predict TRACE`."""
    head = ["on the path", "", "gain", "", "makespan", "between", "", "change"]
    rows = [
        [
            *(words.duration(spot.on_path_ns), words.percent(spot.on_path_ns, domino.shares_of_ns), *worth_of(domino, spot)),
            *(words.duration(spot.span.least_ns), words.duration(spot.span.most_ns), words.shown(spot.change, WHOLE)),
        ]
        for spot in domino.hot_spots
    ]
    title = "hot spots: computation on the critical path by region, and what is gained if it takes half of its time"
    return [*words.wrapped(title), *words.table(head, rows, (7,), spare=(6, 5, 4)), *_outside(domino)]


def _outside(domino: DominoDocument) -> list[str]:
    """Return how much of the critical path is in no region, if that is much."""
    if domino.outside_ns < _MUCH * domino.shares_of_ns:
        return []
    outside = f"{words.percent(domino.outside_ns, domino.shares_of_ns)} of the time is computation on the critical path outside of regions"
    return words.wrapped(f"{outside}: mark some there to see which of it pays", 2)


def lists(domino: DominoDocument) -> list[str]:
    """Return what somebody can do, and what there is to gain at best, each with what to paste behind `perwiz predict TRACE`, what says
    the same, and once what to do.
    """
    said, out = set[str](), list[str]()
    lists = (
        ("what could be changed", domino.ranked, domino.lines, domino.small_lines, first_line(domino) if pays(domino) else None),
        (_AT_BEST, domino.at_best, domino.at_best_lines, domino.small_at_best, far_bound(domino)),
    )
    for title, lines, total, small, above in lists:
        if total:
            out += ["", *_list(domino, title, lines, total - small, small, above, said)]
    told = [line for line in (*domino.ranked, *domino.at_best) if not negligible(line.head.gain_ns, domino.shares_of_ns)]
    return [*out, *(_legend(domino, told) if told else [])]


def _list(
    domino: DominoDocument, title: str, lines: Sequence[Line], worth: int, small: int, above: Line | None, said: set[str]
) -> list[str]:
    """Return a list: of `worth` lines those there are, but for `small` further ones; `above` and the remedies `said` are told already."""
    lines = [line for line in lines if not negligible(line.head.gain_ns, domino.shares_of_ns)]
    first = f", the first {len(lines)} of {worth}" if len(lines) < worth else ""
    rows = list[words.Line]()
    for number, line in enumerate(lines, 1):
        told = [text for text in (falls(line) if line is above else meaning(line),) if text]
        told += _same(domino, line)
        known = line.head.remedy in said or (line is above and in_short(line.head.remedy) == line.head.remedy)
        told += [] if known else [f"do: {line.head.remedy}"]
        said.add(line.head.remedy)
        tie = "=" if line.place and line.place.tied else ""
        rows.append([f"{tie}{number}", *gain_of(domino, line.head), *between(domino, line), line.head.kind, shown(line.head)])
        rows += [part for text in told for part in words.wrapped(f"{INDENT}{text}", len(INDENT) + 2)]
    head = ["", "gain", "", "least", "most", "kind", "change"]
    if title == _AT_BEST or not any(row[3] for row in rows if not isinstance(row, str)):
        head, rows = _without(head), [row if isinstance(row, str) else _without(row) for row in rows]
    table = words.table(head, rows, (0, len(head) - 2, len(head) - 1), spare=(4, 3)[: len(head) - 5]) if rows else []
    gain = "gains less than 0.1 %" if small == 1 else "gain less than 0.1 % each"
    further = f"{words.several(small, 'further line' if rows else 'line')} {gain}"
    return [f"{title}{first}", *table, *([further] if small else [])]


def _without(row: Sequence[str]) -> list[str]:
    """Return a row without between what its gain lies."""
    return [*row[:3], *row[5:]]


def _legend(domino: DominoDocument, lines: Sequence[Line]) -> list[str]:
    """Return what gains are, and in which order lines stand."""
    told = [f"gain: by which the recorded run, replayed with the change, is shorter; {words.shown(domino.predict, WHOLE)} CHANGE"]
    if len(domino.ranked) > 1 and any(between(domino, line)[0] for line in lines):
        told.append("order: the largest gain; where each of two lies between least and most of the other, the larger least")
    if any(line.place and line.place.tied for line in lines):
        told.append("=: it may gain more than the line before it, in more than one of twenty runs drawn anew")
    return [line for text in told for line in words.wrapped(text, 2)]


def _same(domino: DominoDocument, line: Line) -> list[str]:
    """Return what says the same, first a larger eager limit that gains a good part: of a held sender it is a cure of its own."""
    much = CURE * line.head.gain_ns
    includes = sorted(line.includes, key=lambda row: row.kind != "protocol" or row.gain_ns < much)
    told = (("a little more", line.more), ("includes", includes), ("a part of it", parts_of(line)))
    return [f"{label}: {named(domino, rows)}" for label, rows in told if rows]
