"""Calls that wait for each other in a circle, where each of several processes has a part of the graph.

What has no order yet, that is what lies on circles and behind them, is told to all, and each finds the circles in it.
"""

from __future__ import annotations

import numpy as np

from perwiz.errors import TraceError
from perwiz.graph.layout import starts
from perwiz.kernels import names
from perwiz.kernels import order as kernel
from perwiz.trace.arrays import I4, I8, Mask
from perwiz.trace.numbers import distinct
from perwiz.trace.spread.team import Team, gathered

MOST = 8_000_000
"""Edges that are told to all: some 24 bytes each on every process, twice."""


def identities(team: Team, size: int, out: list[I8], into: list[I8]) -> I8:
    """Return a number for each of so many vertices, of a copy that of its original; `out` and `into` as a crossing has them."""
    before = sum(int(each[0]) for each in gathered(team, np.array([size]))[: team.rank])
    number = before + np.arange(size)
    for copies, numbers in zip(into, team.exchange([number[originals] for originals in out]), strict=True):
        number[copies] = numbers
    return number


def circles(path: str, team: Team, number: I8, source: I8, target: I8) -> I4:
    """Return which circle each vertex lies on, by its `number`, of edges that no order was found for; below 0 of a vertex without any.

    Raises TraceError, on all, where they are too many to be told.

    Worked example, two processes with edges 0 > 1, 5 > 0 and 1 > 5, 5 > 6: a number for 0, 1 and 5, and one for 6.
    """
    edges = int(team.reduce(np.array([len(source)], "i8"), "sum")[0])
    if edges > MOST:
        many = f"with {edges} edges behind it, of which several processes tell {MOST} apart at most"
        raise TraceError(f"{path}: calls wait for each other in a circle, {many}; must be asked of one (without mpiexec)")
    ends = [np.concatenate(gathered(team, number[side])) for side in (source, target)]
    every = distinct(np.concatenate(ends))
    from_, to = (np.searchsorted(every, side).astype("i4") for side in ends)
    part = _components(len(every), from_, to)
    place = np.minimum(np.searchsorted(every, number), max(len(every) - 1, 0))
    known: Mask = every[place] == number if len(every) else np.zeros(len(number), bool)
    out = np.full(len(number), names.SKIPPED, "i4")
    out[known] = part[place[known]]
    return out


def _components(size: int, source: I4, target: I4) -> I4:
    """Return the number of the strongly connected component of each of so many vertices."""
    part = np.full(size, names.UNNUMBERED, "i4")
    first = starts(np.bincount(source, minlength=size).astype("i4"))
    edge = np.empty(len(source), "i4")
    kernel.group(source, first[:-1].copy(), edge)
    index, lowest, following, path, unfinished = np.zeros((5, size), "i4")
    kernel.components(first, edge, target, np.zeros(size, "u1"), index, lowest, following, path, unfinished, part)
    return part
