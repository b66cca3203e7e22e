"""Files that were cut off: which steps they tell whole.

Kineto writes operators and annotations thread by thread, each in order of time; then what the runtime and devices
do, in pieces of any order.

    a thread of Gloo | first thread | a thread of Gloo | calls and kernels, here and there

Where the file ends in the first part, what it tells of the first thread is whole up to some time, and threads behind that one are missing.
What these did for others is known nevertheless: when the first thread asked for it, and when the other ranks were done with it. Where
it ends in the second part, a step is whole if as much was launched and ran in it as in one of as many operators in a whole file.

Of a job without steps all ranks end where they would ask for more than the one that asks for least: what the others go on with is not told
of that one. So it is if all ask for the same in one order.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from perwiz.formats.kineto import names
from perwiz.formats.kineto.events import ANNOTATION, COPY, DRIVER, KERNEL, OPERATOR, RUNTIME, SET
from perwiz.formats.kineto.rank import Columns, Filled, Rank
from perwiz.formats.kineto.threads import gloo
from perwiz.trace.arrays import I4, I8

_FAR = 1 << 62


class _Span(NamedTuple):
    """A step, or all that is whole of a file without steps, which has no end."""

    begin: int
    end: int


class _Part(NamedTuple):
    """What one rank asks for in a step, and what was done for it."""

    asked: Columns
    kind: I4
    at: Columns
    op: I4

    def same(self, other: _Part) -> bool:
        """Return whether the other one begins by asking for the same, and all of it was done."""
        count = len(self.kind)
        done = np.array_equal(np.sort(other.op[:count]), np.sort(self.kind))
        return done and np.array_equal(other.kind[:count], self.kind)


class _Told:
    """What a file tells of a rank."""

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self._asked, self._kind = gloo.posts(rank)
        at, self._op = gloo.works(rank)
        order = np.argsort(at.enter, kind="stable")
        self._at, self._op = at.take(order), self._op[order]
        self._host = rank.chosen(OPERATOR, ANNOTATION)
        self._calls, self._ran = rank.chosen(RUNTIME, DRIVER), rank.chosen(KERNEL, COPY, SET)
        self.works, self.launches = len(self._op) > 0, len(self._calls.row) + len(self._ran.row) > 0
        self.until = self._until()
        """When what the file tells of the first thread ends."""

    def _until(self) -> int:
        if not self.rank.recorded.lacks or self.launches or not len(self._host.row):
            return _FAR
        last = int(np.argmax(self._host.row))
        return int(self._host.enter[last]) if self._host.location[last] == 0 else _FAR

    def posts(self) -> I4:
        """Return what the first thread asks for, one behind the other, as far as the file tells."""
        return self._kind[: np.searchsorted(self._asked.enter, self.until)]

    def before(self, count: int) -> int:
        """Return when it asks for more than so much; when what the file tells ends, if it does not."""
        return min(self.until, int(self._asked.enter[count])) if len(self.posts()) > count else self.until

    def part(self, span: _Span) -> _Part:
        """Return what is asked for and done in a step."""
        asked, at = (np.arange(*np.searchsorted(one.enter, span)) for one in (self._asked, self._at))
        return _Part(self._asked.take(asked), self._kind[asked], self._at.take(at), self._op[at])

    def counted(self, span: _Span) -> tuple[int, int]:
        """Return how many operators begin in a step, and how many launches whose activities are told, and waits."""
        host, calls = ((one.enter >= span.begin) & (one.enter < span.end) for one in (self._host, self._calls))
        launched, ran = (self.rank.column("correlation", row) for row in (self._calls.row[calls], self._ran.row))
        waits = [k for k in range(len(self.rank.texts)) if self.rank.texts.raw(k) in names.ROUTINES]
        counted = np.isin(launched, ran) | np.isin(self._calls.name[calls], waits)
        return int(host.sum()), int(counted.sum())


def settle(ranks: list[Rank]) -> list[str]:
    """Let ranks whose files were cut off have the steps alone that are whole, and fill in what lost threads did in them.

    Ranks without steps are left with what is whole of the first threads of all; ranks of which nothing is are marked so.
    Returns what is to be said of them.
    """
    if not any(rank.recorded.lacks for rank in ranks):
        return []
    told = [_Told(rank) for rank in ranks]
    of_job = _Job(told)
    lost = [of_job.settle(one) if one.rank.recorded.lacks else Filled.none() for one in told]
    out = []
    for one, filled in zip(told, lost, strict=True):
        rank, end = one.rank, of_job.ends[id(one)]
        if not rank.steps and rank.whole and end < _FAR:
            rank.cut(rank.start(), end)
        if rank.recorded.lacks:
            rank.fill(filled)
        if len(filled):
            out.append(f"{rank.path}: {len(filled)} of what it did with others: as the first thread asked for it, until others were done")
        if not rank.steps and end < one.until:
            out.append(f"{rank.path}: no steps: read until it does with others what another file, which was cut off, does not tell")
    return out


class _Job:
    """What whole files tell of cut ones."""

    def __init__(self, told: list[_Told]) -> None:
        self._told = told
        self._steps = {id(one): dict(one.rank.steps) for one in told}
        self._works, self._launches = (any(getattr(one, name) for one in told) for name in ("works", "launches"))
        self.ends = _ends(told)
        """When what all ranks tell ends in each that has no steps, by its id."""
        self._most: dict[int, int] = defaultdict(int)
        """Launches and waits in the step that has most, by the number of operators in it."""
        for one in told:
            if self._launches and not one.rank.recorded.lacks:
                for step in one.rank.steps.values():
                    operators, launches = one.counted(_Span(*step))
                    self._most[operators] = max(self._most[operators], launches)

    def settle(self, one: _Told) -> Filled:
        """Let one rank have what is whole, and return what lost threads did in that."""
        rank = one.rank
        spans = {number: _Span(*step) for number, step in rank.steps.items()} or {-1: _Span(rank.start(), self.ends[id(one)])}
        filled: list[Filled] = []
        whole = {}
        for number, span in spans.items():
            found = self._filled(one, number, span) if self._is_told(one, number, span) else None
            if found is not None:
                whole[number] = span
                filled.append(found)
        rank.whole = bool(whole)
        if rank.steps:
            rank.steps = {number: (span.begin, span.end) for number, span in whole.items()}
        return _joined(filled)

    def _is_told(self, one: _Told, number: int, span: _Span) -> bool:
        """Return whether all is told of the first thread in a step, and of devices."""
        if number < 0:
            return one.launches or not self._launches
        if span.end > one.until:
            return False
        operators, launches = one.counted(span)
        return not self._launches or launches >= self._most.get(operators, _FAR)

    def _filled(self, one: _Told, number: int, span: _Span) -> Filled | None:
        """Return what is missing in a step of what Gloo did; None if nobody tells when it was done."""
        part = one.part(span)
        if not self._works or np.array_equal(np.sort(part.kind), np.sort(part.op)):
            return Filled.none()
        lost = _lost(part)
        for other in self._told:
            steps = self._steps[id(other)]
            if other is one or (number >= 0 and number not in steps) or (number < 0 and steps):
                continue
            until = self.ends[id(other)] if other.rank.recorded.lacks else _FAR
            theirs = _Span(*steps[number]) if number >= 0 else _Span(other.rank.start(), until)
            there = other.part(theirs)
            if part.same(there) and (number < 0 or len(there.kind) == len(part.kind)):
                apart = span.end - theirs.end if number >= 0 and other.rank.host != one.rank.host else 0
                return _as_others(part, lost, there, other.rank, apart, span)
        return None


def _ends(told: list[_Told]) -> dict[int, int]:
    """Return by the id of each rank when it asks for more than the one that asks for least; when it ends, if others have steps, or ask for
    other things.
    """
    asked = [one.posts() for one in told]
    least = min(map(len, asked))
    alike = not any(one.rank.steps for one in told) and all(np.array_equal(one[:least], asked[0][:least]) for one in asked)
    cut = alike and any(one.until < _FAR for one in told)
    return {id(one): one.before(least) if cut else one.until for one in told}


def _lost(part: _Part) -> I8:
    """Return the rows of what was asked for and never done: what was done belongs to the latest that asked for it before.

    asked 1 5   done 7   out 0
    """
    asked = {kind: np.flatnonzero(part.kind == kind).tolist() for kind in np.unique(part.kind).tolist()}
    lost = []
    for op, begun in zip(part.op[::-1].tolist(), part.at.enter[::-1].tolist(), strict=True):
        free = asked.get(op, [])
        while free and part.asked.enter[free[-1]] > begun:
            lost.append(free.pop())
        if free:
            free.pop()
    lost += itertools.chain(*asked.values())
    return np.array(sorted(lost), "i8")


def _as_others(part: _Part, lost: I8, there: _Part, rank: Rank, apart: int, span: _Span) -> Filled:
    """Return what is lost: from when it was asked for until another rank was done with it, on as many threads as that needs."""
    count = len(part.kind)
    place = np.empty(count, "i8")
    place[np.argsort(part.kind, kind="stable")] = np.argsort(there.op[:count], kind="stable")
    place = place[lost]
    asked = part.asked.take(lost)
    leave = np.clip(there.at.leave[place] + apart, asked.leave, max(span.end, int(asked.leave.max(initial=0))))
    sent, received = gloo.moved(rank, there.at.row[place], there.op[place])
    lanes: list[int] = []
    lane = np.empty(len(lost), "i4")
    for k, (begin, end) in enumerate(zip(asked.enter.tolist(), leave.tolist(), strict=True)):
        free = next((n for n, busy in enumerate(lanes) if busy <= begin), len(lanes))
        lanes[free : free + 1] = [end]
        lane[k] = free
    at = Columns(asked.row, lane, asked.enter, leave, asked.kind, asked.name)
    return Filled(at, part.kind[lost], sent, received)


def _joined(parts: list[Filled]) -> Filled:
    """Return all that is filled in, in order of (place, time)."""
    whole = Filled.none()
    for part in parts:
        whole.at = whole.at.extended(part.at)
        for name in ("op", "sent", "received"):
            setattr(whole, name, np.append(getattr(whole, name), getattr(part, name)))
    return whole.take(np.lexsort((whole.at.enter, whole.at.location)))
