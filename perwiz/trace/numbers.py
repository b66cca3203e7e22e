"""Numbers for pairs of integers, in order of first occurrence."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.kernels import number as kernel
from perwiz.trace.arrays import I4, I8

SLICE = 1 << 16
"""Pairs numbered at a time: the hash table follows the number of different pairs, not of all."""
_ODD = secrets.randbits(63) | 1
"""Spreads the pairs over the hash table, differently in every process, so that no file can make them meet in one place."""
_MULTIPLIER, _INVERSE = np.uint64(_ODD), np.uint64(pow(_ODD, -1, 1 << 64))
_OTHER = np.uint64(secrets.randbits(63) | 1)


def _table(rows: int) -> I4:
    """Return an empty hash table at most half full with so many rows."""
    return np.full(1 << (2 * rows + 2).bit_length(), -1, "i4")


class Numbers:
    """Gives every distinct pair of int64 a number, 0, 1, 2 ... in order of first occurrence, over several calls."""

    def __init__(self) -> None:
        self.count = 0
        self._known = _room(0)
        self._table = _table(0)

    @property
    def pairs(self) -> I8:
        """The pairs known so far, one per row."""
        known = self._known[: self.count]
        second = known["second"]
        first = (known["first"].view("u8") - second.view("u8") * _OTHER) * _INVERSE
        return np.stack([first.view("i8"), second], axis=1)

    def number(self, first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]) -> I4:
        """Return the number of each pair, int32 in the order given."""
        out = np.empty(len(first), "i4")
        for begin in range(0, len(out), SLICE):
            rows = slice(begin, begin + SLICE)
            self._slice(first[rows], second[rows], out[rows])
        return out

    def _slice(self, first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], out: I4) -> None:
        key = np.empty(len(first), kernel.PAIR)
        key["first"], key["second"] = first, second
        mixed = key["first"].view("u8")
        mixed *= _MULTIPLIER
        mixed += key["second"].view("u8") * _OTHER
        self._reserve(self.count + len(key))
        self.count = kernel.number(key.view(np.recarray), self._table, self._known, self.count, out)

    def _reserve(self, rows: int) -> None:
        if rows > len(self._known):
            self._known, self._table = _longer(self._known, self.count, rows)


def _room(rows: int) -> NDArray[Any]:
    """Return so many pairs, to be written before they are read."""
    return np.recarray(rows, kernel.PAIR)


def _longer(known: NDArray[Any], count: int, rows: int) -> tuple[NDArray[Any], I4]:
    """Return room for at least so many pairs, in which the first `count` of those known are, and their hash table."""
    out = _room(max(rows, 2 * len(known)))
    table = _table(len(out))
    kernel.number(known[:count], table, out, 0, np.empty(count, "i4"))
    return out, table


def distinct_pairs(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]) -> tuple[I8, I4]:
    """Return the pairs that there are, in order, one per row, and the row of each pair given.

    first 2 1 2   second 7 7 7   out  (1, 7) (2, 7)   1 0 1
    """
    numbers = Numbers()
    which = numbers.number(first, second)
    pairs = numbers.pairs
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    place = np.empty(len(order), "i4")
    place[order] = np.arange(len(order), dtype="i4")
    return pairs[order], place[which]


def first_of(number: I4) -> I8:
    """Return the first row of each number, where these are in order of first occurrence. Numbers 0 1 0 2 2: rows 0 1 3."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(number), prepend=np.int32(-1)))


def running(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]) -> I4:
    """Return per row how many rows before it have the same pair, int32."""
    numbers = Numbers()
    out = numbers.number(first, second)
    return _running(out, numbers.count)


def running_of(number: NDArray[np.integer[Any]], count: int) -> I4:
    """Return per row how many rows before it have the same number, int32; numbers are from -1 to below `count`."""
    return _running(number.astype("i4") + np.int32(1), count + 1)


def _running(number: I4, count: int) -> I4:
    kernel.running(number, np.zeros(count, "i4"))
    return number


def following(number: I4, lane: I4) -> I4:
    """Return how far behind each row the next one of its lane with the same number is; 0 if none is, or the number is below 0.

    Rows of a lane follow one another. number 5 7 5 5   lane 0 0 0 1   out 2 0 0 0
    """
    out = np.empty(len(number), "i4")
    kernel.following(number, lane, np.empty(int(number.max(initial=-1)) + 1, "i4"), out)
    return out


def paths(parent: I4, region: I4) -> tuple[I4, I4, I4]:
    """Return (path per region instance, parent per path, region per path), all int32. Instances come after their parents."""
    out = np.empty(len(parent), "i4")
    known, table, count = _room(0), _table(0), 0
    for begin in range(0, len(parent), SLICE):
        if count + SLICE > len(known):
            known, table = _longer(known, count, count + SLICE)
        count = kernel.paths(parent[: begin + SLICE], region, begin, count, table, known, out)
    return out, known["first"][:count].astype("i4"), known["second"][:count].astype("i4")


_SPREAD = 4
"""Integers that lie this many times as far apart as there are of them, at most, are looked up in a table of all between them."""


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the integers that there are, in order: as np.unique, whose hash table takes several times as long on many that differ."""
    low, between = _between(values)
    if between:
        seen = np.zeros(between, bool)
        seen[values - low] = True
        return np.flatnonzero(seen).astype(values.dtype) + low
    if (values[1:] > values[:-1]).all():
        return values
    out = np.sort(values)
    return out[np.diff(out, prepend=out[:1] - 1) != 0]


def numbered(values: NDArray[Any]) -> tuple[NDArray[Any], I8]:
    """Return the integers that there are, in order, and the place of each one given among them.

    values 5 9 5 3   out  3 5 9   1 2 1 0
    """
    known = distinct(values)
    return known, places(known, values)


def places(known: NDArray[Any], values: NDArray[Any]) -> I8:
    """Return the place of each of some integers among those that are known, in order: as np.searchsorted, of which all must be there.

    known 3 5 9   values 5 9 5 3   out 1 2 1 0
    """
    low, between = _between(known, len(values))
    if not between:
        return np.searchsorted(known, values)
    place = np.zeros(between, "i8")
    place[known - low] = np.arange(len(known))
    return place[values - low]


def _between(values: NDArray[Any], count: int = 0) -> tuple[Any, int]:
    """Return the least of some integers and how many lie from there to the largest, 0 if a table of these would be too long.

    It may have _SPREAD rows for each of these integers, or of `count`.
    """
    if not len(values):
        return 0, 0
    low, high = values.min(), values.max()
    between = int(high) - int(low) + 1
    return low, between if between <= _SPREAD * max(len(values), count) else 0
