"""The upper envelope of lines that can only be asked for the highest one at a point.

Where the lines at two points cross, a third question says whether another line lies above; if none does, the crossing is a breakpoint of
the envelope (Eisner and Severance, JACM 1976). Widest doubts first, so that an early end leaves the least error.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

Line = tuple[int, int]
"""Value at 0, and slope."""


@dataclasses.dataclass(eq=False)
class _Found:
    """A line of the envelope, a point where it is known to be the highest, and the next line found."""

    line: Line
    at: Fraction
    next: _Found | None = None


def envelope(line: Callable[[float], Line], least: float, most: float, sweeps: int | None = None) -> tuple[list[Line], float]:
    """Return the lines whose maximum is the envelope from `least` to `most`, ascending by slope, and how much it may be higher.

    `line` returns the highest line at a point; it is asked twice and then at most `sweeps` times. With None the envelope is exact.
    """
    first, last = (_Found(line(point), Fraction(point)) for point in (least, most))
    first.next = last
    doubts: list[tuple[Fraction, int, _Found]] = []
    asked, number = 0, itertools.count()
    _push(doubts, first, number)
    while doubts and (sweeps is None or asked < sweeps):
        one = heapq.heappop(doubts)[2]
        asked += 1
        new = _between(line, one)
        if new is not None:
            one.next = new
            _push(doubts, one, number)
            _push(doubts, new, number)
    return _listed(first, Fraction(most)), float(-doubts[0][0]) if doubts else 0.0


def crossing(one: Line, other: Line) -> Fraction:
    """Return where two lines of different slopes are equally high."""
    return Fraction(one[0] - other[0], other[1] - one[1])


def height(line: Line, at: Fraction | float) -> Fraction:
    """Return how high a line is at a point."""
    return line[0] + line[1] * Fraction(at)


def _push(doubts: list[tuple[Fraction, int, _Found]], one: _Found, number: Iterator[int]) -> None:
    """Note by how much the envelope may lie above the crossing of a line with the next one: no further than the chord."""
    other = one.next
    if other is None or other.line[1] <= one.line[1]:
        return
    cross = crossing(one.line, other.line)
    begin, end = height(one.line, one.at), height(other.line, other.at)
    chord = begin + (end - begin) * (cross - one.at) / (other.at - one.at)
    doubt = chord - height(one.line, cross)
    if doubt > 0:
        heapq.heappush(doubts, (-doubt, next(number), one))


def _between(line: Callable[[float], Line], one: _Found) -> _Found | None:
    """Return the line above the crossing of a line with the next one, None if there is none."""
    other = one.next
    assert other is not None
    cross = crossing(one.line, other.line)
    found = line(float(cross))
    if one.line[1] < found[1] < other.line[1] and height(found, cross) > height(one.line, cross):
        return _Found(found, cross, other)
    return None


def _listed(first: _Found, most: Fraction) -> list[Line]:
    """Return the lines of a chain, those left out that are the highest at one end only."""
    lines, at = [first.line], first.next
    while at is not None:
        if at.line[1] > lines[-1][1] and crossing(lines[-1], at.line) < most:
            lines.append(at.line)
        at = at.next
    return lines
