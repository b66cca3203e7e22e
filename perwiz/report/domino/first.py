"""Which line of `perwiz domino` is the first change, what there is to gain at best, and whether the first change is worth its work."""

from __future__ import annotations

from perwiz.report.blocks import negligible
from perwiz.report.domino.change import counted, descheduled
from perwiz.report.domino.records import DominoDocument, Line
from perwiz.report.domino.remedies import OF_MISSING

PAYS = 0.01
"""Part of what shares are of from which on a gain is worth its work, whatever else there is."""
FAR = 2
"""Times the gain of the first change from which on what there is to gain at best is told beside it."""


def first_line(domino: DominoDocument) -> Line | None:
    """Return the line of the first change: the first of what somebody can do; None if nothing of that gains as much as is told."""
    return _told(domino, domino.ranked)


def first_bound(domino: DominoDocument) -> Line | None:
    """Return the line of what there is to gain at best; None if nothing gains more than the first change, or as much as is told."""
    line, first = _told(domino, domino.at_best), first_line(domino)
    return line if line and (first is None or counted(line) > counted(first)) else None


def pays(domino: DominoDocument) -> bool:
    """Return whether there is a first change that is worth its work: it gains a hundredth, or so much that other runs do not hide it and a
    tenth of what there is at best; and a thousandth of the whole run, that with MPI_Init. Where most of it is waiting for a processor,
    nothing but a hundredth is. Where far more may be waiting for ranks whose traces are missing, none is.
    """
    line, bound = first_line(domino), first_bound(domino)
    if line is None or hidden(domino, line) or worthless(domino, line) or untold(domino):
        return False
    if counted(line) >= PAYS * domino.shares_of_ns:
        return True
    return not descheduled(line) and (bound is None or 10 * counted(line) >= counted(bound))


def untold(domino: DominoDocument) -> Line | None:
    """Return the line of collectives with ranks whose traces are missing, if far more may be waiting for these than the first change gains;
    else None. Which change pays only a complete trace tells.
    """
    line, bound = first_line(domino), first_bound(domino)
    missing = bound is not None and bound.head.remedy == OF_MISSING and bool(domino.health.missing_ranks)
    return bound if bound and missing and (line is None or counted(bound) >= FAR * counted(line)) else None


def worthless(domino: DominoDocument, line: Line) -> bool:
    """Return whether a change gains less than a thousandth of the whole run, that with MPI_Init: starting it differs by more."""
    return negligible(counted(line), domino.replayed_ns)


def hidden(domino: DominoDocument, line: Line) -> bool:
    """Return whether the first change gains less than a hundredth, and less than runs of the same differ by: nobody would see it."""
    span, gain = line.span, counted(line)
    return span is not None and gain < PAYS * domino.shares_of_ns and gain < max(span.sooner_ns, span.later_ns)


def little(domino: DominoDocument, line: Line) -> bool:
    """Return whether a change gains so little, as recorded and with a processor for each process, that it is only counted."""
    return negligible(max(line.head.gain_ns, counted(line)), domino.shares_of_ns)


def _told(domino: DominoDocument, lines: list[Line]) -> Line | None:
    return lines[0] if lines and domino.answerable and not little(domino, lines[0]) else None
