"""Which line of `perwiz domino` is the first change, what there is to gain at best, and whether the first change is worth its work."""

from __future__ import annotations

from perwiz.report.blocks import negligible
from perwiz.report.domino.records import DominoDocument, Line


def first_line(domino: DominoDocument) -> Line | None:
    """Return the line of the first change: the first of what somebody can do; None if nothing of that gains as much as is told."""
    return _told(domino, domino.ranked)


def first_bound(domino: DominoDocument) -> Line | None:
    """Return the line of what there is to gain at best; None if nothing gains more than the first change, or as much as is told."""
    line, first = _told(domino, domino.at_best), first_line(domino)
    return line if line and (first is None or line.head.gain_ns > first.head.gain_ns) else None


def pays(domino: DominoDocument) -> bool:
    """Return whether there is a first change that is worth its work: it gains a hundredth, or so much that other runs do not hide it and a
    tenth of what there is at best; and a thousandth of the whole run, that with MPI_Init.
    """
    line, bound = first_line(domino), first_bound(domino)
    if line is None or hidden(domino, line) or worthless(domino, line):
        return False
    if bound is None:
        return True
    return 100 * line.head.gain_ns >= domino.shares_of_ns or 10 * line.head.gain_ns >= bound.head.gain_ns


def worthless(domino: DominoDocument, line: Line) -> bool:
    """Return whether a change gains less than a thousandth of the whole run, that with MPI_Init: starting it differs by more."""
    return negligible(line.head.gain_ns, domino.replayed_ns)


def hidden(domino: DominoDocument, line: Line) -> bool:
    """Return whether the first change gains less than a hundredth, and less than runs of the same differ by: nobody would see it."""
    span, gain = line.span, line.head.gain_ns
    return span is not None and 100 * gain < domino.shares_of_ns and gain < max(span.sooner_ns, span.later_ns)


def _told(domino: DominoDocument, lines: list[Line]) -> Line | None:
    return lines[0] if lines and domino.answerable and not negligible(lines[0].head.gain_ns, domino.shares_of_ns) else None
