"""The calls of a location that does one thing after the other and idles between."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from perwiz.formats.kineto.book import Book
from perwiz.trace.arrays import I4, I8
from perwiz.trace.tables import NONE


class Between(NamedTuple):
    """What locations do, in order of (location, time), such that nothing overlaps on one."""

    begin: I8
    end: I8
    before: I8
    """Handle of the idle call that ends when it begins."""
    behind: I8
    """Handle of the idle call that begins when it ends."""
    turn: I8
    """Turn of a call that it is."""


def idle(book: Book, op: int, location: I4, begin: I8, end: I8, start: int, stop: int) -> Between:
    """Return what is done, after adding the idle calls around it, from the start to the end of the rank.

    begin  3 8  end  5 9, from 0 to 20      idle 0 - 3, 5 - 8, 9 - 20
    """
    count = len(location)
    first = np.append(True, location[1:] != location[:-1])[:count]
    shift = np.cumsum(first) * (int((end - start).max(initial=0)) + int((start - begin).max(initial=0)) + 1)
    end = np.maximum.accumulate(end + shift) - shift
    begin = begin.copy()
    begin[1:] = np.where(first[1:], begin[1:], np.maximum(begin[1:], end[:-1]))
    turn = 2 * np.arange(count)
    since = np.where(first, np.minimum(start, begin), np.append(0, end[:-1])[:count])
    before = book.add(location, op, since, begin, turn=turn)
    last = np.append(first[1:], True)[:count]
    behind = np.append(before[1:], NONE)[:count]
    behind[last] = book.add(location[last], op, end[last], np.maximum(end[last], stop), turn=turn[last] + 2)
    return Between(begin, end, before, behind, turn + 1)
