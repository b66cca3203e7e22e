"""The lines of a process as columns: `MPI_Name:begin:argument:...:end`, times in us, of numbers that belong together `,` between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from perwiz.formats.allprof import functions
from perwiz.trace import operations
from perwiz.trace.arrays import I8, Mask

_NAME, _DIGITS, _LATEST = 40, 20, 9 * 10**15
"""Bytes of the longest name, digits of the longest number, us of the latest time."""
_MOST = (1 << 31) - 1
VALUES = (
    "count",
    "type",
    "peer",
    "tag",
    "comm",
    "of",
    "root",
    "count2",
    "type2",
    "peer2",
    "tag2",
    "sum",
    "sum2",
    "request",
    "listed",
    "rank",
)
"""Columns of arguments. `type`: bytes of the datatype; `comm`: its handle, `rank` and `of` the own rank in it and its size, -1 none."""
_INITS = ("MPI_Init", "MPI_Init_thread")


class Lines:
    """The calls of one process, in the order of their lines."""

    def __init__(self, text: bytes) -> None:
        self.text: NDArray[np.uint8] = np.frombuffer(text + b"\n", "u1")
        ends = np.flatnonzero(self.text == ord("\n"))
        begins = np.concatenate([[0], ends[:-1] + 1])
        self.cut = len(ends) > 1 and not text.endswith(b"\n")
        keep = (ends > begins) & (self.text[begins] != ord("#"))
        if self.cut:
            keep[-1] = False
        self._begin, self._end = begins[keep], ends[keep]
        self._colons: I8 = np.append(np.flatnonzero(self.text == ord(":")), len(self.text))
        self._commas: I8 = np.append(np.flatnonzero(self.text == ord(",")), [len(self.text)] * 2)
        self._dots: I8 = np.append(np.flatnonzero(self.text == ord(".")), len(self.text))
        self._first = np.searchsorted(self._colons, self._begin)
        self._fields = np.searchsorted(self._colons, self._end) - self._first
        self._parse()
        self.text = self.text[:0].copy()

    def _parse(self) -> None:
        rows = len(self._begin)
        self.op, self.does = np.zeros(rows, "u2"), np.zeros(rows, "u1")
        self.value: dict[str, I8] = {name: np.zeros(rows, "i8") for name in VALUES}
        for name in ("peer", "peer2", "tag", "root", "rank", "of"):
            self.value[name][:] = -1
        good = self._fields >= 2
        timed = np.flatnonzero(good)
        self.enter, self.leave = np.zeros(rows, "i8"), np.zeros(rows, "i8")
        for name, found in self._names(timed):
            if not name.startswith("MPI_"):
                good[found] = False
                continue
            self.op[found], self.does[found] = operations.OP.get(name, 0), functions.does().get(name, functions.CALL)
            good[found] &= self._times(name, found)
            layout = functions.layouts().get(name)
            if layout is not None:
                good[found] &= self._fields[found] == len(layout) + 2
                sane = found[good[found]]
                good[sane] &= self._arguments(layout, sane)
        self.bad = int((~good).sum())
        for column in ("op", "does", "enter", "leave"):
            setattr(self, column, getattr(self, column)[good])
        self.value = {name: column[good] for name, column in self.value.items()}
        self.finalized = bool(np.isin(self.op, operations.FINALIZES).any())

    def _names(self, lines: I8) -> list[tuple[str, I8]]:
        """Return the names that lines begin with, and the lines of each."""
        if not len(lines):
            return []
        begin = self._begin[lines]
        length = np.minimum(self._colons[self._first[lines]] - begin, _NAME)
        letters = np.zeros((len(lines), _NAME), "u1")
        for k in range(int(length.max())):
            letters[:, k] = np.where(k < length, self.text[np.minimum(begin + k, len(self.text) - 1)], 0)
        words = letters.view("u8")
        mixed = np.zeros(len(lines), "u8")
        for k in range(words.shape[1]):
            mixed = (mixed ^ words[:, k]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        _, first, of = np.unique(mixed, return_index=True, return_inverse=True)
        same = (letters == letters[first][of]).all(axis=1)
        order = np.argsort(of, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(of))[:-1])
        return [
            (letters[at].tobytes().rstrip(b"\0").decode("latin-1"), lines[group[same[group]]])
            for at, group in zip(first, groups, strict=True)
        ]

    def _field(self, lines: I8, k: int) -> tuple[I8, I8]:
        """Return where the k-th field of lines begins and ends; -1 is the last."""
        at = self._first[lines] + (self._fields[lines] - 1 if k < 0 else k)
        return self._colons[at] + 1, np.minimum(self._colons[at + 1], self._end[lines])

    def _times(self, name: str, lines: I8) -> Mask:
        """Fill in the times; return which lines have them. A process that is not yet or no more in MPI has no clock: `-`."""
        begin, known = self._time(*self._field(lines, 0))
        end, ended = self._time(*self._field(lines, -1))
        if name in _INITS:
            begin, known = end, ended
        elif name == "MPI_Finalize":
            end, ended = begin, known
        self.enter[lines], self.leave[lines] = begin, end
        return known & ended

    def _time(self, begin: I8, end: I8) -> tuple[I8, Mask]:
        """Return times in ns, and which of them are some."""
        dot = np.minimum(self._dots[np.searchsorted(self._dots, begin)], end)
        whole, good = numbers(self.text, begin, dot)
        stop = np.minimum(end, dot + 4)
        part, partly = numbers(self.text, np.minimum(dot + 1, stop), stop)
        digits = np.clip(stop - dot - 1, 0, 3)
        part = np.where(partly, part, 0) * 10 ** (3 - digits)
        return np.clip(whole, 0, _LATEST) * 1000 + part, good & (whole >= 0) & (whole <= _LATEST) & (partly | (dot + 1 >= end)) & (
            part >= 0
        )

    def _arguments(self, layout: tuple[str, ...], lines: I8) -> Mask:
        """Fill in the arguments; return which lines have them all."""
        good = np.ones(len(lines), bool)
        for k, name in enumerate(layout):
            if name == "-":
                continue
            begin, end = self._field(lines, k + 1)
            if name in ("sum", "sum2"):
                found, sane = self._sums(begin, end)
            elif name in ("type", "type2"):
                found, sane = self._part(begin, end, 1)
            elif name == "comm":
                found, sane = self._part(begin, end, 0)
                for which, column in ((1, "rank"), (2, "of")):
                    said, also = self._part(begin, end, which)
                    self.value[column][lines], sane = said, sane & also & (said >= 0) & (said <= _MOST)
            else:
                found, sane = numbers(self.text, begin, end)
            if name not in ("comm", "request"):
                sane = sane & (abs(found) <= _MOST)
            if name in ("count", "count2", "type", "type2", "listed"):
                sane = sane & (found >= 0)
            self.value[name][lines] = np.where(sane, found, 0)
            good &= sane
        return good

    def _part(self, begin: I8, end: I8, which: int) -> tuple[I8, Mask]:
        """Return a number of three with commas in between, from 0 on, and which fields have three."""
        at = np.searchsorted(self._commas, begin)
        commas = [self._commas[at], self._commas[np.minimum(at + 1, len(self._commas) - 1)]]
        edges = [begin - 1, np.minimum(commas[0], end), np.minimum(commas[1], end), end]
        found, sane = numbers(self.text, edges[which] + 1, edges[which + 1])
        return found, sane & (commas[1] < end)

    def _sums(self, begin: I8, end: I8) -> tuple[I8, Mask]:
        """Return the sums of counts with commas in between."""
        total, good = np.zeros(len(begin), "i8"), np.ones(len(begin), bool)
        first = np.searchsorted(self._commas, begin)
        many = np.searchsorted(self._commas, end) - first + 1
        line = np.repeat(np.arange(len(begin)), many)
        k = np.arange(len(line)) - np.repeat(np.cumsum(many) - many, many)
        last = len(self._commas) - 1
        left = np.where(k == 0, begin[line], self._commas[np.clip(first[line] + k - 1, 0, last)] + 1)
        right = np.where(k == many[line] - 1, end[line], self._commas[np.minimum(first[line] + k, last)])
        each, sane = numbers(self.text, left, right)
        sane &= (each >= 0) & (each <= _MOST)
        np.add.at(total, line, np.where(sane, each, 0))
        good[line[~sane]] = False
        return total, good & (total <= _MOST)

    def __len__(self) -> int:
        """Return how many calls there are."""
        return len(self.op)


def numbers(text: NDArray[np.uint8], begin: I8, end: I8) -> tuple[I8, Mask]:
    """Return the whole numbers between places of a text, those above 2^63 modulo 2^64, and which of them are some."""
    last = len(text) - 1
    minus = text[np.minimum(begin, last)] == ord("-")
    begin = begin + minus
    length = end - begin
    good = (length >= 1) & (length <= _DIGITS)
    value: Any = np.zeros(len(begin), "u8")
    for k in range(int(length[good].max(initial=0))):
        inside = k < length
        digit = text[np.minimum(begin + k, last)] - np.uint8(ord("0"))
        good &= ~inside | (digit <= 9)
        value = np.where(inside, value * np.uint64(10) + digit, value)
    out = value.view("i8")
    return np.where(minus, -out, out), good


def merged(enter: I8, leave: I8) -> tuple[I8, I8, int]:
    """Return times that do not run backwards, and how many did."""
    both = np.stack([enter, leave], axis=1).ravel()
    least = np.maximum.accumulate(both) if len(both) else both
    return least[0::2].copy(), least[1::2].copy(), int((least != both).sum())
