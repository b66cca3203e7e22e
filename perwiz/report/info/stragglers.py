"""What `perwiz info --devices` tells of ranks over steps: who is slow, and the matrix that shows it, also of stages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perwiz import words
from perwiz.patterns.analysis import stragglers
from perwiz.report.blocks import Facts
from perwiz.report.records import Cost, Natural, Positive, Record
from perwiz.trace.arrays import F8, I4, I8, Mask
from perwiz.trace.trace import Communicators

MOST = 200
"""Columns of the matrix; of more steps, neighbours are one."""
_COLUMNS, _ROWS, _TOLD = 12, 12, 3
"""Of the table; and ranks and groups of which a sentence is told."""
_FEWEST = 3
"""Ranks of a group that one of them does not make slow."""


class SlowOf(Record):
    """A rank, or a group of them, that computes longer than the mean of all."""

    name: str
    of_mean: Cost
    """All steps together; of a group the median of its ranks, such that one rank does not make it slow."""
    ranks: Positive
    low: Cost
    """Of nine of ten draws of as many steps; as of_mean of fewer than three steps."""
    high: Cost
    slowest: Natural
    """Steps in which it computes longest of its kind."""
    group: str
    """Of a rank the slow group that it is no slower than; else empty."""


class OnceOf(Record):
    """A rank that computes far longer in one step than it usually does."""

    name: str
    step: Positive
    of_mean: Cost
    usual: Cost
    """The median of its steps, by the mean."""


class RowOf(Record):
    """A row of the matrix."""

    name: str
    compute_ns: list[Natural]
    """Per column, mean of its steps, and of a group mean of its ranks."""


class StragglersOf(Record):
    """Ranks over steps: kernels, or computation where there are no devices."""

    first: list[Positive]
    """Number of the first step of each column."""
    together: Positive
    """Steps of a column; the last may have fewer."""
    ranks: list[RowOf]
    groups: list[RowOf]
    """Groups of several ranks, but not of all: stages and replicas."""
    slow: list[SlowOf]
    """Groups of three ranks or more, longest first, then ranks."""
    once: list[OnceOf]


def stragglers_of(rank: I4, steps: I8, groups: Communicators) -> StragglersOf | None:
    """Return what is told of ranks over steps, a row each, a column a rank; None of one rank, or without steps."""
    if len(rank) < 2 or not len(steps):
        return None
    names = [f"rank {number}" for number in rank.tolist()]
    among = [np.isin(rank, groups.members(row)) for row in range(len(groups.names))]
    chosen = [row for row, own in enumerate(among) if 1 < own.sum() < len(own)]
    grouped = _over(steps, [among[row] for row in chosen], np.mean)
    told, of = stragglers.matrix(steps, MOST), stragglers.matrix(grouped, MOST)
    listed = [groups.names[row] for row in chosen]
    once = [OnceOf(names[one.row], one.step + 1, round(one.of_mean, 6), round(one.usual, 6)) for one in stragglers.once(steps)]
    found = _slow(steps, names, {groups.names[row]: among[row] for row in chosen if among[row].sum() >= _FEWEST})
    return StragglersOf(told.first.tolist(), told.together, _rows(names, told.ns), _rows(listed, of.ns), found, once)


def _over(steps: I8, among: list[Mask], pick: Callable[..., F8]) -> F8:
    """Return steps with a column for each of some groups of ranks."""
    out = np.zeros((len(steps), len(among)))
    for k, own in enumerate(among):
        out[:, k] = pick(steps[:, own], axis=1)
    return out


def _slow(steps: I8, names: list[str], groups: dict[str, Mask]) -> list[SlowOf]:
    """Return the groups, and then the ranks that are slow."""
    mean = steps.mean(axis=1)
    middle = _over(steps, list(groups.values()), np.median)
    known = list(groups.items())
    out, around = list[SlowOf](), np.zeros(len(names), object)
    for one in stragglers.slow(middle, mean)[::-1]:
        name, own = known[one.row]
        around[own] = SlowOf(name, round(one.of_mean, 6), int(own.sum()), round(one.low, 6), round(one.high, 6), one.longest, "")
        out.insert(0, around[own][0])
    for one in stragglers.slow(steps):
        group = around[one.row]
        alike = isinstance(group, SlowOf) and one.of_mean < stragglers.SLOW * group.high
        numbers = (round(one.of_mean, 6), 1, round(one.low, 6), round(one.high, 6), one.longest)
        out.append(SlowOf(names[one.row], *numbers, group.name if alike else ""))
    return out


def _rows(names: list[str], ns: F8) -> list[RowOf]:
    return [RowOf(name, [round(value) for value in ns[:, k].tolist()]) for k, name in enumerate(names)]


def _values(rows: list[RowOf]) -> F8:
    """Return the matrix of some rows: a row each."""
    return np.array([row.compute_ns for row in rows], "f8").reshape(len(rows), -1 if rows else 0)


def by_mean(told: StragglersOf, rows: list[RowOf]) -> F8:
    """Return how long some rows of the matrix compute in each column, by the mean of all ranks: a row each."""
    mean = np.maximum(_values(told.ranks).mean(axis=0), 1)
    return _values(rows) / mean if rows else np.zeros((0, len(mean)))


def facts(told: StragglersOf, steps: int, what: str) -> Facts:
    """Return who is slow in words; `what` is computed."""
    out = []
    own = [one for one in told.slow if not one.group]
    for one in own[:_TOLD]:
        sure = f", {one.low:.2f} to {one.high:.2f} in nine of ten draws of its steps" if one.low < one.high else ""
        often = f"; longest in {one.slowest} of {steps} steps" if one.ranks == 1 else f"; the median of its {one.ranks} ranks"
        out.append(f"{words.shown(one.name)}: {what} {one.of_mean:.2f} times the mean{sure}{often}")
    more = len(own) - _TOLD
    out += [f"and {more} more ranks and groups above the mean"] * (more > 0)
    for late in told.once:
        usual = f"usually {late.usual:.2f}"
        out.append(f"{words.shown(late.name)} in step {late.step} alone: {what} {late.of_mean:.2f} times the mean, {usual}")
    return [("" if k else "stragglers", line) for k, line in enumerate(out or ["none: no rank computes longer than the mean in all steps"])]


def lines(told: StragglersOf, steps: int, what: str) -> list[str]:
    """Return who is slow, and the table of ranks and groups over steps by the mean of all ranks, longest first."""
    few = stragglers.matrix(_values(told.ranks).T, _COLUMNS)
    mean = np.maximum(few.ns.mean(axis=1), 1)
    first = [told.first[k - 1] for k in few.first.tolist()]
    ends = [*(number - 1 for number in first[1:]), steps]
    head = [f"{what} in", *(f"{a}" if a == b else f"{a}..{b}" for a, b in zip(first, ends, strict=True))]
    cells = []
    for rows in filter(None, (told.ranks, told.groups)):
        own = _values(rows)
        shown = stragglers.matrix(own.T, _COLUMNS).ns.T / mean
        order = np.argsort(-own.sum(axis=1), kind="stable")[:_ROWS].tolist()
        cells += [[words.shown(rows[k].name), *(f"{value:.2f}" for value in shown[k].tolist())] for k in order]
    out = [*words.facts(facts(told, steps, what)), "", *words.table(head, cells)]
    hidden = sum(max(0, len(rows) - _ROWS) for rows in (told.ranks, told.groups))
    return [*out, f"by the mean of all ranks{f'; {hidden} shorter ones are left out (--json has all)' if hidden else ''}"]
