"""Tasks that are shared out fixed, distributed to whoever is free instead."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from perwiz.errors import UsageError
from perwiz.kernels import schedule as kernel
from perwiz.loggps.weigh import Weighted, weigh
from perwiz.trace.arrays import I8
from perwiz.trace.numbers import running
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.hypotheses.base import Hypothesis
from perwiz.whatif.hypotheses.computation import Computation
from perwiz.whatif.hypotheses.stretch import LONGEST, Segments, latest, segments_of, shares

DEALT = "tasks=dealt"
"""The change of what `others` vary: the order of the tasks."""
TURNS, BLOCKS = "turns", "blocks"
"""How the tasks of a loop are numbered: the first ones of all processes, then the second ones, ...; or process by process."""


class Dynamic(Computation):
    """`REGION`: every instance is a task, and whichever process is free takes the next one.

    Tasks of one loop are those between which their process meets no other; the k-th loop of every process is one, in which each begins
    when it did in the recorded run. `REGION=turns`: they are taken in turn, the first ones of all processes, then the second ones, ...;
    `REGION=blocks`: process by process. No trace tells which, so of `REGION` the answer is that of turns, and the span holds both.
    What it takes to fetch a task is not in the answer.
    """

    word, example, varied = "dynamic", "REGION", DEALT
    last: ClassVar[bool] = False
    """Whether tasks are taken in the order in which the end is latest."""

    def lengths(self, segments: Segments, length: I8) -> I8:
        """Return the lengths, those of the tasks of each process scaled to the sum of the tasks that it gets."""
        return self._taken(segments, length, self._split()[1] or TURNS)

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return the graph with the tasks taken process by process, where that is not said."""
        if self._split()[1]:
            return []
        recorded = segments_of(weigh(weighted.trace, weighted.timeline, weighted.graph, weighted.model))
        turns, blocks = (self._taken(recorded, recorded.length, order) for order in (TURNS, BLOCKS))
        weighted = dataclasses.replace(weighted, weight=weighted.weight.copy())
        segments = segments_of(weighted)
        return [segments.stretched(weighted, np.rint(segments.length * (blocks / np.maximum(turns, 1))).astype("i8"))]

    def otherwise(self, weighted: Weighted) -> list[Hypothesis]:
        """Return the same with tasks taken so that the end is latest, where the order is not said."""
        return [] if self.last or self._split()[1] else [_Latest(self.argument)]

    def _split(self) -> tuple[str, str]:
        """Return the region, and how its tasks are numbered; empty if that is not said."""
        name, _, order = self.argument.rpartition("=")
        return (name, order) if order in (TURNS, BLOCKS) and name else (self.argument, "")

    def _taken(self, segments: Segments, length: I8, order: str) -> I8:
        """Return the lengths if tasks are taken in that order."""
        trace, (asked, said) = segments.trace, self._split()
        name, mark, other = self.argument.rpartition("=")
        if mark and not said and name in trace.names and self.argument not in trace.names:
            raise UsageError(f"{self}: order '{other}', must be {BLOCKS} or {TURNS}")
        instances = selectors.steps(trace, asked)[0]
        segment, place = segments.inside(instances)
        tasks, of = np.unique(place, return_inverse=True)
        row = instances[tasks]
        location, loop = trace.regions.location[row].astype("i8"), self._loops(trace, row)
        total = np.zeros(len(row), "i8")
        np.add.at(total, of, length[segment])
        groups, group = np.unique(np.stack([loop, location]), axis=1, return_inverse=True)
        group = group.ravel()
        part = groups[0]
        if not (np.bincount(part) > 1).any():
            raise UsageError(f"{self}: no loop of these tasks runs on several processes")
        number = running(group, group)
        turn = np.lexsort((location, number, loop) if order == TURNS else (number, location, loop))
        begin = np.full(groups.shape[1], np.iinfo("i8").max)
        np.minimum.at(begin, group, trace.timeline.regions.enter[row])
        first = np.searchsorted(part, np.arange(int(part[-1]) + 2))
        begin -= np.repeat(np.minimum.reduceat(begin, first[:-1]), np.diff(first))
        ends = begin.copy()
        kernel.dynamic(np.searchsorted(loop[turn], np.arange(len(first))), first, total[turn], ends)
        if self.last:
            ends = latest(total, group, part, begin, ends)
        by_group = np.argsort(group[of], kind="stable")
        out = length.copy()
        out[segment[by_group]] = shares(length[segment[by_group]], group[of][by_group], ends - begin)
        return out

    def _loops(self, trace: Trace, row: I8) -> I8:
        """Return which loop each task belongs to, from 0, by their instances, sorted. Raises UsageError if one meets another process."""
        regions = trace.regions
        met = np.append(0, np.cumsum(selectors.meeting(trace)))
        before, behind = met[regions.first_call[row]], met[regions.end_call[row]]
        if (before != behind).any():
            which = int(row[np.flatnonzero(before != behind)[0]])
            rank = int(trace.locations.process[regions.location[which]])
            raise UsageError(f"{self}: a task of rank {rank} exchanges messages with others, must compute alone to run anywhere")
        fresh = np.append(True, (regions.location[row][1:] != regions.location[row][:-1]) | (before[1:] != before[:-1]))[: len(row)]
        first = np.append(True, regions.location[row][1:] != regions.location[row][:-1])[: len(row)]
        number = np.cumsum(fresh)
        return np.asarray(number - np.maximum.accumulate(np.where(first, number, 0)), "i8")


class _Latest(Dynamic):
    """The same with tasks taken so that the end is latest."""

    last, varied = True, LONGEST

    def others(self, weighted: Weighted) -> list[Weighted]:
        """Return nothing else."""
        return []
