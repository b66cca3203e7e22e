"""Threads of a process: how their work is shared out, over how many of them, and what runs in one alone."""

from __future__ import annotations

import dataclasses
import re
from typing import ClassVar

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels import schedule as kernel
from perwiz.loggps.weigh import Weighted
from perwiz.trace.arrays import I8, Mask
from perwiz.trace.tables import NONE, PROCESS
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses import overheads
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.computation import Computation
from perwiz.whatif.hypotheses.devices import for_devices
from perwiz.whatif.hypotheses.parts import Parts, between_init_and_finalize
from perwiz.whatif.hypotheses.stretch import LONGEST, Segments, latest, level, shares
from perwiz.whatif.hypotheses.teams import EVERY, chosen_teams, innermost, members, phases, spread

FITTED = "teams=fitted"
"""What forks, barriers and joins take in teams of another size is at an end of what the fit does not rule out."""
_MOST_THREADS, _MOST_PIECES = 4096, 10_000
_MOST_IN_ALL = 10_000_000
"""Pieces of all threads in all teams; each takes some 40 bytes."""


class Shared(Computation):
    """What shares the work of teams out anew, from barrier to barrier."""

    def shared(self, segments: Segments, length: I8, chosen: Parts) -> I8:
        """Return the lengths of the chosen segments. Raises UsageError if the hypothesis does not fit the trace."""
        raise NotImplementedError

    def region(self) -> str:
        """Return the text that tells the teams. Raises UsageError if the argument is not as it must be."""
        return self.argument

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those of the teams shared out."""
        chosen = phases(segments, self.region())
        out = length.copy()
        out[chosen.segment] = self.shared(segments, length[chosen.segment], chosen)
        return out


class BalanceThreads(Shared):
    """In every team, from barrier to barrier, each thread computes for the mean of the team."""

    word = "balance-threads"

    def shared(self, segments: Segments, length: I8, chosen: Parts) -> I8:
        """Return the lengths, those of each part balanced; their sum is conserved to the ns."""
        return level(length, chosen.group, chosen.part)


class Threads(Shared):
    """`REGION=8`: so many threads do what the recorded ones did, as `teams.spread` says.

    What forks, barriers and joins take becomes what is fitted for as many threads, where the run shows teams of several sizes.
    """

    word, example, varied = "threads", "REGION=8", FITTED

    def region(self) -> str:
        """Return the text before the number."""
        return _split(self)[0]

    def shared(self, segments: Segments, length: I8, chosen: Parts) -> I8:
        """Return the lengths, spread over that many threads."""
        return shares(length, chosen.group, spread(_totals(length, chosen), chosen.part, self.number()))

    def number(self) -> int:
        """Return the number of threads. Raises UsageError if the argument is not as it must be."""
        value = _split(self)[1]
        if not re.fullmatch("[0-9]{1,4}", value) or not 0 < int(value) <= _MOST_THREADS:
            raise UsageError(f"{self}: must be like {self.word} {self.example} with 1 to {_MOST_THREADS} threads")
        return int(value)

    def in_calls(self, weighted: Weighted) -> None:
        """Change, in place, what forks, barriers and joins of the teams take."""
        overheads.shift(weighted, self.region(), self.number())

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return the graph with these taking the least and the most that the fit does not rule out."""
        sides = [dataclasses.replace(weighted, weight=weighted.weight.copy()) for _ in overheads.SIDES]
        for side, changed in zip(overheads.SIDES, sides, strict=True):
            overheads.shift(changed, self.region(), self.number(), side)
        return sides


def taken_away(trace: Trace, hypothesis: Threads) -> Mask:
    """Return which calls the threads make that teams have too many, bool per call: of a team those behind its first so many, by location.

    From the wait for the team on to the end of it; all calls of a thread that is taken away from all its teams.
    """
    of = members(trace)
    begins = np.searchsorted(of.team, np.arange(len(of.fork)))
    rank = np.arange(len(of.team)) - begins[of.team]
    spare = chosen_teams(trace, hypothesis.region(), of)[of.team] & (rank >= hypothesis.number())
    change = np.zeros(len(trace.calls) + 1, "i8")
    np.add.at(change, of.first[spare], 1)
    np.add.at(change, of.end[spare], -1)
    kept = np.zeros(len(trace.locations), bool)
    kept[of.location[~spare]] = True
    gone = np.zeros(len(trace.locations), bool)
    gone[of.location[spare]] = True
    return (np.cumsum(change)[:-1] > 0) | (gone & ~kept)[trace.calls.location]


