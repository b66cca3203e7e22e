"""What processes compute between collectives in which all wait for each other: where the slowest is above the mean, and how often.

A stretch that is there once, at the start or at the end, does not pay again in a longer run, and is another thing to change than a step
that repeats: so it is told apart.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from perwiz import words
from perwiz.trace.arrays import F8, I8, Mask
from perwiz.trace.resources import remembered
from perwiz.trace.tables import NONE
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.parts import STRETCHES, Parts, parts, synchronisations
from perwiz.whatif.hypotheses.stretch import Segments

_PART, _APART, _FEW = 0.25, 4.0, 4
"""Part of the excess of all stretches from which on one of them stands for itself; how many times as much as the others that end alike it
then has; stretches below which nothing tells what repeats."""
_MOST, _LITTLE, _NAME = 0.5, 0.05, 60
"""What is mostly so; part of the computation of the run up to which what is before or behind is little; columns of a name."""


@dataclasses.dataclass(frozen=True, eq=False)
class Between:
    """The stretches of a run, one row per stretch."""

    segments: Segments
    excess: F8
    """ns that the process which computes longest is above the mean of all."""
    mean: F8
    """ns that all compute on average."""
    alone: Mask
    """Whether most of what that process computes is one piece, between two calls: nothing is repeated in there."""
    site: I8
    """Where the collective is called that ends it, row of `selectors.sites`; NONE behind the last."""
    parts: Parts
    slowest: Mask
    """Per row of the parts, whether it is of the process that computes longest."""

    def once(self) -> list[int]:
        """Return the stretches, from 0, largest excess first, that are there once and make up most of the excess; none if they do not.

        Such a one has far more than the others that end at the same collective.
        """
        whole = self.excess.sum()
        large = np.flatnonzero((self.excess >= _PART * whole) & (self.excess > 0) & self.alone)
        apart = np.array([self.excess[row] >= _APART * self._usual(row) for row in large.tolist()], bool)
        large = large[apart]
        known = np.count_nonzero(self.mean) >= _FEW and self.excess[large].sum() >= _MOST * whole
        return large[np.argsort(-self.excess[large], kind="stable")].tolist() if known else []

    def _usual(self, row: int) -> float:
        """Return the median excess of the other stretches that end at the same collective; 0 without any."""
        alike = self.site == self.site[row]
        alike[row] = False
        return float(np.median(self.excess[alike])) if alike.any() else 0.0

    def rest(self) -> tuple[int, int] | None:
        """Return the first and the last of the most stretches in a row of which none is there once; None if they are even."""
        ends = np.array([-1, *sorted(self.once()), np.flatnonzero(self.mean).max(initial=-1) + 1])
        longest = int(np.diff(ends).argmax())
        first, last = int(ends[longest]) + 1, int(ends[longest + 1]) - 1
        return (first, last) if first < last and self.excess[first : last + 1].any() else None

    def told_once(self, row: int) -> str:
        """Return in words a stretch that is there once: `computation once, at the end, most in print_results`."""
        before, whole = self.mean[:row].sum(), self.mean.sum()
        behind = whole - before - self.mean[row]
        at = ", at the start" if before <= _LITTLE * whole else ", at the end" if behind <= _LITTLE * whole else ""
        up_to = f",{self._up_to(row)}" if self.site[row] != NONE else ""
        return f"computation once{at}{self._region(np.arange(row, row + 1)) or up_to}"

    def told(self, rows: I8) -> str:
        """Return in words stretches that repeat: up to which collective most of the excess is, how often, and in which region."""
        site, what = self.site[rows], "computation in each stretch between collectives of all processes"
        rows = rows[site != NONE]
        if not len(rows):
            return what
        sums = np.bincount(self.site[rows], self.excess[rows])
        most = int(sums.argmax())
        if len(rows) < 2 or sums[most] < _MOST * self.excess[rows].sum() or not sums[most]:
            return what
        those = rows[self.site[rows] == most]
        return f"{what}: most of it{self._up_to(int(those[0]))}, {words.several(len(those), 'time')}{self._region(those)}"

    def _up_to(self, row: int) -> str:
        return f" up to {words.shown(selectors.site(*selectors.sites(self.segments.trace)[1][int(self.site[row])]), _NAME)}"

    def _region(self, rows: I8) -> str:
        """Return in which region the slowest processes of some stretches compute longest beyond the mean, if most of it is in one."""
        trace, segments, its = self.segments.trace, self.segments, self.parts
        names = len(trace.names)
        part = its.part[its.group]
        chosen = np.isin(part, rows)
        path = segments.path[its.segment[chosen]]
        region = np.where(path == NONE, names, np.append(trace.paths.region, names)[path]).astype("i8")
        count = trace.share.reduced(np.bincount(its.part, minlength=len(self.excess)), "sum")
        length = segments.length[its.segment[chosen]] * (self.slowest[chosen] - 1 / np.maximum(count[part[chosen]], 1))
        beyond = trace.share.reduced(np.bincount(region, length, names + 1), "sum")[:names]
        if not names or beyond.max() < _MOST * self.excess[rows].sum():
            return ""
        return f", most in {words.shown(trace.names[int(beyond.argmax())], _NAME)}"


@remembered(1)
def between(segments: Segments) -> Between:
    """Return the stretches of a run. Raises UsageError if no collective makes all processes wait for each other.

    Of two processes that compute 4 and 2 ns up to their first collective, 1 and 1 up to the second: excess 1 0.
    """
    trace, its = segments.trace, parts(segments, STRETCHES)
    share, length = trace.share, segments.length[its.segment]
    count = share.most(int(its.part.max(initial=NONE))) + 1
    computed = np.bincount(its.group, length, len(its.part))
    most = np.zeros(count)
    np.maximum.at(most, its.part, computed)
    most = share.reduced(most, "max")
    whole, many = (share.reduced(np.bincount(its.part, values, count), "sum") for values in (computed, np.ones(len(computed))))
    slowest = (computed == most[its.part])[its.group]
    piece = segments.gap[its.segment].astype("i8")
    fresh = np.flatnonzero(np.diff(piece, prepend=NONE) != 0)
    pieces = np.add.reduceat(np.where(slowest, length, 0), fresh) if len(fresh) else length
    longest = np.zeros(count)
    np.maximum.at(longest, its.part[its.group[fresh]], pieces)
    longest = share.reduced(longest, "max")
    calls = synchronisations(trace)
    calls = calls[share.has(trace.calls.location[calls])]
    location = trace.calls.location[calls]
    number = np.arange(len(calls)) - np.searchsorted(location, location)
    site = np.full(count, NONE, "i8")
    within = number < count
    np.maximum.at(site, number[within], selectors.sites(trace)[0][calls[within]])
    site = share.reduced(site, "max")
    mean = whole / np.maximum(many, 1)
    return Between(segments, most - mean, mean, longest >= _MOST * most, site, its, slowest)


def asked_between(segments: Segments) -> list[tuple[str, str]]:
    """Return what to balance between collectives, each (as the question has it, in words): all stretches, or those that are there once,
    each by itself, and the others.
    """
    found = between(segments)
    once, rest = found.once(), found.rest()
    if not once:
        return [(STRETCHES, found.told(np.arange(len(found.excess))))]
    out = [(f"{STRETCHES}#{row + 1}", found.told_once(row)) for row in once]
    if rest is not None:
        out.append((f"{STRETCHES}#{rest[0] + 1}..{rest[1] + 1}", found.told(np.arange(rest[0], rest[1] + 1))))
    return out
