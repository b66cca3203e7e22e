"""Who reads what where the processes of a team see different directories of a run, as those of several machines do.

    process 0, 1   essen   ranks 0 to 3        process 2, 3   bonn   ranks 4 to 7

Each reads locations of its own directory alone: some in a row, as everywhere, so that what lies elsewhere between them divides a directory.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Sequence

import numpy as np

from perwiz.errors import TraceError
from perwiz.trace.arrays import I8, Ints
from perwiz.trace.spread.cut import bounds_of
from perwiz.trace.spread.team import Ordered, Team, gathered, texts

_NAMED = 4
"""Rows of ranks that are named."""


@dataclasses.dataclass(frozen=True)
class Directories:
    """What each process of a team sees of a run."""

    paths: tuple[str, ...]
    """Per process: where it looks."""
    leader: tuple[int, ...]
    """Per process: the first that sees the same."""

    @property
    def apart(self) -> bool:
        """Whether not all see the same."""
        return any(self.leader)

    def check(self, files: Sequence[Sequence[str | int]]) -> None:
        """Raise TraceError where two see some of the same files and not all of them, given the files of each leader, [] of others."""
        seen: set[str | int] = set()
        for process, own in enumerate(files):
            if not seen.isdisjoint(own):
                what = f"process {process} sees some of the files that one before it sees, and not the same"
                raise TraceError(f"{self.paths[process]}: {what}; must see the same, or none of them")
            seen.update(own)


def seen(team: Team, path: str, run: bytes, files: bytes) -> Directories:
    """Return what each process sees, given what tells the run from others, and what tells its own files.

    Raises TraceError, on all, if these are of different runs.
    """
    told = gathered(team, np.array([zlib.crc32(run), zlib.crc32(files)], "i8"))
    if all((each == told[0]).all() for each in told):
        return Directories((path,) * team.size, (0,) * team.size)
    paths, files_of = tuple(texts(team, path)), [int(each[1]) for each in told]
    if other := next((process for process, each in enumerate(told) if each[0] != told[0][0]), 0):
        raise TraceError(f"{paths[other]}: process {other} sees another run than process 0 in {paths[0]}, must be a part of the same")
    return Directories(paths, tuple(files_of.index(each) for each in files_of))


@dataclasses.dataclass(frozen=True)
class Dealt:
    """Which locations each process reads."""

    team: Team
    """The processes in the order of their locations."""
    bounds: I8
    """The first location of each, and the end of the last."""


def dealt(team: Team, directories: Directories, process_of: Ints, weight: Ints, holder: Ints) -> Dealt:
    """Return which locations each process reads, given per location its process, its weight and the first process that sees it.

    Raises TraceError if locations of a directory are in more rows than there are processes for it.

    Worked example, two processes that see the first and one that sees the last of locations of 4, 4, 8 and 9 calls:
        holder  0 0 0 2    leader  0 0 2    bounds  0 2 3 4
    """
    ends = np.flatnonzero(np.diff(holder)) + 1
    rows = [*zip([0, *ends.tolist()], [*ends.tolist(), len(holder)], strict=True)]
    of = [int(holder[begin]) if len(holder) else 0 for begin, _ in rows]
    count = [0] * len(rows)
    for leader in sorted(set(directories.leader)):
        own, there = [row for row, first in enumerate(of) if first == leader], directories.leader.count(leader)
        if len(own) > there:
            begins = ", ".join(str(int(process_of[rows[row][0]])) for row in own[:_NAMED])
            what = f"its ranks are in {len(own)} rows, from {begins}{', ...' if len(own) > _NAMED else ''} on"
            raise TraceError(f"{directories.paths[leader]}: {what}: read by {there} of perwiz, must be by {len(own)} at least")
        heavy = np.array([int(weight[slice(*rows[row])].sum()) for row in own], "f8")
        for row in own:
            count[row] = 1
        for _ in range(there - len(own) if own else 0):
            count[own[int(np.argmax(heavy / [count[row] for row in own]))]] += 1
    left = {leader: [process for process, first in enumerate(directories.leader) if first == leader] for leader in directories.leader}
    order = [left[first].pop(0) for first, several in zip(of, count, strict=True) for _ in range(several)]
    parts = [
        begin + bounds_of(process_of[begin:end], weight[begin:end], several)[:-1]
        for (begin, end), several in zip(rows, count, strict=True)
        if several
    ]
    idle = [process for those in left.values() for process in those]
    bounds = np.concatenate([*parts, np.full(len(idle) + 1, len(holder))]).astype("i8")
    order += idle
    return Dealt(team if order == sorted(order) else Ordered(team, order), bounds)
