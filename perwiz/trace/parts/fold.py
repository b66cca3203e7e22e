"""What repeats back to back in sequences, whatever number of times: a word, and words of words.

Repetitions are folded from the shortest word to the longest: where a word stands twice or more in a row, one letter takes their place.
So a loop inside another is one letter of the outer one, however often it runs each time, as loops do that end when they have converged
(the loop compression of Noeth et al., ScalaTrace, J. Parallel Distrib. Comput. 69, 2009, which keeps the numbers of repetitions apart).

Words of p letters, L <= p < 2 L, L a power of two, are found at once. Two equal words in a row begin with the same L letters, p apart.
No L letters inside a word are those that it begins with, nearer than p behind them, or shorter words would repeat. So the next place
with the same L letters is p behind; and where that is so of p - L + 1 places in a row, the word repeats.
"""

from __future__ import annotations

import collections
import dataclasses
import functools

import numpy as np

from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import Numbers, following


@dataclasses.dataclass(frozen=True, eq=False)
class Repeats:
    """Words that repeat, in the order in which they were folded: those inside others before these. Places are those of what was given."""

    word: I8
    """The same for the same word."""
    first: I8
    """Per row and one more: its first of `begin`."""
    begin: I8
    """Where each of its words begins."""
    end: I8
    """Behind its last word."""
    rest: I8
    """Behind what follows the last word as if it was to come once more: `end` if nothing does."""

    @functools.cached_property
    def words(self) -> I8:
        """How many words each has."""
        return np.diff(self.first)


def fold(letter: I4, lane: I4, late: Mask) -> Repeats:
    """Return what repeats in the sequences of letters that are each those of one lane, given in order of lanes.

    a b b c a b c a b b b c of one lane: b b, then b b b; then the word a b c, three of them, from 0, 4 and 7 to 12.

    c a b c a b c is the word c a b twice, or a b c one letter later: no word begins with a letter that is `late` if it can begin later.
    """
    return _Fold(letter, lane, late).repeats()