def added(trace: Trace, hypothesis: Threads) -> bool:
    """Return whether a team gets threads that it did not have."""
    of = members(trace)
    return bool((of.size[chosen_teams(trace, hypothesis.region(), of)] < hypothesis.number()).any())


class Schedule(Shared):
    """`REGION=dynamic` or `REGION=dynamic,100`: whichever thread is free takes the next piece of work, in the recorded order of threads.

    Pieces are what the recording tells apart: what is between calls and boundaries of regions; or so many equal ones of each thread's work.
    """

    word, example = "schedule", "REGION=dynamic,100"
    last: ClassVar[bool] = False
    """Whether pieces are taken in the order in which the end is latest."""

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return the same with pieces taken so that the end is latest: no trace tells in which order they are."""
        return [] if self.last else [_Latest(self.argument)]

    def region(self) -> str:
        """Return the text before the schedule."""
        return _split(self)[0]

    def shared(self, segments: Segments, length: I8, chosen: Parts) -> I8:
        """Return the lengths, the work of each thread what it gets."""
        match = re.fullmatch("dynamic(?:,([0-9]{1,5}))?", _split(self)[1])
        if not match or not 0 < int(match[1] or 1) <= _MOST_PIECES:
            raise UsageError(f"{self}: must be like {self.word} {self.example} with 1 to {_MOST_PIECES} pieces of each thread's work")
        group, piece = chosen.group[length > 0], length[length > 0]
        if match[1] and len(chosen.part) * int(match[1]) > _MOST_IN_ALL:
            raise UsageError(f"{self}: {len(chosen.part) * int(match[1])} pieces in all teams, must be at most {_MOST_IN_ALL}")
        if match[1]:
            group, piece = _cut(_totals(length, chosen), int(match[1]))
        elif not (np.bincount(group, minlength=1) > 1).any():
            raise UsageError(
                f"{self}: no region or call tells pieces of work apart, must say how many each thread has, as in {self.example}"
            )
        part = chosen.part[group]
        begins, threads = (np.searchsorted(of, np.arange(int(chosen.part[-1]) + 2)) for of in (part, chosen.part))
        total = np.zeros(len(chosen.part), "i8")
        kernel.dynamic(begins, threads, piece, total)
        if self.last:
            total = latest(piece, group, chosen.part, np.zeros_like(total), total)
        return shares(length, chosen.group, total)


class _Latest(Schedule):
    """The same with pieces taken so that the end is latest."""

    last, varied = True, LONGEST


class Parallel(Computation):
    """What a process computes alone, outside of its teams, in `REGION` or `all`, is done by as many threads as its largest team has.

    What it computes for its devices stays (`devices.for_devices`).
    """

    word = "parallel"

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those of the first thread outside of teams divided by the threads, rounded to ns."""
        trace, of = segments.trace, members(segments.trace)
        threads = np.ones(len(trace.locations), "i8")
        master = trace.calls.location[of.fork]
        np.maximum.at(threads, master, of.size)
        threads[trace.locations.kind != PROCESS] = 1
        alone = (innermost(segments, of)[segments.gap] == NONE) & (threads[segments.location] > 1) & (length > 0)
        alone &= ~for_devices(segments)
        if self.argument == EVERY and EVERY not in trace.names:
            alone &= between_init_and_finalize(segments)
        else:
            alone &= segments.within(selectors.steps(trace, self.argument)[0])
        if not alone.any() and (self.argument != EVERY or not len(of.fork)):
            raise UsageError(f"{self}: no process that has teams of threads computes there outside of them")
        return np.where(alone, np.rint(length / threads[segments.location]), length).astype("i8")


def _split(hypothesis: Shared) -> tuple[str, str]:
    """Return what is before and behind the mark of an argument. Raises UsageError."""
    name, mark, value = hypothesis.argument.rpartition("=")
    if not mark:
        raise UsageError(f"{hypothesis}: must be like {hypothesis.word} {hypothesis.example}")
    return name, value


def _totals(length: I8, chosen: Parts) -> I8:
    """Return the ns of each group."""
    total = np.zeros(len(chosen.part), "i8")
    np.add.at(total, chosen.group, length)
    return total


def _cut(total: I8, count: int) -> tuple[I8, I8]:
    """Return (group, length) of the pieces if each group is cut into so many as equal as can be, none of them empty.

    10 in 3 -> 3 3 4;  2 in 3 -> 1 1
    """
    cuts = total[:, None] * np.arange(count + 1) // count
    piece = np.diff(cuts, axis=1).ravel()
    kept = piece > 0
    return np.repeat(np.arange(len(total)), count)[kept], piece[kept]
