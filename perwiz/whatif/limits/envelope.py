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
class _Highest:
    """A line of the envelope, a point where it is known to be the highest, and the next such line so far."""

    line: Line
    point: Fraction
    next: _Highest | None = None


def envelope(line: Callable[[float], Line], least: float, most: float, sweeps: int | None = None) -> tuple[list[Line], float]:
    """Return the lines whose maximum is the envelope from `least` to `most`, ascending by slope, and how much it may be higher.

    `line` returns the highest line at a point; it is asked twice and then at most `sweeps` times. With None the envelope is exact.
    """
    first, last = (_Highest(line(point), Fraction(point)) for point in (least, most))
    first.next = last
    doubts: list[tuple[Fraction, int, _Highest]] = []
    asked, number = 0, itertools.count()
    _push(doubts, first, number)
    while doubts and (sweeps is None or asked < sweeps):
        left = heapq.heappop(doubts)[2]
        asked += 1
        between = _between(line, left)
        if between is not None:
            left.next = between
            _push(doubts, left, number)
            _push(doubts, between, number)
    return _listed(first, Fraction(most)), float(-doubts[0][0]) if doubts else 0.0


def crossing(left: Line, right: Line) -> Fraction:
    """Return where two lines of different slopes are equally high."""
    return Fraction(left[0] - right[0], right[1] - left[1])


def height(line: Line, point: Fraction | float) -> Fraction:
    """Return how high a line is at a point."""
    return line[0] + line[1] * Fraction(point)


def _push(doubts: list[tuple[Fraction, int, _Highest]], left: _Highest, number: Iterator[int]) -> None:
    """Note by how much the envelope may lie above the crossing of a line with the next one: no further than the chord."""
    right = left.next
    if right is None or right.line[1] <= left.line[1]:
        return
    cross = crossing(left.line, right.line)
    begin, end = height(left.line, left.point), height(right.line, right.point)
    chord = begin + (end - begin) * (cross - left.point) / (right.point - left.point)
    doubt = chord - height(left.line, cross)
    if doubt > 0:
        heapq.heappush(doubts, (-doubt, next(number), left))


def _between(line: Callable[[float], Line], left: _Highest) -> _Highest | None:
    """Return the line above the crossing of a line with the next one, None if there is none."""
    right = left.next
    assert right is not None
    cross = crossing(left.line, right.line)
    highest = line(float(cross))
    if left.line[1] < highest[1] < right.line[1] and height(highest, cross) > height(left.line, cross):
        return _Highest(highest, cross, right)
    return None


def _listed(first: _Highest, most: Fraction) -> list[Line]:
    """Return the lines of a chain, those left out that are the highest at one end only."""
    lines, link = [first.line], first.next
    while link is not None:
        if link.line[1] > lines[-1][1] and crossing(lines[-1], link.line) < most:
            lines.append(link.line)
        link = link.next
    return lines