class _Fold:
    """Sequences in which repetitions are replaced, and what was."""

    def __init__(self, letter: I4, lane: I4, late: Mask) -> None:
        self._letter, self._lane, self._late = letter.copy(), lane, late
        self._place = np.arange(len(letter) + 1, dtype="i4")
        """Where each letter begins in the sequence given; and one more."""
        self._gram = self._letter
        """Numbers of the letters that begin at each place, as many as were looked at last, across lanes, too."""
        self._new = int(letter.max(initial=-1)) + 1
        self._grams: dict[int, Numbers] = collections.defaultdict(Numbers)
        self._ends: dict[int, Numbers] = collections.defaultdict(Numbers)
        self._words = Numbers()
        """By L: 2 L letters as their halves; the L letters a word begins and ends with. And of these and its length, a word."""
        self._found: list[Repeats] = []

    def repeats(self) -> Repeats:
        """Fold all, the shortest first, and return what was found."""
        length = 1
        while 2 * length <= len(self._letter):
            length = 1 if self._once(length) else 2 * length
        found = self._found
        if not found:
            empty = np.empty(0, "i8")
            return Repeats(empty, np.zeros(1, "i8"), empty, empty, empty)
        columns = {name: np.concatenate([getattr(one, name) for one in found], dtype="i8") for name in ("word", "begin", "end", "rest")}
        return Repeats(first=np.concatenate([[0], np.concatenate([one.words for one in found]).cumsum()]), **columns)

    def _once(self, length: int) -> bool:
        """Fold those that do not overlap; return whether there are any."""
        gram = self._all(length)
        start, period, span = self._squares(gram, length)
        if not len(start):
            return False
        ends = np.maximum.accumulate(start + span)
        free = np.append(True, start[1:] >= ends[:-1])
        start, period, span = start[free], period[free], span[free]
        if length == 1:
            word = self._letter[start]
        else:
            word = self._number(gram, start, period, length)
            start, period, span, word = self._alone(gram, length, start, period, span, word)
        self._replace(start, period, span, word)
        return True

    def _all(self, length: int) -> I4:
        """Return numbers of the `length` letters that begin at each place, the same for the same in any lane; -1 across lanes.

        What is half as long was looked at before, and nothing replaced since.
        """
        done = length // 2
        self._gram = self._grams[done].number(self._gram[:-done], self._gram[done:]) if done else self._letter
        gram = self._gram.copy()
        gram[self._lane[: len(gram)] != self._lane[length - 1 :]] = -1
        return gram

    def _squares(self, gram: I4, length: int) -> tuple[I8, I8, I8]:
        """Return (first letter, letters of the word, letters) of each stretch that repeats a word, in order."""
        apart = following(gram, self._lane[: len(gram)])
        apart[(apart < length) | (apart >= 2 * length)] = 0
        begins = np.flatnonzero(np.append(apart[:1] != 0, apart[1:] != apart[:-1]))
        count = np.diff(np.append(begins, len(apart)))
        period = apart[begins].astype("i8")
        good = (period > 0) & (count >= period - length + 1)
        begins, period, span = begins[good], period[good], (count - 1 + length + period)[good]
        good_start = np.append(np.flatnonzero(~self._late), len(self._late))
        later = good_start[np.searchsorted(good_start, begins)] - begins
        later[later > span % period] = 0
        return begins + later, period, span - later

    def _number(self, gram: I4, start: I8, period: I8, length: int) -> I8:
        """Return the letters that stand for words."""
        ends = self._ends[length].number(gram[start], gram[start + period - length])
        return self._new + self._words.number(ends, period).astype("i8")

    def _alone(self, gram: I4, length: int, start: I8, period: I8, span: I8, word: I8) -> tuple[I8, I8, I8, I8]:
        """Return stretches with those added, of one word each, where a word that repeats elsewhere in its lane stands once."""
        taken = np.zeros(len(self._letter) + 1, "i4")
        np.add.at(taken, start, 1)
        np.add.at(taken, start + span // period * period, -1)
        np.cumsum(taken, out=taken)
        free = np.zeros(len(taken), "i4")
        np.cumsum(taken[:-1] > 0, out=free[1:])
        size = int(self._lane.max(initial=0)) + 1
        known, where = np.unique(word.astype("i8") * size + self._lane[start], return_index=True)
        parts = [(start, period, span, word)]
        for one in np.unique(period).tolist():
            place = np.flatnonzero((gram[: len(gram) + length - one] >= 0) & (gram[one - length :] >= 0))
            place = place[(free[place + one] == free[place]) & (self._lane[place] == self._lane[place + one - 1])]
            wanted = known[period[where] == one]
            first = np.unique(gram[start[where[period[where] == one]]])
            place = place[np.isin(gram[place], first)]
            its = self._number(gram, place, np.full(len(place), one), length)
            again = np.isin(its * size + self._lane[place], wanted)
            place, its = place[again], its[again]
            parts.append((place, np.full(len(place), one), np.full(len(place), one), its))
        start, period, span, word = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(start, kind="stable")
        start, period, span, word = start[order], period[order], span[order], word[order]
        ends = np.maximum.accumulate(start + span // period * period)
        apart = np.append(True, start[1:] >= ends[:-1])
        return start[apart], period[apart], span[apart], word[apart]

    def _replace(self, start: I8, period: I8, span: I8, word: I8) -> None:
        """Put one letter in the place of each stretch of whole words, and keep where they were."""
        words = span // period
        first = np.concatenate([[0], words.cumsum()])
        number = np.arange(first[-1]) - np.repeat(first[:-1], words)
        place = self._place
        begin = place[np.repeat(start, words) + number * np.repeat(period, words)]
        end = start + words * period
        self._found.append(Repeats(word, first, begin, place[end], place[start + span]))
        gone: Mask = np.zeros(len(self._letter) + 1, bool)
        size = words * period - 1
        behind = np.concatenate([[0], size.cumsum()])
        gone[np.repeat(start + 1, size) + np.arange(behind[-1]) - np.repeat(behind[:-1], size)] = True
        self._letter[start] = word
        self._place = place[~gone]
        left = ~gone[:-1]
        self._letter, self._lane, self._late = self._letter[left], self._lane[left], self._late[left]
