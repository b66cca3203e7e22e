"""The ranks of a job whose files there are: that they belong together, and which steps all of them have."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import groupby

import numpy as np

from perwiz.errors import TraceError
from perwiz.formats.kineto import cutoff, events, files
from perwiz.formats.kineto.rank import Rank
from perwiz.trace.arrays import I4
from perwiz.trace.resources import at_once
from perwiz.words import duration, several, shown

_APART = 3600 * 10**9
"""Time between files that cannot be of one run, however wrong the clocks of hosts are, ns."""
_MOST_FAULTS, _NAMED, _FEWER = 20, 8, 2
_EVENT = 64
"""Bytes of an event, about, packed or not: so many make a thread worth it."""


class Job:
    """The ranks, in their order, and what is wrong with their files in words."""

    def __init__(self, path: str, progress: Callable[[int, int], None] | None) -> None:
        self.faults = [
            f"{file}: no trace of the PyTorch profiler, though named like that of a rank: left out" for file in files.unread(path)
        ]
        self.ranks: list[Rank] = []
        named = files.parts(path)
        done = itertools.count(1)

        def taken(file: str, place: int) -> Rank | TraceError:
            try:
                return Rank(events.read(file, progress if len(named) == 1 else None), place)
            except TraceError as error:
                return error
            finally:
                if progress and len(named) > 1:
                    progress(next(done), len(named))

        rows = sum(os.path.getsize(file) for file in named if os.path.isfile(file)) // _EVENT
        for file, found in zip(named, at_once([partial(taken, file, place) for place, file in enumerate(named)], rows), strict=True):
            if isinstance(found, TraceError):
                self.faults.append(str(found))
                continue
            self.ranks.append(found)
            if found.recorded.fault:
                self.faults.append(f"{file}: {found.recorded.fault}: read as far as it goes")
        if not self.ranks:
            raise TraceError(self.faults[0] if len(named) == 1 else f"{path}: no file can be read ({self.faults[0]})")
        self.ranks.sort(key=lambda rank: rank.rank)
        self._date()
        self._check()
        self._cut_off()
        self._steps()
        if (more := len(self.faults) - _MOST_FAULTS) > 0:
            self.faults[_MOST_FAULTS:] = [f"{path}: {several(more, 'more file')} likewise"]

    def _date(self) -> None:
        """Let files that are cut off before they tell from which instant they count do so from that of the others, if it is one."""
        told = {rank.base for rank in self.ranks if rank.base is not None}
        for rank in self.ranks:
            if rank.base is None and rank.recorded.fault and len(told) == 1:
                rank.count_from(*told)

    def _check(self) -> None:
        """Leave out the files that are of another job than most. Raises TraceError where no job has most of them, or a rank has two."""
        for one, other in zip(self.ranks, self.ranks[1:], strict=False):
            if one.rank == other.rank and (one.end() <= other.start() or other.end() <= one.start()):
                raise TraceError(f"{other.path}: another window of rank {one.rank} than {one.path}, must be {self._window()}")
            if one.rank == other.rank:
                why = "both are" if one.sure and other.sure else "neither tells its rank, both are taken as"
                raise TraceError(f"{other.path}: {why} rank {one.rank} with {one.path}, must be of another rank")
        jobs: list[_Together] = []
        for rank in self.ranks:
            job = next((job for job in jobs if not job.against(rank)), None)
            if job is None:
                jobs.append(job := _Together())
            job.add(rank)
        most = max(jobs, key=lambda job: len(job.ranks))
        if 2 * len(most.ranks) <= len(self.ranks):
            raise TraceError(jobs[0].against(jobs[1].ranks[0]))
        for rank in (rank for job in jobs if job is not most for rank in job.ranks):
            if why := most.against(rank):
                self.faults.append(f"{why}: left out")
            else:
                most.add(rank)
        self.ranks = sorted(most.ranks, key=lambda rank: rank.rank)

    def _window(self) -> str:
        """Return in words what to give of windows of a schedule that repeats: the file of the first one of each rank."""
        first: dict[int, Rank] = {}
        for rank in sorted(self.ranks, key=Rank.start):
            first.setdefault(rank.rank, rank)
        files = [os.path.basename(first[rank].path) for rank in sorted(first)]
        more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        return f"the files of one, such as {' '.join(files[:_NAMED])}{more}"

    def _cut_off(self) -> None:
        """Leave of files that were cut off what is whole, and those out of which nothing is, but for the last."""
        self.faults += cutoff.settle(self.ranks)
        if whole := [rank for rank in self.ranks if rank.whole]:
            self.faults += [f"{rank.path}: no step of it is whole: left out" for rank in self.ranks if not rank.whole]
            self.ranks = whole

    def _steps(self) -> None:
        """Leave out the steps that some ranks do not have: what they did among ranks there has no partner."""
        told = [set(rank.steps) for rank in self.ranks]
        cut = any(rank.recorded.lacks and rank.steps for rank in self.ranks)
        if all(steps == told[0] for steps in told) and not cut:
            return
        common = _longest(sorted(set.union(*told)), set.intersection(*(steps for steps in told if steps)))
        if not common:
            raise TraceError(f"{self.ranks[0].path}: no step of the profiler's schedule that all ranks have, must be recorded together")
        span, every = _told(common), sorted(set.union(*told))
        fewer: list[str] = []
        for rank in self.ranks:
            if not rank.steps:
                self.faults.append(f"{rank.path}: no step of the profiler's schedule, others have steps {span}")
            elif sorted(rank.steps) != common or rank.recorded.lacks:
                rank.cut(rank.steps[common[0]][0], rank.steps[common[-1]][1])
            if rank.steps and sorted(rank.steps) != every:
                fewer.append(f"rank {rank.rank} {'' if fewer else 'has '}{_told(sorted(rank.steps))}")
        if fewer:
            more = f" and {several(len(fewer) - _FEWER, 'more rank')} fewer" if len(fewer) > _FEWER else ""
            alone = f"steps {span} alone are" if len(common) > 1 else f"step {span} alone is"
            self.faults.insert(0, f"{alone} read, of {_told(every)}: {', '.join(fewer[:_FEWER])}{more}")

    def start(self) -> int:
        """Return when the first rank begins."""
        return min(rank.start() for rank in self.ranks)

    def nodes(self) -> tuple[tuple[str, ...], I4]:
        """Return the names of hosts, and the row of each rank among them."""
        hosts = list(dict.fromkeys(rank.host for rank in self.ranks if rank.host))
        place = {host: k for k, host in enumerate(hosts)}
        return tuple(hosts), np.array([place.get(rank.host, -1) for rank in self.ranks], "i4")


class _Together:
    """Files that can be of one job."""

    def __init__(self) -> None:
        self.ranks: list[Rank] = []
        self._of_host: dict[str | None, Rank] = {}
        """The first of each host."""
        self._groups: dict[str, dict[tuple[int, ...], Rank]] = defaultdict(dict)
        """Per name of a process group its members, and the first file that tells them."""

    def add(self, rank: Rank) -> None:
        """Take a file that is not against these."""
        self.ranks.append(rank)
        self._of_host.setdefault(rank.host, rank)
        for group in rank.groups.values():
            self._groups[group.name].setdefault(group.ranks, rank)

    def against(self, rank: Rank) -> str:
        """Return why a file is not of this job, in a line that names it; nothing if it can be."""
        first = self.ranks[0]
        if rank.world and first.world and rank.world != first.world:
            return f"{rank.path}: of a job of {rank.world} ranks, {first.path} of one of {first.world}: must be of one job"
        for other in (first, self._of_host.get(rank.host, first)):
            apart = max(rank.start() - other.end(), other.start() - rank.end())
            if apart > (0 if rank.host and rank.host == other.host else _APART):
                return f"{rank.path}: {duration(apart)} from {other.path}: must be of one run"
        return self._against_groups(rank)

    def _against_groups(self, rank: Rank) -> str:
        """Return why not by a group that has the same name, a rank in both, and other ranks here."""
        for group in rank.groups.values():
            known = self._groups.get(group.name, {})
            for ranks, other in () if group.ranks in known else known.items():
                if not set(ranks).isdisjoint(group.ranks):
                    named = f"process group {shown(group.name)} of {_ranks(group.ranks)}, in {other.path} of {_ranks(ranks)}"
                    return f"{rank.path}: {named}: must be of one job"
        return ""


def _ranks(ranks: tuple[int, ...]) -> str:
    """Return the ranks of a group in words."""
    more = f" and {len(ranks) - _NAMED} more" if len(ranks) > _NAMED else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks[:_NAMED]))}{more}"


def _told(steps: list[int]) -> str:
    """Return steps, in order, in words.

    1 3 4 -> 1, 3 to 4
    """
    runs = [[step for _, step in run] for _, run in groupby(enumerate(steps), lambda row: row[1] - row[0])]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _longest(steps: list[int], common: set[int]) -> list[int]:
    """Return the longest run of steps, in order, of which all are common.

    steps 1 2 3 4 5   common 1 4 5   out 4 5
    """
    runs = ([*run] for of_all, run in groupby(steps, common.__contains__) if of_all)
    return max(runs, key=len, default=[])
