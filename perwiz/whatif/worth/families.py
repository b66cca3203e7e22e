"""Sets of calls that a person asks about together: all of a call site, a routine, a region, a step, a process, or a pair of them,
a lock.

Every call is in one class at most, and a set is some of the classes; so calls of nested regions are listed once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from perwiz.errors import UsageError
from perwiz.trace import nesting, operations
from perwiz.trace.arrays import I4, I8, Ints, Mask
from perwiz.trace.numbers import Numbers, distinct
from perwiz.trace.tables import NONE
from perwiz.trace.trace import Trace
from perwiz.whatif import selectors
from perwiz.whatif.run import Run

T_co = TypeVar("T_co", covariant=True)
_Site = tuple[str, str, str]
"""Routine, region path and place in the source."""


class Texts(Protocol[T_co]):
    """Texts of sets, by their rows."""

    def __len__(self) -> int:
        """Return how many sets there are."""

    def __getitem__(self, row: int, /) -> T_co:
        """Return the text of a set."""


@dataclasses.dataclass(frozen=True, eq=False)
class Family:
    """Sets of calls: set `row[i]` holds class `member[i]`, sorted by set, no pair twice. A set may hold no call.

    class_of       0 1 1 -1 2
    row, member    0 0, 0 1, 1 2    set 0 holds calls 0 1 2, set 1 holds call 4
    """

    names: Texts[str]
    """Text per set."""
    selectors: Texts[str | None]
    """Per set the text that `perwiz.whatif.selectors.calls` takes for exactly its calls; None if there is none."""
    class_of: I4
    """Class per call int32, -1 none."""
    row: Ints
    member: Ints

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(max(self.class_of.max(initial=-1), self.member.max(initial=-1))) + 1

    def sums(self, value: I8) -> I8:
        """Return the sum over the calls of each set of an int64 per call."""
        sum_of_class, out = np.zeros(self.classes + 1, "i8"), np.zeros(len(self.names), "i8")
        np.add.at(sum_of_class, self.class_of, value)  # those of no class go to the last place
        np.add.at(out, self.row, sum_of_class[self.member])
        return out


def family(run: Run, word: str) -> Family:
    """Return a family of sets of calls by its word; of a part the same sets, of its own calls. Raises UsageError for another word."""
    if word not in FAMILIES:
        raise UsageError(f"family '{word}': must be one of {', '.join(FAMILIES)}")
    found, share = FAMILIES[word](run), run.trace.share
    if share.team is None:
        return found
    own = np.full(len(found.class_of), -1, "i4")
    own[share.calls] = found.class_of[share.calls]
    return dataclasses.replace(found, class_of=own)


def _class_by_class(class_of: Ints, names: Sequence[str], chosen: Sequence[str | None]) -> Family:
    """Return the family in which every class is a set."""
    row = np.arange(len(names), dtype="i4")
    return Family(tuple(names), tuple(chosen), class_of.astype("i4", copy=False), row, row)


def _exact(trace: Trace, selector: str, name: int | None = None) -> str | None:
    """Return a selector, None if it would be read as several, or as one of another region of the same name."""
    namesake = name is not None and trace.names.index(trace.names[name]) != name
    return None if namesake else selectors.joined([selector])


def _site(run: Run) -> Family:
    """Return the calls of each routine made in one region path and, where the trace tells, at one place in the source."""
    site_of, sites = selectors.sites(run.trace)
    chosen = _Told(sites, lambda parts: _exact(run.trace, f"site:{selectors.site(*parts)}"))
    row = np.arange(len(sites), dtype="i4")
    return Family(_Told(sites, _site_name), chosen, site_of.astype("i4", copy=False), row, row)


def _site_name(parts: _Site) -> str:
    routine, path, place = parts
    return routine + (f" in {path}" if path else "") + (f" at {place}" if place else "")


class _Told(Generic[T_co]):
    """Texts of call sites, each made when it is asked for: those of deep regions are long."""

    def __init__(self, sites: Sequence[_Site], tell: Callable[[_Site], T_co]) -> None:
        self._sites, self._tell = sites, tell

    def __len__(self) -> int:
        return len(self._sites)

    def __getitem__(self, row: int) -> T_co:
        return self._tell(self._sites[row])


def _routine(run: Run) -> Family:
    """Return the calls of each routine."""
    return _class_by_class(run.trace.calls.op, operations.OPS, [f"op:{name}" if op else None for op, name in enumerate(operations.OPS)])


def _region(run: Run) -> Family:
    """Return the calls inside each region, at any depth."""
    trace = run.trace
    row, member = nesting.inside(trace.paths)
    names = tuple(trace.names)
    return Family(names, tuple(_exact(trace, f"region:{name}", k) for k, name in enumerate(names)), trace.calls.path, row, member)


def _step(run: Run) -> Family:
    """Return the calls made during the k-th instance, on every process, of each parallel region; of any region if none is marked so.

    Instances of one region, #1 and #2 on rank 0, then #1 on rank 1, of calls 0 to 1, 1 to 3, 3 to 4 (ends not included) -> class 1 2 2 3
    per call; classes 1 and 3 are members of step #1, class 2 of step #2.
    """
    trace, table = run.trace, run.trace.regions
    region = trace.region_names
    chosen = trace.parallel if trace.parallel.any() else np.ones(len(trace.names), bool)
    rows = np.flatnonzero(chosen[region])
    mark = np.zeros(len(trace.calls) + 1, "i4")
    mark[table.first_call[rows]] = mark[table.end_call[rows]] = 1
    class_of = np.cumsum(mark, dtype="i4")  # between two boundaries all calls lie in the same steps
    regions, numbers, which = selectors.all_steps(trace, rows)
    first = class_of[table.first_call[rows]]
    count = class_of[table.end_call[rows]] - first
    row = np.repeat(which, count)
    member = np.arange(len(row)) - np.repeat(np.cumsum(count) - count - first, count)
    order = np.argsort(row, kind="stable")
    exactly = np.zeros(len(trace.names), bool)
    for name in distinct(regions).tolist():
        exactly[name] = _exact(trace, f"step:{trace.names[name]}#1", name) is not None
    texts = _Steps(trace.names, regions, numbers)
    return Family(texts, _Selectors(texts, exactly), class_of[:-1], row[order], member[order])


class _Steps:
    """Texts of steps, `REGION#3`, each made when it is asked for: of most nobody asks."""

    def __init__(self, names: Sequence[str], region: I8, number: I8) -> None:
        self.names, self.region, self._number = names, region, number

    def __len__(self) -> int:
        return len(self.region)

    def __getitem__(self, row: int) -> str:
        return f"{self.names[self.region[row]]}#{self._number[row]}"


class _Selectors:
    """Selectors of steps, likewise; None where regions are called alike."""

    def __init__(self, steps: _Steps, exactly: Mask) -> None:
        self._steps, self._exactly, self._known = steps, exactly, set(steps.names)

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, row: int) -> str | None:
        text = self._steps[row]
        return f"step:{text}" if self._exactly[self._steps.region[row]] and text not in self._known else None


def _rank(run: Run) -> Family:
    """Return the calls of each process."""
    ranks, rank_of = run.trace.locations.processes()
    names, chosen = ([f"rank{mark}{rank}" for rank in ranks] for mark in (" ", ":"))
    return _class_by_class(rank_of.astype("i4")[run.trace.calls.location], names, chosen)


def _pair(run: Run) -> Family:
    """Return the calls that send, receive or complete the messages of each process to each other.

    Messages 0>1 by calls 0, 2 and 0>2 by calls 0, 3 -> class 1 - 0 2 of calls 0 to 3; class 1, of both, is in both sets.
    """
    table, process = run.trace.messages, run.trace.processes_of_calls.astype("i8")
    ranks = int(run.trace.locations.process.max(initial=0)) + 1
    asked = process[table.send] * ranks + process[table.receive_done]
    keys, pair_of = run.trace.share.placed(asked)
    calls = np.concatenate([table.send, table.send_done, table.receive, table.receive_done]).astype("i8")
    moved = distinct((calls * max(len(keys), 1) + np.tile(pair_of, 4))[calls != NONE])
    call, pair = np.divmod(moved, max(len(keys), 1))
    first = np.searchsorted(call, call)
    class_of, numbers = np.full(len(run.trace.calls), -1, "i4"), Numbers()
    for turn in range(int((np.arange(len(call)) - first).max(initial=-1)) + 1):
        rows = np.flatnonzero(np.arange(len(call)) - first == turn)
        class_of[call[rows]] = numbers.number(class_of[call[rows]], pair[rows])  # what has the same pairs up to here is one
    row, member = np.divmod(distinct(pair * max(numbers.count, 1) + class_of[call]), max(numbers.count, 1))
    ends = [divmod(key, ranks) for key in keys.tolist()]
    names = tuple(f"messages from rank {sender} to rank {receiver}" for sender, receiver in ends)
    return Family(names, tuple(f"pair:{sender}>{receiver}" for sender, receiver in ends), class_of, row, member)


def _lock(run: Run) -> Family:
    """Return the calls that take or give back each lock, which is named by the first place that takes it."""
    trace, share, class_of = run.trace, run.trace.share, selectors.locks(run.trace)
    site_of, sites = selectors.sites(trace)
    never = np.iinfo("i8").max
    first = np.full(share.most(int(class_of.max(initial=NONE))) + 1, never)
    takes = share.chosen(operations.TAKES_LOCK[trace.calls.op] & (class_of != NONE))[::-1]
    first[class_of[takes]] = share.named(takes)
    own, first = first, share.reduced(first, "min")
    here = takes[own[class_of[takes]] == share.named(takes)]
    here = here[first[class_of[here]] == share.named(here)]
    first[:] = NONE
    first[class_of[here]] = site_of[here]
    first = share.reduced(first, "max")
    places = [sites[site] if site != NONE else ("", "", "") for site in first.tolist()]
    names = [f"lock {k}" + (f", {selectors.site(*place)}" if place[0] else "") for k, place in enumerate(places)]
    return _class_by_class(class_of, names, [f"lock:{k}" if place[0] else None for k, place in enumerate(places)])


FAMILIES: dict[str, Callable[[Run], Family]] = {
    "site": _site,
    "routine": _routine,
    "region": _region,
    "step": _step,
    "rank": _rank,
    "pair": _pair,
    "lock": _lock,
}
"""Word -> the sets of calls of a run."""
